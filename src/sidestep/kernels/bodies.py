"""Bodies that do not overlap: choosing points for people that keep apart before an episode, and separating people
whose bodies would overlap after a step, without pushing anybody through a wall.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels import layout as at
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, float64, int64
from sidestep.kernels.sweep import clear_of_walls

# rows of ``before`` (BEFORE_ROWS, M) float32: the state at the start of the step, and work space
WAS_X, WAS_Y, WAS_HERE = 0, 1, 2
CHANGED, ORDER, FIRST, HERE_X, HERE_Y = 3, 4, 5, 6, 7
PAIRS = 8  # the rows from here on: columns of two people near each other, pair after pair
BEFORE_ROWS = 16

ROUNDS = 6
SKIN = float32(1e-4)  # m: the distance that a resolved contact keeps, far above the rounding of positions
ALL_PAIRS_BELOW = 64  # people: so few are compared without sorting

LIST, SHORTEN, STAY = 0, 1, 2

ZERO = float32(0.0)


@kernel(is_part=True, forceinline=True)
def separate_bodies(
    agents: FloatArray, flags: IntArray, people: int, before: FloatArray, walls: Walls, dt: float
) -> None:
    """Shorten the moves from ``before`` to ``agents`` under which two people would overlap; new velocities follow."""
    present, longest, widest = _list_present(agents, flags, people, before)
    if present < 2:
        return
    reach = float32(2.0) * (longest + widest) + SKIN
    if present > ALL_PAIRS_BELOW:
        _sort_by_x(present, before, reach)
    for place in range(present):
        who = int64(before[ORDER, place])
        before[HERE_X, place], before[HERE_Y, place] = before[WAS_X, who], before[WAS_Y, who]
    pairs = before[PAIRS:].reshape((BEFORE_ROWS - PAIRS) * before.shape[1])
    found, count = _scan_pairs(agents, flags, before, pairs, reach, LIST)
    if found == 0:
        return
    for i in range(people):
        before[CHANGED, i] = ZERO
    left = 1
    for _ in range(ROUNDS):
        left = _treat_pairs(agents, flags, before, pairs, count, reach, SHORTEN)
        if left == 0:
            break
    if walls.points.shape[0] > 0:
        left += _stay_off_walls(agents, people, before, walls)
    while left > 0:
        left = _treat_pairs(agents, flags, before, pairs, count, reach, STAY)
    for i in range(people):
        if before[CHANGED, i] != ZERO:
            agents[at.VX, i] = (agents[at.PX, i] - before[WAS_X, i]) / dt
            agents[at.VY, i] = (agents[at.PY, i] - before[WAS_Y, i]) / dt


@kernel(forceinline=True)
def _list_present(agents: FloatArray, flags: IntArray, people: int, before: FloatArray) -> tuple[int, float, float]:
    """List the people present, in ORDER and in one band; returns how many, the longest move and the largest radius."""
    present, longest, widest = 0, ZERO, ZERO
    for i in range(people):
        if flags[at.ACTIVE, i] == 1 and before[WAS_HERE, i] != ZERO:
            before[ORDER, present] = float32(i)
            present += 1
            dx, dy = agents[at.PX, i] - before[WAS_X, i], agents[at.PY, i] - before[WAS_Y, i]
            longest = max(longest, dx * dx + dy * dy)
            widest = max(widest, agents[at.RADIUS, i])
    if present > 1:
        before[FIRST, 0], before[FIRST, 1], before[FIRST, 2] = float32(1.0), ZERO, float32(present)
    return present, float32(sqrt(longest)), widest


@kernel
def _scan_pairs(
    agents: FloatArray, flags: IntArray, before: FloatArray, pairs: FloatArray, reach: float, action: int
) -> tuple[int, int]:
    """Go through the pairs that are near enough to overlap on their way. LIST: how many do, and how many are listed in
    ``pairs`` (-1: more than fit). Otherwise those that overlap are held back; how many could be."""
    found, count, room = 0, 0, len(pairs) // 2
    square = reach * reach
    bands = int64(before[FIRST, 0])
    for band in range(bands):
        start, middle = int64(before[FIRST, band + 1]), int64(before[FIRST, band + 2])
        end = int64(before[FIRST, min(band + 3, bands + 1)])
        for a in range(start, middle):
            x, y = before[HERE_X, a], before[HERE_Y, a]
            for b in range(a + 1, end):
                dx, dy = before[HERE_X, b] - x, before[HERE_Y, b] - y
                if dx * dx + dy * dy <= square:
                    i, j = int64(before[ORDER, a]), int64(before[ORDER, b])
                    if _overlap(agents, before, i, j):
                        found += 1 if action == LIST else _treat_pair(agents, flags, before, i, j, action)
                    if action == LIST and count < room:
                        pairs[2 * count], pairs[2 * count + 1] = before[ORDER, a], before[ORDER, b]
                    count += 1
    return found, count if count <= room else -1


@kernel
def _treat_pairs(
    agents: FloatArray, flags: IntArray, before: FloatArray, pairs: FloatArray, count: int, reach: float, action: int
) -> int:
    """Hold back those of the pairs that overlap on their way; how many could be."""
    if count < 0:
        return _scan_pairs(agents, flags, before, pairs, reach, action)[0]
    treated = 0
    for k in range(count):
        i, j = int64(pairs[2 * k]), int64(pairs[2 * k + 1])
        if _overlap(agents, before, i, j):
            treated += _treat_pair(agents, flags, before, i, j, action)
    return treated


@kernel(forceinline=True)
def _overlap(agents: FloatArray, before: FloatArray, i: int, j: int) -> bool:
    """Whether i and j come nearer than their bodies allow while both move evenly to where they are now."""
    px, py = before[WAS_X, j] - before[WAS_X, i], before[WAS_Y, j] - before[WAS_Y, i]
    mx = agents[at.PX, j] - before[WAS_X, j] - (agents[at.PX, i] - before[WAS_X, i])
    my = agents[at.PY, j] - before[WAS_Y, j] - (agents[at.PY, i] - before[WAS_Y, i])
    toward = -(px * mx + py * my)
    if toward <= ZERO:
        return False
    part = min(toward / (mx * mx + my * my), float32(1.0))
    qx, qy = px + part * mx, py + part * my
    touch = agents[at.RADIUS, i] + agents[at.RADIUS, j]
    return bool(qx * qx + qy * qy < touch * touch)


@kernel(forceinline=True)
def _can_be_pushed(model: int) -> bool:
    """Whether somebody of this model is held back by others; replayed, scripted and standing people are not."""
    return model != at.MODEL_REPLAY and model != at.MODEL_NONE and model != at.MODEL_SCRIPT


@kernel(forceinline=True)
def _treat_pair(agents: FloatArray, flags: IntArray, before: FloatArray, i: int, j: int, action: int) -> int:
    """Hold i and j back so that they touch, or stay; 1 if any of them could be held back, else 0."""
    px, py = before[WAS_X, j] - before[WAS_X, i], before[WAS_Y, j] - before[WAS_Y, i]
    ix, iy = agents[at.PX, i] - before[WAS_X, i], agents[at.PY, i] - before[WAS_Y, i]
    jx, jy = agents[at.PX, j] - before[WAS_X, j], agents[at.PY, j] - before[WAS_Y, j]
    distance = float32(sqrt(px * px + py * py))
    if distance < float32(1e-6):
        return 0
    nx, ny = px / distance, py / distance
    gap = max(distance - agents[at.RADIUS, i] - agents[at.RADIUS, j] - SKIN, ZERO)
    i_moves, j_moves = _can_be_pushed(flags[at.MODEL, i]), _can_be_pushed(flags[at.MODEL, j])
    i_nears = max(ix * nx + iy * ny, ZERO) if i_moves else ZERO
    j_nears = max(-(jx * nx + jy * ny), ZERO) if j_moves else ZERO
    if i_nears + j_nears <= ZERO:
        return 0
    excess = min(-((jx - ix) * nx + (jy - iy) * ny) - gap, i_nears + j_nears)
    if i_nears > ZERO:
        _hold_back(agents, before, i, ix, iy, nx, ny, excess * i_nears / (i_nears + j_nears), action)
    if j_nears > ZERO:
        _hold_back(agents, before, j, jx, jy, -nx, -ny, excess * j_nears / (i_nears + j_nears), action)
    return 1


@kernel(forceinline=True)
def _hold_back(
    agents: FloatArray, before: FloatArray, i: int, dx: float, dy: float, nx: int, ny: float, less: float, action: int
) -> None:
    """Take ``less`` metres along the unit vector n off the move (dx, dy) of i; all of the move if it is to stay."""
    before[CHANGED, i] = float32(1.0)
    if action == STAY:
        agents[at.PX, i], agents[at.PY, i] = before[WAS_X, i], before[WAS_Y, i]
    else:
        agents[at.PX, i], agents[at.PY, i] = before[WAS_X, i] + dx - less * nx, before[WAS_Y, i] + dy - less * ny


@kernel(forceinline=True)
def _stay_off_walls(agents: FloatArray, people: int, before: FloatArray, walls: Walls) -> int:
    """A shortened move that a wall now stops is not made at all; how many of these there are."""
    stopped = 0
    for i in range(people):
        if before[CHANGED, i] != ZERO:
            x, y = float64(before[WAS_X, i]), float64(before[WAS_Y, i])
            dx, dy = float64(agents[at.PX, i]) - x, float64(agents[at.PY, i]) - y
            if not clear_of_walls(x, y, dx, dy, float64(agents[at.RADIUS, i]), walls):
                agents[at.PX, i], agents[at.PY, i] = before[WAS_X, i], before[WAS_Y, i]
                stopped += 1
    return stopped


@kernel
def _sort_by_x(present: int, before: FloatArray, reach: float) -> None:
    """Put ORDER into bands of x at least ``reach`` wide; FIRST holds the number of bands, then where each begins, then
    how many people there are. Work space: CHANGED.

    Nothing here depends on columns of people who are absent, so that a world is the same in any batch.
    """
    low, high = float32(np.inf), float32(-np.inf)
    for place in range(present):
        x = before[WAS_X, int64(before[ORDER, place])]
        low, high = min(low, x), max(high, x)
    bands = min(max(int64((high - low) / reach), 1), present - 3)
    per_metre = float32(bands) / max(high - low, float32(1e-3))
    for band in range(bands + 2):
        before[FIRST, band] = ZERO
    for place in range(present):
        i = before[ORDER, place]
        before[CHANGED, place] = i
        band = min(int64((before[WAS_X, int64(i)] - low) * per_metre), bands - 1)
        before[FIRST, band + 1] += float32(1.0)
    total = ZERO
    for band in range(bands + 1):
        count = before[FIRST, band + 1]
        before[FIRST, band + 1] = total
        total += count
    for place in range(present):
        i = before[CHANGED, place]
        band = min(int64((before[WAS_X, int64(i)] - low) * per_metre), bands - 1)
        before[ORDER, int64(before[FIRST, band + 1])] = i
        before[FIRST, band + 1] += float32(1.0)
    for band in range(bands, 0, -1):  # each place now holds where its band ends: move them up by one
        before[FIRST, band + 1] = before[FIRST, band]
    before[FIRST, 1] = ZERO
    before[FIRST, 0] = float32(bands)


@kernel
def pick_apart(
    candidates: FloatArray, free: NDArray[np.bool_], radius: float, spacing: float, taken: FloatArray, count: int,
    chosen: IntArray,
) -> int:  # fmt: skip
    """The first ``candidates (K, 2)`` that are ``free (K,)`` and at least ``spacing`` from the discs ``taken[:count]``
    (x, y, radius) and from each other, surface to surface, go to ``taken[count:]``, their numbers to ``chosen``.
    Returns how many."""
    found = 0
    for k in range(candidates.shape[0]):
        if found == chosen.shape[0]:
            break
        if not free[k]:
            continue
        x, y = candidates[k, 0], candidates[k, 1]
        apart = True
        for j in range(count + found):
            dx, dy = x - taken[j, 0], y - taken[j, 1]
            reach = radius + taken[j, 2] + spacing
            if dx * dx + dy * dy <= reach * reach:
                apart = False
                break
        if apart:
            taken[count + found, 0], taken[count + found, 1], taken[count + found, 2] = x, y, radius
            chosen[found] = k
            found += 1
    return found
