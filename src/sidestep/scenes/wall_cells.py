"""For every cell of a square grid, the wall edges near it: crowd models look into one cell, not all walls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep import exact
from sidestep.kernels.layout import WALL_REACH
from sidestep.types.base import FloatArray, IntArray

CELL = 1.0  # m
MOST_CELLS = 200_000
PIECE = 8.0  # m: longer edges are cut for the search, which visits the bounding box of each piece
SLACK = 1e-3  # m: kernels find their cell in float32


class WallCells(NamedTuple):
    """Edges ``cell_items[cell_start[c]:cell_start[c + 1]]`` are near cell ``c = row * nx + column``."""

    cell_start: IntArray  # (cells + 1,) int32
    cell_items: IntArray  # int32
    grid: FloatArray  # (4,) float32: x0, y0, cell size (m), 0
    grid_shape: IntArray  # (2,) int32: nx, ny


def list_wall_cells(segments: FloatArray, bounds: tuple[float, float, float, float]) -> WallCells:
    """List every edge of ``segments (W, 4)`` within ``WALL_REACH`` of any point of each cell.

    An edge is listed when it is within ``WALL_REACH + cell / √2`` of the cell's centre, which holds for all
    that are required and a few that are up to 0.2 cells too far. Edges of a cell are in ascending order. The
    grid reaches so far beyond ``bounds`` that the lists of its border cells, which stand for everything
    outside, are empty.
    """
    if not len(segments):
        return WallCells(
            np.zeros(2, np.int32),
            np.zeros(0, np.int32),
            np.array([0, 0, CELL, 0], np.float32),
            np.ones(2, np.int32),
        )
    x0, y0, size, nx, ny = _lay_grid(bounds)
    edge, start, end = _cut(segments)
    reach = WALL_REACH + size / np.sqrt(2) + SLACK
    low = np.floor((np.minimum(start, end) - reach - (x0, y0)) / size).astype(np.int64)
    high = np.floor((np.maximum(start, end) + reach - (x0, y0)) / size).astype(np.int64)
    low, high = np.maximum(low, 0), np.minimum(high, (nx - 1, ny - 1))
    wide, tall = (high - low + 1).T
    visited = wide * tall
    piece = np.repeat(np.arange(len(edge)), visited)
    place = np.arange(len(piece)) - np.repeat(np.cumsum(visited) - visited, visited)
    row, column = np.divmod(place, wide[piece])
    row, column = row + low[piece, 1], column + low[piece, 0]
    x, y = x0 + (column + 0.5) * size, y0 + (row + 0.5) * size
    near = _squared_distance(x, y, start, end - start, piece) <= reach * reach
    listed = np.sort((row[near] * nx + column[near]) * len(segments) + edge[piece[near]])
    listed = listed[np.concatenate([[True], np.diff(listed) > 0])]  # two pieces of an edge may be near one cell
    cell, item = np.divmod(listed, len(segments))
    cell_start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=nx * ny))])
    grid = np.array([x0, y0, size, 0], np.float32)
    return WallCells(cell_start.astype(np.int32), item.astype(np.int32), grid, np.array([nx, ny], np.int32))


def _lay_grid(bounds: tuple[float, float, float, float]) -> tuple[float, float, float, int, int]:
    """Corner, cell size and cell counts; whole metres, so that float32 holds them exactly."""
    size = CELL
    while True:
        pad = WALL_REACH + 2 * size
        x0, y0 = np.floor(bounds[0] - pad), np.floor(bounds[1] - pad)
        nx, ny = int(np.ceil((bounds[2] + pad - x0) / size)), int(np.ceil((bounds[3] + pad - y0) / size))
        if nx * ny <= MOST_CELLS:
            return float(x0), float(y0), size, nx, ny
        size *= 2


def _cut(segments: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Edge number, start and end of pieces no longer than ``PIECE``."""
    start, end = segments[:, :2].astype(np.float64), segments[:, 2:].astype(np.float64)
    pieces = np.maximum(np.ceil(exact.hypot(*(end - start).T) / PIECE), 1).astype(np.int64)
    edge = np.repeat(np.arange(len(segments)), pieces)
    k = np.arange(len(edge)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    along = (end - start)[edge] / pieces[edge, None]
    first = start[edge] + k[:, None] * along
    return edge, first, first + along


def _squared_distance(
    x: FloatArray, y: FloatArray, start: FloatArray, along: FloatArray, piece: IntArray
) -> FloatArray:
    """Squared distance (m²) from each point (x, y) to the segment that starts at ``start[piece]``."""
    dx, dy = along[piece].T
    px, py = x - start[piece, 0], y - start[piece, 1]
    t = np.clip((px * dx + py * dy) / np.maximum(dx * dx + dy * dy, 1e-30), 0.0, 1.0)
    px -= t * dx
    py -= t * dy
    return np.asarray(px * px + py * py)
