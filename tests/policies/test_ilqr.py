"""The iLQR policies: what they do in worlds small enough to know what is right, and in frontal approaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.ilqr import picture as eye
from sidestep.policies.ilqr.policy import IlqrSettings
from sidestep.policies.mpc.field import GoalFields
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, Outcome, RobotState
from tests.simulation.scenarios import make, room

ROBOT = {"spec": "pioneer_3dx", "start": [0, -5, 1.5708], "goal": [0, 5]}
RULES = {"step_s": 0.05, "control_every": 2, "time_limit_s": 30}


def drive(policy: str = "ilqr", seed: int = 0, settings: dict[str, Any] | None = None, **changes: Any) -> EpisodeRecord:
    """An episode; by default an empty world, 10 m ahead."""
    scenario = make(**{"robots": [ROBOT], "rules": RULES, **changes})
    return run_episode(scenario, registry.make_policy(policy, settings), seed=seed)


def distances(record: EpisodeRecord) -> np.ndarray:
    """(T + 1,) between the centres of the robot and of the first person, m."""
    away = record.person_position[:, 0] - record.robot_pose[:, :2]
    return np.hypot(away[:, 0], away[:, 1])


def test_goes_straight_through_an_empty_world_at_top_speed() -> None:
    record = drive()
    assert record.outcome is Outcome.SUCCESS
    assert np.abs(record.robot_pose[:, 0]).max() < 0.01
    speed = np.hypot(*record.robot_velocity.T[:2])
    assert speed.max() == pytest.approx(1.2, abs=0.02)
    assert np.abs(np.diff(speed)).max() <= 1.5 * 0.1 + 1e-6  # held for two steps, within its acceleration
    assert record.duration < 10.0 / 1.2 + 1.5


def test_turns_round_if_the_goal_is_behind() -> None:
    robot = {**ROBOT, "start": [0, -5, -1.5708]}
    assert drive(robots=[robot]).outcome is Outcome.SUCCESS


@pytest.mark.parametrize("x", [0.0, 0.05, -0.3])
def test_passes_somebody_who_stands_in_the_way(x: float) -> None:
    record = drive(crowd=[{"model": "static", "people": [{"start": [x, 0]}]}])
    assert record.outcome is Outcome.SUCCESS
    assert np.abs(record.robot_pose[:, 0]).max() > 0.4


def test_finds_its_way_round_a_wall() -> None:
    robot = {"spec": "pioneer_3dx", "start": [-2.4, 0, 0], "goal": [2.4, 0]}
    assert drive(scene=room(), robots=[robot]).outcome is Outcome.SUCCESS


def test_avoids_somebody_who_crosses_and_does_not_look() -> None:
    person = {"start": [-5, 0], "waypoints": [[6, 0]], "speed": 1.2}
    crowd = [{"model": "orca", "sees_robot": False, "people": [person]}]
    assert drive("straight", crowd=crowd).outcome is Outcome.PEDESTRIAN_COLLISION
    assert drive(crowd=crowd).outcome is Outcome.SUCCESS


@pytest.mark.parametrize("predictor", ["kalman", "social_force"])
def test_takes_any_predictor(predictor: str) -> None:
    person = {"start": [-5, 0], "waypoints": [[6, 0]], "speed": 1.2}
    crowd = [{"model": "orca", "sees_robot": False, "people": [person]}]
    record = drive(settings={"predictor": predictor}, crowd=crowd)
    assert record.outcome is Outcome.SUCCESS, record.error


@pytest.mark.parametrize("name", ["doorway", "blind-corner", "corridor-counterflow"])
def test_reaches_the_goal_in_core(name: str) -> None:
    (scenario,) = (one for one in load_suite("core").scenarios() if one.name == name)
    assert run_episode(scenario, registry.make_policy("ilqr"), seed=0).outcome is Outcome.SUCCESS


def test_publishes_its_plan_and_forecast() -> None:
    policy = registry.make_policy("ilqr")
    person = {"start": [1, 4], "waypoints": [[1, -6]], "speed": 1.0}
    run_episode(make(robots=[ROBOT], rules=RULES, crowd=[{"model": "orca", "people": [person]}]), policy)
    ids, paths = policy.forecast
    assert policy.plan.shape == (20, 2)
    assert paths.shape == (len(ids), 20, 2)


def test_limits_are_those_of_the_robot_within_the_settings() -> None:
    session_task = _task_of("pioneer_3dx_real")
    limits, own = IlqrSettings().limits(session_task), session_task.robot.limits
    assert limits.speed == own.max_speed
    assert limits.acceleration == min(own.max_acceleration, 1.5)
    assert IlqrSettings(most_turn_rate=0.3).limits(session_task).turn == 0.3


def _task_of(spec: str) -> Any:
    from sidestep.simulation.session import Session

    robot = {**ROBOT, "spec": spec}
    return Session(make(robots=[robot], rules=RULES), needs={"goal", "map", "pedestrians"}).task


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        ("ilqr", {"touch": -1.0}, "touch: must be at least 0"),
        ("ilqr", {"comfrt": 1.0}, "unknown key 'comfrt'; did you mean 'comfort'"),
        ("ilqr_bc", {"file": "nowhere.onnx"}, "nowhere.onnx: no such file"),
    ],
)
def test_bad_settings_are_refused(policy: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        registry.make_policy(policy, settings)


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "no.onnx"
    file.write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a network that onnxruntime can load"):
        registry.make_policy("ilqr_bc", {"file": str(file)})


def _open_ground() -> GoalFields:
    """Solid where y > 2; the goal at (8, 0)."""
    axis = np.arange(-10.0, 10.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    left = np.maximum(np.hypot(x - 8.0, y), 1e-9)
    return GoalFields(2.0 - y, left, (x - 8.0) / left, y / left, -10.0, -10.0, 0.1)


def test_the_picture_shows_walls_people_and_path_in_the_robots_frame() -> None:
    view = eye.BirdsEye(_open_ground(), (8.0, 0.0), 1.2)
    people = np.array([[3.0, 1.0, -1.0, 0.5, 0.3], [3.0, -1.0, 1.0, 0.0, 0.3], [30.0, 0.0, -1.0, 0.0, 0.3]])
    assert view.paint(RobotState(0.0, 0.0, 0.0, 0.6, 0.0, 0.1), people) == 1  # one of three comes toward it

    def cell(ahead: float, left: float) -> tuple[int, int]:
        return int((ahead + eye.BEHIND_M) / eye.CELL_M), int(left / eye.CELL_M + eye.CELLS / 2)

    i, j = cell(3.0, 1.0)
    assert view.picture[:, i, j].tolist() == [0, 127, -63, 32, 0]  # -63.5 and 31.75 rounded up
    assert view.picture[:, *cell(3.0, -1.0)].tolist() == [0, 127, 64, 0, 0]
    assert view.picture[:, *cell(1.0, 2.5)].tolist() == [127, 0, 0, 0, 0]
    assert view.picture[eye.PATH, *cell(5.0, 0.01)] == 127
    assert view.picture[eye.PEOPLE].sum() // 127 == pytest.approx(2 * np.pi * 0.3**2 / eye.CELL_M**2, abs=6)
    np.testing.assert_allclose(view.motion(RobotState(0, 0, 0, 0.6, 0, 0.1)), [0.5, 0.1, 1.0, 0.0], atol=1e-6)


def test_the_picture_turns_with_the_robot() -> None:
    view = eye.BirdsEye(_open_ground(), (8.0, 0.0), 1.2)
    people = np.array([[0.0, -3.0, 0.0, 1.0, 0.3]])
    assert view.paint(RobotState(0.0, 0.0, -np.pi / 2, 0.0, 0.0, 0.0), people) == 1
    rows, columns = np.nonzero(view.picture[eye.PEOPLE])
    assert (rows.mean() + 0.5) * eye.CELL_M - eye.BEHIND_M == pytest.approx(3.0, abs=0.1)
    assert columns.mean() + 0.5 == pytest.approx(eye.CELLS / 2, abs=0.6)
    np.testing.assert_allclose(view.motion(RobotState(0, 0, -np.pi / 2, 0, 0, 0))[2:], [0.0, 1.0], atol=1e-6)


def test_without_people_who_come_toward_it_the_clone_drives_as_ilqr() -> None:
    person = {"start": [1, -4], "waypoints": [[1, 8]], "speed": 0.6}
    crowd = [{"model": "orca", "sees_robot": False, "people": [person]}]
    first, second = (drive(name, crowd=crowd) for name in ("ilqr", "ilqr_bc"))
    np.testing.assert_array_equal(first.robot_pose, second.robot_pose)


@pytest.mark.parametrize("half", [1.5, 2.0, 5.0])
def test_the_clone_yields_earlier_and_keeps_more_distance_in_frontal_approaches(half: float) -> None:
    """Somebody comes on the robot's own line in a corridor or hall."""
    corridor = [[-9, -half], [9, -half], [9, half], [-9, half]]
    scene = {"name": "corridor", "enclosed": True, "regions": [{"kind": "walkable", "polygon": corridor}]}
    robot = {"spec": "pioneer_3dx", "start": [-8, 0, 0], "goal": [8, 0]}
    person = {"start": [8, 0], "waypoints": [[-8.5, 0]], "speed": 1.2}
    crowd = [{"model": "orca", "sees_robot": False, "at_end": "leave", "people": [person]}]
    least, yielded = {}, {}
    for name in ("ilqr", "ilqr_bc"):
        record = drive(name, scene=scene, robots=[robot], crowd=crowd)
        assert record.outcome is Outcome.SUCCESS, record.error
        away, aside = distances(record), np.abs(record.robot_pose[:, 1])
        least[name], yielded[name] = np.nanmin(away), away[int((aside > 0.25).argmax())]
    assert least["ilqr_bc"] > least["ilqr"] + 0.1
    assert yielded["ilqr_bc"] > yielded["ilqr"] + 1.0


def test_the_bundled_network_is_small() -> None:
    from importlib import resources

    from sidestep.policies.ilqr.cloned import BUNDLED

    assert len((resources.files("sidestep.policies.ilqr") / BUNDLED).read_bytes()) < 1_000_000
