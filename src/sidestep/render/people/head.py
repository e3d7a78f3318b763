"""Neck, head with a hint of a face, hair and hats."""

from __future__ import annotations

import numpy as np

from sidestep.render.loft import Part, Ring, limb, rigid, tube
from sidestep.render.people.skeleton import CHEST, HEAD, NECK
from sidestep.render.people.wardrobe import ACCESSORY, FACE, HAIR, SKIN, Outfit

HEAD_SEGMENTS = (10, 5, 4)
_HEAD = (HEAD, HEAD)
_SKULL = (  # z, x, ahead, behind, side, keep
    (1.533, 0.058, 0.026, 0.036, 0.024, 0),
    (1.550, 0.042, 0.050, 0.058, 0.047, 2),
    (1.580, 0.022, 0.072, 0.080, 0.062, 0),
    (1.615, 0.010, 0.085, 0.094, 0.071, 1),
    (1.655, 0.002, 0.091, 0.103, 0.076, 2),
    (1.695, -0.002, 0.087, 0.103, 0.074, 0),
    (1.728, -0.004, 0.066, 0.082, 0.057, 1),
    (1.744, -0.005, 0.035, 0.044, 0.032, 0),
)


def make_head(outfit: Outfit, level: int) -> list[Part]:
    """Everything above the collar."""
    jaw, neck = outfit.build.jaw, outfit.build.neck
    rings = [
        Ring((x, 0, z), ahead, side * (jaw if z < 1.63 else 1.0), behind, SKIN, _HEAD, level=keep)
        for z, x, ahead, behind, side, keep in _SKULL
    ]
    parts = [tube(rings, HEAD_SEGMENTS[level], level=level, caps=(0.006, 0.006))]
    throat = [
        Ring((-0.008, 0, 1.465), neck + 0.004, neck + 0.006, slot=SKIN, bones=(NECK, CHEST), weight=0.3),
        Ring((-0.002, 0, 1.530), neck * 0.92, neck * 0.94, slot=SKIN, bones=(NECK, HEAD), weight=0.6, level=0),
        Ring((0.004, 0, 1.585), neck * 0.95, neck * 0.95, slot=SKIN, bones=_HEAD),
    ]
    parts.append(tube(throat, (8, 4, 3)[level], level=level, caps=(None, None)))
    if level == 0:
        parts += _face(jaw, ears=outfit.hat != "scarf")
    if outfit.beard and level == 0:
        parts.append(_beard(level, jaw))
    return parts + _hair(outfit, level) + _hat(outfit, level)


def _face(jaw: float, ears: bool) -> list[Part]:
    """Nose, ears, and dark quads just before the skin for eyes, brows and mouth."""
    nose = np.asarray([(0.088, 0, 1.662), (0.086, 0.017, 1.612), (0.086, -0.017, 1.612), (0.118, 0, 1.618)])
    parts = [rigid(nose, np.asarray([(0, 1, 3), (0, 3, 2), (1, 2, 3)]), SKIN, HEAD)]
    for side in (1.0, -1.0):
        for z, tall, wide, y in ((1.650, 0.006, 0.012, 0.031), (1.670, 0.0022, 0.015, 0.032)):
            inner, outer = y - wide, y + wide
            rise = 0.003 if z < 1.66 else -0.001
            x_in, x_out = (0.0945 - 5.5 * (edge**2) for edge in (inner, outer))
            quad = np.asarray([
                (x_in, side * inner, z - tall), (x_out, side * outer, z - tall + rise),
                (x_out, side * outer, z + tall), (x_in, side * inner, z + tall),
            ])  # fmt: skip
            faces = np.asarray([(0, 1, 2), (0, 2, 3)])
            parts.append(rigid(quad, faces if side > 0 else faces[:, ::-1], FACE, HEAD))
        if ears:
            ear = ((-0.004, side * 0.074 * jaw, 1.630), (-0.010, side * 0.079, 1.658))
            parts.append(limb(*ear, (0.011, 0.014), SKIN, HEAD, 3))
    lips = np.asarray([(0.0925, -0.017, 1.583), (0.0925, 0.017, 1.583), (0.094, 0.019, 1.588), (0.094, -0.019, 1.588)])
    lips[:, 0] -= 4.0 * lips[:, 1] ** 2 - 0.003
    parts.append(rigid(lips, np.asarray([(0, 1, 2), (0, 2, 3)]), FACE, HEAD))
    return parts


def _beard(level: int, jaw: float) -> Part:
    """A shell round chin and cheeks, below a plane that rises to the ears."""
    rings = [
        Ring((0.056, 0, 1.526), 0.034, 0.032 * jaw, 0.036, HAIR, _HEAD),
        Ring((0.042, 0, 1.548), 0.056, 0.053 * jaw, 0.048, HAIR, _HEAD, level=0),
        Ring((0.022, 0, 1.585), 0.077, 0.068 * jaw, 0.010, HAIR, _HEAD, slope=-0.30),
    ]
    return tube(rings, HEAD_SEGMENTS[level], level=level, caps=(0.004, 0.0))


