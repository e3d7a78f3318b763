"""What a policy gets: the task once, then an observation per control step. Fields it did not ask for are None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.types.base import FloatArray, IntArray, read_only
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import CompiledScene

TASK_NEEDS: frozenset[str] = frozenset({"map", "route", "goal", "future"})
"""Needs that the task serves; sensors serve the others."""

NEEDS: frozenset[str] = TASK_NEEDS | {
    "pedestrians", "history", "vehicles", "lidar", "points", "rgb", "depth", "semantic", "signals",
}  # fmt: skip
"""Needs that have a field in the task or the observation; what else sensors serve (``registry.known_needs``), such as
``learning``, comes in ``Observation.extra``. The robot's own state and the time are always there."""

PRIVILEGED: frozenset[str] = frozenset({"future"})
"""Needs that no real robot can have. Tables mark the policies that have one."""


@dataclass(frozen=True, slots=True)
class RobotState:
    """The robot's own state, world frame."""

    x: float  # position, m
    y: float  # position, m
    heading: float  # direction of the body, rad
    vx: float  # velocity in the world frame, m/s
    vy: float  # velocity in the world frame, m/s
    omega: float  # turn rate, rad/s

    @property
    def position(self) -> tuple[float, float]:
        """(x, y), m."""
        return self.x, self.y

    @property
    def speed(self) -> float:
        """Speed over ground, m/s."""
        return float(exact.hypot(self.vx, self.vy))


@dataclass(frozen=True, slots=True, eq=False)
class Pedestrians:
    """People that the sensor reports, world frame."""

    id: IntArray  # (N,) the same number for the same person all episode long
    position: FloatArray  # (N, 2) m
    velocity: FloatArray  # (N, 2) m/s
    heading: FloatArray  # (N,) rad, where the body faces
    radius: FloatArray  # (N,) m
    group: IntArray  # (N,) walking group, -1 alone
    gesture: IntArray | None = None  # (N,) number of ``GESTURES``; None where the sensor does not detect it
    gaze: FloatArray | None = None
    """(N,) rad, world frame: where the head points; None where the sensor does not detect it."""

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Vehicles:
    """Vehicles that the sensor reports, as boxes, world frame."""

    id: IntArray  # (K,) the vehicle's place in the scenario's traffic
    kind: tuple[str, ...]  # (K,) car, van, bicycle, ...
    position: FloatArray  # (K, 2) m, middle of the box
    velocity: FloatArray  # (K, 2) m/s, of the middle
    heading: FloatArray  # (K,) rad
    length: FloatArray  # (K,) m, along the heading
    width: FloatArray  # (K,) m

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class LidarScan:
    """Ranges over ``angle_min + k * angle_increment`` in the robot's frame; ``max_range`` where nothing was hit."""

    ranges: FloatArray  # (K,) float32, m
    angle_min: float  # angle of the first ray, rad
    angle_increment: float  # angle between two rays, rad
    max_range: float  # largest range, m


@dataclass(frozen=True, slots=True, eq=False)
class PointScan:
    """One turn of a scanner with C channels of K rays; ``max_range`` where nothing was hit."""

    ranges: FloatArray  # (C, K) float32, m along the ray
    elevation: FloatArray  # (C,) rad, in the scanner's frame
    azimuth: FloatArray  # (K,) rad, in the scanner's frame
    max_range: float  # largest range, m
    origin: tuple[float, float, float]  # of the scanner in the robot's frame (x ahead, y left, z above ground), m
    turn: FloatArray  # (3, 3) scanner's frame → robot's frame
    semantic: IntArray | None = None  # (C, K) uint8, if the settings ask for it; 0 where nothing was hit

    @property
    def xyz(self) -> FloatArray:
        """(N, 3) float32: the points that were hit, in the robot's frame, m."""
        cos_e = exact.cos(self.elevation)[:, None]
        directions = np.stack(
            np.broadcast_arrays(
                cos_e * exact.cos(self.azimuth), cos_e * exact.sin(self.azimuth), exact.sin(self.elevation)[:, None]
            ),
            axis=-1,
        )
        hit = self.ranges < self.max_range
        points = exact.matmul(directions[hit] * self.ranges[hit][:, None], self.turn.T) + np.asarray(self.origin)
        found: FloatArray = points.astype(np.float32)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One look at the world."""

    time: float  # time since the first observation, s
    robot: RobotState  # state of the robot
    goal: tuple[float, float] | None = None  # goal (x, y), m; need ``goal``
    pedestrians: Pedestrians | None = None  # people that the sensor reports; need ``pedestrians``
    vehicles: Vehicles | None = None  # vehicles that the sensor reports; need ``vehicles``
    lidar: LidarScan | None = None  # planar laser scan; need ``lidar``
    history: tuple[Pedestrians, ...] | None = None
    """The last seconds of ``pedestrians``, oldest first, one per control step."""
    rgb: FloatArray | None = None  # (H, W, 3) uint8 colour picture; need ``rgb``
    depth: FloatArray | None = None  # (H, W) float32 depth picture, m; need ``depth``
    semantic: IntArray | None = None  # (H, W) uint8 class numbers; need ``semantic``
    picture_time: float | None = None
    """When the pictures were taken, s; before ``time`` where the camera has a rate or a latency."""
    points: PointScan | None = None  # scan of the 3D lidar; need ``points``
    signals: dict[str, str] | None = None  # name of a traffic light → green, yellow or red
    extra: Mapping[str, Any] | None = None
    """What plug-in sensors report, by the name that the policy lists in ``needs``."""


@dataclass(frozen=True, slots=True, eq=False)
class Future:
    """Where everybody will be if nobody minds the robot; privileged. T simulation steps of ``step_s``, N people."""

    position: FloatArray  # (T+1, N, 2) float32, m; NaN while absent
    radius: FloatArray  # (N,) float32, m
    step_s: float  # time between two states, s


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is known before the first step: given to ``Policy.reset``."""

    robot: RobotSpec  # robot that the policy drives
    start: tuple[float, float, float]  # start pose (x, y, heading), m and rad
    step_s: float
    """Time between two calls of ``act``, s."""
    time_limit_s: float  # time limit of the episode, s
    goal_radius_m: float  # distance to the goal within which it is reached, m
    goal: tuple[float, float] | None = None  # goal (x, y), m; need ``goal``
    map: CompiledScene | None = None  # walls and regions of the scene; need ``map``
    route: FloatArray | None = None  # (K, 2) m
    seed: int = 0
    """Seed for policies that sample: the only randomness they may use."""
    future: Future | None = None  # positions of all people during the episode; need ``future`` (privileged)


def seal(seen: Any) -> None:
    """Make every array of an observation, a task or a part of one read-only. A policy that writes to what it was given
    gets NumPy's error at once, instead of changing what others see. A ``map`` comes sealed (``for_policies``)."""
    for name in seen.__slots__:
        value = getattr(seen, name)
        if isinstance(value, np.ndarray | Mapping):
            object.__setattr__(seen, name, sealed(value))
        elif isinstance(value, _PARTS):
            seal(value)


def sealed(value: Any) -> Any:
    """A value with read-only arrays: an array, or maps, lists and tuples of arrays. Anything else is as it is."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, Mapping):
        return {key: sealed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(sealed(item) for item in value)
    if isinstance(value, _PARTS):
        seal(value)
    return value


_PARTS = (Pedestrians, Vehicles, LidarScan, PointScan, Future)
