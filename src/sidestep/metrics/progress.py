"""Progress: when and how far the robot got towards its goal, and where it got stuck."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.outcome import DRIVEN, is_completed, why_not_driven
from sidestep.metrics.series import NO_STEPS, STANDING_MPS, carried_steps, goal_distance, present, speed
from sidestep.metrics.sources import CARLA, FRANCIS, HUNAVSIM, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

STALLED_BELOW_MPS = STANDING_MPS
NOT_MOVING_BELOW_MPS, NOT_TURNING_BELOW_RADPS = 0.001, 0.01
PROGRESS_M, PROGRESS_WINDOW_S = 0.5, 5.0
ROUTE_REACH_M = 5.0
"""A route is followed within this distance beside it and ahead along it, so that a loop's end is not reached
at its start."""
WAYPOINT_TOLERANCE_M = 0.01

_STARTS_AT_GOAL = "the robot starts at its goal"


def time_to_goal(record: EpisodeRecord) -> MetricResult:
    """Time at which the goal was reached."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("s", reason)
    return MetricResult(min(event.time for event in record.events if event.kind == "goal_reached"), "s")


def path_traversal_time(record: EpisodeRecord) -> MetricResult:
    """Simulated duration of the episode."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("s", reason)
    return MetricResult(record.duration, "s")


def aggregated_time(record: EpisodeRecord) -> MetricResult:
    """The robot's time to its goal plus the times that people were under way until then."""
    robot = time_to_goal(record)
    if not robot.valid:
        return robot
    there = present(record)
    velocity = record.person_velocity.astype(np.float64)
    walking = there & (np.hypot(velocity[..., 0], velocity[..., 1]) >= STANDING_MPS)
    total = robot.value
    for person in np.flatnonzero(walking.any(axis=0)):
        begins = record.time[int(np.argmax(there[:, person]))]
        total += float(record.time[int(np.flatnonzero(walking[:, person])[-1])] - begins)
    return MetricResult(total, "s")


def route_completion(record: EpisodeRecord) -> MetricResult:
    """Share of the route that the robot covered itself."""
    distance = goal_distance(record)
    if distance[0] == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    carried = carried_steps(record)
    ego = record.scenario.ego
    if len(carried) or (ego.route and not is_completed(record)):
        points = np.array([record.robot_pose[0, :2], *ego.route, ego.goal])
        return MetricResult(own_share_of_route(record, points), "ratio")
    if is_completed(record):
        return MetricResult(1.0, "ratio")
    return MetricResult(float(np.clip(1 - distance.min() / distance[0], 0, 1)), "ratio")


@dataclass(slots=True)
class _Progress:
    """How far along a polyline (K, 2) somebody is: the farthest point reached, which only moves on."""

    route: FloatArray
    covered: float = 0.0
    along: FloatArray = field(init=False)
    length: FloatArray = field(init=False)
    arc: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.along = np.diff(self.route, axis=0)
        self.length = np.hypot(self.along[:, 0], self.along[:, 1])
        self.arc = np.concatenate([[0.0], np.cumsum(self.length)])

    def drive(self, position: FloatArray) -> float:
        """Metres of new route by moving to ``position``: nothing from where is more than ``ROUTE_REACH_M`` beside the
        route or ahead of the point reached."""
        start, length, before = self.route[:-1], self.length, self.arc[:-1]
        safe = np.where(length > 0, length, 1.0)
        share = np.einsum("ki,ki->k", position - start, self.along) / safe**2
        low = np.clip((self.covered - before) / safe, 0, 1)
        high = np.clip((self.covered + ROUTE_REACH_M - before) / safe, 0, 1)
        share = np.clip(share, low, high)
        miss = position - start - share[:, None] * self.along
        in_window = (before + length >= self.covered) & (before <= self.covered + ROUTE_REACH_M)
        beside = np.where(in_window, np.hypot(miss[:, 0], miss[:, 1]), np.inf)
        best = int(np.argmin(beside))
        if beside[best] > ROUTE_REACH_M:
            return 0.0
        return self.move_to(float(before[best] + share[best] * length[best]))

    def move_to(self, arc: float) -> float:
        """Metres of new route up to ``arc``."""
        gained = max(arc - self.covered, 0.0)
        self.covered += gained
        return gained

    def put_down(self, position: FloatArray) -> float:
        """Metres of new route by being put on the waypoint at ``position``: the first such one from here on, for routes
        that pass a place twice."""
        away = np.hypot(*(self.route - position).T)
        near = np.flatnonzero(away <= away.min() + WAYPOINT_TOLERANCE_M)
        ahead = near[self.arc[near] >= self.covered]
        return self.move_to(float(self.arc[ahead[0]])) if len(ahead) else 0.0


def own_share_of_route(record: EpisodeRecord, route: FloatArray) -> float:
    """Metres of ``route`` (K, 2) that the robot covered itself over its length, 0 … 1. Metres over which it was carried
    (the event ``reset``) count for nothing, nor does driving over a stretch again."""
    progress, own = _Progress(route), 0.0
    carried = set(carried_steps(record).tolist())
    velocity, step = record.robot_velocity[:, :2], np.diff(record.time)
    for k, position in enumerate(record.robot_pose[:, :2]):
        if k - 1 in carried:
            progress.put_down(position - velocity[k] * step[k - 1])
        own += progress.drive(position)
    if is_completed(record):
        own += progress.move_to(float(progress.arc[-1]))
    return min(own / float(progress.arc[-1]), 1.0)


