"""Walls of a bag as a scene: an occupancy grid, or the edges of walls as a marker of lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.records.logs.ros_frames import yaw_of
from sidestep.scenes.ros_map import MOST_OUTLINES, MOST_PIXELS, outline_pixels
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region, SceneSpec

OCCUPIED = 65
"""Cells of at least this per cent are solid; unknown cells are free."""
LINE_STRIP, LINE_LIST = 4, 5
HALF_WALL_M = 0.005
"""Half the thickness of a wall that is a single line."""


def scene_of_grid(message: Any, where: str) -> SceneSpec:
    """The scene of a ``nav_msgs/OccupancyGrid``: obstacles around its occupied cells, straightened by at most three
    quarters of a cell."""
    info = message.info
    rows, columns, size = int(info.height), int(info.width), float(info.resolution)
    cells = np.asarray(message.data, np.int8)
    if rows * columns != len(cells) or not 0 < rows * columns <= MOST_PIXELS or not 0 < size < 1e3:
        raise BadInput(
            f"{where}: a map of {columns} x {rows} cells of {size:g} m with {len(cells):,} values is damaged"
        )
    solid = cells.reshape(rows, columns) >= OCCUPIED
    if np.count_nonzero(solid[:, 1:] != solid[:, :-1]) > MOST_OUTLINES:
        raise BadInput(f"{where}: the map is noise: more than {MOST_OUTLINES:,} edges; give --scene")
    x, y, yaw = float(info.origin.position.x), float(info.origin.position.y), yaw_of(info.origin.orientation)

    def to_metres(cells: FloatArray) -> FloatArray:
        moved: FloatArray = (exact.rotate(cells * size, yaw) + np.array([x, y])).round(6)
        return moved

    extent = to_metres(np.array([[0.0, 0.0], [columns, 0.0], [columns, rows], [0.0, rows]]))
    regions = [Region(kind="walkable", name="map", polygon=_corners(extent))]
    for polygon in outline_pixels(solid, to_metres):
        shell, *holes = (_corners(np.asarray(ring.coords)[:-1]) for ring in (polygon.exterior, *polygon.interiors))
        regions.append(Region(kind="obstacle", polygon=shell, holes=tuple(holes)))
    return SceneSpec(name="map", regions=tuple(regions), source="occupancy grid of a log")


def edges_of_markers(message: Any) -> FloatArray:
    """(W, 4) the pieces of all lines in a ``visualization_msgs/MarkerArray``, m."""
    edges: list[FloatArray] = [np.zeros((0, 4))]
    for marker in message.markers:
        points = np.array([(point.x, point.y) for point in marker.points], np.float64).reshape(-1, 2)
        if marker.type == LINE_LIST:
            edges.append(points[: len(points) // 2 * 2].reshape(-1, 4))
        elif marker.type == LINE_STRIP and len(points) > 1:
            edges.append(np.concatenate([points[:-1], points[1:]], axis=1))
    found = np.concatenate(edges)
    kept: FloatArray = found[(found[:, :2] != found[:, 2:]).any(axis=1) & np.isfinite(found).all(axis=1)]
    return kept


def scene_of_edges(edges: FloatArray) -> SceneSpec:
    """The scene whose walls are these edges. Edges that follow each other form rings with the solid on their left, as
    records have them: a counter-clockwise ring is an obstacle; a clockwise one bounds free ground, or a yard in an
    obstacle. Other edges become thin walls."""
    rings, single = _rings(edges)
    solids = [ring for ring in rings if _area(ring) > 0]
    regions: list[Region] = []
    holes: dict[int, list[FloatArray]] = {}
    grounds = []
    for ring in (ring for ring in rings if _area(ring) < 0):
        around = [k for k, solid in enumerate(solids) if _contains(solid, ring[0])]
        if around:
            holes.setdefault(min(around, key=lambda k: _area(solids[k])), []).append(ring)
        else:
            grounds.append(ring)
    regions += [Region(kind="walkable", polygon=_corners(ring[::-1])) for ring in grounds]
    for k, solid in enumerate(solids):
        inner = tuple(_corners(hole) for hole in holes.get(k, ()))
        regions.append(Region(kind="obstacle", polygon=_corners(solid), holes=inner))
    regions += [Region(kind="obstacle", polygon=_corners(_thick(edge))) for edge in single]
    return SceneSpec(name="walls", regions=tuple(regions), enclosed=bool(grounds), source="walls of a log")


def _rings(edges: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Closed runs of edges of which each begins where the last one ends, and the edges that are in none."""
    rings: list[FloatArray] = []
    single: list[FloatArray] = []
    begin = 0
    for k in range(len(edges)):
        is_last = k + 1 == len(edges) or (edges[k, 2:] != edges[k + 1, :2]).any()
        closes = bool((edges[k, 2:] == edges[begin, :2]).all())
        if closes and k - begin >= 2:
            rings.append(edges[begin : k + 1, :2])
            begin = k + 1
        elif is_last:
            single += list(edges[begin : k + 1])
            begin = k + 1
    return rings, single


def _area(ring: FloatArray) -> float:
    """Positive of counter-clockwise rings, m²."""
    x, y = (ring - ring[0]).T
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


def _contains(ring: FloatArray, point: FloatArray) -> bool:
    """Whether a point is inside, by the even-odd rule."""
    (ax, ay), (bx, by) = ring.T, np.roll(ring, -1, axis=0).T
    crosses = (ay > point[1]) != (by > point[1])
    side = (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)
    return bool(np.count_nonzero(crosses & ((side > 0) == (by > ay))) % 2)


def _thick(edge: FloatArray) -> FloatArray:
    along = edge[2:] - edge[:2]
    beside = np.array([-along[1], along[0]]) / float(exact.norm(along)) * HALF_WALL_M
    return np.stack([edge[:2] - beside, edge[2:] - beside, edge[2:] + beside, edge[:2] + beside])


def _corners(ring: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in ring)
