"""Predictors: the contract over everything registered, constant velocity by hand, and a plug-in that planners use."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from sidestep import registry
from sidestep.cli import app
from sidestep.errors import BadInput
from sidestep.interfaces import Predictor
from sidestep.policies.crowd_forecast import CrowdPredictor
from sidestep.policies.mpc.policy import Mpc
from sidestep.policies.sidewalk.follow_lane import Expert
from sidestep.prediction import check_predictor
from sidestep.prediction.predictors.constant_velocity import ConstantVelocity
from sidestep.runs.provenance import setting_files
from sidestep.simulation import run_episode
from sidestep.simulation.robots.library import load_robot
from sidestep.types import Observation, Outcome, Pedestrians, RobotState, Scenario, Task
from sidestep.types.forecast import Ego, MixtureForecast, SampleForecast, TrackHistory
from tests.policies.sidewalk.test_lane import PEOPLE, drive
from tests.simulation.scenarios import make

STOPPING = '''
"""People who stop where they are, or go on: a plug-in in one file."""

import numpy as np

from sidestep.types.forecast import MixtureForecast


class Stopping:
    """Everybody stops at once."""

    name = "stopping"
    summary = "everybody stops"
    needs = frozenset()
    history_s = 0.0

    def predict(self, history, horizons_s, scene=None, ego=None):
        means = np.repeat(history.position[-1][:, None, None], len(horizons_s), axis=2)
        covariances = np.broadcast_to(0.1 * np.eye(2), (*means.shape, 2))
        return MixtureForecast(horizons_s, means, covariances, np.ones(means.shape[:2]))
'''


class Recorder:
    """Goes on straight, and remembers what it was asked; K samples or one mode."""

    needs: ClassVar[frozenset[str]] = frozenset({"ego", "map"})
    history_s: ClassVar[float] = 0.3

    def __init__(self, samples: int = 0) -> None:
        self.samples, self.asked = samples, []

    def predict(self, history: TrackHistory, horizons_s: Any, scene: Any = None, ego: Ego | None = None) -> Any:
        self.asked.append((history, horizons_s, scene, ego))
        line = history.position[-1][:, None] + horizons_s[None, :, None] * history.velocity[-1][:, None]
        if self.samples:
            return SampleForecast(horizons_s, np.repeat(line[:, None], self.samples, axis=1))
        return MixtureForecast(
            horizons_s, line[:, None], np.broadcast_to(np.eye(2), (*line[:, None].shape, 2)), np.ones((len(line), 1))
        )


def crossing() -> Scenario:
    """Somebody crosses the robot's path and does not look."""
    robots = [{"spec": "pioneer_3dx", "dynamics": "holonomic", "start": [0, -5, 1.5708], "goal": [0, 5]}]
    walker = {"start": [-4.4, 0], "waypoints": [[6, 0]], "speed": 1.2}
    crowd = [{"model": "orca", "sees_robot": False, "people": [walker]}]
    return make(robots=robots, crowd=crowd, rules={"step_s": 0.05, "time_limit_s": 30})


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``stopping``, a predictor of a package that is installed beside Sidestep."""
    (tmp_path / "stopping_plugin.py").write_text(STOPPING)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("stopping", "stopping_plugin:Stopping", "sidestep.predictors")
    real = registry.entry_points
    found = lambda group: [point] if group == "sidestep.predictors" else real(group=group)  # noqa: E731
    monkeypatch.setattr(registry, "entry_points", found)
    registry.table.cache_clear()
    yield registry.load("predictors", "stopping")
    registry.table.cache_clear()


@pytest.mark.parametrize("name", [name for name in registry.names("predictors") if name != "cvae"])  # needs a file
def test_every_predictor_keeps_the_contract(name: str) -> None:
    predictor = registry.make_predictor(name)
    assert isinstance(predictor, Predictor)
    assert predictor.summary
    check_predictor(predictor)


def test_constant_velocity_by_hand() -> None:
    position = np.array([[[0.0, 0.0], [9, 9]], [[1.0, 2.0], [0, 0]]])
    velocity = np.array([[[5.0, 5.0], [5, 5]], [[0.5, -1.0], [1, 0]]])
    predictor = ConstantVelocity(position_sd=0.1, velocity_sd=0.5, acceleration_noise=0.3)
    forecast = predictor.predict(TrackHistory(np.array([4, 8]), position, velocity, 0.1), np.array([1.0, 2.0]))
    assert forecast.mean().tolist() == [[[1.5, 1.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]]]
    variance = [0.01 + 0.25 + 0.1, 0.01 + 1.0 + 0.8]
    np.testing.assert_allclose(forecast.covariances[0, 0], np.array(variance)[:, None, None] * np.eye(2))


def test_constant_velocity_notices_horizons_that_change_in_place() -> None:
    history = TrackHistory(np.array([1]), np.zeros((1, 1, 2)), np.ones((1, 1, 2)), 0.1)
    predictor, horizons = ConstantVelocity(), np.array([1.0, 2.0])
    first = predictor.predict(history, horizons).covariances[0, 0, 0, 0, 0]
    horizons += 3.0
    assert predictor.predict(history, horizons).covariances[0, 0, 0, 0, 0] > 2 * first


def test_the_list_names_predictors_and_a_plug_in(plug_in: Any) -> None:
    rows = json.loads(CliRunner().invoke(app, ["list", "predictors", "--json"]).output)["predictors"]
    assert [row["name"] for row in rows] == ["constant_velocity", "kalman", "social_force", "cvae", "stopping"]
    assert rows[-1]["summary"] == "everybody stops"
    check_predictor(plug_in())


def test_a_plug_in_changes_what_mpc_does(plug_in: Any) -> None:
    """A robot that believes in a person who stops plans to pass in front, and has to swerve when the person goes on."""
    straight = run_episode(crossing(), Mpc())
    named = run_episode(crossing(), Mpc(predictor="constant_velocity"))
    stopping = run_episode(crossing(), registry.make_policy("mpc", {"predictor": "stopping"}))
    assert straight.digest == named.digest
    assert stopping.digest != straight.digest
    assert stopping.policy.settings["predictor"] == "stopping"
    steps = min(straight.steps, stopping.steps)
    assert np.abs(straight.robot_pose[:steps, :2] - stopping.robot_pose[:steps, :2]).max() > 0.3


def test_mpc_shows_the_forecast_of_its_predictor(plug_in: Any) -> None:
    record = run_episode(crossing(), Mpc(predictor="stopping"))
    moved = [np.ptp(path[np.isfinite(path[:, 0])], axis=0).max() for path in record.plans.people]
    assert len(moved) > 5
    assert max(moved) < 1e-2


def test_a_predictor_by_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(STOPPING)
    reference = f"{file}:Stopping"
    assert registry.make_predictor(reference).name == "stopping"
    before = setting_files({"predictor": reference})["predictor"]
    file.write_text(STOPPING + "\n# changed\n")
    assert setting_files({"predictor": reference})["predictor"] != before
    assert setting_files({"predictor": "constant_velocity"}) == {}


def test_what_a_predictor_is_given() -> None:
    recorder, policy = Recorder(), Mpc()
    policy._predictor = recorder
    run_episode(crossing(), policy)
    asked = [each for each in recorder.asked if each[0].position.shape[0] > 1 and np.isfinite(each[0].position).all()]
    history, horizons, scene, ego = asked[20]
    assert history.position.shape == (7, 1, 2)
    assert history.step_s == 0.05
    np.testing.assert_allclose(np.diff(history.position[:, 0, 0]), 0.06, atol=1e-6)  # 1.2 m/s
    assert len(horizons) == 29
    assert ego.radius == pytest.approx(0.2, abs=0.1)
    assert ego.plan.shape == (29, 2)
    assert scene is not None


def test_orientations_and_the_robots_past_are_given_to_those_who_need_them() -> None:
    class Looking(Recorder):
        needs: ClassVar[frozenset[str]] = frozenset({"ego", "body", "head"})

    recorder = Looking()
    task = Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.1, 10.0, 0.5)
    crowd = CrowdPredictor(recorder, np.array([1.0]), task)
    for step in range(4):
        people = Pedestrians(
            np.array([7, 9]), np.zeros((2, 2)), np.zeros((2, 2)), np.array([0.1 * step, 1.0]), np.ones(2),
            np.full(2, -1), None, np.array([0.2 * step, 2.0]) if step else None,
        )  # fmt: skip
        seen = Observation(0.1 * step, RobotState(0.5 * step, 0.0, 0.0, 5.0, 0.0, 0.0), pedestrians=people)
        crowd.remember(seen.time, people.id, np.zeros((2, 5)), seen)
    crowd.forecast(0.3, np.array([9, 7]), np.zeros((2, 5)), seen.robot)
    history, _, _, ego = recorder.asked[-1]
    np.testing.assert_allclose(history.body, [[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.3]])
    np.testing.assert_allclose(history.head, [[np.nan, np.nan], [2.0, 0.2], [2.0, 0.4], [2.0, 0.6]])
    np.testing.assert_allclose(ego.past[:, 0], [0.0, 0.5, 1.0, 1.5])


@pytest.mark.parametrize("samples", [0, 3])
def test_paths_that_are_straight_drive_like_straight_lines(samples: int) -> None:
    """Told as mixtures or samples, the same forecast leads to nearly the same motion."""
    policy = Mpc()
    policy._predictor = Recorder(samples)
    told, straight = run_episode(crossing(), policy), run_episode(crossing(), Mpc())
    steps = min(told.steps, straight.steps)
    tolerance = 1e-6 if not samples else 0.6  # three times the same person costs three times as much
    assert np.abs(told.robot_pose[:steps, :2] - straight.robot_pose[:steps, :2]).max() < tolerance


def test_a_plug_in_changes_what_the_expert_does(plug_in: Any) -> None:
    model, people = PEOPLE["lateral"]
    straight, named = drive(Expert(), people, model), drive(Expert(predictor="constant_velocity"), people, model)
    stopping = drive(Expert(predictor="stopping"), people, model)
    assert straight.digest == named.digest
    assert straight.outcome is Outcome.SUCCESS
    assert stopping.digest != straight.digest
    with pytest.raises(BadInput, match="unknown key 'predictor'"):
        registry.make_policy("follow_lane", {"predictor": "stopping"})


def test_unknown_and_broken_predictors_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown predictor 'constant'; did you mean 'constant_velocity'"):
        registry.make_policy("mpc", {"predictor": "constant"})
    with pytest.raises(BadInput, match="acceleration_noise"):
        registry.make_predictor("constant_velocity", {"acceleration_noise": -1.0})
    with pytest.raises(BadInput, match="unknown key 'sd'"):
        registry.make_predictor("constant_velocity", {"sd": 1.0})
    for number, (body, message) in enumerate(
        (
            ("pass", "no method 'predict'"),
            ("predict = None", "no method 'predict'"),
            ("def predict(self): ...", "`needs` must be a set of names"),
            ("needs = {'maps'}\n    def predict(self): ...", "did you mean 'map'"),
            ("needs = set()\n    def predict(self): ...", "`history_s` must say"),
            ("needs = None\n    def predict(self): ...", "`needs` must be a set of names"),
            ("needs = set()\n    history_s = 'one'\n    def predict(self): ...", "`history_s` must say"),
            ("needs = set()\n    history_s = float('inf')\n    def predict(self): ...", "`history_s` must say"),
        )
    ):
        file = tmp_path / f"broken_{number}.py"
        file.write_text(f"class Broken:\n    {body}\n")
        with pytest.raises(BadInput, match=message):
            registry.make_predictor(f"{file}:Broken")


class _Wrong(Recorder):
    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def predict(self, history: TrackHistory, horizons_s: Any, scene: Any = None, ego: Ego | None = None) -> Any:
        return self.change(self, history, horizons_s, super().predict(history, horizons_s))


def _draws(self: Any, history: TrackHistory, horizons: Any, forecast: Any) -> Any:
    self.count = getattr(self, "count", 0) + 1
    return SampleForecast(horizons, forecast.paths + self.count)


def _writes(self: Any, history: TrackHistory, horizons: Any, forecast: Any) -> Any:
    history.position[:] = 0.0
    return SampleForecast(horizons, np.zeros(forecast.paths.shape))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda self, history, horizons, forecast: forecast.paths, "returned ndarray; return a SampleForecast"),
        (lambda self, history, horizons, forecast: 1 / 0, "failed for 0 people: ZeroDivisionError"),
        (lambda self, history, horizons, forecast: forecast.marginal(1.0), r"at \[1.0\] s; expected 0 people at \[0.4"),
        (_draws, "two forecasts of the same history differ; draw from a generator with a fixed seed"),
        (_writes, "the history was changed; work on a copy"),
    ],
)
def test_check_predictor_says_what_is_wrong(change: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check_predictor(_Wrong(change))
