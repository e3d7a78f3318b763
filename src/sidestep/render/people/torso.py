"""Trunk from the crotch to the collar, skirts and coats that swing with the thighs, and bags."""

from __future__ import annotations

import numpy as np

from sidestep.render.loft import Part, Ring, box, limb, tube
from sidestep.render.people.outfits import ACCESSORY, BOTTOM, TOP, Outfit
from sidestep.render.people.skeleton import CHEST, PELVIS, SPINE, THIGH_L, THIGH_R
from sidestep.types.base import FloatArray, IntArray

TORSO_SEGMENTS = (10, 6, 4)
Size = tuple[float, float, float]
"""Half widths ahead, behind and to the side, m."""
BULK = {"short_sleeves": 0.0, "long_sleeves": 0.003, "jacket": 0.012, "coat": 0.012}


def _trunk_bones(z: float) -> tuple[tuple[int, int], float]:
    """Pelvis up to 1.0 m, spine about 1.1 m, chest from 1.25 m on; linear between."""
    if z < 1.10:
        return (PELVIS, SPINE), float(np.clip((1.10 - z) / 0.10, 0, 1))
    return (SPINE, CHEST), float(np.clip((1.25 - z) / 0.15, 0, 1))


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
    kept = [ring for ring in rings if ring is not None]
    turn = 0.5 if level == 2 else 0.0  # four corners show more of a trunk than four edges
    return [tube(kept, TORSO_SEGMENTS[level], level=level, turn=turn, caps=(0.02, 0.0 if level < 2 else 0.05))]


def _mix(seat: float, waist: float, z: float) -> float:
    """Half width between the seat (0.925 m) and the waist (1.09 m)."""
    t = min(max((z - 0.925) / 0.165, 0.0), 1.0)
    return seat + (waist - seat) * t


def _swing(vertices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Cloth below the hips follows the thigh of its side, more towards the hem, and both thighs in the middle."""
    depth = np.clip((0.96 - vertices[:, 2]) / 0.30, 0, 1)
    middle = np.abs(vertices[:, 1]) < 0.02
    share = np.where(middle, 0.5, 0.92 * depth)
    first = np.where(vertices[:, 1] >= -0.02, THIGH_L, THIGH_R)
    second = np.where(middle, THIGH_R, PELVIS)
    bones = np.stack([first, second], axis=1).astype(np.int32)
    bones[depth == 0] = PELVIS
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
    return tube(rings, TORSO_SEGMENTS[level], level=level, turn=turn, caps=(None, 0.0), hang=_swing)


def make_bag(outfit: Outfit, level: int) -> list[Part]:
    """A backpack with straps, or a satchel at the right hip."""
    if outfit.bag == "backpack":
        back = outfit.build.chest[1] + BULK[outfit.top]
        bones = (CHEST, CHEST)
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
                parts.append(limb((-0.01, side, 1.474), over, (0.018, 0.016), ACCESSORY, CHEST, 3))
                parts.append(limb(over, chest, (0.016, 0.016), ACCESSORY, CHEST, 3))
                parts.append(limb(chest, end, (0.016, 0.014), ACCESSORY, SPINE, 3))
        return parts
    if outfit.bag == "satchel" and level < 2:
        y = -(outfit.build.seat[2] + BULK[outfit.top] + 0.055)
        parts = [box((0.03, y, 0.93), (0.27, 0.075, 0.20), ACCESSORY, PELVIS, 0.92)]
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
        for a, b, bone in zip(points[:-1], points[1:], (CHEST, CHEST, SPINE), strict=True):
            parts.append(limb(a, b, width, ACCESSORY, bone, 3))
    return parts
