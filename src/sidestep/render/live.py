"""A world in 3D beside its simulation: people walk and the robot drives as they will in pictures of the record."""

from __future__ import annotations

import numpy as np

from sidestep.render.figure import Motion, MotionTracker
from sidestep.render.lamps import Lamp
from sidestep.render.packing import PackedInstances
from sidestep.render.people import PeopleAnimator
from sidestep.render.people.gesture_clock import GestureClock
from sidestep.render.world_view import MachineTracker, WorldView, wheel_angle
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import Pedestrians, RobotState
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene

NOT_YET = -1.0
NO_MACHINES = np.zeros((0, 3))


class LiveWorld:
    """Call :meth:`follow` once per step of the simulation, :meth:`instances` whenever somebody looks."""

    def __init__(
        self,
        scene: CompiledScene,
        robot: RobotSpec,
        person_id: IntArray,
        scenario: str,
        others: tuple[RobotSpec, ...] = (),
    ) -> None:
        self.view = WorldView(scene.spec, (robot, *others), scenario, person_id)
        self._robot, self._other_specs = robot, others
        self.person_id = person_id
        self._columns = {int(person): column for column, person in enumerate(person_id)}
        self.restart()

    def restart(self) -> None:
        """Another episode with the same people begins."""
        self._animator = PeopleAnimator(self.view.looks)
        self._gestures = GestureClock(len(self.person_id))
        self._tracker = MotionTracker(self.view.figures[0].leg_scale)
        self._motion: Motion | None = None
        self._machines = MachineTracker(self._other_specs, self.view.figures[1:])
        self._others: list[Motion | None] = [None] * len(self._other_specs)
        self._time = NOT_YET

    def follow(self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_MACHINES) -> None:
        """The world is now like this. ``people`` is everybody who is there, ``others`` (K, 3) the poses of the other
        machines."""
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
        if people.gesture is not None and people.gaze is not None:
            code, head_yaw = np.zeros(n, np.int64), np.full(n, np.nan, np.float32)
            code[columns], head_yaw[columns] = people.gesture, people.gaze - people.heading
            self._gestures.advance(time_s, code, head_yaw)
        self._motion = self._tracker.advance(
            time_s, (robot.x, robot.y, robot.heading), (robot.vx, robot.vy, robot.omega),
            wheel_angle(self._robot, robot.vx, robot.vy, robot.heading, robot.omega),
        )  # fmt: skip
        self._others = self._machines.advance(time_s, others)

    def instances(self, own_body: bool = False) -> PackedInstances:
        """Everybody in their pose of now, with the robot itself or without."""
        motion = self._motion if own_body else None
        people = self._animator.state(self._gestures.now)
        return self.view.instances(self._animator.present, people, (motion, *self._others))

    def lamps(self) -> list[Lamp]:
        """Head lamps of all machines, also of the robot itself."""
        return self.view.lamps((self._motion, *self._others))

    def ground(self, x: float, y: float) -> float:
        """Height of the ground, m."""
        return float(self.view.heights(np.array([[x, y]]))[0])
