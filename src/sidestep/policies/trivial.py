"""The two simplest policies, against which all others are read: ``stop`` never moves and shows what collisions the
people alone would cause; ``straight`` drives straight to the goal, blind to people and walls.
"""

from __future__ import annotations

from typing import ClassVar

from sidestep._util.exact import hypot
from sidestep.interfaces import Policy
from sidestep.types import HolonomicVelocity, Observation, Task


class Stop(Policy):
    """Stands still for the whole episode."""

    name = "stop"
    summary = "stands still: the collisions that remain are the people's"
    citation = ""
    needs: ClassVar[frozenset[str]] = frozenset()

    def reset(self, task: Task) -> None:
        """Nothing to remember."""

    def act(self, observation: Observation) -> HolonomicVelocity:
        """Zero velocity."""
        return HolonomicVelocity(0.0, 0.0)


class Straight(Policy):
    """Drives straight to the goal at full speed."""

    name = "straight"
    summary = "straight line to the goal at full speed, blind to people and walls"
    citation = ""
    needs: ClassVar[frozenset[str]] = frozenset({"goal"})

    def reset(self, task: Task) -> None:
        """Take the robot's top speed."""
        self._speed = task.robot.limits.max_speed
        self._step_s = task.step_s

    def act(self, observation: Observation) -> HolonomicVelocity:
        """Full speed toward the goal, slower only in the last step so as not to overshoot."""
        assert observation.goal is not None
        dx, dy = observation.goal[0] - observation.robot.x, observation.goal[1] - observation.robot.y
        distance = hypot(dx, dy)
        if distance < 1e-9:
            return HolonomicVelocity(0.0, 0.0)
        speed = min(self._speed, distance / self._step_s)
        return HolonomicVelocity(dx / distance * speed, dy / distance * speed)
