"""Drivers of vehicles. A driver sees the road around it before every step and returns a command, as a policy does.

Only ``+ - * /``, square roots and ``sidestep._util.exact`` are used, so traffic has the same bits on every machine.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep.errors import BadInput, place_of
from sidestep.types import Command, CompiledScene, RobotSpec, RobotState, Velocity
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.scenario import VehiclePlacement


class DrivingTask(NamedTuple):
    """What a driver knows before the first step."""

    placement: VehiclePlacement
    spec: RobotSpec
    scene: CompiledScene
    step_s: float
    rng: np.random.Generator
    """This vehicle's own in this episode; ``sidestep._util.exact`` draws from it with the same bits everywhere."""
    where: str
    """Scenario and vehicle, for errors."""


class RoadView(NamedTuple):
    """The road before a step: the vehicle itself and every other body as discs, world frame. A long vehicle is several
    discs."""

    time: float  # s
    own: RobotState
    position: FloatArray  # (K, 2) float64, m
    velocity: FloatArray  # (K, 2) float64, m/s
    radius: FloatArray  # (K,) float64, m
    is_person: BoolArray  # (K,)


class VehicleDriver:
    """Base class of drivers. One object drives one vehicle in one episode; its parameters are keyword arguments."""

    def reset(self, task: DrivingTask) -> None:
        """An episode begins."""

    def drive(self, view: RoadView) -> Command:
        """What to do in the coming step."""
        raise NotImplementedError


class Parked(VehicleDriver):
    """Stands."""

    def reset(self, task: DrivingTask) -> None:
        """A parked vehicle has no speed."""
        if task.placement.speed > 0.0:
            raise BadInput(f"{task.where}: is parked and has the speed {task.placement.speed:g} m/s; leave speed out")

    def drive(self, view: RoadView) -> Command:
        """Nothing."""
        return Velocity(0.0, 0.0)


