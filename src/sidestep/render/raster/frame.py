"""One frame from start to end, and its steps for several threads that share it.

Threads take objects, bands of the shadow map and bands of the picture from counters; every object has its own rows in
the tables, known from ``plan_frame``, so the picture does not depend on which thread did what.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.kernels.jit import atomic_add, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.culling import cull_casters, cull_chunks, cull_instances, view_planes
from sidestep.render.raster.faces import prepare_chunk, prepare_instance
from sidestep.render.raster.intrinsics import to_bits
from sidestep.render.raster.layout import Array
from sidestep.render.raster.shade import prepare_sky_face, shade_row, write_ids
from sidestep.render.raster.shadow import draw_caster, move_caster, restore_shadow
from sidestep.render.raster.triangles import draw_face, move_chunk, move_instance

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
