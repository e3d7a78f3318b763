"""From the events of an episode to its one outcome, used by the simulation and by re-scoring alike."""

from __future__ import annotations

from collections.abc import Iterable

from sidestep.errors import BadInput
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.record import Event

_BY_KIND: dict[str, Outcome] = {
    "goal_reached": Outcome.SUCCESS,
    "timeout": Outcome.TIMEOUT,
    "frozen": Outcome.FROZEN,
    "stopped": Outcome.SUCCESS,
    "group_intrusion": Outcome.GROUP_INTRUSION,
    "disobeyed": Outcome.DISOBEYED,
    "off_route": Outcome.OFF_ROUTE,
    "lane_invasion": Outcome.LANE_INVASION,
    "policy_error": Outcome.POLICY_ERROR,
}

_BY_SUBJECT: dict[str, Outcome] = {
    "person": Outcome.PEDESTRIAN_COLLISION,
    "wall": Outcome.ENVIRONMENT_COLLISION,
    "robot": Outcome.VEHICLE_COLLISION,
    "vehicle": Outcome.VEHICLE_COLLISION,
}


def outcome_of_event(event: Event) -> Outcome | None:
    """The outcome that one event alone would give; None for events that decide nothing (limits, triggers,
    ends)."""
    if event.kind != "collision_start":
        return _BY_KIND.get(event.kind)
    subject = event.subject.partition(":")[0]
    if subject not in _BY_SUBJECT:
        raise BadInput(
            f"a collision at {event.time:g} s has the subject {event.subject!r}; "
            "expected person:ID, wall, robot:K or vehicle:K"
        )
    return _BY_SUBJECT[subject]


def decide_outcome(events: Iterable[Event], rules: Rules) -> Outcome:
    """Of everything that happened, the first in ``rules.precedence``. Nothing happened: the time ran out."""
    happened = {outcome_of_event(event) for event in events}
    return next((outcome for outcome in rules.precedence if outcome in happened), Outcome.TIMEOUT)
