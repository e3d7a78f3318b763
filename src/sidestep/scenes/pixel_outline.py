"""Polygons around the set pixels of a mask, with few edges and close to the pixels' own outline.

The outline of a slanted wall is a staircase whose corners lie up to half a pixel's diagonal, 0.71 pixels,
to either side of the wall. Its steps are cut at their midpoints, and the outline is then followed in chords,
each as long as every corner of the staircase stays within three quarters of a pixel of it. The search over
allowed directions is the cone of Sklansky and Gonzalez, "Fast polygonal approximation of digitized curves"
(1980).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sidestep import exact
from sidestep.types.base import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from shapely import Polygon

TOLERANCE = 0.75  # pixels
LOOK_AHEAD = 64  # nodes, doubled as long as a chord reaches farther


def outline_pixels(mask: BoolArray, place: Callable[[FloatArray], FloatArray] = np.asarray) -> list[Polygon]:
    """Polygons over the set pixels of a ``mask``; pixel [r, c] spans (x, y) = (c, r) to (c + 1, r + 1).

    ``place`` maps corners ``(n, 2)`` from pixels to where they are wanted; the polygons are valid there.
    """
    import shapely

    boxes = _merge_runs(mask)
    if not len(boxes):
        return []
    union = shapely.union_all(shapely.box(*boxes.T.astype(np.float64)))
    return [_straighten_polygon(polygon, place) for polygon in shapely.get_parts(union)]


def _merge_runs(mask: BoolArray) -> IntArray:
    """Boxes ``(n, 4)`` x0, y0, x1, y1: runs of set pixels in a row, joined with equal runs of later rows."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, start = np.nonzero(edges == 1)
    stop = np.nonzero(edges == -1)[1]
    order = np.lexsort((row, stop, start))
    row, start, stop = row[order], start[order], stop[order]
    same = (np.diff(start) == 0) & (np.diff(stop) == 0) & (np.diff(row) == 1)
    first = np.flatnonzero(np.concatenate([[True], ~same])) if len(row) else np.zeros(0, np.int64)
    last = np.concatenate([first[1:] - 1, [len(row) - 1]]) if len(row) else first
    return np.stack([start[first], row[first], stop[first], row[last] + 1], axis=1)


def _straighten_polygon(polygon: Polygon, place: Callable[[FloatArray], FloatArray]) -> Polygon:
    """Fewer edges; where that would make thin parts cross, the outline stays as it is."""
    import shapely

    rings = [np.rint(np.asarray(ring.coords)[:-1]) for ring in (polygon.exterior, *polygon.interiors)]
    shell, *holes = (place(fewer if len(fewer := straighten(ring)) >= 3 else ring) for ring in rings)
    straight = shapely.Polygon(shell, holes)
    if straight.is_valid:
        return straight
    shell, *holes = (place(_drop_straight(ring)) for ring in rings)
    return shapely.Polygon(shell, holes)


def straighten(ring: FloatArray) -> FloatArray:
    """A ring ``(n, 2)`` of horizontal and vertical edges, with fewer edges within ``TOLERANCE`` of it."""
    corners = _drop_straight(ring)
    nodes, passed = _cut_steps(corners)
    if len(nodes) < 4:
        return nodes
    outermost = int(exact.norm(nodes - nodes.mean(axis=0)).argmax())
    nodes, passed = np.roll(nodes, -outermost, axis=0), np.roll(passed, -outermost, axis=0)
    nodes = np.concatenate([nodes, nodes[:1]])
    kept = [0]
    while kept[-1] < len(nodes) - 1:
        kept.append(_farthest_chord(nodes, passed, kept[-1]))
    return nodes[kept[:-1]]


def _drop_straight(ring: FloatArray) -> FloatArray:
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    return np.asarray(ring[before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]])


def _cut_steps(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes of the outline with steps cut at their midpoints, and for each the corner passed on the way to
    the next.

    A corner is cut when the outline turns the other way at both of its neighbours and one of its edges is one
    pixel long: the cut then passes it at less than half a pixel. A node without a cut corner after it passes
    itself.
    """
    along = np.roll(corners, -1, axis=0) - corners
    before = np.roll(along, 1, axis=0)
    turn = np.sign(before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0])
    length = np.abs(along).sum(axis=1)
    step = turn != np.roll(turn, -1)
    cut = step & np.roll(step, 1) & (np.minimum(length, np.roll(length, 1)) <= 1)
    middle = cut | np.roll(cut, -1)  # edges whose midpoint becomes a node
    nodes, passed = [], []
    for i in range(len(corners)):
        if not cut[i]:
            nodes.append(corners[i])
            passed.append(corners[i])
        if middle[i]:
            following = (i + 1) % len(corners)
            nodes.append(corners[i] + along[i] / 2)
            passed.append(corners[following] if cut[following] else nodes[-1])
    return np.array(nodes), np.array(passed)


def _farthest_chord(nodes: FloatArray, passed: FloatArray, first: int) -> int:
    """The last node to which a chord from ``first`` stays within ``TOLERANCE`` of every corner on the way.

    Seen from ``first``, each corner passed at distance d allows directions within ``asin(TOLERANCE / d)``
    of its own; a node is in question while its direction is allowed by all corners before it.
    """
    ahead = LOOK_AHEAD
    while True:
        last = min(first + ahead, len(nodes) - 1)
        to_node, to_corner = nodes[first + 1 : last + 1] - nodes[first], passed[first:last] - nodes[first]
        forward = exact.arctan2(to_node[0, 1], to_node[0, 0])
        width = exact.arcsin(np.minimum(TOLERANCE / np.maximum(exact.hypot(*to_corner.T), TOLERANCE), 1.0))
        width[exact.hypot(*to_corner.T) <= TOLERANCE] = np.pi
        low = np.maximum.accumulate(_turn(to_corner, forward) - width)
        high = np.minimum.accumulate(_turn(to_corner, forward) + width)
        node = _turn(to_node, forward)
        in_question = np.flatnonzero((low <= node) & (node <= high))
        if low[-1] > high[-1] or last == len(nodes) - 1:
            break
        ahead *= 2
    for k in in_question[::-1]:
        if _is_near(nodes, passed, first, first + 1 + int(k)):
            return first + 1 + int(k)
    return first + 1


def _turn(vector: FloatArray, forward: float) -> FloatArray:
    """Angle of each vector from the direction ``forward``, in [-π, π)."""
    angle = exact.arctan2(vector[:, 1], vector[:, 0]) - forward
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def _is_near(nodes: FloatArray, passed: FloatArray, first: int, last: int) -> bool:
    """Whether corners and nodes between ``first`` and ``last`` are within ``TOLERANCE`` of their chord."""
    chord = nodes[last] - nodes[first]
    offset = np.concatenate([passed[first:last], nodes[first + 1 : last]]) - nodes[first]
    t = np.clip((offset * chord).sum(axis=1) / max(float((chord * chord).sum()), 1e-12), 0.0, 1.0)
    return bool(exact.norm(offset - t[:, None] * chord).max() <= TOLERANCE + 1e-9)
