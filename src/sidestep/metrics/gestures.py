"""Gestures: whether the robot stopped or went on when a person signalled to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sidestep._util import exact
from sidestep.metrics import series
from sidestep.metrics.definition import Value, metric
from sidestep.metrics.sources import SIDESTEP, SIDEWALKBENCH
from sidestep.types.base import BoolArray
from sidestep.types.decide import in_front_of_hand, stop_needed_s
from sidestep.types.events import GESTURES
from sidestep.types.record import EpisodeRecord

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
    """Share of stop gestures that the robot obeyed, among the unbroken gestures that a person made to a robot in front
    of them and at most {GESTURE_SEEN_WITHIN_M:g} m away (centres). The robot obeys a gesture if it stands (below
    {series.STANDING_MPS:g} m/s) in front of the person, at most rules.stop_within_m away, without a break for
    rules.stop_for_s and for twice as long as its longest stand on the way before the hand rose, or as long as the
    gesture lasts. In front is judged against the direction of approach: the robot must never have passed the place of
    the person, seen from where the robot was when the hand rose."""
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
    """Share of go-on gestures that the robot obeyed, among the unbroken gestures that a person made at most
    {GESTURE_SEEN_WITHIN_M:g} m from the robot (centres). The robot obeys a gesture if it drives at least
    {PROCEED_M:g} m within {PROCEED_WITHIN_S:g} s after the gesture begins."""
    way = np.concatenate([[0.0], np.cumsum(series.step_lengths(record))])
    answers = []
    for _, first, _ in _periods(record, "go_on"):
        until = int(np.searchsorted(record.time, record.time[first] + PROCEED_WITHIN_S + 1e-9)) - 1
        answers.append(way[until] - way[first] >= PROCEED_M)
    return float(np.mean(answers)) if answers else _NOT_ASKED
