"""Further robots and vehicles of an episode in its pictures; the camera that follows the robot."""

from __future__ import annotations

from math import atan, pi

import numpy as np
import pytest

from sidestep.render.films.cameras import other_robots
from sidestep.render.record_view import BACK_M, OFF_WALL_M, ChaseCamera, RecordView, high_walls
from sidestep.render.robots import robot_figure
from sidestep.render.world_view import ROBOT_IDS, OtherRobotTracker
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import Observation, Task, Velocity
from sidestep.types.record import EpisodeRecord
from sidestep.types.scene import Region, SceneSpec
from sidestep.types.sensors import CameraSettings
from tests.simulation.scenarios import make

CAMERA = CameraSettings(width=160, height=120)


class Stand:
    needs: frozenset[str] = frozenset()

    def reset(self, task: Task) -> None:
        """Nothing."""

    def act(self, observation: Observation) -> Velocity:
        return Velocity(0.0, 0.0)


@pytest.fixture(scope="module")
def meeting() -> EpisodeRecord:
    """A Pioneer looks along +x; a dog stands 3 m ahead to its left, a car 8 m ahead to its right."""
    robots = [
        {"spec": "pioneer_3dx", "start": [0, 0, 0], "goal": [9, 0]},
        {"spec": "robot_dog", "start": [3, 1, pi / 2], "goal": [3, 9]},
        {"spec": "car", "start": [9, -2.5, pi], "goal": [-9, -2.5]},
    ]
    return run_episode(make(robots=robots, rules={"step_s": 0.1, "time_limit_s": 0.3}), Stand(), act_limit_s=None)


def test_the_specs_of_others_are_found(meeting: EpisodeRecord) -> None:
    assert [spec.name for spec in other_robots(meeting)] == ["robot_dog", "car"]
    assert meeting.other_pose.shape[1] == 2


def test_others_are_seen_where_they_are(meeting: EpisodeRecord) -> None:
    view = RecordView(meeting, CAMERA, others=other_robots(meeting))
    images = view.images(2, ("instance", "depth"))
    assert images.instance is not None
    assert images.depth is not None
    dog, car = images.instance == ROBOT_IDS + 1, images.instance == ROBOT_IDS + 2
    assert not (images.instance == ROBOT_IDS).any()
    assert images.depth[dog].min() == pytest.approx(3.0, abs=0.25)
    assert 5.0 < images.depth[car].min() < 6.5
    assert np.flatnonzero(dog.any(axis=0)).max() < 80 < np.flatnonzero(car.any(axis=0)).mean()
    assert car.sum() > 4 * dog.sum()
    assert (view.images(2, ("instance",), "chase").instance == ROBOT_IDS).any()


def test_others_without_specs_are_their_circles(meeting: EpisodeRecord) -> None:
    known = RecordView(meeting, CAMERA, others=other_robots(meeting)[:1]).images(2, ("instance",)).instance
    assert known is not None
    assert {ROBOT_IDS + 1, ROBOT_IDS + 2} <= set(np.unique(known))


def test_things_of_the_scene_have_other_numbers(meeting: EpisodeRecord) -> None:
    static = RecordView(meeting, CAMERA).world.scene.static_id
    assert not ((static > 0) & (static < 100_000)).any()
    assert ROBOT_IDS + 50 < 100_000


def test_legs_walk_and_wheels_steer_from_poses_alone() -> None:
    specs = [load_robot("robot_dog"), load_robot("car")]
    tracker = OtherRobotTracker(specs, [robot_figure(spec) for spec in specs])
    radius, speed, step = 8.0, 4.0, 0.1
    for k in range(30):
        angle = speed * step * k / radius
        car = (radius * np.sin(angle), radius * (1 - np.cos(angle)), angle)
        dog, turning = tracker.advance(step * k, np.array([(0.8 * step * k, 0.0, 0.0), car]))
    assert dog is not None
    assert turning is not None
    assert dog.speed == pytest.approx(0.8, rel=0.1)
    assert dog.phase > 1.0
    assert turning.distance == pytest.approx(speed * step * 29, rel=0.01)
    assert turning.steer == pytest.approx(atan(specs[1].wheelbase / radius), rel=0.02)  # type: ignore[operator]
    gone, _ = tracker.advance(3.0, np.array([(np.nan, np.nan, np.nan), car]))
    assert gone is None
    back, _ = tracker.advance(3.1, np.array([(50.0, 0.0, 0.0), car]))
    assert back is not None
    assert back.x == 50.0


def test_the_chasing_camera_stays_on_this_side_of_a_wall() -> None:
    path = np.zeros((200, 3))
    path[:, 0] = np.linspace(0.0, 10.0, 200)
    wall = np.array([[-2.0, -2.0, -2.0, 2.0]])
    free, held = ChaseCamera(path, 0.05, np.zeros((0, 4))), ChaseCamera(path, 0.05, wall)
    assert free.pose(0, 0.0).x == pytest.approx(-BACK_M)
    places = np.array([held.pose(k, 0.0).x for k in range(200)])
    assert (places >= -2.0 + OFF_WALL_M - 1e-9).all()
    assert places[-1] == pytest.approx(10.0 - BACK_M)
    assert (np.abs(np.diff(places)) < 0.12).all()


def test_low_things_and_rooms_do_not_hold_it_back() -> None:
    def square(x: float, height: float | None) -> Region:
        corners = ((x, 0.0), (x + 1, 0.0), (x + 1, 1.0), (x, 1.0))
        return Region(kind="obstacle", polygon=corners, height=height)

    scene = SceneSpec(regions=(square(0, 0.5), square(5, 4.0), square(9, None)))
    rings = [np.array(region.polygon) for region in scene.regions]
    walls = np.concatenate([np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings])
    assert sorted(set(high_walls(scene, walls, indoor=False)[:, 0])) == [5.0, 6.0, 9.0, 10.0]
    assert len(high_walls(scene, walls, indoor=True)) == 0


class Watching(Stand):
    needs: frozenset[str] = frozenset({"rgb", "depth"})

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.2, 0.0)


@pytest.mark.parametrize("light", ["noon", "night"])
def test_a_policy_sees_the_other_machines_as_the_record_shows_them(light: str) -> None:
    robots = [
        {"spec": "pioneer_3dx", "start": [0, 0, 0], "goal": [9, 0]},
        {"spec": "robot_dog", "start": [3, 1, pi / 2], "goal": [3, 9]},
    ]
    policy = Watching()
    camera = {"width": 64, "height": 48, "time_of_day": light}
    rules = {"step_s": 0.1, "time_limit_s": 0.5}
    record = run_episode(make(robots=robots, sensors={"camera": camera}, rules=rules), policy, act_limit_s=None)
    view = RecordView(record, record.scenario.sensors.camera, others=other_robots(record))
    for step in (0, 3):
        images = view.images(step, ("rgb", "depth", "instance"))
        assert (images.instance == ROBOT_IDS + 1).any()
        assert np.array_equal(images.rgb, policy.seen[step].rgb)
        assert np.array_equal(images.depth, policy.seen[step].depth)
