"""ORCA in plain float64 Python: vectors are complex numbers, optima are found by trying every corner.

Nothing is shared with the kernel but the definition: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body
collision avoidance" (2011). A line is ``(point, direction)``; permitted is what lies to the left of the
direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Line = tuple[complex, complex]
SLACK = 1e-9


def dot(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


def det(a: complex, b: complex) -> float:
    return (a.conjugate() * b).imag


@dataclass
class Body:
    position: complex
    velocity: complex = 0j
    radius: float = 0.3
    share: float = 1.0


@dataclass
class Polygon:
    """A solid polygon, counter-clockwise."""

    corners: list[complex]

    def corner(self, i: int) -> complex:
        return self.corners[i % len(self.corners)]

    def along(self, i: int) -> complex:
        edge = self.corner(i + 1) - self.corner(i)
        return edge / abs(edge)

    def is_convex(self, i: int) -> bool:
        if len(self.corners) == 2:
            return True
        return det(self.corner(i) - self.corner(i - 1), self.corner(i + 1) - self.corner(i - 1)) >= 0


@dataclass
class Problem:
    """One agent's permitted velocities: walls must be kept, people should be."""

    max_speed: float
    walls: list[Line] = field(default_factory=list)
    people: list[Line] = field(default_factory=list)


def people_line(me: Body, other: Body, horizon: float, step: float) -> Line:
    """The half-plane of one neighbour, at the nearest point of the boundary of the cut-off cone."""
    position, velocity = other.position - me.position, me.velocity - other.velocity
    radius, distance = me.radius + other.radius, abs(other.position - me.position)
    total = me.share + other.share
    share = me.share / total if total > 0 else 0.0
    overlap = distance <= radius
    time = step if overlap else horizon
    centre = position / time
    w = velocity - centre
    if overlap or dot(w, position) < -radius * abs(w):  # in front of the arc between the two legs
        boundary, direction = centre + w / abs(w) * radius / time, -1j * w / abs(w)
    else:
        length = np.sqrt(distance**2 - radius**2)
        feet = []
        for side in (1, -1):
            ray = position * complex(length, side * radius) / distance**2
            if dot(velocity, ray) >= length / time * (1 - 1e-6):
                feet.append((dot(velocity, ray) * ray, side * ray))
        boundary, direction = min(feet, key=lambda foot: abs(velocity - foot[0]))
    return me.velocity + share * (boundary - velocity), complex(direction)


def _segment_distance(p: complex, a: complex, b: complex) -> float:
    s = min(max(dot(p - a, b - a) / abs(b - a) ** 2, 0.0), 1.0)
    return abs(p - a - s * (b - a))


def wall_lines(me: Body, polygons: list[Polygon], max_speed: float, horizon: float, reach: float) -> list[Line]:
    """The half-planes of all edges that face the agent, nearest first."""
    reach = min(horizon * max_speed + me.radius, reach)
    seen = []
    for polygon in polygons:
        for i in range(len(polygon.corners)):
            a, b = polygon.corner(i), polygon.corner(i + 1)
            if det(a - me.position, b - a) < 0 and _segment_distance(me.position, a, b) < reach:
                seen.append((_segment_distance(me.position, a, b), polygon, i))
    lines: list[Line] = []
    for _, polygon, i in sorted(seen, key=lambda entry: entry[0]):
        line = _wall_line(me, polygon, i, horizon, lines)
        if line is not None:
            lines.append(line)
    return lines


def _wall_line(me: Body, polygon: Polygon, i: int, horizon: float, before: list[Line]) -> Line | None:
    a, b, r = polygon.corner(i) - me.position, polygon.corner(i + 1) - me.position, me.radius
    for point, direction in before:
        if all(det(end / horizon - point, direction) - r / horizon >= -1e-5 for end in (a, b)):
            return None
    s = -dot(a, b - a) / abs(b - a) ** 2
    away = abs(a + s * (b - a))
    if s < 0 and abs(a) <= r:
        return (0j, 1j * a / abs(a)) if polygon.is_convex(i) else None
    if s > 1 and abs(b) <= r:
        mine = polygon.is_convex(i + 1) and det(b, polygon.along(i + 1)) >= 0
        return (0j, 1j * b / abs(b)) if mine else None
    if away <= r:
        if 0 <= s <= 1:
            return 0j, -polygon.along(i)
        left = right = i if s < 0 else i + 1
        a = b = a if s < 0 else b
        if not polygon.is_convex(left):
            return None
    else:
        left, right = i, i + 1
    return _cut_off_line(me, polygon, i, (left, a), (right, b), horizon)


