"""What may be seen in a frame: static chunks whose box, and instances whose bones, meet the camera's view."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import kernel
from sidestep.render.raster.layout import (
    ALL_FACES,
    CHUNK_FACE,
    CHUNK_FACE_END,
    CHUNK_VERTEX,
    CHUNK_VERTEX_END,
    CX,
    CY,
    EYE,
    FACES,
    FAR,
    FIRST_FACE,
    FIRST_VERTEX,
    FX,
    FY,
    INSTANCE,
    LEVEL_FACE,
    LEVEL_FACE_END,
    LEVEL_VERTEX,
    LEVEL_VERTEX_END,
    MODEL_BONES,
    MODEL_LEVEL,
    MODEL_LEVEL_END,
    NEAR,
    OBJECTS,
    SOURCE,
    TURN,
    VERTICES,
)

PIXELS_PER_FACE = 14.0
"""A level of detail is fine enough when it has a triangle for every so many pixels of (height on the picture)²: the
triangles that face the camera then cover some four to seven pixels each."""


@kernel
def view_planes(camera, width, height, planes):
    """Six planes (6, 4) float64 of the world, ``n · p + d ≥ 0`` inside: near, far, left, right, top, bottom."""
    left, right = camera[CX] / camera[FX], (width - camera[CX]) / camera[FX]
    top, bottom = camera[CY] / camera[FY], (height - camera[CY]) / camera[FY]
    for k in range(6):
        if k == 0:
            nx, ny, nz, d = 1.0, 0.0, 0.0, -camera[NEAR]
        elif k == 1:
            nx, ny, nz, d = -1.0, 0.0, 0.0, camera[FAR]
        elif k == 2:
            nx, ny, nz, d = left, -1.0, 0.0, 0.0
        elif k == 3:
            nx, ny, nz, d = right, 1.0, 0.0, 0.0
        elif k == 4:
            nx, ny, nz, d = top, 0.0, -1.0, 0.0
        else:
            nx, ny, nz, d = bottom, 0.0, 1.0, 0.0
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        for axis in range(3):
            planes[k, axis] = (
                nx * camera[TURN + axis] + ny * camera[TURN + 3 + axis] + nz * camera[TURN + 6 + axis]
            ) / length
        planes[k, 3] = d / length
        for axis in range(3):
            planes[k, 3] -= planes[k, axis] * camera[EYE + axis]


@kernel
def box_is_out(planes, box):
    """Whether ``box`` (least corner, greatest corner) lies wholly behind one of the planes."""
    for k in range(planes.shape[0]):
        farthest = planes[k, 3]
        for axis in range(3):
            n = planes[k, axis]
            farthest += n * box[axis + 3] if n > 0.0 else n * box[axis]
        if farthest < 0.0:
            return True
    return False


@kernel
def bones_are_out(planes, bones, spheres, count):
    """Whether all bones' vertices lie behind one of the planes. ``spheres`` (B, 4): about each bone's vertices at rest;
    a negative radius: it moves none. A vertex between two bones lies between where each would put it, so this is safe.
    """
    behind = (1 << planes.shape[0]) - 1
    for b in range(count):
        radius = spheres[b, 3]
        if radius < 0.0:
            continue
        radius *= stretch(bones[b])
        for k in range(planes.shape[0]):
            distance = planes[k, 3]
            for axis in range(3):
                distance += planes[k, axis] * (
                    bones[b, axis, 0] * spheres[b, 0]
                    + bones[b, axis, 1] * spheres[b, 1]
                    + bones[b, axis, 2] * spheres[b, 2]
                    + bones[b, axis, 3]
                )
            if distance > -radius:
                behind &= ~(1 << k)
    return behind != 0


@kernel
def stretch(bone):
    """How much longer a bone makes things, at most."""
    most = 0.0
    for axis in range(3):
        length = bone[0, axis] * bone[0, axis] + bone[1, axis] * bone[1, axis] + bone[2, axis] * bone[2, axis]
        most = max(most, length)
    return math.sqrt(most)


@kernel
def choose_level(models, levels, model, pixels):
    """The coarsest level of detail that is fine enough for a model ``pixels`` high on the picture."""
    needed = pixels * pixels / PIXELS_PER_FACE
    level = models[model, MODEL_LEVEL_END] - 1
    while level > models[model, MODEL_LEVEL] and levels[level, LEVEL_FACE_END] - levels[level, LEVEL_FACE] < needed:
        level -= 1
    return level


@kernel
def cull_chunks(planes, chunks, boxes, objects, counts):
    """Append the static chunks that may be seen."""
    for c in range(chunks.shape[0]):
        if not box_is_out(planes, boxes[c]):
            faces = chunks[c, CHUNK_FACE_END] - chunks[c, CHUNK_FACE]
            _append(objects, counts, -1, c, chunks[c, CHUNK_VERTEX_END] - chunks[c, CHUNK_VERTEX], faces)


@kernel
def cull_instances(camera, planes, models, levels, heights, spheres, model_of, bones, objects, counts):
    """Append the instances that may be seen, at the level of detail that their size on the picture asks for."""
    for i in range(model_of.shape[0]):
        model = model_of[i]
        count = models[model, MODEL_BONES]
        if bones_are_out(planes, bones[i], spheres[model], count):
            continue
        depth = 0.0
        for axis in range(3):
            depth += camera[TURN + axis] * (bones[i, 0, axis, 3] - camera[EYE + axis])
        pixels = camera[FY] * heights[model] * stretch(bones[i, 0]) / max(depth, camera[NEAR])
        level = choose_level(models, levels, model, pixels)
        faces = levels[level, LEVEL_FACE_END] - levels[level, LEVEL_FACE]
        _append(objects, counts, i, level, levels[level, LEVEL_VERTEX_END] - levels[level, LEVEL_VERTEX], faces)


@kernel
def cull_casters(planes, models, levels, spheres, model_of, bones, objects, counts):
    """Append the instances whose shadow may fall into the shadow map, at their coarsest level of detail."""
    for i in range(model_of.shape[0]):
        model = model_of[i]
        if not bones_are_out(planes, bones[i], spheres[model], models[model, MODEL_BONES]):
            level = models[model, MODEL_LEVEL_END] - 1
            faces = levels[level, LEVEL_FACE_END] - levels[level, LEVEL_FACE]
            _append(objects, counts, i, level, levels[level, LEVEL_VERTEX_END] - levels[level, LEVEL_VERTEX], faces)


@kernel
def _append(objects, counts, instance, source, vertices, faces):
    o = counts[OBJECTS]
    objects[o, INSTANCE] = instance
    objects[o, SOURCE] = source
    objects[o, FIRST_VERTEX] = counts[VERTICES]
    objects[o, FIRST_FACE] = counts[ALL_FACES]
    objects[o, FACES] = 0
    counts[OBJECTS] = o + 1
    counts[VERTICES] += vertices
    counts[ALL_FACES] += np.int64(faces)
