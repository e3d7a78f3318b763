"""A 2D scene as the builder reads it: ground areas, solids, bounds, and whether it is indoors; with polygon algebra on
a grid of 1 mm, so that neighbours share corners.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from sidestep.errors import BadInput
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


STREET = frozenset({"road", "crosswalk", "sidewalk", "kerb", "verge", "frontage", "grass", "ramp"})
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
    whole: bool  # nothing was cut off

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

    1. a road, sidewalk, crosswalk, kerb, verge, frontage, grass or ramp region, or a building: outdoors;
    2. an outdoor word in the scene's name (street, plaza, court, socnav, …): outdoors;
    3. an indoor word in the scene's name (corridor, hall, lobby, room, …): indoors;
    4. a scene that is not enclosed: outdoors;
    5. an indoor word in the name of an open region: indoors;
    6. an outdoor word in the name of an open region (ground, square, …): outdoors;
    7. otherwise indoors: an enclosed scene is a floor plan.
    """
    kinds = {region.kind for region in spec.regions}
    name = words(spec.name.replace("_", " "))
    if kinds & STREET or "building" in kinds or name & OUTDOOR_WORDS:
        return False
    if name & INDOOR_WORDS:
        return True
    inside = frozenset().union(*(words(region.name) for region in spec.regions if region.kind in OPEN))
    return spec.enclosed and (bool(inside & INDOOR_WORDS) or not inside & OUTDOOR_WORDS)


def read_layout(scene: CompiledScene | SceneSpec, indoor: bool | None = None) -> Layout:
    """Polygons of a scene; the smaller of two overlapping solids loses the overlap."""
    spec = scene.spec if isinstance(scene, CompiledScene) else scene
    polygons = [_polygon(region, index) for index, region in enumerate(spec.regions)]
    both = list(zip(spec.regions, polygons, strict=True))
    ground = tuple((region, polygon) for region, polygon in both if region.kind in OPEN)
    solids = _without_overlaps([(region, polygon) for region, polygon in both if region.kind in SOLID])
    open_area = join([polygon for _, polygon in ground])
    under_roof = is_indoor(spec) if indoor is None else indoor
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
                footprints.append((index, Footprint(region, orient(part, 1.0), abs(part.area - polygon.area) < 1e-6)))
    return tuple(footprint for _, footprint in sorted(footprints, key=lambda item: item[0]))
