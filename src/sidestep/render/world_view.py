"""One world in 3D: its scene, its people and its robots, as instances that a renderer draws; from poses of a record,
or live beside a running simulation. Both give the same motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import atan, cos, pi, sin

import numpy as np

from sidestep.render.figure import Figure, Motion, MotionTracker
from sidestep.render.light import Lamp, figure_lamps
from sidestep.render.mesh import Scene3D
from sidestep.render.packing import PackedInstances
from sidestep.render.people.animation import GestureClock, PeopleAnimator
from sidestep.render.people.body import person_models
from sidestep.render.people.pose import PeopleState, pose_people
from sidestep.render.people.wardrobe import Looks, dress_people
from sidestep.render.robots import robot_figure
from sidestep.render.scene import build_scene
from sidestep.render.scene.layout import ground_height
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import Pedestrians, RobotState
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene, SceneSpec

ROBOT_IDS = 90_000
"""Instance number of the first robot; people have 1 + their column, things of the scene 100 000 and more."""


STEER_MOST = 0.6
"""rad: front wheels are never seen turned farther."""


@lru_cache(maxsize=8)
def _built(spec_json: str, seed: int) -> Scene3D:
    return build_scene(SceneSpec.model_validate_json(spec_json), seed)


class WorldView:
    """The people of one scenario, dressed, and its robots, in its scene. Columns are those of the record."""

    def __init__(
        self, scene: SceneSpec, robots: Sequence[RobotSpec], scenario: str, person_id: IntArray, seed: int = 0
    ) -> None:
        self.robots = tuple(robots)
        self.figures: tuple[Figure, ...] = tuple(robot_figure(spec, k) for k, spec in enumerate(robots))
        self.looks: Looks = dress_people(scenario, person_id)
        people = person_models()
        models = (*people, *(figure.model for figure in self.figures))
        self.scene = replace(_built(scene.model_dump_json(), seed), models=models)
        self._first_robot = len(people)
        self._ground = ground_height(scene)
        self._bones = max(model.bone_count for model in models)
        self._slots = max(len(model.slots) for model in models)

    def instances(self, columns: IntArray, people: PeopleState, motions: Sequence[Motion | None]) -> PackedInstances:
        """Everybody of ``columns`` in the pose of ``people``, and the robots that have a motion (None: not drawn)."""
        shown = [k for k, motion in enumerate(motions) if motion is not None]
        n, count = len(columns), len(columns) + len(shown)
        bones = np.zeros((count, self._bones, 3, 4), np.float32)
        colours = np.zeros((count, self._slots, 3), np.float32)
        model, ids = np.zeros(count, np.int32), np.zeros(count, np.int32)
        if n:
            posed = pose_people(people)
            posed[:, :, 2, 3] += self.heights(people.position)[:, None]
            bones[:n, : posed.shape[1]] = posed
            colours[:n, : self.looks.colours.shape[1]] = self.looks.colours[columns]
            model[:n], ids[:n] = self.looks.model[columns], 1 + columns
        for row, k in enumerate(shown, start=n):
            figure, motion = self.figures[k], motions[k]
            assert motion is not None
            own = figure.bones(motion)
            bones[row, : len(own)] = own
            bones[row, : len(own), 2, 3] += self.heights(np.array([[motion.x, motion.y]]))[0]
            colours[row, : len(figure.colours)] = figure.colours
            model[row], ids[row] = self._first_robot + k, ROBOT_IDS + k
        return PackedInstances(model, bones, colours, ids)

    def lamps(self, motions: Sequence[Motion | None]) -> list[Lamp]:
        """Head lamps of the robots and vehicles that have a motion."""
        return [
            lamp
            for figure, motion in zip(self.figures, motions, strict=True)
            if motion is not None
            for lamp in figure_lamps(figure, motion, float(self.heights(np.array([[motion.x, motion.y]]))[0]))
        ]

    def heights(self, points: FloatArray) -> FloatArray:
        """Height of the ground at points (N, 2), m."""
        return self._ground.at(points)


class OtherRobotTracker:
    """Motions of robots and vehicles from their poses alone, step by step: legs walk, wheels roll and steer.

    Velocities are differences of poses, so a record, which holds no others, shows what a camera beside it saw.
    """

    def __init__(self, robots: Sequence[RobotSpec], figures: Sequence[Figure]) -> None:
        self._robots = tuple(robots)
        self._trackers = [MotionTracker(figure.leg_scale) for figure in figures]
        self._last: list[tuple[float, float, float, float] | None] = [None] * len(self._trackers)

    def advance(self, time: float, poses: FloatArray) -> list[Motion | None]:
        """The motion of each at ``time`` with poses (K, 3): x, y, heading; None for one whose pose is NaN."""
        return [self._one(k, time, pose) for k, pose in enumerate(np.asarray(poses, np.float64).reshape(-1, 3))]

    def _one(self, k: int, time: float, pose: FloatArray) -> Motion | None:
        if not np.isfinite(pose).all():
            self._last[k] = None
            return None
        x, y, heading = (float(value) for value in pose)
        velocity, steer, before = (0.0, 0.0), 0.0, self._last[k]
        if before is not None and time > before[0]:
            step = time - before[0]
            velocity = ((x - before[1]) / step, (y - before[2]) / step)
            turn = (heading - before[3] + pi) % (2 * pi) - pi
            steer = wheel_angle(self._robots[k], *velocity, heading, turn / step)
        self._last[k] = (time, x, y, heading)
        return self._trackers[k].advance(time, (x, y, heading), velocity, steer)


def wheel_angle(robot: RobotSpec, vx: float, vy: float, heading: float, turn_rate: float) -> float:
    """Angle δ of the front wheels, rad: tan δ = L ω / v; 0 for a robot that does not steer."""
    ahead = vx * cos(heading) + vy * sin(heading)
    if robot.dynamics != "bicycle" or robot.wheelbase is None or abs(ahead) < 0.05:
        return 0.0
    return min(max(atan(robot.wheelbase * turn_rate / ahead), -STEER_MOST), STEER_MOST)


NOT_YET = -1.0
NO_OTHER_ROBOTS = np.zeros((0, 3))


class LiveWorld:
    """Call :meth:`follow` once per step of the simulation, :meth:`instances` whenever a picture is taken."""

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
        self._other_tracker = OtherRobotTracker(self._other_specs, self.view.figures[1:])
        self._others: list[Motion | None] = [None] * len(self._other_specs)
        self._time = NOT_YET

    def follow(
        self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_OTHER_ROBOTS
    ) -> None:
        """Move on to ``time_s``: ``people`` are all active people, ``others`` (K, 3) the poses of the other robots."""
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
        self._others = self._other_tracker.advance(time_s, others)

    def instances(self, own_body: bool = False) -> PackedInstances:
        """Everybody in their pose of now, with the robot itself or without."""
        motion = self._motion if own_body else None
        people = self._animator.state(self._gestures.now)
        return self.view.instances(self._animator.present, people, (motion, *self._others))

    def lamps(self) -> list[Lamp]:
        """Head lamps of all robots and vehicles, also of the robot itself."""
        return self.view.lamps((self._motion, *self._others))

    def ground(self, x: float, y: float) -> float:
        """Height of the ground, m."""
        return float(self.view.heights(np.array([[x, y]]))[0])
