"""A street of an OpenStreetMap extract as a scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import shapely

from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.places.crossings import find_crossings
from sidestep.scenes.places.graph import WalkLine, make_graph
from sidestep.scenes.places.osm_areas import closed_areas, lay_buildings
from sidestep.scenes.places.osm_file import OsmData, read_osm_file
from sidestep.scenes.places.osm_ground import lay_ground, lay_paths
from sidestep.scenes.places.osm_tags import OsmOptions, is_area
from sidestep.scenes.places.osm_things import lay_things
from sidestep.scenes.places.place import WALKED, Place
from sidestep.scenes.places.roads import lay_streets
from sidestep.types.scene import SceneSpec

ACROSS_SQUARE = 3.0  # m, width of a way over a square
MOST_MOUTHS = 8  # ways that end at a square are joined with each other up to this number
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
    if not any(region.kind in WALKED for region in ground):
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
    lines += _over_squares(squares, walks, Place(name, scene, make_graph([])).solid)
    return Place(name, scene, make_graph(_clipped(lines, clip, covered)))


def _clipped(lines: list[WalkLine], clip: Any | None, buildings: Any) -> list[WalkLine]:
    """Without what lies beyond the extract or in a building."""
    kept = []
    for line in lines:
        inside = line.line if clip is None else grid.intersection(line.line, clip)
        for part in shapely.get_parts(grid.difference(inside, buildings)):
            if part.geom_type == "LineString" and grid.length_of(part) > 0.1:
                kept.append(replace(line, line=part))
    return kept


def _over_squares(squares: list[Any], walks: list[Any], solid: Any) -> list[WalkLine]:
    """Straight ways over each square between the ends of walking lines that lie in it or at its edge."""
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
