"""An episode record in 3D: pictures of any moment, from the robot, from behind it, or from above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import atan2, pi, radians, tan
from typing import Literal

import numpy as np

from sidestep.errors import BadInput
from sidestep.render.camera import camera_model, mounted_pose
from sidestep.render.camera_model import CameraPose
from sidestep.render.chase import Chase, high_walls
from sidestep.render.developing import develop
from sidestep.render.figure import Motion, track_motion
from sidestep.render.lamps import Lamp
from sidestep.render.light import make_light
from sidestep.render.packing import PackedInstances
from sidestep.render.people import track_gait
from sidestep.render.people.gesture_clock import recorded_gestures
from sidestep.render.renderer import AnyRenderer, Images, open_renderer
from sidestep.render.world_view import MachineTracker, WorldView, wheel_angle
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec
from sidestep.types.scene import SceneSpec
from sidestep.types.sensors import CameraSettings

Angle = Literal["first", "chase", "above"]
"""From the robot's own camera, from behind and above it, or from high up over the whole way."""

OUTSIDE_VIEW = radians(72.0)
"""Field of view of cameras that no robot carries."""


class RecordView:
    """Draws one record. Renderers are made once per angle; moments may be asked for in any order.

    ``others`` are the specs of the further machines in the order of ``record.other_pose``; those left out are drawn as
    the circles of the record.
    """

    def __init__(
        self,
        record: EpisodeRecord,
        settings: CameraSettings,
        angle: Angle = "first",
        threads: int = 2,
        *,
        others: Sequence[RobotSpec] = (),
    ) -> None:
        scene = record.scenario.scene
        if not isinstance(scene, SceneSpec):
            raise BadInput(f"the record of {record.scenario.name!r} does not hold its scene; run the episode again")
        self._record, self._settings, self._angle, self._threads = record, settings, angle, threads
        machines = (*others, *(_plain_machine(float(r)) for r in record.other_radius[len(others) :]))
        self._view = WorldView(scene, (record.robot, *machines), record.scenario.name, record.person_id)
        self._gait = track_gait(
            record.time, record.person_position, record.person_velocity, record.person_heading, record.person_present,
            self._view.looks,
        )  # fmt: skip
        self._gestures = recorded_gestures(record)
        own = self._view.figures[0]
        self._motions = track_motion(
            record.time, record.robot_pose, record.robot_velocity, _steering(record), own.leg_scale
        )
        tracker = MachineTracker(machines, self._view.figures[1:])
        self._others = [
            tracker.advance(float(t), poses) for t, poses in zip(record.time, record.other_pose, strict=True)
        ]
        self._light = make_light(settings.weather, settings.time_of_day, indoor=self._view.scene.indoor)
        self._renderers: dict[Angle, AnyRenderer] = {}
        high = high_walls(scene, record.walls, self._view.scene.indoor)
        self._chase = Chase(record.robot_pose, record.step_s, high)

    @property
    def world(self) -> WorldView:
        """The scene with its people and machines."""
        return self._view

    def images(self, step: int, want: Iterable[str] = ("rgb",), angle: Angle | None = None) -> Images:
        """Pictures of the moment after ``step`` steps, from the view's own angle or another; ``first``: those that the
        policy has before it then, which were taken earlier where the camera has a rate or a latency."""
        angle, settings = angle or self._angle, self._settings
        if angle == "first":
            step = settings.seen_at(step, self._record.step_s, self._record.scenario.rules.control_every)
        pose, instances = self.pose(step, angle), self.instances(step, own=angle != "first" or settings.own_body)
        time_s = float(self._record.time[step])
        images = self._renderer(angle).render(pose, instances, want, lamps=self.lamps(step), time_s=time_s)
        return develop(images, settings, time_s) if angle == "first" else images

    def lamps(self, step: int) -> list[Lamp]:
        """Head lamps of all machines, also of the one whose camera looks, if it is dark."""
        return self._view.lamps([self._motions[step], *self._others[step]]) if self._light.lamps > 0.0 else []

    def instances(self, step: int, *, own: bool = True) -> PackedInstances:
        """Everybody and every machine at a step; ``own``: also the robot under test."""
        motions: list[Motion | None] = [self._motions[step] if own else None, *self._others[step]]
        gestures = None if self._gestures is None else self._gestures[step]
        return self._view.instances(self._gait.present(step), self._gait.state(step, gestures), motions)

    def pose(self, step: int, angle: Angle | None = None) -> CameraPose:
        """Where the camera is."""
        angle = angle or self._angle
        x, y, heading = (float(value) for value in self._record.robot_pose[step])
        ground = float(self._view.heights(np.array([[x, y]]))[0])
        if angle == "first":
            return mounted_pose(self._settings, self._record.robot, x, y, heading, ground)
        return self._chase.pose(step, ground) if angle == "chase" else self._from_above()

    def _renderer(self, angle: Angle) -> AnyRenderer:
        if angle not in self._renderers:
            settings = self._settings if angle == "first" else self._settings.seen_from_outside(OUTSIDE_VIEW)
            self._renderers[angle] = open_renderer(
                self._view.scene, camera_model(settings), light=self._light, threads=self._threads,
                shadows=settings.shadows,
            )  # fmt: skip
        return self._renderers[angle]

    def _from_above(self) -> CameraPose:
        """South of the middle between start and goal, high enough to see both."""
        path = self._record.robot_pose[:, :2]
        goal = np.array(self._record.scenario.ego.goal)
        points = np.concatenate([path, goal[None]])
        middle, reach = (points.min(axis=0) + points.max(axis=0)) / 2, max(float(np.ptp(points, axis=0).max()), 6.0)
        height = 0.75 * reach / tan(OUTSIDE_VIEW / 2) + 2.0
        south = 0.55 * height
        return CameraPose(float(middle[0]), float(middle[1] - south), height, pi / 2, atan2(height, south), 0.0)


def _steering(record: EpisodeRecord) -> FloatArray | None:
    """Angle of the front wheels at every state, if the robot has some."""
    if record.robot.dynamics != "bicycle":
        return None
    moves = zip(record.robot_velocity, record.robot_pose[:, 2], strict=True)
    return np.array([wheel_angle(record.robot, vx, vy, heading, omega) for (vx, vy, omega), heading in moves])


def _plain_machine(radius: float) -> RobotSpec:
    limits = RobotLimits(max_speed=10.0)
    return RobotSpec(name="machine", dynamics="holonomic", footprint=Footprint(radius=radius), limits=limits)
