"""Interactions: whether the robot obeyed gestures, met staged events, and stayed with a companion.

An episode can end before its event begins: the robot leaves the sidewalk on its way there, or never sets off.
Such an episode fails like any other, but says nothing about the event, so tables count it separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from sidestep._util import exact
from sidestep.metrics import series
from sidestep.metrics.definition import Value, average, metric
from sidestep.metrics.sources import HALL, SIDESTEP, SIDEWALKBENCH
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.decide import in_front_of_hand, stop_needed_s
from sidestep.types.events import GESTURES
from sidestep.types.record import EpisodeRecord, Event

GESTURE_SEEN_WITHIN_M = 10.0
PROCEED_WITHIN_S, PROCEED_M = 5.0, 1.0
_NOT_ASKED = "nobody made the gesture to the robot"


def _periods(record: EpisodeRecord, gesture: str) -> Iterator[tuple[int, int, int]]:
    """(person's column, first state, last state) of every unbroken gesture that began or came within 10 m."""
    if not record.person_gesture.size:
        return
    near = series.pedestrian_centre_distance(record) <= GESTURE_SEEN_WITHIN_M
    making = (record.person_gesture == GESTURES[gesture]) & near
    for person in range(making.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], making[:, person], [False]]).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            yield person, first, end - 1


def _is_faced(record: EpisodeRecord, person: int, state: int) -> bool:
    """Whether the robot is on the side that the person faces."""
    dx, dy = record.robot_pose[state, :2] - record.person_position[state, person]
    heading = float(record.person_heading[state, person])
    return bool(dx * exact.cos(heading) + dy * exact.sin(heading) > 0)


def _longest_run_s(record: EpisodeRecord, holds: BoolArray, first: int, last: int) -> float:
    """Longest unbroken time within the states ``first`` … ``last`` in which ``holds`` is true, s."""
    best = since = 0.0
    for k in range(first + 1, last + 1):
        since = since + float(record.time[k] - record.time[k - 1]) if holds[k] else 0.0
        best = max(best, since)
    return best


@metric(
    "ratio",
    "higher",
    source=f"{SIDEWALKBENCH}, gesturing, as a share of gestures; the length of standing: {SIDESTEP}",
    validity="Episodes in which somebody made the gesture to the robot.",
    distance="centre",
)
def wait_obedience(record: EpisodeRecord) -> Value:
    """Of all unbroken stop gestures that a person made to a robot in front of them and at most
    {GESTURE_SEEN_WITHIN_M:g} m away (centres), the share during which the robot stood (below {series.STANDING_MPS:g}
    m/s) in front of them, at most rules.stop_within_m away, without a break for rules.stop_for_s and for twice as long
    as its longest stand on the way before the hand rose, or as long as the gesture lasted. In front is judged against
    the direction of approach: the robot must never have passed the place of the person, seen from where the robot was
    when the hand rose."""
    rules, answers = record.scenario.rules, []
    distance, standing = series.pedestrian_centre_distance(record), series.speed(record) < series.STANDING_MPS
    hands_are_up = (record.person_gesture == GESTURES["stop"]).any(axis=1) if record.person_gesture.size else standing
    for person, first, last in _periods(record, "stop"):
        if not _is_faced(record, person, first):
            continue
        hand_is_up = record.person_gesture[:, person] == GESTURES["stop"]
        in_front = in_front_of_hand(hand_is_up, record.robot_pose[:, :2], record.person_position[:, person])
        holds = standing & (distance[:, person] <= rules.stop_within_m) & in_front
        rose = first - int(np.argmin(hand_is_up[first::-1])) + 1 if not hand_is_up[: first + 1].all() else 0
        needed = stop_needed_s(rose, standing, hands_are_up, record.step_s, rules.stop_for_s)
        lasted = float(record.time[last] - record.time[first])
        answers.append(_longest_run_s(record, holds, first, last) >= max(min(needed, lasted), rules.stop_for_s) - 1e-9)
    return float(np.mean(answers)) if answers else _NOT_ASKED


@metric("ratio", "higher", validity="Episodes in which somebody made the gesture.", distance="centre")
def proceed_obedience(record: EpisodeRecord) -> Value:
    """Of all unbroken go-on gestures that a person made at most {GESTURE_SEEN_WITHIN_M:g} m from the robot (centres),
    the share after whose beginning the robot drove at least {PROCEED_M:g} m within {PROCEED_WITHIN_S:g} s."""
    way = np.concatenate([[0.0], np.cumsum(series.step_lengths(record))])
    answers = []
    for _, first, _ in _periods(record, "go_on"):
        until = int(np.searchsorted(record.time, record.time[first] + PROCEED_WITHIN_S + 1e-9)) - 1
        answers.append(way[until] - way[first] >= PROCEED_M)
    return float(np.mean(answers)) if answers else _NOT_ASKED


