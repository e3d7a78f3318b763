"""Paint on roads: edge lines, dashed lane lines along the road, stop lines, and the bars of crosswalks."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from sidestep.render.scene.areas import join, meet, minus
from sidestep.render.scene.solids import Frame

LINE = 0.12  # m, width of a line
DASH, GAP = 3.0, 4.5  # m
EDGE = 0.25  # m from the kerb to the edge line
LANE = 3.5  # m: lanes are at least about this wide
STOP_LINE, STOP_GAP = 0.4, 1.0  # m: width, and distance from the crosswalk
BAR = 0.5  # m: width of crosswalk bars and of the gaps between


def road_paint(roads: list[Any], crosswalks: list[Any]) -> Any:
    """Union of all lines. A road is straight along the longer side of its smallest rectangle; where two roads cross
    or a crosswalk lies, lines stop."""
    crossing = shapely.union_all(crosswalks).buffer(STOP_GAP, join_style="mitre") if crosswalks else shapely.Polygon()
    lines = []
    for index, road in enumerate(roads):
        frame = Frame.about(road)
        if frame.length < 1.5 * frame.width or frame.width < 2.5:
            continue
        others = [other for j, other in enumerate(roads) if j != index and other.intersects(road)]
        junction = shapely.union_all([shapely.intersection(road, other) for other in others])
        stop = shapely.union(crossing, junction.buffer(1.0, join_style="mitre") if others else junction)
        painted = minus(shapely.union_all(_lane_lines(frame)), stop)
        lines += [meet(painted, road)]
        lines += [meet(line, road) for line in _stop_lines(frame, road, crosswalks)]
    return join(lines)


def _lane_lines(frame: Frame) -> list[Any]:
    half, wide = frame.length / 2, frame.width / 2
    lines = []
    if frame.width >= 5.0:
        for y in (EDGE - wide, wide - EDGE - LINE):
            lines.append(frame.rectangle(-half, half, y, y + LINE))
    lanes = max(int((frame.width + 0.3) // LANE), 1)
    starts = np.arange(-half, half, DASH + GAP)
    for lane in range(1, lanes):
        y = -wide + lane * frame.width / lanes
        lines += [frame.rectangle(x, min(x + DASH, half), y - LINE / 2, y + LINE / 2) for x in starts]
    return lines


def _stop_lines(frame: Frame, road: Any, crosswalks: list[Any]) -> list[Any]:
    """Before each crosswalk, across the half of the road that drives towards it (on the right)."""
    lines: list[Any] = []
    wide = frame.width / 2 - EDGE - LINE
    if frame.width < 5.0:
        return lines
    for crosswalk in crosswalks:
        if not crosswalk.intersects(road):
            continue
        corners = np.asarray(crosswalk.exterior.coords) - (frame.x, frame.y)
        along = corners @ np.array([np.cos(frame.angle), np.sin(frame.angle)])
        before, after = along.min() - STOP_GAP, along.max() + STOP_GAP
        lines.append(frame.rectangle(before - STOP_LINE, before, -wide, -LINE))
        lines.append(frame.rectangle(after, after + STOP_LINE, LINE, wide))
    return lines


def crosswalk_bars(crosswalk: Any, roads: list[Any]) -> Any:
    """Bars across the walking direction. One walks across the road that the crosswalk lies on; without a road, along
    the crosswalk's longer side."""
    near = [road for road in roads if road.distance(crosswalk) < 0.5]
    if near:
        road = max(near, key=lambda other: other.intersection(crosswalk.buffer(0.5)).area)
        frame = Frame.about(road)
        walking = frame.angle + np.pi / 2 if frame.length > 1.2 * frame.width else Frame.about(crosswalk).angle
    else:
        walking = Frame.about(crosswalk).angle
    centre = np.asarray(crosswalk.centroid.coords)[0]
    direction, across = np.array([np.cos(walking), np.sin(walking)]), np.array([-np.sin(walking), np.cos(walking)])
    corners = np.asarray(crosswalk.exterior.coords) - centre
    along, side = corners @ direction, np.abs(corners @ across).max() + 1.0
    length = along.max() - along.min()
    count = max(int(length / (2 * BAR)), 1)
    first = along.min() + (length - (2 * count - 1) * BAR) / 2
    bars = []
    for k in range(count):
        a, b = first + 2 * BAR * k, first + 2 * BAR * k + BAR
        ring = [centre + t * direction + s * across for t, s in ((a, -side), (b, -side), (b, side), (a, side))]
        bars.append(shapely.Polygon(ring))
    inner = crosswalk.buffer(-0.15, join_style="mitre")
    return meet(shapely.union_all(bars), inner if inner.area > 0 else crosswalk)
