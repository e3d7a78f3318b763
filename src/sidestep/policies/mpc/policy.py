"""Model predictive control among predicted people as a policy: it smooths people's velocities, asks a predictor for
their paths, observes how late commands take effect, plans, and turns the motion into a command.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.kernels.dynamics import turn_to, unit_vector
from sidestep.policies.crowd_forecast import CrowdPaths, CrowdPredictor, bends_at
from sidestep.policies.mpc.planner import MpcSettings, Planner
from sidestep.policies.mpc.smooth import TIMES, Motion
from sidestep.policies.robot_agent import empty_observation
from sidestep.types import Command, HolonomicVelocity, Observation, RobotState, Task, Velocity
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import Pedestrians


def hypot(x: float, y: float) -> float:
    """``exact.hypot`` of two floats, without asking whether they are arrays."""
    return sqrt(x * x + y * y)


CLEAR_MPS = 1e-6
"""Velocities that differ by less are the same command."""


class CommandDelay:
    """Observes whether the robot does the last command or still the one before.

    A world that waits for its policy executes a command at once. One that does not is still busy with the command
    before when the next observation comes: then the last one (``pending``) will be executed until the next answer
    can arrive, one interval between calls later.
    """

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._time: float | None = None
        self._before, self.pending = (0.0, 0.0), (0.0, 0.0)
        self._late = False
        self.interval_s = step_s
        """How long a command is in force."""

    def observe(self, observation: Observation) -> float:
        """How much later than ``observation`` a command given now takes effect, s."""
        robot = observation.robot
        if self._time is not None:
            self.interval_s = max(observation.time - self._time, self._step_s)
            last = hypot(robot.vx - self.pending[0], robot.vy - self.pending[1])
            older = hypot(robot.vx - self._before[0], robot.vy - self._before[1])
            if abs(last - older) > CLEAR_MPS:
                self._late = older < last
            if self.interval_s > 1.5 * self._step_s:
                self._late = True
        self._time = observation.time
        return self.interval_s if self._late else 0.0

    def record(self, vx: float, vy: float) -> None:
        """Note the command that was given."""
        self._before, self.pending = self.pending, (vx, vy)

    def predict(self, robot: RobotState, delay_s: float) -> RobotState:
        """The robot when the next command takes effect, under the pending one."""
        vx, vy = self.pending
        return replace(robot, x=robot.x + delay_s * vx, y=robot.y + delay_s * vy, vx=vx, vy=vy)


SIGHT_M = 15.0
"""People further away do not matter within the horizon."""
NEAR_M = 3.0
TURNED_MPS = 0.3
"""A person within ``NEAR_M`` whose velocity has changed by more than ``TURNED_MPS`` is expected to go on either with
the smoothed or with the observed velocity."""
_SIGHT2, _NEAR2, _TURNED2 = SIGHT_M * SIGHT_M, NEAR_M * NEAR_M, TURNED_MPS * TURNED_MPS


class PeopleTracker:
    """Velocities smoothed over ``memory_s``: recordings are interpolated between annotations, so that raw ones jump."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._velocity: dict[int, tuple[float, float]] = {}
        self._time = 0.0
        self.ids: IntArray = np.zeros(0, np.int64)
        """Ids of the people in sight, one for each row of the last update."""
        self.turned: list[tuple[int, float, float]] = []
        """(row, vx, vy) as observed of people near the robot who have just changed their velocity."""

    def update(self, time: float, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, 5) x, y, smoothed vx, vy and radius of everybody in sight of (x, y)."""
        elapsed, self._time = time - self._time, time
        share = elapsed / self._memory_s if elapsed < self._memory_s else 1.0
        rows: list[float] = []
        ids: list[int] = []
        known: dict[int, tuple[float, float]] = {}
        last, self._velocity, self.turned = self._velocity, known, []
        for number, (px, py), (vx, vy), radius in zip(
            people.id.tolist(), people.position.tolist(), people.velocity.tolist(), people.radius.tolist(), strict=True
        ):
            away = (px - x) * (px - x) + (py - y) * (py - y)
            old = last.get(number)
            if old is not None:
                change_x, change_y = vx - old[0], vy - old[1]
                if away < _NEAR2 and change_x * change_x + change_y * change_y > _TURNED2:
                    self.turned.append((len(ids), vx, vy))
                vx, vy = old[0] + share * change_x, old[1] + share * change_y
            known[number] = (vx, vy)
            if away < _SIGHT2:
                rows += (px, py, vx, vy, radius)
                ids.append(number)
        self.ids = np.array(ids, np.int64)
        return np.array(rows, np.float64).reshape(-1, 5)


AS_EXPECTED_MPS = 0.02
"""Difference from the commanded velocity up to which the robot followed its command."""
LOOK_AHEAD_S = 0.4
"""A robot that cannot go sideways steers for where the motion is then."""
TURN_AHEAD_S, TURN_GAIN = 0.8, 4.0
"""It turns toward where the motion is after that time, rad/s per rad."""
_TOWARD = int(np.searchsorted(TIMES, TURN_AHEAD_S - 1e-9))
_AHEAD = int(np.searchsorted(TIMES, LOOK_AHEAD_S - 1e-9))
STANDING_M = 0.15
"""It turns toward where the motion has got further than this; if that is nowhere, it stands."""
FASTEST_TURN = 2.0
"""Turn rate of a robot that has no limit of its own, rad/s."""
HARDEST = 4.0
"""Acceleration along the heading at most, m/s²."""


PLAN_STEP_S = 0.3
"""Time between the points of the published plan, s."""
_PLAN_TIMES = PLAN_STEP_S * np.arange(1, round(TIMES[-1] / PLAN_STEP_S) + 1)


class Mpc(Policy):
    """The motion that gets on best without coming near to where people are expected, planned again at every call.

    A holonomic robot gets its velocity; one that has to turn, a speed and a turn rate toward the motion ahead.
    """

    name = "mpc"
    summary = "predictive and smooth: search in place and time among predicted people, iLQR along it"
    citation = "Sidestep; iLQR: Li and Todorov, ICINCO 2004"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "map"})
    plan_step_s = PLAN_STEP_S

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`MpcSettings`."""
        self._settings = MpcSettings.parse(settings, "policy mpc")
        self.settings: dict[str, Any] = self._settings.model_dump()
        self._predictor = registry.make_predictor(self._settings.predictor)

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._prepare(task)
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._prepare(task)

    def _prepare(self, task: Task) -> None:
        self._step_s = task.step_s
        self._robot = task.robot
        self._planner = Planner(task, self._settings)
        self._tracker = PeopleTracker(self._settings.memory_s)
        self._crowd_predictor = CrowdPredictor(self._predictor, TIMES, task)
        self._acceleration = (0.0, 0.0)
        self._expected = (0.0, 0.0)
        self._delay = CommandDelay(task.step_s)
        self._crowd = CrowdPaths(np.zeros((0, 5)), np.zeros((0, len(TIMES), 2)))
        self._ids: IntArray = np.zeros(0, np.int64)

    def act(self, observation: Observation) -> Command:
        """The first step of the best motion, planned from when it can begin."""
        delay_s, robot, people, time = 0.0, observation.robot, observation.pedestrians, observation.time
        assert people is not None
        turns = self._robot.dynamics == "unicycle"
        if not turns:
            delay_s = self._delay.observe(observation)
        if delay_s > 0.0:
            seen = np.hstack([people.position, people.velocity])
            ahead = self._crowd_predictor.positions(time, people.id, seen, robot, delay_s)
            robot, time = self._delay.predict(robot, delay_s), time + delay_s
            people = replace(people, position=ahead)
        self._predict(time, people, robot)
        start = self._state(robot)
        if self._robot.dynamics != "holonomic":
            self._planner.face(*unit_vector(robot.heading))
        motion = self._planner.plan(time, np.array(start), self._crowd)
        if turns:
            return self._steer(robot, start, motion)
        command = self._go(start, motion) if delay_s <= 0.0 else self._hold(motion, self._delay.interval_s)
        self._delay.record(command.vx, command.vy)
        return command

    def _predict(self, time: float, people: Pedestrians, robot: RobotState) -> None:
        """Ask for the paths of everybody in sight, and of people who have just turned also as if they go on so."""
        rows = self._tracker.update(time, people, robot.x, robot.y)
        ids, turned = self._tracker.ids, self._tracker.turned
        plan = self._planner.last_plan(time) if self._crowd_predictor.needs_plan else None
        observed = rows.copy() if turned else rows
        self._crowd_predictor.remember(time, ids, rows)
        self._crowd, owner = self._crowd_predictor.paths(time, ids, rows, robot, plan)
        self._ids = ids if owner is None else ids[owner]
        if not turned:
            return
        for row, vx, vy in turned:
            observed[row, 2], observed[row, 3] = vx, vy
        other, other_owner = self._crowd_predictor.paths(time, ids, observed, robot, plan)
        rows_turned = [row for row, _, _ in turned]
        chosen = rows_turned if other_owner is None else np.flatnonzero(np.isin(other_owner, rows_turned))
        everybody = np.arange(len(ids))
        whose = np.concatenate(
            [everybody if owner is None else owner, (everybody if other_owner is None else other_owner)[chosen]]
        )
        first = np.ones(len(whose), np.int64)
        first[-len(chosen) :] = 0
        order = np.argsort(2 * whose + first, kind="stable")  # the paths after a turn come before a person's others
        lines = np.concatenate([self._crowd.lines, other.lines[chosen]])[order]
        bends = self._crowd.bends
        if len(bends) or len(other.bends):
            parts = [
                paths.bends if len(paths.bends) else np.zeros((len(paths.lines), *bends.shape[1:]))
                for paths in (self._crowd, other)
            ]
            bends = np.concatenate([parts[0], parts[1][chosen]])[order]
        self._crowd, self._ids = CrowdPaths(lines, bends), ids[whose[order]]

    @property
    def plan(self) -> FloatArray:
        """(H, 2) the motion, every ``plan_step_s``, m."""
        path: FloatArray = exact.interp(_PLAN_TIMES, TIMES, self._planner.motion.states[:, :2])
        return path

    @property
    def forecast(self) -> tuple[IntArray, FloatArray]:
        """Ids of the people in sight and (M, H, 2) where they are expected; a person with two paths is there twice."""
        place, velocity = self._crowd.lines[:, None, :2], self._crowd.lines[:, None, 2:4]
        paths = place + _PLAN_TIMES[None, :, None] * velocity
        if len(self._crowd.bends):
            paths += bends_at(self._crowd.bends, TIMES, _PLAN_TIMES)
        return self._ids, paths

    def _state(self, robot: RobotState) -> tuple[float, ...]:
        """Position and velocity as observed; the acceleration is the planned one if the robot followed its command."""
        missed = hypot(robot.vx - self._expected[0], robot.vy - self._expected[1])
        ax, ay = self._acceleration if missed < AS_EXPECTED_MPS else (0.0, 0.0)
        return robot.x, robot.y, robot.vx, robot.vy, ax, ay

    def _go(self, start: tuple[float, ...], motion: Motion) -> HolonomicVelocity:
        """The velocity at the end of the step."""
        h, (_, _, vx, vy, ax, ay) = self._step_s, start
        jx, jy = motion.inputs[0].tolist()
        vx, vy = vx + h * (ax + 0.5 * h * jx), vy + h * (ay + 0.5 * h * jy)
        too_fast = hypot(vx, vy) / self._robot.limits.max_speed
        if too_fast > 1.0:
            vx, vy = vx / too_fast, vy / too_fast
        self._acceleration, self._expected = (ax + h * jx, ay + h * jy), (vx, vy)
        return HolonomicVelocity(vx, vy)

    def _hold(self, motion: Motion, interval_s: float) -> HolonomicVelocity:
        """The one velocity that leads to where the motion is when the next command comes."""
        x, y, _, _, ax, ay = exact.interp(interval_s, TIMES, motion.states).tolist()
        vx, vy = (x - motion.states[0, 0]) / interval_s, (y - motion.states[0, 1]) / interval_s
        too_fast = max(hypot(vx, vy) / self._robot.limits.max_speed, 1.0)
        self._acceleration, self._expected = (ax, ay), (vx / too_fast, vy / too_fast)
        return HolonomicVelocity(*self._expected)

    def _steer(self, robot: RobotState, start: tuple[float, ...], motion: Motion) -> Velocity:
        """Speed and turn rate toward the motion a little ahead; on the spot while it lies behind."""
        h, limits = self._step_s, self._robot.limits
        away = motion.states[:, :2] - start[:2]
        ahead = hypot(*away[_AHEAD].tolist())
        far = exact.hypot(*away.T) > STANDING_M
        if not far.any():
            self._acceleration, self._expected = (0.0, 0.0), (0.0, 0.0)
            return Velocity(0.0, 0.0)
        knot = max(int(far.argmax()), _TOWARD)
        dx, dy = away[knot].tolist()
        turn = float(turn_to(dx, dy, robot.heading))
        fastest = limits.max_turn_rate or FASTEST_TURN
        omega = min(max(TURN_GAIN * turn, -fastest), fastest)
        along_x, along_y = unit_vector(robot.heading + h * omega)
        facing = max((dx * along_x + dy * along_y) / hypot(dx, dy), 0.0)
        wanted = min(ahead / LOOK_AHEAD_S, limits.max_speed) * (facing * facing)
        now = robot.vx * along_x + robot.vy * along_y
        v = min(max(wanted, now - h * HARDEST), now + h * HARDEST, limits.max_speed)
        v = max(v, 0.0)
        jx, jy = motion.inputs[0].tolist()
        ax, ay = start[4] + h * jx, start[5] + h * jy
        push = ax * along_x + ay * along_y
        self._acceleration, self._expected = (push * along_x, push * along_y), (v * along_x, v * along_y)
        return Velocity(v, omega)
