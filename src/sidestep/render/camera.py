"""The camera that a robot carries: pictures for policies, from the world as it is now, cropped, scaled and with the
errors of a sensor. Errors are drawn from a generator of their own for every picture, seeded by the settings and the
picture's time, so they do not depend on which pictures were taken before.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.light import make_light
from sidestep.render.raster.finish import average_areas
from sidestep.render.renderer import Images, open_renderer
from sidestep.render.world_view import NO_OTHER_ROBOTS, LiveWorld
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import Pedestrians, RobotState
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene
from sidestep.types.sensors import CameraSettings, Crop

RGB_STREAM, DEPTH_STREAM = 0, 1


def apply_camera_settings(images: Images, settings: CameraSettings, time_s: float) -> Images:
    """The pictures as the camera hands them out. ``time_s`` is when they were taken."""
    parts = {
        name: _crop_and_scale(getattr(images, name), settings)
        for name in ("rgb", "depth", "semantic", "instance")
        if getattr(images, name) is not None
    }
    if "rgb" in parts and settings.rgb_noise:
        rng = _generator(settings, time_s, RGB_STREAM)
        error = rng.standard_normal(parts["rgb"].shape, np.float32) * np.float32(settings.rgb_noise)
        parts["rgb"] = np.clip(np.rint(parts["rgb"] + error), 0, 255).astype(np.uint8)
    if "depth" in parts:
        parts["depth"] = _measured_depth(parts["depth"], settings, time_s)
    return Images(**parts)


def _generator(settings: CameraSettings, time_s: float, stream: int) -> np.random.Generator:
    return np.random.default_rng((settings.noise_seed, round(time_s * 1e6), stream))


def _crop_and_scale(picture: NDArray[Any], settings: CameraSettings) -> NDArray[Any]:
    if settings.crop is None and settings.output_size is None:
        return picture
    rows, columns = (settings.crop or Crop()).within(settings.width, settings.height)
    cropped = np.ascontiguousarray(picture[rows, columns])
    if settings.output_size is None or settings.output_size == (cropped.shape[1], cropped.shape[0]):
        return cropped
    width, height = settings.output_size
    if cropped.ndim == 3:
        scaled = np.empty((height, width, 3), np.uint8)
        average_areas(cropped, np.empty((cropped.shape[1], 3), np.int64), scaled)
        return scaled
    return np.ascontiguousarray(cropped[_nearest(cropped.shape[0], height)][:, _nearest(cropped.shape[1], width)])


def _nearest(old: int, new: int) -> NDArray[np.int64]:
    """Which of ``old`` pixels holds the centre of each of ``new``: ⌊(k + ½) old / new⌋."""
    return (2 * np.arange(new) + 1) * old // (2 * new)


def _measured_depth(depth: FloatArray, settings: CameraSettings, time_s: float) -> FloatArray:
    """Depth with noise, in steps, and only where it can be measured; (H, W) float32, m."""
    values = depth
    if settings.depth_noise:
        drawn = _generator(settings, time_s, DEPTH_STREAM).standard_normal(depth.shape, np.float32)
        seen = np.where(np.isfinite(depth), depth, np.float32(0.0))
        noise = np.float32(settings.depth_noise) * seen * seen * drawn
        values = np.where(np.isfinite(depth), np.maximum(depth + noise, np.float32(0.0)), depth)
    if settings.depth_step:
        values = np.rint(values / settings.depth_step) * settings.depth_step
    if settings.max_depth is not None:
        values = np.where(values > settings.max_depth, np.inf, values)
    if settings.min_depth:
        values = np.where(values < settings.min_depth, 0.0, values)
    measured: FloatArray = values.astype(np.float32)
    return measured


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

    def follow(
        self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_OTHER_ROBOTS
    ) -> None:
        """Let people and robots move on to ``time_s`` without taking a picture."""
        self._live.follow(robot, people, time_s, others)

    def sense(
        self, robot: RobotState, people: Pedestrians, time_s: float, others: FloatArray = NO_OTHER_ROBOTS
    ) -> dict[str, Any]:
        """The pictures that were asked for."""
        self._live.follow(robot, people, time_s, others)
        ground = self._live.ground(robot.x, robot.y)
        pose = mounted_pose(self._settings, self._robot, robot.x, robot.y, robot.heading, ground)
        instances = self._live.instances(self._settings.own_body)
        lamps = self._live.lamps() if self._renderer.light.lamps > 0.0 else []
        images = self._renderer.render(pose, instances, self._needs, lamps=lamps, time_s=time_s)
        finished = apply_camera_settings(images, self._settings, time_s)
        return {name: getattr(finished, name) for name in self._needs}
