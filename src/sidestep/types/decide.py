"""What the events and states of an episode mean by its rules: pure functions that the simulation and re-scoring share.

``kernels.referee`` says the same step by step while an episode runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray
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
    "exited": Outcome.SUCCESS,
    "wrong_exit": Outcome.WRONG_EXIT,
}

_BY_SUBJECT: dict[str, Outcome] = {
    "person": Outcome.PEDESTRIAN_COLLISION,
    "wall": Outcome.ENVIRONMENT_COLLISION,
    "robot": Outcome.VEHICLE_COLLISION,
    "vehicle": Outcome.VEHICLE_COLLISION,
}

_SUCCESSES = {"goal": "goal_reached", "stop": "stopped", "exit": "exited"}
"""The event that is a success, by ``rules.success``."""

_NO_FAILURES = frozenset({None, Outcome.SUCCESS, Outcome.TIMEOUT, Outcome.POLICY_ERROR})

TIME_TOLERANCE_S = 1e-9
"""Times of events are sums of steps: this little less than a limit is at the limit."""


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
    """The first outcome in ``rules.precedence`` of all that happened; ``timeout`` where nothing did.

    Where the task is to stop or to leave an area (``rules.success``), reaching the goal is no success.
    """
    idle = set(_SUCCESSES.values()) - {_SUCCESSES[rules.success]}
    happened = {outcome_of_event(event) for event in events if event.kind not in idle}
    return next((outcome for outcome in rules.precedence if outcome in happened), Outcome.TIMEOUT)


def separate_collisions(
    events: Iterable[Event], cooldown_s: float, kinds: Collection[str] = tuple(_BY_SUBJECT)
) -> list[Event]:
    """The first contacts of all collisions with subjects of ``kinds`` (``person``, ``wall``, ``robot``, ``vehicle``).

    Touching the same subject again less than ``cooldown_s`` after the last contact with it ended (or, when no end was
    recorded, began) is the same collision. The events themselves keep every contact.
    """
    last_contact: dict[str, float] = {}
    collisions = []
    for event in sorted(events, key=lambda event: event.time):
        if event.kind not in ("collision_start", "collision_end") or event.subject.partition(":")[0] not in kinds:
            continue
        if event.kind == "collision_start":
            if event.time - last_contact.get(event.subject, -inf) >= cooldown_s - TIME_TOLERANCE_S:
                collisions.append(event)
        last_contact[event.subject] = event.time
    return collisions


def counted_failures(events: Collection[Event], rules: Rules) -> list[tuple[Event, Outcome]]:
    """Every failure with its outcome, in order of time: separate collisions, and whatever else the robot did wrong. The
    time limit and a broken policy are none of them."""
    collisions = {id(event) for event in separate_collisions(events, rules.collision_cooldown_s)}
    found = []
    for event in events:
        outcome = outcome_of_event(event)
        if outcome in _NO_FAILURES or (event.kind == "collision_start" and id(event) not in collisions):
            continue
        assert outcome is not None
        found.append((event, outcome))
    return sorted(found, key=lambda failure: failure[0].time)


def in_front_of_hand(hand_is_up: BoolArray, robot: FloatArray, person: FloatArray) -> BoolArray:
    """(T,) whether a robot at ``robot`` (T, 2) is, and since the hand rose always was, in front of a person at
    ``person`` (T, 2) who has a hand raised; false while ``hand_is_up`` (T,) is.

    The direction of approach decides: the unit vector u from the person to the robot in the state p in which the hand
    rose. The robot is in front while (robot - p) · u > 0, wherever the person turns or walks meanwhile. A robot that
    passed is not in front again before the hand is raised again, even if it returns.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], hand_is_up, [False]]).astype(np.int8)))
    result = np.zeros(len(hand_is_up), bool)
    for first, end in edges.reshape(-1, 2).tolist():
        place = person[first].astype(np.float64)
        dx, dy = (float(value) for value in robot[first] - place)
        away = float(np.sqrt(dx * dx + dy * dy))
        if away > 0.0:
            offset = robot[first:end] - place
            ahead = offset[:, 0] * (dx / away) + offset[:, 1] * (dy / away) > 0.0
            result[first:end] = np.logical_and.accumulate(ahead)
    return result


LONGER_THAN_BEFORE = 2.0


def stop_needed_s(first: int, standing: BoolArray, hands_are_up: BoolArray, step_s: float, stop_for_s: float) -> float:
    """How long a robot has to stand for a hand that rises in state ``first``, s: ``stop_for_s``, and twice as long as
    its longest stand before, since it first moved and while no hand was raised. ``standing`` and ``hands_are_up``
    (T,) are of the states of an episode; state 0 begins the first step."""
    longest = since = 0
    moved = False
    for k in range(1, first + 1):
        since = since + 1 if standing[k] else 0
        moved = moved or not standing[k]
        if moved and not hands_are_up[k - 1]:
            longest = max(longest, since)
    return max(stop_for_s, LONGER_THAN_BEFORE * longest * step_s)
