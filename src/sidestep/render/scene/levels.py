"""How high the ground is: sidewalks at 0, roads one kerb lower, ramps between."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.render.scene.layout import SNAP, Layout, join, meet, minus, read_layout
from sidestep.render.scene.surroundings import continue_ground
from sidestep.types.base import FloatArray
from sidestep.types.scene import CompiledScene, SceneSpec

KERB_HEIGHT = 0.12  # m
RAMP_LENGTH = 1.0  # m, of ramps that the scene does not draw itself
LOWERED = frozenset({"road", "crosswalk"})
RAISED = frozenset({"sidewalk", "kerb", "verge", "frontage", "ramp"})


@dataclass(frozen=True)
class Plane:
    """z = a x + b y + c, m."""

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0

    def at(self, points: FloatArray) -> FloatArray:
        return np.asarray(points[..., 0] * self.a + points[..., 1] * self.b + self.c)


@dataclass(frozen=True)
class Ramp:
    polygon: Any
    plane: Plane


class GroundHeight:
    """The height of the ground below any point, as drawn: where feet and wheels stand."""

    def __init__(self, lowered: Any, ramps: tuple[Ramp, ...]) -> None:
        self.lowered = lowered
        self.ramps = ramps
        shapely.prepare(lowered)

    def at(self, points: FloatArray) -> FloatArray:
        """``(N, 2)`` → ``(N,)`` float64, m."""
        xy = np.asarray(points, float).reshape(-1, 2)
        z = np.where(shapely.contains_xy(self.lowered, xy[:, 0], xy[:, 1]), -KERB_HEIGHT, 0.0)
        for ramp in self.ramps:
            on = shapely.contains_xy(ramp.polygon, xy[:, 0], xy[:, 1])
            z[on] = np.clip(ramp.plane.at(xy[on]), -KERB_HEIGHT, 0.0)
        return z


def ground_height(scene: CompiledScene | SceneSpec) -> GroundHeight:
    """Heights of a scene: 0 everywhere but on roads, crosswalks and ramps of a scene that has sidewalks."""
    return layout_height(continue_ground(read_layout(scene)))


def layout_height(layout: Layout) -> GroundHeight:
    kinds = {region.kind for region, _ in layout.ground}
    if not (kinds & LOWERED and kinds & RAISED):
        return GroundHeight(shapely.Polygon(), ())
    areas = {
        kind: join([p for r, p in layout.ground if r.kind == kind])
        for kind in ("road", "crosswalk", "ramp", "kerb", "verge", "grass", "frontage", "sidewalk")
    }
    over_road = [areas[kind] for kind in ("ramp", "kerb", "verge", "grass", "frontage", "sidewalk")]
    lowered = join([minus(areas["road"], shapely.union_all(over_road)), areas["crosswalk"]])
    ground = join([polygon for _, polygon in layout.ground])
    raised = minus(ground, lowered)
    ramps = [
        _slope(shapely.difference(polygon, areas["crosswalk"]), lowered)
        for r, polygon in layout.ground
        if r.kind == "ramp"
    ]
    drawn = shapely.union_all([ramp.polygon for ramp in ramps if ramp])
    for region, crosswalk in layout.ground:
        if region.kind == "crosswalk":
            ramps += _cut_ramps(crosswalk, minus(raised, drawn), lowered)
    return GroundHeight(lowered, tuple(ramp for ramp in ramps if ramp))


def _contact(a: Any, b: Any) -> list[tuple[FloatArray, FloatArray]]:
    """Straight pieces of the line in which two areas touch, longest first."""
    line = shapely.line_merge(shapely.intersection(a.boundary, b.boundary, grid_size=SNAP))
    ends = []
    for part in shapely.get_parts(line):
        if part.geom_type != "LineString":
            continue
        points = np.asarray(shapely.simplify(part, 0.01).coords)
        ends += list(itertools.pairwise(points))
    return sorted(ends, key=lambda pair: -float(np.hypot(*(pair[1] - pair[0]))))


def _slope(ramp: Any, lowered: Any) -> Ramp | None:
    """The plane that rises from the line where a ramp meets the road to its farthest corner."""
    lines = _contact(ramp, lowered)
    if not lines or ramp.geom_type != "Polygon":
        return None
    start, end = lines[0]
    along = (end - start) / np.hypot(*(end - start))
    up = np.array([-along[1], along[0]])
    ahead = (np.asarray(ramp.exterior.coords) - start) @ up
    if abs(ahead.min()) > abs(ahead.max()):
        up, ahead = -up, -ahead
    if ahead.max() < 0.05:
        return None
    a, b = up * KERB_HEIGHT / ahead.max()
    return Ramp(ramp, Plane(float(a), float(b), float(-KERB_HEIGHT - a * start[0] - b * start[1])))


def _cut_ramps(crosswalk: Any, raised: Any, lowered: Any) -> list[Ramp | None]:
    """Ramps cut into the sidewalk at the ends of a crosswalk that has none."""
    ramps = []
    middle = np.asarray(crosswalk.centroid.coords)[0]
    for start, end in _contact(crosswalk, raised):
        along = end - start
        if np.hypot(*along) < 0.8:
            continue
        out = np.array([along[1], -along[0]]) / np.hypot(*along)
        if out @ (start - middle) < 0:
            out = -out
        quad = shapely.Polygon([start, end, end + RAMP_LENGTH * out, start + RAMP_LENGTH * out])
        cut = meet(quad, raised)
        parts = [part for part in shapely.get_parts(cut) if part.geom_type == "Polygon" and part.area > 0.2]
        ramps += [_slope(part, lowered) for part in parts]
    return ramps
