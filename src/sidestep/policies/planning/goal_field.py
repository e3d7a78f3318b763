"""The obstacle-aware distance to a goal over a compiled scene, for planners."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from sidestep.kernels.geodesic import spread_outward, sweep_geodesic
from sidestep.kernels.spline_costs import clearance_at, downhill
from sidestep.types import CompiledScene
from sidestep.types.base import FloatArray

STEEPNESS = 10.0
"""Cost of a metre where the body does not fit; the field reaches as far as its centre can be pushed."""


@dataclass(frozen=True, eq=False)
class GoalField:
    """Clearance and distance to the goal on one grid. Without walls both are (0, 0): the straight distance is meant."""

    goal: tuple[float, float]
    clearance: FloatArray  # (ny, nx) float32, m
    distance: FloatArray  # (ny, nx) float32, m; infinite where no way leads
    origin: tuple[float, float]
    cell: float

    def distance_at(self, x: float, y: float) -> float:
        """Distance to the goal round the walls (weighted near them if the field is), m."""
        return float(self.look(x, y)[0])

    def look(self, x: float, y: float) -> tuple[float, float, float]:
        """Distance (m) and the unit vector in which it falls."""
        d, ux, uy = downhill(self.distance, *self.origin, self.cell, *self.goal, x, y)
        return d, ux, uy

    def clearance_at(self, x: float, y: float) -> float:
        """Distance from (x, y) to the nearest solid, m."""
        return float(clearance_at(self.clearance, *self.origin, self.cell, x, y))


def make_goal_field(
    scene: CompiledScene | None,
    goal: tuple[float, float],
    radius: float,
    *,
    margin: float = 0.0,
    wall_weight: float = 0.0,
) -> GoalField:
    """Distance to ``goal`` for the centre of a disc of ``radius`` (m).

    A metre costs ``1 + wall_weight ((margin - c) / margin)²`` where the body's surface is c < ``margin`` from a wall;
    with the defaults the field is the length of the shortest way. A cell is closed when its clearance is more than
    half a cell below ``radius``, so that a passage that just fits is never closed by where the samples lie.
    """
    if scene is None or not len(scene.wall_points):
        none = np.zeros((0, 0), np.float32)
        return GoalField(goal, none, none, (0.0, 0.0), 1.0)
    clearance = np.array(scene.distance, np.float32)  # a copy: numba compiles anew for what is read-only
    cell, origin = float(scene.distance_cell), scene.distance_origin
    gap = clearance.astype(np.float64) - radius
    slowness = np.ones_like(gap)
    if margin > 0.0 and wall_weight > 0.0:
        slowness += wall_weight * np.square(np.clip((margin - gap) / margin, 0.0, 1.5))
    slowness[gap < -0.5 * cell] = np.inf
    distance = np.full_like(gap, np.inf)
    _place_sources(distance, np.isfinite(slowness), scene.clearance(*goal) - radius - margin, goal, origin, cell)
    sweep_geodesic(distance, slowness, cell)
    spare = np.empty_like(distance)
    for _ in range(ceil(radius / cell) + 1):
        spread_outward(distance, STEEPNESS, cell, spare)
    return GoalField(goal, clearance, distance.astype(np.float32), origin, cell)


def _place_sources(
    distance: FloatArray,
    is_open: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    free: float,
    goal: tuple[float, float],
    origin: tuple[float, float],
    cell: float,
) -> None:
    """Exact distances in the free disc about the goal; where the body does not fit at the goal, in one that just
    reaches open cells."""
    ny, nx = distance.shape
    column, row = (goal[0] - origin[0]) / cell, (goal[1] - origin[1]) / cell
    y, x = np.ogrid[:ny, :nx]
    away = cell * np.sqrt(np.square(x - column) + np.square(y - row))
    reach = max(free, 1.5 * cell)
    if not (is_open & (away <= reach)).any() and is_open.any():
        reach = float(away[is_open].min()) + 0.5 * cell
    near = away <= reach
    distance[near] = away[near]
