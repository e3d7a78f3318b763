"""A person's model: trunk with skirts, coats and bags, arms and legs, joined with the head. Three levels of detail
(about 1,500, 450 and 120 triangles), 17 bones, seven slots.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sidestep.render.loft import Part, Ring, box, join_parts, limb, mirrored, tube
from sidestep.render.mesh import Model, Semantic
from sidestep.render.people import skeleton as S
from sidestep.render.people.gait_kernels import TOE_LIFT
from sidestep.render.people.head import make_head
from sidestep.render.people.wardrobe import ACCESSORY, BOTTOM, OUTFITS, SHOES, SKIN, SLOTS, TOP, Outfit
from sidestep.types.base import FloatArray, IntArray

TORSO_SEGMENTS = (10, 6, 4)
Size = tuple[float, float, float]
"""Half widths ahead, behind and to the side, m."""
BULK = {"short_sleeves": 0.0, "long_sleeves": 0.003, "jacket": 0.012, "coat": 0.012}


def _trunk_bones(z: float) -> tuple[tuple[int, int], float]:
    """Pelvis up to 1.0 m, spine about 1.1 m, chest from 1.25 m on; linear between."""
    if z < 1.10:
        return (S.PELVIS, S.SPINE), float(np.clip((1.10 - z) / 0.10, 0, 1))
    return (S.SPINE, S.CHEST), float(np.clip((1.25 - z) / 0.15, 0, 1))


def make_torso(outfit: Outfit, level: int) -> list[Part]:
    """One closed shape; the hem of the upper garment stands out from the lower one."""
    build, bulk = outfit.build, BULK[outfit.top]
    lower = TOP if outfit.legs == "dress" else BOTTOM
    seat, waist, chest = build.seat, build.waist, build.chest

    def trunk_ring(z: float, size: Size, keep: int, slot: int = TOP, power: float = 2.5, crease: bool = False) -> Ring:
        bones, weight = _trunk_bones(z)
        ahead, behind, side = size
        return Ring((0, 0, z), ahead, side, behind, slot, bones, weight, keep, power, crease=crease)

    def hips(z: float, loose: float) -> Size:
        ahead, behind, side = (_mix(s, w, z) + loose for s, w in zip(seat, waist, strict=True))
        return ahead, behind, side

    def ribs(ahead: float, behind: float, side: float, bust: float = 0.0) -> Size:
        return chest[0] * ahead + bulk + build.bust * bust, chest[1] * behind + bulk, chest[2] * side + bulk

    hem = 0.955 if outfit.top in ("short_sleeves", "long_sleeves") else 0.900
    if outfit.legs in ("skirt", "dress"):  # tucked in
        hem = 1.035
    neck, shoulder = build.neck, build.shoulder
    below = (0.45 * chest[0] + 0.55 * waist[0], 0.45 * chest[1] + 0.55 * waist[1], 0.45 * chest[2] + 0.55 * waist[2])
    rings = [
        trunk_ring(0.800, (0.030, 0.045, 0.040), 1, lower, 2.0),
        trunk_ring(0.850, (0.074, 0.100, 0.120), 2, lower, 2.2),
        trunk_ring(0.925, seat, 1, lower) if hem > 0.93 else None,
        trunk_ring(hem, hips(hem, 0.0), 1, lower, crease=True),
        trunk_ring(hem, hips(hem, 0.008 + bulk), 2, crease=True),
        trunk_ring(1.000, hips(1.0, 0.004 + bulk), 0) if hem < 0.99 else None,
        trunk_ring(1.090, hips(1.09, 0.002 + bulk), 2),
        trunk_ring(1.170, (below[0] + bulk, below[1] + bulk, below[2] + bulk), 0),
        trunk_ring(1.235, ribs(0.98, 1.0, 0.98, 0.55), 0),
        trunk_ring(1.285, ribs(1.0, 1.0, 1.0, 1.0), 2),
        trunk_ring(1.345, ribs(0.93, 1.0, 1.02, 0.4), 0),
        trunk_ring(1.400, ribs(0.78, 0.94, 1.02), 1, power=2.6),
        trunk_ring(1.438, (chest[0] * 0.60 + bulk, chest[1] * 0.78 + bulk, shoulder * 1.0 + bulk), 2, power=2.4),
        trunk_ring(1.464, (0.060 + bulk / 2, 0.074 + bulk / 2, shoulder * 0.66 + bulk), 0, power=2.2),
        trunk_ring(1.492 + bulk * 1.5, (neck + 0.008, neck + 0.010, neck + 0.010), 1, power=2.0),
    ]
    used = [ring for ring in rings if ring is not None]
    turn = 0.5 if level == 2 else 0.0  # four corners show more of a trunk than four edges
    return [tube(used, TORSO_SEGMENTS[level], level=level, turn=turn, caps=(0.02, 0.0 if level < 2 else 0.05))]


def _mix(seat: float, waist: float, z: float) -> float:
    """Half width between the seat (0.925 m) and the waist (1.09 m)."""
    t = min(max((z - 0.925) / 0.165, 0.0), 1.0)
    return seat + (waist - seat) * t


def _swing(vertices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Cloth below the hips follows the thigh of its side, more towards the hem, and both thighs in the middle."""
    depth = np.clip((0.96 - vertices[:, 2]) / 0.30, 0, 1)
    middle = np.abs(vertices[:, 1]) < 0.02
    share = np.where(middle, 0.5, 0.92 * depth)
    first = np.where(vertices[:, 1] >= -0.02, S.THIGH_L, S.THIGH_R)
    second = np.where(middle, S.THIGH_R, S.PELVIS)
    bones = np.stack([first, second], axis=1).astype(np.int32)
    bones[depth == 0] = S.PELVIS
    return bones, np.stack([share, 1 - share], axis=1)


