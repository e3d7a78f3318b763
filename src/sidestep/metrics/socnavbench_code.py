"""The dialect ``socnavbench-code``: metrics as the public SocNavBench program computes them, if it differs from its
paper.

The program works on positions alone: velocities are differences of positions, distances are between centres.
If it writes a number for "no value" (-1 for no time to collision, 0 for a first frame without pedestrians), the
metric has no value here.
"""

from __future__ import annotations

import numpy as np

from sidestep.metrics import series
from sidestep.metrics.definition import NO_STEPS, NOBODY, STARTS_AT_GOAL, Function, Value, average, largest, smallest
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.decide import decide_outcome, outcome_of_event
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord, Event
from sidestep.types.result import MetricResult

NAME = "socnavbench-code"

COLLISION_DISTANCE_M = 0.40
"""Between centres: twice the program's agent radius of 0.2 m, whatever the bodies' real size."""
COOLDOWN_S = 1.0
ROBOT_RADIUS_M = 0.2


def contacts(record: EpisodeRecord) -> list[Event]:
    """Collisions recomputed from the tracks: centres nearer than 0.40 m, each person at most once per second."""
    close = series.pedestrian_centre_distance(record) < COLLISION_DISTANCE_M
    found = []
    for person in range(len(record.person_id)):
        free_from = -np.inf
        for state in np.flatnonzero(close[:, person]):
            time = float(record.time[state])
            if time >= free_from - 1e-9:
                found.append(Event(time, "collision_start", f"person:{record.person_id[person]}"))
                free_from = time + COOLDOWN_S
    return sorted(found, key=lambda event: event.time)


def pedestrian_collisions(record: EpisodeRecord) -> Value:
    """Number of collisions recomputed from the tracks: centres nearer than 0.40 m, each person counted at most once
    per second, and again every second while the contact lasts."""
    return len(contacts(record))


def outcome(record: EpisodeRecord) -> Outcome:
    """The record's outcome if the recorded collisions are replaced by those recomputed from the tracks."""
    recorded = [e for e in record.events if outcome_of_event(e) is Outcome.PEDESTRIAN_COLLISION]
    found = contacts(record)
    if bool(recorded) == bool(found):
        return record.outcome
    others = [event for event in record.events if event not in recorded]
    return decide_outcome([*others, *found], record.scenario.rules)


def make_outcome_indicator(wanted: Outcome) -> Function:
    """The function that returns 1 if the outcome with the program's collisions is ``wanted``."""

    def outcome_indicator(record: EpisodeRecord) -> Value:
        return outcome(record) is wanted

    outcome_indicator.__doc__ = "The outcome is recomputed with collisions at centre distances below 0.40 m."
    return outcome_indicator


def path_length_ratio(record: EpisodeRecord) -> Value:
    """(L + 10⁻⁵ m) / straight line, for every episode, whether it reached the goal or not."""
    straight = float(series.goal_distance(record)[0])
    return (series.driven_m(record) + 1e-5) / straight if straight > 0 else STARTS_AT_GOAL


def path_irregularity(record: EpisodeRecord) -> Value:
    """Mean angle between the vector to the goal and the position vector from the map's origin (by mistake for
    the heading); after a success the last position is used as the goal."""
    positions = record.robot_pose[:, :2]
    goal = positions[-1] if outcome(record) is Outcome.SUCCESS else np.array(record.scenario.ego.goal)
    to_goal = goal - positions
    norms = np.hypot(to_goal[:, 0], to_goal[:, 1]) * np.hypot(positions[:, 0], positions[:, 1])
    cosine = np.einsum("ki,ki->k", to_goal, positions) / (norms + 1e-10)
    return average(np.arccos(np.clip(cosine, -1, 1)), NO_STEPS)


def goal_traversal_ratio(record: EpisodeRecord) -> Value:
    """|p_T - goal| / |p_0 - goal| for every episode, including those that reached the goal."""
    distance = series.goal_distance(record)
    return float(distance[-1] / distance[0]) if distance[0] > 0 else STARTS_AT_GOAL


def _derivative(record: EpisodeRecord, order: int) -> FloatArray:
    """(T+1-order,) magnitude of the order-th difference of the positions, divided by that power of the step."""
    values = record.robot_pose[:, :2]
    for _ in range(order):
        values = np.diff(values, axis=0) / record.step_s
    return np.hypot(values[:, 0], values[:, 1])


