"""Simulated seconds per second of a town with background people, on one core. The town has square blocks: buildings,
sidewalks with planters, crosswalks, and the behaviour graph on them.
"""

from __future__ import annotations

from functools import partial
from math import pi
from typing import Any

from benchmarks.measure import Case, Effort, Figure, Notify, Work, measure_work
from sidestep.simulation.build import build_world
from sidestep.simulation.worlds import Worlds
from sidestep.types import Scenario

BUILDING_M = 80.0
STREET_M = 16.0
"""From building to building: 3 m of sidewalk on either side of a road."""
WALK_M = 1.4
"""From a building to the middle of the clear sidewalk."""
PLANTER_M, PLANTER_OUT_M = 0.5, 2.9
"""Side of a planter, and its middle from the building."""
WINDOWS = (20.0, 60.0)
"""Where along a side there are shop windows to look at, m."""


def make_town(blocks: int, name: str = "blocks") -> tuple[dict[str, Any], dict[str, Any]]:
    """Scene and behaviour graph, as a scenario writes them, of ``blocks`` × ``blocks`` buildings."""
    regions: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    edges: list[tuple[str, str]] = []
    for row in range(blocks):
        for column in range(blocks):
            x, y = column * (BUILDING_M + STREET_M), row * (BUILDING_M + STREET_M)
            regions.append({"kind": "building", "polygon": _box(x, y, BUILDING_M, BUILDING_M)})
            for side in range(4):
                _add_side(f"{row}.{column}", side, x, y, regions, nodes, edges)
            for other, ends in (
                (f"{row}.{column + 1}", (("1", "0"), ("2", "3"))),
                (f"{row + 1}.{column}", (("3", "0"), ("2", "1"))),
            ):
                if max(int(number) for number in other.split(".")) < blocks:
                    edges += [(f"{row}.{column}/{a}", f"{other}/{b}") for a, b in ends]
    return {"name": name, "regions": regions}, {"nodes": nodes, "edges": edges}


def _add_side(
    block: str,
    side: int,
    x: float,
    y: float,
    regions: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    edges: list[tuple[str, str]],
) -> None:
    """One side of a building, counter-clockwise from the lower one: corner, middle, shop windows, planters."""
    ux, uy = ((1, 0), (0, 1), (-1, 0), (0, -1))[side]
    x0, y0 = ((x, y), (x + BUILDING_M, y), (x + BUILDING_M, y + BUILDING_M), (x, y + BUILDING_M))[side]

    def at(along: float, out: float) -> tuple[float, float]:
        return x0 + along * ux + out * uy, y0 + along * uy - out * ux

    facing = (side * pi / 2 + pi / 2) % (2 * pi)
    corner, middle, following = f"{block}/{side}", f"{block}/{side}m", f"{block}/{(side + 1) % 4}"
    nodes.append({"name": corner, "at": at(-WALK_M, WALK_M)})
    nodes.append({"name": middle, "at": at(BUILDING_M / 2, WALK_M)})
    edges += [(corner, middle), (middle, following)]
    for k, along in enumerate(WINDOWS):
        window = f"{block}/{side}w{k}"
        nodes.append(
            {
                "name": window,
                "at": at(along, 0.5),
                "kind": "object",
                "heading": facing,
                "interaction": ("look", "phone", "queue")[(side + k) % 3],
            }
        )
        edges.append((window, middle))
        edges.append((window, (corner, following)[k]))
    for along in (10.0, 30.0, 50.0, 70.0):
        px, py = at(along, PLANTER_OUT_M)
        regions.append(
            {"kind": "obstacle", "polygon": _box(px - PLANTER_M / 2, py - PLANTER_M / 2, PLANTER_M, PLANTER_M)}
        )


def _box(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


BLOCKS = 10
"""Of 96 m: a town of about 1 km."""
PEOPLE = (100, 500)
STEPS = 40  # of one run
SETTLING_STEPS = 400  # walked before anything is measured


def cases() -> list[Case]:
    """One per number of people."""
    return [Case(f"town/people={people}", partial(measure_town, people), quick=people == 100) for people in PEOPLE]


def measure_town(people: int, effort: Effort, note: Notify) -> Figure:
    """How many times real time the town runs, all in: decisions, avoidance, walls, the robot."""
    note("building the town")
    return measure_work(f"town/people={people}", "s/s", Town(people), effort)


def town_scenario(people: int, blocks: int = BLOCKS, paths: str = "push_and_rotate") -> Scenario:
    """A robot that stands on the first street and ``people`` on the sidewalks."""
    scene, graph = make_town(blocks)
    return Scenario.parse(
        {
            "name": f"town-{people}",
            "scene": scene,
            "robots": [{"spec": "pioneer_3dx", "start": [-8.0, 0.0, 0.0], "goal": [-8.0, BUILDING_M]}],
            "crowd": [{"placement": {"kind": "behaviour", "count": people, "graph": graph, "paths": paths}}],
            "rules": {"time_limit_s": 36_000},
        },
        f"town of {blocks * (BUILDING_M + STREET_M):g} m",
    )


class Town(Work):
    """A run is a few steps of one world."""

    def __init__(self, people: int) -> None:
        self._worlds = Worlds([build_world(town_scenario(people), seed=0)])
        for _ in range(SETTLING_STEPS):
            self._worlds.step()

    def run(self) -> float:
        """Some steps; the seconds that they simulate."""
        for _ in range(STEPS):
            self._worlds.step()
        return STEPS * float(self._worlds.rules[0, 0])
