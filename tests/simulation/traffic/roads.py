"""A straight road that tests compute on by hand, and cars on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.types import EpisodeRecord, Scenario
from sidestep.types.base import FloatArray
from sidestep.types.record import others

EAST, BESIDE, WEST = "east", "beside", "west"
LANE_Y, BESIDE_Y, WEST_Y = -1.75, -5.25, 1.75
"""Two lanes lead east and one west, each 3.5 m wide, from x = 0 to 120 and back."""


def straight_road(middle: str = "double_solid", **roads: Any) -> dict[str, Any]:
    """The road as a scene document. ``middle``: the kind of the line between the directions, at y = 0; the line between
    the lanes that lead east is broken, at y = -3.5; the kerbs are at y = -7 and 3.5."""

    def across(y: float) -> list[list[float]]:
        return [[0.0, y], [120.0, y]]

    lanes = [
        {"name": EAST, "points": across(LANE_Y)},
        {"name": BESIDE, "points": across(BESIDE_Y)},
        {"name": WEST, "points": across(WEST_Y)[::-1]},
    ]
    markings = [
        {"kind": middle, "points": across(0.0)},
        {"kind": "broken", "points": across(-3.5)},
        {"kind": "kerb", "points": across(-7.0)},
        {"kind": "kerb", "points": across(3.5)},
    ]
    strip = [[-10.0, -7.0], [140.0, -7.0], [140.0, 3.5], [-10.0, 3.5]]
    above = [[-10.0, 3.5], [140.0, 3.5], [140.0, 12.0], [-10.0, 12.0]]
    below = [[-10.0, -15.0], [140.0, -15.0], [140.0, -7.0], [-10.0, -7.0]]
    regions = [
        {"kind": "road", "polygon": strip},
        {"kind": "sidewalk", "polygon": above},
        {"kind": "sidewalk", "polygon": below},
    ]
    return {"name": "road", "regions": regions, "roads": {"lanes": lanes, "markings": markings, **roads}}


def on_the_road(**changes: Any) -> Scenario:
    """A car at (10, -1.75) that has to leave the area x 0 … 100, y ±20 to the east, within one metre of y = -1.75;
    ``changes`` replace keys of the document, those of ``rules`` one by one."""
    rules = {
        "step_s": 0.05,
        "time_limit_s": 30,
        "success": "exit",
        "exit": {"area": [0, -20, 100, 20], "side": "east", "pose": [100, LANE_Y, 0]},
        "lanes": {},
        "ends_on": ["success", "timeout", "policy_error", "wrong_exit", "lane_invasion"],
        **changes.pop("rules", {}),
    }
    route = [[x, LANE_Y] for x in range(12, 110, 2)]
    document: dict[str, Any] = {
        "name": "road",
        "suite": "tests",
        "scene": straight_road(),
        "robots": [{"spec": "car", "start": [10, LANE_Y, 0], "goal": [110, LANE_Y], "route": route}],
        "rules": rules,
        **changes,
    }
    return Scenario.parse(document, "test scenario")


def poses(x: Any, y: Any, heading: Any = 0.0) -> FloatArray:
    """(T+1, 3) poses; scalars stay the same."""
    return np.stack(np.broadcast_arrays(x, y, heading), axis=1).astype(float)


def outlines_overlap(a: FloatArray, b: FloatArray) -> Any:
    """(T,) whether two convex outlines (T, K, 2) overlap, by separating axes; NaN: never."""
    apart = np.zeros(len(a), bool)
    for shape in (a, b):
        edge = np.roll(shape, -1, axis=1) - shape
        normal = np.stack([-edge[..., 1], edge[..., 0]], axis=2)
        one, other = np.einsum("tkd,tnd->tkn", normal, a), np.einsum("tkd,tnd->tkn", normal, b)
        apart |= ((one.max(axis=2) <= other.min(axis=2)) | (other.max(axis=2) <= one.min(axis=2))).any(axis=1)
    gone = np.isnan(a).any(axis=(1, 2)) | np.isnan(b).any(axis=(1, 2))
    return ~apart & ~gone


def outlines(record: EpisodeRecord) -> list[FloatArray]:
    """(T+1, K, 2) the outline of every vehicle; NaN after it has left."""
    found = []
    for k, user in enumerate(others(record)):
        corners = np.array(user.footprint.polygon)
        heading = record.other_pose[:, k, 2]
        cosine, sine = np.cos(heading)[:, None], np.sin(heading)[:, None]
        x, y = corners[:, 0] * cosine - corners[:, 1] * sine, corners[:, 0] * sine + corners[:, 1] * cosine
        found.append(np.stack([x, y], axis=2) + record.other_pose[:, k, None, :2])
    return found


def traffic_contacts(record: EpisodeRecord) -> list[tuple[int, int, float]]:
    """Pairs of vehicles that overlap at some time, and the first time, s."""
    bodies, found = outlines(record), []
    for i, one in enumerate(bodies):
        for j in range(i):
            touching = np.flatnonzero(outlines_overlap(one, bodies[j]))
            if len(touching):
                found.append((j, i, float(record.time[touching[0]])))
    return found
