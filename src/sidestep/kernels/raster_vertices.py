"""Vertices into the camera's frame and onto the picture, with the light that falls on them.

Positions are float64, so that an edge is where an exact ray caster finds it. An instance's bones are moved into the
camera's frame first, and the sun and the zenith into each bone's, so that a vertex costs one blend of matrices.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import peek, poke
from sidestep.kernels.raster_layout import (
    CHUNK_VERTEX,
    CHUNK_VERTEX_END,
    CX,
    CY,
    EYE,
    FIRST_VERTEX,
    FX,
    FY,
    GUARD,
    INSTANCE,
    LEVEL_VERTEX,
    LEVEL_VERTEX_END,
    MODEL_BONES,
    NEAR,
    ONE,
    SOURCE,
    SUN_X,
    SUN_Y,
    SUN_Z,
    TURN,
)

BEHIND, OUTSIDE = 1, 2  # flags of a vertex: nearer than the near plane; too far off the picture for whole numbers
BONE_COLUMNS = 18  # of the scratch: 12 of the matrix, then the sun's and the zenith's direction


@inlined
def _fixed(value):
    """A coordinate of the picture in whole numbers of 1/16384 pixel, rounded."""
    scaled = value * ONE + 0.5
    whole = np.int64(scaled)
    return np.int32(whole - np.int64(np.float64(whole) > scaled))


@inlined
def _project(camera, k, x, y, z, points, screen, flags):
    """Without a branch, so that loops over vertices compile to vector instructions."""
    ahead = x >= peek(camera, np.uint64(NEAR))
    inverse = 1.0 / (x if ahead else 1.0)
    u = peek(camera, np.uint64(CX)) - peek(camera, np.uint64(FX)) * y * inverse
    v = peek(camera, np.uint64(CY)) - peek(camera, np.uint64(FY)) * z * inverse
    near = (abs(u) < GUARD) & (abs(v) < GUARD)
    poke(points, np.uint64(3) * k, x)
    poke(points, np.uint64(3) * k + np.uint64(1), y)
    poke(points, np.uint64(3) * k + np.uint64(2), z)
    poke(screen, np.uint64(2) * k, _fixed(u if near else 0.0))
    poke(screen, np.uint64(2) * k + np.uint64(1), _fixed(v if near else 0.0))
    poke(flags, k, np.uint8(0 if near else OUTSIDE) if ahead else np.uint8(BEHIND))


@kernel
def move_chunk(camera, row, chunks, vertices, lit, points, screen, flags, lights):
    """The vertices of one static chunk; ``lit`` (V, 2): the sun's and the sky's share, known before the frame."""
    chunk = row[SOURCE]
    first, begin = np.uint64(row[FIRST_VERTEX]), np.uint64(chunks[chunk, CHUNK_VERTEX])
    ex, ey, ez = camera[EYE], camera[EYE + 1], camera[EYE + 2]
    ax, ay, az = camera[TURN], camera[TURN + 1], camera[TURN + 2]
    bx, by, bz = camera[TURN + 3], camera[TURN + 4], camera[TURN + 5]
    cx, cy, cz = camera[TURN + 6], camera[TURN + 7], camera[TURN + 8]
    for n in range(np.uint64(chunks[chunk, CHUNK_VERTEX_END] - chunks[chunk, CHUNK_VERTEX])):
        place = np.uint64(3) * (begin + n)
        dx = np.float64(peek(vertices, place)) - ex
        dy = np.float64(peek(vertices, place + np.uint64(1))) - ey
        dz = np.float64(peek(vertices, place + np.uint64(2))) - ez
        x, y, z = ax * dx + ay * dy + az * dz, bx * dx + by * dy + bz * dz, cx * dx + cy * dy + cz * dz
        _project(camera, first + n, x, y, z, points, screen, flags)
        twice, there = np.uint64(2) * (first + n), np.uint64(2) * (begin + n)
        poke(lights, twice, peek(lit, there))
        poke(lights, twice + np.uint64(1), peek(lit, there + np.uint64(1)))


@kernel
def move_bones(camera, light, bones, count, scratch):
    """Each bone in the camera's frame, and the sun and the zenith in the bone's."""
    for b in range(count):
        for i in range(3):
            for j in range(4):
                total = 0.0
                for axis in range(3):
                    value = np.float64(bones[b, axis, j])
                    if j == 3:
                        value -= camera[EYE + axis]
                    total += camera[TURN + 3 * i + axis] * value
                scratch[b, 4 * i + j] = total
        for j in range(3):
            sun = light[SUN_X] * bones[b, 0, j] + light[SUN_Y] * bones[b, 1, j] + light[SUN_Z] * bones[b, 2, j]
            scratch[b, 12 + j] = sun
            scratch[b, 15 + j] = bones[b, 2, j]


@kernel
def move_instance(
    camera, light, row, models, levels, model_of, bones,
    vertices, normals, hangs, weights, scratch, points, screen, flags, lights,
):  # fmt: skip
    """The vertices of one instance, blended between the two bones of each."""
    instance = row[INSTANCE]
    level = row[SOURCE]
    move_bones(camera, light, bones[instance], models[model_of[instance], MODEL_BONES], scratch)
    k = row[FIRST_VERTEX]
    for v in range(levels[level, LEVEL_VERTEX], levels[level, LEVEL_VERTEX_END]):
        px, py, pz = np.float64(vertices[v, 0]), np.float64(vertices[v, 1]), np.float64(vertices[v, 2])
        nx, ny, nz = np.float64(normals[v, 0]), np.float64(normals[v, 1]), np.float64(normals[v, 2])
        x, y, z, sun, up = 0.0, 0.0, 0.0, 0.0, 0.0
        for end in range(2):
            weight = np.float64(weights[v, end])
            if weight != 0.0:
                b = hangs[v, end]
                x += weight * (scratch[b, 0] * px + scratch[b, 1] * py + scratch[b, 2] * pz + scratch[b, 3])
                y += weight * (scratch[b, 4] * px + scratch[b, 5] * py + scratch[b, 6] * pz + scratch[b, 7])
                z += weight * (scratch[b, 8] * px + scratch[b, 9] * py + scratch[b, 10] * pz + scratch[b, 11])
                sun += weight * (scratch[b, 12] * nx + scratch[b, 13] * ny + scratch[b, 14] * nz)
                up += weight * (scratch[b, 15] * nx + scratch[b, 16] * ny + scratch[b, 17] * nz)
        _project(camera, np.uint64(k), x, y, z, points, screen, flags)
        lights[k, 0], lights[k, 1] = sun, 0.5 + 0.5 * up
        k += 1
