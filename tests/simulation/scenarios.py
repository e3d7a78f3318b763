"""Small scenarios that the simulation tests share."""

from __future__ import annotations

from typing import Any

from sidestep.types import Scenario


def make(**changes: Any) -> Scenario:
    """One holonomic disc from (0, -5) to (0, 5) in the open; ``changes`` replace keys of the document."""
    document: dict[str, Any] = {
        "name": "test",
        "suite": "tests",
        "robots": [{"spec": "point", "start": [0, -5, 1.5708], "goal": [0, 5]}],
        "rules": {"step_s": 0.1, "time_limit_s": 20},
    }
    document.update(changes)
    return Scenario.parse(document, "test scenario")


def crossing(people: int = 8, model: str = "orca", **changes: Any) -> Scenario:
    """The circle crossing with ``people`` people."""
    placement = {"kind": "circle", "count": people, "radius": max(4.5, 0.2 * people)}
    part = {"model": model, "at_end": "loop", "placement": placement}
    return make(crowd=[part], **changes)


def room(size: float = 6.0, **changes: Any) -> dict[str, Any]:
    """A square room about the origin with a block in the middle, as a scene document."""
    h = size / 2
    square = [[-h, -h], [h, -h], [h, h], [-h, h]]
    block = [[-0.6, -0.4], [0.7, -0.5], [0.5, 0.6], [-0.5, 0.5]]
    return {
        "name": "room",
        "enclosed": True,
        "regions": [{"kind": "walkable", "polygon": square}, {"kind": "obstacle", "polygon": block}],
        **changes,
    }
