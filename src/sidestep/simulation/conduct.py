"""How a robot is to behave on a sidewalk: on its ground, round groups, before a raised hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.gestures import GESTURES
from sidestep.types.scene import SceneSpec

SEAM_M = 0.02
"""Gaps between regions narrower than twice this are drawing errors, not holes to fall into."""
GROUP_GAP_M = 3.6
"""People farther apart than this are not between each other: Hall's social distance (1966)."""
STANDING_MPS = 0.05


class Ground:
    """The ground that a robot must not leave."""

    def __init__(self, scene: SceneSpec, kinds: tuple[str, ...], where: str) -> None:
        shapes = [shapely.Polygon(r.polygon, r.holes) for r in scene.regions if r.kind in kinds]
        if not shapes:
            raise BadInput(
                f"{where}: rules.stay_on names {', '.join(kinds)}, but scene {scene.name!r} has no such region"
            )
        grown = shapely.union_all([shape.buffer(SEAM_M, join_style="mitre") for shape in shapes])
        self.shape = grown.buffer(-SEAM_M, join_style="mitre")
        shapely.prepare(self.shape)

    def holds(self, x: float, y: float) -> bool:
        """Whether the point is on it."""
        return bool(shapely.intersects_xy(self.shape, x, y))


def groups_crossed(
    was: tuple[float, float], now: tuple[float, float], position: FloatArray, group: IntArray, here: IntArray
) -> list[int]:
    """Groups between two of whose members (at ``position`` (N, 2)) the way from ``was`` to ``now`` leads."""
    crossed = []
    for number in np.unique(group[here]).tolist():
        members = here[group[here] == number]
        if number < 0 or len(members) < 2:
            continue
        pairs = combinations(position[members].tolist(), 2)
        if any(_near(a, b) and _cross(was, now, a, b) for a, b in pairs):
            crossed.append(int(number))
    return crossed


def _near(a: list[float], b: list[float]) -> bool:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 <= GROUP_GAP_M**2


def _cross(p: tuple[float, float], q: tuple[float, float], a: list[float], b: list[float]) -> bool:
    """Whether the segments pq and ab cross; touching p does not count, so that a crossing counts once."""

    def side(o: list[float], e: list[float], x: float, y: float) -> float:
        return (e[0] - o[0]) * (y - o[1]) - (e[1] - o[1]) * (x - o[0])

    before, after = side(a, b, *p), side(a, b, *q)
    if before == 0.0 or before * after > 0.0:
        return False
    start, end = [p[0], p[1]], [q[0], q[1]]
    return side(start, end, *a) * side(start, end, *b) <= 0.0


def told_to_stop(agents: FloatArray, flags: IntArray, people: int, x: float, y: float, within_m: float) -> int | None:
    """Column of a person with the stop gesture before whom, and at most ``within_m`` from whom, (x, y) lies."""
    asking = (flags[layout.GESTURE, :people] == GESTURES["stop"]) & (flags[layout.ACTIVE, :people] == 1)
    for column in np.flatnonzero(asking).tolist():
        dx, dy = x - float(agents[layout.PX, column]), y - float(agents[layout.PY, column])
        heading = float(agents[layout.HEADING, column])
        if dx * dx + dy * dy <= within_m**2 and dx * np.cos(heading) + dy * np.sin(heading) > 0.0:
            return int(column)
    return None
