"""Robots on wheels: Pioneer 3-DX, sidewalk delivery robot, and the plain shape of a footprint nobody drew."""

from __future__ import annotations

import numpy as np

from sidestep.render.figure import Figure, Motion, body_matrix, build_model, pack, turned_about
from sidestep.render.loft import Part, Ring, box, disc_outline, limb, prism, tube, wheel
from sidestep.render.mesh import Semantic, palette
from sidestep.types.base import FloatArray
from sidestep.types.robot import Footprint, RobotSpec

CORNERS = (20, 12, 8)  # of a disc, per level


def outline(footprint: Footprint, level: int = 0) -> FloatArray:
    """(K, 2): the footprint as a polygon, counter-clockwise."""
    if footprint.polygon is not None:
        return np.asarray(footprint.polygon, np.float64)
    assert footprint.radius is not None
    return disc_outline(footprint.radius, CORNERS[level])


def _bounds(footprint: Footprint) -> tuple[float, float, float, float]:
    points = outline(footprint)
    return float(points[:, 0].min()), float(points[:, 0].max()), float(points[:, 1].min()), float(points[:, 1].max())


def _clip_sides(points: FloatArray, half: float) -> FloatArray:
    """The outline between y = ± half: sides cut straight."""
    inside = [(x, min(max(y, -half), half)) for x, y in points]
    corners = [p for i, p in enumerate(inside) if np.hypot(p[0] - inside[i - 1][0], p[1] - inside[i - 1][1]) > 1e-6]
    return np.asarray(corners)


def _edge(points: FloatArray, angle: float) -> tuple[float, float]:
    """Where a ray from the origin leaves a convex outline about it."""
    ray = np.array([np.cos(angle), np.sin(angle)])
    ends = np.roll(points, -1, axis=0)
    normal = np.stack([ends[:, 1] - points[:, 1], points[:, 0] - ends[:, 0]], axis=1)
    towards = normal @ ray
    reach = np.min((normal * points).sum(axis=1)[towards > 1e-9] / towards[towards > 1e-9])
    return float(ray[0] * reach), float(ray[1] * reach)


def _mast(x: float, bottom: float, top: float, slot: int, camera: int) -> list[Part]:
    """A bar with a depth camera on top of it, looking ahead."""
    return [
        limb((x, 0.0, bottom), (x, 0.0, top - 0.03), (0.010, 0.010), slot, 0, 5),
        box((x + 0.01, 0.0, top), (0.035, 0.13, 0.032), camera, 0),
        box((x + 0.03, 0.035, top), (0.008, 0.02, 0.02), slot, 0),
        box((x + 0.03, -0.035, top), (0.008, 0.02, 0.02), slot, 0),
    ]


def make_pioneer(spec: RobotSpec) -> Figure:
    """Red body, black deck as wide as the footprint, two wheels, a castor, a ring of sonars, a camera on a mast."""
    red, black, tyre, hub, gold, grey = range(6)
    reach = spec.footprint.enclosing_radius
    _, x_max, _, y_max = _bounds(spec.footprint)
    height, tread = spec.height, 0.18 * y_max
    radius = 0.41 * height
    side = min(y_max - 0.005, float(np.sqrt(max(reach**2 - radius**2, 0.01))) + tread * 0.2) - tread / 2
    wheels = [(0.0, side, radius), (0.0, -side, radius)]
    levels = []
    for level in range(3):
        shape = outline(spec.footprint, level)
        middle = shape.mean(axis=0)
        body = middle + (_clip_sides(shape, side - tread / 2 - 0.006) - middle) * np.array([0.96, 1.0])
        belt = middle + (body - middle) * 1.012
        parts = [
            prism(body, 0.24 * height, 0.62 * height, red, 0),
            prism(belt, 0.62 * height, 0.84 * height, black, 0),
            prism(belt, 0.84 * height, 0.90 * height, red, 0),
            prism(shape, 0.90 * height, height, black, 0, 0.97),
        ]
        if level < 2:
            for k in range(-3, 4):
                x, y = _edge(belt, k * 0.36)
                parts.append(box((x * 0.955, y * 0.955, 0.73 * height), (0.03, 0.03, 0.10 * height), gold, 0))
        if spec.camera_height is not None and spec.camera_height > height + 0.05:
            parts += _mast(-0.1 * x_max, height, spec.camera_height, grey, black)
        parts.append(wheel((-0.72 * x_max, 0.0, 0.16 * height), 0.16 * height, 0.03, tyre, tyre, 0, (10, 6, 4)[level]))
        parts += [wheel(w, radius, tread, tyre, hub, i + 1, (18, 10, 6)[level]) for i, w in enumerate(wheels)]
        levels.append(parts)
    slots = ("body", "deck", "tyre", "hub", "sonar", "mast")
    model = build_model(levels, slots, 3, Semantic.ROBOT, reach)

    def bones(motion: Motion) -> FloatArray:
        base = body_matrix(motion)
        rolls = [(motion.distance - motion.turned * w[1]) / radius for w in wheels]
        return pack([base] + [base @ turned_about(w, roll) for w, roll in zip(wheels, rolls, strict=True)])

    colours = ("b01a1c", "17181a", "101010", "b9bcbf", "c8a24a", "8b8e91")
    lamp = (x_max, 0.0, 0.9 * height)
    return Figure(spec.name, model, palette(colours), bones, head_lamps=(lamp,), lamp_power=0.12)


