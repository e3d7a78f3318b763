"""A robot dog that trots: diagonal pairs of legs, feet that stand still on the ground while they carry."""

from __future__ import annotations

from math import cos, floor, sin, sqrt

import numpy as np

from sidestep.kernels.gait_steps import STRIDE
from sidestep.render.colours import palette
from sidestep.render.figure import Figure, Motion, body_matrix, build_model, pack
from sidestep.render.loft import Part, Ring, box, limb, tube
from sidestep.render.mesh import Semantic
from sidestep.render.robots.wheeled import outline
from sidestep.types.base import FloatArray
from sidestep.types.robot import RobotSpec

LEGS = ((1, 1), (1, -1), (-1, 1), (-1, -1))  # front left, front right, rear left, rear right: signs of x and y
LEG_SCALE = 0.42  # of the gait: the stride of a person's leg so much shorter


def make_robot_dog(spec: RobotSpec) -> Figure:
    """Trunk with a face and lidar, and per leg a hip, a thigh and a shin: 13 bones, 12 of them joints."""
    points = outline(spec.footprint)
    half_x, half_y, height = float(points[:, 0].max()), float(points[:, 1].max()), spec.height
    hip_x, hip_y, hip_z = 0.55 * half_x, 0.74 * half_y, 0.72 * height
    bone = 0.415 * height * 1.02
    foot = 0.045 * height * 1.2
    joints = [(sx * hip_x, sy * hip_y, hip_z) for sx, sy in LEGS]
    stand = hip_z - foot
    levels = [_level(half_x, half_y, height, joints, bone, foot, level) for level in range(3)]
    slots = ("shell", "joint", "foot", "face", "status_light")
    model = build_model(levels, slots, 13, Semantic.ROBOT, 1.25 * spec.footprint.enclosing_radius)

    def bones(motion: Motion) -> FloatArray:
        return _pose(motion, joints, bone, stand, foot)

    colours = palette(("c3c6c8", "1d1f22", "121212", "15181c", "6fd3ff"))
    lamp = (spec.footprint.enclosing_radius, 0.0, 0.85 * spec.height)
    return Figure(spec.name, model, colours, bones, LEG_SCALE, (lamp,), 0.12)


def _level(
    half_x: float, half_y: float, height: float, joints: list[tuple[float, float, float]], bone: float, foot: float,
    level: int,
) -> list[Part]:  # fmt: skip
    """Rest pose: legs straight down from the hips, so that a direction poses each bone."""
    z, segments = 0.78 * height, (12, 8, 4)[level]
    trunk = [
        Ring((x * half_x, 0, z + rise * height), side * half_y, tall * height, slot=slot, power=3.2, level=keep)
        for x, side, tall, rise, slot, keep in (
            (-0.84, 0.34, 0.09, 0.0, 0, 2), (-0.74, 0.48, 0.15, 0.0, 0, 1), (0.0, 0.52, 0.17, 0.01, 0, 0),
            (0.62, 0.48, 0.15, 0.0, 0, 2), (0.70, 0.34, 0.10, 0.01, 1, 1), (0.80, 0.34, 0.13, 0.02, 0, 2),
            (0.97, 0.28, 0.10, 0.02, 3, 2),
        )
    ]  # fmt: skip
    parts = [tube(trunk, segments, axis="x", level=level, turn=0.5, caps=(0.01, 0.006))]
    if level < 2:
        eye = (0.02, 0.30 * half_y, 0.04 * height)
        parts.append(box((0.975 * half_x, 0.0, z + 0.07 * height), eye, 4, 0))
    lidar = [Ring((0.45 * half_x, 0, z + zz * height), 0.035, 0.035, slot=1) for zz in (0.16, 0.218)]
    parts.append(tube(lidar, segments, caps=(None, 0.0)))
    for index, (x, y, hip_z) in enumerate(joints):
        first = 1 + 3 * index
        out = 1.0 if y > 0 else -1.0
        n, coarse = (8, 5, 3)[level], level == 2
        hub = [Ring((x, y + offset, hip_z), 0.12 * height, 0.12 * height, slot=1) for offset in (-0.035, 0.035)]
        part = tube(hub, segments, axis="y")
        parts.append(Part(part.vertices, part.triangles, part.slot, np.full_like(part.bones, first), part.weights))
        knee, ankle = (x, y + out * 0.01, hip_z - bone), (x, y + out * 0.01, hip_z - 2 * bone)
        parts.append(
            limb((x, y + out * 0.01, hip_z), knee, (0.10 * height, 0.06 * height), 0, first + 1, n, 0.6, coarse)
        )
        parts.append(limb(knee, ankle, (0.05 * height, 0.032 * height), 1, first + 2, n, plain=coarse))
        ball = [
            Ring((ankle[0], ankle[1], ankle[2] + dz * foot), r * foot, r * foot, slot=2, bones=(first + 2, first + 2))
            for dz, r in ((-0.72, 0.66), (0.0, 1.0), (0.72, 0.66))
        ]
        parts.append(tube(ball, n, caps=(0.28 * foot, 0.2 * foot)))
    return parts


