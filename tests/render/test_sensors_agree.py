"""Cameras show a solid if and only if the lidar, the collision kernel and the referee have it: along the horizon of a
level camera in the plane of the lidar, depth is the range of the lidar, in scenes of every suite and in random ones."""

from __future__ import annotations

from functools import cache
from math import cos, hypot, sin, tan
from typing import Any

import numpy as np
import pytest
import shapely

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.lidar3d import DepthScanner
from sidestep.render.mesh import Semantic
from sidestep.render.renderer import Renderer
from sidestep.render.scene import build_scene
from sidestep.render.scene.build import MAKERS, NAMES
from sidestep.render.scene.layout import INDOOR_WORDS, OUTDOOR_WORDS, is_indoor
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.plans import load_plan, plan_names
from sidestep.simulation import Worlds, build_world
from sidestep.simulation.observe import Observer
from sidestep.suites.files import load_suite
from sidestep.types import Scenario
from sidestep.types.scene import Region, SceneSpec
from sidestep.types.sensors import Lidar3DSettings
from tests.render.agreement import Place, ghosts, solid_area
from tests.render.meshes import corners

SUITES = (
    "core", "socnav", "catalogue", "protocol", "intersection", "street", "sidewalk-unit", "sidewalk-reactive",
    "sidewalk-long",
)  # fmt: skip
QUICK = 2  # scenes of each suite, beside the floor plans


@cache
def scenes_of(suite: str) -> tuple[str, ...]:
    """What the scenarios of a suite name as their scene, without floor plans."""
    named = [item.scene for item in load_suite(suite).scenarios()]
    assert all(isinstance(scene, str) for scene in named)
    return tuple(dict.fromkeys(str(scene) for scene in named if scene not in plan_names()))


def test_no_suite_is_left_out() -> None:
    assert set(SUITES) == set(registry.SUITES)


def check(spec: SceneSpec, seed: int, poses: int = 4) -> None:
    place, rng = Place.of(spec), np.random.default_rng(seed)
    wrong = [each for pose in place.free_poses(rng, poses) for each in place.disagreements(*pose.tolist())]
    assert not wrong, f"{spec.name}: {len(wrong)} rays differ\n" + "\n".join(wrong[:5])
    standing = ghosts(place.drawn, spec)
    assert not standing, (
        f"{spec.name}: {len(standing)} triangles stand where nothing is: {standing[0].round(2).tolist()}"
    )


@pytest.mark.parametrize("name", plan_names())
def test_floor_plans(name: str) -> None:
    check(load_plan(name), 1)


