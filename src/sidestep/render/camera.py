"""The camera that a robot carries: pictures for policies, from the world as it is now."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.developing import develop
from sidestep.render.light import make_light
from sidestep.render.live import NO_MACHINES, LiveWorld
from sidestep.render.renderer import open_renderer
from sidestep.types.base import FloatArray, IntArray
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
    """The intrinsics that the settings describe, of the picture as drawn."""
    if settings.fx is None:
        return CameraModel(settings.width, settings.height, settings.field_of_view)
    return CameraModel(
        settings.width,
        settings.height,
        fx=settings.fx,
        fy=settings.fy or settings.fx,
        cx=settings.width / 2 if settings.cx is None else settings.cx,
        cy=settings.height / 2 if settings.cy is None else settings.cy,
    )


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
        others: tuple[RobotSpec, ...] = (),
    ) -> None:
        self._settings, self._robot, self._needs = settings, robot, needs
        self._scene, self._scenario, self._others = scene, scenario, others
        self._live = LiveWorld(scene, robot, person_id, scenario, others)
        built = self._live.view.scene
        light = make_light(settings.weather, settings.time_of_day, indoor=built.indoor)
        self._renderer = open_renderer(built, camera_model(settings), light=light, shadows=settings.shadows)

    def restart(self, person_id: IntArray) -> None:
        """A new episode of the same scenario, perhaps with other people."""
        if np.array_equal(person_id, self._live.person_id):
            self._live.restart()
        else:
            self._live = LiveWorld(self._scene, self._robot, person_id, self._scenario, self._others)

    def follow(self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_MACHINES) -> None:
        """The world has moved on; nobody looks yet."""
        self._live.follow(robot, people, time_s, others)

    def sense(
        self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_MACHINES
    ) -> dict[str, Any]:
        """The pictures that were asked for."""
        self._live.follow(robot, people, time_s, others)
        ground = self._live.ground(robot.x, robot.y)
        pose = mounted_pose(self._settings, self._robot, robot.x, robot.y, robot.heading, ground)
        instances = self._live.instances(self._settings.own_body)
        lamps = self._live.lamps() if self._renderer.light.lamps > 0.0 else []
        images = self._renderer.render(pose, instances, self._needs, lamps=lamps, time_s=time_s)
        finished = develop(images, self._settings, time_s)
        return {name: getattr(finished, name) for name in self._needs}


def make_camera(
    scene: CompiledScene,
    robot: RobotSpec,
    needs: frozenset[str],
    settings: CameraSettings,
    person_id: IntArray,
    scenario: str,
    others: tuple[RobotSpec, ...] = (),
) -> RobotCamera:
    """What the registry knows as the camera ``raster``."""
    return RobotCamera(scene, robot, needs, settings, person_id, scenario, others)
