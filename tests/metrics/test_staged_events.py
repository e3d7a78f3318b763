"""Whether staged events happened, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sidestep.metrics.staged_events import event_state
from sidestep.types import EpisodeRecord, Event, Outcome

from .records import Walker, make_record, straight_run


def staged(record: EpisodeRecord, *events: dict[str, Any]) -> EpisodeRecord:
    """The record with a scenario that stages ``events``."""
    scenario = record.scenario.model_dump() | {"events": events}
    return replace(record, scenario=type(record.scenario).parse(scenario, "by hand"))


def trigger(kind: str, time: float = 0.5, person: int = 10) -> Event:
    return Event(time, "trigger", f"person:{person}", text=kind)


FRONTAL = {"kind": "frontal", "at": [8, 0]}
QUEUE = {"kind": "queuing", "at": [8, 2]}


def test_no_event_staged_no_value(result) -> None:
    assert event_state(straight_run()) == ""
    found = result(straight_run(), "event_happened")
    assert not found.valid
    assert "stages no event" in found.reason


@pytest.mark.parametrize("kind", ["frontal", "lateral", "overtaking", "crossing", "gesturing"])
def test_walkers_and_signs_happen_when_they_are_triggered(value, kind: str) -> None:
    far = [Walker((60.0, 0.0))]
    spec = {"kind": kind} if kind == "crossing" else {"kind": kind, "at": [8, 0]}
    begun = staged(straight_run(people=far, events=[trigger(kind)]), spec)
    assert event_state(begun) == "happened"
    assert value(begun, "event_happened") == 1
    # touched while still waiting: the episode is over, but its event never began
    early = [Event(0.25, "collision_start", "person:10")]
    missed = staged(straight_run(people=far, events=early, outcome=Outcome.PEDESTRIAN_COLLISION), spec)
    assert event_state(missed) == "missed"
    assert value(missed, "event_happened") == 0


def test_people_who_stand_must_be_met_too(value) -> None:
    """The robot drives from 0 to 8 m along x; of the group it is the nearest member that counts, 4 m exactly."""
    group = [Walker((30.0, 0.0), group=3), Walker((12.0, 0.0), group=3), Walker((8.0, 1.0), group=5)]
    met = staged(straight_run(people=group, events=[trigger("queuing")]), QUEUE)
    assert value(met, "event_happened") == 1
    farther = [Walker((30.0, 0.0), group=3), Walker((12.01, 0.0), group=3), Walker((8.0, 1.0), group=5)]
    assert event_state(staged(straight_run(people=farther, events=[trigger("queuing")]), QUEUE)) == "missed"
    alone = [Walker((30.0, 0.0)), Walker((8.0, 1.0))]  # nobody else is of the event
    assert event_state(staged(straight_run(people=alone, events=[trigger("obstructing")]), QUEUE)) == "missed"


def test_a_robot_that_never_sets_off_meets_nobody(value) -> None:
    still = make_record([[0, 0]] * 9, goal=(9, 0), people=[Walker((6, 0))], events=[trigger("obstructing", 0.0)])
    assert value(staged(still, {"kind": "obstructing", "at": [6, 0]}), "event_happened") == 0


def test_one_of_several_is_enough() -> None:
    people = [Walker((60.0, 0.0)), Walker((40.0, 0.0))]
    record = straight_run(people=people, events=[trigger("obstructing"), trigger("frontal", 2.0, 11)])
    assert event_state(staged(record, QUEUE, FRONTAL)) == "happened"
