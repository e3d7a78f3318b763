"""Bones of a person and where their joints are in the rest pose: standing, arms hanging, x ahead, y left, z up.

Every body is 1.75 m tall; the size of a person is a scale in the bone matrices. Legs and arms of the rest pose are
vertical, so that the pose of a limb follows from the directions of its two bones alone.
"""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray

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