def goal_traversal_ratio(record: EpisodeRecord) -> MetricResult:
    """|p_T - goal| / |p_0 - goal| of episodes that did not reach the goal."""
    distance = goal_distance(record)
    if is_completed(record):
        return MetricResult.invalid("ratio", "the goal was reached")
    if distance[0] == 0:
        return MetricResult.invalid("ratio", _STARTS_AT_GOAL)
    return MetricResult(float(distance[-1] / distance[0]), "ratio")


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
    definition="Simulated time at which the goal was reached (event goal_reached).",
    source=f"{FRANCIS}, T; {HUNAVSIM}, time to reach the goal",
    validity=f"{DRIVEN}.",
    function=time_to_goal,
)
PATH_TRAVERSAL_TIME = Metric(
    name="path_traversal_time",
    unit="s",
    direction="lower",
    definition="Simulated time from the first observation to the end of the episode.",
    source=f"{SOCNAVBENCH}, path traversal time",
    validity=f"{DRIVEN}: another one is short, but no better.",
    function=path_traversal_time,
)
AGGREGATED_TIME = Metric(
    name="aggregated_time",
    unit="s",
    direction="lower",
    definition="The robot's time to its goal plus, for every person who walks in the episode, the time from the "
    f"person's first state to the last one in which the person walks (at least {STANDING_MPS:g} m/s). People still on "
    "their way when the episode ends count up to then. Comparable only over the same episodes, with the same people.",
    source=f"{FRANCIS}, AT (time for cooperating agents to reach their goals), with the end of walking for a person's "
    "goal, which a record does not hold",
    validity=f"{DRIVEN}.",
    function=aggregated_time,
)
ROUTE_COMPLETION = Metric(
    name="route_completion",
    unit="ratio",
    direction="higher",
    definition="Metres of the route that the robot covered itself over the length of the route, 0 … 1. With a route: "
    "arc length of the robot's projection on the polyline start, route, goal, which only moves on; the projection is "
    f"looked for at most {ROUTE_REACH_M:g} m beside the route and {ROUTE_REACH_M:g} m ahead of the point reached. "
    "Metres over which a robot was carried after a failure (event reset) count for nothing, nor does driving over a "
    "stretch again. Without a route: 1 - min_k |p_k - goal| / |p_0 - goal|. 1 when the goal was reached "
    "without being carried.",
    source=f"{CARLA}; {SIDESTEP} for the case without a route",
    validity="Episodes that do not start at the goal.",
    function=route_completion,
)
GOAL_TRAVERSAL_RATIO = Metric(
    name="goal_traversal_ratio",
    unit="ratio",
    direction="lower",
    definition="|p_T - goal| / |p_0 - goal|, the share of the straight way that was left at the end.",
    source=f"{SOCNAVBENCH}, goal traversal ratio",
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
    function=lambda record: MetricResult(float(goal_distance(record).min()), "m"),
)
FINAL_GOAL_DISTANCE = Metric(
    name="final_goal_distance",
    unit="m",
    direction="lower",
    definition="|p_T - goal|, from the robot's reference point.",
    source=f"{SEAN}, final distance to target",
    distance="centre",
    validity="Always.",
    function=lambda record: MetricResult(float(goal_distance(record)[-1]), "m"),
)
FAILURE_TO_PROGRESS = Metric(
    name="failure_to_progress",
    unit="count",
    direction="none",
    definition="Number of separate periods in which the distance to the goal fell by less than "
    f"{PROGRESS_M:g} m over the last "
    f"{PROGRESS_WINDOW_S:g} s. The first {PROGRESS_WINDOW_S:g} s cannot fail. Grows with the length of the episode, so "
    "fewer is not better where episodes fail early.",
    source=f"{FRANCIS}, FP, which leaves the two parameters open",
    validity="Episodes with one step.",
    function=failure_to_progress,
)
STALLED_TIME = Metric(
    name="stalled_time",
    unit="s",
    direction="none",
    definition=f"Time in which the speed is below {STALLED_BELOW_MPS:g} m/s, turning on the spot or not. Grows with "
    "the length of the episode, so less is not better where episodes fail early.",
    source=f"{FRANCIS}, ST, with the speed below which rules.frozen_after_s counts as standing",
    validity="Episodes with one step.",
    function=stalled_time,
)
TIME_NOT_MOVING = Metric(
    name="time_not_moving",
    unit="s",
    direction="none",
    definition=f"Time in which the speed is below {NOT_MOVING_BELOW_MPS:g} m/s and the turn rate below "
    f"{NOT_TURNING_BELOW_RADPS:g} rad/s. Grows with the length of the episode, so less is not better where episodes "
    "fail early.",
    source=f"{SEAN}, time not moving, with the thresholds of {HUNAVSIM}",
    validity="Episodes with one step.",
    function=time_not_moving,
)
