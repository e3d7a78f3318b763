"""A humanoid robot: the bones and the gait of a person under shells of plastic with open joints."""

from __future__ import annotations

import numpy as np

from sidestep.render.colours import palette
from sidestep.render.figure import Figure, Motion, build_model
from sidestep.render.loft import Part, Ring, box, limb, mirrored, tube
from sidestep.render.mesh import Semantic
from sidestep.render.people.pose import PeopleState, pose_people
from sidestep.render.people.skeleton import (
    ANKLE_Z,
    CHEST,
    ELBOW_Z,
    FOOT_L,
    FOREARM_L,
    HAND_L,
    HEAD,
    HIP_Z,
    KNEE_Z,
    NECK,
    OTHER_SIDE,
    PELVIS,
    REST_HEIGHT,
    SHIN_L,
    SHOULDER_Z,
    SPINE,
    THIGH_L,
    UPPER_ARM_L,
    WRIST_Z,
    rest_joints,
)  # fmt: skip
from sidestep.types.base import FloatArray
from sidestep.types.robot import RobotSpec

SHELL, JOINT, VISOR, LIGHT = range(4)
SHOULDER_Y, HIP_Y = 0.170, 0.095


def make_humanoid(spec: RobotSpec) -> Figure:
    """As tall as the spec says, with the gait of a person of that size."""
    scale = spec.height / REST_HEIGHT
    joints = rest_joints(SHOULDER_Y, HIP_Y)[None]
    reach = 1.15 * scale
    model = build_model([_level(level) for level in range(3)], ("shell", "joint", "visor", "status_light"), 17,
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


def _stack(
    shape: tuple[tuple[float, float, float, float], ...],
    bone: int,
    slot: int,
    segments: int,
    x: float = 0.0,
    y: float = 0.0,
) -> Part:
    """A shell through rings (z, ahead, side, squareness)."""
    rings = [
        Ring((x, y, z), ahead, side, slot=slot, bones=(bone, bone), power=power) for z, ahead, side, power in shape
    ]
    return tube(rings, segments, caps=(0.012, 0.012))


def _level(level: int) -> list[Part]:
    n = (10, 6, 4)[level]
    thin = (8, 5, 3)[level]
    parts = [
        _stack(((0.86, 0.060, 0.070, 2.5), (0.92, 0.085, 0.120, 3), (1.00, 0.085, 0.110, 3)), PELVIS, JOINT, n),
        _stack(((1.00, 0.060, 0.075, 2.2), (1.14, 0.060, 0.075, 2.2)), SPINE, JOINT, n),
        _stack(
            ((1.12, 0.085, 0.105, 3), (1.22, 0.105, 0.135, 3), (1.38, 0.110, 0.150, 3), (1.46, 0.070, 0.110, 2.6)),
            CHEST, SHELL, n,
        ),
        _stack(((1.44, 0.036, 0.036, 2), (1.58, 0.036, 0.036, 2)), NECK, JOINT, thin),
        _stack(
            ((1.55, 0.060, 0.055, 2.4), (1.60, 0.092, 0.074, 2.6), (1.68, 0.095, 0.078, 2.6),
             (1.735, 0.070, 0.058, 2.4)),
            HEAD, SHELL, n,
        ),
    ]  # fmt: skip
    visor = [
        Ring((0.012, 0, z), ahead, side, 0.02, VISOR, (HEAD, HEAD), power=2.6)
        for z, ahead, side in ((1.585, 0.080, 0.064), (1.625, 0.093, 0.075), (1.690, 0.090, 0.074))
    ]
    parts.append(tube(visor, n, caps=(0.0, 0.0)))
    if level < 2:
        parts.append(box((0.110, 0.0, 1.33), (0.02, 0.07, 0.02), LIGHT, CHEST))
    parts += _limbs(level, thin)
    return parts


def _limbs(level: int, n: int) -> list[Part]:
    y, h, coarse = SHOULDER_Y, HIP_Y, level == 2
    left = [
        limb(
            (-0.01, y - 0.03, SHOULDER_Z),
            (-0.01, y + 0.025, SHOULDER_Z),
            (0.052, 0.052),
            JOINT,
            UPPER_ARM_L,
            n,
            plain=coarse,
        ),
        limb(
            (-0.01, y, SHOULDER_Z - 0.06),
            (-0.01, y, ELBOW_Z + 0.05),
            (0.048, 0.040),
            SHELL,
            UPPER_ARM_L,
            n,
            plain=coarse,
        ),
        limb(
            (-0.01, y - 0.025, ELBOW_Z), (-0.01, y + 0.025, ELBOW_Z), (0.040, 0.040), JOINT, FOREARM_L, n, plain=coarse
        ),
        limb((-0.01, y, ELBOW_Z - 0.04), (-0.01, y, WRIST_Z + 0.03), (0.042, 0.032), SHELL, FOREARM_L, n, plain=coarse),
        limb((-0.01, y, WRIST_Z + 0.01), (-0.01, y, WRIST_Z - 0.11), (0.034, 0.028), JOINT, HAND_L, n, 0.55, coarse),
        limb((0.0, h - 0.035, HIP_Z), (0.0, h + 0.035, HIP_Z), (0.075, 0.070), JOINT, THIGH_L, n, plain=coarse),
        limb((0.0, h, HIP_Z - 0.08), (0.0, h, KNEE_Z + 0.06), (0.072, 0.056), SHELL, THIGH_L, n, plain=coarse),
        limb((0.0, h - 0.035, KNEE_Z), (0.0, h + 0.035, KNEE_Z), (0.055, 0.055), JOINT, SHIN_L, n, plain=coarse),
        limb((0.0, h, KNEE_Z - 0.06), (0.0, h, ANKLE_Z + 0.05), (0.056, 0.040), SHELL, SHIN_L, n, plain=coarse),
        limb((0.0, h, ANKLE_Z + 0.04), (0.0, h, ANKLE_Z), (0.036, 0.036), JOINT, FOOT_L, n, plain=coarse),
    ]
    sole = [
        Ring((0.05, h, z), ahead, side, behind, JOINT if z < 0.02 else SHELL, (FOOT_L, FOOT_L), power=3.0, toe=toe)
        for z, ahead, behind, side, toe in (
            (0.0, 0.120, 0.116, 0.042, 0.018), (0.025, 0.122, 0.118, 0.044, 0.012), (0.060, 0.060, 0.105, 0.036, 0.0),
        )
    ]  # fmt: skip
    left.append(tube(sole, (8, 6, 4)[level], caps=(0.0, 0.004)))
    return left + [mirrored(part, OTHER_SIDE) for part in left]
