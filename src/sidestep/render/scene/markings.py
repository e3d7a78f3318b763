"""Paint on roads: edge lines, dashed lane lines along the road (one whole line where it bends), stop lines, and bars of
crosswalks."""

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
STRAIGHT = 0.94  # share of its smallest rectangle that a straight road covers
BAR = 0.5  # m: width of crosswalk bars and of the gaps between


def road_paint(roads: list[Any], crosswalks: list[Any]) -> Any:
    """Union of all lines. A road is straight along the longer side of its smallest rectangle; where two roads cross
    or a crosswalk lies, lines stop."""
    crossing = shapely.union_all(crosswalks).buffer(STOP_GAP, join_style="mitre") if crosswalks else shapely.Polygon()
    lines = []
    for index, road in enumerate(roads):
        frame = Frame.about(road)
        bent = road.area < STRAIGHT * frame.length * frame.width
        if not bent and (frame.length < 1.5 * frame.width or frame.width < 2.5):
            continue
        others = [other for j, other in enumerate(roads) if j != index and other.intersects(road)]
        junction = shapely.union_all([shapely.intersection(road, other) for other in others])
        stop = shapely.union(crossing, junction.buffer(1.0, join_style="mitre") if others else junction)
        painted = minus(_bent_lines(road) if bent else shapely.union_all(_lane_lines(frame)), stop)
        lines += [meet(painted, road)]
        for crosswalk in crosswalks if not bent or painted.area > 0 else ():
            local = _across(crosswalk) if bent else frame
            lines += [meet(line, road) for line in _stop_lines(local, road, [crosswalk])]
    return join(lines)


def strip_width(road: Any) -> float:
    """Width (m) of a strip of even width, from its area A = L W and outline P = 2 (L + W); 0 if it is no strip."""
    half = road.length / 2
    root = half * half - 4 * road.area
    width = (half - np.sqrt(root)) / 2 if root > 0 else 0.0
    return float(width) if road.area > 2.5 * width * width and not road.interiors else 0.0


def _bent_lines(road: Any) -> Any:
    """Edge lines and a middle line that follow a bent strip; nothing on junctions, which are no strips."""
    width = strip_width(road) if road.geom_type == "Polygon" else 0.0
    if width < 5.0:
        return shapely.Polygon()
    inner = road.buffer(-EDGE, join_style="mitre")
    middle = road.buffer(LINE / 2 + 0.04 - width / 2, join_style="mitre")
    if middle.area > 2.5 * LINE * road.area / width:  # parts are wider than the rest: no strip after all
        return shapely.Polygon()
    return join([minus(inner, inner.buffer(-LINE, join_style="mitre")), middle])


def _across(crosswalk: Any) -> Frame:
    """Axes of the road under a crosswalk: x along the road."""
    frame = Frame.about(crosswalk)
    return Frame(frame.x, frame.y, frame.angle + np.pi / 2, frame.width, frame.length)


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
    """Bars across the walking direction. One walks along the longer side of a long crosswalk, else across the road that
    it lies on."""
    near = [road for road in roads if road.distance(crosswalk) < 0.5]
    own = Frame.about(crosswalk)
    if own.length > 1.35 * own.width:
        walking = own.angle
    elif near:
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
