"""A robot or vehicle that moves: its model, its colours, and how its bones follow from its motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import cos, pi, sin

import numpy as np

from sidestep.render.loft import Part, join_parts
from sidestep.render.mesh import Model, Semantic
from sidestep.render.people import gait_kernels as kernel
from sidestep.types.base import FloatArray

SLOT_FINISH: dict[str, tuple[float, float]] = {
    "head_light": (0.3, 4.0),
    "tail_light": (0.3, 2.2),
    "status_light": (0.0, 1.6),
    "glass": (0.9, 0.0),
    "visor": (0.9, 0.0),
}
"""Gloss, and light of its own at night, of slots that have either."""


@dataclass(frozen=True)
class Motion:
    """Where a robot or vehicle is and how it got there. SI units, rad."""

    x: float
    y: float
    heading: float
    speed: float = 0.0  # m/s, of the centre
    travel: float = 0.0  # direction of motion from the heading: 0 ahead, π backwards
    turn_rate: float = 0.0
    distance: float = 0.0  # m rolled along the heading since the start, less when driving backwards
    turned: float = 0.0  # rad turned since the start
    phase: float = 0.0  # cycles of the gait of something with legs
    steer: float = 0.0  # of front wheels
    time: float = 0.0


@dataclass(frozen=True, eq=False)
class Figure:
    """``bones(motion)`` gives the matrices (bone_count, 3, 4) float32 of an instance of ``model``."""

    name: str
    model: Model
    colours: FloatArray  # (slots, 3) float32, linear RGB
    bones: Callable[[Motion], FloatArray]
    leg_scale: float = 1.0  # size of its gait against that of a person of 1.75 m
    head_lamps: tuple[tuple[float, float, float], ...] = ()
    """Where its head lamps are in the frame of its body, m; they shine ahead."""
    lamp_power: float = 1.0
    """Light of each lamp relative to the dipped lamp of a car."""


@dataclass(eq=False)
class MotionTracker:
    """Motion of one robot or vehicle, step by step; what a record shows and what a live camera shows is the same."""

    leg_scale: float = 1.0
    _state: FloatArray = field(default_factory=lambda: np.zeros((1, kernel.COLUMNS)), repr=False)
    _last: Motion | None = None

    def advance(
        self, time: float, pose: Sequence[float], velocity: Sequence[float] = (0.0, 0.0), steer: float = 0.0
    ) -> Motion:
        """The motion at ``time`` with pose (x, y, heading) and velocity (vx, vy, …) in the world."""
        x, y, heading = (float(value) for value in pose[:3])
        last = self._last
        now = kernel.Movement(
            np.array([[x, y]], np.float32), np.array([velocity[:2]], np.float32), np.array([heading], np.float32),
            np.ones(1, np.bool_),
        )  # fmt: skip
        step = time - last.time if last else 0.0
        kernel.advance_gait(self._state, now, step, np.array([self.leg_scale]), np.zeros(1))
        rolled, turned = 0.0, 0.0
        if last is not None:
            turn = (heading - last.heading + pi) % (2 * pi) - pi
            middle = last.heading + turn / 2
            rolled = last.distance + (x - last.x) * cos(middle) + (y - last.y) * sin(middle)
            turned = last.turned + turn
        row = self._state[0]
        travel = float(row[kernel.TRAVEL] + row[kernel.HEADING] - heading)
        self._last = Motion(
            x, y, heading, float(row[kernel.SPEED]), travel, float(row[kernel.TURN_RATE]), rolled, turned,
            float(row[kernel.PHASE]), steer, float(time),
        )  # fmt: skip
        return self._last


def track_motion(
    time: FloatArray, pose: FloatArray, velocity: FloatArray, steer: FloatArray | None = None, leg_scale: float = 1.0
) -> list[Motion]:
    """Motion of one robot or vehicle over a record: times (T,), poses (T, 3), velocities (T, 2 or 3)."""
    tracker = MotionTracker(leg_scale)
    turns = np.zeros(len(time)) if steer is None else steer
    return [tracker.advance(float(time[t]), pose[t], velocity[t], float(turns[t])) for t in range(len(time))]


def build_model(
    levels: Sequence[Sequence[Part]], slots: tuple[str, ...], bone_count: int, semantic: Semantic, reach: float = 0.0
) -> Model:
    """A model from the parts of each level; its radius encloses the rest pose and ``reach``."""
    meshes, bones, weights = zip(*(join_parts(parts, semantic) for parts in levels), strict=True)
    vertices = meshes[0].vertices
    radius = float(np.hypot(vertices[:, 0], vertices[:, 1]).max())
    return Model(meshes, bones, weights, bone_count, slots, float(vertices[:, 2].max()), max(radius, reach))


def body_matrix(motion: Motion) -> FloatArray:
    """(4, 4): frame of the body → world."""
    c, s = cos(motion.heading), sin(motion.heading)
    matrix = np.eye(4)
    matrix[:2, :2] = ((c, -s), (s, c))
    matrix[:2, 3] = motion.x, motion.y
    return matrix


def turned_about(
    joint: tuple[float, float, float] | FloatArray, about_y: float = 0.0, about_z: float = 0.0, about_x: float = 0.0
) -> FloatArray:
    """(4, 4): Rz Rx Ry about a point of the body."""
    cy, sy, cz, sz, cx, sx = cos(about_y), sin(about_y), cos(about_z), sin(about_z), cos(about_x), sin(about_x)
    ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    matrix = np.eye(4)
    matrix[:3, :3] = rz @ rx @ ry
    matrix[:3, 3] = np.asarray(joint) - matrix[:3, :3] @ np.asarray(joint)
    return matrix


def pack(matrices: Sequence[FloatArray]) -> FloatArray:
    """(bones, 3, 4) float32 of 4 by 4 matrices."""
    return np.stack([matrix[:3] for matrix in matrices]).astype(np.float32)
