"""A 2D scene as the builder reads it: ground areas, which go on beyond the drawing, solids, bounds, and whether it is
indoors; with polygon algebra on a grid of 1 mm, so that neighbours share corners. How high the ground is: sidewalks
at 0, roads one kerb lower, ramps between.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.scene import OPEN, SOLID, CompiledScene, Region, SceneSpec

SNAP = 1e-3  # m


def meet(a: Any, b: Any) -> Any:
    """What both cover."""
    return _polygonal(shapely.intersection(a, b, grid_size=SNAP))


def minus(a: Any, b: Any) -> Any:
    """What only the first covers."""
    return _polygonal(shapely.difference(a, b, grid_size=SNAP))


def join(areas: Iterable[Any]) -> Any:
    """What any of them covers."""
    return _polygonal(shapely.union_all(list(areas), grid_size=SNAP))


def off_grid(area: Any) -> Any:
    """The same area with free corners: cutting it moves no edge, so the cut parts do not overlap by a hair."""
    return shapely.set_precision(area, 0.0)


def _polygonal(geometry: Any) -> Any:
    if geometry.geom_type in ("Polygon", "MultiPolygon"):
        return geometry
    return shapely.MultiPolygon([part for part in shapely.get_parts(geometry) if part.geom_type == "Polygon"])


STREET = frozenset({"road", "crosswalk", "sidewalk", "kerb", "verge", "frontage", "grass", "ramp", "island"})
INDOOR_WORDS = frozenset({
    "corridor", "hallway", "hall", "lobby", "room", "office", "floor", "doorway", "lounge", "kitchen", "ward",
    "clinic", "museum", "mall", "supermarket", "indoor", "station", "lab", "classroom", "warehouse",
})  # fmt: skip
OUTDOOR_WORDS = frozenset({
    "street", "plaza", "square", "court", "ground", "road", "park", "campus", "yard", "garden", "socnav", "sidewalk",
    "crosswalk", "intersection", "outdoor", "market", "walkway", "path", "terrace",
})  # fmt: skip
EMPTY_BOUNDS = (-10.0, -10.0, 10.0, 10.0)  # m: what is shown of a scene without regions
FARTHEST = 16_000.0  # m


@dataclass(frozen=True)
class Footprint:
    """A solid region: its polygon without what earlier and larger solids already cover."""

    region: Region
    polygon: Any

    @property
    def words(self) -> frozenset[str]:
        return words(self.region.name)


@dataclass(frozen=True)
class Layout:
    """What the builders read."""

    spec: SceneSpec
    indoor: bool
    bounds: tuple[float, float, float, float]
    ground: tuple[tuple[Region, Any], ...]
    solids: tuple[Footprint, ...]
    open_area: Any  # union of the open regions

    @property
    def enclosed(self) -> bool:
        return self.spec.enclosed


def words(name: str) -> frozenset[str]:
    """The lower-case words of a name, singular and plural alike."""
    found = re.findall(r"[a-z]+", name.lower())
    return frozenset(found) | frozenset(word[:-1] for word in found if word.endswith("s") and len(word) > 3)


def is_indoor(spec: SceneSpec) -> bool:
    """The rule, first match wins:

    1. a scene that is not enclosed: outdoors, because no wall stands on its border;
    2. a road, sidewalk, crosswalk, kerb, verge, frontage, grass or ramp region, or a building: outdoors;
    3. an outdoor word in the scene's name (street, plaza, court, socnav, …): outdoors;
    4. an indoor word in the scene's name (corridor, hall, lobby, room, …): indoors;
    5. an indoor word in the name of an open region: indoors;
    6. an outdoor word in the name of an open region (ground, square, …): outdoors;
    7. otherwise indoors: an enclosed scene is a floor plan.
    """
    kinds = {region.kind for region in spec.regions}
    name = words(spec.name.replace("_", " "))
    if not spec.enclosed or kinds & STREET or "building" in kinds or name & OUTDOOR_WORDS:
        return False
    if name & INDOOR_WORDS:
        return True
    inside = frozenset().union(*(words(region.name) for region in spec.regions if region.kind in OPEN))
    return bool(inside & INDOOR_WORDS) or not inside & OUTDOOR_WORDS


def read_layout(scene: CompiledScene | SceneSpec, indoor: bool | None = None) -> Layout:
    """Polygons of a scene; the smaller of two overlapping solids loses the overlap."""
    spec = scene.spec if isinstance(scene, CompiledScene) else scene
    polygons = [_polygon(region, index) for index, region in enumerate(spec.regions)]
    both = list(zip(spec.regions, polygons, strict=True))
    ground = tuple((region, polygon) for region, polygon in both if region.kind in OPEN)
    solids = _without_overlaps([(region, polygon) for region, polygon in both if region.kind in SOLID])
    open_area = join([polygon for _, polygon in ground])
    under_roof = is_indoor(spec) if indoor is None else indoor
    if under_roof and not spec.enclosed:
        raise BadInput(
            f"scene {spec.name!r}: cannot be drawn indoors, because it is not enclosed: cameras would show walls that "
            "nothing else has; set enclosed: true in the scene, or leave out indoor=True"
        )
    bounds = shapely.total_bounds(polygons) if polygons else np.array(EMPTY_BOUNDS)
    x0, y0, x1, y1 = (float(value) for value in bounds)
    return Layout(spec, under_roof, (x0, y0, x1, y1), ground, solids, open_area)


def _polygon(region: Region, index: int) -> Any:
    corners = np.asarray(region.polygon, float)
    where = f"regions[{index}] ({region.kind} {region.name!r})"
    if np.abs(corners).max() > FARTHEST:
        raise BadInput(f"{where}: lies more than {FARTHEST / 1000:g} km from the origin; move the scene near it")
    polygon = shapely.Polygon(region.polygon, region.holes)
    if not polygon.is_valid:
        raise BadInput(f"{where}: {shapely.is_valid_reason(polygon)}; list the corners in order around it")
    return shapely.set_precision(polygon, SNAP)


def _without_overlaps(solids: list[tuple[Region, Any]]) -> tuple[Footprint, ...]:
    order = sorted(range(len(solids)), key=lambda i: (solids[i][0].kind != "building", -solids[i][1].area, i))
    footprints: list[tuple[int, Footprint]] = []
    tree = shapely.STRtree([polygon for _, polygon in solids])
    rank = {index: place for place, index in enumerate(order)}
    for index in order:
        region, polygon = solids[index]
        near = [j for j in tree.query(polygon, predicate="intersects") if rank[j] < rank[index]]
        rest = minus(polygon, shapely.union_all([solids[j][1] for j in near]))
        for part in shapely.get_parts(rest):
            if part.geom_type == "Polygon" and part.area > 1e-4:
                footprints.append((index, Footprint(region, orient(part, 1.0))))
    return tuple(footprint for _, footprint in sorted(footprints, key=lambda item: item[0]))


REACH = 130.0  # m that the ground goes on
SQUARE_REACH = 14.0  # m that a wide open square goes on
NARROW = 8.0  # m: walkways up to this width go on like streets
CONTINUED = ("road", "sidewalk", "kerb", "verge", "frontage", "walkable", "grass")


def continue_ground(layout: Layout) -> Layout:
    """Regions that reach the border of the drawing, drawn out straight beyond it."""
    if layout.enclosed or layout.indoor or not layout.ground:
        return layout
    longer = []
    for region, polygon in layout.ground:
        if region.kind in CONTINUED:
            strips = [strip for side in range(4) for strip in _strips(polygon, layout.bounds, side, region.kind)]
            polygon = join([polygon, *strips])
        longer.append((region, polygon))
    return replace(layout, ground=tuple(longer))


def _strips(polygon: Any, bounds: tuple[float, float, float, float], side: int, kind: str) -> list[Any]:
    """Boxes beyond one side (0 west, 1 east, 2 south, 3 north) over the stretches where the polygon touches it."""
    x0, y0, x1, y1 = bounds
    thin = 0.01
    edge = [(x0, y0, x0 + thin, y1), (x1 - thin, y0, x1, y1), (x0, y0, x1, y0 + thin), (x0, y1 - thin, x1, y1)][side]
    strips = []
    for part in shapely.get_parts(shapely.intersection(polygon, shapely.box(*edge))):
        if part.geom_type != "Polygon" or part.area < 0.5 * thin * thin:
            continue
        a0, b0, a1, b1 = (round(value, 3) for value in part.bounds)
        width = (b1 - b0) if side < 2 else (a1 - a0)
        if width < 0.05:
            continue
        reach = REACH if kind not in ("walkable", "grass") or width <= NARROW else SQUARE_REACH
        strips.append(
            [
                shapely.box(x0 - reach, b0, x0, b1),
                shapely.box(x1, b0, x1 + reach, b1),
                shapely.box(a0, y0 - reach, a1, y0),
                shapely.box(a0, y1, a1, y1 + reach),
            ][side]
        )
    return strips


KERB_HEIGHT = 0.12  # m
RAMP_LENGTH = 1.0  # m, of ramps that the scene does not draw itself
LOWERED = frozenset({"road", "crosswalk"})
RAISED = frozenset({"sidewalk", "kerb", "verge", "frontage", "ramp", "island"})


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
        boxes = np.array([ramp.polygon.bounds for ramp in ramps]).reshape(-1, 1, 4)
        self._low, self._high = boxes[..., :2], boxes[..., 2:]
        shapely.prepare([lowered, *(ramp.polygon for ramp in ramps)])

    def at(self, points: FloatArray) -> FloatArray:
        """``(N, 2)`` → ``(N,)`` float64, m."""
        xy = np.asarray(points, float).reshape(-1, 2)
        z = np.where(shapely.contains_xy(self.lowered, xy[:, 0], xy[:, 1]), -KERB_HEIGHT, 0.0)
        in_box = np.all((xy >= self._low) & (xy <= self._high), axis=2)
        for k in np.flatnonzero(np.any(in_box, axis=1)).tolist():
            ramp = self.ramps[k]
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
        for kind in ("road", "crosswalk", "ramp", "kerb", "verge", "grass", "frontage", "sidewalk", "island")
    }
    over_road = [areas[kind] for kind in ("ramp", "kerb", "verge", "grass", "frontage", "sidewalk", "island")]
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
