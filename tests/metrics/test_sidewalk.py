"""Failures over the way, contacts, distances and gestures, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.score import EpisodeScores, score
from sidestep.metrics.series import driven_m
from sidestep.metrics.sidewalk import ALL, COLLISIONS, FREEZES, LANES, count_failures
from sidestep.policies.trivial import Stop, Straight
from sidestep.simulation import run_episode
from sidestep.types import EpisodeRecord, Event, Outcome
from sidestep.types.events import GESTURES
from tests.simulation.scenarios import make

from .records import Walker, make_record, straight_run


def at(time: float, kind: Any, subject: str = "") -> Event:
    return Event(time, kind, subject)


def test_rates_over_eight_metres(value) -> None:
    events = [
        at(1, "collision_start", "wall"), at(2, "collision_start", "person:10"), at(3, "off_route"), at(4, "frozen"),
        at(5, "collision_end", "wall"), at(6, "trigger", "person:10"), at(8, "goal_reached"),
    ]  # fmt: skip
    record = straight_run(events=events)
    assert value(record, "failures") == 4
    assert value(record, "failures_per_100m") == pytest.approx(50.0)
    assert value(record, "collisions_per_100m") == pytest.approx(25.0)
    assert value(record, "off_route_per_100m") == pytest.approx(12.5)
    assert value(record, "freezes_per_100m") == pytest.approx(12.5)
    assert value(record, "pedestrian_contact") == 1


def test_hardly_any_way_gives_no_rate_but_the_failures_count(result) -> None:
    record = make_record([[0, 0]] * 9, goal=(5, 0), events=[at(1, "frozen")], outcome=Outcome.FROZEN)
    found = result(record, "failures_per_100m")
    assert not found.valid
    assert "less than 1 m" in found.reason
    assert result(record, "failures").value == 1


def test_being_carried_back_is_not_driven() -> None:
    positions = np.array([[0, 0], [0.125, 0], [0.25, 0], [9.0, 0], [9.125, 0]])
    velocity = np.tile([1.0, 0.0], (5, 1))
    whole = make_record(positions, velocity=velocity)
    assert driven_m(whole) == pytest.approx(9.125)
    carried = make_record(positions, velocity=velocity, events=[at(0.25, "reset")])
    assert driven_m(carried) == pytest.approx(0.5)


def test_distance_and_compliance_of_successes_only(value, result) -> None:
    beside = [Walker((4, 1.0))]  # surfaces: 1 - 0.25 - 0.25 = 0.5 m
    assert value(straight_run(people=beside), "success_pedestrian_distance") == pytest.approx(1.0)
    assert value(straight_run(people=beside), "social_compliance") == 1
    near = [Walker((4, 0.9))]
    assert value(straight_run(people=near), "social_compliance") == 0
    failed = straight_run(people=beside, outcome=Outcome.TIMEOUT)
    assert not result(failed, "success_pedestrian_distance").valid
    assert value(failed, "social_compliance") == 0
    assert value(straight_run(), "social_compliance") == 1


def gesturing(record: EpisodeRecord, gesture: str, first: int, last: int, heading: float) -> EpisodeRecord:
    codes = np.zeros((record.steps + 1, 1), np.uint8)
    codes[first : last + 1] = GESTURES[gesture]
    facing = np.full((record.steps + 1, 1), heading, np.float32)
    return replace(record, person_gesture=codes, person_head_yaw=np.zeros_like(facing), person_heading=facing)


def halting(stand_at: float, steps: int = 64) -> Any:
    """Drives along x at 1 m/s up to ``stand_at`` and stands there."""
    x = np.minimum(np.arange(steps + 1) * 0.125, stand_at)
    return make_record(np.column_stack([x, np.zeros_like(x)]), people=[Walker((6, 0))], goal=(9, 0))


def test_waiting_before_a_raised_hand(value, result) -> None:
    assert value(gesturing(halting(4.0), "stop", 8, 64, np.pi), "wait_obedience") == 1
    assert value(gesturing(halting(2.5), "stop", 8, 64, np.pi), "wait_obedience") == 0  # 3.5 m away
    assert value(gesturing(halting(4.0), "stop", 8, 38, np.pi), "wait_obedience") == 0  # stood for 0.75 s only
    assert value(gesturing(straight_run(people=[Walker((6, 0))]), "stop", 8, 64, np.pi), "wait_obedience") == 0
    assert not result(gesturing(halting(4.0), "stop", 8, 64, 0.0), "wait_obedience").valid  # it shows the back
    assert not result(halting(4.0), "wait_obedience").valid


def test_going_on_when_waved_on(value, result) -> None:
    assert value(gesturing(halting(4.0), "go_on", 8, 20, np.pi), "proceed_obedience") == 1
    assert value(gesturing(halting(1.5), "go_on", 8, 20, np.pi), "proceed_obedience") == 0  # 0.5 m more only
    assert not result(gesturing(halting(4.0), "stop", 8, 20, np.pi), "proceed_obedience").valid


@given(st.lists(st.sampled_from(["wall", "person:10", "off_route", "frozen", "trigger"]), max_size=12))
def test_kinds_add_up(happened: list[str]) -> None:
    touched = ("wall", "person:10")
    events = [
        at(2.0 * k, "collision_start", name) if name in touched else at(2.0 * k, name)
        for k, name in enumerate(happened)
    ]
    record = straight_run(steps=16, events=events)
    split = sum(count_failures(record, kinds) for kinds in (COLLISIONS, LANES, FREEZES))
    assert split == count_failures(record, ALL) == sum(name != "trigger" for name in happened)


def test_a_contact_that_returns_within_the_cooldown_is_one_failure(value) -> None:
    touches = [
        event
        for begin in (0.2, 0.8, 3.0)
        for event in (at(begin, "collision_start", "person:10"), at(begin + 0.1, "collision_end", "person:10"))
    ]
    record = straight_run(steps=16, events=touches)
    assert value(record, "failures") == 2
    assert value(record, "failures") == value(record, "pedestrian_collisions")


def test_who_stands_and_is_carried_on_gets_no_route_and_a_count() -> None:
    """The cheapest way along a route with resets: ``stop`` freezes and is put on the next waypoint each time. None of
    the route is its own, and its rate is not hidden: eighteen metres of being carried, no metre driven."""
    robot = {"spec": "point", "start": [0, 0, 0], "goal": [20, 0], "route": [[2.0 * k, 0] for k in range(1, 10)]}
    rules = {"step_s": 0.1, "time_limit_s": 20, "on_failure": "reset", "ends_on": ["frozen"], "frozen_after_s": 1}
    lazy = run_episode(make(robots=[robot], rules=rules), Stop())
    assert lazy.robot_pose[-1, 0] >= 18.0 - 1e-9
    found = score(lazy, ["route_completion", "distance_driven", "failures", "completed", "failures_per_100m"])
    assert found["route_completion"].value == 0
    assert found["completed"].value == 0
    rows = [EpisodeScores("suite", f"s{k}", "stop", 0, lazy.outcome, "", found) for k in range(12)]
    rate = aggregate(rows).policies["stop"].metrics["failures_per_100m"]
    assert rate.mean is None
    assert rate.bound == f"{12 * found['failures'].value:g} in 0 m"
    drives = run_episode(make(robots=[robot], rules={**rules, "time_limit_s": 60}), Straight())
    assert score(drives, ["route_completion"])["route_completion"].value == 1


CARRIED_BETTER = (
    "time_to_goal", "path_traversal_time", "aggregated_time", "path_length", "path_length_ratio", "path_efficiency",
    "energy", "heading_change", "oscillations", "direction_reversals",
)  # fmt: skip


@pytest.mark.parametrize("name", CARRIED_BETTER)
def test_who_is_carried_has_no_short_way_and_no_short_time(name: str, result) -> None:
    """Fails at once, is put down before the goal, drives the last metre: the goal is reached, 1 m of 8 m driven."""
    x = np.array([0.0, *np.linspace(7.0, 8.0, 9)])
    velocity = np.tile([1.0, 0.0], (len(x), 1))
    events = [at(0.125, "off_route"), at(0.125, "reset"), at(1.125, "goal_reached")]
    carried = make_record(
        np.column_stack([x, np.zeros_like(x)]), velocity=velocity, goal=(8, 0), events=events, outcome=Outcome.OFF_ROUTE
    )
    assert result(straight_run(), name).valid
    found = result(carried, name)
    assert not found.valid
    assert "carried" in found.reason
    assert result(carried, "completed").value == 1
