"""Episodes without the robot: the same people, in its absence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sidestep.metrics.people_cost import AFFECTED, CLOSEST, DELAY, DETOUR, people_costs
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.counterfactual import run_counterfactual
from sidestep.types import EpisodeRecord, HolonomicVelocity, Scenario
from tests.simulation.scenarios import crossing, make

DOORWAY = {
    "name": "doorway",
    "regions": [
        {"kind": "obstacle", "polygon": [[-0.2, 0.6], [0.2, 0.6], [0.2, 6], [-0.2, 6]]},
        {"kind": "obstacle", "polygon": [[-0.2, -6], [0.2, -6], [0.2, -0.6], [-0.2, -0.6]]},
    ],
}


def through_the_door(robot: tuple[float, float], **changes: Any) -> Scenario:
    """Three people who walk through a door of 1.2 m, and a robot that starts at ``robot``."""
    people = [{"start": [-3 - k, 0], "waypoints": [[0, 0], [4, 0]]} for k in range(3)]
    place = {"spec": "pioneer_3dx", "start": [*robot, 0], "goal": [9, 9]}
    crowd = [{"model": "orca", "at_end": "leave", "people": people}]
    rules = {"step_s": 0.1, "time_limit_s": 15, "success": "goal", **changes}
    return make(scene=DOORWAY, robots=[place], crowd=crowd, rules=rules)


def with_counterfactual(scenario: Scenario, policy: Any = None, seed: int = 0) -> EpisodeRecord:
    record = run_episode(scenario, policy or Stop(), seed=seed)
    return replace(record, counterfactual=run_counterfactual(scenario, seed, record.steps))


def test_a_robot_that_nobody_meets_costs_nothing() -> None:
    record = with_counterfactual(through_the_door((8.0, 8.0)))
    assert record.counterfactual is not None
    assert np.array_equal(record.person_position, record.counterfactual.person_position, equal_nan=True)
    assert not people_costs(record)[:CLOSEST].any()
    assert np.isnan(record.counterfactual.robot_pose).all()


def test_a_robot_that_stands_in_the_door_costs_everybody() -> None:
    record = with_counterfactual(through_the_door((0.0, 0.0)))
    costs = people_costs(record)
    assert (costs[DELAY] > 2.0).all()
    assert costs[AFFECTED].all()
    assert costs[CLOSEST].min() < 0.3


class Hides(Stop):
    """Stands in the door for 6 s and then drives away from everybody."""

    dynamics = "holonomic"

    def act(self, observation: Any) -> HolonomicVelocity:
        """Wait, then away."""
        return HolonomicVelocity(0.0, 0.0) if observation.time < 6.0 else HolonomicVelocity(0.5, 1.0)


def test_a_robot_that_hides_afterwards_has_cost_as_much() -> None:
    record = with_counterfactual(through_the_door((0.0, 0.0)), Hides())
    assert people_costs(record)[DELAY].max() > 1.0


def test_a_person_who_meets_the_robot_walks_farther() -> None:
    part = {"model": "orca", "people": [{"start": [-4, 0.05], "waypoints": [[4, 0.05]]}]}
    place = {"spec": "pioneer_3dx", "start": [0, 0, 0], "goal": [9, 9]}
    costs = people_costs(
        with_counterfactual(make(crowd=[part], robots=[place], rules={"step_s": 0.1, "time_limit_s": 6}))
    )
    assert costs[DETOUR, 0] > 0.02
    assert costs[AFFECTED, 0] == 1.0


@pytest.mark.parametrize("model", ["orca", "social_force_helbing", "social_force_moussaid"])
def test_a_longer_counterfactual_begins_like_a_shorter_one(model: str) -> None:
    scenario = crossing(6, model)
    short, long = run_counterfactual(scenario, 3, 40), run_counterfactual(scenario, 3, 90)
    assert (short.steps, long.steps) == (40, 90)
    assert np.array_equal(short.person_position, long.person_position[:41], equal_nan=True)


def test_the_robots_place_and_kind_do_not_matter() -> None:
    here, there = (run_counterfactual(through_the_door(place), 0, 60) for place in ((8.0, 8.0), (-8.0, 8.0)))
    assert np.array_equal(here.person_position, there.person_position, equal_nan=True)


def test_a_counterfactual_ends_at_the_time_limit() -> None:
    assert run_counterfactual(crossing(2), 0).steps == run_counterfactual(crossing(2), 0, 10_000).steps == 200
