"""Progress: when and how far the robot got towards its goal, and where it got stuck."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.answers import NO_STEPS
from sidestep.metrics.dialects import socnavbench_code
from sidestep.metrics.outcome import is_completed
from sidestep.metrics.series import goal_distance, speed
from sidestep.metrics.sources import CARLA, FRANCIS, HUNAVSIM, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

STALLED_BELOW_MPS = 0.05
NOT_MOVING_BELOW_MPS, NOT_TURNING_BELOW_RADPS = 0.001, 0.01
PROGRESS_M, PROGRESS_WINDOW_S = 0.5, 5.0
ROUTE_REACH_M = 5.0
"""A route is followed within this distance beside it and ahead along it, so that a loop's end is not reached
at its start."""

_STARTS_AT_GOAL = "the robot starts at its goal"


def time_to_goal(record: EpisodeRecord) -> MetricResult:
    """Time at which the goal was reached."""
    if not is_completed(record):
        return MetricResult.invalid("s", "the goal was not reached")
    times = [event.time for event in record.events if event.kind == "goal_reached"]
    return MetricResult(min(times, default=record.duration), "s")


def path_traversal_time(record: EpisodeRecord) -> MetricResult:
    """Simulated duration of the episode."""
    return MetricResult(record.duration, "s")


def route_completion(record: EpisodeRecord) -> MetricResult:
    """Largest share of the way covered at any time."""
    distance = goal_distance(record)
    if distance[0] == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    if is_completed(record):
        return MetricResult(1.0, "ratio")
    if record.scenario.ego.route:
        points = np.array([record.robot_pose[0, :2], *record.scenario.ego.route, record.scenario.ego.goal])
        return MetricResult(share_of_route(points, record.robot_pose[:, :2]), "ratio")
    return MetricResult(float(np.clip(1 - distance.min() / distance[0], 0, 1)), "ratio")


def share_of_route(route: FloatArray, positions: FloatArray) -> float:
    """How far along the polyline ``route`` (K, 2) someone at ``positions`` (S, 2) one after the other got, 0
    … 1."""
    start, along = route[:-1], np.diff(route, axis=0)
    length = np.hypot(along[:, 0], along[:, 1])
    before = np.concatenate([[0.0], np.cumsum(length)])[:-1]
    safe = np.where(length > 0, length, 1.0)
    covered = 0.0
    for position in positions:
        share = np.einsum("ki,ki->k", position - start, along) / safe**2
        low = np.clip((covered - before) / safe, 0, 1)
        high = np.clip((covered + ROUTE_REACH_M - before) / safe, 0, 1)
        share = np.clip(share, low, high)
        miss = position - start - share[:, None] * along
        in_window = (before + length >= covered) & (before <= covered + ROUTE_REACH_M)
        beside = np.where(in_window, np.hypot(miss[:, 0], miss[:, 1]), np.inf)
        best = int(np.argmin(beside))
        if beside[best] <= ROUTE_REACH_M:
            covered = max(covered, float(before[best] + share[best] * length[best]))
    return min(covered / float(length.sum()), 1.0)


def goal_traversal_ratio(record: EpisodeRecord) -> MetricResult:
    """|p_T - goal| / |p_0 - goal| of episodes that did not reach the goal."""
    distance = goal_distance(record)
    if is_completed(record):
        return MetricResult.invalid("ratio", "the goal was reached")
    if distance[0] == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    return MetricResult(float(distance[-1] / distance[0]), "ratio")


def minimum_goal_distance(record: EpisodeRecord) -> MetricResult:
    """min |p_k - goal|."""
    return MetricResult(float(goal_distance(record).min()), "m")


def final_goal_distance(record: EpisodeRecord) -> MetricResult:
    """|p_T - goal|."""
    return MetricResult(float(goal_distance(record)[-1]), "m")


def failure_to_progress(record: EpisodeRecord) -> MetricResult:
    """Number of separate periods without enough progress."""
    if not record.steps:
        return MetricResult.invalid("count", NO_STEPS)
    tolerance = 1e-9
    earlier = np.searchsorted(record.time, record.time - PROGRESS_WINDOW_S + tolerance, side="right") - 1
    whole = earlier >= 0
    distance = goal_distance(record)
    failing = whole & (distance[np.maximum(earlier, 0)] - distance < PROGRESS_M - tolerance)
    begins = failing & ~np.concatenate([[False], failing[:-1]])
    return MetricResult(float(np.count_nonzero(begins)), "count")


def stalled_time(record: EpisodeRecord) -> MetricResult:
    """Time with a speed below 0.05 m/s."""
    if not record.steps:
        return MetricResult.invalid("s", NO_STEPS)
    return MetricResult(float(np.diff(record.time)[speed(record)[1:] < STALLED_BELOW_MPS].sum()), "s")


def time_not_moving(record: EpisodeRecord) -> MetricResult:
    """Time with hardly any motion, neither driving nor turning."""
    if not record.steps:
        return MetricResult.invalid("s", NO_STEPS)
    still = speed(record)[1:] < NOT_MOVING_BELOW_MPS
    still &= np.abs(record.robot_velocity[1:, 2]) < NOT_TURNING_BELOW_RADPS
    return MetricResult(float(np.diff(record.time)[still].sum()), "s")


TIME_TO_GOAL = Metric(
    name="time_to_goal",
    unit="s",
    direction="lower",
    definition="Simulated time at which the goal was reached.",
    source=f"{FRANCIS}, T; {HUNAVSIM}, time to reach the goal",
    distance="none",
    validity="Episodes in which the goal was reached.",
    function=time_to_goal,
    dialects={},
)
PATH_TRAVERSAL_TIME = Metric(
    name="path_traversal_time",
    unit="s",
    direction="lower",
    definition="Simulated time from the first observation to the end of the episode, however it ended.",
    source=f"{SOCNAVBENCH}, path traversal time",
    distance="none",
    validity="Always.",
    function=path_traversal_time,
    dialects={},
)
ROUTE_COMPLETION = Metric(
    name="route_completion",
    unit="ratio",
    direction="higher",
    definition="Largest share of the way covered at any time, 0 … 1. With a route: arc length of the robot's "
    "projection on the "
    "polyline start, route, goal, which only moves on, over its whole length; the projection is looked for "
    "at most "
    f"{ROUTE_REACH_M:g} m beside the route and {ROUTE_REACH_M:g} m ahead of the point reached. Without: "
    "1 - min_k |p_k - goal| / |p_0 - goal|. 1 when the goal was reached.",
    source=f"{CARLA}; {SIDESTEP} for the case without a route",
    distance="none",
    validity="Episodes that do not start at the goal.",
    function=route_completion,
    dialects={},
)
GOAL_TRAVERSAL_RATIO = Metric(
    name="goal_traversal_ratio",
    unit="ratio",
    direction="lower",
    definition="|p_T - goal| / |p_0 - goal|, the share of the straight way that was left at the end.",
    source=f"{SOCNAVBENCH}, goal traversal ratio",
    distance="none",
    validity="Episodes in which the goal was not reached and that did not start at it.",
    function=goal_traversal_ratio,
    dialects={socnavbench_code.NAME: socnavbench_code.goal_traversal_ratio},
)
MINIMUM_GOAL_DISTANCE = Metric(
    name="minimum_goal_distance",
    unit="m",
    direction="lower",
    definition="min_k |p_k - goal|, from the robot's reference point.",
    source=f"{SEAN}, minimum distance to target",
    distance="centre",
    validity="Always.",
    function=minimum_goal_distance,
    dialects={},
)
FINAL_GOAL_DISTANCE = Metric(
    name="final_goal_distance",
    unit="m",
    direction="lower",
    definition="|p_T - goal|, from the robot's reference point.",
    source=f"{SEAN}, final distance to target",
    distance="centre",
    validity="Always.",
    function=final_goal_distance,
    dialects={},
)
FAILURE_TO_PROGRESS = Metric(
    name="failure_to_progress",
    unit="count",
    direction="lower",
    definition="Number of separate periods in which the distance to the goal fell by less than "
    f"{PROGRESS_M:g} m over the last "
    f"{PROGRESS_WINDOW_S:g} s. The first {PROGRESS_WINDOW_S:g} s cannot fail.",
    source=f"{FRANCIS}, FP, which leaves the two parameters open",
    distance="none",
    validity="Episodes with one step.",
    function=failure_to_progress,
    dialects={},
)
STALLED_TIME = Metric(
    name="stalled_time",
    unit="s",
    direction="lower",
    definition=f"Time in which the speed is below {STALLED_BELOW_MPS:g} m/s, turning on the spot or not.",
    source=f"{FRANCIS}, ST, with the speed below which rules.frozen_after_s counts as standing",
    distance="none",
    validity="Episodes with one step.",
    function=stalled_time,
    dialects={},
)
TIME_NOT_MOVING = Metric(
    name="time_not_moving",
    unit="s",
    direction="lower",
    definition=f"Time in which the speed is below {NOT_MOVING_BELOW_MPS:g} m/s and the turn rate below "
    f"{NOT_TURNING_BELOW_RADPS:g} rad/s.",
    source=f"{SEAN}, time not moving, with the thresholds of {HUNAVSIM}",
    distance="none",
    validity="Episodes with one step.",
    function=time_not_moving,
    dialects={},
)