def make_motion_statistic(quantity: str, statistic: str) -> Function:
    """The function that summarises speed, acceleration or jerk as differences of positions."""
    order = {"speed": 1, "acceleration": 2, "jerk": 3}[quantity]
    summary = {"min": smallest, "avg": average, "max": largest}[statistic]

    def motion_statistic(record: EpisodeRecord) -> Value:
        return summary(_derivative(record, order), f"the episode has fewer than {order} steps")

    motion_statistic.__doc__ = (
        f"From differences of order {order} of the positions, divided by that power of the step, not from velocities."
    )
    return motion_statistic


def energy(record: EpisodeRecord) -> MetricResult:
    """Σ v² over the steps, without the step's length, hence in J for unit mass; v from positions."""
    if not record.steps:
        return MetricResult.invalid("J", NO_STEPS)
    return MetricResult(float(np.square(_derivative(record, 1)).sum()), "J")


def nobody(record: EpisodeRecord) -> BoolArray:
    """(T+1,) frames without people."""
    return np.logical_not(series.present(record).any(axis=1))


def closest_distances(record: EpisodeRecord) -> FloatArray:
    """(T+1,) centre distance to the closest person, with the last value repeated in frames without people."""
    return _repeat_last(series.smallest_per_state(series.pedestrian_centre_distance(record)), nobody(record))


def lowest_closest_distance(record: EpisodeRecord) -> Value:
    """Minimum over frames of the distance between centres, not capped."""
    return smallest(closest_distances(record), NOBODY)


def average_closest_distance(record: EpisodeRecord) -> Value:
    """Mean over frames of the distance between centres, not capped; a frame without people repeats the last
    value, and before the first person there is none (the program: 0)."""
    return average(closest_distances(record), NOBODY)


def times_to_collision(record: EpisodeRecord) -> FloatArray:
    """(T+1,) smallest positive (d - 0.2 m) / closing speed, with the last value repeated in frames without
    people; NaN if there is none.

    d is between centres and a lateral miss is ignored. The person's velocity is the last difference of
    positions (0 in the first frame), the robot's the one before, as in the program; it begins with state 2,
    where the program's indices stop wrapping.
    """
    there = series.present(record)
    people = record.person_position.astype(np.float64)
    times = np.full(len(record.time), np.nan)
    for state in range(2, len(record.time)):
        here = there[state]
        robot = record.robot_pose[state, :2]
        robot_velocity = (record.robot_pose[state - 1, :2] - record.robot_pose[state - 2, :2]) / record.step_s
        moved = np.where(there[state - 1][:, None], people[state] - people[state - 1], 0.0)[here] / record.step_s
        offset = robot - people[state][here]
        distance = np.hypot(offset[:, 0], offset[:, 1])
        apart = distance > 0
        direction = offset / np.where(apart, distance, 1.0)[:, None]
        closing = np.einsum("ki,ki->k", moved - robot_velocity, direction)
        known = apart & (closing != 0)
        candidates = (distance[known] - ROBOT_RADIUS_M) / closing[known]
        times[state] = min(candidates[candidates > 0], default=np.nan)
    return _repeat_last(times, nobody(record))


def _repeat_last(values: FloatArray, where: BoolArray) -> FloatArray:
    """``values`` with those in which ``where`` is true replaced by the one before; NaN before the first."""
    last = np.maximum.accumulate(np.where(where, -1, np.arange(len(values))))
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)


_NO_APPROACH = "nobody ever approached"


def time_to_collision_min(record: EpisodeRecord) -> Value:
    """Minimum over frames of (d - 0.2 m) / closing speed, centre distance, lateral miss ignored, not capped;
    frames in which nobody approaches (the program: -1) have no value."""
    return smallest(times_to_collision(record), _NO_APPROACH)


def time_to_collision_avg(record: EpisodeRecord) -> Value:
    """Mean over frames of (d - 0.2 m) / closing speed, centre distance, lateral miss ignored, not capped;
    frames in which nobody approaches (the program: -1) have no value and are left out."""
    return average(times_to_collision(record), _NO_APPROACH)