def make_skirt(outfit: Outfit, level: int) -> list[Part]:
    """The hanging part of a skirt, a dress or a coat, open below."""
    parts = []
    if outfit.legs in ("skirt", "dress"):
        slot = TOP if outfit.legs == "dress" else BOTTOM
        hem, flare = (0.50, 0.075) if outfit.legs == "dress" else (0.46, 0.045)
        if outfit.hat == "scarf":
            hem, flare = 0.30, 0.085
        waist = 0.80 if outfit.top == "coat" else 1.05  # below a coat only what looks out
        parts.append(_hanging(outfit, level, waist, hem, flare, slot, 0.016))
    if outfit.top == "coat":
        flare, loose = (0.055, 0.026) if outfit.legs == "trousers" else (0.085, 0.034)
        parts.append(_hanging(outfit, level, 1.06, 0.56, flare, TOP, loose))
    return parts


def _hanging(outfit: Outfit, level: int, top: float, hem: float, flare: float, slot: int, loose: float) -> Part:
    seat, waist = outfit.build.seat, outfit.build.waist
    rings = []
    for share, keep in ((0.0, 2), (0.22, 2), (0.45, 0), (0.72, 0), (1.0, 2)):
        z = top + (hem - top) * share
        wide = flare * max(0.0, (0.925 - z) / (0.925 - hem)) ** 0.8 if z < 0.925 else 0.0
        ahead, behind, side = (_mix(s, w, z) + loose + wide for s, w in zip(seat, waist, strict=True))
        ahead += 0.35 * wide
        rings.append(Ring((0, 0, z), ahead, side, behind, slot, level=keep, power=2.5))
    inside = rings[-1]
    rings.append(
        Ring((0, 0, hem + 0.02), inside.ahead - 0.012, inside.side - 0.012, (inside.behind or 0) - 0.012, slot, level=1)
    )
    turn = 0.5 if level == 2 else 0.0
    return tube(rings, TORSO_SEGMENTS[level], level=level, turn=turn, caps=(None, 0.0), skinning=_swing)