def _cut_off_line(
    me: Body, polygon: Polygon, i: int, left: tuple[int, complex], right: tuple[int, complex], horizon: float
) -> Line | None:
    """Tangent of the velocity obstacle of ``a b``, widened by the radius, at the nearest point."""
    (at_a, a), (at_b, b), r = left, right, me.radius
    leg_a, leg_b = -polygon.along(i), polygon.along(i)
    foreign_a = foreign_b = False
    if polygon.is_convex(at_a):
        leg_a = a * complex(np.sqrt(abs(a) ** 2 - r**2), r) / abs(a) ** 2
        if det(leg_a, -polygon.along(at_a - 1)) >= 0:
            leg_a, foreign_a = -polygon.along(at_a - 1), True
    if polygon.is_convex(at_b):
        leg_b = b * complex(np.sqrt(abs(b) ** 2 - r**2), -r) / abs(b) ** 2
        if det(leg_b, polygon.along(at_b)) <= 0:
            leg_b, foreign_b = polygon.along(at_b), True
    a, b, margin, v = a / horizon, b / horizon, r / horizon, me.velocity
    single = at_a == at_b
    t = 0.5 if single else dot(v - a, b - a) / abs(b - a) ** 2
    t_a, t_b = dot(v - a, leg_a), dot(v - b, leg_b)
    if (t < 0 and t_a < 0) or (single and t_a < 0 and t_b < 0):
        return a + margin * (v - a) / abs(v - a), -1j * (v - a) / abs(v - a)
    if t > 1 and t_b < 0:
        return b + margin * (v - b) / abs(v - b), -1j * (v - b) / abs(v - b)
    to_cut = abs(v - a - t * (b - a)) if 0 <= t <= 1 and not single else np.inf
    to_a = abs(v - a - t_a * leg_a) if t_a >= 0 else np.inf
    to_b = abs(v - b - t_b * leg_b) if t_b >= 0 else np.inf
    if to_cut <= min(to_a, to_b):
        return a - 1j * margin * polygon.along(i), -polygon.along(i)
    if to_a <= to_b:
        return None if foreign_a else (a + 1j * margin * leg_a, leg_a)
    return None if foreign_b else (b - 1j * margin * leg_b, -leg_b)


def violations(lines: list[Line], v: NDArray[np.complex128] | complex) -> NDArray[np.float64]:
    """How far each velocity is on the forbidden side of each line: (lines, velocities)."""
    v = np.atleast_1d(np.asarray(v, np.complex128))
    if not lines:
        return np.zeros((0, len(v)))
    points, directions = (np.array(part)[:, None] for part in zip(*lines, strict=True))
    return np.asarray((directions.conj() * (points - v)).imag)


def _crossings(lines: list[Line], max_speed: float) -> list[complex]:
    """Where lines cross each other or the circle of the maximum speed."""
    found: list[complex] = []
    for (p, d), (q, e) in combinations(lines, 2):
        if abs(det(d, e)) > 1e-12:
            found.append(p + d * det(e, p - q) / det(d, e))
    for p, d in lines:
        inside = dot(p, d) ** 2 + max_speed**2 - abs(p) ** 2
        if inside >= 0:
            found += [p + d * (-dot(p, d) + sign * np.sqrt(inside)) for sign in (1, -1)]
    return found


def nearest_velocity(problem: Problem, wish: complex) -> complex | None:
    """The velocity nearest to the wish that keeps every line, or None."""
    lines = problem.walls + problem.people
    start = wish if abs(wish) <= problem.max_speed else wish / abs(wish) * problem.max_speed
    tries = [start, *(p + d * dot(d, wish - p) for p, d in lines), *_crossings(lines, problem.max_speed)]
    return _best(problem, np.array(tries), violations(lines, np.array(tries)), lambda v: abs(v - wish))


def least_violation(problem: Problem) -> complex | None:
    """The velocity that keeps all walls and violates the neighbours' lines the least, or None."""
    tries = [1j * d * problem.max_speed for _, d in problem.people] + _crossings(problem.walls, problem.max_speed)
    equal = [
        ((p + q) / 2 if abs(det(d, e)) < 1e-12 else p + d * det(e, p - q) / det(d, e), (e - d) / abs(e - d))
        for (p, d), (q, e) in combinations(problem.people, 2)
        if abs(e - d) > 1e-12
    ]
    tries += _crossings(problem.walls + equal, problem.max_speed)
    v = np.array(tries)
    worst = violations(problem.people, v).max(axis=0)
    return _best(problem, v, violations(problem.walls, v), lambda v: worst)


def _best(problem: Problem, v, kept, cost) -> complex | None:  # type: ignore[no-untyped-def]
    allowed = (np.abs(v) <= problem.max_speed + SLACK) & (kept <= SLACK).all(axis=0)
    if not allowed.any():
        return None
    return complex(v[np.argmin(np.where(allowed, cost(v), np.inf))])


def problem_of(
    me: Body,
    others: list[Body],
    polygons: list[Polygon],
    max_speed: float,
    times: tuple[float, float, float],
    reach: float = 4.0,
) -> Problem:
    """All half-planes of an agent; ``times`` are the horizons for people and walls, and the step."""
    horizon, wall_horizon, step = times
    return Problem(
        max_speed,
        wall_lines(me, polygons, max_speed, wall_horizon, reach),
        [people_line(me, other, horizon, step) for other in others],
    )
