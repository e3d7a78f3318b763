"""Model predictive control among predicted people as a policy: it smooths people's velocities, notices how late
commands take effect from what the robot does, plans, and turns the motion into a command.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sidestep import exact
from sidestep.exact import hypot
from sidestep.interfaces import Policy
from sidestep.kernels.dynamics import turn_to, unit_vector
from sidestep.policies.mpc.planner import TIMES, Motion, MpcSettings, Planner
from sidestep.policies.robot_agent import empty_observation
from sidestep.types import Command, HolonomicVelocity, Observation, RobotState, Task, Velocity
from sidestep.types.base import FloatArray
from sidestep.types.observation import Pedestrians

CLEAR_MPS = 1e-6
"""Velocities that differ by less are the same command."""


class CommandDelay:
    """Watches whether the robot does the last command or still the one before.

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

    def notice(self, observation: Observation) -> float:
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

    def give(self, vx: float, vy: float) -> None:
        """Note the command that was given."""
        self._before, self.pending = self.pending, (vx, vy)

    def when_in_force(self, observation: Observation, delay_s: float) -> Observation:
        """What will be there when the command takes effect: the robot under the pending one, people walking on."""
        if delay_s <= 0.0 or observation.pedestrians is None:
            return observation
        robot, people = observation.robot, observation.pedestrians
        vx, vy = self.pending
        moved = replace(robot, x=robot.x + delay_s * vx, y=robot.y + delay_s * vy, vx=vx, vy=vy)
        ahead = replace(people, position=people.position + delay_s * people.velocity)
        return replace(observation, time=observation.time + delay_s, robot=moved, pedestrians=ahead)


SIGHT_M = 15.0
"""People further away do not matter within the horizon."""
NEAR_M = 3.0
TURNED_MPS = 0.3
"""Somebody within ``NEAR_M`` whose velocity has changed by more than ``TURNED_MPS`` is expected to go on either way."""


class PeopleTracker:
    """Velocities smoothed over ``memory_s``: recordings are interpolated between annotations, so that raw ones jump."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._velocity: dict[int, tuple[float, float]] = {}
        self._time = 0.0
        self.ids: list[int] = []
        """Whom each row of the last update is of."""

    def update(self, time: float, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, 5) x, y, vx, vy, radius of everybody in sight of (x, y); somebody who turned near it has two rows."""
        elapsed, self._time = time - self._time, time
        share = elapsed / self._memory_s if elapsed < self._memory_s else 1.0
        rows: list[tuple[float, float, float, float, float]] = []
        known = {}
        ids = []
        for number, (px, py), (vx, vy), radius in zip(
            people.id.tolist(), people.position.tolist(), people.velocity.tolist(), people.radius.tolist(), strict=True
        ):
            away = (px - x) * (px - x) + (py - y) * (py - y)
            old = self._velocity.get(number)
            if old is not None:
                change_x, change_y = vx - old[0], vy - old[1]
                turned = change_x * change_x + change_y * change_y > TURNED_MPS * TURNED_MPS
                if turned and away < NEAR_M * NEAR_M:
                    rows.append((px, py, vx, vy, radius))
                    ids.append(number)
                vx, vy = old[0] + share * change_x, old[1] + share * change_y
            known[number] = (vx, vy)
            if away < SIGHT_M * SIGHT_M:
                rows.append((px, py, vx, vy, radius))
                ids.append(number)
        self._velocity, self.ids = known, ids
        return np.array(rows, np.float64).reshape(-1, 5)


AS_EXPECTED_MPS = 0.02
"""Within this of the commanded velocity the robot did what it was told."""
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
"""Between the points of the plan that is published."""
_PLAN_TIMES = PLAN_STEP_S * np.arange(1, round(TIMES[-1] / PLAN_STEP_S) + 1)


