"""The iLQR controller as a policy: it predicts people, lays a reference to the goal and plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sidestep import registry
from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.kernels.dynamics import unit_vector
from sidestep.policies.crowd_forecast import CrowdPaths, CrowdPredictor, bends_at
from sidestep.policies.ilqr.controller import (
    TIMES,
    Limits,
    Problem,
    Weights,
    begin_again,
    head_for,
    improve,
    make_plan,
    make_reference,
    make_scratch,
)
from sidestep.policies.ilqr.reference import fill_reference
from sidestep.policies.mpc.field import GoalFields, make_ground
from sidestep.policies.mpc.policy import PeopleTracker
from sidestep.policies.robot_agent import empty_observation
from sidestep.types import Command, Observation, Task, Velocity
from sidestep.types.base import FloatArray, IntArray, Model, NonNegative, Positive

PLAN_STEP_S = 0.2
"""Time between the points of the published plan, s."""
_PLAN_TIMES = PLAN_STEP_S * np.arange(1, round(TIMES[-1] / PLAN_STEP_S) + 1)
WAYPOINT_TIMES = np.array([1.0, 2.0, 3.0])
"""When the reference passes its waypoints, s from now."""
NO_WAYPOINTS = np.zeros((0, 2))
ASIDE_M = (0.0, -0.9, 0.9)
"""Where other first guesses pass the reference: on it, to its right, to its left."""


class IlqrSettings(Model):
    """Weights are cost rates per second."""

    predictor: str = "constant_velocity"
    """Predictor of people's positions: a name of ``sidestep list predictors``."""
    track: Positive = 1.0
    track_m: Positive = 1.0
    """Weight of the distance to the reference, squared up to about ``track_m`` (m), linear beyond."""
    heading: NonNegative = 0.3
    """Weight of 1 - cos(heading - direction of the reference)."""
    turn: NonNegative = 0.02
    acceleration: Positive = 0.05
    turn_acceleration: Positive = 0.01
    """Weights of the squared turn rate and of the squared rates of both controls."""
    touch: NonNegative = 3000.0
    touch_gap: NonNegative = 0.15
    comfort: NonNegative = 8.0
    comfort_gap: NonNegative = 0.4
    """Weights of gaps to people below these (m); the second gap widens with time."""
    growth: NonNegative = 0.1
    growth_s: NonNegative = 2.0
    """How fast it widens, m/s, and for how long, s."""
    fade_s: Positive = 4.0
    """Weights of people are divided by 1 + (t / fade_s)²."""
    wall: NonNegative = 400.0
    wall_gap: NonNegative = 0.12
    """Weight of gaps to walls below this (m)."""
    cruise: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Speed of the reference as a share of the robot's top speed."""
    most_acceleration: Positive = 1.5
    most_turn_rate: Positive = 2.0
    most_turn_acceleration: Positive = 5.0
    """Limits (m/s², rad/s, rad/s²) where the robot has none or larger ones of its own."""
    iterations: Annotated[int, Field(ge=1, le=100)] = 6
    """Iterations of iLQR per step from the last plan; other first guesses get twice as many."""
    guess_s: Positive = 0.1
    """Time between two tries of other first guesses, s."""
    switch: NonNegative = 0.1
    """How much cheaper another plan has to be to be taken."""
    memory_s: NonNegative = 0.25
    """Time constant over which people's velocities are smoothed, s; 0: not at all."""

    def weights(self, radius: float) -> Weights:
        """The settings as the kernels take them, for a robot of that radius, m."""
        values = self.model_dump(include=set(Weights._fields))
        return Weights(radius=radius, **{name: float(value) for name, value in values.items()})

    def limits(self, task: Task) -> Limits:
        """The box of controls: the robot's limits within the settings'."""
        own = task.robot.limits
        most = self.most_acceleration
        return Limits(
            own.max_speed,
            min(own.max_turn_rate or self.most_turn_rate, self.most_turn_rate),
            min(own.max_acceleration or most, most),
            min(own.max_deceleration or own.max_acceleration or 2.0 * most, 2.0 * most),
            min(own.max_turn_acceleration or self.most_turn_acceleration, self.most_turn_acceleration),
        )


