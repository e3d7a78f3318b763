"""Progress: when and how far the robot got towards its goal, and where it got stuck."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.metrics import series
from sidestep.metrics import socnavbench_code as code
from sidestep.metrics.definition import NO_STEPS, STARTS_AT_GOAL, Value, metric
from sidestep.metrics.outcome import DRIVEN, is_completed, why_not_driven
from sidestep.metrics.sources import CARLA, FRANCIS, HUNAVSIM, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord

NOT_MOVING_BELOW_MPS, NOT_TURNING_BELOW_RADPS = 0.001, 0.01
PROGRESS_M, PROGRESS_WINDOW_S = 0.5, 5.0
ROUTE_REACH_M = 5.0
"""Largest distance beside the route and ahead along it at which the route is followed, so that a loop's end is not
reached at its start."""
WAYPOINT_TOLERANCE_M = 0.01

_ONE_STEP = "Episodes with at least one step."
_GROWS = "The value grows with the length of the episode, so a lower value is not better when episodes fail early."


def _time_of_goal(record: EpisodeRecord) -> float:
    return min(event.time for event in record.events if event.kind == "goal_reached")


@metric("s", "lower", source=f"{FRANCIS}, T; {HUNAVSIM}, time to reach the goal", validity=f"{DRIVEN}.")
def time_to_goal(record: EpisodeRecord) -> Value:
    """Simulated time at which the goal was reached (event goal_reached)."""
    return why_not_driven(record) or _time_of_goal(record)


@metric(
    "s",
    "lower",
    source=f"{SOCNAVBENCH}, path traversal time",
    validity=f"{DRIVEN}: a drive that ends early is shorter without being better.",
)
def path_traversal_time(record: EpisodeRecord) -> Value:
    """Simulated time from the first observation to the end of the episode."""
    return why_not_driven(record) or record.duration


@metric(
    "s",
    "lower",
    source=f"{FRANCIS}, AT (time for cooperating agents to reach their goals), with the end of walking for a person's "
    "goal, which a record does not hold",
    validity=f"{DRIVEN}.",
)
def aggregated_time(record: EpisodeRecord) -> Value:
    """The robot's time to its goal plus, for every person who walks in the episode, the time from the person's first
    state to the last one in which the person walks (at least {series.STANDING_MPS:g} m/s). People still on their way
    when the episode ends count up to then. Comparable only over the same episodes, with the same people."""
    if reason := why_not_driven(record):
        return reason
    there = series.present(record)
    velocity = record.person_velocity.astype(np.float64)
    walking = there & (np.hypot(velocity[..., 0], velocity[..., 1]) >= series.STANDING_MPS)
    total = _time_of_goal(record)
    for person in np.flatnonzero(walking.any(axis=0)):
        begins = record.time[int(np.argmax(there[:, person]))]
        total += float(record.time[int(np.flatnonzero(walking[:, person])[-1])] - begins)
    return total


@dataclass(slots=True)
class _Progress:
    """Progress along a polyline (K, 2): the farthest point reached, which never moves back."""

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
    """Share of the length of ``route`` (K, 2) that the robot covered itself, 0 … 1. Stretches over which it was carried
    (event ``reset``), and stretches that it drives again, do not count."""
    progress, own = _Progress(route), 0.0
    carried = set(series.carried_steps(record).tolist())
    velocity, step = record.robot_velocity[:, :2], np.diff(record.time)
    for k, position in enumerate(record.robot_pose[:, :2]):
        if k - 1 in carried:
            progress.put_down(position - velocity[k] * step[k - 1])
        own += progress.drive(position)
    if is_completed(record):
        own += progress.move_to(float(progress.arc[-1]))
    return min(own / float(progress.arc[-1]), 1.0)


@metric(
    "ratio",
    "higher",
    source=f"{CARLA}; {SIDESTEP} for the case without a route",
    validity="Episodes that do not start at the goal.",
)
def route_completion(record: EpisodeRecord) -> Value:
    """Share of the length of the route that the robot covered itself, 0 … 1. With a route: arc length of the robot's
    projection on the polyline start, route, goal, which never moves back; the projection is searched at most
    {ROUTE_REACH_M:g} m beside the route and {ROUTE_REACH_M:g} m ahead of the point reached. Stretches over which the
    robot was carried after a failure (event reset), and stretches that it drives again, do not count. Without a route:
    1 - min_k |p_k - goal| / |p_0 - goal|. The value is 1 if the goal was reached without being carried."""
    distance = series.goal_distance(record)
    if distance[0] == 0:
        return STARTS_AT_GOAL
    ego = record.scenario.ego
    if len(series.carried_steps(record)) or (ego.route and not is_completed(record)):
        return own_share_of_route(record, np.array([record.robot_pose[0, :2], *ego.route, ego.goal]))
    return 1.0 if is_completed(record) else float(np.clip(1 - distance.min() / distance[0], 0, 1))


@metric(
    "ratio",
    "lower",
    source=f"{SOCNAVBENCH}, goal traversal ratio",
    validity="Episodes that did not reach the goal and did not start at it.",
    dialects={code.NAME: code.goal_traversal_ratio},
)
def goal_traversal_ratio(record: EpisodeRecord) -> Value:
    """|p_T - goal| / |p_0 - goal|, the share of the straight way that is left at the end."""
    if is_completed(record):
        return "the goal was reached"
    distance = series.goal_distance(record)
    return float(distance[-1] / distance[0]) if distance[0] > 0 else STARTS_AT_GOAL


@metric("m", "lower", source=f"{SEAN}, minimum distance to target", distance="centre")
def minimum_goal_distance(record: EpisodeRecord) -> Value:
    """min_k |p_k - goal|, from the robot's reference point."""
    return float(series.goal_distance(record).min())


