"""How late commands take effect: seen from what the robot does, not told by anybody."""

from __future__ import annotations

from dataclasses import replace

from sidestep.exact import hypot
from sidestep.types import Observation

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
