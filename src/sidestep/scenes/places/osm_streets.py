"""The streets of an OpenStreetMap extract: roads cut at their junctions, the carriageway and the sidewalks beside it
with their middles, and crossings: ways over a road that are drawn, and nodes of a road at which one may cross.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.places import grid
from sidestep.scenes.places.osm_file import (
    OsmData,
    OsmOptions,
    OsmWay,
    Tags,
    is_crossing,
    is_road,
    metres,
    road_width,
    sidewalk_width,
)
from sidestep.scenes.walkways import dot, left_of, unit
from sidestep.types.base import FloatArray

SIDES = ("left", "right")
BEND = np.radians(181)  # between two arms: from here on the outside of the bend is filled
QUARTER = 8  # chords per quarter circle
SHRINK = 0.3  # m from the edge of a sidewalk: a line nearer to it is its edge, not its middle


@dataclass(frozen=True, eq=False)
class RoadPart:
    """A road between two junctions, in its way's direction."""

    points: FloatArray  # (K, 2) m
    ends: tuple[str, str]  # nodes
    half: float  # m, of the carriageway
    sidewalks: tuple[float, float]  # m, left and right; 0: none

    def reach(self, side: int, share: float) -> float:
        """Distance from the centre line to ``share`` of the sidewalk's width, m; the road's edge where there is
        none."""
        return self.half + share * self.sidewalks[side]


@dataclass(frozen=True, eq=False)
class Streets:
    """The roads of a file and the ground that their tags tell of."""

    parts: tuple[RoadPart, ...]
    carriageway: Any  # shapely area
    sidewalks: Any  # shapely area beside it
    middles: tuple[Any, ...]
    """Lines along the middle of those sidewalks."""

    def width_along(self, line: Any) -> float:
        """Width (m) of the sidewalk along whose middle the line runs, where it is narrowest."""
        points = grid.corners(line)
        some = grid.points_along(points, grid.length_of(line) * np.array([0.1, 0.3, 0.5, 0.7, 0.9]))
        return min(min(_misfits(self.parts, point))[1] for point in some)


def lay_streets(data: OsmData, options: OsmOptions) -> Streets:
    """All roads of a file."""
    parts = tuple(_split([way for way in data.ways if is_road(way.tags)], options))
    widest = max((max(part.sidewalks) for part in parts), default=0.0)
    corner = options.corner_radius

    def grown(share: float) -> Any:
        return _rounded(parts, _grown(parts, share), max(corner - share * widest, 0.0))

    road, outer = grown(0.0), grown(1.0)
    sidewalks = grid.difference(outer, road)
    lines = grid.intersection(shapely.boundary(grown(0.5)), grid.grown(sidewalks, -SHRINK))
    merged = shapely.line_merge(lines)
    middles = [
        line for line in shapely.get_parts(merged) if line.geom_type == "LineString" and grid.length_of(line) > 0.5
    ]
    return Streets(parts, road, sidewalks, tuple(middles))


def _split(ways: list[OsmWay], options: OsmOptions) -> list[RoadPart]:
    """Ways cut where they share a node with another road, or with themselves."""
    uses: dict[str, int] = {}
    for way in ways:
        for ref in way.refs:
            uses[ref] = uses.get(ref, 0) + 1
    parts = []
    for way in ways:
        inner = [k for k in range(1, len(way.refs) - 1) if uses[way.refs[k]] > 1]
        cuts = [0, *inner, len(way.refs) - 1]
        half = road_width(way.tags) / 2
        widths = tuple(sidewalk_width(way.tags, side, options) or 0.0 for side in SIDES)
        for a, b in pairwise(cuts):
            parts.append(RoadPart(way.points[a : b + 1], (way.refs[a], way.refs[b]), half, (widths[0], widths[1])))
    return parts


def _grown(parts: tuple[RoadPart, ...], share: float) -> Any:
    """Everything within ``share`` of the sidewalks' far edges, with the outsides of bends filled."""
    areas = []
    for part in parts:
        line = shapely.LineString(part.points)
        for side, sign in ((0, 1.0), (1, -1.0)):
            reach = sign * part.reach(side, share)
            areas.append(grid.grown(line, reach, single_sided=True, quad_segs=QUARTER, join_style="round"))
    for arms in _arms(parts).values():
        areas += _wedges(arms, lambda part, side: part.reach(side, share))
    return grid.union(areas)


@dataclass(frozen=True, eq=False)
class _Arm:
    """The end of a part at a junction, seen from there. ``sides``: which side of the part is on its left and right."""

    part: RoadPart
    centre: FloatArray
    angle: float  # rad
    sides: tuple[int, int]


def _arms(parts: tuple[RoadPart, ...]) -> dict[str, list[_Arm]]:
    found: dict[str, list[_Arm]] = {}
    for part in parts:
        for end, points, sides in ((0, part.points, (0, 1)), (1, part.points[::-1], (1, 0))):
            along = points[1] - points[0]
            arm = _Arm(part, points[0], float(exact.arctan2(along[1], along[0])), sides)
            found.setdefault(part.ends[end], []).append(arm)
    for arms in found.values():
        arms.sort(key=lambda arm: arm.angle)
    return found


