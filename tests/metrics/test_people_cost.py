"""What the robot costs people: cases computed on paper, properties, and reasons for no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.metrics import people_cost as cost
from sidestep.metrics.score import score
from sidestep.types import EpisodeRecord, Event
from sidestep.types.base import FloatArray
from sidestep.types.behaviour import CHOOSES
from sidestep.types.outcome import Outcome
from sidestep.types.scenario import CrowdPart

from .records import STEP_S, Walker, line, make_record
from .test_all_metrics import random_record

STEPS = 64
NAMES = [
    "delay_mean_s", "delay_max_s", "detour_mean_m", "extra_stops", "speed_loss", "affected_people", "closest_approach",
]  # fmt: skip
WALK = line((0, 0), (1, 0), STEPS)
"""8 m in 8 s."""


def compared(people: Sequence[Any], without: Sequence[Any], **options: Any) -> EpisodeRecord:
    """A robot that stands at (0, 5) among ``people``, and its counterfactual with the people ``without`` it."""
    walkers = [[p if isinstance(p, Walker) else Walker(p) for p in each] for each in (people, without)]
    here, counterfactual = (make_record([(0.0, 5.0)] * (STEPS + 1), people=each, **options) for each in walkers)
    return replace(here, counterfactual=counterfactual)


def values(record: EpisodeRecord) -> dict[str, float]:
    """All metrics of the family, which must be valid."""
    found = score(record, NAMES)
    assert all(result.valid for result in found.values()), found
    return {name: result.value for name, result in found.items()}


def path(*moves: tuple[float, float, int]) -> FloatArray:
    """Positions from the origin on: so many steps at each velocity."""
    steps = [np.tile((vx * STEP_S, vy * STEP_S), (count, 1)) for vx, vy, count in moves]
    return np.concatenate([np.zeros((1, 2)), np.cumsum(np.concatenate(steps), axis=0)])


def test_somebody_who_waits_two_seconds_is_two_seconds_late() -> None:
    found = values(compared([path((1, 0, 8), (0, 0, 16), (1, 0, 40))], [WALK]))
    assert found == pytest.approx(
        {
            "delay_mean_s": 2.0, "delay_max_s": 2.0, "detour_mean_m": 0.0, "extra_stops": 1.0,
            "speed_loss": 8 / 8 - 6 / 8, "affected_people": 1.0, "closest_approach": 4.5,
        }
    )  # fmt: skip


def test_a_robot_that_fails_early_does_not_look_considerate() -> None:
    record = compared([WALK], [WALK])
    failed = replace(record, outcome=Outcome.PEDESTRIAN_COLLISION)
    assert failed.duration < failed.scenario.rules.time_limit_s
    assert {result.reason for result in score(failed, NAMES).values()} == {cost.FAILED_EARLY}
    for outcome in (Outcome.SUCCESS, Outcome.TIMEOUT):
        assert values(replace(record, outcome=outcome))["delay_mean_s"] == 0.0


def test_a_way_round_is_a_detour_and_no_stop() -> None:
    found = values(compared([path((0, 1, 8), (0, -1, 8), (1, 0, 48))], [WALK]))
    assert found["detour_mean_m"] == pytest.approx(2.0)  # 8 m walked, of which 6 m along the path
    assert found["delay_mean_s"] == pytest.approx(2.0)
    assert (found["extra_stops"], found["affected_people"]) == (0.0, 1.0)
    assert found["speed_loss"] == pytest.approx(0.0, abs=1e-6)


def test_somebody_who_turns_back_loses_everything() -> None:
    found = values(compared([path((1, 0, 32), (-1, 0, 32))], [WALK]))
    assert found["delay_mean_s"] == pytest.approx(8.0)
    assert found["detour_mean_m"] == pytest.approx(8.0)


def test_a_step_aside_costs_no_time_but_affects() -> None:
    aside = WALK + np.array([0.0, 0.2])
    found = values(compared([aside, line((0, -3), (1, 0), STEPS)], [WALK, line((0, -3), (1, 0), STEPS)]))
    assert (found["delay_max_s"], found["affected_people"]) == (0.0, 0.5)


@pytest.mark.parametrize(("aside", "affected"), [(0.09, 0.0), (0.11, 1.0)])
def test_the_threshold_of_being_affected(aside: float, affected: float) -> None:
    assert values(compared([WALK + np.array([0.0, aside])], [WALK]))["affected_people"] == affected


def test_time_to_the_end_of_the_walk() -> None:
    late = path((1, 0, 8), (0, 0, 8), (1, 0, 48))
    states = np.arange(STEPS + 1)
    left = compared([Walker(late, present=states <= 48)], [Walker(WALK, present=states <= 40)])
    assert values(left)["delay_mean_s"] == pytest.approx(1.0)
    assert values(left)["detour_mean_m"] == pytest.approx(0.0)
    stays = compared([Walker(late)], [Walker(WALK, present=states <= 40)])  # the walk ends at 5 m, reached after 6 s
    assert values(stays)["delay_mean_s"] == pytest.approx(8.0 - 5.0)


def test_somebody_who_is_kept_out_is_late_from_the_start() -> None:
    states = np.arange(STEPS + 1)
    out = compared([Walker(WALK, present=False)], [Walker(WALK, present=states >= 8)])
    found = score(out, NAMES)
    assert found["delay_mean_s"].value == pytest.approx(7.0)
    assert found["affected_people"].value == 1.0
    assert not found["closest_approach"].valid


def test_being_early_makes_up_for_nobody() -> None:
    early, late = line((0, 0), (1.25, 0), STEPS), path((0, 0, 16), (1, 0, 48))
    found = values(compared([early, late + np.array([0.0, -3.0])], [WALK, WALK + np.array([0.0, -3.0])]))
    assert found["delay_mean_s"] == pytest.approx((0.0 + 2.0) / 2)
    assert found["detour_mean_m"] == pytest.approx(0.0, abs=1e-6)


def test_stops_that_people_make_anyway_do_not_count() -> None:
    waits = path((1, 0, 16), (0, 0, 16), (1, 0, 32))
    twice = path((1, 0, 8), (0, 0, 8), (1, 0, 8), (0, 0, 16), (1, 0, 24))
    assert values(compared([waits], [waits]))["extra_stops"] == 0.0
    assert values(compared([twice], [waits]))["extra_stops"] == 1.0
    short = path((1, 0, 8), (0, 0, 3), (1, 0, 53))  # 0.375 s
    assert values(compared([short], [WALK]))["extra_stops"] == 0.0


def test_somebody_who_stands_and_is_pushed_is_not_late() -> None:
    pushed = path((0, 0.5, 4), (0, 0, 60))
    assert values(compared([pushed], [path((0, 0, 64))]))["delay_mean_s"] <= 0.25 / cost.STOPPED_MPS
    shuffled = path((0.1, 0, 8), (-0.1, 0, 8), (0, 0, 48))
    assert values(compared([path((0, 0, 64))], [shuffled]))["delay_mean_s"] == 0.0


def test_people_who_walk_to_and_fro_are_not_taken_for_early_ones() -> None:
    round_trip = path((1, 0, 24), (-1, 0, 24), (1, 0, 16))
    late = path((0, 0, 12), (1, 0, 24), (-1, 0, 24), (1, 0, 4))
    assert values(compared([late], [round_trip]))["delay_mean_s"] == pytest.approx(1.5)
    aside = late + np.array([0.0, 0.4])
    assert values(compared([aside], [round_trip]))["delay_mean_s"] == pytest.approx(1.5)
    assert values(compared([aside], [round_trip]))["detour_mean_m"] == pytest.approx(np.hypot(1.5, 0.4) - 1.5)


def test_people_are_matched_by_their_number() -> None:
    a, b = WALK, line((0, -3), (0.5, 0), STEPS)
    record = compared([a, b], [b, a])
    counterfactual = record.counterfactual
    assert counterfactual is not None
    swapped = replace(record, counterfactual=replace(counterfactual, person_id=counterfactual.person_id[::-1]))
    assert values(swapped)["affected_people"] == 0.0
    assert values(record)["affected_people"] == 1.0


def test_a_longer_counterfactual_says_the_same() -> None:
    late = path((1, 0, 8), (0, 0, 16), (1, 0, 40))
    record = compared([late], [WALK])
    longer = make_record([(0.0, 5.0)] * 101, people=[Walker(line((0, 0), (1, 0), 100))])
    assert values(record) == values(replace(record, counterfactual=longer))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_robot_that_changes_nothing_costs_nothing(seed: int) -> None:
    record = random_record(seed)
    costs = cost.people_costs(replace(record, counterfactual=record))[: cost.CLOSEST]
    assert np.nanmax(costs) == 0.0


@settings(max_examples=25, deadline=None)
@given(first=st.integers(0, 20), pause=st.integers(0, 20), more=st.integers(0, 20))
def test_who_waits_longer_is_later(first: int, pause: int, more: int) -> None:
    def waiting(steps: int) -> FloatArray:
        return path((1, 0, first), (0, 0, steps), (1, 0, STEPS - first - steps))

    found = [values(compared([waiting(steps)], [WALK])) for steps in (pause, pause + more)]
    assert found[0]["delay_mean_s"] <= found[1]["delay_mean_s"] + 1e-9
    assert found[0]["speed_loss"] <= found[1]["speed_loss"] + 1e-6
    assert found[1]["delay_mean_s"] == pytest.approx((pause + more) * STEP_S)


def drawn(record: EpisodeRecord, chooses_s: float | None) -> EpisodeRecord:
    """The record with people who draw their destinations, the first of them at ``chooses_s`` without the robot."""
    node = {"nodes": [{"name": "a", "at": [0, 0]}, {"name": "b", "at": [9, 0]}], "edges": [["a", "b"]]}
    part = CrowdPart.parse({"placement": {"kind": "behaviour", "count": 1, "graph": node}}, "test")
    scenario = record.scenario.model_copy(update={"crowd": (part,)})
    assert record.counterfactual is not None
    events = () if chooses_s is None else (Event(chooses_s, "trigger", "person:10", text=CHOOSES),)
    return replace(
        record, scenario=scenario, counterfactual=replace(record.counterfactual, scenario=scenario, events=events)
    )


def test_people_who_draw_destinations_are_compared_up_to_the_first() -> None:
    late = path((1, 0, 8), (0, 0, 8), (1, 0, 16), (-1, 0, 32))  # to 3 m, 1 s late, and back to where it came from
    without = path((1, 0, 24), (0, 1, 40))
    there = drawn(compared([late], [without]), 3.0)
    assert values(there)["delay_mean_s"] == pytest.approx(1.0)
    assert values(there)["detour_mean_m"] == pytest.approx(0.0)
    strays = drawn(compared([path((1, 0, 8), (0, -1, 56))], [WALK]), None)
    assert values(strays)["delay_mean_s"] == pytest.approx(3.0, abs=0.3)  # until it is 3 m off the path


@pytest.mark.parametrize(
    ("models", "reason"),
    [(("script",), cost.SCRIPTED), (("replay",), cost.REPLAYED), (("static",), cost.NOBODY)],
)
def test_people_who_cannot_be_compared(models: tuple[str, ...], reason: str) -> None:
    record = replace(compared([WALK], [WALK]), person_model=models)
    assert {result.reason for result in score(record, NAMES).values()} == {reason}


def test_only_people_who_react_count() -> None:
    late = path((0, 0, 16), (1, 0, 48))
    record = replace(compared([late, WALK], [WALK, WALK]), person_model=("orca", "script"))
    assert values(record)["affected_people"] == 1.0


def test_without_a_fitting_counterfactual_there_is_no_value() -> None:
    record = compared([WALK], [WALK])
    counterfactual = record.counterfactual
    assert counterfactual is not None
    short = make_record([(0.0, 5.0)] * STEPS, people=[Walker(WALK[:-1])])
    for wrong, reason in (
        (None, cost.NO_COUNTERFACTUAL),
        (short, cost.SHORT_COUNTERFACTUAL),
        (replace(counterfactual, seed=1), cost.OTHER_COUNTERFACTUAL),
        (make_record([(0.0, 5.0)] * (STEPS + 1)), cost.OTHER_COUNTERFACTUAL),
    ):
        found = score(replace(record, counterfactual=wrong), NAMES)
        assert {result.reason for result in found.values()} == {reason}


def test_people_who_do_not_see_the_robot_have_no_cost() -> None:
    record = compared([WALK], [WALK])
    part = CrowdPart.parse({"sees_robot": False, "people": [{"start": [0, 0]}]}, "test")
    scenario = record.scenario.model_copy(update={"crowd": (part,)})
    assert record.counterfactual is not None
    blind = replace(record, scenario=scenario, counterfactual=replace(record.counterfactual, scenario=scenario))
    assert score(blind, NAMES)["delay_mean_s"].reason == cost.UNSEEING


def test_the_counterfactual_is_no_part_of_the_digest() -> None:
    record = compared([WALK], [WALK])
    assert record.digest == replace(record, counterfactual=None).digest