class Mpc(Policy):
    """The motion that gets on best without coming near to where people are expected, planned anew at every call.

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

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._prepare(task)
        self.act(
            empty_observation(task)
        )  # compiles or loads the kernels now, not within the time limit of the first answer
        self._prepare(task)

    def _prepare(self, task: Task) -> None:
        self._step_s = task.step_s
        self._robot = task.robot
        self._planner = Planner(task, self._settings)
        self._people = PeopleTracker(self._settings.memory_s)
        self._acceleration = (0.0, 0.0)
        self._expected = (0.0, 0.0)
        self._delay = CommandDelay(task.step_s)
        self._crowd: FloatArray = np.zeros((0, 5))

    def act(self, observation: Observation) -> Command:
        """The first step of the best motion, planned from when it can begin."""
        if self._robot.dynamics == "unicycle":
            delay_s = 0.0
        else:
            delay_s = self._delay.notice(observation)
            observation = self._delay.when_in_force(observation, delay_s)
        robot, people = observation.robot, observation.pedestrians
        assert people is not None
        self._crowd = crowd = self._people.update(observation.time, people, robot.x, robot.y)
        start = self._state(robot)
        self._planner.face(*unit_vector(robot.heading))
        motion = self._planner.plan(observation.time, start, crowd)
        if self._robot.dynamics == "unicycle":
            return self._steer(robot, start, motion)
        command = self._go(start, motion.inputs[0]) if delay_s <= 0.0 else self._hold(motion, self._delay.interval_s)
        self._delay.give(command.vx, command.vy)
        return command

    @property
    def plan(self) -> FloatArray:
        """(H, 2) the motion, every ``plan_step_s``, m."""
        states = self._planner.motion.states
        return np.stack([exact.interp(_PLAN_TIMES, TIMES, states[:, c]) for c in (0, 1)], axis=1)

    @property
    def forecast(self) -> tuple[list[int], FloatArray]:
        """Ids of the people in sight and (M, H, 2) where they are expected; who may go either way is there twice."""
        place, velocity = self._crowd[:, None, :2], self._crowd[:, None, 2:4]
        return self._people.ids, place + _PLAN_TIMES[None, :, None] * velocity

    def _state(self, robot: RobotState) -> FloatArray:
        """Place and velocity as observed; the acceleration is the planned one if the robot did as it was told."""
        missed = hypot(robot.vx - self._expected[0], robot.vy - self._expected[1])
        ax, ay = self._acceleration if missed < AS_EXPECTED_MPS else (0.0, 0.0)
        return np.array([robot.x, robot.y, robot.vx, robot.vy, ax, ay])

    def _go(self, start: FloatArray, jerk: FloatArray) -> HolonomicVelocity:
        """The velocity at the end of the step."""
        h = self._step_s
        vx, vy = (start[2:4] + h * (start[4:6] + 0.5 * h * jerk)).tolist()
        ax, ay = (start[4:6] + h * jerk).tolist()
        too_fast = hypot(vx, vy) / self._robot.limits.max_speed
        if too_fast > 1.0:
            vx, vy = vx / too_fast, vy / too_fast
        self._acceleration, self._expected = (ax, ay), (vx, vy)
        return HolonomicVelocity(vx, vy)

    def _hold(self, motion: Motion, interval_s: float) -> HolonomicVelocity:
        """The one velocity that leads to where the motion is when the next command comes."""
        x, y, ax, ay = (float(exact.interp(interval_s, TIMES, motion.states[:, c])) for c in (0, 1, 4, 5))
        vx, vy = (x - motion.states[0, 0]) / interval_s, (y - motion.states[0, 1]) / interval_s
        too_fast = max(hypot(vx, vy) / self._robot.limits.max_speed, 1.0)
        self._acceleration, self._expected = (ax, ay), (vx / too_fast, vy / too_fast)
        return HolonomicVelocity(*self._expected)

    def _steer(self, robot: RobotState, start: FloatArray, motion: Motion) -> Velocity:
        """Speed and turn rate toward the motion a little ahead; on the spot while it lies behind."""
        h, limits = self._step_s, self._robot.limits
        dx, dy = (motion.states[_AHEAD, :2] - start[:2]).tolist()
        ahead = hypot(dx, dy)
        far = exact.hypot(*(motion.states[:, :2] - start[:2]).T) > STANDING_M
        if not far.any():
            self._acceleration, self._expected = (0.0, 0.0), (0.0, 0.0)
            return Velocity(0.0, 0.0)
        knot = max(int(far.argmax()), _TOWARD)
        dx, dy = (motion.states[knot, :2] - start[:2]).tolist()
        turn = float(turn_to(dx, dy, robot.heading))
        fastest = limits.max_turn_rate or FASTEST_TURN
        omega = min(max(TURN_GAIN * turn, -fastest), fastest)
        along_x, along_y = unit_vector(robot.heading + h * omega)
        facing = max((dx * along_x + dy * along_y) / hypot(dx, dy), 0.0)
        wished = min(ahead / LOOK_AHEAD_S, limits.max_speed) * (facing * facing)
        now = robot.vx * along_x + robot.vy * along_y
        v = min(max(wished, now - h * HARDEST), now + h * HARDEST, limits.max_speed)
        v = max(v, 0.0)
        ax, ay = (start[4:6] + h * motion.inputs[0]).tolist()
        push = ax * along_x + ay * along_y
        self._acceleration, self._expected = (push * along_x, push * along_y), (v * along_x, v * along_y)
        return Velocity(v, omega)