@metric("m", "lower", source=f"{SEAN}, final distance to target", distance="centre")
def final_goal_distance(record: EpisodeRecord) -> Value:
    """|p_T - goal|, from the robot's reference point."""
    return float(series.goal_distance(record)[-1])


@metric("count", source=f"{FRANCIS}, FP, which leaves the two parameters open", validity=_ONE_STEP)
def failure_to_progress(record: EpisodeRecord) -> Value:
    """Number of separate periods in which the distance to the goal fell by less than {PROGRESS_M:g} m over the last
    {PROGRESS_WINDOW_S:g} s. The first {PROGRESS_WINDOW_S:g} s do not count. {_GROWS}"""
    if not record.steps:
        return NO_STEPS
    tolerance = 1e-9
    earlier = np.searchsorted(record.time, record.time - PROGRESS_WINDOW_S + tolerance, side="right") - 1
    whole = earlier >= 0
    distance = series.goal_distance(record)
    failing = whole & (distance[np.maximum(earlier, 0)] - distance < PROGRESS_M - tolerance)
    return float(np.count_nonzero(failing & ~np.concatenate([[False], failing[:-1]])))


@metric(
    "s",
    source=f"{FRANCIS}, ST, with the speed below which rules.frozen_after_s counts as standing",
    validity=_ONE_STEP,
)
def stalled_time(record: EpisodeRecord) -> Value:
    """Time in which the speed is below {series.STANDING_MPS:g} m/s, including turning on the spot. {_GROWS}"""
    stalled = series.speed(record)[1:] < series.STANDING_MPS
    return float(np.diff(record.time)[stalled].sum()) if record.steps else NO_STEPS


@metric("s", source=f"{SEAN}, time not moving, with the thresholds of {HUNAVSIM}", validity=_ONE_STEP)
def time_not_moving(record: EpisodeRecord) -> Value:
    """Time in which the speed is below {NOT_MOVING_BELOW_MPS:g} m/s and the turn rate below
    {NOT_TURNING_BELOW_RADPS:g} rad/s. {_GROWS}"""
    still = series.speed(record)[1:] < NOT_MOVING_BELOW_MPS
    still &= np.abs(record.robot_velocity[1:, 2]) < NOT_TURNING_BELOW_RADPS
    return float(np.diff(record.time)[still].sum()) if record.steps else NO_STEPS
