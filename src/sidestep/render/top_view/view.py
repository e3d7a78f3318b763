"""A world from above: people, robots, trails, goals and contacts, painted over the static ground. Draws poses in world
coordinates; knows neither records nor environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, hypot, isfinite, pi, sin

import numpy as np
from shapely import MultiPoint, Polygon

from sidestep.render.top_view import palette
from sidestep.render.top_view.canvas import Bounds, Canvas, Picture, Viewport, fit_text, paint_trail, text_mask, write
from sidestep.render.top_view.ground import ground_of, paint_ground
from sidestep.render.top_view.palette import Colour
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.robot import Footprint
from sidestep.types.scene import SceneSpec


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


FLASH_S = 0.8
"""How long a contact is shown as a spreading ring; after that a red dot stays."""

PERSONAL_SPACE_M = 1.2
"""Hall's personal distance, measured from the body's surface (Hall 1966)."""
NOBODY = np.zeros((0, 2))


class TopView:
    """Paints frames of one world: the static part once, then only what moves.

    ``scene`` gives coloured areas; without it the closed rings of ``walls`` (W, 4) are filled. ``bounds`` in
    metres, ``size`` in pixels (width, height).
    """

    def __init__(
        self, scene: SceneSpec | None, walls: FloatArray, bounds: Bounds, size: tuple[int, int] = (640, 640)
    ) -> None:
        self.view = Viewport(bounds, size)
        self.background = paint_ground(ground_of(scene, walls), self.view)
        self._scratch = np.zeros((size[1], size[0]), dtype=np.float32)
        self._canvas = Canvas()
        self._line = max(1.0, min(size) / 450)
        self._letters = max(10, round(min(size) / 38))
        self._paint_scale_bar(self.background)

    def frame(
        self,
        robot_pose: tuple[float, float, float] | FloatArray,
        robot_footprint: Footprint,
        *,
        people: FloatArray = NOBODY,
        headings: FloatArray | None = None,
        radii: FloatArray | None = None,
        velocities: FloatArray | None = None,
        groups: IntArray | None = None,
        people_trails: FloatArray | None = None,
        robot_trail: FloatArray | None = None,
        robot_trail_speed: FloatArray | None = None,
        start: tuple[float, float] | None = None,
        goal: tuple[float, float] | None = None,
        goal_radius: float = 0.3,
        route: FloatArray | None = None,
        others: FloatArray | None = None,
        other_footprints: Sequence[Footprint] = (),
        collisions: FloatArray | None = None,
        ringed: BoolArray | None = None,
        personal_space: bool = False,
        time: float | None = None,
        label: str = "",
        label_colour: Colour = palette.QUIET_INK,
    ) -> Picture:
        """One picture (H, W, 3). World coordinates in metres and radians; absent people are NaN.

        ``people (N, 2)``, ``headings (N,)``, ``radii (N,)``, ``velocities (N, 2)`` (arrows when given),
        ``groups (N,)`` (-1 alone). ``people_trails (K, N, 2)`` and ``robot_trail (K, 2)`` run from oldest to newest;
        ``robot_trail_speed (K,)`` (0 … 1 of the top speed) colours the robot's. ``others (M, 3)`` are poses of other
        robots and vehicles. ``collisions (C, 3)``: point of contact and seconds since it began. ``ringed (N,)``: people
        with a red ring.
        """
        image = self.background.copy()
        count = len(people)
        headings = np.full(count, np.nan) if headings is None else np.asarray(headings)
        radii = np.full(count, 0.25) if radii is None else np.asarray(radii)
        contacts = np.zeros((0, 3)) if collisions is None else np.asarray(collisions).reshape(-1, 3)
        self._draw_task(start, goal, goal_radius, route)
        self._canvas.paint(image)
        self._paint_trails(image, people_trails, robot_trail, robot_trail_speed)
        self._draw_groups(people, radii, groups)
        self._draw_people(people, headings, radii, velocities, personal_space)
        self._draw_rings(people, radii, ringed)
        for x, y in self.view.pixels(contacts[:, :2]):
            self._canvas.disc(x, y, 3.6 * self._line, palette.WHITE, 0.9)
            self._canvas.disc(x, y, 2.6 * self._line, palette.COLLISION)
        for pose, footprint in zip(() if others is None else others, other_footprints, strict=True):
            if np.isnan(pose).any():  # has left
                continue
            draw_machine(self._canvas, self.view, pose, footprint, palette.OTHER_MACHINE)
        draw_machine(self._canvas, self.view, robot_pose, robot_footprint, palette.ROBOT)
        for x, y, age in contacts:
            self._draw_flash(x, y, age)
        self._canvas.paint(image)
        self._paint_label(image, time, label, label_colour)
        return image

    def _pixel(self, x: float, y: float) -> tuple[float, float]:
        px, py = self.view.pixels(np.array([x, y]))
        return float(px), float(py)

    def _draw_task(
        self,
        start: tuple[float, float] | None,
        goal: tuple[float, float] | None,
        goal_radius: float,
        route: FloatArray | None,
    ) -> None:
        canvas, line = self._canvas, self._line
        for point in () if route is None else self.view.pixels(np.asarray(route).reshape(-1, 2)):
            canvas.disc(point[0], point[1], 1.8 * line, palette.GOAL, 0.45)
        if start is not None:
            x, y = self._pixel(*start)
            canvas.ring(x, y, 4.5 * line, palette.ROBOT, 0.8, stroke=1.5 * line)
            canvas.disc(x, y, 1.6 * line, palette.ROBOT, 0.8)
        if goal is not None:
            x, y = self._pixel(*goal)
            radius = goal_radius * self.view.scale
            canvas.disc(x, y, radius, palette.GOAL, 0.16)
            canvas.ring(x, y, radius, palette.GOAL, 0.9, stroke=1.5 * line)
            star = max(7.0 * line, 0.22 * self.view.scale)
            corners = _star(x, y, star)
            canvas.shape(corners, palette.WHITE, 0.9, radius=1.5 * line)
            canvas.shape(corners, palette.GOAL)

    def _paint_trails(
        self, image: Picture, people: FloatArray | None, robot: FloatArray | None, speed: FloatArray | None
    ) -> None:
        if people is not None and len(people) > 1 and people.shape[1] > 0:
            strength = np.linspace(0.0, 1.0, len(people)) ** 1.5 * 0.6
            colours = np.array([palette.person_colour(index) for index in range(people.shape[1])])
            width = max(1.5 * self._line, min(0.09 * self.view.scale, 5.0 * self._line))
            paint_trail(image, self.view.pixels(people), strength, colours[None], width, self._scratch)
        if robot is not None and len(robot) > 1:
            share = np.ones(len(robot)) if speed is None else np.clip(np.asarray(speed), 0.0, 1.0)
            slow, fast = np.array(palette.ROBOT_SLOW), np.array(palette.ROBOT)
            colours = slow + (fast - slow) * share[:, None]
            width = max(2.0 * self._line, min(0.12 * self.view.scale, 6.0 * self._line))
            strength = np.full(len(robot), 0.85)
            paint_trail(image, self.view.pixels(robot)[:, None], strength, colours[:, None], width, self._scratch)

    def _draw_groups(self, people: FloatArray, radii: FloatArray, groups: IntArray | None) -> None:
        """A soft hull about every group of two or more who are there."""
        if groups is None:
            return
        present = np.isfinite(people).all(axis=1)
        for group in np.unique(groups[present & (groups >= 0)]):
            members = np.flatnonzero(present & (groups == group))
            if len(members) < 2:
                continue
            corners = [self._pixel(x, y) for x, y in _hull(people[members])]
            grown = (float(radii[members].max()) + 0.15) * self.view.scale
            colour = palette.person_colour(int(members[0]))
            self._canvas.shape(corners, colour, 0.2, radius=grown)
            self._canvas.shape(corners, palette.mix(colour, palette.INK, 0.2), 0.55, radius=grown, stroke=self._line)

    def _draw_people(
        self,
        people: FloatArray,
        headings: FloatArray,
        radii: FloatArray,
        velocities: FloatArray | None,
        personal_space: bool,
    ) -> None:
        scale = self.view.scale
        for index in np.flatnonzero(np.isfinite(people).all(axis=1)):
            x, y = self._pixel(*people[index])
            radius = float(radii[index]) * scale
            colour = palette.person_colour(int(index))
            if personal_space:
                reach = radius + PERSONAL_SPACE_M * scale
                self._canvas.disc(x, y, reach, colour, 0.05)
                self._canvas.ring(x, y, reach, colour, 0.45, stroke=self._line)
            draw_person(self._canvas, x, y, float(headings[index]), radius, colour)
            if velocities is not None and np.isfinite(velocities[index]).all():
                vx, vy = (float(value) for value in velocities[index] * scale * 0.6)
                draw_arrow(self._canvas, x, y, vx, -vy, palette.mix(colour, palette.INK, 0.45), self._line)

    def _draw_rings(self, people: FloatArray, radii: FloatArray, ringed: BoolArray | None) -> None:
        for index in () if ringed is None else np.flatnonzero(ringed & np.isfinite(people).all(axis=1)):
            x, y = self._pixel(*people[index])
            radius = float(radii[index]) * self.view.scale + 1.5 * self._line
            self._canvas.ring(x, y, radius, palette.COLLISION, stroke=2.5 * self._line)

    def _draw_flash(self, x: float, y: float, age: float) -> None:
        if not 0 <= age < FLASH_S:
            return
        px, py = self._pixel(x, y)
        spent = age / FLASH_S
        size = (0.55 + 0.5 * spent) * self.view.scale
        self._canvas.disc(px, py, size * 0.6, palette.COLLISION, 0.4 * (1 - spent), softness=max(4.0, size))
        self._canvas.ring(px, py, size, palette.COLLISION, 1 - 0.75 * spent, stroke=2.5 * self._line)
        self._canvas.disc(px, py, 3.0 * self._line, palette.COLLISION)

    def _paint_label(self, image: Picture, time: float | None, label: str, colour: Colour) -> None:
        """A chip in the upper left corner: the time, and the caller's words after a dot of their colour."""
        letters, pad = self._letters, round(self._letters * 0.6)
        clock = "" if time is None else f"{time:.1f} s"
        clock_width = text_mask(clock, letters).shape[1] + pad if clock else 0
        before_label = clock_width + letters + pad // 2
        label = fit_text(label, letters, self.view.size[0] - before_label - 5 * pad)
        if not clock and not label:
            return
        width = before_label + text_mask(label, letters).shape[1] if label else clock_width - pad
        height = round(letters * 1.4)
        left, right, top, bottom = 2.0 * pad, 2.0 * pad + width, 2.0 * pad, float(pad + height)
        inner = [(left, top), (right, top), (right, bottom), (left, bottom)]
        self._canvas.shape(inner, palette.INK, 0.16, radius=pad + 1, softness=6.0)
        self._canvas.shape(inner, palette.WHITE, 0.92, radius=pad)
        x, y = 2 * pad, round(1.5 * pad)
        if label:
            self._canvas.disc(x + clock_width + letters * 0.4, y + height * 0.55, letters * 0.32, colour)
        self._canvas.paint(image)
        write(image, clock, x, y, letters, palette.INK)
        write(image, label, x + before_label, y, letters, palette.INK)

    def _paint_scale_bar(self, image: Picture) -> None:
        width, height = self.view.size
        metres = max((m for m in (0.5, 1, 2, 5, 10, 20, 50, 100) if m * self.view.scale <= width * 0.22), default=0.5)
        pad, length = self._letters, metres * self.view.scale
        y = height - 1.2 * pad
        self._canvas.shape([(pad, y), (pad + length, y)], palette.WHITE, 0.8, radius=2.2 * self._line)
        self._canvas.shape([(pad, y), (pad + length, y)], palette.INK, 0.8, radius=1.0 * self._line)
        self._canvas.paint(image)
        write(image, f"{metres:g} m", pad, round(y - 1.6 * self._letters), self._letters, palette.INK, 0.8)


def _star(x: float, y: float, size: float) -> list[tuple[float, float]]:
    radii = (size, size * 0.45)
    return [(x + radii[k % 2] * sin(k * pi / 5), y - radii[k % 2] * cos(k * pi / 5)) for k in range(10)]


def _hull(points: FloatArray) -> list[tuple[float, float]]:
    """Corners of the convex hull in order; of points in a row the ends."""
    hull = MultiPoint(points).convex_hull
    ring = hull.exterior.coords[:-1] if isinstance(hull, Polygon) else hull.coords
    return [(float(x), float(y)) for x, y in ring]
