"""An episode record in 3D: pictures of any moment, from the robot, from a camera that follows it (behind and above,
smooth in turns, never beyond a high wall), or from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import atan2, cos, pi, radians, sin, tan
from typing import Literal

import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.render.camera import apply_camera_settings, camera_model, mounted_pose
from sidestep.render.camera_model import CameraPose
from sidestep.render.figure import Motion, track_motion
from sidestep.render.light import Lamp, make_light
from sidestep.render.packing import PackedInstances
from sidestep.render.people.animation import recorded_gestures, track_gait
from sidestep.render.renderer import Images, Renderer
from sidestep.render.world_view import OtherRobotTracker, WorldView, wheel_angle
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec
from sidestep.types.scene import SOLID, SceneSpec
from sidestep.types.sensors import CameraSettings

BACK_M, UP_M, AHEAD_M = 3.2, 2.1, 2.6
"""Distance behind the robot, height above the ground, and distance ahead of the robot at which the camera aims (at
``AIM_M`` above ground)."""
AIM_M = 0.5
NEAREST_M, OFF_WALL_M = 1.0, 0.35
EYE_M = 1.8
"""Solids lower than this do not hide the robot."""
TURN_S, SLIDE_S = 0.5, 0.6
"""Time constant of the turning camera, and the time over which it slides nearer before a wall."""


class ChaseCamera:
    """A camera that follows a robot along its poses (T+1, 3), ``step_s`` apart."""

    def __init__(self, path: FloatArray, step_s: float, walls: FloatArray) -> None:
        self._path = path
        self._yaw = _smooth_headings(np.unwrap(path[:, 2]), max(TURN_S / step_s, 1.0))
        back = _free_distance_behind(path[:, :2], self._yaw, walls)
        self._back = _smooth_distances(back, max(round(SLIDE_S / step_s), 1))

    def pose(self, step: int, ground: float) -> CameraPose:
        """Where it is at a step; ``ground`` is the height under the robot."""
        x, y, _ = (float(value) for value in self._path[step])
        yaw, back = float(self._yaw[step]), float(self._back[step])
        down = atan2(UP_M - AIM_M, back + AHEAD_M)
        return CameraPose(x - back * cos(yaw), y - back * sin(yaw), ground + UP_M, yaw, down, 0.0)


def high_walls(scene: SceneSpec, walls: FloatArray, indoor: bool) -> FloatArray:
    """Edges (W, 4) of what would hide the robot: not indoors, where walls are seen through from behind."""
    if indoor or not len(walls):
        return np.zeros((0, 4))
    low = [
        shapely.Polygon(region.polygon)
        for region in scene.regions
        if region.kind in SOLID and region.height is not None and region.height < EYE_M
    ]
    if not low:
        return np.asarray(walls, np.float64)
    middles = shapely.points((walls[:, 0] + walls[:, 2]) / 2, (walls[:, 1] + walls[:, 3]) / 2)
    return np.asarray(walls[shapely.distance(shapely.union_all(low), middles) > 0.02], np.float64)


def _smooth_headings(headings: FloatArray, steps: float) -> FloatArray:
    smooth = np.array(headings, np.float64)
    for step in range(1, len(smooth)):
        smooth[step] = smooth[step - 1] + (headings[step] - smooth[step - 1]) / steps
    return smooth


def _free_distance_behind(positions: FloatArray, yaw: FloatArray, walls: FloatArray) -> FloatArray:
    """How far behind each position the camera may be, m."""
    free = np.full(len(positions), BACK_M)
    along = -np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    for x0, y0, x1, y1 in walls:
        ex, ey = x1 - x0, y1 - y0
        cross = along[:, 0] * ey - along[:, 1] * ex
        with np.errstate(divide="ignore", invalid="ignore"):
            dx, dy = x0 - positions[:, 0], y0 - positions[:, 1]
            ray = (dx * ey - dy * ex) / cross
            edge = (dx * along[:, 1] - dy * along[:, 0]) / cross
            hit = (np.abs(cross) > 1e-9) & (ray > 0) & (edge >= 0) & (edge <= 1)
        free = np.where(hit, np.minimum(free, ray - OFF_WALL_M), free)
    limited: FloatArray = np.clip(free, NEAREST_M, BACK_M)
    return limited


def _smooth_distances(back: FloatArray, steps: int) -> FloatArray:
    """Each the least within ``steps`` either side, then the mean over as many: never beyond a wall, never a jump."""
    padded = np.pad(back, steps, mode="edge")
    least = np.lib.stride_tricks.sliding_window_view(padded, 2 * steps + 1).min(axis=1)
    padded = np.pad(least, steps, mode="edge")
    mean: FloatArray = np.lib.stride_tricks.sliding_window_view(padded, 2 * steps + 1).mean(axis=1)
    return mean


Angle = Literal["first", "chase", "above"]
"""``first``: the robot's own camera; ``chase``: behind and above it; ``above``: high over the whole route."""

OUTSIDE_VIEW = radians(72.0)
"""Field of view of cameras that no robot carries."""


class RecordView:
    """Draws one record. Renderers are made once per angle; moments may be asked for in any order.

    ``others`` are the specs of the other robots in the order of ``record.other_pose``; those left out are drawn as
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
        robots = (*others, *(_plain_robot(float(r)) for r in record.other_radius[len(others) :]))
        self._view = WorldView(scene, (record.robot, *robots), record.scenario.name, record.person_id)
        self._gait = track_gait(
            record.time, record.person_position, record.person_velocity, record.person_heading, record.person_present,
            self._view.looks,
        )  # fmt: skip
        self._gestures = recorded_gestures(record)
        own = self._view.figures[0]
        self._motions = track_motion(
            record.time, record.robot_pose, record.robot_velocity, _steering(record), own.leg_scale
        )
        tracker = OtherRobotTracker(robots, self._view.figures[1:])
        self._others = [
            tracker.advance(float(t), poses) for t, poses in zip(record.time, record.other_pose, strict=True)
        ]
        self._light = make_light(settings.weather, settings.time_of_day, indoor=self._view.scene.indoor)
        self._renderers: dict[Angle, Renderer] = {}
        high = high_walls(scene, record.walls, self._view.scene.indoor)
        self._chase = ChaseCamera(record.robot_pose, record.step_s, high)

    @property
    def world(self) -> WorldView:
        """The scene with its people and robots."""
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
        return apply_camera_settings(images, settings, time_s) if angle == "first" else images

    def lamps(self, step: int) -> list[Lamp]:
        """Head lamps of all robots, also of the one that carries the camera, if it is dark."""
        return self._view.lamps([self._motions[step], *self._others[step]]) if self._light.lamps > 0.0 else []

    def instances(self, step: int, *, own: bool = True) -> PackedInstances:
        """All people and robots at a step; ``own``: also the robot under test."""
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

    def _renderer(self, angle: Angle) -> Renderer:
        if angle not in self._renderers:
            settings = self._settings if angle == "first" else self._settings.seen_from_outside(OUTSIDE_VIEW)
            self._renderers[angle] = Renderer(
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


def _plain_robot(radius: float) -> RobotSpec:
    limits = RobotLimits(max_speed=10.0)
    return RobotSpec(name="robot", dynamics="holonomic", footprint=Footprint(radius=radius), limits=limits)
