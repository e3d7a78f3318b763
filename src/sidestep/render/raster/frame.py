"""One frame from start to end, and its steps for several threads that share it; first, what may be seen: static chunks
whose box, and instances whose bones, meet the camera's view.

Threads take objects, bands of the shadow map and bands of the picture from counters; every object has its own rows in
the tables, known from ``plan_frame``, so the picture does not depend on which thread did what.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import atomic_add, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.faces import prepare_chunk, prepare_instance
from sidestep.render.raster.intrinsics import to_bits
from sidestep.render.raster.layout import Array
from sidestep.render.raster.shade import prepare_sky_face, shade_row, write_ids
from sidestep.render.raster.shadow import draw_caster, move_caster, restore_shadow
from sidestep.render.raster.triangles import draw_face, move_chunk, move_instance

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


SHADOW_BANDS = 8


@kernel
def plan_frame(
    view: L.View, scene: L.SceneArrays, instances: L.InstanceArrays, lights: L.LightArrays, frame: L.FrameArrays
) -> None:
    """What may be seen and what may cast a shadow, each with its rows in the tables."""
    counts, casters = frame.counts, frame.caster_counts
    counts[:] = 0
    counts[L.ALL_FACES] = 1
    prepare_sky_face(frame.ints, frame.floats)
    view_planes(view.camera, view.width, view.height, frame.planes)
    cull_chunks(frame.planes, scene.static, frame.objects, counts)
    cull_instances(view.camera, frame.planes, scene.models, instances, frame.objects, counts)
    casters[L.OBJECTS] = casters[L.VERTICES] = casters[L.ALL_FACES] = 0
    if view.with_shadow:
        cull_casters(lights.shadow.planes, scene.models, instances, frame.casters, casters)
    counts[L.CASTERS] = casters[L.OBJECTS]


@kernel
def prepare_objects(
    view: L.View,
    scene: L.SceneArrays,
    instances: L.InstanceArrays,
    lights: L.LightArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
) -> None:
    """Vertices and faces of objects and casters, as long as there are any left."""
    counts, camera, light, models = frame.counts, view.camera, lights.light, scene.models
    while True:
        o = atomic_add(counts, L.NEXT_OBJECT, 1)
        if o >= counts[L.OBJECTS]:
            break
        row = frame.objects[o]
        if row[L.INSTANCE] < 0:
            move_chunk(camera, row, scene.static, lights.lit, frame)
            prepare_chunk(view, light, row, scene.static, scene.surfaces, frame, thread)
        else:
            move_instance(camera, light, row, models, instances, thread.bones, frame)
            prepare_instance(view, light, row, models, instances, frame, thread)
    while True:
        c = atomic_add(counts, L.NEXT_CASTER, 1)
        if c >= counts[L.CASTERS]:
            break
        move_caster(
            lights.shadow, frame.casters[c], models, instances, thread.bones, frame.caster_texels, frame.caster_boxes[c]
        )


@kernel
def cast_shadows(old_count: int, models: L.ModelArrays, shadow: L.ShadowArrays, frame: L.FrameArrays) -> None:
    """Wipe the shadows of the last frame (``old_boxes``) and draw those of this one, band by band."""
    counts = frame.counts
    while True:
        band = atomic_add(counts, L.NEXT_SHADOW_BAND, 1)
        if band >= SHADOW_BANDS:
            break
        first, last = band * shadow.size // SHADOW_BANDS, (band + 1) * shadow.size // SHADOW_BANDS
        for c in range(old_count):
            restore_shadow(frame.old_boxes[c], first, last, shadow)
        for c in range(counts[L.CASTERS]):
            box = frame.caster_boxes[c]
            if box[1] < last and box[3] > first and box[0] < box[2]:
                draw_caster(frame.casters[c], models, frame.caster_texels, first, last, shadow)


@kernel
def draw_bands(
    view: L.View,
    surfaces: L.SurfaceArrays,
    lights: L.LightArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
    pictures: L.Pictures,
) -> None:
    """Visibility, then colour, of bands of rows, as long as there are any left."""
    counts, width = frame.counts, view.width
    empty = np.uint64(to_bits(np.float32(1.0 / view.camera[L.FAR]))) << np.uint64(32)
    while True:
        band = atomic_add(counts, L.NEXT_BAND, 1)
        if band >= view.bands:
            break
        first, last = band * view.height // view.bands, (band + 1) * view.height // view.bands
        for index in range(np.uint64(first * width), np.uint64(last * width)):
            frame.seen[index] = empty
        for o in range(counts[L.OBJECTS]):
            row = frame.objects[o]
            if row[L.FACES] == 0 or row[L.ROW] >= last or row[L.ROW_END] <= first:
                continue
            for face in range(row[L.FIRST_FACE], row[L.FIRST_FACE] + row[L.FACES]):
                draw_face(frame, face, width, first, last, thread.left, thread.right)
        for r in range(first, last):
            begin = np.uint64(r * width)
            if view.want & L.WANT_RGB:
                shade_row(L.Line(view.camera, r, width, begin), surfaces, lights, frame, thread, pictures.rgb)
            write_ids(begin, width, view.want, frame.seen, frame.ints, pictures)


@kernel
def aim_shadow(camera: Array, shadow: L.ShadowArrays) -> None:
    """Texel and height of the point at depth X along the ray (1, ry, rz) are ``eye + X (rays · (1, ry, rz))``. Texel
    centres are made whole numbers, as the filter wants them."""
    view, rays, eye = shadow.to_texels, shadow.rays, shadow.eye
    for k in range(3):
        total = view[4 * k + 3]
        for axis in range(3):
            total += view[4 * k + axis] * camera[L.EYE + axis]
        eye[k] = total - 0.5 if k < 2 else total
        for j in range(3):
            total = 0.0
            for axis in range(3):
                total += view[4 * k + axis] * camera[L.TURN + 3 * j + axis]
            rays[3 * k + j] = total


@kernel
def remember_boxes(frame: L.FrameArrays) -> Any:
    """Remember where this frame's shadows are; returns how many."""
    count = frame.counts[L.CASTERS]
    for c in range(count):
        for k in range(4):
            frame.old_boxes[c, k] = frame.caster_boxes[c, k]
    return count


@kernel
def draw_frame(
    view: L.View,
    scene: L.SceneArrays,
    instances: L.InstanceArrays,
    lights: L.LightArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
    pictures: L.Pictures,
    old_count: int,
) -> tuple[int, int]:
    """All steps on one thread. Returns (polygons needed, shadows drawn)."""
    plan_frame(view, scene, instances, lights, frame)
    prepare_objects(view, scene, instances, lights, frame, thread)
    drawn = old_count
    if view.with_shadow:
        cast_shadows(old_count, scene.models, lights.shadow, frame)
        drawn = remember_boxes(frame)
    aim_shadow(view.camera, lights.shadow)
    draw_bands(view, scene.surfaces, lights, frame, thread, pictures)
    return frame.counts[L.POLYGONS], drawn
