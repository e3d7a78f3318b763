"""What plug-in sensors, events and crowd models do in an episode, and what is said when they do it wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.interfaces import CrowdModel, Policy, Sensor
from sidestep.records import load_record
from sidestep.runs import make_plan, run_benchmark
from sidestep.runs.remote.guests import GuestProcesses
from sidestep.runs.remote.isolation import Isolation
from sidestep.simulation import build_world, check_policy, run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, Observation, Scenario, Velocity
from sidestep.types.events import GESTURES
from tests.plugins.conftest import Announce

HERE = "tests.plugins.test_kinds"
OPEN = Isolation(sandbox="off")
"""Guests that may import this file, which imports more than guests may."""


def everything() -> Scenario:
    return next(scenario for scenario in load_suite("example_empty").scenarios() if scenario.name == "everything")


def changed(**parts: Any) -> Scenario:
    document = {"robots": [{"spec": "point", "start": [0, 0, 0], "goal": [9, 0]}], "rules": {"time_limit_s": 1}}
    return Scenario.parse({"name": "changed"} | document | parts, "test")


def drive(policy: Any = "stop", **parts: Any) -> EpisodeRecord:
    return run_episode(changed(**parts), policy)


def test_a_sensor_an_event_and_a_crowd_model_in_one_episode(example: None) -> None:
    record = run_episode(everything(), "example_wary")
    assert not record.error
    walker, waving = record.person_position[:, 0], record.person_position[:, 1]
    assert record.person_model == ("example_stop_and_go", "script")
    np.testing.assert_allclose(walker[-1], [-1.0, 3.0], atol=1e-5)  # 5 s at 1 m/s from x = -6
    np.testing.assert_allclose(waving, [[3.0, 0.5]] * 51)
    # the robot drives 0.05 m a step, is within 2 m of (3, 0.5) at x = 1.1 and within 1 m at x = 2.15, where it stops
    [trigger] = [event for event in record.events if event.kind == "trigger"]
    assert (trigger.text, trigger.time) == ("example_waving", pytest.approx(2.2))
    assert record.robot_pose[-1, 0] == pytest.approx(2.15)
    assert record.person_gesture[-1].tolist() == [GESTURES["none"], GESTURES["wave"]]


def test_a_guest_sees_what_a_policy_in_the_simulators_process_sees(example: None, tmp_path: Path) -> None:
    ours = run_episode(everything(), "example_wary")
    plan = make_plan(load_suite("example_empty"), ["example_wary"], scenario_glob="everything")
    result = run_benchmark(plan, tmp_path / "run")
    [path] = (tmp_path / "run" / "episodes").rglob("*.parquet")
    record = load_record(path)
    assert result.episodes[0].outcome == "timeout"
    np.testing.assert_array_equal(record.robot_pose, ours.robot_pose)


def test_settings_are_part_of_the_scenario_and_of_its_digest(example: None) -> None:
    scenario = everything()
    near = scenario.sensors.model_copy(update={"extra": {"example_nearest": {"range_m": 2.0}}})
    other = scenario.model_copy(update={"sensors": near})
    assert run_episode(scenario, "stop").digest != run_episode(other, "stop").digest


def test_an_empty_extra_is_not_in_the_digest() -> None:
    explicit = drive(sensors={"extra": {}})
    assert explicit.digest == drive().digest
    assert Scenario.model_validate_json(explicit.scenario.model_dump_json()).sensors.extra == {}


def test_plug_in_needs_are_known_only_when_installed(example: None) -> None:
    assert "example_nearest" in registry.known_needs()
    check_policy("example_wary", everything())


def test_a_need_that_nobody_provides_is_named() -> None:
    class Wishful(Policy):
        needs: ClassVar[frozenset[str]] = frozenset({"example_nearest"})

        def reset(self, task: Any) -> None: ...

        def act(self, observation: Observation) -> Velocity:
            return Velocity(0.0, 0.0)

    with pytest.raises(BadInput, match="'Wishful' needs 'example_nearest', which nobody provides"):
        run_episode(changed(), Wishful())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"events": [{"kind": "plugin", "name": "zzz"}]}, "unknown event 'zzz'; known: accompanying, claiming"),
        ({"events": [{"kind": "plugin", "name": "frontal"}]}, "comes with Sidestep; write kind: frontal"),
        (
            {"crowd": [{"model": "orka", "people": [{"start": [3, 0]}]}]},
            "unknown crowd model 'orka'; did you mean 'orca'",
        ),
        ({"sensors": {"extra": {"radar": {}}}}, "unknown plug-in sensor 'radar'"),
        ({"sensors": {"extra": {"lidar": {"rays": 4}}}}, "sensors.extra is for plug-ins; the settings of 'lidar'"),
    ],
)
def test_unknown_names_list_what_is_known(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build_world(changed(**parts), 0)


def test_wrong_settings_are_told_with_their_place(example: None) -> None:
    wrong = {"kind": "plugin", "name": "example_waving", "settings": {"at": [3, 0], "triger_m": 1}}
    with pytest.raises(BadInput, match=r"event 0 .example_waving.: unknown key 'triger_m'; did you mean 'trigger_m'"):
        drive(events=[wrong])
    people = [{"start": [3, 0]}]
    with pytest.raises(BadInput, match=r"crowd model 'example_stop_and_go', made with .*gap.*unexpected keyword"):
        drive(crowd=[{"model": "example_stop_and_go", "parameters": {"gap": 1}, "people": people}])
    with pytest.raises(BadInput, match=r"sensor 'example_nearest', made with the settings .*unexpected keyword"):
        drive("example_wary", sensors={"extra": {"example_nearest": {"range": 3}}})


def test_the_crowd_model_stops_behind_the_robot_only_if_it_sees_it(example: None) -> None:
    def end_of(sees_robot: bool) -> float:
        person = {"start": [-2, 0], "waypoints": [[-0.2, 0]], "speed": 1.0}
        part = {"model": "example_stop_and_go", "people": [person], "sees_robot": sees_robot}
        record = drive(crowd=[part], rules={"step_s": 0.1, "time_limit_s": 1.5, "ends_on": []})
        return float(record.person_position[-1, 0, 0])

    assert end_of(False) == pytest.approx(-0.5, abs=1e-5)
    # it stands once the gap is below 0.5 m: from x = -1.05 on, with bodies of 0.3 m and 0.25 m
    assert end_of(True) == pytest.approx(-1.0, abs=1e-5)


class Odd(Sensor):
    """Does what its settings say."""

    def __init__(self, context: Any, mode: str = "object") -> None:
        super().__init__(context)
        self.mode = mode

    def sense(self, view: Any) -> Any:
        match self.mode:
            case "raises":
                raise RuntimeError("lens cap")
            case "nothing":
                return {}
            case "nested":
                return {"odd": {"image": np.arange(6).reshape(2, 3), "names": ["a", "b"], "gain": np.float32(0.5)}}
        return {"odd": object()}


class Looks:
    """Keeps what it sees."""

    needs = frozenset({"odd"})
    seen: ClassVar[list[Any]] = []

    def reset(self, task: Any) -> None:
        Looks.seen.clear()

    def act(self, observation: Observation) -> Velocity:
        assert observation.extra is not None
        Looks.seen.append(observation.extra["odd"])
        return Velocity(0.0, 0.0)


class Compares(Looks):
    """Fails unless it sees the nested map."""

    def act(self, observation: Observation) -> Velocity:
        assert observation.extra is not None
        odd = observation.extra["odd"]
        assert odd["image"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (odd["names"], odd["gain"]) == (("a", "b"), 0.5)
        assert not odd["image"].flags.writeable
        return Velocity(0.0, 0.0)


class Standing(CrowdModel):
    """Answers nonsense if told so."""

    def __init__(self, shape: float = 2.0, value: float = 0.0) -> None:
        self.shape, self.value = int(shape), value

    def velocities(self, view: Any) -> Any:
        return np.full((len(view.id), self.shape), self.value)


@pytest.fixture
def odd(announce: Announce) -> None:
    announce({"sidestep.sensors": {"odd": f"{HERE}:Odd"}, "sidestep.crowd_models": {"standing": f"{HERE}:Standing"}})


def test_any_object_reaches_a_policy_in_this_process(odd: None) -> None:
    record = drive(Looks())
    assert not record.error
    assert type(Looks.seen[0]) is object


def test_a_sensor_that_fails_is_no_failure_of_the_policy(odd: None) -> None:
    with pytest.raises(BadInput, match="sensor 'odd', asked, failed: RuntimeError: lens cap"):
        drive(Looks(), sensors={"extra": {"odd": {"mode": "raises"}}})
    with pytest.raises(BadInput, match=r"sensor 'odd' must return a map with \['odd'\]"):
        drive(Looks(), sensors={"extra": {"odd": {"mode": "nothing"}}})


def test_maps_of_arrays_reach_a_guest_and_objects_are_refused(odd: None) -> None:
    nested = {"sensors": {"extra": {"odd": {"mode": "nested"}}}}
    with GuestProcesses() as guests:
        assert not drive(guests.policy(f"{HERE}:Compares", {}, isolation=OPEN), **nested).error
        failed = drive(guests.policy(f"{HERE}:Looks", {}, isolation=OPEN))
        assert "sensor 'odd' returns a value of type object" in failed.error
    assert not drive(Compares(), **nested).error


def walking(**parameters: float) -> dict[str, Any]:
    person = {"start": [3, 0], "waypoints": [[5, 0]], "speed": 1.0}
    return {"crowd": [{"model": "standing", "people": [person], "parameters": parameters}]}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"shape": 3}, r"velocities of shape \(1, 2\), not \(1, 3\)"), ({"value": 1e308}, "not finite or no person's")],
)
def test_a_crowd_model_that_answers_nonsense_is_named(odd: None, parameters: Any, message: str) -> None:
    with pytest.raises(BadInput, match=f"crowd model 'standing' .*{message}"):
        drive(**walking(**parameters))


def test_people_of_a_plug_in_model_keep_to_their_own_speed_limit(odd: None) -> None:
    record = drive(**walking(value=30.0))
    speed = np.hypot(*record.person_velocity[-1, 0])
    assert speed == pytest.approx(1.3)  # 1.3 times the preferred speed


def test_a_plug_in_cannot_take_a_bundled_name(announce: Announce) -> None:
    announce({"sidestep.sensors": {"lidar": f"{HERE}:Odd"}})
    with pytest.raises(BadInput, match="wants the name 'lidar' in sensors"):
        registry.names("sensors")