class FollowPath(VehicleDriver):
    """Follows the placement's path by pure pursuit at the placement's speed and brakes for whoever is in its lane.

    Somebody is in the lane whose disc comes nearer to the path than half the vehicle's width and ``margin_m``. The
    vehicle then drives no faster than √(2 ``deceleration`` (gap - ``gap_m``)), and so stops ``gap_m`` before them. In
    the same way it stops at the end of the path, or, with ``at_end: loop``, drives on to the path's first point.

    Pure pursuit: Coulter, CMU-RI-TR-92-01 (1992); the curvature to a point (x, y) in the vehicle's frame is
    2 y / (x² + y²).
    """

    def __init__(
        self,
        at_end: Literal["stop", "loop"] = "stop",
        yields: bool = True,
        gap_m: float = 2.0,
        margin_m: float = 0.4,
        deceleration: float = 3.0,
        look_ahead_s: float = 1.0,
    ) -> None:
        if at_end not in ("stop", "loop"):
            raise BadInput(f"at_end is {at_end!r}; it is stop or loop")
        if not min(gap_m, margin_m) >= 0.0 or not min(deceleration, look_ahead_s) > 0.0:
            raise BadInput("gap_m and margin_m are at least 0; deceleration and look_ahead_s are above 0")
        self._loops, self._yields = at_end == "loop", yields
        self._gap, self._margin = float(gap_m), float(margin_m)
        self._deceleration, self._look_ahead = float(deceleration), float(look_ahead_s)

    def reset(self, task: DrivingTask) -> None:
        """Lay out the path; one that loops is laid out twice, so that there is always something ahead."""
        points = [*task.placement.path]
        if len(points) < 2:
            raise BadInput(f"{task.where}: follow_path needs a path of at least two points")
        if self._loops:
            points = [*points, *points, points[0]]
        nodes = np.array(points, np.float64)
        self._begin, self._along = nodes[:-1], nodes[1:] - nodes[:-1]
        self._square = self._along[:, 0] * self._along[:, 0] + self._along[:, 1] * self._along[:, 1]
        if (self._square == 0.0).any():
            raise BadInput(f"{task.where}: two points of the path in a row are the same; leave one out")
        self._length = np.sqrt(self._square)
        self._start = np.concatenate([[0.0], np.cumsum(self._length)])
        self._total = float(self._start[-1])
        self._lap = float(self._start[len(task.placement.path)]) if self._loops else inf
        self._done = 0.0  # metres of path behind the vehicle
        self._speed = task.placement.speed
        corners = task.spec.footprint.polygon
        radius = task.spec.footprint.enclosing_radius
        self._front = radius if corners is None else max(x for x, _ in corners)
        self._half = radius if corners is None else max(abs(y) for _, y in corners)
        self._nearest_look = task.spec.controller.lookahead_m

    def drive(self, view: RoadView) -> Command:
        """Along the path, as fast as the road ahead allows."""
        own = view.own
        look = max(self._nearest_look, self._look_ahead * own.speed)
        self._advance(own.x, own.y, look)
        speed = self._speed
        if not self._loops:
            speed = min(speed, self._stopping(self._total - self._done))
        if self._yields:
            speed = min(speed, self._stopping(self._clear_road(view) - self._gap))
        x, y = self._point_at(self._done + look)
        sine, cosine = exact.sincos(own.heading)
        dx, dy = x - own.x, y - own.y
        square = dx * dx + dy * dy
        curvature = 2.0 * (cosine * dy - sine * dx) / square if square > 1e-12 else 0.0
        return Velocity(speed, speed * curvature)

    def _stopping(self, metres: float) -> float:
        """The speed from which the vehicle can stop within this distance, m/s."""
        return sqrt(2.0 * self._deceleration * max(metres, 0.0))

    def _project(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K, P) squared distance of points (K,) from each piece of the path, and metres of path up to there."""
        dx, dy = x[:, None] - self._begin[:, 0], y[:, None] - self._begin[:, 1]
        share = np.clip((dx * self._along[:, 0] + dy * self._along[:, 1]) / self._square, 0.0, 1.0)
        miss_x, miss_y = dx - share * self._along[:, 0], dy - share * self._along[:, 1]
        return miss_x * miss_x + miss_y * miss_y, self._start[:-1] + share * self._length

    def _advance(self, x: float, y: float, reach: float) -> None:
        """Note how far the vehicle has come: the nearest point of the next ``reach`` metres of path."""
        square, along = self._project(np.array([x]), np.array([y]))
        near = (self._start[1:] > self._done) & (along[0] <= self._done + reach)
        if near.any():
            self._done = max(self._done, float(along[0][near][np.argmin(square[0][near])]))
        if self._done >= self._lap:
            self._done -= self._lap

    def _clear_road(self, view: RoadView) -> float:
        """Metres from the vehicle's front to the first body in its lane; infinite where there is none."""
        if not len(view.radius):
            return inf
        square, along = self._project(view.position[:, 0], view.position[:, 1])
        reach = (self._half + self._margin + view.radius)[:, None]
        ahead = (square < reach * reach) & (along > self._done) & (along < self._done + self._lap)
        gaps = np.where(ahead, along - view.radius[:, None], np.inf)
        return float(gaps.min()) - self._done - self._front

    def _point_at(self, along: float) -> tuple[float, float]:
        """The point after this many metres of path; beyond its end, on the straight line that goes on."""
        k = min(int(np.searchsorted(self._start, along, side="right")) - 1, len(self._length) - 1)
        share = (along - float(self._start[k])) / float(self._length[k])
        return (
            float(self._begin[k, 0]) + share * float(self._along[k, 0]),
            float(self._begin[k, 1]) + share * float(self._along[k, 1]),
        )


def make_driver(placement: VehiclePlacement, where: str) -> VehicleDriver:
    """A new driver for ``placement``; ``BadInput`` where the parameters do not fit."""
    factory: Any = registry.load("drivers", placement.driver_name)
    try:
        driver = factory(**placement.parameters)
    except TypeError as error:
        raise BadInput(
            f"{where}: the driver {placement.driver_name!r} does not take the parameters {placement.parameters}: "
            f"{error}{place_of(error)}"
        ) from error
    except BadInput as error:
        raise BadInput(f"{where}: driver {placement.driver_name!r}: {error}") from error
    for method in ("reset", "drive"):
        if not callable(getattr(driver, method, None)):
            raise BadInput(f"driver {placement.driver_name!r} has no method {method!r}; a driver has reset and drive")
    return driver  # type: ignore[no-any-return]
