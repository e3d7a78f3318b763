"""Vertices into the camera's frame and onto the picture, with the light that falls on them.

Positions are float64, so that an edge is where an exact ray caster finds it. An instance's bones are moved into the
camera's frame first, and the sun and the zenith into each bone's, so that a vertex costs one blend of matrices.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
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
def _project(camera, k, x, y, z, points, screen, flags):
    points[k, 0], points[k, 1], points[k, 2] = x, y, z
    if x < camera[NEAR]:
        flags[k] = BEHIND
        return
    inverse = 1.0 / x
    u = camera[CX] - camera[FX] * y * inverse
    v = camera[CY] - camera[FY] * z * inverse
    if abs(u) < GUARD and abs(v) < GUARD:
        screen[k, 0] = np.int32(math.floor(u * ONE + 0.5))
        screen[k, 1] = np.int32(math.floor(v * ONE + 0.5))
        flags[k] = 0
    else:
        flags[k] = OUTSIDE


@kernel
def move_chunk(camera, row, chunks, vertices, lit, points, screen, flags, lights):
    """The vertices of one static chunk; ``lit`` (V, 2): the sun's and the sky's share, known before the frame."""
    k = row[FIRST_VERTEX]
    chunk = row[SOURCE]
    for v in range(chunks[chunk, CHUNK_VERTEX], chunks[chunk, CHUNK_VERTEX_END]):
        dx = np.float64(vertices[v, 0]) - camera[EYE]
        dy = np.float64(vertices[v, 1]) - camera[EYE + 1]
        dz = np.float64(vertices[v, 2]) - camera[EYE + 2]
        x = camera[TURN] * dx + camera[TURN + 1] * dy + camera[TURN + 2] * dz
        y = camera[TURN + 3] * dx + camera[TURN + 4] * dy + camera[TURN + 5] * dz
        z = camera[TURN + 6] * dx + camera[TURN + 7] * dy + camera[TURN + 8] * dz
        _project(camera, k, x, y, z, points, screen, flags)
        lights[k, 0], lights[k, 1] = lit[v, 0], lit[v, 1]
        k += 1


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
        _project(camera, k, x, y, z, points, screen, flags)
        lights[k, 0], lights[k, 1] = sun, 0.5 + 0.5 * up
        k += 1
