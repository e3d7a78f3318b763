"""Vehicles as models: :func:`vehicle_figure` makes a car or a van of any size and paint, :func:`bicycle_look` a bicycle
and its rider; wheels turn with the metres driven, and steer. Bodies are cross sections from the rear to the front,
joined; lengths in their tables are shares: x of the length from the rear bumper, z of the height, y of half the width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.render.figure import Figure, Motion, body_matrix, build_model, pack, turned_about
from sidestep.render.loft import Part, Ring, box, creased, limb, tube, wheel
from sidestep.render.mesh import Semantic, palette
from sidestep.types.base import FloatArray
from sidestep.types.robot import RobotSpec

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


KINDS: dict[str, tuple[Shape, tuple[float, float, float]]] = {
    "car": (CAR, (4.5, 1.8, 1.5)),
    "van": (VAN, (5.4, 2.0, 2.3)),
}
"""Shape and usual length, width and height in metres."""

PAINTS: dict[str, str] = {
    "white": "e9e9e6", "silver": "b4b8bb", "grey": "5e6266", "black": "1a1b1d", "blue": "274a7d", "red": "9a2320",
    "green": "35523f", "beige": "b9ab8e",
}  # fmt: skip
_REST = ("121a21", "1d1e20", "141414", "9a9da0", "f6f2de", "b3221c", "d9d9cf")


@cache
def vehicle_figure(
    kind: str = "car", paint: str = "silver", size: tuple[float, float, float] | None = None, back: float | None = None,
    semantic: Semantic = Semantic.VEHICLE,
) -> Figure:  # fmt: skip
    """A vehicle of ``size`` (length, width, height; by default the usual one of its kind).

    ``back`` is x of the rear bumper from the reference point; by default the reference is the middle.
    """
    if kind not in KINDS:
        raise UnknownName("vehicle", kind, KINDS)
    if paint not in PAINTS:
        raise UnknownName("paint", paint, PAINTS)
    shape, usual = KINDS[kind]
    length, width, height = usual if size is None else size
    if min(length, width, height) <= 0:
        raise BadInput(f"vehicle size must be positive, got {length} × {width} × {height} m")
    rear = -length / 2 if back is None else back
    radius = shape.wheel_radius * height
    tread = min(0.22, 0.12 * width)
    wheels = [
        (rear + x * length, side * (width / 2 - tread / 2), radius) for x in shape.axles for side in (1.0, -1.0)
    ]  # fmt: skip
    levels = [_level(shape, (length, width, height), rear, wheels, radius, tread, level) for level in range(3)]
    model = build_model(levels, SLOTS, 5, semantic)

    def bones(motion: Motion) -> FloatArray:
        body = body_matrix(motion)
        roll = motion.distance / radius
        turns = (0.0, 0.0, motion.steer, motion.steer)
        return pack([body] + [body @ turned_about(w, roll, steer) for w, steer in zip(wheels, turns, strict=True)])

    lamps = tuple((rear + length, side * 0.33 * width, 0.40 * height) for side in (1.0, -1.0))
    return Figure(kind, model, palette((PAINTS[paint], *_REST)), bones, head_lamps=lamps)


def _level(
    shape: Shape, size: tuple[float, float, float], rear: float, wheels: list[tuple[float, float, float]],
    radius: float, tread: float, level: int,
) -> list[Part]:  # fmt: skip
    length, width, height = size
    parts: list[Part] = []
    if level < 2:
        parts.append(make_shell(shape, length, width, height, rear))
    else:
        x0, x1, z0, z1 = shape.cabin
        middle = (rear + length / 2, 0.0, height * 0.375)
        parts.append(box(middle, (length, width - 0.02, height * 0.47), PAINT, 0, 0.96))
        cabin = (rear + (x0 + x1) / 2 * length, 0.0, (z0 + z1) / 2 * height)
        parts.append(box(cabin, ((x1 - x0) * length, 0.95 * width, (z1 - z0) * height - 0.02), GLASS, 0, 0.78))
        roof = ((x1 - x0) * length * 0.77, width * 0.72, 0.03)
        parts.append(box((cabin[0], 0.0, z1 * height - 0.005), roof, PAINT, 0))
    parts += make_details(shape, length, width, height, rear, level)
    for bone, centre in enumerate(wheels, start=1):
        parts.append(wheel(centre, radius, tread, TYRE, HUB, bone, (14, 8, 6)[level]))
    return parts


def paint_for(number: int) -> str:
    """A colour for the vehicle of this number: the same in every run."""
    return tuple(PAINTS)[(number * 5 + 1) % len(PAINTS)]


def box_of(spec: RobotSpec) -> tuple[tuple[float, float, float], float]:
    """Length, width and height of the box about a body, and x of its rear, m."""
    radius = spec.footprint.enclosing_radius
    corners = spec.footprint.polygon or ((-radius, -radius), (radius, radius))
    (back, right), (front, left) = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
    return (front - back, left - right, spec.height), back


def car_look(spec: RobotSpec, number: int) -> Figure:
    """A car in the box about its footprint."""
    return vehicle_figure("car", paint_for(number), *box_of(spec))


def van_look(spec: RobotSpec, number: int) -> Figure:
    """A van in the box about its footprint."""
    return vehicle_figure("van", paint_for(number), *box_of(spec))


def bicycle_look(spec: RobotSpec, number: int) -> Figure:
    """A bicycle whose rear axle is the reference point, with somebody on it."""
    return _bicycle(spec.wheelbase or 1.05, spec.height, box_of(spec)[0][1] / 2, paint_for(number))


@cache
def _bicycle(base: float, height: float, half: float, paint: str) -> Figure:
    frame, tyre, hub, cloth, skin = range(5)
    radius, bar, shoulder = 0.34, half - 0.03, height - 0.36
    bottom, saddle, head = (0.42 * base, 0.0, 0.28), (0.22 * base, 0.0, 0.92), (0.80 * base, 0.0, 0.90)
    bars = [
        ((0.0, 0.0, radius), bottom),
        ((0.0, 0.0, radius), saddle),
        (bottom, saddle),
        (saddle, head),
        (bottom, head),
    ]
    levels = []
    for level, segments in enumerate((14, 8, 6)):
        thin = max(4, segments - 2)
        parts = [wheel((x, 0.0, radius), radius, 0.05, tyre, hub, bone, segments) for x, bone in ((0.0, 1), (base, 2))]
        parts += [limb(one, other, (0.02, 0.02), frame, 0, thin) for one, other in bars if level < 2]
        parts.append(limb(head, (base, 0.0, radius), (0.02, 0.02), frame, 0, thin))
        parts.append(limb((0.78 * base, -bar, 1.02), (0.78 * base, bar, 1.02), (0.02, 0.02), frame, 0, thin))
        neck = (0.45 * base, 0.0, shoulder + 0.06)
        parts.append(limb((0.24 * base, 0.0, 1.0), neck, (0.15, 0.17), cloth, 0, segments))
        parts.append(
            limb((0.50 * base, 0.0, height - 0.16), (0.50 * base, 0.0, height - 0.10), (0.1, 0.1), skin, 0, segments)
        )
        for side, pedal in ((1.0, 0.14), (-1.0, 0.42)):
            hip, knee = (0.26 * base, 0.09 * side, 0.95), (0.55 * base, 0.11 * side, 0.45 + pedal)
            parts.append(limb(hip, knee, (0.09, 0.06), cloth, 0, thin))
            parts.append(limb(knee, (0.42 * base, 0.12 * side, pedal), (0.06, 0.05), cloth, 0, thin))
            shoulders = (0.45 * base, 0.17 * side, shoulder)
            parts.append(limb(shoulders, (0.76 * base, bar * side, 1.05), (0.05, 0.04), cloth, 0, thin))
        levels.append(parts)
    model = build_model(levels, ("paint", "tyre", "hub", "cloth", "skin"), 3, Semantic.VEHICLE)

    def bones(motion: Motion) -> FloatArray:
        body, roll = body_matrix(motion), motion.distance / radius
        turned = ((0.0, 0.0), (base, motion.steer))
        return pack([body] + [body @ turned_about((x, 0.0, radius), roll, steer) for x, steer in turned])

    return Figure("bicycle", model, palette((PAINTS[paint], "141414", "9a9da0", "3d4a5c", "b98a6b")), bones)
