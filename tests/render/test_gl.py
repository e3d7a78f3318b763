"""The OpenGL back end against the renderer on the processor. Skipped where no context can be made."""

from __future__ import annotations

import math
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest
from scipy.ndimage import maximum_filter, minimum_filter

from benchmarks.render import BusyStreet
from sidestep.errors import BadInput, SidestepError, UnknownName
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.gl.context import open_context
from sidestep.render.gl.renderer import GlRenderer
from sidestep.render.light import Lamp, make_light
from sidestep.render.mesh import Instance, Material, Model, Scene3D
from sidestep.render.renderer import Images, Renderer, make_renderer
from tests.render.exact import make_scene
from tests.render.test_raster_exact import GROUND, WALKER, box, people

try:
    open_context()
except SidestepError as error:
    pytest.skip(str(error), allow_module_level=True)

CAMERA = CameraModel(128, 96, math.radians(80.0))
POSE = CameraPose(2.0, 5.5, 1.5, -0.12, 0.05)


@pytest.fixture(scope="module")
def crowd() -> BusyStreet:
    return BusyStreet(30)


@pytest.fixture(scope="module")
def street(crowd: BusyStreet) -> Scene3D:
    return crowd.scene


def inner(picture: np.ndarray) -> np.ndarray:
    """Pixels whose eight neighbours have the same value."""
    return np.asarray(maximum_filter(picture, 3) == minimum_filter(picture, 3))


def smooth(depth: np.ndarray) -> np.ndarray:
    """Pixels among whose neighbours the inverse depth is as on one plane, or nearly."""
    inverse = np.pad(1.0 / depth.astype(np.float64), 1, mode="edge")
    middle = inverse[1:-1, 1:-1]
    across = np.abs(inverse[1:-1, :-2] + inverse[1:-1, 2:] - 2 * middle)
    down = np.abs(inverse[:-2, 1:-1] + inverse[2:, 1:-1] - 2 * middle)
    return np.asarray(np.maximum(across, down) < 1e-3 * middle)


def compare(ours: Images, theirs: Images) -> None:
    """Numbers and classes equal away from edges; depth within 1 cm at 20 m and nearer, farther off by its square."""
    for a, b in ((ours.instance, theirs.instance), (ours.semantic, theirs.semantic)):
        assert a is not None
        assert b is not None
        np.testing.assert_array_equal(a[inner(a)], b[inner(a)])
        assert (a == b).mean() > 0.995
    a, b = ours.depth, theirs.depth
    assert a is not None
    assert b is not None
    sure = inner(ours.instance) & inner(ours.semantic)
    np.testing.assert_array_equal(np.isinf(a[sure]), np.isinf(b[sure]))
    seen = sure & np.isfinite(a) & np.isfinite(b) & smooth(a)
    assert seen.any()
    error = np.abs(a[seen] - b[seen])
    assert (error <= 0.01 * np.maximum(a[seen] / 20.0, 1.0) ** 2).all(), error.max()


@pytest.mark.parametrize(
    ("camera", "pose"),
    [
        (CAMERA, POSE),
        (CAMERA, replace(POSE, pitch=0.6, roll=0.4)),
        (CAMERA, CameraPose(20.0, 0.0, 25.0, 1.0, math.pi / 2)),
        (CameraModel(131, 77, math.radians(140.0)), replace(POSE, yaw=2.5)),
        (CameraModel(96, 96, fx=70.0, fy=110.0, cx=30.5, cy=60.0, near_m=0.3, far_m=30.0), POSE),
    ],
    ids=["plain", "turned", "above", "wide", "lens"],
)
def test_depth_and_numbers_are_those_of_the_processor(
    street: Scene3D, crowd: BusyStreet, camera: CameraModel, pose: CameraPose
) -> None:
    renderer = GlRenderer(street, camera)
    compare(Renderer(street, camera).render(pose, crowd.at(0.3)), renderer.render(pose, crowd.at(0.3)))


def test_people_cut_by_the_near_plane() -> None:
    scene = replace(make_scene(GROUND), models=(WALKER,))
    near = people([(0.25, 0.0), (0.8, 0.3), (2.0, -0.4)])
    pose = CameraPose(0.0, 0.0, 1.2, 0.0, 0.2)
    compare(Renderer(scene, CAMERA).render(pose, near), GlRenderer(scene, CAMERA).render(pose, near))


def test_vertices_between_two_bones(street: Scene3D) -> None:
    rng, walker = np.random.default_rng(4), WALKER
    hangs = tuple(rng.integers(0, walker.bone_count, (len(m.vertices), 2)).astype(np.int32) for m in walker.levels)
    share = tuple(rng.uniform(0, 1, (len(m.vertices), 1)).astype(np.float32) for m in walker.levels)
    weights = tuple(np.concatenate([one, 1 - one], axis=1) for one in share)
    blended = Model(walker.levels, hangs, weights, walker.bone_count, walker.slots, 1.76, 0.8)
    scene = replace(street, models=(walker, blended))
    colours = np.ones((len(walker.slots), 3), np.float32)
    bones = BusyStreet(4).at(0.0).bones
    bones[:, :, :, 3] += [6.0, 5.5, 0.0] - bones[:, :1, :, 3] + rng.uniform(-1, 1, (4, 1, 3))
    mixed = [Instance(k % 2, bones[k], colours, 7 + k) for k in range(4)]
    compare(Renderer(scene, CAMERA).render(POSE, mixed), GlRenderer(scene, CAMERA).render(POSE, mixed))


