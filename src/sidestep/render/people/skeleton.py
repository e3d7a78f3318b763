"""Bones of a person, where their joints are in the rest pose, and gestures as angles of these joints over time. Every
body is 1.75 m tall in the rest pose (standing, arms hanging, x ahead, y left, z up); the size of a person is a
scale in the bone matrices. A gesture swings each channel about a base angle and fades in and out over 0.4 s.
"""

from __future__ import annotations

from functools import cache
from math import radians

import numpy as np

from sidestep.errors import UnknownName
from sidestep.types.base import FloatArray
from sidestep.types.events import GESTURES as GESTURES

BONES = (
    "pelvis", "spine", "chest", "neck", "head",
    "upper_arm_l", "forearm_l", "hand_l", "upper_arm_r", "forearm_r", "hand_r",
    "thigh_l", "shin_l", "foot_l", "thigh_r", "shin_r", "foot_r",
)  # fmt: skip
BONE_COUNT = len(BONES)
(PELVIS, SPINE, CHEST, NECK, HEAD, UPPER_ARM_L, FOREARM_L, HAND_L, UPPER_ARM_R, FOREARM_R, HAND_R,
 THIGH_L, SHIN_L, FOOT_L, THIGH_R, SHIN_R, FOOT_R) = range(BONE_COUNT)  # fmt: skip
OTHER_SIDE = {
    UPPER_ARM_L: UPPER_ARM_R, FOREARM_L: FOREARM_R, HAND_L: HAND_R,
    THIGH_L: THIGH_R, SHIN_L: SHIN_R, FOOT_L: FOOT_R,
}  # fmt: skip

REST_HEIGHT = 1.75
HEIGHTS = (1.50, 1.95)  # m, of the people that the wardrobe makes
HIP_Z, KNEE_Z, ANKLE_Z = 0.915, 0.485, 0.085
SHOULDER_Z, ELBOW_Z, WRIST_Z = 1.415, 1.130, 0.875


def rest_joints(shoulder: float, hip: float) -> FloatArray:
    """(17, 3) joints in metres for shoulder and hip joints so far from the middle."""
    joints = np.zeros((BONE_COUNT, 3))
    joints[PELVIS] = (0.0, 0.0, 0.97)
    joints[SPINE] = (0.0, 0.0, 1.07)
    joints[CHEST] = (0.0, 0.0, 1.22)
    joints[NECK] = (-0.01, 0.0, 1.47)
    joints[HEAD] = (0.0, 0.0, 1.56)
    for side, arm, leg in ((1.0, UPPER_ARM_L, THIGH_L), (-1.0, UPPER_ARM_R, THIGH_R)):
        for step, z in enumerate((SHOULDER_Z, ELBOW_Z, WRIST_Z)):
            joints[arm + step] = (-0.01, side * shoulder, z)
        for step, z in enumerate((HIP_Z, KNEE_Z, ANKLE_Z)):
            joints[leg + step] = (0.0, side * hip, z)
    return joints


_ARM = ("flex", "abduct", "twist", "elbow", "pronate", "wrist")
CHANNELS = (
    *(f"{name}_{side}" for side in "lr" for name in _ARM),
    "head_yaw", "head_pitch", "head_roll", "trunk_yaw", "trunk_pitch",
)  # fmt: skip

Swing = tuple[float, float, float, float]  # degrees, amplitude in degrees, Hz, phase in cycles

_TABLE: dict[str, dict[str, float | Swing]] = {
    "talk": {
        "flex_l": (18, 8, 0.55, 0.0), "abduct_l": 14, "twist_l": (-18, 14, 0.8, 0.2), "elbow_l": (72, 18, 0.9, 0.1),
        "pronate_l": (-35, 25, 0.6, 0.0), "wrist_l": (5, 15, 1.1, 0.3),
        "flex_r": (22, 12, 0.7, 0.4), "abduct_r": 16, "twist_r": (-12, 20, 0.6, 0.7), "elbow_r": (80, 24, 0.75, 0.5),
        "pronate_r": (-40, 30, 0.5, 0.4), "wrist_r": (5, 18, 0.9, 0.0),
        "head_pitch": (2, 5, 0.9, 0.0), "head_roll": (0, 4, 0.31, 0.2), "trunk_yaw": (0, 4, 0.27, 0.0),
    },
    "queue": {
        "flex_l": 10, "abduct_l": 10, "twist_l": -52, "elbow_l": 52, "pronate_l": 20, "wrist_l": 0,
        "flex_r": 12, "abduct_r": 10, "twist_r": -50, "elbow_r": 54, "pronate_r": 20, "wrist_r": 0,
        "head_yaw": (0, 12, 0.11, 0.0), "head_pitch": (4, 4, 0.07, 0.3),
    },
    "look_around": {
        "head_yaw": (0, 58, 0.28, 0.0), "head_pitch": (-2, 4, 0.17, 0.0), "trunk_yaw": (0, 12, 0.28, -0.04),
    },
    "wave": {
        "flex_r": 15, "abduct_r": 98, "twist_r": (85, 8, 1.7, 0.25), "elbow_r": (72, 24, 1.7, 0.0),
        "pronate_r": 0, "wrist_r": (0, 14, 1.7, 0.2), "head_pitch": -3, "head_roll": 2,
    },
    "stop": {
        "flex_r": 78, "abduct_r": 20, "twist_r": 0, "elbow_r": 7, "pronate_r": 90, "wrist_r": 80,
        "trunk_yaw": 5, "trunk_pitch": -2,
    },
    "go_on": {
        "flex_r": (38, 10, 0.8, 0.0), "abduct_r": (30, 6, 0.8, 0.1), "twist_r": (30, 42, 0.8, 0.0),
        "elbow_r": (58, 16, 0.8, 0.3), "pronate_r": -75, "wrist_r": 8, "trunk_yaw": (-6, 5, 0.8, 0.0), "head_pitch": 4,
    },
    "phone": {
        "flex_r": 24, "abduct_r": 8, "twist_r": -22, "elbow_r": (104, 2, 0.4, 0.0), "pronate_r": -60, "wrist_r": 4,
        "head_yaw": 4, "head_pitch": (27, 2, 0.2, 0.0), "trunk_pitch": 2,
    },
}  # fmt: skip


def gesture_code(name: str) -> int:
    """Code of a gesture by its name."""
    if name not in GESTURES:
        raise UnknownName("gesture", name, GESTURES)
    return GESTURES[name]


@cache
def gesture_table() -> FloatArray:
    """(gestures, 5, channels) float64: angle, amplitude (rad), frequency (Hz), phase (cycles), weight."""
    table = np.zeros((len(GESTURES), 5, len(CHANNELS)))
    for name, channels in _TABLE.items():
        for channel, value in channels.items():
            angle, amplitude, frequency, phase = value if isinstance(value, tuple) else (value, 0.0, 0.0, 0.0)
            row = (radians(angle), radians(amplitude), frequency, phase, 1.0)
            table[GESTURES[name], :, CHANNELS.index(channel)] = row
    table.setflags(write=False)
    return table
