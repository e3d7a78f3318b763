"""Towards the goal by a planar lidar alone: a dynamic window over a map of what the lidar has seen so far. Bodies that
move are short runs of neighbouring rays, followed from scan to scan.
"""

from __future__ import annotations

from math import pi
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.policies.dynamic_window.seen_map import empty_map, enter_scan, moved_map, plan_to_go, ray_ends
from sidestep.policies.dynamic_window.window import Body, Weights, aim, choose
from sidestep.types import Command, HolonomicVelocity, LidarScan, Observation, RobotState, Task, Velocity
from sidestep.types.base import FloatArray, Model, NonNegative

APART_M = 0.4
"""Neighbouring rays that end farther apart belong to two bodies."""
LARGEST_M = 1.2
"""Longest run of rays that can be a person."""
FASTEST = 2.5  # m/s
SMOOTHING_S = 0.4
SEEN_S, SLOWEST = 0.15, 0.25
"""What was followed for less time, s, or is slower, m/s, counts as standing."""
NEAR_M = 6.0


class Movers:
    """Bodies of the last scans, with their velocities."""

    def __init__(self) -> None:
        self._time = 0.0
        self._places: FloatArray = np.zeros((0, 2))
        self._velocities: FloatArray = np.zeros((0, 2))
        self._age: FloatArray = np.zeros(0)

    def velocities(self, time: float, ends: FloatArray, hit: Any, ranges: FloatArray) -> FloatArray:
        """(K, 2): the velocity of what every ray met, m/s."""
        velocity = np.zeros((len(ends), 2))
        near = np.flatnonzero((hit == 1) & (ranges < NEAR_M))
        if not len(near):
            self._follow(time, np.zeros((0, 2)))
            return velocity
        gap = np.flatnonzero((np.diff(near) > 1) | (exact.hypot(*np.diff(ends[near], axis=0).T) > APART_M)) + 1
        runs = [run for run in np.split(near, gap) if len(run) > 2]
        runs = [run for run in runs if exact.hypot(*(ends[run[-1]] - ends[run[0]])) < LARGEST_M]
        places = np.array([ends[run].mean(axis=0) for run in runs]).reshape(-1, 2)
        self._follow(time, places)
        for k, run in enumerate(runs):
            if self._age[k] > SEEN_S and exact.hypot(*self._velocities[k]) > SLOWEST:
                velocity[run] = self._velocities[k]
        return velocity

    def _follow(self, time: float, places: FloatArray) -> None:
        """Each body is the last scan's body that should be nearest to it now, if that is near enough."""
        step = time - self._time
        found, age = np.zeros((len(places), 2)), np.zeros(len(places))
        if step > 0.0 and len(self._places):
            expected = self._places + self._velocities * step
            for k, place in enumerate(places):
                away = exact.hypot(*(expected - place).T)
                j = int(np.argmin(away))
                if away[j] >= FASTEST * step + 0.1:
                    continue
                share = step / (step + min(float(self._age[j]), SMOOTHING_S))
                change = (place - self._places[j]) / step - self._velocities[j]
                found[k], age[k] = self._velocities[j] + share * change, self._age[j] + step
                if exact.hypot(*found[k]) > FASTEST:
                    found[k], age[k] = 0.0, 0.0
        self._time, self._places, self._velocities, self._age = time, places, found, age


SPEEDS, TURNS, DIRECTIONS = 6, 15, 36
BRAKING = 1.5  # m/s²: of robots whose spec has no limit
TURN_RATE = 1.5  # rad/s: of robots whose spec has no limit
LOOK_M = 5.0
"""Farther points of a scan are not compared with paths."""
MOST_POINTS = 360
REPLAN_S = 0.4


class DynamicWindowSettings(Model):
    """Settings of the policy ``dynamic_window``."""

    horizon: Annotated[float, Field(ge=0.5, le=10)] = 2.0
    """Time for which paths are predicted, s."""
    gap: Annotated[float, Field(ge=0, lt=2)] = 0.1
    """Distance that a path keeps from what the lidar sees, m."""
    people: Annotated[float, Field(ge=0, le=0.3)] = 0.15
    """Distance that a path keeps from what moves, beyond ``gap``, m."""
    margin: Annotated[float, Field(ge=0.05, lt=3)] = 0.5
    """Distance from obstacles within which the path to the goal costs more, m."""
    room: Annotated[float, Field(ge=0.05, lt=10)] = 0.6
    """More clearance than this does not count, m."""
    progress: NonNegative = 2.0
    """Weight of the progress towards the goal."""
    heading: NonNegative = 0.6
    """Weight of the direction."""
    clearance: NonNegative = 0.6
    """Weight of the clearance."""
    speed: NonNegative = 0.2
    """Weight of the speed."""
    contact: NonNegative = 8.0
    """Weight against meeting something within the horizon."""


