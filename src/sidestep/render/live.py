"""A world in 3D beside its simulation: people walk and the robot drives as they will in pictures of the record."""

from __future__ import annotations

import numpy as np

from sidestep.render.figure import Motion, MotionTracker
from sidestep.render.packing import PackedInstances
from sidestep.render.people import PeopleAnimator
from sidestep.render.world_view import WorldView
from sidestep.types.base import IntArray
from sidestep.types.observation import Pedestrians, RobotState
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene

NOT_YET = -1.0


class LiveWorld:
    """Call :meth:`follow` once per step of the simulation, :meth:`instances` whenever somebody looks."""

    def __init__(self, scene: CompiledScene, robot: RobotSpec, person_id: IntArray, scenario: str) -> None:
        self.view = WorldView(scene.spec, (robot,), scenario, person_id)
        self.person_id = person_id
        self._columns = {int(person): column for column, person in enumerate(person_id)}
        self.restart()

    def restart(self) -> None:
        """Another episode with the same people begins."""
        self._animator = PeopleAnimator(self.view.looks)
        self._tracker = MotionTracker(self.view.figures[0].leg_scale)
        self._motion: Motion | None = None
        self._time = NOT_YET

    def follow(self, robot: RobotState, people: Pedestrians, time_s: float) -> None:
        """The world is now like this. ``people`` is everybody who is there."""
        if time_s == self._time:
            return
        self._time = time_s
        n = len(self._columns)
        position, velocity = np.full((n, 2), np.nan, np.float32), np.full((n, 2), np.nan, np.float32)
        heading, present = np.full(n, np.nan, np.float32), np.zeros(n, bool)
        columns = np.array([self._columns[int(person)] for person in people.id], np.int64)
        position[columns], velocity[columns] = people.position, people.velocity
        heading[columns], present[columns] = people.heading, True
        self._animator.advance(time_s, position, velocity, heading, present)
        self._motion = self._tracker.advance(
            time_s, (robot.x, robot.y, robot.heading), (robot.vx, robot.vy, robot.omega)
        )

    def instances(self, own_body: bool = False) -> PackedInstances:
        """Everybody in their pose of now, with the robot itself or without."""
        motion = self._motion if own_body else None
        return self.view.instances(self._animator.present, self._animator.state(), (motion,))

    def ground(self, x: float, y: float) -> float:
        """Height of the ground, m."""
        return float(self.view.heights(np.array([[x, y]]))[0])