@pytest.mark.parametrize(
    ("weather", "time", "most"),
    [("clear", "noon", 2.0), ("cloudy", "sunset", 2.0), ("clear", "night", 3.0), ("rain", "noon", 8.0)],
)
def test_colours_are_near_those_of_the_processor(
    street: Scene3D, crowd: BusyStreet, weather: str, time: str, most: float
) -> None:
    """Wet ground mirrors in other planes and less softly, so its bound is wider."""
    light, lamps = make_light(weather, time), [Lamp(1.0, 5.0, 1.0)]
    renderer = GlRenderer(street, CAMERA, light=light)
    ours = Renderer(street, CAMERA, light=light).render(POSE, crowd.at(0.0), "rgb", lamps=lamps, time_s=2.0).rgb
    theirs = renderer.render(POSE, crowd.at(0.0), "rgb", lamps=lamps, time_s=2.0).rgb
    assert ours is not None
    assert theirs is not None
    difference = ours.astype(float) - theirs
    assert np.abs(difference).mean() < most
    assert np.abs(difference.mean(axis=(0, 1))).max() < most


def test_shadows_fall_where_they_should() -> None:
    scene = make_scene(np.concatenate([GROUND, box((3.0, -0.5, 0.0), (4.0, 0.5, 2.0))]))
    camera, pose = CameraModel(96, 96), CameraPose(3.5, 0.0, 9.0, 0.0, math.pi / 2)
    light = make_light(sun_azimuth_rad=0.0, sun_elevation_rad=math.radians(45.0))
    ours = Renderer(scene, camera, light=light).render(pose, (), "rgb").rgb
    theirs = GlRenderer(scene, camera, light=light).render(pose, (), "rgb").rgb
    open_ = GlRenderer(scene, camera, light=light, shadows=False).render(pose, (), "rgb").rgb
    assert theirs is not None
    assert ours is not None
    assert open_ is not None
    dark = open_.astype(int).sum(axis=2) - theirs.astype(int).sum(axis=2) > 60
    assert dark.sum() > 50
    assert (np.abs(ours.astype(int) - theirs).max(axis=2) < 12).mean() > 0.98


def test_one_renderer_for_many_pictures(street: Scene3D, crowd: BusyStreet) -> None:
    used = GlRenderer(street, CAMERA)
    for k in range(3):
        used.render(CameraPose(5.0 + 9.0 * k, 0.0, 1.2, 0.4 * k), crowd.at(float(k)), {"depth"})
    used.set_light(make_light("wet"))
    used.render(POSE, ())
    used.set_light(make_light())
    again, fresh = used.render(POSE, crowd.at(1.0)), GlRenderer(street, CAMERA).render(POSE, crowd.at(1.0))
    for name in ("rgb", "depth", "semantic", "instance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fresh, name), err_msg=name)
    only = used.render(POSE, crowd.at(1.0), {"instance"})
    assert only.rgb is None
    assert only.depth is None
    np.testing.assert_array_equal(only.instance, fresh.instance)


def test_four_samples_a_pixel(street: Scene3D, crowd: BusyStreet) -> None:
    fine = GlRenderer(street, CAMERA, supersample=2, reuse=True)
    images = fine.render(POSE, crowd.at(0.0))
    compare(Renderer(street, CAMERA, supersample=2).render(POSE, crowd.at(0.0)), images)
    assert fine.render(POSE, crowd.at(0.5)).rgb is images.rgb


def test_models_without_a_scene_and_faces_seen_from_behind() -> None:
    empty = replace(make_scene(np.zeros((0, 3, 3))), models=(WALKER,))
    compare(
        Renderer(empty, CAMERA).render(CameraPose(0, 0, 1), people([(3.0, 0.0)])),
        GlRenderer(empty, CAMERA).render(CameraPose(0, 0, 1), people([(3.0, 0.0)])),
    )
    for two_sided in (False, True):
        wall = make_scene(box((2.0, -1.0, 0.0), (3.0, 1.0, 2.0))[::-1, ::-1], two_sided=two_sided)
        pose = CameraPose(0.0, 0.0, 1.0)
        compare(Renderer(wall, CAMERA).render(pose), GlRenderer(wall, CAMERA).render(pose))


def test_what_is_refused(street: Scene3D, crowd: BusyStreet) -> None:
    renderer = make_renderer("gl", street, CAMERA)
    assert isinstance(renderer, GlRenderer)
    with pytest.raises(UnknownName, match="picture"):
        renderer.render(POSE, (), {"normals"})
    with pytest.raises(BadInput, match="model that does not exist"):
        GlRenderer(make_scene(GROUND), CAMERA).render(POSE, crowd.at(0.0))
    with pytest.raises(BadInput, match="power of two"):
        GlRenderer(replace(make_scene(GROUND), materials=(Material("odd", np.zeros((3, 3, 3), np.float32)),)), CAMERA)
    said: list[str] = []

    def elsewhere() -> None:
        try:
            renderer.render(POSE)
        except SidestepError as error:
            said.append(str(error))

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "thread" in said[0]
