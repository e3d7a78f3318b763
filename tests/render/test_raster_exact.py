"""Depth and instance pictures against an exact ray caster; clipping from anywhere; every pixel once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.mesh import Instance, Model, Scene3D
from sidestep.render.people.body import person_models
from sidestep.render.people.pose import PeopleState, pose_people
from sidestep.render.renderer import Images, Renderer
from tests.render.exact import cast, make_scene, world_triangles

CAMERA = CameraModel(64, 48, math.radians(90.0))
EDGE = 1e-4  # pixels
WALKER = person_models()[0]


def finest(model: Model) -> Model:
    return replace(model, levels=model.levels[:1], bones=model.bones[:1], weights=model.weights[:1])


def coarsest(model: Model) -> Model:
    return replace(model, levels=model.levels[-1:], bones=model.bones[-1:], weights=model.weights[-1:])


def people(places: list[tuple[float, float]], seed: int = 0) -> list[Instance]:
    rng = np.random.default_rng(seed)
    xy = np.array(places, float).reshape(-1, 2)
    heading, phase = rng.uniform(0, 6, len(xy)), rng.uniform(0, 1, len(xy))
    bones = pose_people(PeopleState(xy, heading, np.full(len(xy), 1.2), phase, np.zeros(len(xy), np.int64)))
    colours = rng.uniform(0, 1, (len(WALKER.slots), 3)).astype(np.float32)
    return [Instance(0, bones[k], colours, 100 + k) for k in range(len(xy))]


def compare(scene: Scene3D, instances: list[Instance], pose: CameraPose, camera: CameraModel = CAMERA) -> Images:
    images = Renderer(scene, camera, shadows=False).render(pose, instances, {"depth", "instance", "rgb"})
    depth, number, margin = cast(camera, pose, *world_triangles(scene, instances))
    sure = margin > EDGE
    assert sure.mean() > 0.9
    assert images.depth is not None
    assert images.instance is not None
    np.testing.assert_array_equal(images.instance[sure], number[sure])
    np.testing.assert_array_equal(np.isfinite(images.depth[sure]), np.isfinite(depth[sure]))
    seen = sure & np.isfinite(depth)
    error = np.abs(images.depth[seen] - depth[seen])
    assert (error <= 1e-3 * np.maximum(depth[seen] / 20.0, 1.0) ** 2).all(), error.max()
    return images


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> np.ndarray:
    (x0, y0, z0), (x1, y1, z1) = low, high
    c = np.array([[x, y, z] for x in (x0, x1) for y in (y0, y1) for z in (z0, z1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([[c[q[0]], c[q[i]], c[q[i + 1]]] for q in quads for i in (1, 2)])


GROUND = np.array([[[-50, -50, 0], [50, -50, 0], [50, 50, 0]], [[-50, -50, 0], [50, 50, 0], [-50, 50, 0]]], float)


def test_depth_is_within_a_millimetre_at_twenty_metres() -> None:
    triangles = np.concatenate(
        [GROUND, box((19.5, -9, 0), (22, -3, 5)), box((4, 1, 0), (20.5, 2, 3)), box((18, 3, 0), (19, 5, 2))]
    )
    images = compare(make_scene(triangles), [], CameraPose(0.1, 0.2, 1.3, 0.07, 0.1, 0.02))
    assert images.depth is not None
    assert ((images.depth > 15) & (images.depth < 25)).sum() > 100


def test_people_and_walls_have_exact_numbers() -> None:
    scene = make_scene(np.concatenate([GROUND, box((6, -4, 0), (7, 4, 3))]), models=(coarsest(WALKER),))
    images = compare(scene, people([(2.0, 0.5), (3.0, -0.8), (4.5, 0.2)]), CameraPose(0, 0, 1.4, 0.0, 0.15))
    assert images.instance is not None
    assert {100, 101, 102} <= set(np.unique(images.instance))


def test_a_finely_drawn_person_who_is_cut_by_the_near_plane() -> None:
    scene = make_scene(GROUND, models=(finest(WALKER),))
    camera = CameraModel(32, 24, math.radians(110.0))
    images = compare(scene, people([(0.22, 0.0)]), CameraPose(0, 0.05, 1.3, 0.0, 0.1), camera)
    assert images.instance is not None
    assert (images.instance == 100).mean() > 0.2
    assert images.depth is not None
    assert images.depth.min() >= camera.near_m * (1 - 1e-6)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5)), min_size=1, max_size=4),
    st.floats(-1.0, 2.2), st.floats(-3.2, 3.2), st.floats(-1.5, 1.5), st.floats(-0.5, 0.5),
)  # fmt: skip
def test_from_inside_a_crowd_or_under_the_floor(places, z, yaw, pitch, roll) -> None:
    wall = box((-2, 2, 0.01), (2, 2.3, 2.5))  # not in the plane of the ground: from below they would be a tie
    scene = make_scene(np.concatenate([GROUND, wall]), models=(coarsest(WALKER),))
    camera = CameraModel(24, 18, math.radians(100.0))
    compare(scene, people(places), CameraPose(0.0, 0.0, z, yaw, pitch, roll), camera)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.3, 2.4))
def test_triangles_anywhere(seed: int, fov: float) -> None:
    rng = np.random.default_rng(seed)
    triangles = rng.normal(0, 4, (12, 1, 3)) + rng.normal(0, rng.choice([0.3, 3.0, 30.0]), (12, 3, 3))
    compare(
        make_scene(triangles), [], CameraPose(*rng.normal(0, 1, 3), *rng.uniform(-3, 3, 3)), CameraModel(24, 18, fov)
    )


def plane_of_cells(cells: int, side: float, seed: int) -> np.ndarray:
    """A wobbly grid of triangles on the plane z = 0 that leaves no gap."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(-side, side, cells + 1), np.linspace(-side, side, cells + 1), indexing="ij")
    shift = rng.uniform(-0.2, 0.2, (2, cells + 1, cells + 1)) * 2 * side / cells
    shift[:, [0, -1]] = 0
    shift[:, :, [0, -1]] = 0
    points = np.stack([x + shift[0], y + shift[1], np.zeros_like(x)], axis=2).astype(np.float32)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    return np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([a, c, d], axis=2).reshape(-1, 3, 3)]
    )


