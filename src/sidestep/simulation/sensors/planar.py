"""What a robot senses in the plane of the floor: the ranges of a planar lidar, and the pedestrians that a detector
reports (all of them, or those in range, in view and not hidden).
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from sidestep._util.exact import cos, sin
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_X, ROBOT_Y
from sidestep.kernels.rays import Beams, Discs, cast_lidar, make_ray_table, make_scratch
from sidestep.kernels.visibility import visible_people
from sidestep.simulation.sensors.vehicles import outline_edges, present_vehicles, vehicle_footprints
from sidestep.types import LidarScan, Pedestrians
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.observation import seal
from sidestep.types.sensors import LidarSettings, PedestrianSensing


class Lidar:
    """Exact ranges to the nearest wall or body. The robot does not see itself."""

    def __init__(self, settings: LidarSettings, segments: FloatArray) -> None:
        self._settings = settings
        self._segments = np.ascontiguousarray(segments, np.float32)
        directions = make_ray_table(settings.angle_min, settings.angle_increment, settings.rays)
        self._beams = Beams(settings.angle_min, settings.angle_increment, directions, settings.max_range)
        self._scratch: FloatArray = np.zeros((0, 0))
        self._columns = -1

    def sense(
        self,
        agents: FloatArray,
        flags: IntArray,
        pose: tuple[float, float, float],
        own: int,
        outlines: FloatArray | None = None,
    ) -> LidarScan:
        """The scan from ``pose``; ``own`` is the robot's column in ``agents``. ``outlines`` (E, 4) float32: edges
        of vehicles, which are then seen in place of the discs of their columns."""
        segments = self._segments if outlines is None else np.concatenate([self._segments, outlines])
        active = np.where(flags[layout.MODEL] == layout.MODEL_VEHICLE, np.int32(0), flags[layout.ACTIVE])
        ahead, left = self._settings.mount
        c, s = cos(pose[2]), sin(pose[2])
        x, y = pose[0] + ahead * c - left * s, pose[1] + ahead * s + left * c
        ranges = np.empty(self._settings.rays, np.float32)
        hits = np.empty(self._settings.rays, np.int32)
        if self._columns != agents.shape[1]:
            self._columns = agents.shape[1]
            self._scratch = make_scratch(len(segments) + 8 * self._columns, self._columns)
        discs = Discs(agents[layout.PX], agents[layout.PY], agents[layout.RADIUS], active)
        cast_lidar(x, y, pose[2], self._beams, segments, discs, own, self._scratch, ranges, hits)
        return LidarScan(ranges, self._settings.angle_min, self._settings.angle_increment, self._settings.max_range)


class PedestrianDetector:
    """Exact states of everybody in range, in the field of view and, if asked, not hidden."""

    def __init__(self, settings: PedestrianSensing, person_id: IntArray, segments: FloatArray) -> None:
        self._settings = settings
        self._person_id = person_id
        self._segments = np.ascontiguousarray(segments, np.float32)
        self._sees_all = settings.range_m is None and settings.field_of_view is None and not settings.occlusion

    def sense(self, agents: FloatArray, flags: IntArray, pose: tuple[float, float, float]) -> Pedestrians:
        """The people seen from ``pose`` (x, y, heading). ``agents`` and ``flags`` are one world's (rows, columns)."""
        people = len(self._person_id)
        present = flags[layout.ACTIVE, :people].astype(bool)
        if not self._sees_all:
            present = self._visible(agents, present, pose)
        seen = np.flatnonzero(present)
        rows = agents[:, seen].astype(np.float64)
        return Pedestrians(
            id=self._person_id[seen],
            position=np.ascontiguousarray(rows[[layout.PX, layout.PY]].T),
            velocity=np.ascontiguousarray(rows[[layout.VX, layout.VY]].T),
            heading=rows[layout.HEADING],
            radius=rows[layout.RADIUS],
            group=flags[layout.GROUP, seen],
            gesture=flags[layout.GESTURE, seen],
            gaze=rows[layout.HEADING] + np.nan_to_num(rows[layout.HEAD_YAW]),
        )

    def _visible(self, agents: FloatArray, present: BoolArray, pose: tuple[float, float, float]) -> BoolArray:
        people = len(self._person_id)
        mask = np.zeros(people, np.uint8)
        settings, places = self._settings, agents[:, :people]
        visible_people(
            *pose,
            settings.range_m if settings.range_m is not None else np.inf,
            settings.field_of_view if settings.field_of_view is not None else 2 * np.pi,
            settings.occlusion,
            self._segments,
            Discs(places[layout.PX], places[layout.PY], places[layout.RADIUS], present.astype(np.int32)),
            -1,
            mask,
        )
        return mask.astype(bool)


class PlanarLidar(Sensor):
    """The scenario's planar lidar: serves ``lidar``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        self._lidar = Lidar(context.scenario.sensors.lidar, context.scene.segments)
        self._footprints = vehicle_footprints(context)

    def sense(self, view: SensorView) -> dict[str, Any]:
        """A scan of this moment."""
        pose = (view.robot.x, view.robot.y, view.robot.heading)
        outlines = None
        if self._footprints:
            poses = view.vehicles[:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]]
            here = np.flatnonzero(present_vehicles(view)).tolist()
            outlines = outline_edges([self._footprints[k] for k in here], poses[here])
        return {"lidar": self._lidar.sense(view.agents, view.flags, pose, view.own, outlines)}


class PedestrianSensor(Sensor):
    """The scenario's pedestrian detector: serves ``pedestrians`` and ``history``, its last seconds."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        sensors, rules = context.scenario.sensors, context.scenario.rules
        self._detector = PedestrianDetector(sensors.pedestrians, context.person_id, context.scene.segments)
        looks = round(sensors.history_s / (rules.step_s * rules.control_every))
        self._history: deque[Pedestrians] = deque(maxlen=max(1, looks))

    def sense(self, view: SensorView) -> dict[str, Any]:
        """The people seen now, and those seen when the policy was asked before, oldest first."""
        people = self._detector.sense(view.agents, view.flags, (view.robot.x, view.robot.y, view.robot.heading))
        if "history" not in self.context.needs:
            return {"pedestrians": people}
        seal(people)
        self._history.append(people)
        return {"pedestrians": people, "history": tuple(self._history)}