def _wedges(arms: list[_Arm], reach: Callable[[RoadPart, int], float]) -> list[Any]:
    """Slices of a disc on the outside of bends, where two strips with flat ends leave a gap."""
    if len(arms) < 2:
        return []
    wedges = []
    for k, arm in enumerate(arms):
        after = arms[(k + 1) % len(arms)]
        gap = (after.angle - arm.angle) % (2 * np.pi)
        if gap > BEND:
            radius = min(reach(arm.part, arm.sides[0]), reach(after.part, after.sides[1]))
            turn = np.linspace(
                arm.angle + np.pi / 2, arm.angle + gap - np.pi / 2, 2 + int(QUARTER * (gap - np.pi) / 1.5)
            )
            rim = arm.centre + radius * np.stack([exact.cos(turn), exact.sin(turn)], axis=1)
            wedges.append(grid.snapped(shapely.Polygon([arm.centre, *rim])))
    return wedges


def _rounded(parts: tuple[RoadPart, ...], area: Any, radius: float) -> Any:
    """Kerb corners at junctions, rounded."""
    junctions = [arms for arms in _arms(parts).values() if len(arms) > 1]
    if radius <= 0 or not junctions:
        return area
    closed = grid.grown(grid.grown(area, radius, quad_segs=QUARTER), -radius, quad_segs=QUARTER)
    discs = [
        grid.grown(shapely.Point(arms[0].centre), 1.5 * max(arm.part.reach(0, 1.0) for arm in arms) + radius)
        for arms in junctions
    ]
    return grid.union([area, grid.intersection(closed, grid.union(discs))])


def _misfits(parts: tuple[RoadPart, ...], point: FloatArray) -> list[tuple[float, float]]:
    """How far the point is from the middle of each sidewalk, and the width of that."""
    found = []
    for part in parts:
        station, _ = grid.locate(part.points, point)
        behind, foot, ahead = grid.points_along(part.points, (station - 0.1, station, station + 0.1))
        side = 0 if dot(left_of(ahead - behind), point - foot) > 0 else 1
        if part.sidewalks[side]:
            misfit = abs(float(exact.hypot(*(point - foot))) - part.reach(side, 0.5))
            found.append((round(misfit, grid.SAME), part.sidewalks[side]))
    return found or [(0.0, 2.0)]


EXTENSION = 5.0  # m: a crossing that ends before a sidewalk is drawn on so far
TOUCH = 0.05  # m
AHEAD = 1.0  # m along the road on both sides of a node, for the road's direction there


@dataclass(frozen=True, eq=False)
class MappedCrossing:
    """A line from sidewalk to sidewalk."""

    line: Any  # shapely
    width: float  # m

    @property
    def strip(self) -> Any:
        """Its ground."""
        return grid.grown(self.line, self.width / 2, cap_style="flat", join_style="mitre")


def find_crossings(data: OsmData, streets: Streets, walks: list[Any], options: OsmOptions) -> list[MappedCrossing]:
    """All crossings of a file; ``walks`` are the lines at whose sidewalks they end."""
    found, drawn = [], set[str]()
    for way in data.ways:
        if is_crossing(way.tags):
            drawn.update(way.refs)
            line = _reaching(way.points, walks)
            if streets.carriageway.intersects(line):
                found.append(MappedCrossing(line, _crossing_width(way.tags, options)))
    for part in streets.parts:
        for ref, node in ((ref, data.nodes[ref]) for ref in _inner(data, part) if ref not in drawn):
            if node.tags.get("highway") == "crossing" and node.tags.get("crossing") != "no":
                drawn.add(ref)
                across = _across(part, np.array(node.xy), options)
                found.append(MappedCrossing(_reaching(across, walks), _crossing_width(node.tags, options)))
    return found


def _crossing_width(tags: Tags, options: OsmOptions) -> float:
    return min(metres(tags.get("width")) or options.crossing_width, 12.0)


def _inner(data: OsmData, part: RoadPart) -> list[str]:
    """Nodes between the ends of a part; a part that ends nowhere else counts as well."""
    corners = {tuple(point) for point in part.points.tolist()}
    return [ref for ref, node in data.nodes.items() if node.tags and node.xy in corners]


def _across(part: RoadPart, xy: FloatArray, options: OsmOptions) -> FloatArray:
    """Square over the road, from the middle of one sidewalk to that of the other."""
    station, _ = grid.locate(part.points, xy)
    a, b = grid.points_along(part.points, (station - AHEAD, station + AHEAD))
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
    points = np.concatenate(hits)
    away = np.round(np.abs(dot(points - end, along)), grid.SAME)
    return np.asarray(points[away.argmin()][None])
