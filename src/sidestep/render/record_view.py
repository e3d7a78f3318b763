"""An episode record in 3D: pictures of any moment, from the robot, from behind it, or from above."""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, cos, pi, sin
from typing import Literal

import numpy as np

from sidestep.errors import BadInput
from sidestep.render.camera import camera_model, mounted_pose
from sidestep.render.camera_model import CameraPose
from sidestep.render.developing import develop
from sidestep.render.figure import track_motion
from sidestep.render.light import make_light
from sidestep.render.people import track_gait
from sidestep.render.renderer import Images, Renderer
from sidestep.render.world_view import WorldView
from sidestep.types.record import EpisodeRecord
from sidestep.types.scene import SceneSpec
from sidestep.types.sensors import CameraSettings

Angle = Literal["first", "chase", "above"]
"""From the robot's own camera, from behind and above it, or from high up over the whole way."""

CHASE_BACK_M, CHASE_UP_M, CHASE_DOWN = 3.2, 2.1, 0.28
TURN_STEPS = 10
"""The chasing camera swings round within about so many steps."""


class RecordView:
    """Draws one record. The renderer is made once; moments may be asked for in any order."""

    def __init__(
        self, record: EpisodeRecord, settings: CameraSettings, angle: Angle = "first", threads: int = 2
    ) -> None:
        scene = record.scenario.scene
        if not isinstance(scene, SceneSpec):
            raise BadInput(f"the record of {record.scenario.name!r} does not hold its scene; run the episode again")
        self._record, self._settings, self._angle = record, settings, angle
        self._view = WorldView(scene, (record.robot,), record.scenario.name, record.person_id)
        self._gait = track_gait(
            record.time, record.person_position, record.person_velocity, record.person_heading, record.person_present,
            self._view.looks,
        )  # fmt: skip
        figure = self._view.figures[0]
        self._motions = track_motion(record.time, record.robot_pose, record.robot_velocity, leg_scale=figure.leg_scale)
        light = make_light(settings.weather, settings.time_of_day, indoor=self._view.scene.indoor)
        lens = settings if angle == "first" else settings.seen_from_outside(settings.field_of_view)
        self._renderer = Renderer(
            self._view.scene, camera_model(lens), light=light, threads=threads, shadows=settings.shadows
        )
        self._swing = _smooth_headings(record)

    def images(self, step: int, want: Iterable[str] = ("rgb",)) -> Images:
        """Pictures of the moment after ``step`` steps; ``first``: those that the policy has before it then, which were
        taken earlier where the camera has a rate or a latency."""
        first, settings = self._angle == "first", self._settings
        if first:
            step = settings.seen_at(step, self._record.step_s, self._record.scenario.rules.control_every)
        motion = None if first and not settings.own_body else self._motions[step]
        instances = self._view.instances(self._gait.present(step), self._gait.state(step), (motion,))
        time_s = float(self._record.time[step])
        images = self._renderer.render(self.pose(step), instances, want, time_s=time_s)
        return develop(images, settings, time_s) if first else images

    def pose(self, step: int) -> CameraPose:
        """Where the camera is."""
        x, y, heading = (float(value) for value in self._record.robot_pose[step])
        ground = float(self._view.heights(np.array([[x, y]]))[0])
        if self._angle == "first":
            return mounted_pose(self._settings, self._record.robot, x, y, heading, ground)
        if self._angle == "chase":
            swing = float(self._swing[step])
            back_x, back_y = x - CHASE_BACK_M * cos(swing), y - CHASE_BACK_M * sin(swing)
            return CameraPose(back_x, back_y, ground + CHASE_UP_M, swing, CHASE_DOWN, 0.0)
        return self._from_above()

    def _from_above(self) -> CameraPose:
        """South of the middle between start and goal, high enough to see both."""
        path = self._record.robot_pose[:, :2]
        goal = np.array(self._record.scenario.ego.goal)
        points = np.concatenate([path, goal[None]])
        middle, reach = (points.min(axis=0) + points.max(axis=0)) / 2, max(float(np.ptp(points, axis=0).max()), 6.0)
        height = 0.75 * reach / np.tan(self._settings.field_of_view / 2) + 2.0
        south = 0.55 * height
        return CameraPose(float(middle[0]), float(middle[1] - south), height, pi / 2, atan2(height, south), 0.0)


def _smooth_headings(record: EpisodeRecord) -> np.ndarray:
    """Heading of the chasing camera at every step: it follows the robot's, calmly."""
    headings = np.unwrap(record.robot_pose[:, 2])
    calm = np.empty_like(headings)
    calm[0] = headings[0]
    for step in range(1, len(headings)):
        calm[step] = calm[step - 1] + (headings[step] - calm[step - 1]) / TURN_STEPS
    return calm
