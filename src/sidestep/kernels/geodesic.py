"""Obstacle-aware distance from everywhere to a goal: the eikonal equation |∇D| = slowness on a square grid.

Fast sweeping (Zhao, *A fast sweeping method for eikonal equations*, Mathematics of Computation 74, 2005): the
first-order upwind update of each cell from its four neighbours, in the four diagonal orders in turn, until nothing
changes. No heap, no ties: the same grid gives the same bits on every machine. The error of the first-order scheme
is largest beside the source, so the caller starts it with the exact distances in a disc about the goal.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel

MOST_ROUNDS = 200  # of four sweeps; a spiral needs one round per turn
SETTLED = 1e-6  # m: a smaller change is none


@inlined
def _update(distance, slowness, cell, i, j):
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
    change = distance[i, j] - offer
    if change > 0.0:
        distance[i, j] = offer
        return change
    return 0.0


@kernel
def sweep_geodesic(distance, slowness, cell):
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


@kernel
def spread_outward(distance, steepness, cell, spare):
    """Give cells beside filled ones a value, so that a body pushed where it does not fit finds its way back.

    A cell without a value gets the least of its eight neighbours plus ``steepness`` times the step. ``spare (ny, nx)``
    is work space. One call moves the border by one cell.
    """
    ny, nx = distance.shape
    for i in range(ny):
        for j in range(nx):
            spare[i, j] = distance[i, j]
            if distance[i, j] < math.inf:
                continue
            for p in range(max(i - 1, 0), min(i + 2, ny)):
                for q in range(max(j - 1, 0), min(j + 2, nx)):
                    step = cell * math.sqrt(float((p - i) * (p - i) + (q - j) * (q - j)))
                    spare[i, j] = min(spare[i, j], distance[p, q] + steepness * step)
    for i in range(ny):
        for j in range(nx):
            distance[i, j] = spare[i, j]
