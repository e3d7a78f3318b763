"""Bodies of cars and vans: cross sections from the rear to the front, joined, with windows where the table says so.

Lengths are shares: x of the length from the rear bumper, z of the height, y of half the width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.render.loft import Part, Ring, box, creased, limb, tube
from sidestep.types.base import FloatArray

SLOTS = ("paint", "glass", "trim", "tyre", "hub", "head_light", "tail_light", "plate")
PAINT, GLASS, TRIM, TYRE, HUB, HEAD_LIGHT, TAIL_LIGHT, PLATE = range(len(SLOTS))

Station = tuple[float, float, float, float, float, float, float]  # x, sill z, belt z, belt y, top z, top y, crown z


@dataclass(frozen=True)
class Shape:
    """Stations from rear to front; ``side`` and ``top`` give the slot of the window band and of the roof per cell."""

    stations: tuple[Station, ...]
    side: tuple[int, ...]
    top: tuple[int, ...]
    axles: tuple[float, float]  # x of the rear and the front axle
    wheel_radius: float  # share of the height
    pillars: tuple[tuple[int, int], ...]  # pairs of stations that a bar joins along the edge of the roof
    cabin: tuple[float, float, float, float]  # x from, x to, z from, z to of the coarsest level's upper box
    tail_z: float  # of the rear lamps


CAR = Shape(
    stations=(
        (0.000, 0.24, 0.50, 0.80, 0.52, 0.62, 0.525),
        (0.025, 0.17, 0.60, 0.93, 0.63, 0.78, 0.640),
        (0.110, 0.14, 0.64, 0.97, 0.68, 0.80, 0.690),
        (0.235, 0.14, 0.65, 0.985, 0.94, 0.69, 0.965),
        (0.340, 0.14, 0.65, 0.99, 0.975, 0.70, 1.000),
        (0.365, 0.14, 0.65, 0.99, 0.975, 0.70, 1.000),
        (0.470, 0.14, 0.645, 0.99, 0.975, 0.70, 1.000),
        (0.490, 0.14, 0.645, 0.99, 0.970, 0.70, 0.998),
        (0.570, 0.14, 0.64, 0.985, 0.945, 0.69, 0.970),
        (0.715, 0.14, 0.60, 0.97, 0.640, 0.80, 0.665),
        (0.880, 0.15, 0.545, 0.95, 0.575, 0.76, 0.600),
        (0.950, 0.17, 0.470, 0.93, 0.515, 0.62, 0.535),
        (1.000, 0.24, 0.375, 0.82, 0.425, 0.50, 0.440),
    ),
    side=(PAINT, PAINT, PAINT, GLASS, TRIM, GLASS, TRIM, GLASS, GLASS, PAINT, PAINT, HEAD_LIGHT),
    top=(PAINT, PAINT, GLASS, PAINT, PAINT, PAINT, PAINT, PAINT, GLASS, PAINT, PAINT, PAINT),
    axles=(0.185, 0.795), wheel_radius=0.215, pillars=((2, 3), (8, 9)), cabin=(0.16, 0.66, 0.62, 0.99), tail_z=0.44,
)  # fmt: skip

VAN = Shape(
    stations=(
        (0.000, 0.20, 0.52, 0.94, 0.90, 0.84, 0.930),
        (0.012, 0.14, 0.54, 0.985, 0.96, 0.88, 0.985),
        (0.330, 0.14, 0.54, 0.99, 0.97, 0.88, 1.000),
        (0.600, 0.14, 0.54, 0.99, 0.97, 0.88, 1.000),
        (0.625, 0.14, 0.535, 0.99, 0.96, 0.87, 0.990),
        (0.740, 0.14, 0.52, 0.985, 0.90, 0.82, 0.920),
        (0.880, 0.14, 0.49, 0.97, 0.530, 0.84, 0.545),
        (0.955, 0.15, 0.40, 0.96, 0.455, 0.66, 0.475),
        (1.000, 0.20, 0.31, 0.88, 0.370, 0.56, 0.385),
    ),
    side=(PAINT, PAINT, PAINT, TRIM, GLASS, GLASS, PAINT, HEAD_LIGHT),
    top=(PAINT, PAINT, PAINT, PAINT, PAINT, GLASS, PAINT, PAINT),
    axles=(0.200, 0.800), wheel_radius=0.165, pillars=((5, 6),), cabin=(0.01, 0.76, 0.45, 0.99), tail_z=0.40,
)  # fmt: skip


def _section(station: Station, length: float, half: float, height: float, back: float) -> FloatArray:
    """(9, 3): one cross section from the right sill over the roof to the left sill."""
    x, sill, belt, belt_y, top, top_y, crown = station
    widest = min(belt_y + 0.01, 1.0)
    right = [
        (0.93 * belt_y, sill), (widest, 0.5 * (sill + belt) + 0.02), (belt_y, belt), (top_y, top), (0.0, crown),
    ]  # fmt: skip
    points = [(-y, z) for y, z in right] + [(y, z) for y, z in reversed(right[:-1])]
    return np.asarray([(back + x * length, y * half, z * height) for y, z in points])


def make_shell(shape: Shape, length: float, width: float, height: float, back: float) -> Part:
    """The body without wheels; ``back`` is x of the rear bumper."""
    inset = 0.012  # lamps, plates and wheels stand out from the shell and still lie in the box that collides
    sections = [
        _section(station, length - 2 * inset, width / 2 - inset, height, back + inset) for station in shape.stations
    ]
    points = np.concatenate(sections)
    k = len(sections[0])
    triangles: list[tuple[int, int, int]] = []
    slots: list[int] = []
    for i in range(len(sections) - 1):
        bands = (TRIM, PAINT, shape.side[i], shape.top[i])
        for j in range(k):
            a, b = i * k + j, i * k + (j + 1) % k
            c, d = b + k, a + k
            triangles += [(a, c, b), (a, d, c)]
            band = j if j < 4 else 7 - j
            slots += [TRIM if j == k - 1 else PAINT if band <= 1 else bands[band]] * 2
    for first, order in ((0, 1), ((len(sections) - 1) * k, -1)):
        for j in range(1, k - 1):
            fan = (first, first + j, first + j + 1)
            triangles.append(fan if order > 0 else fan[::-1])
            slots.append(PAINT)
    return creased(points, np.asarray(triangles), np.asarray(slots), 0)


def make_details(shape: Shape, length: float, width: float, height: float, back: float, level: int) -> list[Part]:
    """Lamps, plates, grille, mirrors, pillars and dark wheel arches."""
    front, half = back + length, width / 2
    parts = []
    for side in (1.0, -1.0):
        lamp = (0.05, 0.24 * half, 0.10 * height)
        parts.append(box((back + 0.025, side * 0.66 * half, shape.tail_z * height), lamp, TAIL_LIGHT, 0))
        if level == 2:
            lamp = (0.02, 0.30 * half, 0.08 * height)
            parts.append(box((front - 0.009, side * 0.66 * half, 0.40 * height), lamp, HEAD_LIGHT, 0))
    if level == 0:
        grille, plate = (0.02, 0.8 * half, 0.06 * height), (0.012, 0.5, 0.11)
        parts.append(box((front - 0.011, 0, 0.26 * height), grille, TRIM, 0))
        parts.append(box((front - 0.006, 0, 0.33 * height), plate, PLATE, 0))
        parts.append(box((back + 0.006, 0, 0.34 * height), plate, PLATE, 0))
        for side in (1.0, -1.0):
            mirror = back + shape.stations[shape.pillars[-1][1]][0] * length - 0.10 * length
            parts.append(box((mirror, side * (half - 0.07), 0.66 * height), (0.10, 0.13, 0.09 * height), PAINT, 0))
            for one, other in shape.pillars:
                a, b = shape.stations[one], shape.stations[other]
                ends = [(back + s[0] * length, side * s[5] * (half - 0.012), s[4] * height) for s in (a, b)]
                parts.append(limb(ends[0], ends[1], (0.03, 0.03), PAINT, 0, 4))
    radius = shape.wheel_radius * height
    for x in shape.axles:
        for side in (1.0, -1.0):
            y = side * (half - 0.018)
            rings = [
                Ring((back + x * length, y + offset, 1.16 * radius), 1.12 * radius, 1.12 * radius, slot=TRIM)
                for offset in (-0.011, 0.011)
            ]
            if level < 2:
                parts.append(tube(rings, (14, 8, 6)[level], axis="y"))
    return parts
