"""What takes light away: the shadow map of the sun, into which static and moving casters are drawn, and the shelter
map, by which ground is darker near what stands on it.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.layout import (
    CHUNK_CASTS,
    CHUNK_FACE,
    CHUNK_FACE_END,
    FIRST_VERTEX,
    INSTANCE,
    LEVEL_FACE,
    LEVEL_FACE_END,
    LEVEL_VERTEX,
    LEVEL_VERTEX_END,
    MODEL_BONES,
    SHELTER_PER_METRE,
    SHELTER_SIZE,
    SOURCE,
)

LOWEST = np.float32(-1.0e30)
LOWER, MOST_LOWER = 0.03, 1.0  # m
REACH = 16000  # texels: a corner farther out than this is not drawn


@inlined
def _row_of(view, k, x, y, z):
    return view[4 * k] * x + view[4 * k + 1] * y + view[4 * k + 2] * z + view[4 * k + 3]


@kernel(forceinline=True)
def draw_shadow(xa, ya, ha, xb, yb, hb, xc, yc, hc, row, row_end, size, shadow):
    """One triangle, corners in texels and height, into the rows ``row`` … ``row_end`` of the map. One that faces the
    light is drawn lower by what its height changes over two texels, so that it does not shade itself."""
    if abs(xa) > REACH or abs(xb) > REACH or abs(xc) > REACH or abs(ya) > REACH or abs(yb) > REACH or abs(yc) > REACH:
        return
    area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
    if area == 0.0:
        return
    per_column = ((hb - ha) * (yc - ya) - (hc - ha) * (yb - ya)) / area
    per_row = ((hc - ha) * (xb - xa) - (hb - ha) * (xc - xa)) / area
    origin = ha + (0.5 - xa) * per_column + (0.5 - ya) * per_row
    lower = 0.0
    if area > 0.0:
        lower = LOWER + min(2.0 * (abs(per_column) + abs(per_row)), MOST_LOWER)
        origin -= lower
    step = np.float32(per_column)
    most = np.float32(max(ha, hb, hc) - lower)
    least = np.float32(min(ha, hb, hc) - lower)
    if ya > yb:
        xa, ya, xb, yb = xb, yb, xa, ya
    if yb > yc:
        xb, yb, xc, yc = xc, yc, xb, yb
    if ya > yb:
        xa, ya, xb, yb = xb, yb, xa, ya
    first, last = max(math.ceil(ya - 0.5), row), min(math.ceil(yc - 0.5), row_end)
    for r in range(first, last):
        y = r + 0.5
        long = xa + (y - ya) * (xc - xa) / (yc - ya)
        short = xa + (y - ya) * (xb - xa) / (yb - ya) if y < yb else xb + (y - yb) * (xc - xb) / (yc - yb)
        begin = max(math.ceil(min(long, short) - 0.5), 0)
        end = min(math.ceil(max(long, short) - 0.5), size)
        if begin >= end:
            continue
        value = np.float32(origin + per_column * begin + per_row * r)
        place = np.uint64(r * size + begin)
        for k in range(np.uint64(end - begin)):
            height = value + step * np.float32(np.int32(k))
            height = height if height < most else most
            height = height if height > least else least
            old = shadow[place + k]
            shadow[place + k] = height if height > old else old


@kernel
def draw_static_shadow(view, chunks, triangles, vertices, size, shadow):
    """Every static triangle that casts a shadow."""
    shadow[:] = LOWEST
    for c in range(chunks.shape[0]):
        if chunks[c, CHUNK_CASTS] == 0:
            continue
        for f in range(chunks[c, CHUNK_FACE], chunks[c, CHUNK_FACE_END]):
            a, b, d = triangles[f, 0], triangles[f, 1], triangles[f, 2]
            xa = _row_of(view, 0, vertices[a, 0], vertices[a, 1], vertices[a, 2])
            ya = _row_of(view, 1, vertices[a, 0], vertices[a, 1], vertices[a, 2])
            ha = _row_of(view, 2, vertices[a, 0], vertices[a, 1], vertices[a, 2])
            xb = _row_of(view, 0, vertices[b, 0], vertices[b, 1], vertices[b, 2])
            yb = _row_of(view, 1, vertices[b, 0], vertices[b, 1], vertices[b, 2])
            hb = _row_of(view, 2, vertices[b, 0], vertices[b, 1], vertices[b, 2])
            xc = _row_of(view, 0, vertices[d, 0], vertices[d, 1], vertices[d, 2])
            yc = _row_of(view, 1, vertices[d, 0], vertices[d, 1], vertices[d, 2])
            hc = _row_of(view, 2, vertices[d, 0], vertices[d, 1], vertices[d, 2])
            draw_shadow(xa, ya, ha, xb, yb, hb, xc, yc, hc, 0, size, size, shadow)


@kernel
def move_caster(view, size, row, models, levels, model_of, bones, vertices, hangs, weights, scratch, texels, box):
    """The vertices of one instance in texels and height, and the box of texels (x, y, x end, y end) they touch."""
    instance, level = row[INSTANCE], row[SOURCE]
    for b in range(models[model_of[instance], MODEL_BONES]):
        for i in range(3):
            for j in range(4):
                total = view[4 * i + 3] if j == 3 else 0.0
                for axis in range(3):
                    total += view[4 * i + axis] * bones[instance, b, axis, j]
                scratch[b, 4 * i + j] = total
    k = row[FIRST_VERTEX]
    x_least, x_most, y_least, y_most = 1e9, -1e9, 1e9, -1e9
    for v in range(levels[level, LEVEL_VERTEX], levels[level, LEVEL_VERTEX_END]):
        px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        x, y, h = 0.0, 0.0, 0.0
        for end in range(2):
            weight = weights[v, end]
            b = hangs[v, end]
            x += weight * (scratch[b, 0] * px + scratch[b, 1] * py + scratch[b, 2] * pz + scratch[b, 3])
            y += weight * (scratch[b, 4] * px + scratch[b, 5] * py + scratch[b, 6] * pz + scratch[b, 7])
            h += weight * (scratch[b, 8] * px + scratch[b, 9] * py + scratch[b, 10] * pz + scratch[b, 11])
        texels[k, 0], texels[k, 1], texels[k, 2] = x, y, h
        x_least, x_most, y_least, y_most = min(x_least, x), max(x_most, x), min(y_least, y), max(y_most, y)
        k += 1
    box[0], box[1] = max(math.floor(x_least), 0), max(math.floor(y_least), 0)
    box[2], box[3] = min(math.ceil(x_most) + 1, size), min(math.ceil(y_most) + 1, size)


@kernel
def restore_shadow(box, row, row_end, size, static, shadow):
    """Copy one box of texels, as far as it lies in these rows, from the static map."""
    for r in range(max(box[1], row), min(box[3], row_end)):
        for x in range(box[0], box[2]):
            shadow[np.uint64(r * size + x)] = static[np.uint64(r * size + x)]


@kernel
def draw_caster(row, levels, triangles, texels, first, last, size, shadow):
    """The faces of one instance that look away from the light: their shadow is the same, and they shade themselves
    less."""
    level = row[SOURCE]
    shift = row[FIRST_VERTEX] - levels[level, LEVEL_VERTEX]
    for f in range(levels[level, LEVEL_FACE], levels[level, LEVEL_FACE_END]):
        a, b, c = triangles[f, 0] + shift, triangles[f, 1] + shift, triangles[f, 2] + shift
        xa, ya, xb, yb, xc, yc = texels[a, 0], texels[a, 1], texels[b, 0], texels[b, 1], texels[c, 0], texels[c, 1]
        if (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya) < 0.0 and max(ya, yb, yc) > first and min(ya, yb, yc) < last:
            draw_shadow(
                xa, ya, texels[a, 2], xb, yb, texels[b, 2], xc, yc, texels[c, 2], first, last, size, shadow
            )  # fmt: skip


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
