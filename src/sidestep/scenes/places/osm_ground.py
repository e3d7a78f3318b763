"""Which ground an extract has: crosswalks, ramps, sidewalks, squares, kerbs, roads and lawns, in this precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import shapely

from sidestep.scenes.places.crossings import Crossing
from sidestep.scenes.places.osm_areas import closed_areas
from sidestep.scenes.places.osm_file import OsmData, Tags
from sidestep.scenes.places.osm_tags import OsmOptions, is_area, is_path, path_width
from sidestep.scenes.places.partition import Layer, partition
from sidestep.scenes.places.roads import Streets
from sidestep.types.scene import Region

LAWNS = {"landuse": ("grass", "meadow", "village_green", "flowerbed", "recreation_ground"),
         "leisure": ("park", "garden", "pitch"), "natural": ("grassland", "scrub")}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Paths:
    """Ways for walking that are drawn as such."""

    lines: tuple[tuple[Any, float], ...]
    """Lines and widths, m; without what lies on a road, unless they are sidewalks."""
    area: Any


def lay_paths(data: OsmData, streets: Streets, options: OsmOptions) -> Paths:
    """Footways, paths and pedestrian streets; sidewalks that are drawn win over the road, other paths do not."""
    ways = [way for way in data.ways if is_path(way.tags)]
    uses: dict[str, int] = {}
    for way in ways:
        for ref in set(way.refs):
            uses[ref] = uses.get(ref, 0) + 1
    lines, areas = [], []
    for way in ways:
        half = path_width(way.tags, options) / 2
        line = shapely.LineString(way.points)
        ends = [shapely.Point(data.nodes[ref].xy).buffer(half) for ref in way.refs if uses[ref] > 1]
        area = shapely.union_all([line.buffer(half, cap_style="flat"), *ends])
        if way.tags.get("footway") != "sidewalk":
            line, area = (shapely.difference(shape, streets.carriageway) for shape in (line, area))
        areas.append(area)
        lines += [(part, 2 * half) for part in shapely.get_parts(line) if part.length > 0.5]
    return Paths(tuple(lines), shapely.union_all(areas) if areas else shapely.Polygon())


def is_lawn(tags: Tags) -> bool:
    return any(tags.get(key) in values for key, values in LAWNS.items())


def lay_ground(
    data: OsmData,
    streets: Streets,
    paths: Paths,
    crossings: list[Crossing],
    buildings: Any,
    options: OsmOptions,
    clip: Any,
) -> tuple[Region, ...]:
    """The open regions."""
    squares = shapely.union_all([area for area, _ in closed_areas(data, is_area)])
    squares = shapely.difference(squares, streets.carriageway)
    walks = shapely.union_all([streets.sidewalks, paths.area])
    paved = shapely.union(walks, squares)
    road = shapely.difference(streets.carriageway, paths.area)
    strips = shapely.union_all([crossing.strip for crossing in crossings])
    crosswalk = shapely.intersection(strips, road)
    ramp = _ramps(crossings, crosswalk, road, paved, options)
    kerb = shapely.intersection(shapely.buffer(paved, options.kerb_width), road)
    lawns = shapely.union_all([area for area, _ in closed_areas(data, is_lawn)])
    layers = (
        Layer(None, buildings),
        Layer("crosswalk", crosswalk, "crosswalk"),
        Layer("ramp", ramp, "ramp"),
        Layer("sidewalk", walks),
        Layer("sidewalk", squares, "plaza"),
        Layer("kerb", kerb),
        Layer("road", road, "street"),
        Layer("grass", lawns, "lawn"),
    )
    return partition(layers, clip)


def _ramps(crossings: list[Crossing], crosswalk: Any, road: Any, paved: Any, options: OsmOptions) -> Any:
    """The first metre of the sidewalk at each end, and whatever lies between the road and the sidewalk."""
    near = shapely.buffer(crosswalk, options.ramp_length)
    ramps = []
    for crossing in crossings:
        beside = shapely.difference(crossing.strip, road)
        ramps += [shapely.intersection(beside, near), shapely.difference(beside, paved)]
    return shapely.union_all(ramps) if ramps else shapely.Polygon()
