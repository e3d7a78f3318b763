"""What people and machines look like from above."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, hypot, isfinite, sin

import numpy as np

from sidestep.drawing import palette
from sidestep.drawing.palette import Colour
from sidestep.drawing.shapes import Canvas
from sidestep.drawing.viewport import Viewport
from sidestep.types.base import FloatArray
from sidestep.types.robot import Footprint


def draw_person(canvas: Canvas, x: float, y: float, heading: float, radius: float, colour: Colour) -> None:
    """Shoulders across the heading, a head and a nose, inside the collision circle. Pixels and radians."""
    dark = palette.mix(colour, palette.INK, 0.42)
    canvas.disc(x, y + 0.12 * radius, radius * 1.05, palette.INK, 0.22, softness=max(3.0, 0.7 * radius))
    canvas.disc(x, y, radius, palette.mix(colour, palette.WHITE, 0.55), 0.9)
    if not isfinite(heading):
        canvas.disc(x, y, radius * 0.78, colour)
        canvas.disc(x, y, radius * 0.4, dark)
        return
    ahead_x, ahead_y = cos(heading) * radius, -sin(heading) * radius
    side_x, side_y = -ahead_y, ahead_x
    nose = [(x + 0.78 * ahead_x, y + 0.78 * ahead_y)]
    nose += [(x + 0.3 * ahead_x + s * 0.24 * side_x, y + 0.3 * ahead_y + s * 0.24 * side_y) for s in (1, -1)]
    shoulders = [(x + s * 0.5 * side_x, y + s * 0.5 * side_y) for s in (1, -1)]
    canvas.shape(shoulders, palette.WHITE, 0.9, radius=0.46 * radius)
    canvas.shape(shoulders, colour, radius=0.38 * radius)
    canvas.shape(nose, dark, radius=0.06 * radius)
    canvas.disc(x, y, radius * 0.38, dark)


def draw_machine(
    canvas: Canvas, view: Viewport, pose: Sequence[float] | FloatArray, footprint: Footprint, colour: Colour
) -> None:
    """The footprint to scale, with a white wedge that points ahead.

    ``pose`` is (x, y, heading) in the world.
    """
    x, y, heading = (float(value) for value in pose)
    if not all(isfinite(value) for value in (x, y, heading)):
        return
    outline = np.array(footprint.polygon if footprint.polygon is not None else [(0.0, 0.0)])
    radius = 0.0 if footprint.radius is None else footprint.radius * view.scale
    corners = _placed(outline, x, y, heading, view)
    size = footprint.radius or float(np.abs(outline[:, 1]).max())
    front = footprint.radius or float(outline[:, 0].max())
    shift = front - size
    shadow = [(cx, cy + 0.06 * view.scale) for cx, cy in corners]
    canvas.shape(shadow, palette.INK, 0.3, radius=radius + 1, softness=max(4.0, 0.3 * view.scale))
    canvas.shape(corners, palette.WHITE, radius=radius + max(1.0, 0.03 * view.scale))
    canvas.shape(corners, colour, radius=radius)
    wedge = np.array([(0.72, 0.0), (-0.34, 0.46), (-0.12, 0.0), (-0.34, -0.46)]) * size + (shift, 0.0)
    canvas.shape(_placed(wedge, x, y, heading, view), palette.WHITE)


def draw_arrow(canvas: Canvas, x: float, y: float, dx: float, dy: float, colour: Colour, line: float) -> None:
    """An arrow from (x, y) by (dx, dy), px; nothing when it would be shorter than its head."""
    length, head = hypot(dx, dy), 5.0 * line
    if length < head:
        return
    angle = atan2(dy, dx)
    neck = (x + dx * (1 - head / length), y + dy * (1 - head / length))
    canvas.shape([(x, y), neck], colour, 0.9, radius=0.8 * line)
    sides = [(neck[0] - s * sin(angle) * head * 0.5, neck[1] + s * cos(angle) * head * 0.5) for s in (1, -1)]
    canvas.shape([(x + dx, y + dy), *sides], colour, 0.9)


def _placed(points: FloatArray, x: float, y: float, heading: float, view: Viewport) -> list[tuple[float, float]]:
    c, s = cos(heading), sin(heading)
    world = np.stack([x + points[:, 0] * c - points[:, 1] * s, y + points[:, 0] * s + points[:, 1] * c], axis=1)
    return [(float(px), float(py)) for px, py in view.pixels(world)]