def _hair(outfit: Outfit, level: int) -> list[Part]:
    """A cap of hair with its edge high on the forehead and low on the neck, and what hangs from it."""
    if outfit.hair == "bald":
        return []
    # z, x, ahead, behind, side, slope, keep
    shape: tuple[tuple[float, float, float, float, float, float, int], ...] = (
        (1.638, -0.014, 0.070, 0.101, 0.081, 0.62, 2),
        (1.672, -0.010, 0.090, 0.111, 0.087, 0.36, 0),
        (1.706, -0.006, 0.092, 0.113, 0.084, 0.12, 1),
        (1.742, -0.006, 0.072, 0.088, 0.065, 0.05, 2),
        (1.760, -0.006, 0.038, 0.048, 0.036, 0.0, 0),
    )
    if outfit.hat in ("cap", "brim"):
        shape = shape[:2]
    rings = [
        Ring((x, 0, z), ahead, side, behind, HAIR, _HEAD, level=keep, slope=slope)
        for z, x, ahead, behind, side, slope, keep in shape
    ]
    if len(rings) == 2:
        rings = [Ring(r.centre, r.ahead, r.side, r.behind, HAIR, _HEAD, slope=r.slope) for r in rings]
    parts = [tube(rings, HEAD_SEGMENTS[level], level=level, caps=(None, 0.006))]
    parts += _long_hair(level) if outfit.hair == "long" else []
    if outfit.hair == "bun":
        parts.append(limb((-0.115, 0, 1.690), (-0.130, 0, 1.715), (0.040, 0.036), HAIR, HEAD, (8, 5, 3)[level]))
    if outfit.hair == "ponytail":
        parts.append(limb((-0.108, 0, 1.700), (-0.150, 0, 1.660), (0.026, 0.032), HAIR, HEAD, (7, 4, 3)[level]))
        parts.append(limb((-0.150, 0, 1.660), (-0.135, 0, 1.500), (0.032, 0.014), HAIR, HEAD, (7, 4, 3)[level]))
    return parts


def _long_hair(level: int) -> list[Part]:
    """Hair behind and beside the face, down to the shoulder blades."""
    shape = (  # z, x, ahead, behind, side, head weight, keep
        (1.700, -0.030, 0.070, 0.088, 0.086, 1.0, 1),
        (1.620, -0.040, 0.060, 0.080, 0.090, 1.0, 0),
        (1.540, -0.050, 0.045, 0.070, 0.092, 0.8, 2),
        (1.460, -0.080, 0.030, 0.050, 0.094, 0.5, 0),
        (1.380, -0.105, 0.016, 0.026, 0.078, 0.3, 2),
    )
    rings = [
        Ring((x, 0, z), ahead, side, behind, HAIR, (HEAD, CHEST), weight, keep, 2.4)
        for z, x, ahead, behind, side, weight, keep in shape
    ]
    return [tube(rings, (8, 5, 4)[level], level=level, caps=(0.01, 0.012))]


def _hat(outfit: Outfit, level: int) -> list[Part]:
    segments = HEAD_SEGMENTS[level]

    def ring(
        z: float, ahead: float, behind: float, side: float, keep: int, slope: float = 0.0, x: float = -0.006
    ) -> Ring:
        return Ring((x, 0, z), ahead, side, behind, ACCESSORY, _HEAD, level=keep, slope=slope)

    if outfit.hat == "cap":
        dome = [
            ring(1.688, 0.101, 0.116, 0.089, 2, 0.10),
            ring(1.730, 0.094, 0.108, 0.083, 1),
            ring(1.762, 0.06, 0.07, 0.05, 2),
        ]
        visor = [
            Ring((0.085, 0, 1.690), 0.085, 0.076, 0.03, ACCESSORY, _HEAD, slope=-0.12, power=2.6),
            Ring((0.085, 0, 1.700), 0.085, 0.076, 0.03, ACCESSORY, _HEAD, slope=-0.12, power=2.6),
        ]
        return [tube(dome, segments, level=level, caps=(None, 0.008)), tube(visor, (8, 6, 4)[level], level=0)]
    if outfit.hat == "brim":
        crown = [
            ring(1.694, 0.155, 0.160, 0.140, 2), ring(1.704, 0.158, 0.163, 0.143, 1),
            ring(1.704, 0.100, 0.112, 0.086, 2), ring(1.770, 0.094, 0.104, 0.080, 2), ring(1.792, 0.07, 0.08, 0.06, 0),
        ]  # fmt: skip
        return [tube(crown, segments, level=level, caps=(0.0, 0.004))]
    if outfit.hat == "scarf":
        hood = [
            Ring((-0.020, 0, 1.405), 0.105, 0.135, 0.105, ACCESSORY, (CHEST, CHEST)),
            Ring((-0.012, 0, 1.480), 0.085, 0.092, 0.095, ACCESSORY, (CHEST, NECK), 0.6, level=0),
            Ring((-0.004, 0, 1.545), 0.075, 0.086, 0.096, ACCESSORY, (HEAD, NECK), 0.7, level=2),
            Ring((-0.032, 0, 1.600), 0.062, 0.088, 0.092, ACCESSORY, _HEAD, level=0, slope=-0.15),
            Ring((-0.026, 0, 1.660), 0.066, 0.090, 0.096, ACCESSORY, _HEAD, level=1, slope=0.25),
            Ring((-0.008, 0, 1.722), 0.090, 0.078, 0.094, ACCESSORY, _HEAD, level=2),
            Ring((-0.006, 0, 1.758), 0.055, 0.050, 0.060, ACCESSORY, _HEAD, level=0),
        ]
        return [tube(hood, segments, level=level, caps=(None, 0.008))]
    return []
