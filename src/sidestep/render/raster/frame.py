"""One frame from start to end, and its stages for several threads that share it.

Threads take objects, bands of the shadow map and bands of the picture from counters; every object has its own place in
the tables, known from ``plan_frame``, so the picture does not depend on who did what.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.jit import atomic_add, kernel
from sidestep.render.raster.culling import cull_casters, cull_chunks, cull_instances, view_planes
from sidestep.render.raster.faces import prepare_chunk, prepare_instance
from sidestep.render.raster.intrinsics import to_bits
from sidestep.render.raster.layout import (
    ALL_FACES,
    CASTERS,
    EYE,
    FACES,
    FAR,
    FIRST_FACE,
    INSTANCE,
    NEXT_BAND,
    NEXT_CASTER,
    NEXT_OBJECT,
    NEXT_SHADOW_BAND,
    OBJECTS,
    POLYGONS,
    ROW,
    ROW_END,
    TURN,
    VERTICES,
)
from sidestep.render.raster.shade import WANT_RGB, prepare_sky_face, shade_row, write_ids
from sidestep.render.raster.shadow import draw_caster, move_caster, restore_shadow
from sidestep.render.raster.triangles import draw_face, move_chunk, move_instance

SHADOW_BANDS = 8

Array = NDArray[Any]


class StaticArrays(NamedTuple):
    """What stands still, sorted into chunks."""

    chunks: Array
    boxes: Array
    vertices: Array
    uv: Array
    triangles: Array
    material: Array
    semantic: Array
    identity: Array


class ModelArrays(NamedTuple):
    """All levels of detail of all models."""

    models: Array
    levels: Array
    heights: Array
    spheres: Array
    vertices: Array
    normals: Array
    hangs: Array
    weights: Array
    triangles: Array
    slot: Array
    semantic: Array
    coat: Array


class SurfaceArrays(NamedTuple):
    """Materials, their pictures, and how much water each semantic class holds."""

    materials: Array
    pictures: Array
    texels: Array
    soak: Array


class InstanceArrays(NamedTuple):
    """What moves, in this frame."""

    model: Array
    bones: Array
    colours: Array
    ids: Array


class LightArrays(NamedTuple):
    """Light of one frame; ``lit`` is the share of sun and sky of every static vertex."""

    light: Array
    lamps: Array
    noise: Array
    tones: Array
    lit: Array
    shadow_view: Array
    shadow_planes: Array
    static_shadow: Array
    shadow: Array
    shelter: Array
    mirror: Array
    mirror_far: Array


class FrameArrays(NamedTuple):
    """Working memory of one frame."""

    counts: Array
    planes: Array
    objects: Array
    points: Array
    screen: Array
    flags: Array
    lights: Array
    ints: Array
    floats: Array
    depths: Array
    polygons: Array
    casters: Array
    caster_counts: Array
    caster_texels: Array
    caster_boxes: Array
    old_boxes: Array
    seen: Array


class ThreadArrays(NamedTuple):
    """Scratch of one thread."""

    bones: Array
    cross: Array
    corners: Array
    left: Array
    right: Array
    far: Array
    sun: Array
    sky: Array
    red: Array
    green: Array
    blue: Array
    out_r: Array
    out_g: Array
    out_b: Array
    left_of_sun: Array
    through: Array
    normal_x: Array
    normal_y: Array
    normal_z: Array
    lamp_r: Array
    lamp_g: Array
    lamp_b: Array
    more_r: Array
    more_g: Array
    more_b: Array
    packed: Array
    owner: Array
    spots: Array
    runs: Array


class Pictures(NamedTuple):
    """Where the pictures go, flat."""

    rgb: Array
    depth: Array
    semantic: Array
    instance: Array


@kernel
def plan_frame(camera, width, height, with_shadow, static, models, instances, lights, frame):
    """What may be seen and what may cast a shadow, each with its place in the tables."""
    counts = frame.counts
    counts[:] = 0
    counts[ALL_FACES] = 1
    prepare_sky_face(frame.ints, frame.floats)
    view_planes(camera, width, height, frame.planes)
    cull_chunks(frame.planes, static.chunks, static.boxes, frame.objects, counts)
    cull_instances(
        camera, frame.planes, models.models, models.levels, models.heights, models.spheres,
        instances.model, instances.bones, frame.objects, counts,
    )  # fmt: skip
    frame.caster_counts[OBJECTS] = frame.caster_counts[VERTICES] = frame.caster_counts[ALL_FACES] = 0
    if with_shadow:
        cull_casters(
            lights.shadow_planes, models.models, models.levels, models.spheres,
            instances.model, instances.bones, frame.casters, frame.caster_counts,
        )  # fmt: skip
    counts[CASTERS] = frame.caster_counts[OBJECTS]


@kernel
def prepare_objects(camera, width, height, shadow_size, static, models, surfaces, instances, lights, frame, thread):
    """Vertices and faces of objects and casters, as long as there are any left."""
    counts = frame.counts
    while True:
        o = atomic_add(counts, NEXT_OBJECT, 1)
        if o >= counts[OBJECTS]:
            break
        row = frame.objects[o]
        if row[INSTANCE] < 0:
            move_chunk(
                camera, row, static.chunks, static.vertices, lights.lit, frame.points, frame.screen, frame.flags,
                frame.lights,
            )  # fmt: skip
            prepare_chunk(
                camera, lights.light, width, height, row, static.chunks, static.triangles, static.uv, static.vertices,
                static.material, static.semantic, static.identity, surfaces.materials, surfaces.soak, frame.points,
                frame.screen, frame.flags, frame.lights, frame.ints, frame.floats, frame.depths, frame.polygons,
                counts, thread.cross, thread.corners,
            )  # fmt: skip
        else:
            move_instance(
                camera, lights.light, row, models.models, models.levels, instances.model, instances.bones,
                models.vertices, models.normals, models.hangs, models.weights, thread.bones, frame.points,
                frame.screen, frame.flags, frame.lights,
            )  # fmt: skip
            prepare_instance(
                camera, lights.light, width, height, row, models.levels, models.triangles, models.slot,
                models.semantic, models.coat, instances.colours, instances.ids, frame.points, frame.screen,
                frame.flags, frame.lights, frame.ints, frame.floats, frame.depths, frame.polygons, counts,
                thread.cross, thread.corners,
            )  # fmt: skip
    while True:
        c = atomic_add(counts, NEXT_CASTER, 1)
        if c >= counts[CASTERS]:
            break
        move_caster(
            lights.shadow_view, shadow_size, frame.casters[c], models.models, models.levels, instances.model,
            instances.bones, models.vertices, models.hangs, models.weights, thread.bones, frame.caster_texels,
            frame.caster_boxes[c],
        )  # fmt: skip


@kernel
def cast_shadows(old_count, shadow_size, models, lights, frame):
    """Wipe the shadows of the last frame (``old_boxes``) and draw those of this one, band by band."""
    counts = frame.counts
    while True:
        band = atomic_add(counts, NEXT_SHADOW_BAND, 1)
        if band >= SHADOW_BANDS:
            break
        first, last = band * shadow_size // SHADOW_BANDS, (band + 1) * shadow_size // SHADOW_BANDS
        for c in range(old_count):
            restore_shadow(frame.old_boxes[c], first, last, shadow_size, lights.static_shadow, lights.shadow)
        for c in range(counts[CASTERS]):
            box = frame.caster_boxes[c]
            if box[1] < last and box[3] > first and box[0] < box[2]:
                draw_caster(
                    frame.casters[c], models.levels, models.triangles, frame.caster_texels, first, last, shadow_size,
                    lights.shadow,
                )  # fmt: skip


@kernel
def draw_bands(
    camera, width, height, bands, want, shadow_rays, shadow_eye, shadow_size, mirror_width,
    surfaces, lights, frame, thread, pictures,
):  # fmt: skip
    """Visibility, then colour, of bands of rows, as long as there are any left."""
    counts = frame.counts
    empty = np.uint64(to_bits(np.float32(1.0 / camera[FAR]))) << np.uint64(32)
    while True:
        band = atomic_add(counts, NEXT_BAND, 1)
        if band >= bands:
            break
        first, last = band * height // bands, (band + 1) * height // bands
        for place in range(np.uint64(first * width), np.uint64(last * width)):
            frame.seen[place] = empty
        for o in range(counts[OBJECTS]):
            row = frame.objects[o]
            if row[FACES] == 0 or row[ROW] >= last or row[ROW_END] <= first:
                continue
            for face in range(row[FIRST_FACE], row[FIRST_FACE] + row[FACES]):
                draw_face(
                    frame.ints, frame.floats, frame.depths, frame.polygons, face, width, first, last,
                    thread.left, thread.right, frame.seen,
                )  # fmt: skip
        for r in range(first, last):
            if want & WANT_RGB:
                shade_row(
                    camera, width, r, shadow_rays, shadow_eye, shadow_size, mirror_width,
                    surfaces, lights, frame, thread, pictures.rgb,
                )  # fmt: skip
            write_ids(
                frame.seen, frame.ints, np.uint64(r * width), width, want,
                pictures.depth, pictures.semantic, pictures.instance,
            )  # fmt: skip


@kernel
def aim_shadow(camera, view, rays, eye):
    """Texel and height of the point at depth X along the ray (1, ry, rz) are ``eye + X (rays · (1, ry, rz))``. Texel
    centres are made whole numbers, as the filter wants them."""
    for k in range(3):
        total = view[4 * k + 3]
        for axis in range(3):
            total += view[4 * k + axis] * camera[EYE + axis]
        eye[k] = total - 0.5 if k < 2 else total
        for j in range(3):
            total = 0.0
            for axis in range(3):
                total += view[4 * k + axis] * camera[TURN + 3 * j + axis]
            rays[3 * k + j] = total


@kernel
def keep_boxes(frame):
    """Remember where this frame's shadows are; how many."""
    count = frame.counts[CASTERS]
    for c in range(count):
        for k in range(4):
            frame.old_boxes[c, k] = frame.caster_boxes[c, k]
    return count


@kernel
def draw_frame(
    camera, width, height, bands, want, with_shadow, old_count, shadow_rays, shadow_eye, shadow_size, mirror_width,
    static, models, surfaces, instances, lights, frame, thread, pictures,
):  # fmt: skip
    """All stages on one thread. Returns (polygons needed, shadows drawn)."""
    plan_frame(camera, width, height, with_shadow, static, models, instances, lights, frame)
    prepare_objects(camera, width, height, shadow_size, static, models, surfaces, instances, lights, frame, thread)
    drawn = old_count
    if with_shadow:
        cast_shadows(old_count, shadow_size, models, lights, frame)
        drawn = keep_boxes(frame)
    aim_shadow(camera, lights.shadow_view, shadow_rays, shadow_eye)
    draw_bands(
        camera, width, height, bands, want, shadow_rays, shadow_eye, shadow_size, mirror_width,
        surfaces, lights, frame, thread, pictures,
    )  # fmt: skip
    return frame.counts[POLYGONS], drawn