class DynamicWindow(Policy):
    """The dynamic window approach (Fox, Burgard, Thrun 1997) in its global form (Brock, Khatib 1999).

    Scans are entered into a map, on which the distance to the goal round everything seen so far is known. Of the
    velocities that the robot reaches by the next decision, and from which it can stop before it meets anything, the one
    with the greatest weighted sum of progress, heading, clearance and speed is taken.
    """

    name = "dynamic_window"
    summary = "dynamic window by a planar lidar and the goal alone: no map, no people"
    citation = (
        "Fox, Burgard, Thrun, The dynamic window approach to collision avoidance (1997); Brock, Khatib, High-speed "
        "navigation using the global dynamic window approach (1999)"
    )
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"lidar", "goal"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`DynamicWindowSettings`."""
        self._settings = DynamicWindowSettings.parse(settings, "policy dynamic_window")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Take the body and its limits."""
        limits, own = task.robot.limits, self._settings
        self._limits = limits
        self._step_s = task.step_s
        self._is_holonomic = task.robot.dynamics == "holonomic"
        self._turn_rate = limits.max_turn_rate or TURN_RATE
        braking = limits.max_deceleration or limits.max_acceleration or BRAKING
        radius = task.robot.footprint.enclosing_radius
        self._body = Body(radius, limits.max_speed, braking, task.step_s, own.horizon, own.gap, own.room)
        self._weights = Weights(own.progress, own.heading, own.clearance, own.speed, own.contact)
        self._points = np.zeros((MOST_POINTS, 4))
        self._forget(task)
        assert task.goal is not None
        scan = LidarScan(np.full(8, 1.0, np.float32), -pi, pi / 4, 1.0)
        robot = RobotState(*task.start, 0.0, 0.0, 0.0)
        self.act(
            Observation(0.0, robot, task.goal, lidar=scan)
        )  # compiles now, not within the time of the first answer
        self._forget(task)

    def _forget(self, task: Task) -> None:
        """Nothing was seen yet."""
        self._map = empty_map(task.start[0], task.start[1])
        self._movers = Movers()
        self._planned = -REPLAN_S

    def act(self, observation: Observation) -> Command:
        """The best velocity in the window."""
        robot, scan, goal = observation.robot, observation.lidar, observation.goal
        assert scan is not None
        assert goal is not None
        hit, ends = self._look(robot, scan)
        self._map = moved_map(self._map, robot.x, robot.y)
        velocity = self._movers.velocities(observation.time, ends, hit, scan.ranges)
        enter_scan(self._map, robot.x, robot.y, ends, hit)
        if observation.time >= self._planned + REPLAN_S - 1e-9:
            plan_to_go(self._map, goal[0], goal[1], self._body.radius, self._settings.margin)
            self._planned = observation.time
        count = self._choose_points(np.array([robot.x, robot.y]), scan.ranges, ends, velocity, hit)
        away = float(exact.hypot(goal[0] - robot.x, goal[1] - robot.y))
        pose = np.array([robot.x, robot.y, robot.heading, away])
        target = np.array(aim(self._map, robot.x, robot.y, goal[0], goal[1]))
        candidates = self._window(robot, away)
        best = choose(self._map, self._weights, self._body, pose, target, candidates, self._points, count)
        vx, vy, omega = candidates[best]
        if self._is_holonomic:
            turned = exact.rotate(np.array([[vx, vy]]), robot.heading)[0]
            return HolonomicVelocity(float(turned[0]), float(turned[1]))
        return Velocity(float(vx), float(omega))

    def _look(self, robot: RobotState, scan: LidarScan) -> tuple[Any, FloatArray]:
        """Which rays met something, and where all end, m."""
        ends = np.empty((len(scan.ranges), 2))
        ranges = np.asarray(scan.ranges, np.float64)
        ray_ends(robot.x, robot.y, robot.heading, ranges, scan.angle_min, scan.angle_increment, ends)
        return (scan.ranges < scan.max_range).astype(np.uint8), ends

    def _choose_points(
        self, here: FloatArray, ranges: FloatArray, ends: FloatArray, velocity: FloatArray, hit: Any
    ) -> int:
        """Fill in the nearer points of the scan and their velocities, thinned out evenly; their number."""
        near = np.flatnonzero((hit == 1) & (ranges < LOOK_M))
        near = near[:: max(1, -(-len(near) // MOST_POINTS))]
        places, moves = ends[near], velocity[near]
        moving = (moves != 0.0).any(axis=1)
        towards = here - places[moving]
        places[moving] += towards * (self._settings.people / np.maximum(exact.hypot(*towards.T), 0.3))[:, None]
        self._points[: len(near), :2], self._points[: len(near), 2:] = places, moves
        return len(near)

    def _window(self, robot: RobotState, away: float) -> FloatArray:
        """(C, 3): velocities in the robot's frame that it reaches by the next decision."""
        limits, step = self._limits, self._step_s
        top = min(limits.max_speed, away / step)
        if self._is_holonomic:
            angle = 2 * pi * np.arange(DIRECTIONS) / DIRECTIONS
            share = np.arange(1, SPEEDS + 1) / SPEEDS * top
            c, s = exact.cos(angle), exact.sin(angle)
            fan = np.stack([np.outer(share, c).ravel(), np.outer(share, s).ravel()], axis=1)
            return np.vstack([np.zeros(3), np.column_stack([fan, np.zeros(len(fan))])])
        faster = np.inf if limits.max_acceleration is None else limits.max_acceleration * step
        slower = np.inf if limits.max_deceleration is None else limits.max_deceleration * step
        c, s = exact.cos(robot.heading), exact.sin(robot.heading)
        speed = max(float(c * robot.vx + s * robot.vy), 0.0)
        low, high = max(speed - min(slower, 1e3), 0.0), min(speed + min(faster, 1e3), top)
        speeds = np.linspace(min(low, high), high, SPEEDS)
        turns = np.linspace(-1.0, 1.0, TURNS) * self._turn_rate
        if limits.max_turn_acceleration is not None:
            change = limits.max_turn_acceleration * step
            turns = np.clip(turns, robot.omega - change, robot.omega + change)
        grid = np.stack([np.repeat(speeds, TURNS), np.zeros(SPEEDS * TURNS), np.tile(turns, SPEEDS)], axis=1)
        return np.ascontiguousarray(grid)
