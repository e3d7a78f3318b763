"""Robots and vehicles: as large as what collides, wheels and legs that follow the motion."""

import numpy as np
import pytest

from sidestep.errors import BadInput, UnknownName
from sidestep.render.figure import Motion, MotionTracker, track_motion
from sidestep.render.mesh import Semantic
from sidestep.render.robots import robot_figure
from sidestep.render.robots.legged import LEG_SCALE
from sidestep.render.vehicles import KINDS, PAINTS, vehicle_figure
from sidestep.simulation.robots import load_robot, robot_names
from sidestep.types.robot import RobotSpec
from tests.render.skinning import skin, slip

STANDING = Motion(0.0, 0.0, 0.0)


def extent(figure, motion=STANDING, level=0):
    vertices = skin(figure.model, figure.bones(motion), level)
    return vertices.min(axis=0), vertices.max(axis=0)


@pytest.mark.parametrize("name", robot_names())
def test_robot_is_as_large_as_its_footprint(name):
    spec = load_robot(name)
    figure = robot_figure(spec)
    if spec.footprint.polygon is not None:
        corners = np.asarray(spec.footprint.polygon)
    else:
        corners = np.asarray([(1, 1), (-1, -1)]) * spec.footprint.radius
    for level in range(3):
        low, high = extent(figure, level=level)
        assert (low[:2] >= corners.min(axis=0) - 0.012).all()
        assert (high[:2] <= corners.max(axis=0) + 0.012).all()
        if name not in ("robot_dog", "humanoid"):  # their footprints hold the swing of legs and arms too
            assert np.allclose(low[:2], corners.min(axis=0), atol=0.02)
            assert np.allclose(high[:2], corners.max(axis=0), atol=0.02)
        assert abs(low[2]) < 0.012
        top = max(spec.height, spec.camera_height or 0.0) if name.startswith("pioneer") else spec.height
        assert high[2] == pytest.approx(top, abs=0.03)
    assert (figure.model.levels[0].semantic == Semantic.ROBOT).all()
    assert figure.colours.shape == (len(figure.model.slots), 3)


def test_unknown_robot_gets_the_shape_of_its_footprint():
    spec = RobotSpec.parse(
        {"name": "tug", "dynamics": "unicycle", "height": 0.5, "limits": {"max_speed": 1.0},
         "footprint": {"polygon": [[0.8, -0.2], [0.8, 0.2], [-0.3, 0.4], [-0.3, -0.4]]}}, "test",
    )  # fmt: skip
    low, high = extent(robot_figure(spec))
    assert np.allclose(low, (-0.3, -0.4, 0.0), atol=0.01)
    assert np.allclose(high, (0.8, 0.4, 0.5), atol=0.01)


@pytest.mark.parametrize("name", robot_names())
@pytest.mark.parametrize("speed", [0.0, 0.7, 1.6])
def test_machines_stay_on_the_ground_with_rigid_bones(name, speed):
    figure = robot_figure(load_robot(name))
    for k in range(12):
        motion = Motion(4.0, -1.0, 0.7, speed=speed, phase=k / 12, distance=0.1 * k, turned=0.2 * k, steer=0.3)
        bones = figure.bones(motion)
        assert bones.shape == (figure.model.bone_count, 3, 4)
        assert bones.dtype == np.float32
        turn = bones[:, :, :3].astype(float)
        size = np.cbrt(np.linalg.det(turn))[:, None, None]
        assert np.allclose(turn @ turn.transpose(0, 2, 1), size**2 * np.eye(3), atol=1e-5)
        low = skin(figure.model, bones)[:, 2].min()
        assert -0.012 < low < (0.06 if name == "robot_dog" else 0.012)


def test_wheels_roll_with_the_metres_and_against_each_other_in_a_turn():
    figure = robot_figure(load_robot("pioneer_3dx"))
    radius = 0.41 * 0.237

    def angle(bones, wheel):
        return np.arctan2(bones[wheel, 0, 2], bones[wheel, 0, 0])

    rolled = figure.bones(Motion(0, 0, 0, distance=0.5 * radius))
    assert angle(rolled, 1) == pytest.approx(0.5)
    assert angle(rolled, 2) == pytest.approx(0.5)
    turned = figure.bones(Motion(0, 0, 0, turned=0.2))
    assert angle(turned, 1) == pytest.approx(-angle(turned, 2))
    assert angle(turned, 1) < 0, "turning left, the left wheel goes back"


def test_feet_of_the_dog_do_not_slide():
    figure = robot_figure(load_robot("robot_dog"))
    speed, steps = 1.0, 100
    time = np.arange(steps) * 0.02
    poses = np.c_[speed * time, np.zeros(steps), np.zeros(steps)]
    motions = track_motion(time, poses, np.tile([speed, 0.0], (steps, 1)), leg_scale=LEG_SCALE)
    feet = figure.model.levels[0].material == figure.model.slots.index("foot")
    vertices = np.unique(figure.model.levels[0].triangles[feet])
    paths = np.stack([skin(figure.model, figure.bones(motion))[vertices] for motion in motions])
    assert slip(paths, 0.002) < 0.02  # the foot is a ball and rolls a little


def test_tracker_measures_backwards_driving_and_full_turns():
    tracker = MotionTracker()
    last = tracker.advance(0.0, (0, 0, 0))
    for k in range(1, 41):
        last = tracker.advance(0.1 * k, (-0.05 * k, 0.0, 0.25 * k % (2 * np.pi)), (-0.5, 0.0))
    assert last.turned == pytest.approx(10.0)
    tracker = MotionTracker()
    for k in range(11):
        last = tracker.advance(0.1 * k, (-0.05 * k, 0.0, 0.0), (-0.5, 0.0))
    assert last.distance == pytest.approx(-0.5)
    assert abs(last.travel) == pytest.approx(np.pi)


@pytest.mark.parametrize("kind", KINDS)
def test_vehicles_fill_their_box_and_steer(kind):
    size = KINDS[kind][1]
    figure = vehicle_figure(kind, "red")
    for level in range(3):
        low, high = extent(figure, level=level)
        assert np.allclose(high - low, size, atol=0.02)
        assert abs(low[2]) < 0.01
    straight, turned = figure.bones(Motion(0, 0, 0)), figure.bones(Motion(0, 0, 0, steer=0.4))
    assert np.allclose(straight[:3], turned[:3])
    assert turned[3, 1, 0] == pytest.approx(np.sin(0.4))
    assert {"head_light", "tail_light", "glass"} <= set(figure.model.slots)
    assert len({tuple(vehicle_figure(kind, paint).colours[0]) for paint in PAINTS}) == len(PAINTS)


def test_car_robot_keeps_its_reference_in_the_rear_axle():
    low, high = extent(robot_figure(load_robot("car")))
    assert low[0] == pytest.approx(-0.62, abs=0.01)
    assert high[0] == pytest.approx(3.206, abs=0.01)


def test_bad_vehicles_are_refused():
    with pytest.raises(UnknownName, match="van"):
        vehicle_figure("vam")
    with pytest.raises(UnknownName, match="red"):
        vehicle_figure("car", "redd")
    with pytest.raises(BadInput, match="positive"):
        vehicle_figure("car", "red", (4.0, 0.0, 1.5))
