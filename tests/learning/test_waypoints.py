"""Demonstrations of frontal approaches and the network that clones their waypoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.learning.frontal import YieldingExpert, _frames_of, collect_frames, frontal_scenario
from sidestep.policies.ilqr.policy import Ilqr
from sidestep.simulation import run_episode
from sidestep.types import Outcome
from tests.needs import reason_missing

torch = pytest.importorskip("torch", reason=reason_missing("torch"))

from sidestep.learning.waypoints import WaypointTraining, export_waypoints, train_waypoints  # noqa: E402


@pytest.fixture(scope="module")
def frames():
    return collect_frames(3, seed=5)


def test_waypoints_are_where_the_robot_went_in_its_own_frame() -> None:
    """A robot that drives 1 m/s along y, its heading along y: all waypoints lie straight ahead."""
    seen = np.zeros((5, 64, 64), np.int8), np.zeros(4, np.float32)
    run = [(np.array([2.0, 0.1 * k, np.pi / 2]), seen if k in (0, 5) else None) for k in range(36)]
    (first, second) = _frames_of(run, 0.1, 2.0)  # frame 5 has just enough future
    np.testing.assert_allclose(first[2], [[0.5, 0.0]] * 3, atol=1e-9)
    np.testing.assert_allclose(second[2], [[0.5, 0.0]] * 3, atol=1e-9)
    assert len(list(_frames_of(run[:35], 0.1, 2.0))) == 1


def test_frames_show_somebody_and_repeat_with_the_seed(frames) -> None:
    assert len(frames) > 30
    assert set(frames.run.tolist()) == {0, 1, 2}
    assert frames.picture[:, 1].any(axis=(1, 2)).all()
    assert np.abs(frames.waypoints).max() < 1.1
    again = collect_frames(3, seed=5)
    np.testing.assert_array_equal(frames.picture, again.picture)
    np.testing.assert_array_equal(frames.waypoints, again.waypoints)


def test_the_expert_keeps_more_distance_than_ilqr() -> None:
    least = {Ilqr: [], YieldingExpert: []}
    for number in range(6):
        scenario = frontal_scenario(np.random.default_rng([99, number]))
        for kind, values in least.items():
            record = run_episode(scenario, kind(), seed=number)
            assert record.outcome is Outcome.SUCCESS, record.error
            away = record.person_position[:, 0] - record.robot_pose[:, :2]
            values.append(np.nanmin(np.hypot(away[:, 0], away[:, 1])))
    assert np.mean(least[YieldingExpert]) > np.mean(least[Ilqr]) + 0.1


def test_training_lowers_the_error_and_the_export_answers_the_same(frames, tmp_path: Path) -> None:
    from sidestep.policies.ilqr.cloned import IlqrBc, load_waypoint_network

    settings = WaypointTraining(epochs=4, batch=16, held_out=0.0)
    trained = train_waypoints(frames, settings)
    assert trained.curve[-1]["train"] < 0.5 * trained.curve[0]["train"]
    file = tmp_path / "waypoints.onnx"
    export_waypoints(trained, file, settings, 3)
    inputs = {"picture": frames.picture[:4], "motion": frames.motion[:4]}
    answered = load_waypoint_network(str(file)).run(["waypoints"], inputs)[0]
    with torch.no_grad():
        expected = trained.network(*(torch.from_numpy(values) for values in inputs.values())).numpy()
    np.testing.assert_allclose(answered, expected, atol=1e-5)
    assert IlqrBc(file=str(file)).settings["file"] == str(file)


def test_the_same_settings_give_the_same_weights(frames) -> None:
    first, second = (train_waypoints(frames, WaypointTraining(epochs=1)).network.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="epochs and batch are at least 1"):
        WaypointTraining(epochs=0)
    with pytest.raises(BadInput, match="runs must be at least 1"):
        collect_frames(0)


def test_the_command_trains_a_network_that_the_policy_runs(tmp_path: Path) -> None:
    import json

    from typer.testing import CliRunner

    from sidestep import registry
    from sidestep.cli.app import app

    file = tmp_path / "waypoints.onnx"
    done = CliRunner().invoke(app, ["train", "protocol", "--runs", "2", "--epochs", "1", "--out", str(file), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["network"] == str(file)
    assert told["runs"] == 2
    assert told["frames"] > 10
    assert len(told["curve"]) == 1
    scenario = frontal_scenario(np.random.default_rng([7, 7]))
    record = run_episode(scenario, registry.make_policy("ilqr_bc", {"file": str(file)}))
    assert record.outcome is not Outcome.POLICY_ERROR, record.error
    nowhere = CliRunner().invoke(app, ["train", "protocol", "--runs", "1", "--out", str(tmp_path / "no" / "w.onnx")])
    assert nowhere.exit_code != 0
    assert "no such folder" in nowhere.output