def make_bag(outfit: Outfit, level: int) -> list[Part]:
    """A backpack with straps, or a satchel at the right hip."""
    if outfit.bag == "backpack":
        back = outfit.build.chest[1] + BULK[outfit.top]
        bones = (S.CHEST, S.CHEST)
        shape = ((1.06, 0.050, 0.125, 0), (1.09, 0.085, 0.150, 2), (1.25, 0.090, 0.150, 1), (1.38, 0.070, 0.135, 2),
                 (1.425, 0.035, 0.100, 0))  # fmt: skip
        rings = [
            Ring((-back - 0.045, 0, z), 0.05, side, deep, ACCESSORY, bones, level=keep, power=3.2)
            for z, deep, side, keep in shape
        ]
        parts = [tube(rings, (8, 4, 4)[level], level=level, turn=0.5 if level else 0.0, caps=(0.01, 0.015))]
        if level == 0:
            front, y = outfit.build.chest[0] + BULK[outfit.top] + 0.6 * outfit.build.bust, outfit.build.shoulder * 0.52
            for side in (y, -y):
                over, chest, end = (
                    (front * 0.86, side, 1.418),
                    (front * 1.03, side, 1.31),
                    (front * 0.6, side * 1.7, 1.13),
                )
                parts.append(limb((-0.01, side, 1.474), over, (0.018, 0.016), ACCESSORY, S.CHEST, 3))
                parts.append(limb(over, chest, (0.016, 0.016), ACCESSORY, S.CHEST, 3))
                parts.append(limb(chest, end, (0.016, 0.014), ACCESSORY, S.SPINE, 3))
        return parts
    if outfit.bag == "satchel" and level < 2:
        y = -(outfit.build.seat[2] + BULK[outfit.top] + 0.055)
        parts = [box((0.03, y, 0.93), (0.27, 0.075, 0.20), ACCESSORY, S.PELVIS, 0.92)]
        if level == 0:
            parts += _satchel_strap(outfit, y)
        return parts
    return []


def _satchel_strap(outfit: Outfit, bag_y: float) -> list[Part]:
    """Over the left shoulder, before and behind the chest, down to the bag."""
    build, bulk = outfit.build, BULK[outfit.top] + 0.010
    front, back = build.chest[0] + build.bust + bulk, build.chest[1] + bulk
    left, width = build.shoulder * 0.6, (0.014, 0.014)
    parts = []
    for high, middle in ((front * 0.84, front), (-back * 0.92, -back)):
        points = (
            (0.0, left, 1.474),
            (high, left * 0.85, 1.405),
            (middle, -left * 0.1, 1.25),
            (middle * 0.3, bag_y, 1.02),
        )
        for a, b, bone in zip(points[:-1], points[1:], (S.CHEST, S.CHEST, S.SPINE), strict=True):
            parts.append(limb(a, b, width, ACCESSORY, bone, 3))
    return parts


ARM_SEGMENTS = (7, 4, 3)
LEG_SEGMENTS = (7, 4, 3)
SHOE_SEGMENTS = (8, 4, 4)