@pytest.mark.parametrize(("cells", "pose"), [
    (3, CameraPose(0, 0, 1.0, 0.3, 1.2)), (40, CameraPose(0, 0, 3.0, 0.0, math.pi / 2)),
    (64, CameraPose(0.3, 0.1, 0.4, 1.0, 0.6, 0.3)), (200, CameraPose(0, 0, 6.0, 0.0, math.pi / 2)),
])  # fmt: skip
def test_a_tessellated_plane_is_drawn_once_everywhere(cells: int, pose: CameraPose) -> None:
    """No pixel is left out between triangles; and as many pixels are drawn as there are, so none is drawn twice."""
    triangles = plane_of_cells(cells, 20.0, cells)
    camera = CameraModel(80, 60, math.radians(80.0))
    renderer = Renderer(make_scene(triangles, two_sided=False), camera, shadows=False)
    images = renderer.render(pose, (), {"depth", "instance"})
    whole = Renderer(make_scene(GROUND * 0.4, two_sided=False), camera, shadows=False).render(pose, (), {"depth"})
    assert images.depth is not None
    assert whole.depth is not None
    np.testing.assert_array_equal(np.isfinite(images.depth), np.isfinite(whole.depth))
    covered = covered_pixels(renderer)
    assert covered == np.isfinite(images.depth).sum()


def covered_pixels(renderer: Renderer) -> int:
    """Pixels of all faces of the last frame together, by the spans that were drawn."""
    from sidestep.render.raster.layout import FACE_ROW, FACE_ROW_END, FACES, FIRST_FACE, OBJECTS
    from sidestep.render.raster.triangles import scan_face

    frame = renderer._main._frame
    width, height = renderer.camera.width, renderer.camera.height
    left, right = np.zeros(height, np.int64), np.zeros(height, np.int64)
    total = 0
    for row in frame.objects[: frame.counts[OBJECTS]]:
        for face in range(row[FIRST_FACE], row[FIRST_FACE] + row[FACES]):
            first, last = frame.ints[face, FACE_ROW], frame.ints[face, FACE_ROW_END]
            scan_face(frame.ints, frame.polygons, face, int(first), int(last), left, right)
            spans = np.minimum(right[first:last], width) - np.maximum(left[first:last], 0)
            total += int(np.maximum(spans, 0).sum())
    return total
