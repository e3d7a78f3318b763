"""A laser scanner with several channels, read out of depth pictures.

Up to four pictures cover the scanner's turn, with pixels of 0.1° to 0.2°. Each ray reads the depth between the centres
of pixels (:func:`sidestep.render.raster.finish.read_depth`): exact to the renderer's depth on planes, and to the
bending of the surface within a pixel elsewhere. Within a pixel of an outline or an edge a ray takes the nearest pixel,
so its direction may be off by half a pixel there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, atan2, ceil, cos, hypot, pi, radians, sin, tan

import numpy as np

from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.render.camera import STANDARD_HEIGHT_M
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.raster.finish import read_depth
from sidestep.render.renderer import Renderer
from sidestep.render.world_view import LiveWorld
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import PointScan
from sidestep.types.sensors import Lidar3DSettings

FINEST, COARSEST = radians(0.1), radians(0.2)
"""Limits of a pixel's angle in the middle of a picture."""
MARGIN = 3
"""Pixels round the outermost rays."""
WIDEST_FACE = pi / 2


@dataclass(frozen=True, eq=False)
class Face:
    """One picture of a turn: which rays it serves and where they cross it."""

    azimuth: float  # of its axis in the scanner's frame, rad
    rays: IntArray  # (M,) columns of the scan
    u: FloatArray  # (C * M,) float64, pixels
    v: FloatArray
    stretch: FloatArray  # (C * M,) range ÷ depth


