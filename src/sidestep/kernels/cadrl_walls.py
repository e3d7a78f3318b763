"""Walls beside SA-CADRL, whose network knows none: which way is free, by the distance field of the map.

``field`` is ``CompiledScene.distance``, (field_x, field_y) the place of its first sample, ``cell`` the spacing, m.
"""

from __future__ import annotations

from math import sqrt

from sidestep.kernels.jit import kernel

_PIECES = 10  # how finely the way at one velocity is looked at
_SPACING = 0.1  # m: the same for a line of sight


@kernel(forceinline=True)
def _clearance(x, y, field, field_x, field_y, cell):
    """Bilinear distance to the nearest solid, as ``CompiledScene.clearance``."""
    ny, nx = field.shape
    column = min(max((x - field_x) / cell, 0.0), nx - 1.0)
    row = min(max((y - field_y) / cell, 0.0), ny - 1.0)
    i, j = min(int(row), max(ny - 2, 0)), min(int(column), max(nx - 2, 0))
    fi, fj = row - i, column - j
    i1, j1 = min(i + 1, ny - 1), min(j + 1, nx - 1)
    low = field[i, j] * (1.0 - fj) + field[i, j1] * fj
    high = field[i1, j] * (1.0 - fj) + field[i1, j1] * fj
    return low * (1.0 - fi) + high * fi


@kernel
def lowest_clearance(x, y, vx, vy, time, field, field_x, field_y, cell):
    """Least distance to solids over the next ``time`` seconds at (vx, vy) from (x, y), m, not counting a beginning that
    leads away from them: who is near a wall may leave it."""
    before = _clearance(x, y, field, field_x, field_y, cell)
    least, leaving = 1.0e3, True
    for piece in range(1, _PIECES + 1):
        at = time * piece / _PIECES
        here = _clearance(x + vx * at, y + vy * at, field, field_x, field_y, cell)
        leaving = leaving and here > before + 1e-6
        if not leaving:
            least = min(least, here)
        before = here
    return least


@kernel
def farthest_visible(x, y, points, margin, field, field_x, field_y, cell):
    """Number of the last of ``points (K, 2)`` whose straight line from (x, y) keeps ``margin`` from solids; -1: none.
    The first metre may be nearer to them, as long as it leads away."""
    for k in range(points.shape[0] - 1, -1, -1):
        dx, dy = points[k, 0] - x, points[k, 1] - y
        length = sqrt(dx * dx + dy * dy)
        pieces = int(length / _SPACING) + 1
        before = _clearance(x, y, field, field_x, field_y, cell)
        visible = True
        for piece in range(1, pieces + 1):
            share = piece / pieces
            here = _clearance(x + dx * share, y + dy * share, field, field_x, field_y, cell)
            if here < margin and (share * length > 1.0 or here <= before):
                visible = False
                break
            before = here
        if visible:
            return k
    return -1
