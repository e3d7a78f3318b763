"""Vehicles as a robot senses them: the boxes that a detector reports, and the outlines that a planar lidar hits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep._util import exact
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.rays import Discs
from sidestep.kernels.visibility import visible_people
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.observation import Vehicles
from sidestep.types.robot import Footprint
from sidestep.types.sensors import PedestrianSensing

CIRCLE_CORNERS = 24
"""Number of corners of the polygon that stands for a round vehicle in a scan."""


def outline_edges(footprints: Sequence[Footprint], poses: FloatArray) -> FloatArray:
    """(E, 4) float32: x0, y0, x1, y1 of the edges of bodies at ``poses`` (K, 3), world frame."""
    edges = [np.zeros((0, 4))]
    for footprint, pose in zip(footprints, poses.tolist(), strict=True):
        if footprint.polygon is None:
            turns = 2.0 * np.pi / CIRCLE_CORNERS * np.arange(CIRCLE_CORNERS)
            corners = footprint.enclosing_radius * np.stack([exact.cos(turns), exact.sin(turns)], axis=1)
        else:
            corners = np.array(footprint.polygon, np.float64)
        placed = exact.rotate(corners, pose[2]) + np.array(pose[:2])
        edges.append(np.concatenate([placed, np.roll(placed, -1, axis=0)], axis=1))
    return np.concatenate(edges).astype(np.float32)


class VehicleDetector:
    """Exact boxes of every vehicle in range, in the field of view and, if asked, not hidden by walls or by each other.
    That is judged of the disc about its middle that is as wide as the box."""

    def __init__(
        self, settings: PedestrianSensing, kinds: Sequence[str], footprints: Sequence[Footprint], segments: FloatArray
    ) -> None:
        self._settings = settings
        self._kinds = tuple(kinds)
        self._segments = np.ascontiguousarray(segments, np.float32)
        boxes = [_box(footprint) for footprint in footprints]
        self._middle = np.array([box[0] for box in boxes]).reshape(-1, 2)
        self._size = np.array([box[1] for box in boxes]).reshape(-1, 2)
        self._sees_all = settings.range_m is None and settings.field_of_view is None and not settings.occlusion

    def sense(self, vehicles: FloatArray, present: BoolArray, pose: tuple[float, float, float]) -> Vehicles:
        """What is seen from ``pose`` (x, y, heading); ``vehicles`` (K, ROBOT_ROWS) are the states of all, and
        ``present`` (K,) says who has not left."""
        sine, cosine = exact.sincos(vehicles[:, ROBOT_HEADING])
        ahead = cosine * self._middle[:, 0] - sine * self._middle[:, 1]
        left = sine * self._middle[:, 0] + cosine * self._middle[:, 1]
        position = vehicles[:, [ROBOT_X, ROBOT_Y]] + np.stack([ahead, left], axis=1)
        omega = vehicles[:, ROBOT_OMEGA]
        velocity = vehicles[:, [ROBOT_VX, ROBOT_VY]] + np.stack([-omega * left, omega * ahead], axis=1)
        seen = np.flatnonzero(present if self._sees_all else self._visible(position, present, pose))
        return Vehicles(
            id=seen,
            kind=tuple(self._kinds[k] for k in seen.tolist()),
            position=position[seen],
            velocity=velocity[seen],
            heading=vehicles[seen, ROBOT_HEADING],
            length=self._size[seen, 0],
            width=self._size[seen, 1],
        )

    def _visible(self, position: FloatArray, present: BoolArray, pose: tuple[float, float, float]) -> IntArray:
        mask = np.zeros(len(position), np.uint8)
        reach, view = self._settings.range_m, self._settings.field_of_view
        x, y = np.ascontiguousarray(position.T, np.float32)
        discs = Discs(x, y, (self._size.min(axis=1) / 2).astype(np.float32), present.astype(np.int32))
        reach, view = np.inf if reach is None else reach, 2 * np.pi if view is None else view
        visible_people(*pose, reach, view, self._settings.occlusion, self._segments, discs, -1, mask)
        return mask


def vehicle_footprints(context: SensorContext) -> list[Footprint]:
    """The outlines of a scenario's vehicles, which come after the other robots."""
    return [spec.footprint for spec in context.others[len(context.others) - len(context.scenario.traffic) :]]


def present_vehicles(view: SensorView) -> BoolArray:
    """(K,) which of the scenario's vehicles have not left the world. The discs that cover them have later columns."""
    columns = np.flatnonzero(view.flags[layout.MODEL] == layout.MODEL_VEHICLE)[: len(view.vehicles)]
    present: BoolArray = view.flags[layout.ACTIVE, columns] == 1
    return present


class VehicleSensor(Sensor):
    """The scenario's vehicle detector: serves ``vehicles``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        self._detector = VehicleDetector(
            context.scenario.sensors.vehicles,
            [place.kind for place in context.scenario.traffic],
            vehicle_footprints(context),
            context.scene.segments,
        )

    def sense(self, view: SensorView) -> dict[str, Vehicles]:
        """What is seen now."""
        pose = (view.robot.x, view.robot.y, view.robot.heading)
        return {"vehicles": self._detector.sense(view.vehicles, present_vehicles(view), pose)}


def _box(footprint: Footprint) -> tuple[tuple[float, float], tuple[float, float]]:
    """Middle, and length and width, of the bounding box in the body's frame, m."""
    if footprint.polygon is None:
        return (0.0, 0.0), (2.0 * footprint.enclosing_radius, 2.0 * footprint.enclosing_radius)
    x, y = zip(*footprint.polygon, strict=True)
    return ((min(x) + max(x)) / 2, (min(y) + max(y)) / 2), (max(x) - min(x), max(y) - min(y))