class Lidar3D(Sensor):
    """Scans one world from one robot, step by step: serves ``points``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        settings, robot = context.scenario.sensors.lidar3d, context.robot
        self._settings = settings
        self._live = LiveWorld(context.scene, robot, context.person_id, context.scenario.name, context.others)
        self._origin = settings.mount or (0.0, 0.0, robot.camera_height or STANDARD_HEIGHT_M)
        self._scanner = DepthScanner(settings)
        self._renderer = self._scanner.renderer(self._live.view.scene)

    def watch(self, view: SensorView) -> None:
        """The world has moved on; nobody looks yet."""
        others = (view.others,) if self.context.others else ()
        self._live.follow(view.robot, view.everybody, view.time_s, *others)

    def sense(self, view: SensorView) -> dict[str, PointScan]:
        """A scan of this moment: all rays at once."""
        self.watch(view)
        robot = view.robot
        ahead, left, up = self._origin
        c, s = cos(robot.heading), sin(robot.heading)
        x, y = robot.x + ahead * c - left * s, robot.y + ahead * s + left * c
        z = self._live.ground(robot.x, robot.y) + up
        ranges, semantic = self._scanner.scan(self._renderer, self._live.instances(), (x, y, z), robot.heading)
        if self._settings.range_noise:
            rng = np.random.default_rng((self._settings.noise_seed, round(view.time_s * 1e6)))
            rough = ranges + np.float32(self._settings.range_noise) * rng.standard_normal(ranges.shape, np.float32)
            most = np.float32(self._settings.max_range)
            ranges = np.where(ranges < most, np.clip(rough, np.float32(0.0), np.nextafter(most, np.float32(0))), ranges)
        scan = PointScan(
            ranges,
            np.array(self._settings.channel_elevations),
            np.array(self._settings.azimuths),
            self._settings.max_range,
            self._origin,
            turned(self._settings.yaw, -self._settings.pitch),
            semantic,
        )
        return {"points": scan}


class DepthScanner:
    """The geometry of a scan: faces, and where rays cross them."""

    def __init__(self, settings: Lidar3DSettings) -> None:
        self._settings = settings
        elevation, azimuth = np.array(settings.channel_elevations), np.array(settings.azimuths)
        span = float(azimuth[-1] - azimuth[0])
        count = max(1, ceil(span / WIDEST_FACE - 1e-9))
        half = span / count / 2
        between = float(azimuth[1] - azimuth[0]) if len(azimuth) > 1 else COARSEST
        focal = 1.0 / min(max(between / 2, FINEST), COARSEST)
        top = max(_height(float(elevation.max()), half) * focal + MARGIN, 0.0)  # the axis is in the picture
        bottom = _height(-float(elevation.min()), half) * focal + MARGIN
        width, height = 2 * ceil(focal * tan(half) + MARGIN), ceil(top + bottom)
        far = settings.max_range
        self.camera = CameraModel(width, height, far_m=far, fx=focal, fy=focal, cx=width / 2, cy=top)
        self.faces = [self._face(k, float(azimuth[0]) + (2 * k + 1) * half, half, count) for k in range(count)]

    def _face(self, number: int, axis: float, half: float, count: int) -> Face:
        elevation, azimuth = np.array(self._settings.channel_elevations), np.array(self._settings.azimuths)
        share = np.floor((azimuth - azimuth[0]) / max(2 * half, 1e-12))
        rays = np.flatnonzero(np.minimum(share, count - 1) == number)
        across, upward = np.meshgrid(azimuth[rays] - axis, elevation)
        left, up = np.tan(across), np.tan(upward) / np.cos(across)
        camera = self.camera
        return Face(
            axis,
            rays,
            np.ascontiguousarray((camera.cx - camera.fx * left).ravel()),
            np.ascontiguousarray((camera.cy - camera.fy * up).ravel()),
            np.sqrt(1.0 + left**2 + up**2).ravel(),
        )

    def renderer(self, scene: object) -> Renderer:
        """A renderer of the faces of a ``Scene3D``."""
        return Renderer(scene, self.camera, shadows=False, reuse=True)  # type: ignore[arg-type]

    def scan(
        self, renderer: Renderer, instances: object, eye: tuple[float, float, float], heading: float
    ) -> tuple[FloatArray, IntArray | None]:
        """Ranges (C, K) float32 from ``eye`` with the robot's heading, and classes if asked for."""
        settings = self._settings
        channels, rays = len(settings.channel_elevations), settings.rays
        ranges = np.empty((channels, rays), np.float32)
        semantic = np.zeros((channels, rays), np.uint8) if settings.semantic else None
        want = ("depth", "semantic") if settings.semantic else ("depth",)
        mounted = turned(heading + settings.yaw, -settings.pitch)
        for face in self.faces:
            pose = _pose(eye, mounted @ turned(face.azimuth, 0.0))
            images = renderer.render(pose, instances, want)  # type: ignore[arg-type]
            found, nearest = np.empty(len(face.u)), np.empty(len(face.u), np.int64)
            assert images.depth is not None
            read_depth(images.depth, face.u, face.v, found, nearest)
            found *= face.stretch
            hit = found < settings.max_range
            shape = (channels, len(face.rays))
            ranges[:, face.rays] = np.where(hit, found, settings.max_range).reshape(shape)
            if semantic is not None and images.semantic is not None:
                semantic[:, face.rays] = np.where(hit, images.semantic.ravel()[nearest], 0).reshape(shape)
        return ranges, semantic


def _height(elevation: float, half: float) -> float:
    """How far up a picture, in focal lengths, rays of ``elevation`` within ``half`` of its axis come at most."""
    return tan(elevation) / (cos(half) if elevation > 0 else 1.0)


def turned(yaw: float, pitch: float) -> FloatArray:
    """(3, 3): Rz(yaw) Ry(pitch); positive pitch looks down."""
    return CameraPose(0.0, 0.0, 0.0, yaw, pitch).rotation


def _pose(eye: tuple[float, float, float], turn: FloatArray) -> CameraPose:
    """The pose whose rotation is ``turn``."""
    pitch = asin(min(max(-float(turn[2, 0]), -1.0), 1.0))
    if hypot(float(turn[0, 0]), float(turn[1, 0])) < 1e-9:  # straight up or down: yaw and roll are one
        return CameraPose(*eye, atan2(-float(turn[0, 1]), float(turn[1, 1])), pitch, 0.0)
    return CameraPose(
        *eye, atan2(float(turn[1, 0]), float(turn[0, 0])), pitch, atan2(float(turn[2, 1]), float(turn[2, 2]))
    )
