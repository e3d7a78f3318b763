"""Closed outlines: areas of a file that match, and buildings with their heights. Multipolygons may have holes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shapely

from sidestep.scenes.places import grid
from sidestep.scenes.places.osm_file import OsmData, OsmRelation, OsmWay, Tags
from sidestep.scenes.places.osm_tags import OsmOptions, building_height
from sidestep.scenes.places.partition import as_region
from sidestep.types.scene import Region

PASSABLE = frozenset({"no", "roof", "carport", "canopy"})
"""Buildings under which one walks."""
SMALLEST = 0.5  # m²


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
        areas += [(part, tags) for part in _polygons(sound) if part.area > SMALLEST]
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
            if part.area > SMALLEST:
                regions.append(as_region("building", part, _name(tags), building_height(tags, options)))
                areas.append(part)
    return regions, grid.union(areas) if areas else shapely.Polygon()


def _name(tags: Tags) -> str:
    """``shop`` and the like make a shop front; otherwise what kind of building it is."""
    if "shop" in tags:
        return "shop"
    if tags.get("amenity") in ("cafe", "restaurant"):
        return tags["amenity"]
    kind = tags.get("building", "yes")
    return {"yes": "", "retail": "shop"}.get(kind, kind)