def make_arm(outfit: Outfit, level: int) -> list[Part]:
    """The left arm. Its upper end is a ball in the shoulder, on the arm alone, so that no pose opens a gap."""
    y, k = outfit.build.shoulder, outfit.build.limb
    bulky = {"jacket": 0.009, "coat": 0.011, "long_sleeves": 0.004, "short_sleeves": 0.0}[outfit.top]
    long_sleeve = outfit.top != "short_sleeves"
    upper, elbow = (S.UPPER_ARM_L, S.UPPER_ARM_L), (S.UPPER_ARM_L, S.FOREARM_L)
    x = -0.01

    def arm_ring(z: float, r: float, bones: tuple[int, int], weight: float, keep: int, slot: int = TOP) -> Ring:
        width = k * r + (bulky if slot == TOP else 0.0)
        return Ring((x, y, z), width * 1.04, width * 0.96, slot=slot, bones=bones, weight=weight, level=keep)

    sleeve = TOP if long_sleeve else SKIN
    rings = [
        arm_ring(S.SHOULDER_Z + 0.022, 0.028, upper, 1, 0),
        arm_ring(S.SHOULDER_Z + 0.004, 0.046, upper, 1, 2),
        arm_ring(S.SHOULDER_Z - 0.040, 0.055, upper, 1, 0),
        arm_ring(S.SHOULDER_Z - 0.110, 0.053, upper, 1, 1),
    ]
    if not long_sleeve:
        hem = S.SHOULDER_Z - 0.185
        cut = Ring((x, y, hem), k * 0.059, k * 0.055, slot=TOP, bones=upper, level=2, crease=True)
        rings += [cut, Ring((x, y, hem), k * 0.046, k * 0.043, slot=SKIN, bones=upper, level=1, crease=True)]
    rings += [
        arm_ring(S.ELBOW_Z + 0.035, 0.043, elbow, 0.8, 0, sleeve),
        arm_ring(S.ELBOW_Z, 0.042, elbow, 0.5, 2, sleeve),
        arm_ring(S.ELBOW_Z - 0.035, 0.043, elbow, 0.2, 0, sleeve),
        arm_ring(S.ELBOW_Z - 0.085, 0.042, elbow, 0.0, 0, sleeve),
    ]
    if long_sleeve:
        cuff = k * 0.033 + bulky * 0.8
        wrist = (S.FOREARM_L, S.FOREARM_L)
        rings += [
            Ring((x, y, S.WRIST_Z + 0.015), cuff, cuff, slot=TOP, bones=wrist, level=2, crease=True),
            Ring((x, y, S.WRIST_Z + 0.015), k * 0.026, k * 0.022, slot=SKIN, bones=wrist, level=0),
        ]
    rings += _hand_rings(x, y, k, level)
    parts = [tube(rings, ARM_SEGMENTS[level], level=level, caps=(0.010, 0.008) if level < 2 else (None, 0.03))]
    if level == 0:
        parts.append(
            limb(
                (x + 0.026, y, S.WRIST_Z - 0.03),
                (x + 0.052, y - 0.012, S.WRIST_Z - 0.092),
                (0.013, 0.010),
                SKIN,
                S.HAND_L,
                3,
            )
        )
    return parts


def _hand_rings(x: float, y: float, k: float, level: int) -> list[Ring]:
    """A hand like a mitten, palm towards the thigh, with a slight curl of the fingers."""
    wrist, hand = (S.FOREARM_L, S.HAND_L), (S.HAND_L, S.HAND_L)
    shape = (
        (S.WRIST_Z, 0.027 * k, 0.021 * k, 0.0, wrist, 0.5, 1),
        (S.WRIST_Z - 0.035, 0.038, 0.018, 0.002, hand, 1.0, 0),
        (S.WRIST_Z - 0.085, 0.042, 0.017, 0.004, hand, 1.0, 2),
        (S.WRIST_Z - 0.130, 0.036, 0.013, -0.002, hand, 1.0, 0),
        (S.WRIST_Z - 0.165, 0.024, 0.010, -0.012, hand, 1.0, 1),
    )
    return [
        Ring((x, y + shift, z), ahead, side, slot=SKIN, bones=bones, weight=weight, level=keep)
        for z, ahead, side, shift, bones, weight, keep in shape
    ]