EventState = Literal["happened", "missed", ""]

STANDING_KINDS = frozenset({"obstructing", "conversing", "queuing"})
"""Kinds whose people stand where they are, triggered or not: these happen when the robot comes near them."""
MET_WITHIN_M = 4.0
"""A robot that came so near (centres) to people who stand has met them."""


def event_state(record: EpisodeRecord) -> EventState:
    """``happened`` if at least one event of the scenario happened, ``missed`` if none did, ``""`` if none is staged.

    An event has happened when it was triggered: its people set off (frontal, lateral, overtaking, crossing and the
    others who walk) or raised a hand (gesturing). People who only stand (``STANDING_KINDS``) must also have been met:
    the robot's centre came within ``MET_WITHIN_M`` of the nearest of them, at the trigger or later.
    """
    if not record.scenario.events:
        return ""
    triggers = (event for event in record.events if event.kind == "trigger")
    return "happened" if any(_event_happened_at(record, trigger) for trigger in triggers) else "missed"


def _event_happened_at(record: EpisodeRecord, trigger: Event) -> bool:
    if trigger.text not in STANDING_KINDS:
        return True
    first = np.array([f"person:{number}" == trigger.subject for number in record.person_id.tolist()], dtype=bool)
    state = min(int(np.searchsorted(record.time, trigger.time - 1e-9)), record.steps)
    group = record.person_group[state]  # as it is when the event is triggered
    together = group[first]
    people = first | np.isin(group, together[together >= 0])
    distance = series.pedestrian_centre_distance(record)[record.time >= trigger.time - 1e-9][:, people]
    return bool((distance <= MET_WITHIN_M + series.THRESHOLD_TOLERANCE_M).any())


@metric(series.INDICATOR_UNIT, validity="Episodes whose scenario stages an event.", distance="centre")
def event_happened(record: EpisodeRecord) -> Value:
    """1 if an event that the scenario stages was triggered, so that its people set off or raised a hand; people who
    only stand (obstructing, conversing, queuing) must also have been met: the robot's centre came within
    {MET_WITHIN_M:g} m of the nearest of them. Else 0: the episode ended before its event, whatever its outcome."""
    return event_state(record) == "happened" if record.scenario.events else "the scenario stages no event"


COMPANION_EVENTS = frozenset({"leading", "following", "accompanying"})
"""Events whose person keeps the robot company."""
NEAREST_M, FARTHEST_M = 0.45, 3.6
"""The band: Hall's personal and social distance."""
_NO_COMPANION = "nobody led, followed or accompanied the robot"
_WITH_COMPANION = "Episodes in which an event leading, following or accompanying was triggered."


def companion_distances(record: EpisodeRecord) -> FloatArray:
    """(K,) surface distances (m) to the companion in the states after the trigger, while the companion is there; of
    several companions one after the other."""
    names = [f"person:{number}" for number in record.person_id]
    distance, parts = series.pedestrian_distance(record), [np.zeros(0)]
    for event in record.events:
        if event.kind == "trigger" and event.text in COMPANION_EVENTS and event.subject in names:
            with_robot = distance[record.time >= event.time - 1e-9, names.index(event.subject)]
            parts.append(with_robot[~np.isnan(with_robot)])
    return np.concatenate(parts)


@metric(
    "ratio",
    "higher",
    source=f"{SIDESTEP}; the band from the personal to the social distance of {HALL}",
    validity=_WITH_COMPANION,
    distance="surface",
)
def companion_share(record: EpisodeRecord) -> Value:
    """Of the states from the trigger of an event leading, following or accompanying on, while its person is present,
    the share with that person {NEAREST_M:g} to {FARTHEST_M:g} m from the robot, both included."""
    distance = companion_distances(record)
    return average(((distance >= NEAREST_M) & (distance <= FARTHEST_M)).astype(np.float64), _NO_COMPANION)


@metric("m", validity=_WITH_COMPANION, distance="surface")
def companion_distance(record: EpisodeRecord) -> Value:
    """Mean distance to the person of an event leading, following or accompanying, over the states from its trigger on
    in which the person is present."""
    return average(companion_distances(record), _NO_COMPANION)
