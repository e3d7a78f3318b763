"""The camera that a robot carries: pictures for policies, from the world as it is now."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.figure import MotionTracker
from sidestep.render.light import make_light
from sidestep.render.people import PeopleAnimator
from sidestep.render.renderer import Renderer
from sidestep.render.world_view import WorldView
from sidestep.types.base import IntArray
from sidestep.types.observation import Pedestrians, RobotState
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene
from sidestep.types.sensors import CameraSettings

STANDARD_HEIGHT_M = 1.0
"""Where the camera of a robot is whose spec does not say."""


def mounted_pose(
    settings: CameraSettings, robot: RobotSpec, x: float, y: float, heading: float, z: float
) -> CameraPose:
    """Where the camera of a robot at (x, y) is and looks; ``z`` is the ground below."""
    ahead, left, up = settings.mount or (0.0, 0.0, robot.camera_height or STANDARD_HEIGHT_M)
    c, s = cos(heading), sin(heading)
    return CameraPose(
        x + ahead * c - left * s, y + ahead * s + left * c, z + up, heading + settings.yaw, -settings.pitch, 0.0
    )


def camera_model(settings: CameraSettings) -> CameraModel:
    """The intrinsics that the settings describe."""
    return CameraModel(settings.width, settings.height, settings.field_of_view)


class RobotCamera:
    """Looks from one robot at one world, step by step. People walk as they do in the pictures of the record."""

    def __init__(
        self,
        scene: CompiledScene,
        robot: RobotSpec,
        needs: frozenset[str],
        settings: CameraSettings,
        person_id: IntArray,
        scenario: str,
    ) -> None:
        self._settings, self._robot, self._needs = settings, robot, needs
        self._view = WorldView(scene.spec, (robot,), scenario, person_id)
        self._columns = {int(person): column for column, person in enumerate(person_id)}
        self._animator = PeopleAnimator(self._view.looks)
        self._tracker = MotionTracker(self._view.figures[0].leg_scale)
        light = make_light(settings.weather, settings.time_of_day, indoor=self._view.scene.indoor)
        self._renderer = Renderer(self._view.scene, camera_model(settings), light=light, shadows=settings.shadows)
        self._rng = np.random.default_rng(settings.noise_seed)

    def sense(self, robot: RobotState, people: Pedestrians, time_s: float) -> dict[str, Any]:
        """The pictures that were asked for."""
        n = len(self._columns)
        position, velocity = np.full((n, 2), np.nan, np.float32), np.full((n, 2), np.nan, np.float32)
        heading, present = np.full(n, np.nan, np.float32), np.zeros(n, bool)
        columns = np.array([self._columns[int(person)] for person in people.id], np.int64)
        position[columns], velocity[columns] = people.position, people.velocity
        heading[columns], present[columns] = people.heading, True
        self._animator.advance(time_s, position, velocity, heading, present)
        instances = self._view.instances(self._animator.present, self._animator.state(), (None,))
        ground = float(self._view.heights(np.array([[robot.x, robot.y]]))[0])
        pose = mounted_pose(self._settings, self._robot, robot.x, robot.y, robot.heading, ground)
        images = self._renderer.render(pose, instances, self._needs, time_s=time_s)
        pictures = {name: getattr(images, name) for name in self._needs}
        if "depth" in pictures and self._settings.depth_noise:
            depth = pictures["depth"]
            noise = self._settings.depth_noise * depth * depth
            drawn = self._rng.standard_normal(depth.shape).astype(np.float32)
            pictures["depth"] = np.where(np.isfinite(depth), np.maximum(depth + noise * drawn, 0.0), depth)
        return pictures


def make_camera(
    scene: CompiledScene,
    robot: RobotSpec,
    needs: frozenset[str],
    settings: CameraSettings,
    person_id: IntArray,
    scenario: str,
) -> RobotCamera:
    """What the registry knows as the camera ``raster``."""
    return RobotCamera(scene, robot, needs, settings, person_id, scenario)
