"""The episode loop: outcomes, events, timing modes, and policies that break."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop, Straight
from sidestep.simulation import begin_episode, run_episode
from sidestep.types import Drive, HolonomicVelocity, Observation, Outcome, Position, Task, Velocity, Waypoints
from tests.simulation.scenarios import crossing, make, room


class Scripted:
    """A policy that answers with ``answer(observation)``."""

    needs: ClassVar[frozenset[str]] = frozenset({"goal", "pedestrians"})

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Any:
        return self._answer(observation)


def kinds(record: Any) -> list[str]:
    return [event.kind for event in record.events]


def test_straight_reaches_the_goal_in_the_time_that_arithmetic_says() -> None:
    record = run_episode(make(), Straight())
    assert record.outcome is Outcome.SUCCESS
    assert record.robot.limits.max_speed == 1.0
    assert record.duration == pytest.approx(9.8)  # 10 m less the goal radius of 0.3 m, at 1 m/s, in steps of 0.1 s
    np.testing.assert_allclose(record.robot_pose[:, 0], 0.0, atol=1e-9)
    assert kinds(record) == ["goal_reached"]


def test_an_episode_before_its_first_step_needs_no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.simulation.worlds.compile_for", lambda *_: pytest.fail("a step was compiled"))
    begun = begin_episode(crossing(), Stop(), seed=3)
    monkeypatch.undo()
    run = run_episode(crossing(), Stop(), seed=3)
    assert begun.time.tolist() == [0.0]
    assert np.array_equal(begun.robot_pose, run.robot_pose[:1])
    assert np.array_equal(begun.person_position, run.person_position[:1], equal_nan=True)


def test_standing_still_is_a_timeout_at_the_limit() -> None:
    record = run_episode(make(), Stop())
    assert record.outcome is Outcome.TIMEOUT
    assert record.steps == 200
    assert record.duration == pytest.approx(20.0)


def test_a_person_in_the_way_is_a_collision_and_the_episode_goes_on() -> None:
    person = {"start": [0, 0], "radius": 0.25}
    record = run_episode(make(crowd=[{"model": "static", "people": [person]}]), Straight())
    assert record.outcome is Outcome.PEDESTRIAN_COLLISION
    assert kinds(record) == ["collision_start", "collision_end", "goal_reached"]
    start = record.events[0]
    assert start.subject == "person:0"
    assert start.time == pytest.approx(5.0 - 0.25 - 0.3, abs=1e-5)  # centres meet at 5 s; radii 0.25 and 0.3 m


def test_ends_on_pedestrian_collision_if_the_rules_say_so() -> None:
    rules = {"step_s": 0.1, "time_limit_s": 20, "ends_on": ["success", "timeout", "pedestrian_collision"]}
    record = run_episode(make(crowd=[{"model": "static", "people": [{"start": [0, 0]}]}], rules=rules), Straight())
    assert record.duration == pytest.approx(4.5)
    assert "goal_reached" not in kinds(record)


def test_collision_outranks_timeout_and_goal() -> None:
    slow = Scripted(lambda observation: HolonomicVelocity(0.0, 0.3))
    record = run_episode(make(crowd=[{"model": "static", "people": [{"start": [0, -3]}]}]), slow)
    assert "timeout" in kinds(record)
    assert record.outcome is Outcome.PEDESTRIAN_COLLISION


def test_swept_collision_catches_a_fast_pass_between_two_steps() -> None:
    """A 3 m/s pass at dt = 0.5 s that neither end of the step shows."""
    passer = {"start": [-3.75, -5.0], "waypoints": [[20, -5.0]], "speed": 3.0, "radius": 0.2}
    part = {"model": "social_force_helbing", "sees_robot": False, "people": [passer]}
    rules = {"step_s": 0.5, "time_limit_s": 4}
    record = run_episode(make(crowd=[part], rules=rules), Stop())
    gaps = np.hypot(*(record.person_position[:, 0] - record.robot_pose[:, :2]).T) - 0.5
    assert (gaps > 0).all(), "the test must be one that sampling at the steps would miss"
    assert record.outcome is Outcome.PEDESTRIAN_COLLISION
    assert [event.kind for event in record.events][:2] == ["collision_start", "collision_end"]


def test_a_wall_stops_the_robot_and_ends_the_episode() -> None:
    scenario = make(scene=room(), robots=[{"spec": "point", "start": [-2, 0, 0], "goal": [2, 0]}])
    record = run_episode(scenario, Straight())
    assert record.outcome is Outcome.ENVIRONMENT_COLLISION
    assert record.events[-1].subject == "wall"
    assert record.robot_pose[-1, 0] < -0.5 - 0.29


def test_frozen_when_the_rules_ask_for_it() -> None:
    outcomes = ["success", "timeout", "frozen"]
    rules = {"step_s": 0.1, "time_limit_s": 20, "frozen_after_s": 3, "ends_on": outcomes}
    record = run_episode(make(rules=rules), Stop())
    assert record.outcome is Outcome.FROZEN
    assert record.duration == pytest.approx(3.0)


def test_limits_are_applied_and_recorded() -> None:
    fast = Scripted(lambda observation: HolonomicVelocity(0.0, 9.0))
    record = run_episode(make(), fast)
    assert np.hypot(*record.robot_velocity[1:, :2].T).max() <= 1.0 + 1e-9
    assert record.limited.all()
    assert ("limit_start", "speed") in [(event.kind, event.subject) for event in record.events]
    assert (record.command[:, 0] == 1).all()
    assert (record.command[:, 2] == 9.0).all()


def test_control_rate_may_be_lower_than_the_simulation_rate() -> None:
    rules = {"step_s": 0.05, "time_limit_s": 20, "control_every": 4}
    record = run_episode(make(rules=rules), Straight())
    asked = np.isfinite(record.planning_time)
    assert asked[::4].all()
    assert asked.sum() == len(asked[::4])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda observation: 1 / 0, "ZeroDivisionError"),
        (lambda observation: HolonomicVelocity(float("nan"), 0.0), "finite"),
        (lambda observation: None, "NoneType"),
        (lambda observation: (1.0, 2.0), "tuple"),
        (lambda observation: Velocity(float("inf"), 0.0), "finite"),
        (lambda observation: observation.lidar.ranges, "AttributeError"),
        (lambda observation: Position(1e200, 0.0), r"Position.x is 1e+200; numbers of a command are at most 1e+06"),
        (lambda observation: Velocity(1e308, 0.0), "at most 1e+06"),
        (lambda observation: Waypoints(np.array([[0.0, -1e7]])), "beyond 1e+06"),
        (lambda observation: _raise(KeyboardInterrupt("by a policy")), "KeyboardInterrupt: by a policy"),
        (lambda observation: _raise(ValueError("\0\x1b[31mred\ud800" + 9999 * "x")), "ValueError: red?xxx"),
    ],
)
def test_a_policy_that_breaks_is_a_counted_failure(answer: Any, words: str) -> None:
    record = run_episode(make(), Scripted(answer))
    assert record.outcome is Outcome.POLICY_ERROR
    assert words in record.error
    assert record.steps == 0
    assert len(record.digest) == 64


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("dynamics", ["holonomic", "unicycle"])
def test_the_largest_commands_leave_a_finite_world(dynamics: str) -> None:
    robots = [{"spec": "point", "start": [0, 0, 0], "goal": [0, 5], "dynamics": dynamics}]
    scenario = make(robots=robots, rules={"step_s": 0.1, "time_limit_s": 1})
    for command in (Position(1e6, -1e6), Velocity(-1e6, 1e6), HolonomicVelocity(1e6, 1e6), Drive(1e6, 1e6, -1e6)):
        record = run_episode(scenario, Scripted(lambda observation, command=command: command))
        assert not record.error
        assert np.isfinite(record.robot_pose).all()


def test_a_pose_that_is_not_finite_is_a_policy_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should a command ever get through that leads to one."""
    monkeypatch.setattr("sidestep.simulation.loop.CommandConverter.to_native", lambda *_, **__: (float("nan"), 0.0))
    record = run_episode(make(), Straight())
    assert record.outcome is Outcome.POLICY_ERROR
    assert "not finite" in record.error
    assert np.isfinite(record.robot_pose).all()


