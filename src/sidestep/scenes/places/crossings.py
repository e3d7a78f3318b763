"""Crossings: ways over a road that are drawn, and nodes of a road at which one may cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.scenes.places import grid
from sidestep.scenes.places.osm_file import OsmData, Tags
from sidestep.scenes.places.osm_tags import OsmOptions, is_crossing, metres
from sidestep.scenes.places.roads import RoadPart, Streets
from sidestep.scenes.towns.curves import dot, left_of, unit
from sidestep.types.base import FloatArray

EXTENSION = 5.0  # m: a crossing that ends before a sidewalk is drawn on so far
TOUCH = 0.05  # m
AHEAD = 1.0  # m along the road on both sides of a node, for the road's direction there


@dataclass(frozen=True, eq=False)
class Crossing:
    """A line from sidewalk to sidewalk."""

    line: Any  # shapely
    width: float  # m

    @property
    def strip(self) -> Any:
        """Its ground."""
        return grid.grown(self.line, self.width / 2, cap_style="flat", join_style="mitre")


def find_crossings(data: OsmData, streets: Streets, walks: list[Any], options: OsmOptions) -> list[Crossing]:
    """All crossings of a file; ``walks`` are the lines at whose sidewalks they end."""
    found, drawn = [], set[str]()
    for way in data.ways:
        if is_crossing(way.tags):
            drawn.update(way.refs)
            line = _reaching(way.points, walks)
            if streets.carriageway.intersects(line):
                found.append(Crossing(line, _width(way.tags, options)))
    for part in streets.parts:
        for ref, node in ((ref, data.nodes[ref]) for ref in _inner(data, part) if ref not in drawn):
            if node.tags.get("highway") == "crossing" and node.tags.get("crossing") != "no":
                drawn.add(ref)
                across = _across(part, np.array(node.xy), options)
                found.append(Crossing(_reaching(across, walks), _width(node.tags, options)))
    return found


def _width(tags: Tags, options: OsmOptions) -> float:
    return min(metres(tags.get("width")) or options.crossing_width, 12.0)


def _inner(data: OsmData, part: RoadPart) -> list[str]:
    """Nodes between the ends of a part; a part that ends nowhere else counts as well."""
    places = {tuple(point) for point in part.points.tolist()}
    return [ref for ref, node in data.nodes.items() if node.tags and node.xy in places]


def _across(part: RoadPart, xy: FloatArray, options: OsmOptions) -> FloatArray:
    """Square over the road, from the middle of one sidewalk to that of the other."""
    place, _ = grid.locate(part.points, xy)
    a, b = grid.places_along(part.points, (place - AHEAD, place + AHEAD))
    left = left_of(unit(b - a))
    ends = [part.reach(side, 0.5) if part.sidewalks[side] else part.half + options.ramp_length for side in (0, 1)]
    return np.stack([xy + left * ends[0], xy - left * ends[1]])


def _reaching(points: FloatArray, walks: list[Any]) -> Any:
    """The line with its ends drawn on to the nearest walking line ahead of them."""
    ends = [_end(points[1], points[0], walks), _end(points[-2], points[-1], walks)]
    return shapely.LineString(np.round(np.concatenate([ends[0], points[1:-1], ends[1]]), 3))


def _end(before: FloatArray, end: FloatArray, walks: list[Any]) -> FloatArray:
    if not walks or min(grid.locate(grid.corners(walk), end)[1] for walk in walks) < TOUCH:
        return end[None]
    along = unit(end - before)
    ray = shapely.LineString(np.round([end - along * 0.8, end + along * EXTENSION], 3))
    hits = [grid.corners(grid.intersection(ray, walk)) for walk in walks if walk.intersects(ray)]
    if not hits:
        return end[None]
    places = np.concatenate(hits)
    away = np.round(np.abs(dot(places - end, along)), grid.SAME)
    return np.asarray(places[away.argmin()][None])
