"""The map of shelter: how little of the sky the ground sees near what stands on it, in bytes.

What stands still gives a map by distance; what moves is stamped on it in each frame, as the box of its feet with a soft
rim. Each texel is then packed into one word with its neighbours, so that one look gives all that blending needs.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import kernel
from sidestep.kernels.raster_layout import SHELTER_PER_METRE, SHELTER_SIZE

RIM = 0.5  # m about a thing's foot
STRONGEST = 200.0  # of 255, under it
DIAGONAL = np.float32(math.sqrt(2.0))
N = SHELTER_SIZE


@kernel
def spread_distance(distance):
    """Turn zeros amid large numbers (N, N) into distances from the nearest zero, in texels: two sweeps over neighbours
    (G. Borgefors, 1986), at most 8 % off."""
    for j in range(N):
        for i in range(N):
            best = distance[j, i]
            if i > 0:
                best = min(best, distance[j, i - 1] + np.float32(1.0))
            if j > 0:
                best = min(best, distance[j - 1, i] + np.float32(1.0))
                if i > 0:
                    best = min(best, distance[j - 1, i - 1] + DIAGONAL)
                if i < N - 1:
                    best = min(best, distance[j - 1, i + 1] + DIAGONAL)
            distance[j, i] = best
    for j in range(N - 1, -1, -1):
        for i in range(N - 1, -1, -1):
            best = distance[j, i]
            if i < N - 1:
                best = min(best, distance[j, i + 1] + np.float32(1.0))
            if j < N - 1:
                best = min(best, distance[j + 1, i] + np.float32(1.0))
                if i > 0:
                    best = min(best, distance[j + 1, i - 1] + DIAGONAL)
                if i < N - 1:
                    best = min(best, distance[j + 1, i + 1] + DIAGONAL)
            distance[j, i] = best


@kernel
def pack_shelter(plain, x, y, x_end, y_end, packed):
    """Words of the texels in a box, from bytes (N, N)."""
    for j in range(max(y - 1, 0), min(y_end, N - 1)):
        for i in range(max(x - 1, 0), min(x_end, N - 1)):
            word = np.uint32(plain[j, i]) | np.uint32(np.uint32(plain[j, i + 1]) << np.uint32(8))
            word |= np.uint32(np.uint32(plain[j + 1, i]) << np.uint32(16))
            packed[j * N + i] = word | np.uint32(np.uint32(plain[j + 1, i + 1]) << np.uint32(24))


@kernel
def stamp_shelter(origin_x, origin_y, feet, model_of, bones, old_count, boxes, static, plain, packed):
    """Wipe the ``old_count`` stamps of the last frame (``boxes``), stamp every instance, pack what changed. ``feet``
    (M, 4): middle and half size of the box of each model's feet. Returns how many boxes there are now."""
    for k in range(old_count):
        for j in range(boxes[k, 1], boxes[k, 3]):
            for i in range(boxes[k, 0], boxes[k, 2]):
                plain[j, i] = static[j, i]
        pack_shelter(plain, boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3], packed)
    count = 0
    for n in range(model_of.shape[0]):
        fx, fy, hx, hy = feet[model_of[n], 0], feet[model_of[n], 1], feet[model_of[n], 2], feet[model_of[n], 3]
        bone = bones[n, 0]
        size = math.sqrt(bone[0, 0] * bone[0, 0] + bone[1, 0] * bone[1, 0])
        if size < 1e-3:
            continue
        c, s = bone[0, 0] / size, bone[1, 0] / size
        hx, hy = hx * size, hy * size
        x = bone[0, 0] * fx + bone[0, 1] * fy + bone[0, 3] - origin_x
        y = bone[1, 0] * fx + bone[1, 1] * fy + bone[1, 3] - origin_y
        reach_x, reach_y = abs(c) * hx + abs(s) * hy + RIM, abs(s) * hx + abs(c) * hy + RIM
        if x + reach_x < 0 or y + reach_y < 0:
            continue
        first_x = max(int((x - reach_x) * SHELTER_PER_METRE), 0)
        first_y = max(int((y - reach_y) * SHELTER_PER_METRE), 0)
        last_x, last_y = int((x + reach_x) * SHELTER_PER_METRE) + 1, int((y + reach_y) * SHELTER_PER_METRE) + 1
        last_x, last_y = min(last_x, N), min(last_y, N)
        if first_x >= last_x or first_y >= last_y:
            continue
        for j in range(first_y, last_y):
            for i in range(first_x, last_x):
                dx, dy = (i + 0.5) / SHELTER_PER_METRE - x, (j + 0.5) / SHELTER_PER_METRE - y
                out_x, out_y = max(abs(c * dx + s * dy) - hx, 0.0), max(abs(c * dy - s * dx) - hy, 0.0)
                rest = max(1.0 - math.sqrt(out_x * out_x + out_y * out_y) / RIM, 0.0)
                plain[j, i] = max(plain[j, i], np.uint8(STRONGEST * rest * rest))
        boxes[count, 0], boxes[count, 1], boxes[count, 2], boxes[count, 3] = first_x, first_y, last_x, last_y
        count += 1
    for k in range(count):
        pack_shelter(plain, boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3], packed)
    return count
