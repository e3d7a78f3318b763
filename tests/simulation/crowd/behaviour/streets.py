"""Small worlds with background people that these tests share."""

from __future__ import annotations

from typing import Any

from sidestep.simulation.build import build_world
from sidestep.simulation.directors import BackgroundDirector, Cast
from sidestep.simulation.worlds import Worlds
from sidestep.types import Scenario

EAGER = {
    "after_walk": {"walk": 0.2, "idle": 0.4, "interact": 1.0, "talk": 2.0},
    "meet": 0.3,
    "idle": {"mean_s": 6, "low_s": 2, "high_s": 20},
    "interact": {"mean_s": 6, "low_s": 2, "high_s": 20},
    "talk": {"mean_s": 8, "low_s": 4, "high_s": 20},
    "goal_low_m": 4,
    "goal_high_m": 40,
}
"""People who stop often, so that short runs show everything."""


def plus_scene(reach: float = 20.0, half_width: float = 2.0) -> dict[str, Any]:
    """Two streets between walls that cross at the origin."""
    long = [[-reach, -half_width], [reach, -half_width], [reach, half_width], [-reach, half_width]]
    return {
        "name": "plus",
        "enclosed": True,
        "regions": [
            {"kind": "sidewalk", "polygon": long},
            {"kind": "sidewalk", "polygon": [[y, x] for x, y in long]},
        ],
    }


def plus_graph(reach: float = 18.0) -> dict[str, Any]:
    """The crossing, two nodes along each arm, and a thing to look at, a phone box and a queue."""
    nodes: list[dict[str, Any]] = [{"name": "centre", "at": [0, 0]}]
    edges = []
    for arm, (x, y) in {"east": (1, 0), "north": (0, 1), "west": (-1, 0), "south": (0, -1)}.items():
        nodes.append({"name": f"{arm}-near", "at": [x * reach / 2, y * reach / 2]})
        nodes.append({"name": arm, "at": [x * reach, y * reach]})
        edges += [["centre", f"{arm}-near"], [f"{arm}-near", arm]]
    things = {
        "window": ([5, -1.4], -1.5708, "look"),
        "box": ([1.4, 5], 0.0, "phone"),
        "till": ([-8, 1.4], 0.0, "queue"),
    }
    for name, (at, heading, interaction) in things.items():
        nodes.append({"name": name, "at": at, "kind": "object", "heading": heading, "interaction": interaction})
        edges.append([name, "centre" if name != "till" else "west-near"])
    return {"nodes": nodes, "edges": edges}


def street(count: int = 8, model: str = "orca", name: str = "street", **placement: Any) -> Scenario:
    """The walled crossing with ``count`` background people and a robot that stands in a corner."""
    part = {
        "model": model,
        "placement": {"kind": "behaviour", "count": count, "graph": plus_graph(), "behaviour": EAGER, **placement},
    }
    document = {
        "name": name,
        "suite": "tests",
        "scene": plus_scene(),
        "robots": [{"spec": "point", "start": [19.5, 1.5, 0], "goal": [-19, 0]}],
        "crowd": [part],
        "rules": {"time_limit_s": 120},
    }
    return Scenario.parse(document, "test street")


def open_street(scenario: Scenario, seed: int = 0) -> tuple[Worlds, BackgroundDirector]:
    """The world of a scenario and the director of its first part."""
    worlds = Worlds([build_world(scenario, seed)])
    cast = worlds.directors[0]
    assert isinstance(cast, Cast)
    director = cast.directors[0]
    assert isinstance(director, BackgroundDirector)
    return worlds, director
