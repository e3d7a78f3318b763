"""Vehicles in any size: passenger cars and vans whose wheels turn with the metres driven and steer."""

from __future__ import annotations

from functools import cache

from sidestep.errors import BadInput, UnknownName
from sidestep.render.colours import palette
from sidestep.render.figure import Figure, Motion, body_matrix, build_model, pack, turned_about
from sidestep.render.loft import Part, box, wheel
from sidestep.render.mesh import Semantic
from sidestep.render.vehicles.shapes import (
    CAR,
    GLASS,
    HUB,
    PAINT,
    SLOTS,
    TYRE,
    VAN,
    Shape,
    make_details,
    make_shell,
)  # fmt: skip
from sidestep.types.base import FloatArray

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