class Ilqr(Policy):
    """Model predictive control of a unicycle by iterative LQR."""

    name = "ilqr"
    summary = "iLQR model predictive control of a unicycle among people who keep their velocity"
    citation = "Li and Todorov, ICINCO 2004; Tassa, Mansard and Todorov, ICRA 2014"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "map"})
    plan_step_s = PLAN_STEP_S
    Settings: ClassVar[type[IlqrSettings]] = IlqrSettings

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`IlqrSettings`."""
        self._settings = self.Settings.parse(settings, f"policy {self.name}")
        self.settings: dict[str, Any] = self._settings.model_dump()
        self._predictor = registry.make_predictor(self._settings.predictor)

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._prepare(task)
        first = empty_observation(task)
        for time in (0.0, task.step_s):  # compiles now, not within the time limit of the first answers
            self.act(replace(first, time=time))
        self._forget(task)

    def _prepare(self, task: Task) -> None:
        assert task.goal is not None
        radius = task.robot.footprint.enclosing_radius
        self._task, self._goal = task, (float(task.goal[0]), float(task.goal[1]))
        self._weights, self._limits = self._settings.weights(radius), self._settings.limits(task)
        self._speed = self._settings.cruise * self._limits.speed
        self._ground = make_ground(task, radius)
        self._plan, self._other, self._reference = make_plan(), make_plan(), make_reference()
        self._scratch = make_scratch()
        self._forget(task)

    def _forget(self, task: Task) -> None:
        """Begin without a plan and without people."""
        self._tracker = PeopleTracker(self._settings.memory_s)
        self._crowd_predictor = CrowdPredictor(self._predictor, TIMES, task)
        self._crowd = CrowdPaths(np.zeros((0, 5)), np.zeros((0, len(TIMES), 2)))
        self._ids: IntArray = np.zeros(0, np.int64)
        self._time: float | None = None
        self._next_guess = 0.0

    def act(self, observation: Observation) -> Command:
        """The first controls of the best plan, as far as one control step gets towards them."""
        robot, time = observation.robot, observation.time
        self._predict(observation)
        c, s = unit_vector(robot.heading)
        start = np.array([robot.x, robot.y, robot.heading, robot.vx * c + robot.vy * s, robot.omega])
        self._refer(observation, NO_WAYPOINTS)
        waypoints = self._waypoints(observation)
        if len(waypoints):
            self._refer(observation, waypoints)
        self._optimise(time, start)
        share = min(self._task.step_s / (TIMES[1] - TIMES[0]), 1.0)
        v, omega = (start[3:] + share * (self._plan.controls[0] - start[3:])).tolist()
        return Velocity(v, omega)

    def _refer(self, observation: Observation, waypoints: FloatArray) -> None:
        """Lay the reference to the goal past waypoints."""
        robot = observation.robot
        times = WAYPOINT_TIMES[: len(waypoints)]
        fill_reference(self._reference, self._ground, *self._goal, robot.x, robot.y, self._speed, waypoints, times)

    def _waypoints(self, observation: Observation) -> FloatArray:
        """(M, 2) points in the world, m, that the reference shall pass at the first M of ``WAYPOINT_TIMES``. The
        reference without waypoints and the forecast are there already."""
        return NO_WAYPOINTS

    def _predict(self, observation: Observation) -> None:
        people, robot, time = observation.pedestrians, observation.robot, observation.time
        assert people is not None
        rows = self._tracker.update(time, people, robot.x, robot.y)
        ids = self._tracker.ids
        self._crowd_predictor.remember(time, ids, rows, observation)
        plan = self._plan.states[1:, :2].copy() if self._crowd_predictor.needs_plan and self._time is not None else None
        self._crowd, owner = self._crowd_predictor.paths(time, ids, rows, robot, plan)
        self._ids = ids if owner is None else ids[owner]

    def _optimise(self, time: float, start: FloatArray) -> None:
        """Improve the last plan; now and then try others and keep the cheapest."""
        problem = Problem(self._crowd, self._ground, self._reference, self._weights, self._limits)
        if self._time is None:
            head_for(self._plan, start, self._reference, 0.0, self._limits)
        else:
            begin_again(self._plan, time - self._time, start, self._limits, self._scratch)
        best = improve(self._plan, problem, self._settings.iterations, self._scratch)
        if self._time is None or time >= self._next_guess - 1e-9:
            self._next_guess = time + self._settings.guess_s
            for aside in ASIDE_M:
                head_for(self._other, start, self._reference, aside, self._limits)
                cost = improve(self._other, problem, 2 * self._settings.iterations, self._scratch)
                if cost < best - self._settings.switch:
                    self._plan, self._other, best = self._other, self._plan, cost
        self._time = time

    @property
    def ground(self) -> GoalFields:
        """Clearance and distance left of the present episode."""
        return self._ground

    @property
    def people(self) -> FloatArray:
        """(N, 5) x, y, smoothed vx, vy and radius of the paths that were avoided last."""
        return self._crowd.lines

    @property
    def plan(self) -> FloatArray:
        """(H, 2) the motion, every ``plan_step_s``, m."""
        path: FloatArray = exact.interp(_PLAN_TIMES, TIMES, self._plan.states[:, :2])
        return path

    @property
    def forecast(self) -> tuple[IntArray, FloatArray]:
        """Ids of the people in sight and (M, H, 2) where they are expected."""
        lines = self._crowd.lines
        paths = lines[:, None, :2] + _PLAN_TIMES[None, :, None] * lines[:, None, 2:4]
        if len(self._crowd.bends):
            paths += bends_at(self._crowd.bends, TIMES, _PLAN_TIMES)
        return self._ids, paths
