"""Draw the floor of the suite ``protocol`` with the paths of its ten scenarios: people solid with round starts, robots
dashed with square starts. ``python -m tools.draw_protocol`` writes ``docs/images/protocol.png``.
"""

from __future__ import annotations

import itertools
import sys
from math import hypot
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.render.top_view import TopView
from sidestep.render.top_view.canvas import Canvas, write
from sidestep.render.top_view.palette import INK, WHITE, Colour
from sidestep.render.top_view.view import draw_arrow
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.suites.protocol import PROTOCOL_SUITE
from sidestep.types.base import Point
from sidestep.types.events import Enacting

DEFAULT = Path("docs/images/protocol.png")
BOUNDS, SIZE = (-0.5, -0.5, 48.5, 26.5), (1470, 810)
COLOURS: dict[str, Colour] = {
    "frontal": (214, 39, 40),
    "intersection_wait": (30, 140, 60),
    "intersection_gesture": (31, 90, 210),
    "narrow_doorway": (200, 130, 0),
    "blind_corner": (190, 40, 180),
}
APART_M = 0.28
"""Paths that are one line are drawn so far to its right."""
LABEL_PX = 26
"""How far behind the start of a person the name of the place is."""
Line = list[tuple[float, float]]


def beside(path: tuple[Point, ...], metres: float) -> tuple[Point, ...]:
    """The path moved to its right."""
    points = np.array(path)
    legs = np.diff(points, axis=0)
    right = np.stack([legs[:, 1], -legs[:, 0]], axis=1) / np.hypot(*legs.T)[:, None]
    shift = np.vstack([right[:1], right[:-1] + right[1:], right[-1:]])
    return tuple((float(x), float(y)) for x, y in points + metres * shift)


def draw_path(canvas: Canvas, line: Line, colour: Colour, dash: float = 0.0) -> None:
    """A line of pixels that ends in an arrow; ``dash`` px long pieces, 0: solid."""
    for (ax, ay), (bx, by) in itertools.pairwise(line):
        length = hypot(bx - ax, by - ay)
        pieces = max(1, round(length / (2 * dash))) if dash else 1
        for k in range(pieces):
            start, end = k / pieces, (k + (0.5 if dash else 1.0)) / pieces
            ends = [(ax + (bx - ax) * part, ay + (by - ay) * part) for part in (start, end)]
            canvas.shape(ends, colour, radius=1.6)
    (ax, ay), (bx, by) = line[-2:]
    dx, dy = _unit(ax, ay, bx, by, 22.0)
    draw_arrow(canvas, bx - 0.7 * dx, by - 0.7 * dy, dx, dy, colour, 3)


def _unit(ax: float, ay: float, bx: float, by: float, length: float) -> tuple[float, float]:
    apart = hypot(bx - ax, by - ay)
    return length * (bx - ax) / apart, length * (by - ay) / apart


def main(arguments: list[str]) -> None:
    """Write the picture to the first argument, or to its place in the documentation."""
    scene = compile_scene(resolve_scene(PROTOCOL_SUITE.protocol.scene))
    top = TopView(scene.spec, scene.segments, BOUNDS, SIZE)
    picture, canvas = top.background, Canvas()
    labels: list[tuple[str, tuple[float, float], Colour]] = []
    for scenario in PROTOCOL_SUITE.scenarios():
        colour, ego = COLOURS[scenario.tags[0]], scenario.ego
        (person,) = scenario.events
        assert isinstance(person, Enacting)
        robot_path = ((ego.start[0], ego.start[1]), *ego.route, ego.goal)
        for path, dash in ((robot_path, 7.0), (person.path, 0.0)):
            line: Line = [(float(x), float(y)) for x, y in top.view.pixels(np.array(beside(path, APART_M)))]
            draw_path(canvas, line, colour, dash)
            x, y = line[0]
            square = [(x - 5, y - 5), (x + 5, y - 5), (x + 5, y + 5), (x - 5, y + 5)]
            canvas.shape(square if dash else [(x, y)], colour, radius=1.0 if dash else 6.5)
            if not dash:
                dx, dy = _unit(*line[0], *line[1], LABEL_PX)
                labels.append((scenario.notes["location"].upper(), (x - dx - 11, y - dy - 9), colour))
    canvas.paint(picture)
    for text, (x, y), colour in labels:
        canvas.disc(x + 11, y + 9, 14, WHITE, 0.85)
        canvas.paint(picture)
        write(picture, text, round(x), round(y), 17, colour)
    write(picture, "solid, round start: person · dashed, square start: robot (roles ab)", 560, SIZE[1] - 30, 17, INK)
    Image.fromarray(picture).save(Path(arguments[0]) if arguments else DEFAULT, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
