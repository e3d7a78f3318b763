"""An OpenStreetMap extract as a place. Its ground is, in this precedence, crosswalks, ramps, sidewalks, squares,
kerbs, roads and lawns; closed outlines and multipolygons become buildings with their heights; trees, benches, lamps
and whatever else stands in a street become footprints with the names that towns use; walking lines become a graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.places.grid import Layer, as_region, partition
from sidestep.scenes.places.osm_file import (
    OsmData,
    OsmNode,
    OsmOptions,
    OsmRelation,
    OsmWay,
    Tags,
    building_height,
    is_area,
    is_path,
    metres,
    path_width,
    read_osm_file,
)
from sidestep.scenes.places.osm_streets import MappedCrossing, Streets, find_crossings, lay_streets
from sidestep.scenes.places.place import WALKABLE_KINDS, Place, WalkLine, make_graph
from sidestep.scenes.walkways import OBSTACLES, footprints, unit
from sidestep.types.scene import Region, RegionKind, SceneSpec

PASSABLE = frozenset({"no", "roof", "carport", "canopy"})
"""Buildings under which one walks."""
SMALLEST_AREA = 0.5  # m²


def closed_areas(data: OsmData, wanted: Callable[[Tags], bool]) -> list[tuple[Any, Tags]]:
    """Valid polygons of closed ways and multipolygons whose tags are wanted."""
    ways = {way.id: way for way in data.ways}
    found = [(shapely.Polygon(way.points), way.tags) for way in data.ways if way.closed and wanted(way.tags)]
    for relation in data.relations:
        if relation.tags.get("type") == "multipolygon" and wanted(relation.tags):
            area = _assembled(relation, ways)
            if area is not None:
                found.append((area, relation.tags))
    areas = []
    for area, tags in found:
        sound = grid.snapped(shapely.make_valid(area)) if not area.is_valid else area
        areas += [(part, tags) for part in _polygons(sound) if part.area > SMALLEST_AREA]
    return areas


def _polygons(geometry: Any) -> list[Any]:
    parts = shapely.get_parts(geometry)
    return [polygon for part in parts for polygon in shapely.get_parts(part) if polygon.geom_type == "Polygon"]


def _assembled(relation: OsmRelation, ways: dict[str, OsmWay]) -> Any | None:
    """Outer rings without inner ones; None where the extract has not all of its ways."""
    rings: dict[bool, list[Any]] = {True: [], False: []}
    for ref, role in relation.members:
        if ref not in ways:
            return None
        rings[role == "inner"].append(shapely.LineString(ways[ref].points))
    outer, inner = (grid.union(shapely.get_parts(shapely.polygonize(rings[role]))) for role in (False, True))
    return grid.difference(outer, inner)


def is_building(tags: Tags) -> bool:
    return (
        tags.get("building", "no") not in PASSABLE and tags.get("layer", "0") in ("0", "") and "min_height" not in tags
    )


def lay_buildings(data: OsmData, options: OsmOptions, clip: Any | None) -> tuple[list[Region], Any]:
    """Building regions, and the ground that they cover."""
    regions, areas = [], []
    for area, tags in closed_areas(data, is_building):
        whole = grid.snapped(area)
        for part in _polygons(whole if clip is None else grid.intersection(whole, clip)):
            if part.area > SMALLEST_AREA:
                regions.append(as_region("building", part, _building_name(tags), building_height(tags, options)))
                areas.append(part)
    return regions, grid.union(areas) if areas else shapely.Polygon()


def _building_name(tags: Tags) -> str:
    """``shop`` and the like make a shop front; otherwise what kind of building it is."""
    if "shop" in tags:
        return "shop"
    if tags.get("amenity") in ("cafe", "restaurant"):
        return tags["amenity"]
    kind = tags.get("building", "yes")
    return {"yes": "", "retail": "shop"}.get(kind, kind)


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
    crossings: list[MappedCrossing],
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


def _ramps(crossings: list[MappedCrossing], crosswalk: Any, road: Any, paved: Any, options: OsmOptions) -> Any:
    """The first metre of the sidewalk at each end, and whatever lies between the road and the sidewalk."""
    near = grid.grown(crosswalk, options.ramp_length)
    ramps = []
    for crossing in crossings:
        beside = grid.difference(crossing.strip, road)
        ramps += [grid.intersection(beside, near), grid.difference(beside, paved)]
    return grid.union(ramps) if ramps else shapely.Polygon()


THINGS: tuple[tuple[str, str, str, float, float, float], ...] = (
    # key, value, name, length, width, height (m)
    ("natural", "tree", "tree", 0.4, 0.4, 6.5),
    ("amenity", "bench", "bench", 1.8, 0.5, 0.45),
    ("highway", "street_lamp", "lamp post", 0.2, 0.2, 4.5),
    ("barrier", "bollard", "bollard", 0.2, 0.2, 0.9),
    ("amenity", "waste_basket", "litter bin", 0.5, 0.5, 1.0),
    ("highway", "bus_stop", "sign post", 0.12, 0.12, 2.7),
    ("emergency", "fire_hydrant", "hydrant", 0.3, 0.3, 0.8),
    ("highway", "traffic_signals", "signal post", 0.2, 0.2, 3.2),
    ("amenity", "fountain", "basin", 2.4, 2.4, 0.5),
    ("man_made", "street_cabinet", "cabinet", 1.0, 0.45, 1.3),
    ("man_made", "planter", "planter", 1.4, 0.6, 0.6),
    ("barrier", "planter", "planter", 1.4, 0.6, 0.6),
    ("leisure", "picnic_table", "cafe table", 0.8, 0.8, 0.75),
    ("tourism", "information", "sign post", 0.14, 0.14, 2.4),
)
BARRIERS: dict[str, tuple[float, float]] = {
    "wall": (0.3, 1.6), "fence": (0.1, 1.2), "hedge": (0.6, 1.2), "retaining_wall": (0.4, 1.0),
    "guard_rail": (0.2, 0.8),
}  # fmt: skip
"""Lines that one cannot pass: thickness and height, m."""
SHELTER = (3.0, 1.2, 2.5)  # m
FARTHEST_WALK = 15.0  # m: a thing so near a walking line stands along it


def lay_things(data: OsmData, walks: list[Any], taken: Any, clip: Any | None) -> list[Region]:
    """What stands about, but nothing in the middle of ``taken`` ground: roads, crossings and buildings."""
    shapely.prepare(taken)
    regions = []
    for node in data.nodes.values():
        point = shapely.Point(node.xy)
        if not node.tags or (clip is not None and not clip.contains(point)) or taken.contains(point):
            continue
        for key, value, name, length, width, height in THINGS:
            if node.tags.get(key) == value:
                high = metres(node.tags.get("height")) or height
                regions.append(_footprint(name, node, _heading(node, walks), (length, width), min(high, 30.0)))
        if node.tags.get("highway") == "bus_stop" and node.tags.get("shelter") == "yes":
            regions.append(_footprint("bus shelter", node, _heading(node, walks), SHELTER[:2], SHELTER[2]))
    return regions + _barrier_lines(data, taken, clip)


def _heading(node: OsmNode, walks: list[Any]) -> float:
    """Heading along the nearest walking line; across ``direction`` (clockwise from north, where one looks) if it is
    stated."""
    try:
        return -math.radians(float(node.tags["direction"]))
    except (KeyError, ValueError):
        pass
    lines = [grid.corners(walk) for walk in walks]
    found = [grid.locate(line, np.array(node.xy)) for line in lines]
    nearest = min(range(len(found)), key=lambda k: found[k][1], default=-1)
    if nearest < 0 or found[nearest][1] > FARTHEST_WALK:
        return 0.0
    station = found[nearest][0]
    a, b = grid.points_along(lines[nearest], (station - 0.5, station + 0.5))
    along = unit(b - a)
    return float(exact.arctan2(along[1], along[0]))


def _footprint(name: str, node: OsmNode, heading: float, size: tuple[float, float], height: float) -> Region:
    along = np.array([[exact.cos(heading), exact.sin(heading)]])
    [ring] = footprints([name], np.array([node.xy]), along, np.array([size]))
    kind: RegionKind = "obstacle" if name in OBSTACLES else "furniture"
    return as_region(kind, shapely.Polygon(ring), name, round(height, 2))


def _barrier_lines(data: OsmData, taken: Any, clip: Any | None) -> list[Region]:
    regions = []
    for way in data.ways:
        kind = way.tags.get("barrier", "")
        if kind not in BARRIERS:
            continue
        thick, high = BARRIERS[kind]
        height = metres(way.tags.get("height")) or high
        line = shapely.LinearRing(way.points[:-1]) if way.closed else shapely.LineString(way.points)
        area = grid.difference(grid.grown(line, _thickness(way.tags, thick) / 2, cap_style="flat"), taken)
        for part in shapely.get_parts(area if clip is None else grid.intersection(area, clip)):
            if part.geom_type == "Polygon" and part.area > 0.02:
                name = "hedge" if kind == "hedge" else "fence" if kind in ("fence", "guard_rail") else "wall"
                regions.append(as_region("obstacle", grid.snapped(part), name, round(min(height, 10.0), 2)))
    return regions


def _thickness(tags: Tags, usual: float) -> float:
    return min(metres(tags.get("width")) or usual, 5.0)


ACROSS_SQUARE = 3.0  # m, width of a path over a square
MOST_MOUTHS = 8  # walkways that end at a square are joined with each other up to this number
OFF_SOLIDS = 0.6  # m


def read_osm(path: Path | str, **options: Any) -> SceneSpec:
    """The scene of an ``.osm`` file; ``options`` are those of :class:`OsmOptions`."""
    return osm_place(path, **options).scene


def osm_place(path: Path | str, **options: Any) -> Place:
    """Scene and graph of an ``.osm`` file."""
    file = Path(path)
    chosen = OsmOptions.parse(options, f"options of {file.name}")
    return place_from_osm(read_osm_file(file), file.stem, chosen)


def place_from_osm(data: OsmData, name: str, options: OsmOptions) -> Place:
    """Roads, paths and crossings to ground; buildings and things to solids; walking lines to a graph."""
    clip = None if data.bounds is None else shapely.box(*data.bounds)
    streets = lay_streets(data, options)
    paths = lay_paths(data, streets, options)
    walks = [*streets.middles, *(line for line, _ in paths.lines)]
    crossings = find_crossings(data, streets, walks, options)
    buildings, covered = lay_buildings(data, options, clip)
    ground = lay_ground(data, streets, paths, crossings, covered, options, clip)
    if not any(region.kind in WALKABLE_KINDS for region in ground):
        raise BadInput(
            f"{data.where}: no walkable way: it needs highway=footway, path or pedestrian, or roads with "
            "sidewalk=both, left or right; take a larger extract, or draw the sidewalks"
        )
    strips = [crossing.strip for crossing in crossings]
    road = grid.difference(streets.carriageway, paths.area)
    taken = grid.union([road, covered, *strips])
    things = lay_things(data, walks, taken, clip)
    source = f"OpenStreetMap XML {Path(data.where).name}, about {data.origin[0]:.6f}, {data.origin[1]:.6f}"
    scene = SceneSpec(name=name, regions=(*ground, *buildings, *things), source=source)
    lines = [WalkLine(line, 0.0, "sidewalk", streets.width_along) for line in streets.middles]
    lines += [WalkLine(line, width, "sidewalk") for line, width in paths.lines]
    lines += [WalkLine(crossing.line, crossing.width, "crosswalk") for crossing in crossings]
    squares = [area for area, _ in closed_areas(data, is_area)]
    lines += _over_squares(squares, walks, Place(name, scene, make_graph([])).solid_area)
    return Place(name, scene, make_graph(_clipped(lines, clip, covered)))


def _clipped(lines: list[WalkLine], clip: Any | None, buildings: Any) -> list[WalkLine]:
    """Without what lies beyond the extract or in a building."""
    inner = []
    for line in lines:
        inside = line.line if clip is None else grid.intersection(line.line, clip)
        for part in shapely.get_parts(grid.difference(inside, buildings)):
            if part.geom_type == "LineString" and grid.length_of(part) > 0.1:
                inner.append(replace(line, line=part))
    return inner


def _over_squares(squares: list[Any], walks: list[Any], solid: Any) -> list[WalkLine]:
    """Straight lines over each square between the ends of walking lines that lie in it or at its edge."""
    lines = []
    for square in squares:
        near = grid.grown(square, 0.5)
        tips = {
            (round(x, 2), round(y, 2))
            for walk in walks
            for x, y in shapely.get_coordinates(walk)[[0, -1]].tolist()
            if near.contains(shapely.Point(x, y))
        }
        mouths = sorted(tips)[:MOST_MOUTHS]
        for k, a in enumerate(mouths):
            for b in mouths[k + 1 :]:
                line = shapely.LineString([a, b])
                if near.contains(line) and grid.apart(solid, line) > OFF_SOLIDS:
                    lines.append(WalkLine(line, ACROSS_SQUARE, "plaza"))
    return lines
