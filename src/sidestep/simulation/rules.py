"""The rules of a scenario as the arrays that the referee's kernel reads (``kernels.referee``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import shapely

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.kernels import referee
from sidestep.kernels.layout import RULE_DT, RULE_GOAL_RADIUS, RULE_TIME_LIMIT, Grounds
from sidestep.types import CompiledScene, Outcome, RobotPlacement, Scenario
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Rules

OUTCOME_CODES: dict[Outcome, int] = {outcome: code for code, outcome in enumerate(Outcome)}
"""Numbers of the outcomes in kernels."""
SEAM_M = 0.02
"""Gaps between regions narrower than twice this are drawing errors, not holes to fall into."""
BAND_MM = 1000.0
"""Height of the bands in which the edges of the ground are listed."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Ground that a robot must not leave, as the edges of its polygons: whole millimetres, by horizontal bands."""

    edges: FloatArray  # (E, 4) float64: x, y, x, y in mm; an edge is listed in every band that it reaches
    bands: IntArray  # (bands + 1,) int64: where in ``edges`` each band begins, and the end
    lowest_mm: float


@dataclass(frozen=True, eq=False)
class CompiledRules:
    """What the referee knows of a scenario of R robots."""

    numbers: FloatArray  # (RULE_ROWS,) float64
    ground: Ground | None  # None: the robot may go anywhere
    waypoints: FloatArray  # (R, W, 4) float64, see ``kernels.referee``; W = 0 where nobody is put back


def compile_rules(scenario: Scenario, scene: CompiledScene, where: str) -> CompiledRules:
    """The rules of ``scenario``. Raises ``BadInput`` if they speak of ground that the scene does not have."""
    rules = scenario.rules
    return CompiledRules(
        _pack_rules(rules),
        compile_ground(scene, tuple(rules.stay_on), where) if rules.stay_on else None,
        pack_waypoints(scenario.robots, rules),
    )


def _pack_rules(rules: Rules) -> FloatArray:
    packed = np.zeros(referee.RULE_ROWS)
    packed[RULE_DT], packed[RULE_GOAL_RADIUS] = rules.step_s, rules.goal_radius_m
    packed[RULE_TIME_LIMIT], packed[referee.RULE_MAX_STEPS] = rules.time_limit_s, rules.max_steps
    kinds = {
        referee.HAS_GROUND: bool(rules.stay_on),
        referee.AVOIDS_GROUPS: rules.avoid_groups,
        referee.MUST_STOP: rules.success == "stop",
        referee.RESETS: rules.on_failure == "reset",
        referee.FREEZES: rules.frozen_after_s is not None,
    }
    packed[referee.RULE_KINDS] = sum(bit for bit, holds in kinds.items() if holds)
    packed[referee.RULE_ENDS_ON] = sum(1 << OUTCOME_CODES[outcome] for outcome in set(rules.ends_on))
    if rules.frozen_after_s is not None:
        packed[referee.RULE_FROZEN_STEPS] = round(min(rules.frozen_after_s, 2 * rules.time_limit_s) / rules.step_s)
    packed[referee.RULE_STOP_WITHIN], packed[referee.RULE_STOP_FOR] = rules.stop_within_m, rules.stop_for_s
    packed[referee.RULE_COOLDOWN] = rules.collision_cooldown_s
    packed[referee.RULE_PRECEDENCE :] = [OUTCOME_CODES[outcome] for outcome in rules.precedence]
    return packed


def pack_waypoints(robots: Sequence[RobotPlacement], rules: Rules) -> FloatArray:
    """Where robots that failed are put down: their start, the points of their route, the goal last.

    A robot is never put on its goal, nor on a waypoint within the goal's circle other than its start: to be carried on
    again and again must not reach the goal.
    """
    if rules.on_failure != "reset":
        return np.zeros((len(robots), 0, referee.POINT_ROWS))
    routes = [np.array([robot.start[:2], *robot.route, robot.goal], np.float64) for robot in robots]
    packed = np.zeros((len(robots), 1 + max(len(points) for points in routes), referee.POINT_ROWS))
    for row, points in zip(packed, routes, strict=True):
        steps = np.diff(points, axis=0)
        outside = exact.norm(points[:-1] - points[-1]) >= rules.goal_radius_m
        row[0, :2] = len(points), max([0, *np.flatnonzero(outside).tolist()])
        row[1 : len(points) + 1, [referee.POINT_X, referee.POINT_Y]] = points
        row[1 : len(points), referee.POINT_HEADING] = exact.arctan2(steps[:, 1], steps[:, 0])
        row[2 : len(points) + 1, referee.POINT_ALONG] = np.cumsum(exact.norm(steps))
    return packed


@lru_cache(maxsize=32)
def compile_ground(scene: CompiledScene, kinds: tuple[str, ...], where: str) -> Ground:
    """All regions of ``kinds`` as one ground; remembered, as many scenarios share a scene."""
    shapes = [shapely.Polygon(r.polygon, r.holes) for r in scene.spec.regions if r.kind in kinds]
    if not shapes:
        raise BadInput(
            f"{where}: rules.stay_on names {', '.join(kinds)}, but scene {scene.spec.name!r} has no such region"
        )
    grown = shapely.union_all([shape.buffer(SEAM_M, join_style="mitre") for shape in shapes])
    edges = np.concatenate(list(_edges_mm(grown.buffer(-SEAM_M, join_style="mitre"))))
    lowest = float(edges[:, [1, 3]].min())
    first = np.floor((edges[:, [1, 3]].min(axis=1) - lowest) / BAND_MM).astype(np.int64)
    last = np.floor((edges[:, [1, 3]].max(axis=1) - lowest) / BAND_MM).astype(np.int64)
    listed = [np.flatnonzero((first <= band) & (band <= last)) for band in range(int(last.max()) + 1)]
    bands = np.concatenate([[0], np.cumsum([len(items) for items in listed])]).astype(np.int64)
    return Ground(np.ascontiguousarray(edges[np.concatenate(listed)]), bands, lowest)


def _edges_mm(shape: Any) -> Iterator[FloatArray]:
    """The edges of all rings of a polygon or of several, rounded to whole millimetres."""
    for polygon in shapely.get_parts(shape):
        for ring in (polygon.exterior, *polygon.interiors):
            points = np.rint(shapely.get_coordinates(ring) * referee.MILLIMETRES)
            edges = np.concatenate([points[:-1], points[1:]], axis=1)
            yield edges[(edges[:, :2] != edges[:, 2:]).any(axis=1)]


def ground_bank(grounds: Sequence[Ground | None]) -> tuple[Grounds, list[int]]:
    """All distinct grounds end to end, and which one each world has (0 for none)."""
    distinct = {id(ground): ground for ground in grounds if ground is not None}
    edges: list[FloatArray] = [np.zeros((0, 4))]
    bands: list[IntArray] = [np.zeros(1, np.int64)]
    frames = [np.array([0.0, 1.0, 0.0, 0.0])]
    for ground in distinct.values():
        frames.append(np.array([ground.lowest_mm, BAND_MM, sum(map(len, bands)), len(ground.bands) - 1]))
        bands.append(ground.bands + sum(map(len, edges)))
        edges.append(ground.edges)
    place = {key: k for k, key in enumerate(distinct, start=1)}
    numbers = [0 if ground is None else place[id(ground)] for ground in grounds]
    return Grounds(np.concatenate(edges), np.concatenate(bands), np.stack(frames)), numbers