def make_leg(outfit: Outfit, level: int) -> list[Part]:
    """The left leg with its shoe. Trousers end over the shoe, shorts above the knee; under a skirt legs are bare."""
    y, k = outfit.build.hip, outfit.build.limb
    thigh, knee, hip = (S.THIGH_L, S.THIGH_L), (S.THIGH_L, S.SHIN_L), (S.THIGH_L, S.PELVIS)
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
        leg_ring(S.KNEE_Z + 0.055, 0.060, 0.056, knee, 0.85, 0),
        leg_ring(S.KNEE_Z, 0.058, 0.052, knee, 0.5, 2),
        leg_ring(S.KNEE_Z - 0.060, 0.050, 0.056, knee, 0.12, 0),
        leg_ring(0.350, 0.046, 0.064, knee, 0.0, 1),
        leg_ring(0.220, 0.042, 0.048, knee, 0.0, 0),
    ]
    shin = (S.SHIN_L, S.SHIN_L)
    if long:
        rings += [
            Ring((-0.006, y, 0.125), 0.050, 0.050, 0.054, slot=BOTTOM, bones=shin, level=0),
            Ring(
                (-0.006, y, 0.058), 0.055, 0.053, 0.058, slot=BOTTOM, bones=(S.SHIN_L, S.FOOT_L), weight=0.75, level=2
            ),
        ]
    else:
        rings.append(Ring((-0.004, y, 0.075), 0.034 * k, 0.032 * k, 0.036 * k, slot=SKIN, bones=shin, level=2))
    return [
        tube(rings, LEG_SEGMENTS[level], level=level, caps=(None, 0.0 if level == 0 else None)),
        _make_shoe(y, level),
    ]


def _make_shoe(y: float, level: int) -> Part:
    """Outlines from the sole up; the sole is flat to the ball and rises towards the toe."""
    foot, x = (S.FOOT_L, S.FOOT_L), 0.05
    shape = (  # z, ahead, behind, side, squareness, keep
        (0.000, 0.124, 0.120, 0.042, 2.6, 2),
        (0.022, 0.129, 0.124, 0.047, 2.6, 0),
        (0.042, 0.120, 0.122, 0.046, 2.4, 1),
        (0.066, 0.060, 0.116, 0.040, 2.2, 0),
        (S.ANKLE_Z + 0.012, 0.045, 0.055, 0.034, 2.0, 2),
    )
    rings = []
    for z, ahead, behind, side, power, keep in shape:
        lift = TOE_LIFT if z < 0.03 else TOE_LIFT * 0.5 if z < S.ANKLE_Z else 0.0
        middle = x if z < S.ANKLE_Z else 0.0
        crease = z == 0.022
        rings.append(Ring((middle, y, z), ahead, side, behind, SHOES, foot, 1.0, keep, power, 0.0, lift, crease))
    return tube(rings, SHOE_SEGMENTS[level], level=level, caps=(0.0 if level < 2 else None, 0.004))


LEVELS = 3
REACH = 1.15  # m at rest height: half a running stride behind the body, with the shoe


def _both_sides(parts: list[Part]) -> list[Part]:
    return parts + [mirrored(part, S.OTHER_SIDE) for part in parts]


def make_person_model(outfit: Outfit) -> Model:
    """The model of one body in its clothes, 1.75 m tall."""
    levels, bones, weights = [], [], []
    for level in range(LEVELS):
        parts = make_torso(outfit, level) + make_skirt(outfit, level) + make_head(outfit, level)
        parts += _both_sides(make_arm(outfit, level)) + _both_sides(make_leg(outfit, level)) + make_bag(outfit, level)
        mesh, bone, weight = join_parts(parts, Semantic.PERSON)
        levels.append(mesh)
        bones.append(bone)
        weights.append(weight)
    scale = S.HEIGHTS[1] / S.REST_HEIGHT
    return Model(tuple(levels), tuple(bones), tuple(weights), S.BONE_COUNT, SLOTS, S.REST_HEIGHT, REACH * scale)


@cache
def person_models() -> tuple[Model, ...]:
    """One model per outfit, in the order of ``OUTFIT_NAMES``."""
    return tuple(make_person_model(outfit) for outfit in OUTFITS)


@cache
def person_joints() -> FloatArray:
    """(models, 17, 3) float64: joints of the rest poses, in the order of ``OUTFIT_NAMES``."""
    joints = np.stack([S.rest_joints(outfit.build.shoulder, outfit.build.hip) for outfit in OUTFITS])
    joints.setflags(write=False)
    return joints
