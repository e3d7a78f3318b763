"""What a policy publishes of its plans is kept, and whatever is wrong with it costs nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.policies.mpc.policy import Mpc
from sidestep.policies.oracle import Oracle
from sidestep.policies.sampling.policy import Sampling
from sidestep.simulation import run_episode
from sidestep.simulation.intent import MOST_PEOPLE, Intent, IntentLog, published
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, HolonomicVelocity, Observation, Scenario, Task
from sidestep.types.record import MOST_PLAN_POINTS


def circle() -> Scenario:
    scenario = next(s for s in load_suite("core").scenarios() if s.name == "circle-crossing")
    return scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": 4.0})})


class Telling:
    """Stands, and publishes what ``tell`` says at that time."""

    name = "telling"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians"})

    def __init__(self, tell: Any) -> None:
        self._tell = tell

    def reset(self, task: Task) -> None:
        self.plan, self.forecast, self.plan_step_s = None, None, 0.5

    def act(self, observation: Observation) -> HolonomicVelocity:
        self._tell(self, observation)
        return HolonomicVelocity(0.0, 0.0)


def told(tell: Any) -> EpisodeRecord:
    return run_episode(circle(), Telling(tell), seed=0)


def test_who_publishes_nothing_leaves_nothing() -> None:
    record = told(lambda policy, observation: None)
    assert len(record.plans) == 0
    assert len(record.plans.plan_at(5)) == 0
    assert record.plans.forecasts_at(5)[1].shape == (0, 0, 2)


def test_plans_and_forecasts_are_kept_five_times_a_second_and_are_no_part_of_the_digest() -> None:
    def tell(policy: Any, observation: Observation) -> None:
        policy.plan = np.array([[observation.time, 1.0], [observation.time, 2.0]])
        people = observation.pedestrians
        policy.forecast = people.id, people.position[:, None] + np.arange(3)[None, :, None]

    silent, record = told(lambda policy, observation: None), told(tell)
    assert record.digest == silent.digest
    plans = record.plans
    assert plans.step_s == 0.5
    assert np.diff(record.time[plans.step]) == pytest.approx(0.2)
    assert plans.plan_at(6) == pytest.approx(
        np.array([[0.2, 1.0], [0.2, 2.0]]), abs=1e-3
    )  # holds from step 4 to step 8
    who, where = plans.forecasts_at(6)
    assert who.tolist() == list(range(len(record.person_id)))
    assert where[:, 1] == pytest.approx(record.person_position[4] + 1.0, abs=1e-3)


class Broken:
    plan_step_s = 0.5

    @property
    def plan(self) -> Any:
        raise RuntimeError("no plan today")


@pytest.mark.parametrize(
    ("plan", "step_s"),
    [
        (np.array([[0.0, np.nan]]), 0.5), (np.zeros((3, 3)), 0.5), (np.zeros(2), 0.5), (np.zeros((0, 2)), 0.5),
        ([[1.0, 2.0], [3.0]], 0.5), ("straight on", 0.5), (np.full((2, 2), 1e300), 0.5), (object(), 0.5),
        (np.zeros((2, 2)), 0.0), (np.zeros((2, 2)), np.nan), (np.zeros((2, 2)), "soon"), (np.zeros((2, 2)), None),
    ],
)  # fmt: skip
def test_nonsense_is_left_out(plan: Any, step_s: Any) -> None:
    policy = type("Odd", (), {"plan": plan, "plan_step_s": step_s, "forecast": (1, 2, 3)})()
    assert len(published(policy).plan) == 0
    assert len(published(policy).people) == 0


def test_a_plan_that_raises_is_left_out_and_long_ones_are_cut_off() -> None:
    assert len(published(Broken()).plan) == 0
    long = type("Long", (), {"plan": np.zeros((99, 2)), "plan_step_s": 0.1, "forecast": None})()
    assert published(long).plan.shape == (MOST_PLAN_POINTS, 2)


def test_forecasts_of_strangers_and_with_holes_are_left_out() -> None:
    where = np.zeros((3, 2, 2))
    where[1, 1, 0] = np.nan
    policy = type("Seer", (), {"plan": None, "plan_step_s": 0.1, "forecast": ([7, 8, 99], where)})()
    log = IntentLog(np.array([5, 7, 8]))
    log.note(0, published(policy), np.zeros(2))
    assert log.plans().forecast_person.tolist() == [1]


def test_a_plan_ends_when_it_is_withdrawn() -> None:
    def tell(policy: Any, observation: Observation) -> None:
        policy.plan = [[1.0, 2.0]] if observation.time < 1.0 else None

    plans = told(tell).plans
    assert len(plans.plan_at(19)) == 1
    assert len(plans.plan_at(20)) == 0
    assert plans.step.tolist() == [0, 4, 8, 12, 16, 20]  # what is withdrawn once is not withdrawn again


def test_only_the_nearest_people_are_kept() -> None:
    count = MOST_PEOPLE + 10
    where = np.arange(count, dtype=float)[::-1, None, None] * np.ones((1, 4, 2))
    log = IntentLog(np.arange(count))
    log.note(0, Intent(0.5, np.zeros((1, 2), np.float32), np.arange(count), where.astype(np.float32)), np.zeros(2))
    assert log.plans().forecast_person.tolist() == list(range(10, count))


@pytest.mark.parametrize("policy", [Mpc, Sampling, Oracle])
def test_bundled_planners_go_where_they_said(policy: Any) -> None:
    record = run_episode(circle(), policy(), seed=1)
    plans = record.plans
    assert len(plans) == -(-record.steps // 4)
    ahead = round(plans.step_s / record.step_s)
    rows = [row for row, step in enumerate(plans.step) if step + ahead < record.steps]
    missed = [np.hypot(*(plans.robot[row, 0] - record.robot_pose[plans.step[row] + ahead, :2])) for row in rows]
    assert np.median(missed) < 0.1
    assert (len(plans.people) > 0) == (policy is Mpc)


def test_mpc_expects_people_where_they_walk() -> None:
    record = run_episode(circle(), Mpc(), seed=1)
    who, where = record.plans.forecasts_at(0)
    ahead = round(record.plans.step_s / record.step_s)
    assert where[:, 0] == pytest.approx(record.person_position[ahead, who], abs=0.3)
