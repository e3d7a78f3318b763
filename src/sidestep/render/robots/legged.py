"""Robots that walk: a robot dog and a humanoid. Their legs follow the gait kernels of people, scaled to their size."""

from __future__ import annotations

from math import cos, floor, sin, sqrt

import numpy as np

from sidestep.render.figure import Figure, Motion, body_matrix, build_model, pack
from sidestep.render.loft import Part, Ring, box, limb, mirrored, tube
from sidestep.render.mesh import Semantic, palette
from sidestep.render.people import skeleton as S
from sidestep.render.people.gait_kernels import STRIDE
from sidestep.render.people.pose import PeopleState, pose_people
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
    levels = [_dog_level(half_x, half_y, height, joints, bone, foot, level) for level in range(3)]
    slots = ("shell", "joint", "foot", "face", "status_light")
    model = build_model(levels, slots, 13, Semantic.ROBOT, 1.25 * spec.footprint.enclosing_radius)

    def bones(motion: Motion) -> FloatArray:
        return _pose(motion, joints, bone, stand, foot)

    colours = palette(("c3c6c8", "1d1f22", "121212", "15181c", "6fd3ff"))
    lamp = (spec.footprint.enclosing_radius, 0.0, 0.85 * spec.height)
    return Figure(spec.name, model, colours, bones, LEG_SCALE, (lamp,), 0.12)


def _dog_level(
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


SHELL, JOINT, VISOR, LIGHT = range(4)
SHOULDER_Y, HIP_Y = 0.170, 0.095


def make_humanoid(spec: RobotSpec) -> Figure:
    """A humanoid as tall as the spec says, with the gait of a person of that size."""
    scale = spec.height / S.REST_HEIGHT
    joints = S.rest_joints(SHOULDER_Y, HIP_Y)[None]
    reach = 1.15 * scale
    model = build_model([_humanoid_level(level) for level in range(3)], ("shell", "joint", "visor", "status_light"), 17,
                        Semantic.ROBOT, reach)  # fmt: skip

    def bones(motion: Motion) -> FloatArray:
        state = PeopleState(
            np.array([[motion.x, motion.y]]), np.array([motion.heading]), np.array([motion.speed]),
            np.array([motion.phase]), np.zeros(1, np.int64), np.array([scale]), np.array([motion.travel]),
            np.array([motion.turn_rate]), time=0.0,
        )  # fmt: skip
        return np.asarray(pose_people(state, joints=joints)[0])

    lamp = (0.15, 0.0, 0.72 * spec.height)
    return Figure(spec.name, model, palette(("d5d8da", "202226", "0c0f14", "5fd0ff")), bones, scale, (lamp,), 0.12)


def _stack(shape: tuple[tuple[float, float, float, float], ...], bone: int, slot: int, segments: int) -> Part:
    """A shell through rings (z, ahead, side, squareness)."""
    rings = [
        Ring((0.0, 0.0, z), ahead, side, slot=slot, bones=(bone, bone), power=power) for z, ahead, side, power in shape
    ]
    return tube(rings, segments, caps=(0.012, 0.012))


def _humanoid_level(level: int) -> list[Part]:
    n = (10, 6, 4)[level]
    thin = (8, 5, 3)[level]
    parts = [
        _stack(((0.86, 0.060, 0.070, 2.5), (0.92, 0.085, 0.120, 3), (1.00, 0.085, 0.110, 3)), S.PELVIS, JOINT, n),
        _stack(((1.00, 0.060, 0.075, 2.2), (1.14, 0.060, 0.075, 2.2)), S.SPINE, JOINT, n),
        _stack(
            ((1.12, 0.085, 0.105, 3), (1.22, 0.105, 0.135, 3), (1.38, 0.110, 0.150, 3), (1.46, 0.070, 0.110, 2.6)),
            S.CHEST, SHELL, n,
        ),
        _stack(((1.44, 0.036, 0.036, 2), (1.58, 0.036, 0.036, 2)), S.NECK, JOINT, thin),
        _stack(
            ((1.55, 0.060, 0.055, 2.4), (1.60, 0.092, 0.074, 2.6), (1.68, 0.095, 0.078, 2.6),
             (1.735, 0.070, 0.058, 2.4)),
            S.HEAD, SHELL, n,
        ),
    ]  # fmt: skip
    visor = [
        Ring((0.012, 0, z), ahead, side, 0.02, VISOR, (S.HEAD, S.HEAD), power=2.6)
        for z, ahead, side in ((1.585, 0.080, 0.064), (1.625, 0.093, 0.075), (1.690, 0.090, 0.074))
    ]
    parts.append(tube(visor, n, caps=(0.0, 0.0)))
    if level < 2:
        parts.append(box((0.110, 0.0, 1.33), (0.02, 0.07, 0.02), LIGHT, S.CHEST))
    parts += _limbs(level, thin)
    return parts


def _limbs(level: int, n: int) -> list[Part]:
    y, h, coarse, arm_x = SHOULDER_Y, HIP_Y, level == 2, -0.01
    bars = (  # x; y and z of both ends; radius at both; slot, bone
        (arm_x, (y - 0.03, S.SHOULDER_Z), (y + 0.025, S.SHOULDER_Z), (0.052, 0.052), JOINT, S.UPPER_ARM_L),
        (arm_x, (y, S.SHOULDER_Z - 0.06), (y, S.ELBOW_Z + 0.05), (0.048, 0.040), SHELL, S.UPPER_ARM_L),
        (arm_x, (y - 0.025, S.ELBOW_Z), (y + 0.025, S.ELBOW_Z), (0.040, 0.040), JOINT, S.FOREARM_L),
        (arm_x, (y, S.ELBOW_Z - 0.04), (y, S.WRIST_Z + 0.03), (0.042, 0.032), SHELL, S.FOREARM_L),
        (arm_x, (y, S.WRIST_Z + 0.01), (y, S.WRIST_Z - 0.11), (0.034, 0.028), JOINT, S.HAND_L),
        (0.0, (h - 0.035, S.HIP_Z), (h + 0.035, S.HIP_Z), (0.075, 0.070), JOINT, S.THIGH_L),
        (0.0, (h, S.HIP_Z - 0.08), (h, S.KNEE_Z + 0.06), (0.072, 0.056), SHELL, S.THIGH_L),
        (0.0, (h - 0.035, S.KNEE_Z), (h + 0.035, S.KNEE_Z), (0.055, 0.055), JOINT, S.SHIN_L),
        (0.0, (h, S.KNEE_Z - 0.06), (h, S.ANKLE_Z + 0.05), (0.056, 0.040), SHELL, S.SHIN_L),
        (0.0, (h, S.ANKLE_Z + 0.04), (h, S.ANKLE_Z), (0.036, 0.036), JOINT, S.FOOT_L),
    )
    left = [
        limb((x, *start), (x, *end), radius, slot, bone, n, 0.55 if bone == S.HAND_L else 1.0, coarse)
        for x, start, end, radius, slot, bone in bars
    ]
    sole = [
        Ring((0.05, h, z), ahead, side, behind, JOINT if z < 0.02 else SHELL, (S.FOOT_L, S.FOOT_L), power=3.0, toe=toe)
        for z, ahead, behind, side, toe in (
            (0.0, 0.120, 0.116, 0.042, 0.018), (0.025, 0.122, 0.118, 0.044, 0.012), (0.060, 0.060, 0.105, 0.036, 0.0),
        )
    ]  # fmt: skip
    left.append(tube(sole, (8, 6, 4)[level], caps=(0.0, 0.004)))
    return left + [mirrored(part, S.OTHER_SIDE) for part in left]
