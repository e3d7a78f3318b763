"""What may be seen in a frame: static chunks whose box, and instances whose bones, meet the camera's view."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.layout import Array

PIXELS_PER_FACE = 14.0
"""A level of detail is fine enough when it has a triangle for every so many pixels of (height on the picture)²: the
triangles that face the camera then cover some four to seven pixels each."""


@kernel
def view_planes(camera: Array, width: int, height: int, planes: Array) -> None:
    """Six planes (6, 4) float64 of the world, ``n · p + d ≥ 0`` inside: near, far, left, right, top, bottom."""
    left, right = camera[L.CX] / camera[L.FX], (width - camera[L.CX]) / camera[L.FX]
    top, bottom = camera[L.CY] / camera[L.FY], (height - camera[L.CY]) / camera[L.FY]
    for k in range(6):
        if k == 0:
            nx, ny, nz, d = 1.0, 0.0, 0.0, -camera[L.NEAR]
        elif k == 1:
            nx, ny, nz, d = -1.0, 0.0, 0.0, camera[L.FAR]
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
                nx * camera[L.TURN + axis] + ny * camera[L.TURN + 3 + axis] + nz * camera[L.TURN + 6 + axis]
            ) / length
        planes[k, 3] = d / length
        for axis in range(3):
            planes[k, 3] -= planes[k, axis] * camera[L.EYE + axis]


@kernel
def box_is_out(planes: Array, box: Array) -> bool:
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
def bones_are_out(planes: Array, bones: Array, spheres: Array, count: int) -> bool:
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
    return bool(behind != 0)


@kernel
def stretch(bone: Array) -> float:
    """The greatest factor by which a bone scales lengths."""
    most = 0.0
    for axis in range(3):
        length = bone[0, axis] * bone[0, axis] + bone[1, axis] * bone[1, axis] + bone[2, axis] * bone[2, axis]
        most = max(most, length)
    return math.sqrt(most)


@kernel
def choose_level(models: L.ModelArrays, model: int, pixels: float) -> Any:
    """The coarsest level of detail that is fine enough for a model ``pixels`` high on the picture."""
    needed = pixels * pixels / PIXELS_PER_FACE
    level, levels = models.models[model, L.MODEL_LEVEL_END] - 1, models.levels
    while level > models.models[model, L.MODEL_LEVEL]:
        if levels[level, L.LEVEL_FACE_END] - levels[level, L.LEVEL_FACE] >= needed:
            break
        level -= 1
    return level


@kernel
def cull_chunks(planes: Array, static: L.StaticArrays, objects: Array, counts: Array) -> None:
    """Append the static chunks that may be seen."""
    chunks = static.chunks
    for c in range(chunks.shape[0]):
        if not box_is_out(planes, static.boxes[c]):
            faces = chunks[c, L.CHUNK_FACE_END] - chunks[c, L.CHUNK_FACE]
            _append(objects, counts, -1, c, chunks[c, L.CHUNK_VERTEX_END] - chunks[c, L.CHUNK_VERTEX], faces)


@kernel
def cull_instances(
    camera: Array, planes: Array, models: L.ModelArrays, instances: L.InstanceArrays, objects: Array, counts: Array
) -> None:
    """Append the instances that may be seen, at the level of detail that their size on the picture asks for."""
    for i in range(instances.model.shape[0]):
        model, bones = instances.model[i], instances.bones[i]
        if bones_are_out(planes, bones, models.spheres[model], models.models[model, L.MODEL_BONES]):
            continue
        depth = 0.0
        for axis in range(3):
            depth += camera[L.TURN + axis] * (bones[0, axis, 3] - camera[L.EYE + axis])
        pixels = camera[L.FY] * models.heights[model] * stretch(bones[0]) / max(depth, camera[L.NEAR])
        _append_level(objects, counts, i, choose_level(models, model, pixels), models.levels)


@kernel
def cull_casters(
    planes: Array, models: L.ModelArrays, instances: L.InstanceArrays, objects: Array, counts: Array
) -> None:
    """Append the instances whose shadow may fall into the shadow map, at their coarsest level of detail."""
    for i in range(instances.model.shape[0]):
        model = instances.model[i]
        if not bones_are_out(planes, instances.bones[i], models.spheres[model], models.models[model, L.MODEL_BONES]):
            _append_level(objects, counts, i, models.models[model, L.MODEL_LEVEL_END] - 1, models.levels)


@kernel
def _append_level(objects: Array, counts: Array, instance: int, level: int, levels: Array) -> None:
    faces = levels[level, L.LEVEL_FACE_END] - levels[level, L.LEVEL_FACE]
    _append(objects, counts, instance, level, levels[level, L.LEVEL_VERTEX_END] - levels[level, L.LEVEL_VERTEX], faces)


@kernel
def _append(objects: Array, counts: Array, instance: int, source: int, vertices: int, faces: int) -> None:
    o = counts[L.OBJECTS]
    objects[o, L.INSTANCE] = instance
    objects[o, L.SOURCE] = source
    objects[o, L.FIRST_VERTEX] = counts[L.VERTICES]
    objects[o, L.FIRST_FACE] = counts[L.ALL_FACES]
    objects[o, L.FACES] = 0
    counts[L.OBJECTS] = o + 1
    counts[L.VERTICES] += vertices
    counts[L.ALL_FACES] += np.int64(faces)
