"""Polygons around the set pixels of a mask, with few edges and at most half a pixel from the pixels' own
outline.

The outline of a slanted wall is a staircase. Its steps are cut at their midpoints, which for a straight wall
lie on a line, and then spans of the outline are replaced by chords as long as every corner of the staircase
stays within half a pixel of the chord (Ramer 1972, Douglas and Peucker 1973, with the corners of the
staircase as what must be near).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sidestep.types.base import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from shapely import Polygon

TOLERANCE = 0.5  # pixels


def outline_pixels(mask: BoolArray) -> list[Polygon]:
    """Polygons over the set pixels of ``mask (rows, columns)``; pixel (r, c) spans (c, r) to (c + 1, r + 1)."""
    import shapely

    boxes = _merge_runs(mask)
    if not len(boxes):
        return []
    union = shapely.union_all(shapely.box(*boxes.T.astype(np.float64)))
    return [_straighten_polygon(polygon) for polygon in shapely.get_parts(union)]


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


def _straighten_polygon(polygon: Polygon) -> Any:
    """Fewer edges; where that would make thin parts cross, the outline stays as it is."""
    import shapely

    rings = [np.asarray(ring.coords)[:-1] for ring in (polygon.exterior, *polygon.interiors)]
    shell, *holes = (straighten(ring) for ring in rings)
    if len(shell) < 3:
        return polygon
    straight = shapely.Polygon(shell, [hole for hole in holes if len(hole) >= 3])
    return straight if straight.is_valid else polygon


def straighten(ring: FloatArray) -> FloatArray:
    """A ring ``(n, 2)`` of horizontal and vertical edges, with fewer edges within ``TOLERANCE`` of it."""
    corners = _drop_straight(ring)
    nodes, passed = _cut_steps(corners)
    if len(nodes) < 4:
        return nodes
    outermost = int(((nodes - nodes.mean(axis=0)) ** 2).sum(axis=1).argmax())
    nodes, passed = np.roll(nodes, -outermost, axis=0), np.roll(passed, -outermost, axis=0)
    opposite = int(((nodes - nodes[0]) ** 2).sum(axis=1).argmax())
    nodes, passed = np.concatenate([nodes, nodes[:1]]), np.concatenate([passed, passed[:1]])
    keep = np.zeros(len(nodes), bool)
    keep[[0, opposite]] = True
    spans = [(0, opposite), (opposite, len(nodes) - 1)]
    while spans:
        first, last = spans.pop()
        split = _worst(nodes, passed, first, last)
        if split is not None:
            keep[split] = True
            spans += [(first, split), (split, last)]
    return nodes[:-1][keep[:-1]]


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


def _worst(nodes: FloatArray, passed: FloatArray, first: int, last: int) -> int | None:
    """The node at which to split the span from ``first`` to ``last``; None if its corners are near enough."""
    if last - first < 2:
        return None
    chord = nodes[last] - nodes[first]
    corners = np.concatenate([passed[first:last], nodes[first + 1 : last]])
    offset = corners - nodes[first]
    t = np.clip(offset @ chord / max(float(chord @ chord), 1e-12), 0.0, 1.0)
    gap2 = ((offset - t[:, None] * chord) ** 2).sum(axis=1)
    worst = int(gap2.argmax())
    if gap2[worst] <= TOLERANCE**2 + 1e-9:
        return None
    split = first + worst if worst < last - first else first + 1 + worst - (last - first)
    return min(max(split, first + 1), last - 1)
