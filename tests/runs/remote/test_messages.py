"""What a policy sees is what was sent."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest

from sidestep.runs.remote import client
from sidestep.runs.remote.client import command_message, observation_of, task_of
from sidestep.runs.remote.messages import observation_message, read_command, task_message
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.robots import load_robot
from sidestep.types import (
    Drive,
    HolonomicVelocity,
    Native,
    Observation,
    Pedestrians,
    Position,
    RobotState,
    Task,
    Velocity,
)
from sidestep.types import Waypoints as WaypointsCommand
from sidestep.types.observation import Future, LidarScan, PointScan

PEOPLE = Pedestrians(
    id=np.array([3, 8]),
    position=np.array([[0.1, 0.2], [0.3, 0.4]], np.float32),
    velocity=np.zeros((2, 2), np.float32),
    heading=np.array([0.5, -0.5], np.float32),
    radius=np.array([0.2, 0.25], np.float32),
    group=np.array([-1, 2], np.int32),
)


def travelled(message: dict[str, Any]) -> Any:
    return msgpack.unpackb(msgpack.packb(message))


@pytest.mark.parametrize("binary", [False, True])
def test_an_observation_arrives_as_it_was(binary: bool) -> None:
    rgb = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    sent = Observation(
        1.5,
        RobotState(1, 2, 3, 4, 5, 6),
        goal=(7.0, 8.0),
        pedestrians=PEOPLE,
        history=(PEOPLE, PEOPLE),
        lidar=LidarScan(np.array([1.0, 2.0], np.float32), -1.0, 0.5, 20.0),
        rgb=rgb,
        depth=np.full((2, 4), 1.25, np.float32),
        semantic=np.zeros((2, 4), np.int32),
        picture_time=1.25,
        points=PointScan(
            np.full((1, 2), 3.0, np.float32), np.zeros(1), np.array([0.0, 1.0]), 30.0, (0.1, 0.0, 1.2), np.eye(3)
        ),
        signals={"north": "red"},
    )
    seen = observation_of(travelled(observation_message(sent, binary)))
    assert (seen.time, seen.goal, seen.robot.position) == (1.5, (7.0, 8.0), (1, 2))
    assert seen.robot.speed == sent.robot.speed
    assert len(seen.pedestrians) == len(seen.history) == 2
    for name in ("id", "position", "velocity", "heading", "radius", "group"):
        there, here = np.asarray(getattr(seen.pedestrians, name)), getattr(PEOPLE, name)
        assert (there == here).all(), name
        assert not binary or there.dtype == here.dtype
    assert list(seen.lidar.ranges) == [1.0, 2.0]
    assert seen.picture_time == 1.25
    assert np.asarray(seen.points.ranges).tolist() == [[3.0, 3.0]]
    assert list(seen.points.origin) == [0.1, 0.0, 1.2]
    assert seen.rgb.dtype == np.uint8
    assert (seen.rgb == rgb).all()
    assert seen.depth[1, 3] == 1.25
    assert seen.signals == {"north": "red"}


def test_what_is_not_needed_does_not_travel() -> None:
    message = observation_message(Observation(0.0, RobotState(0, 0, 0, 0, 0, 0)), False)
    assert set(message) == {"time", "robot"}
    assert observation_of(message).pedestrians is None


@pytest.mark.parametrize("binary", [False, True])
def test_a_task_arrives_as_it_was(binary: bool) -> None:
    scene = compile_scene(resolve_scene("narrow_doorway"))
    future = Future(np.full((3, 1, 2), np.nan, np.float32), np.ones(1, np.float32), 0.05)
    robot = load_robot("pioneer_3dx")
    sent = Task(robot, (1, 2, 3), 0.1, 30.0, 0.3, (4, 5), scene, np.ones((2, 2)), seed=2**32 - 1, future=future)
    task = task_of({"id": 1, **travelled(task_message(sent, binary))})
    assert (task.start, task.goal, task.seed, task.step_s) == ((1, 2, 3), (4, 5), 2**32 - 1, 0.1)
    assert task.robot.limits.max_speed == robot.limits.max_speed
    assert task.robot.footprint.enclosing_radius == robot.footprint.enclosing_radius
    assert np.isnan(np.asarray(task.future.position)).all()
    assert (np.asarray(task.map.segments, np.float32) == scene.segments).all()
    if binary:
        assert (task.map.distance == scene.distance).all()
        assert task.map.wall_convex.dtype == scene.wall_convex.dtype


@pytest.mark.parametrize(
    "command", [Velocity(1, 0.5), HolonomicVelocity(0.1, -0.2), Position(3, 4), Drive(0.1, 1, 0), Native(1, 2)]
)
def test_a_command_arrives_as_it_was(command: Any) -> None:
    message = travelled({"type": "act", **command_message(command)})
    assert read_command(message) == command
    counterfactual = getattr(client, type(command).__name__)
    fields = [getattr(command, name) for name in counterfactual._fields]
    assert command_message(counterfactual(*fields)) == command_message(command)


def test_waypoints_and_foreign_answers() -> None:
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    arrived = read_command({"type": "act", **command_message(WaypointsCommand(points))})
    assert isinstance(arrived, WaypointsCommand)
    assert (arrived.points == points).all()
    with pytest.raises(TypeError, match="must return one of"):
        command_message((1.0, 2.0))
