"""Arms with hands, legs and shoes: tubes through rings, bent softly at elbow, wrist and knee."""

from __future__ import annotations

from sidestep.render.loft import Part, Ring, limb, tube
from sidestep.render.people.outfits import BOTTOM, SHOES, SKIN, TOP, Outfit
from sidestep.render.people.skeleton import (
    ANKLE_Z,
    ELBOW_Z,
    FOOT_L,
    FOREARM_L,
    HAND_L,
    KNEE_Z,
    PELVIS,
    SHIN_L,
    SHOULDER_Z,
    THIGH_L,
    UPPER_ARM_L,
    WRIST_Z,
)  # fmt: skip

ARM_SEGMENTS = (7, 4, 3)
LEG_SEGMENTS = (7, 4, 3)
SHOE_SEGMENTS = (8, 4, 4)
HEEL_X, BALL_X, TOE_X, TOE_LIFT = -0.075, 0.125, 0.180, 0.020
"""The sole in metres from the ankle, which the gait rolls over; the shoe below lies inside these points."""


def make_arm(outfit: Outfit, level: int) -> list[Part]:
    """The left arm. Its upper end is a ball in the shoulder, on the arm alone, so that no pose opens a gap."""
    y, k = outfit.build.shoulder, outfit.build.limb
    bulky = {"jacket": 0.009, "coat": 0.011, "long_sleeves": 0.004, "short_sleeves": 0.0}[outfit.top]
    long_sleeve = outfit.top != "short_sleeves"
    upper, elbow = (UPPER_ARM_L, UPPER_ARM_L), (UPPER_ARM_L, FOREARM_L)
    x = -0.01

    def arm_ring(z: float, r: float, bones: tuple[int, int], weight: float, keep: int, slot: int = TOP) -> Ring:
        width = k * r + (bulky if slot == TOP else 0.0)
        return Ring((x, y, z), width * 1.04, width * 0.96, slot=slot, bones=bones, weight=weight, level=keep)

    sleeve = TOP if long_sleeve else SKIN
    rings = [
        arm_ring(SHOULDER_Z + 0.022, 0.028, upper, 1, 0),
        arm_ring(SHOULDER_Z + 0.004, 0.046, upper, 1, 2),
        arm_ring(SHOULDER_Z - 0.040, 0.055, upper, 1, 0),
        arm_ring(SHOULDER_Z - 0.110, 0.053, upper, 1, 1),
    ]
    if not long_sleeve:
        hem = SHOULDER_Z - 0.185
        cut = Ring((x, y, hem), k * 0.059, k * 0.055, slot=TOP, bones=upper, level=2, crease=True)
        rings += [cut, Ring((x, y, hem), k * 0.046, k * 0.043, slot=SKIN, bones=upper, level=1, crease=True)]
    rings += [
        arm_ring(ELBOW_Z + 0.035, 0.043, elbow, 0.8, 0, sleeve),
        arm_ring(ELBOW_Z, 0.042, elbow, 0.5, 2, sleeve),
        arm_ring(ELBOW_Z - 0.035, 0.043, elbow, 0.2, 0, sleeve),
        arm_ring(ELBOW_Z - 0.085, 0.042, elbow, 0.0, 0, sleeve),
    ]
    if long_sleeve:
        cuff = k * 0.033 + bulky * 0.8
        wrist = (FOREARM_L, FOREARM_L)
        rings += [
            Ring((x, y, WRIST_Z + 0.015), cuff, cuff, slot=TOP, bones=wrist, level=2, crease=True),
            Ring((x, y, WRIST_Z + 0.015), k * 0.026, k * 0.022, slot=SKIN, bones=wrist, level=0),
        ]
    rings += _hand_rings(x, y, k, level)
    parts = [tube(rings, ARM_SEGMENTS[level], level=level, caps=(0.010, 0.008) if level < 2 else (None, 0.03))]
    if level == 0:
        parts.append(
            limb(
                (x + 0.026, y, WRIST_Z - 0.03), (x + 0.052, y - 0.012, WRIST_Z - 0.092), (0.013, 0.010), SKIN, HAND_L, 3
            )
        )
    return parts


def _hand_rings(x: float, y: float, k: float, level: int) -> list[Ring]:
    """A hand like a mitten, palm towards the thigh, with a slight curl of the fingers."""
    wrist, hand = (FOREARM_L, HAND_L), (HAND_L, HAND_L)
    shape = (
        (WRIST_Z, 0.027 * k, 0.021 * k, 0.0, wrist, 0.5, 1),
        (WRIST_Z - 0.035, 0.038, 0.018, 0.002, hand, 1.0, 0),
        (WRIST_Z - 0.085, 0.042, 0.017, 0.004, hand, 1.0, 2),
        (WRIST_Z - 0.130, 0.036, 0.013, -0.002, hand, 1.0, 0),
        (WRIST_Z - 0.165, 0.024, 0.010, -0.012, hand, 1.0, 1),
    )
    return [
        Ring((x, y + shift, z), ahead, side, slot=SKIN, bones=bones, weight=weight, level=keep)
        for z, ahead, side, shift, bones, weight, keep in shape
    ]


