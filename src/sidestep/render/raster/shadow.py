"""What takes light away: the shadow map of the sun, into which static and moving casters are drawn, and the shelter
map, by which ground is darker near what stands on it.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.layout import Array

LOWEST = np.float32(-1.0e30)
LOWER, MOST_LOWER = 0.03, 1.0  # m
Corner = tuple[float, float, float]
REACH = 16000  # texels: a corner farther out than this is not drawn


@inlined
def _to_texel(view: Array, x: float, y: float, z: float) -> Corner:
    """Column, row and height on the map of a point of the world."""
    return (
        view[0] * x + view[1] * y + view[2] * z + view[3],
        view[4] * x + view[5] * y + view[6] * z + view[7],
        view[8] * x + view[9] * y + view[10] * z + view[11],
    )


@inlined
def draw_shadow(a: Corner, b: Corner, c: Corner, row: int, row_end: int, size: int, shadow: Array) -> None:
    """One triangle, corners in texels and height, into the rows ``row`` … ``row_end`` of the map. One that faces the
    light is drawn lower by what its height changes over two texels, so that it does not shade itself."""
    (xa, ya, ha), (xb, yb, hb), (xc, yc, hc) = a, b, c
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
        index = np.uint64(r * size + begin)
        for k in range(np.uint64(end - begin)):
            height = value + step * np.float32(np.int32(k))
            height = height if height < most else most
            height = height if height > least else least
            old = shadow[index + k]
            shadow[index + k] = height if height > old else old


@kernel
def draw_static_shadow(view: Array, static: L.StaticArrays, size: int, shadow: Array) -> None:
    """Every static triangle that casts a shadow."""
    chunks, triangles, points = static.chunks, static.triangles, static.vertices
    shadow[:] = LOWEST
    for c in range(chunks.shape[0]):
        if chunks[c, L.CHUNK_CASTS] == 0:
            continue
        for f in range(chunks[c, L.CHUNK_FACE], chunks[c, L.CHUNK_FACE_END]):
            i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
            first = _to_texel(view, points[i, 0], points[i, 1], points[i, 2])
            second = _to_texel(view, points[j, 0], points[j, 1], points[j, 2])
            third = _to_texel(view, points[k, 0], points[k, 1], points[k, 2])
            draw_shadow(first, second, third, 0, size, size, shadow)


@kernel
def move_caster(
    shadow: L.ShadowArrays,
    row: Array,
    models: L.ModelArrays,
    instances: L.InstanceArrays,
    scratch: Array,
    texels: Array,
    box: Array,
) -> None:
    """The vertices of one instance in texels and height, and the box of texels (x, y, x end, y end) they touch."""
    view, vertices, bones = shadow.to_texels, models.vertices, instances.bones
    instance, level = row[L.INSTANCE], models.levels[row[L.SOURCE]]
    for b in range(models.models[instances.model[instance], L.MODEL_BONES]):
        for i in range(3):
            for j in range(4):
                total = view[4 * i + 3] if j == 3 else 0.0
                for axis in range(3):
                    total += view[4 * i + axis] * bones[instance, b, axis, j]
                scratch[b, 4 * i + j] = total
    k = row[L.FIRST_VERTEX]
    x_least, x_most, y_least, y_most = 1e9, -1e9, 1e9, -1e9
    for v in range(level[L.LEVEL_VERTEX], level[L.LEVEL_VERTEX_END]):
        px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        x, y, h = 0.0, 0.0, 0.0
        for end in range(2):
            weight = models.weights[v, end]
            b = models.bone_indices[v, end]
            x += weight * (scratch[b, 0] * px + scratch[b, 1] * py + scratch[b, 2] * pz + scratch[b, 3])
            y += weight * (scratch[b, 4] * px + scratch[b, 5] * py + scratch[b, 6] * pz + scratch[b, 7])
            h += weight * (scratch[b, 8] * px + scratch[b, 9] * py + scratch[b, 10] * pz + scratch[b, 11])
        texels[k, 0], texels[k, 1], texels[k, 2] = x, y, h
        x_least, x_most, y_least, y_most = min(x_least, x), max(x_most, x), min(y_least, y), max(y_most, y)
        k += 1
    box[0], box[1] = max(math.floor(x_least), 0), max(math.floor(y_least), 0)
    box[2], box[3] = min(math.ceil(x_most) + 1, shadow.size), min(math.ceil(y_most) + 1, shadow.size)


@kernel
def restore_shadow(box: Array, row: int, row_end: int, shadow: L.ShadowArrays) -> None:
    """Copy one box of texels, as far as it lies in these rows, from the static map."""
    for r in range(max(box[1], row), min(box[3], row_end)):
        for x in range(box[0], box[2]):
            index = np.uint64(r * shadow.size + x)
            shadow.map[index] = shadow.static[index]


@kernel
def draw_caster(
    row: Array, models: L.ModelArrays, texels: Array, first: int, last: int, shadow: L.ShadowArrays
) -> None:
    """The faces of one instance that look away from the light: their shadow is the same, and they shade themselves
    less."""
    level, triangles = models.levels[row[L.SOURCE]], models.triangles
    shift = row[L.FIRST_VERTEX] - level[L.LEVEL_VERTEX]
    for f in range(level[L.LEVEL_FACE], level[L.LEVEL_FACE_END]):
        i, j, k = triangles[f, 0] + shift, triangles[f, 1] + shift, triangles[f, 2] + shift
        a = texels[i, 0], texels[i, 1], texels[i, 2]
        b = texels[j, 0], texels[j, 1], texels[j, 2]
        c = texels[k, 0], texels[k, 1], texels[k, 2]
        away = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]) < 0.0
        if away and max(a[1], b[1], c[1]) > first and min(a[1], b[1], c[1]) < last:
            draw_shadow(a, b, c, first, last, shadow.size, shadow.map)


RIM = 0.5  # m about a thing's foot
STRONGEST = 200.0  # of 255, under it
DIAGONAL = np.float32(math.sqrt(2.0))
N = L.SHELTER_SIZE


@kernel
def spread_distance(distance: Array) -> None:
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
def pack_shelter(box: Array, plain: Array, packed: Array) -> None:
    """Words of the texels in a ``box`` (x, y, x end, y end), from bytes (N, N)."""
    for j in range(max(box[1] - 1, 0), min(box[3], N - 1)):
        for i in range(max(box[0] - 1, 0), min(box[2], N - 1)):
            word = np.uint32(plain[j, i]) | np.uint32(np.uint32(plain[j, i + 1]) << np.uint32(8))
            word |= np.uint32(np.uint32(plain[j + 1, i]) << np.uint32(16))
            packed[j * N + i] = word | np.uint32(np.uint32(plain[j + 1, i + 1]) << np.uint32(24))


@kernel
def stamp_shelter(
    x0: float, y0: float, feet: Array, instances: L.InstanceArrays, old_count: int, shelter: L.ShelterArrays
) -> int:
    """Wipe the ``old_count`` stamps of the last frame, stamp every instance, pack what changed. The map begins at
    (``x0``, ``y0``); ``feet`` (M, 4): middle and half size of the box of each model's feet. Returns how many boxes
    there are now."""
    boxes, plain = shelter.boxes, shelter.plain
    for k in range(old_count):
        for j in range(boxes[k, 1], boxes[k, 3]):
            for i in range(boxes[k, 0], boxes[k, 2]):
                plain[j, i] = shelter.static[j, i]
        pack_shelter(boxes[k], plain, shelter.packed)
    count = 0
    for n in range(instances.model.shape[0]):
        bone, foot = instances.bones[n, 0], feet[instances.model[n]]
        fx, fy, hx, hy = foot[0], foot[1], foot[2], foot[3]
        size = math.sqrt(bone[0, 0] * bone[0, 0] + bone[1, 0] * bone[1, 0])
        if size < 1e-3:
            continue
        c, s = bone[0, 0] / size, bone[1, 0] / size
        hx, hy = hx * size, hy * size
        x = bone[0, 0] * fx + bone[0, 1] * fy + bone[0, 3] - x0
        y = bone[1, 0] * fx + bone[1, 1] * fy + bone[1, 3] - y0
        reach_x, reach_y = abs(c) * hx + abs(s) * hy + RIM, abs(s) * hx + abs(c) * hy + RIM
        if x + reach_x < 0 or y + reach_y < 0:
            continue
        first_x = max(int((x - reach_x) * L.SHELTER_PER_METRE), 0)
        first_y = max(int((y - reach_y) * L.SHELTER_PER_METRE), 0)
        last_x, last_y = int((x + reach_x) * L.SHELTER_PER_METRE) + 1, int((y + reach_y) * L.SHELTER_PER_METRE) + 1
        last_x, last_y = min(last_x, N), min(last_y, N)
        if first_x >= last_x or first_y >= last_y:
            continue
        for j in range(first_y, last_y):
            for i in range(first_x, last_x):
                dx, dy = (i + 0.5) / L.SHELTER_PER_METRE - x, (j + 0.5) / L.SHELTER_PER_METRE - y
                out_x, out_y = max(abs(c * dx + s * dy) - hx, 0.0), max(abs(c * dy - s * dx) - hy, 0.0)
                rest = max(1.0 - math.sqrt(out_x * out_x + out_y * out_y) / RIM, 0.0)
                plain[j, i] = max(plain[j, i], np.uint8(STRONGEST * rest * rest))
        boxes[count, 0], boxes[count, 1], boxes[count, 2], boxes[count, 3] = first_x, first_y, last_x, last_y
        count += 1
    for k in range(count):
        pack_shelter(boxes[k], shelter.plain, shelter.packed)
    return count
