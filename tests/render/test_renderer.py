"""The renderer as a whole: the same pictures on any number of threads, light that behaves, input that is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.render import BusyStreet
from sidestep.errors import BadInput, UnknownName
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.figure import Motion
from sidestep.render.light import TIMES, WEATHERS, Lamp, Light, figure_lamps, find_lamps, make_light, make_noise
from sidestep.render.mesh import Instance, Material, Scene3D, Semantic
from sidestep.render.packing import PackedInstances, mip_levels, pack_texels
from sidestep.render.renderer import BatchRenderer, Images, Renderer
from sidestep.render.scene import build_scene
from sidestep.render.vehicles import vehicle_figure
from sidestep.scenes.plans import load_plan
from tests.render.exact import make_scene
from tests.render.test_raster_exact import GROUND, box

CAMERA = CameraModel(96, 72, math.radians(80.0))
POSE = CameraPose(2.0, 5.5, 1.5, -0.12, 0.05)


@pytest.fixture(scope="module")
def crowd() -> BusyStreet:
    return BusyStreet(30)


@pytest.fixture(scope="module")
def street(crowd: BusyStreet) -> Scene3D:
    return crowd.scene


def same(a: Images, b: Images) -> None:
    for name in ("rgb", "depth", "semantic", "instance"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("weather", ["clear", "rain"])
@pytest.mark.parametrize("supersample", [1, 2])
def test_threads_change_nothing(street: Scene3D, crowd: BusyStreet, weather: str, supersample: int) -> None:
    options = {"light": make_light(weather), "supersample": supersample}
    one = Renderer(street, CAMERA, threads=1, **options)
    three = Renderer(street, CAMERA, threads=3, **options)
    for time in (0.0, 0.7):
        same(one.render(POSE, crowd.at(time), time_s=time), three.render(POSE, crowd.at(time), time_s=time))


def test_a_picture_does_not_depend_on_the_pictures_before_it(street: Scene3D, crowd: BusyStreet) -> None:
    used = Renderer(street, CAMERA)
    for k in range(4):
        used.render(CameraPose(5.0 + 9.0 * k, 0.0, 1.2, 0.4 * k), crowd.at(float(k)))
    used.set_light(make_light("cloudy"))
    used.render(POSE, crowd.at(9.0))
    used.set_light(make_light())
    same(used.render(POSE, crowd.at(1.0)), Renderer(street, CAMERA).render(POSE, crowd.at(1.0)))


def test_many_environments_at_once(street: Scene3D, crowd: BusyStreet) -> None:
    renderers = [Renderer(street, CAMERA) for _ in range(3)]
    poses = [CameraPose(3.0 * k, 1.0, 1.4) for k in range(3)]
    people = [crowd.at(0.5 * k) for k in range(3)]
    for k, images in enumerate(BatchRenderer(renderers, threads=2).render(poses, people)):
        same(images, Renderer(street, CAMERA).render(poses[k], people[k]))


def test_packed_and_single_instances_are_the_same(street: Scene3D, crowd: BusyStreet) -> None:
    packed = crowd.at(0.0)
    rows = zip(packed.model.tolist(), packed.bones, packed.colours, packed.ids.tolist(), strict=True)
    single = [Instance(*row) for row in rows]
    renderer = Renderer(street, CAMERA)
    same(renderer.render(POSE, packed), renderer.render(POSE, single))


def test_only_what_is_asked_for(street: Scene3D) -> None:
    images = Renderer(street, CAMERA).render(POSE, (), {"semantic"})
    assert images.rgb is None
    assert images.depth is None
    assert images.semantic is not None
    assert {Semantic.SKY, Semantic.SIDEWALK, Semantic.BUILDING, Semantic.ROAD} <= set(np.unique(images.semantic))


def test_finer_samples_keep_depth_and_numbers(street: Scene3D) -> None:
    coarse = Renderer(street, CAMERA).render(POSE)  # no people: they may be of another level of detail
    fine = Renderer(street, CAMERA, supersample=2).render(POSE)
    assert coarse.depth is not None
    assert fine.depth is not None
    assert coarse.rgb is not None
    assert fine.rgb is not None
    assert np.isclose(coarse.depth, fine.depth, rtol=1e-5).mean() > 0.999
    assert (coarse.instance == fine.instance).mean() > 0.999
    assert np.abs(coarse.rgb.astype(int) - fine.rgb).mean() < 12


def test_a_box_casts_a_shadow_away_from_the_sun() -> None:
    scene = make_scene(np.concatenate([GROUND, box((-0.5, -0.5, 0), (0.5, 0.5, 2.0))]))
    light = make_light(sun_azimuth_rad=0.0, sun_elevation_rad=math.radians(45))
    scene = replace(
        scene, mesh=replace(scene.mesh, semantic=np.r_[np.full(2, Semantic.ROAD), np.full(12, Semantic.OTHER)])
    )
    camera = CameraModel(80, 80, math.radians(60))
    pose = CameraPose(0, 0, 12.0, 0.0, math.pi / 2)  # looks down: up on the picture is +x
    lit = Renderer(scene, camera, light=light, shadows=False).render(pose).rgb
    dark = Renderer(scene, camera, light=light).render(pose).rgb
    assert lit is not None
    assert dark is not None
    change = lit.astype(int).sum(axis=2) - dark.astype(int).sum(axis=2)
    rows, columns = np.nonzero(change > 60)
    assert len(rows) > 20
    per_metre = camera.fx / 12.0
    x, y = (40 - rows - 0.5) / per_metre, (40 - columns - 0.5) / per_metre
    assert x.max() < 0.0
    assert -2.9 < x.min() < -2.2  # 0.5 + 2.0 m, and a texel
    assert np.abs(y).max() < 0.7
    assert abs(change[:30]).max() == 0


def test_weathers_and_times(street: Scene3D, crowd: BusyStreet) -> None:
    renderer = Renderer(street, CameraModel(64, 48))
    bright = {}
    for weather in WEATHERS:
        for time in TIMES:
            renderer.set_light(make_light(weather, time))
            rgb = renderer.render(POSE, crowd.at(0.0), {"rgb"}).rgb
            assert rgb is not None
            bright[weather, time] = rgb.mean()
            assert rgb.std() > 8
    assert all(bright[weather, "night"] < 0.7 * bright[weather, "noon"] for weather in WEATHERS)
    assert all(90 < bright[weather, "noon"] < 200 for weather in WEATHERS), bright


def test_rain_moves_with_time_and_only_with_time(street: Scene3D) -> None:
    renderer = Renderer(street, CAMERA, light=make_light("rain"))
    first, again, later = (renderer.render(POSE, (), {"rgb"}, time_s=t).rgb for t in (1.0, 1.0, 1.05))
    np.testing.assert_array_equal(first, again)
    assert (first != later).any()


def test_head_lamps_light_what_they_shine_on(street: Scene3D) -> None:
    renderer = Renderer(street, CAMERA, light=make_light("clear", "night"))
    pose = CameraPose(-10.0, 0.0, 1.4)
    off = renderer.render(pose, (), {"rgb"}).rgb
    on = renderer.render(pose, (), {"rgb"}, lamps=[Lamp(-10.0, 0.0, 0.8, 0.0, 0.05)]).rgb
    assert on is not None
    assert off is not None
    assert on[50:].mean() > off[50:].mean() + 5
    assert 4 < len(find_lamps(street)) < 40  # over doors
    square = build_scene(load_plan("plaza"))
    glows = np.array([material.glow > 0.0 for material in square.materials])[square.mesh.material]
    posts = np.unique(square.static_id[glows & (square.mesh.semantic == Semantic.POLE)])
    assert (find_lamps(square)[:, 2] > 3.0).sum() == len(posts) == 6


@pytest.mark.parametrize(
    "bad",
    [
        {"width": 0, "height": 10}, {"width": 5000, "height": 5000}, {"width": 20_000, "height": 1},
        {"width": 10, "height": 10, "fov_h_rad": 3.0}, {"width": 10, "height": 10, "fov_h_rad": 0.0},
        {"width": 10, "height": 10, "fov_h_rad": 90.0}, {"width": 10, "height": 10, "near_m": 0.0},
        {"width": 10, "height": 10, "far_m": math.inf}, {"width": 10, "height": 10, "fx": -4.0},
    ],
)  # fmt: skip
def test_cameras_that_cannot_be(bad: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="camera"):
        CameraModel(**bad)  # type: ignore[arg-type]


def test_bad_input_is_refused(street: Scene3D, crowd: BusyStreet) -> None:
    renderer = Renderer(street, CAMERA)
    with pytest.raises(UnknownName, match="did you mean 'depth'"):
        renderer.render(POSE, (), {"dept"})
    with pytest.raises(BadInput, match="at least one"):
        renderer.render(POSE, (), set())
    people = crowd.at(0.0)
    with pytest.raises(BadInput, match="does not exist"):
        renderer.render(POSE, PackedInstances(people.model + 99, people.bones, people.colours, people.ids))
    with pytest.raises(BadInput, match="finite"):
        renderer.render(POSE, PackedInstances(people.model, people.bones * np.nan, people.colours, people.ids))
    with pytest.raises(BadInput, match="fewer bones"):
        renderer.render(POSE, PackedInstances(people.model, people.bones[:, :3], people.colours, people.ids))
    with pytest.raises(BadInput, match="finite"):
        CameraPose(math.nan, 0, 0)
    with pytest.raises(UnknownName, match="'cloudy'"):
        make_light("cloudi")
    with pytest.raises(UnknownName, match="'wetness'"):
        make_light(wetnes=1.0)
    with pytest.raises(BadInput, match="between 0 and 1"):
        Light(rain=2.0)


def test_scenes_that_cannot_be_drawn() -> None:
    empty = make_scene(np.zeros((0, 3, 3)))
    with pytest.raises(BadInput, match="no faces"):
        Renderer(empty, CAMERA)
    with pytest.raises(BadInput, match="scale"):
        Renderer(make_scene(GROUND * 1000.0), CAMERA)
    with pytest.raises(BadInput, match="power of two"):
        Renderer(replace(make_scene(GROUND), materials=(Material("odd", np.zeros((3, 3, 3), np.float32)),)), CAMERA)


def test_mip_levels_keep_the_mean() -> None:
    texture = np.random.default_rng(0).random((16, 16, 3))
    levels = mip_levels(texture)
    assert [len(level) for level in levels] == [16, 8, 4, 2, 1]
    np.testing.assert_allclose(levels[-1][0, 0], texture.mean(axis=(0, 1)), rtol=1e-5)
    assert pack_texels(np.array([1.0, 0.0, 0.25])) == 255 | 0 << 8 | 128 << 16


def test_noise_covers_what_a_threshold_says() -> None:
    noise = make_noise()
    assert (noise > 0.7).mean() == pytest.approx(0.3, abs=0.01)


def test_signals_light_nothing(street: Scene3D) -> None:
    mesh = street.mesh
    glowing = [k for k, material in enumerate(street.materials) if material.name == "lamp"]
    signs = np.where(np.isin(mesh.material, glowing), np.uint8(Semantic.SIGN), mesh.semantic)
    assert len(find_lamps(replace(street, mesh=replace(mesh, semantic=signs)))) == 0


def test_head_lamps_follow_their_machine() -> None:
    car = vehicle_figure("car")
    lamps = figure_lamps(car, Motion(3.0, 4.0, math.pi / 2), -0.12)
    assert len(lamps) == 2
    for lamp in lamps:
        assert lamp.y == pytest.approx(4.0 + 2.25)
        assert abs(lamp.x - 3.0) < 0.9
        assert lamp.z == pytest.approx(0.6 - 0.12)
        assert lamp.yaw == math.pi / 2
        assert lamp.pitch > 0.0


def test_lenses_of_machines_glow_at_night() -> None:
    car = vehicle_figure("car")
    scene = make_scene(GROUND, models=(car.model,))
    instance = Instance(0, car.bones(Motion(8.0, 0.0, math.pi)), car.colours, 9)
    pose, camera = CameraPose(0.0, 0.0, 1.0), CameraModel(160, 120)
    brightest = []
    for glow in (0.0, 2.4):
        images = Renderer(scene, camera, light=make_light("clear", "night", glow=glow)).render(pose, [instance])
        assert images.rgb is not None
        brightest.append(int(images.rgb[images.instance == 9].max()))
    assert brightest[1] > 230
    assert brightest[0] < brightest[1] - 50


def post_on_ground(height: float) -> Scene3D:
    """Grey ground at a height, and a post on it."""
    post = box((-0.3, -0.3, height), (0.3, 0.3, height + 2.0))
    scene = make_scene(np.concatenate([GROUND + np.array([0.0, 0.0, height]), post]))
    semantic = np.full(len(scene.mesh.semantic), Semantic.POLE, np.uint8)
    semantic[:2] = Semantic.ROAD
    return replace(scene, mesh=replace(scene.mesh, semantic=semantic))


@pytest.mark.parametrize("height", [0.0, -0.12])
def test_wet_ground_mirrors_in_its_own_plane(height: float) -> None:
    """The picture of a post in the water hangs from its foot, whatever the ground's height."""
    scene = post_on_ground(height)
    pose, camera = CameraPose(-6.0, 0.0, height + 1.5, 0.0, 0.2), CameraModel(160, 160)
    images = Renderer(scene, camera, light=make_light("wet", "noon")).render(pose)
    assert images.rgb is not None
    assert images.semantic is not None
    foot = int(np.flatnonzero(images.semantic[:, 80] == Semantic.POLE).max())
    below = images.rgb[foot + 2 : foot + 12, 78:82].mean(axis=(1, 2))
    aside = images.rgb[foot + 2 : foot + 12, 10:40].mean(axis=(1, 2))
    assert (aside - below).min() > 3.0


def test_ground_is_darker_beside_a_wall_in_the_shade() -> None:
    scene = post_on_ground(0.0)
    light = make_light("clear", "noon", sun_rgb=(0.0, 0.0, 0.0), fog_per_m=0.0)
    images = Renderer(scene, CameraModel(160, 160), light=light).render(CameraPose(-6.0, 0.0, 1.5, 0.0, 0.2))
    assert images.rgb is not None
    assert images.semantic is not None
    foot = int(np.flatnonzero(images.semantic[:, 80] == Semantic.POLE).max())
    near, off = images.rgb[foot + 1, 78:82].mean(), images.rgb[foot + 1, 5:30].mean()
    assert near < 0.8 * off
