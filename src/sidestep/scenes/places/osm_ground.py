"""Which ground an extract has: crosswalks, ramps, sidewalks, squares, kerbs, roads and lawns, in this precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import shapely

from sidestep.scenes.places import grid
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
        ends = [grid.grown(shapely.Point(data.nodes[ref].xy), half) for ref in way.refs if uses[ref] > 1]
        area = grid.union([grid.grown(line, half, cap_style="flat"), *ends])
        if way.tags.get("footway") != "sidewalk":
            line, area = (grid.difference(shape, streets.carriageway) for shape in (line, area))
        areas.append(area)
        lines += [(part, 2 * half) for part in shapely.get_parts(line) if grid.length_of(part) > 0.5]
    return Paths(tuple(lines), grid.union(areas) if areas else shapely.Polygon())


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
    squares = grid.union([area for area, _ in closed_areas(data, is_area)])
    squares = grid.difference(squares, streets.carriageway)
    walks = grid.union([streets.sidewalks, paths.area])
    paved = grid.union([walks, squares])
    road = grid.difference(streets.carriageway, paths.area)
    strips = grid.union([crossing.strip for crossing in crossings])
    crosswalk = grid.intersection(strips, road)
    ramp = _ramps(crossings, crosswalk, road, paved, options)
    kerb = grid.intersection(grid.grown(paved, options.kerb_width), road)
    lawns = grid.union([area for area, _ in closed_areas(data, is_lawn)])
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
    near = grid.grown(crosswalk, options.ramp_length)
    ramps = []
    for crossing in crossings:
        beside = grid.difference(crossing.strip, road)
        ramps += [grid.intersection(beside, near), grid.difference(beside, paved)]
    return grid.union(ramps) if ramps else shapely.Polygon()
