"""From events to the outcome."""

from __future__ import annotations

import pytest

from sidestep.errors import BadInput
from sidestep.types import Event, Outcome, Rules
from sidestep.types.decide import decide_outcome, outcome_of_event
from sidestep.types.outcome import PRECEDENCE


@pytest.mark.parametrize(
    ("kind", "subject", "outcome"),
    [
        ("collision_start", "person:3", Outcome.PEDESTRIAN_COLLISION),
        ("collision_start", "wall", Outcome.ENVIRONMENT_COLLISION),
        ("collision_start", "robot:1", Outcome.VEHICLE_COLLISION),
        ("collision_start", "vehicle:0", Outcome.VEHICLE_COLLISION),
        ("goal_reached", "", Outcome.SUCCESS),
        ("timeout", "", Outcome.TIMEOUT),
        ("frozen", "", Outcome.FROZEN),
        ("off_route", "", Outcome.OFF_ROUTE),
        ("lane_invasion", "", Outcome.LANE_INVASION),
        ("policy_error", "", Outcome.POLICY_ERROR),
        ("collision_end", "person:3", None),
        ("limit_start", "speed", None),
        ("trigger", "person:3", None),
    ],
)
def test_each_event_alone(kind: str, subject: str, outcome: Outcome | None) -> None:
    event = Event(1.0, kind, subject)
    assert outcome_of_event(event) is outcome
    assert decide_outcome([event], Rules()) is (outcome or Outcome.TIMEOUT)


def test_nothing_happened_is_a_timeout() -> None:
    assert decide_outcome([], Rules()) is Outcome.TIMEOUT


def test_a_collision_outranks_a_later_goal_and_a_timeout() -> None:
    events = [Event(1, "collision_start", "person:1"), Event(2, "goal_reached"), Event(3, "timeout")]
    assert decide_outcome(events, Rules()) is Outcome.PEDESTRIAN_COLLISION
    assert decide_outcome(reversed(events), Rules()) is Outcome.PEDESTRIAN_COLLISION


def test_the_suite_states_the_precedence() -> None:
    lenient = Rules(precedence=(Outcome.SUCCESS, *(o for o in PRECEDENCE if o is not Outcome.SUCCESS)))
    events = [Event(1, "collision_start", "person:1"), Event(2, "goal_reached")]
    assert decide_outcome(events, lenient) is Outcome.SUCCESS


def test_a_broken_policy_is_never_credited() -> None:
    events = [Event(1, "goal_reached"), Event(1, "policy_error")]
    assert decide_outcome(events, Rules()) is Outcome.POLICY_ERROR


def test_a_collision_with_something_unknown_is_an_error() -> None:
    with pytest.raises(BadInput, match=r"'lamp'.*expected person:ID"):
        decide_outcome([Event(0.5, "collision_start", "lamp")], Rules())