def make_delivery_robot(spec: RobotSpec) -> Figure:
    """A box with a lid on four wheels, lamps at both ends, and a flag on a pole up to the robot's height."""
    shell, lid, tyre, hub, head, tail, flag, dark = range(8)
    x_min, x_max, _, y_max = _bounds(spec.footprint)
    length, height = x_max - x_min, spec.height
    radius, tread = 0.145 * height, 0.2 * y_max
    middle = (x_min + x_max) / 2
    axle = length / 2 - radius * 1.02
    wheels = [(middle + sx * axle, sy * (y_max - tread / 2), radius) for sx in (-1, 1) for sy in (1, -1)]
    half, side = length / 2 * 0.985, y_max - tread - 0.01

    def ring(z: float, along: float, across: float, slot: int, keep: int = 2, crease: bool = False) -> Ring:
        return Ring((middle, 0, z * height), half * along, across, slot=slot, level=keep, power=4.5, crease=crease)

    levels = []
    for level in range(3):
        segments = (16, 12, 8)[level]
        hull = [
            ring(0.13, 0.80, side * 0.9, dark), ring(0.17, 0.96, side, shell, crease=True),
            ring(0.34, 1.0, side, shell, 0, True), ring(0.34, 1.0, y_max * 0.97, shell, 2, True),
            ring(0.56, 0.97, y_max * 0.95, dark, 2, True), ring(0.585, 0.97, y_max * 0.95, lid, 2, True),
            ring(0.66, 0.92, y_max * 0.90, lid, 0), ring(0.70, 0.78, y_max * 0.74, lid),
        ]  # fmt: skip
        parts = [tube(hull, segments, level=level, turn=0.5, caps=(0.0, 0.012 * height))]
        for sy in (1.0, -1.0):
            lamp = (0.02, 0.2 * y_max, 0.05 * height)
            parts.append(box((x_max - 0.016, sy * 0.55 * y_max, 0.45 * height), lamp, head, 0))
            parts.append(box((x_min + 0.016, sy * 0.55 * y_max, 0.45 * height), lamp, tail, 0))
        if level < 2:
            parts.append(box((x_max - 0.014, 0.0, 0.505 * height), (0.02, 0.7 * y_max, 0.045 * height), dark, 0))
        pole = x_min + 0.12 * length
        parts.append(
            limb((pole, -0.6 * y_max, 0.6 * height), (pole, -0.6 * y_max, height - 0.006), (0.006, 0.005), dark, 0, 4)
        )
        parts.append(box((pole + 0.07, -0.6 * y_max, height - 0.045), (0.13, 0.006, 0.09), flag, 0))
        parts += [wheel(w, radius, tread, tyre, hub, i + 1, (16, 10, 6)[level]) for i, w in enumerate(wheels)]
        levels.append(parts)
    slots = ("shell", "lid", "tyre", "hub", "head_light", "tail_light", "flag", "dark")
    model = build_model(levels, slots, 5, Semantic.ROBOT, spec.footprint.enclosing_radius)

    def bones(motion: Motion) -> FloatArray:
        base = body_matrix(motion)
        rolls = [(motion.distance - motion.turned * w[1]) / radius for w in wheels]
        return pack([base] + [base @ turned_about(w, roll) for w, roll in zip(wheels, rolls, strict=True)])

    colours = ("ececea", "2f6fb0", "161616", "a9adb0", "fff6dc", "b3221c", "e8641b", "24262a")
    lamps = tuple((x_max, side * 0.55 * y_max, 0.45 * height) for side in (1.0, -1.0))
    return Figure(spec.name, model, palette(colours), bones, head_lamps=lamps, lamp_power=0.12)


def make_generic(spec: RobotSpec) -> Figure:
    """The footprint raised to the robot's height, with a dark belt and an arrow of light that shows where it faces."""
    shell, belt, light = range(3)
    height = spec.height
    levels = []
    for level in range(3):
        shape = outline(spec.footprint, level)
        middle = shape.mean(axis=0)
        slim = middle + (shape - middle) * 0.93
        parts = [
            prism(slim, 0.03 * height, 0.10 * height, belt, 0),
            prism(shape, 0.10 * height, 0.62 * height, shell, 0),
            prism(slim, 0.62 * height, 0.70 * height, belt, 0),
            prism(shape, 0.70 * height, 0.96 * height, shell, 0, 0.94),
            prism(slim, 0.96 * height, height - 0.004, belt, 0, 0.9),
        ]
        if level < 2:
            x = float(shape[:, 0].max())
            wide = float(shape[:, 1].max())
            parts.append(box((x * 0.90, 0.0, 0.66 * height), (0.11 * x, 0.5 * wide, 0.045 * height), light, 0))
            tip = np.asarray([(0.75 * x, 0.0), (0.2 * x, 0.3 * wide), (0.2 * x, -0.3 * wide)])
            parts.append(prism(tip, height - 0.004, height, light, 0))
        parts.append(prism(middle + (shape - middle) * 0.6, 0.0, 0.03 * height, belt, 0))
        levels.append(parts)
    model = build_model(levels, ("shell", "belt", "status_light"), 1, Semantic.ROBOT, spec.footprint.enclosing_radius)
    lamp = (float(outline(spec.footprint)[:, 0].max()), 0.0, 0.66 * height)
    return Figure(
        spec.name, model, palette(("c9cdd0", "26292d", "58c7e8")), lambda motion: pack([body_matrix(motion)]),
        head_lamps=(lamp,), lamp_power=0.12,
    )  # fmt: skip