@pytest.mark.parametrize("suite", SUITES)
def test_some_scenes_of_every_suite(suite: str) -> None:
    names = scenes_of(suite)
    for name in names[:: max(1, len(names) // QUICK)][:QUICK]:
        check(resolve_scene(name), 2)


def test_the_mesh_of_a_bundled_place() -> None:
    """Lantern Court is shown by a mesh in a file, as a scan would be."""
    check(resolve_scene("place:lantern-court"), 3)


@pytest.mark.full
@pytest.mark.parametrize("suite", SUITES)
def test_all_scenes_of_every_suite(suite: str) -> None:
    for name in scenes_of(suite):
        check(resolve_scene(name), 3, 12)


WORDS = [word for _, words in NAMES for word in words.split()]
SCENE_NAMES = [*sorted(INDOOR_WORDS), *sorted(OUTDOOR_WORDS), "lab", "x"]
SIZES = ((0.2, 0.2), (0.5, 0.5), (0.4, 1.8), (1.8, 4.5), (0.15, 4.0), (2.5, 5.0), (0.8, 0.5))


def random_scene(rng: np.random.Generator) -> SceneSpec:
    """A room or an open place with things of any name, height, size and turn."""
    wide, deep = rng.uniform(6.0, 24.0, 2)
    regions = [Region(kind="walkable", polygon=((0, 0), (wide, 0), (wide, deep), (0, deep)), name="floor")]
    if rng.random() < 0.3:
        regions.append(Region(kind="sidewalk", polygon=((wide, 0), (wide + 3, 0), (wide + 3, deep), (wide, deep))))
    for _ in range(int(rng.integers(1, 9))):
        kind = str(
            rng.choice(["obstacle", "furniture", "furniture", "building"] if rng.random() < 0.3 else ["obstacle"])
        )
        length, width = SIZES[int(rng.integers(len(SIZES)))]
        shape: Any = shapely.box(-length / 2, -width / 2, length / 2, width / 2)
        if rng.random() < 0.3:
            shape = shapely.Point(0, 0).buffer(max(length, width) / 4, quad_segs=int(rng.integers(2, 5)))
        shape = shapely.affinity.rotate(shape, float(rng.uniform(0, 180)), origin=(0, 0))
        shape = shapely.affinity.translate(shape, float(rng.uniform(0, wide)), float(rng.uniform(0, deep)))
        name = str(rng.choice(WORDS)) if rng.random() < 0.8 else ""
        height = [None, 0.0, 0.05, 0.5, 1.0, 2.3, 4.0][int(rng.integers(7))]
        polygon = tuple((round(x, 3), round(y, 3)) for x, y in shape.exterior.coords[:-1])
        regions.append(Region(kind=kind, polygon=polygon, name=name, height=height))  # type: ignore[arg-type]
    return SceneSpec(name=str(rng.choice(SCENE_NAMES)), enclosed=bool(rng.random() < 0.4), regions=tuple(regions))


@pytest.mark.parametrize("seed", [*range(24), *(pytest.param(k, marks=pytest.mark.full) for k in range(24, 400))])
def test_random_scenes(seed: int) -> None:
    check(random_scene(np.random.default_rng(seed)), seed, 3)


def test_random_scenes_have_every_kind_of_thing() -> None:
    named = {region.name for k in range(24) for region in random_scene(np.random.default_rng(k)).regions}
    kinds = {kind for kind, words in NAMES if named & set(words.split())}
    assert len(kinds) > 0.7 * len(MAKERS)


@pytest.mark.parametrize("slant", [0.0, 0.005, 0.01, 0.015, 0.019, 0.03])
def test_lamps_of_a_car_that_the_border_cuts_off_a_little_aslant(slant: float) -> None:
    ground = Region(kind="road", polygon=((-6, -6), (6, -6), (6, 6), (-6, 6)))
    car = Region(
        kind="obstacle", polygon=((0, 0), (4.2, 0), (4.2 - slant, 1.8), (0, 1.8)), name="parked car", height=1.45
    )
    check(SceneSpec(name="x", regions=(ground, car)), 5)


SQUARE = Region(kind="walkable", polygon=((-2, -2), (2, -2), (2, 2), (-2, 2)))


@pytest.mark.parametrize("name", ["lab", "office_map", "corridor", "street", "x"])
def test_no_name_makes_walls(name: str) -> None:
    """A scene that is not enclosed has no walls, whatever it is called; an enclosed one has them."""
    free = SceneSpec(name=name, regions=(SQUARE,))
    assert not is_indoor(free)
    check(free, 4)
    level = CameraModel(33, 33)
    seen = Renderer(build_scene(free), level, shadows=False).render(CameraPose(0, 0, 1.0, 0.3), (), {"depth"})
    assert seen.depth is not None
    assert np.isinf(seen.depth[:17]).all()
    walled = free.model_copy(update={"enclosed": True})
    check(walled, 4)
    seen = Renderer(build_scene(walled), level, shadows=False).render(CameraPose(0, 0, 0.25), (), {"depth"})
    assert seen.depth is not None
    assert seen.depth[16, 16] == pytest.approx(2.0, abs=0.021)


def test_only_an_enclosed_scene_can_be_drawn_indoors() -> None:
    with pytest.raises(BadInput, match="enclosed: true"):
        build_scene(SceneSpec(name="lab", regions=(SQUARE,)), indoor=True)


def test_scenery_is_sky_to_all_but_colours() -> None:
    """Far houses and trees are in the colours, and neither in depth, classes and object numbers nor in the 3D lidar."""
    scene = build_scene(load_plan("plaza"))
    far = scene.mesh.semantic == Semantic.SKY
    assert far.sum() > 500
    assert (scene.static_id[far] == 0).all()
    places = corners(scene)[far][:, :, :2]
    assert np.abs(places).max(axis=2).min() > 15.0 + 40.0  # the square is 30 m wide
    images = Renderer(scene, CameraModel(160, 40), shadows=False).render(CameraPose(14.0, 0.0, 1.0))
    assert images.rgb is not None
    assert images.depth is not None
    assert images.semantic is not None
    assert images.instance is not None
    sky = images.semantic == Semantic.SKY
    assert np.array_equal(sky, np.isinf(images.depth))
    assert (images.instance[sky] == 0).all()
    assert len(np.unique(images.rgb[:20].reshape(-1, 3), axis=0)) > 500  # houses, not one gradient
    settings = Lidar3DSettings(elevations=(0.05, 0.1), rays=200, max_range=200.0)
    scanner = DepthScanner(settings)
    ranges, _ = scanner.scan(scanner.renderer(scene), (), (20.0, 0.0, 1.0), 0.0)
    assert (ranges[:, 80:120] == 200.0).all()  # away from the square


BODY_M = 0.4  # how far arms, legs and strides reach beyond the disc of a person
VEHICLE_M = 0.15  # of the outline of a vehicle: mirrors, rounded corners
MOVING = ("core", "socnav", "protocol", "intersection", "street")
TALL = {"width": 181, "height": 121, "field_of_view": 1.6, "mount": [0.0, 0.0, 1.2], "shadows": False}


def moving_scenario(suite: str) -> Scenario:
    found = load_suite(suite).scenarios()
    scenario = found[len(found) // 2]
    return scenario.model_copy(
        update={"sensors": type(scenario.sensors).parse({**scenario.sensors.model_dump(), "camera": TALL}, "sensors")}
    )


@pytest.mark.parametrize("suite", MOVING)
def test_people_and_vehicles_are_where_the_lidar_has_them(suite: str) -> None:
    scenario = moving_scenario(suite)
    try:
        world = build_world(scenario, 1)
    except BadInput as error:
        if "sidestep data get" not in str(error):
            raise
        pytest.skip(f"{error}")
    worlds = Worlds([world])
    observer = Observer(world, frozenset({"depth", "semantic", "lidar", "pedestrians"}))
    seen = 0
    for _ in range(60):
        for _ in range(4):
            worlds.step()
        observation = observer.observe(worlds, 0)
        seen += compare_bodies(worlds, observation, world.people)
        if seen > 150:
            break
    assert seen > 0


WIDTH, VIEW = 181, 1.6
ASIDE = -(np.arange(WIDTH) + 0.5 - WIDTH / 2) * 2 * tan(VIEW / 2) / WIDTH
"""Left of the axis per metre ahead, of each column."""


def plan_points(observation: Any, kind: Semantic, far: float) -> np.ndarray:
    """(N, 2): where the pixels of a class are in the plane of the ground, m."""
    robot = observation.robot
    row, column = np.nonzero((observation.semantic == kind) & (observation.depth < far))
    ahead, left = observation.depth[row, column], observation.depth[row, column] * ASIDE[column]
    c, s = cos(robot.heading), sin(robot.heading)
    return np.stack([robot.x + c * ahead - s * left, robot.y + s * ahead + c * left], axis=1)


def compare_bodies(worlds: Worlds, observation: Any, people: int) -> int:
    """Every pixel of a person is near the disc of one; the number of those pixels."""
    depth, kind, robot = observation.depth, observation.semantic, observation.robot
    c, s = cos(robot.heading), sin(robot.heading)
    points = plan_points(observation, Semantic.PERSON, 15.0)
    agents, flags = worlds.agents[0], worlds.flags[0]
    present = np.flatnonzero(flags[layout.ACTIVE, :people] == 1)
    centres = agents[[layout.PX, layout.PY]][:, present].T
    radius = agents[layout.RADIUS, present]
    if len(points):
        away = np.linalg.norm(points[:, None] - centres[None], axis=2) - radius
        assert away.min(axis=1).max() < BODY_M
    scan = observation.lidar
    for centre, r in zip(centres, radius, strict=True):
        dx, dy = centre[0] - robot.x, centre[1] - robot.y
        distance = hypot(dx, dy)
        bearing = np.arctan2(-s * dx + c * dy, c * dx + s * dy)
        ray = round((bearing - scan.angle_min) / scan.angle_increment)
        if not 1.0 < distance < 8.0 or abs(bearing) > 0.7 or not 0 <= ray < len(scan.ranges):
            continue
        if abs(scan.ranges[ray] - (distance - r)) < 0.02:  # the lidar hits this person in the middle
            near = np.abs(ASIDE - np.tan(bearing)) * distance < 0.15
            found = depth[:, near][kind[:, near] == Semantic.PERSON]
            assert len(found), f"the lidar has a person at {centre}, the camera nobody"
            assert abs(found.min() / cos(bearing) - distance) < r + BODY_M + 0.15
    return len(points)


def test_vehicles_fill_their_outlines_and_no_more() -> None:
    suite: Any = load_suite("intersection")
    scenario = suite.with_options({"vehicles": True}).scenarios()[0]
    sensors = {**scenario.sensors.model_dump(), "camera": {**TALL, "height": 81}, "vehicles": {}}
    scenario = scenario.model_copy(update={"sensors": type(scenario.sensors).parse(sensors, "sensors")})
    world = build_world(scenario, 0)
    worlds, observer = Worlds([world]), Observer(world, frozenset({"depth", "semantic", "vehicles"}))
    static = solid_area(world.scene.spec).buffer(0.1)
    seen = 0
    for _ in range(30):
        for _ in range(5):
            worlds.step()
        observation: Any = observer.observe(worlds, 0)
        points = shapely.points(plan_points(observation, Semantic.VEHICLE, 20.0))
        points = points[~shapely.intersects(static, points)]  # parked cars are furniture of the scene
        outlines = [outline(observation.vehicles, k) for k in range(len(observation.vehicles.id))]
        assert shapely.distance(shapely.union_all(outlines), points).max(initial=0.0) < VEHICLE_M
        seen += len(points)
    assert seen > 50


def outline(vehicles: Any, k: int) -> Any:
    """The box of one vehicle on the ground."""
    length, width = vehicles.length[k] / 2, vehicles.width[k] / 2
    turned = shapely.affinity.rotate(
        shapely.box(-length, -width, length, width), vehicles.heading[k], origin=(0, 0), use_radians=True
    )
    return shapely.affinity.translate(turned, *vehicles.position[k])