def _foot(motion: Motion, share: float, stand: float, foot: float) -> tuple[float, float, float]:
    """(ahead, left, up) of a foot from below its hip; up is measured from the ground to the ball's centre."""
    speed = sqrt(motion.speed**2 + (0.22 * motion.turn_rate * LEG_SCALE) ** 2)
    if speed < 0.02:
        return 0.0, 0.0, foot
    stride = LEG_SCALE * STRIDE * sqrt(speed / LEG_SCALE) * motion.speed / speed
    duty = min(max(0.62 - 0.11 * speed, 0.34), 0.6)
    reach = stride * duty
    if share < duty:
        along, up = reach * (0.5 - share / duty), 0.0
    else:
        t = (share - duty) / (1 - duty)
        still = stride * (1 - duty) * t * (1 - t) * (1 - 2 * t)  # leaves and lands at rest in the world
        along = reach * (t * t * (3 - 2 * t) - 0.5) - still
        up = 0.20 * stand * 4 * t * (1 - t) * min(1.0, speed / 0.3)
    return along * cos(motion.travel), along * sin(motion.travel), foot + up


def _frame(x: FloatArray, z: FloatArray, at: FloatArray, rest: FloatArray) -> FloatArray:
    """(4, 4) that takes the rest pose at ``rest`` to ``at``, its up to z and its ahead near x."""
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2] = np.cross(y, z), y, z
    matrix[:3, 3] = at - matrix[:3, :3] @ rest
    return matrix


def _pose(
    motion: Motion, joints: list[tuple[float, float, float]], bone: float, stand: float, foot: float
) -> FloatArray:
    base = body_matrix(motion)
    matrices = [base]
    ahead = np.array([1.0, 0.0, 0.0])
    for index, (x, y, z) in enumerate(joints):
        share = motion.phase + (0.0 if index in (0, 3) else 0.5)
        dx, dy, up = _foot(motion, share - floor(share), stand, foot)
        hip = np.array([x, y, z])
        span = np.array([dx, dy, up - z])
        d = min(float(np.linalg.norm(span)), 1.998 * bone)
        down = span / np.linalg.norm(span)
        side = np.cross(-down, ahead)
        side /= np.linalg.norm(side)
        back = np.cross(down, side)  # behind: the knees of a dog of this kind point backwards
        back = -back if back[0] > 0 else back
        bend = sqrt(max(bone**2 - (d / 2) ** 2, 0.0))
        knee = down * d / 2 + back * bend
        matrices.append(base @ _frame(ahead, np.array([0.0, 0.0, 1.0]), hip, hip))
        matrices.append(base @ _frame(ahead, -knee / bone, hip, hip))
        shin = (down * d - knee) / np.linalg.norm(down * d - knee)
        matrices.append(base @ _frame(ahead, -shin, hip + knee, hip - np.array([0.0, 0.0, bone])))
    return pack(matrices)