def make_leg(outfit: Outfit, level: int) -> list[Part]:
    """The left leg with its shoe. Trousers end over the shoe, shorts above the knee; under a skirt legs are bare."""
    y, k = outfit.build.hip, outfit.build.limb
    thigh, knee, hip = (THIGH_L, THIGH_L), (THIGH_L, SHIN_L), (THIGH_L, PELVIS)
    long = outfit.legs == "trousers"
    cloth = BOTTOM if long else SKIN
    loose = 0.006 if long else 0.0
    slim = 0.80 if outfit.legs in ("skirt", "dress") or outfit.top == "coat" else 1.0  # thighs below other cloth

    def leg_ring(
        z: float, ahead: float, behind: float, bones: tuple[int, int], weight: float, keep: int, slot: int = cloth
    ) -> Ring:
        side = k * (ahead + behind) / 2 * 0.98 + loose
        return Ring(
            (0.0, y, z), k * ahead + loose, side, k * behind + loose, slot=slot, bones=bones, weight=weight, level=keep
        )  # fmt: skip

    upper = BOTTOM if outfit.legs in ("trousers", "shorts") else SKIN
    rings = [
        leg_ring(0.925, 0.080 * slim, 0.094 * slim, hip, 0.40, 2, upper),
        leg_ring(0.850, 0.091 * slim, 0.095 * slim, hip, 0.75, 2, upper),
        leg_ring(0.740, 0.085 * slim, 0.084 * slim, thigh, 1.0, 0, upper),
    ]
    if outfit.legs == "shorts":
        cut = Ring((0, y, 0.60), 0.086 * k, 0.084 * k, slot=BOTTOM, bones=thigh, level=2, crease=True)
        rings += [cut, Ring((0, y, 0.60), 0.062 * k, 0.062 * k, slot=SKIN, bones=thigh, level=1, crease=True)]
    else:
        rings.append(leg_ring(0.620, 0.070 * slim, 0.068 * slim, thigh, 1.0, 0))
    rings += [
        leg_ring(KNEE_Z + 0.055, 0.060, 0.056, knee, 0.85, 0),
        leg_ring(KNEE_Z, 0.058, 0.052, knee, 0.5, 2),
        leg_ring(KNEE_Z - 0.060, 0.050, 0.056, knee, 0.12, 0),
        leg_ring(0.350, 0.046, 0.064, knee, 0.0, 1),
        leg_ring(0.220, 0.042, 0.048, knee, 0.0, 0),
    ]
    shin = (SHIN_L, SHIN_L)
    if long:
        rings += [
            Ring((-0.006, y, 0.125), 0.050, 0.050, 0.054, slot=BOTTOM, bones=shin, level=0),
            Ring((-0.006, y, 0.058), 0.055, 0.053, 0.058, slot=BOTTOM, bones=(SHIN_L, FOOT_L), weight=0.75, level=2),
        ]
    else:
        rings.append(Ring((-0.004, y, 0.075), 0.034 * k, 0.032 * k, 0.036 * k, slot=SKIN, bones=shin, level=2))
    return [
        tube(rings, LEG_SEGMENTS[level], level=level, caps=(None, 0.0 if level == 0 else None)),
        _make_shoe(y, level),
    ]


def _make_shoe(y: float, level: int) -> Part:
    """Outlines from the sole up; the sole is flat to the ball and rises towards the toe."""
    foot, x = (FOOT_L, FOOT_L), 0.05
    shape = (  # z, ahead, behind, side, squareness, keep
        (0.000, 0.124, 0.120, 0.042, 2.6, 2),
        (0.022, 0.129, 0.124, 0.047, 2.6, 0),
        (0.042, 0.120, 0.122, 0.046, 2.4, 1),
        (0.066, 0.060, 0.116, 0.040, 2.2, 0),
        (ANKLE_Z + 0.012, 0.045, 0.055, 0.034, 2.0, 2),
    )
    rings = []
    for z, ahead, behind, side, power, keep in shape:
        lift = TOE_LIFT if z < 0.03 else TOE_LIFT * 0.5 if z < ANKLE_Z else 0.0
        middle = x if z < ANKLE_Z else 0.0
        crease = z == 0.022
        rings.append(Ring((middle, y, z), ahead, side, behind, SHOES, foot, 1.0, keep, power, 0.0, lift, crease))
    return tube(rings, SHOE_SEGMENTS[level], level=level, caps=(0.0 if level < 2 else None, 0.004))