def test_a_policy_that_breaks_late_keeps_what_was_driven() -> None:
    def answer(observation: Observation) -> HolonomicVelocity:
        if observation.time > 0.95:
            raise RuntimeError("boom")
        return HolonomicVelocity(0.0, 1.0)

    record = run_episode(make(), Scripted(answer))
    assert record.outcome is Outcome.POLICY_ERROR
    assert record.steps == 10
    assert record.error == "RuntimeError: boom"


def test_a_policy_that_sleeps_past_its_limit_costs_it_the_episode() -> None:
    begun = time.perf_counter()
    record = run_episode(make(), Scripted(lambda observation: time.sleep(30)), act_limit_s=0.2)
    assert time.perf_counter() - begun < 10
    assert record.outcome is Outcome.POLICY_ERROR
    assert "0.2 s" in record.error


def test_reset_that_raises_is_a_policy_error() -> None:
    class Broken(Straight):
        def reset(self, task: Task) -> None:
            raise ValueError("no weights")

    record = run_episode(make(), Broken())
    assert record.outcome is Outcome.POLICY_ERROR
    assert "no weights" in record.error


def test_a_policy_gets_what_it_needs_and_nothing_else() -> None:
    seen: list[Observation] = []

    def answer(observation: Observation) -> HolonomicVelocity:
        seen.append(observation)
        return HolonomicVelocity(0.0, 1.0)

    run_episode(crossing(3), Scripted(answer))
    assert seen[0].pedestrians is not None
    assert len(seen[0].pedestrians) == 3
    assert seen[0].goal == (0.0, 5.0)
    assert seen[0].lidar is None
    assert seen[0].history is None


