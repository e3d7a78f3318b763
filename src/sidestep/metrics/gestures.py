"""Gestures: whether the robot waited and went on when people asked it to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sidestep import exact
from sidestep.interfaces import Metric
from sidestep.metrics.series import pedestrian_centre_distance, speed, step_lengths
from sidestep.metrics.sources import SIDESTEP, SIDEWALKBENCH
from sidestep.types.base import BoolArray
from sidestep.types.decide import in_front_of_hand, stop_needed_s
from sidestep.types.gestures import GESTURES
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

SEEN_WITHIN_M = 10.0
STANDING_MPS = 0.05
PROCEED_WITHIN_S, PROCEED_M = 5.0, 1.0
_NOT_ASKED = "nobody made the gesture to the robot"


def _periods(record: EpisodeRecord, gesture: str) -> Iterator[tuple[int, int, int]]:
    """(person's column, first state, last state) of every unbroken gesture that began or came within 10 m."""
    if not record.person_gesture.size:
        return
    near = pedestrian_centre_distance(record) <= SEEN_WITHIN_M
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


def wait_obedience(record: EpisodeRecord) -> MetricResult:
    """Share of stop gestures before which the robot stood."""
    rules, answers = record.scenario.rules, []
    distance, standing = pedestrian_centre_distance(record), speed(record) < STANDING_MPS
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
    if not answers:
        return MetricResult.invalid("ratio", _NOT_ASKED)
    return MetricResult(float(np.mean(answers)), "ratio")


def proceed_obedience(record: EpisodeRecord) -> MetricResult:
    """Share of go-on gestures after which the robot drove on."""
    way = np.concatenate([[0.0], np.cumsum(step_lengths(record))])
    answers = []
    for _, first, _ in _periods(record, "go_on"):
        until = int(np.searchsorted(record.time, record.time[first] + PROCEED_WITHIN_S + 1e-9)) - 1
        answers.append(way[until] - way[first] >= PROCEED_M)
    if not answers:
        return MetricResult.invalid("ratio", _NOT_ASKED)
    return MetricResult(float(np.mean(answers)), "ratio")


WAIT_OBEDIENCE = Metric(
    name="wait_obedience",
    unit="ratio",
    direction="higher",
    definition="Of all unbroken stop gestures that a person made to a robot in front of them and at most "
    f"{SEEN_WITHIN_M:g} m away (centres), the share during which the robot stood (below {STANDING_MPS:g} m/s) in front "
    "of them, at most rules.stop_within_m away, without a break for rules.stop_for_s and for twice as long as its "
    "longest stand on the way before the hand rose, or as long as the gesture lasted. In front is judged against the "
    "direction of approach: the robot must never have passed the place of the person, seen from where the robot was "
    "when the hand rose.",
    source=f"{SIDEWALKBENCH}, gesturing, as a share of gestures; the length of standing: {SIDESTEP}",
    distance="centre",
    validity="Episodes in which somebody made the gesture to the robot.",
    function=wait_obedience,
    dialects={},
)
PROCEED_OBEDIENCE = Metric(
    name="proceed_obedience",
    unit="ratio",
    direction="higher",
    definition=f"Of all unbroken go-on gestures that a person made at most {SEEN_WITHIN_M:g} m from the robot "
    f"(centres), the share after whose beginning the robot drove at least {PROCEED_M:g} m within "
    f"{PROCEED_WITHIN_S:g} s.",
    source=SIDESTEP,
    distance="centre",
    validity="Episodes in which somebody made the gesture.",
    function=proceed_obedience,
    dialects={},
)
