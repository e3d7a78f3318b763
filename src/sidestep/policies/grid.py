"""Values on a square grid: bilinear lookup, and the distance to a source round obstacles. The distance solves the
eikonal equation |∇D| = slowness by fast sweeping (Zhao, *A fast sweeping method for eikonal equations*, Mathematics of
Computation 74, 2005): the first-order upwind update of each cell from its four neighbours, in the four diagonal orders
in turn, until nothing changes. No heap, no ties: the same grid gives the same bits on every machine.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from sidestep.kernels.jit import inlined, kernel
from sidestep.types.base import FloatArray


class Placed(Protocol):
    """Fields on a square grid: value [i, j] is at (x0 + j · cell, y0 + i · cell), in m."""

    @property
    def x0(self) -> float: ...
    @property
    def y0(self) -> float: ...
    @property
    def cell(self) -> float: ...


@inlined
def bilinear(values: FloatArray, grid: Placed, x: float, y: float) -> Any:
    """``values (ny, nx)``, at least 2 × 2, at (x, y), bilinear; outside the grid the border's."""
    ny, nx = values.shape
    u = min(max((x - grid.x0) / grid.cell, 0.0), nx - 1.0)
    v = min(max((y - grid.y0) / grid.cell, 0.0), ny - 1.0)
    j, i = min(int(u), nx - 2), min(int(v), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return low * (1.0 - fv) + high * fv


MOST_ROUNDS = 200  # of four sweeps; a spiral needs one round per turn
SETTLED = 1e-6  # m: a smaller change is none


@inlined
def _update(distance: FloatArray, slowness: FloatArray, cell: float, i: int, j: int) -> float:
    """Lower D[i, j] to what its neighbours offer; the change, m."""
    ny, nx = distance.shape
    left = distance[i, j - 1] if j > 0 else math.inf
    right = distance[i, j + 1] if j + 1 < nx else math.inf
    below = distance[i - 1, j] if i > 0 else math.inf
    above = distance[i + 1, j] if i + 1 < ny else math.inf
    a, b = min(left, right), min(below, above)
    low, high = min(a, b), max(a, b)
    if low == math.inf:
        return 0.0
    h = slowness[i, j] * cell
    gap = high - low
    offer = low + h if gap >= h else 0.5 * (low + high + math.sqrt(2.0 * h * h - gap * gap))
    change: float = distance[i, j] - offer
    if change > 0.0:
        distance[i, j] = offer
    return max(change, 0.0)


@kernel
def sweep_geodesic(distance: FloatArray, slowness: FloatArray, cell: float) -> int:
    """Fill ``distance (ny, nx)`` (m; 0 or exact at the sources, infinite elsewhere) in place; the rounds it took.

    ``slowness (ny, nx)`` is the cost of a metre, 1 in the open; a cell whose slowness is infinite is never entered and
    keeps what it has. ``cell`` in m.
    """
    ny, nx = distance.shape
    for done in range(MOST_ROUNDS):
        changed = 0.0
        for order in range(4):
            for a in range(ny):
                i = a if order < 2 else ny - 1 - a
                for b in range(nx):
                    j = b if order % 2 == 0 else nx - 1 - b
                    if slowness[i, j] < math.inf:
                        changed = max(changed, _update(distance, slowness, cell, i, j))
        if changed < SETTLED:
            return done + 1
    return MOST_ROUNDS