def test_unknown_needs_are_named() -> None:
    class Wants(Straight):
        needs: ClassVar[frozenset[str]] = frozenset({"pedestrian"})

    with pytest.raises(BadInput, match="did you mean 'pedestrians'"):
        run_episode(make(), Wants())


def test_latency_delays_every_command_by_the_stated_time() -> None:
    record = run_episode(make(), Straight(), mode="latency", latency_s=0.5)
    assert record.mode == "latency"
    assert (record.command[:5, 0] == -1).all()
    np.testing.assert_allclose(record.robot_pose[5, :2], [0.0, -5.0])
    assert record.command[5, 0] == 1
    asked = np.flatnonzero(np.isfinite(record.planning_time))
    assert asked[:3].tolist() == [0, 6, 12]  # asked again only after the last answer took effect


def test_zero_latency_is_synchronous() -> None:
    sync = run_episode(crossing(), Straight())
    latency = run_episode(crossing(), Straight(), mode="latency", latency_s=0.0)
    assert replace(latency, mode="sync").digest == sync.digest


def test_async_runs_on_the_wall_clock_and_holds_the_last_command() -> None:
    def answer(observation: Observation) -> HolonomicVelocity:
        time.sleep(0.12)
        return HolonomicVelocity(0.0, 1.0)

    rules = {"step_s": 0.05, "time_limit_s": 0.6}
    begun = time.perf_counter()
    record = run_episode(make(rules=rules), Scripted(answer), mode="async")
    assert 0.5 < time.perf_counter() - begun < 3.0
    assert record.mode == "async"
    assert record.command[0, 0] == -1
    assert (record.command[-3:, 0] == 1).all()
    assert 1 <= np.isfinite(record.planning_time).sum() <= 5
