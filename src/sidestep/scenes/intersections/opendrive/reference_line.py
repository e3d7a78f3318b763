"""Reference lines of OpenDRIVE roads: the pieces of a plan view by points and directions, and profiles along them
(lane widths, offsets) that are cubic in pieces.

Along a line, an arc or a spiral of length L the curvature goes linearly from c0 to c1, so that

    heading(s) = h + c0 s + (c1 - c0) s² / 2L,    position(s) = ∫ (cos heading, sin heading) ds,

which is integrated by the rule of Gauss and Legendre with five points for every half radian (error below 1e-9 of the
length). Polynomials are evaluated. Only ``+ - * /``, square roots and ``sidestep._util.exact``: the same bits
everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.walkways import Curve, unit
from sidestep.types.base import FloatArray

SPACING_M = 1.0
"""Distance between points of curved pieces."""
GAP_M = 0.5
"""Largest gap between a piece of a plan view and the next, and between a road's length and the end of its plan view."""
MOST_TURN_RAD = 4.0 * math.pi
"""Largest turn of one piece; more is a mistake, because curvatures are in radians per metre."""
_PANEL_RAD = 0.5
_TABLE_M = 0.25
_NODES = np.array([-0.906179845938664, -0.538469310105683, 0.0, 0.538469310105683, 0.906179845938664])
_WEIGHTS = np.array(
    [0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665, 0.2369268850561891]
)


@dataclass(frozen=True)
class Bend:
    """Line, arc or spiral: curvatures (1/m, positive to the left) at its two ends."""

    first: float
    last: float

    @property
    def is_straight(self) -> bool:
        return self.first == self.last == 0.0

    def at(self, along: FloatArray, length: float) -> Curve:
        """Points and directions at metres ``along (K,)``, from the origin in the direction of x."""
        if self.is_straight:
            points = np.stack([along, np.zeros_like(along)], axis=1)
            return Curve(points, np.broadcast_to(np.array([1.0, 0.0]), points.shape))
        steepest = max(abs(self.first), abs(self.last))
        panels = max(math.ceil(steepest * length / _PANEL_RAD), 1)
        share = (np.arange(panels)[:, None] + 0.5 * (_NODES + 1.0)) / panels  # (P, 5) of the way
        sine, cosine = exact.sincos(self._heading(along[:, None, None] * share, length))
        size = along / (2.0 * panels)
        points = np.stack([_weighted(cosine) * size, _weighted(sine) * size], axis=1)
        sine, cosine = exact.sincos(self._heading(along, length))
        return Curve(points, np.stack([cosine, sine], axis=1))

    def _heading(self, along: FloatArray, length: float) -> FloatArray:
        return along * (self.first + (self.last - self.first) / (2.0 * length) * along)


def _weighted(values: FloatArray) -> FloatArray:
    """(K,) sums over panels and nodes (K, P, 5), in order."""
    total = np.zeros(len(values))
    for panel in range(values.shape[1]):
        for node, weight in enumerate(_WEIGHTS.tolist()):
            total = total + weight * values[:, panel, node]
    return total


Coefficients = tuple[float, float, float, float]


@dataclass(frozen=True)
class ParametricCubic:
    """``paramPoly3``: u(p) and v(p), where p goes from 0 to ``last`` along the piece; None: to its length."""

    u: Coefficients
    v: Coefficients
    last: float | None

    @property
    def is_straight(self) -> bool:
        return self.u[2:] == self.v[2:] == (0.0, 0.0)

    def at(self, along: FloatArray, length: float) -> Curve:
        """Points and directions at metres ``along (K,)``, in the frame of the piece."""
        p = along if self.last is None else along * (self.last / length)
        points = np.stack([_cubic(self.u, p), _cubic(self.v, p)], axis=1)
        return Curve(points, unit(np.stack([_slope(self.u, p), _slope(self.v, p)], axis=1)))


@dataclass(frozen=True)
class CubicGraph:
    """``poly3``: v over u, of which the length along the curve is given."""

    v: Coefficients

    @property
    def is_straight(self) -> bool:
        return self.v[2:] == (0.0, 0.0)

    def at(self, along: FloatArray, length: float) -> Curve:
        """Points and directions at metres ``along (K,)``, in the frame of the piece."""
        pieces = max(math.ceil(length / _TABLE_M), 1)
        u = np.arange(pieces + 1) * (length / pieces)
        slopes = _slope(self.v, u[:-1, None] + 0.5 * (_NODES + 1.0) * (length / pieces))
        steps = _weighted(np.sqrt(1.0 + slopes * slopes)[:, None]) * (0.5 * length / pieces)
        found = exact.interp(along, np.concatenate([[0.0], np.cumsum(steps)]), u)
        slope = _slope(self.v, found)
        points = np.stack([found, _cubic(self.v, found)], axis=1)
        return Curve(points, unit(np.stack([np.ones_like(slope), slope], axis=1)))


def _cubic(coefficients: Coefficients, p: FloatArray) -> FloatArray:
    a, b, c, d = coefficients
    return a + p * (b + p * (c + p * d))


def _slope(coefficients: Coefficients, p: FloatArray) -> FloatArray:
    _, b, c, d = coefficients
    return b + p * (2.0 * c + p * (3.0 * d))


Shape = Bend | ParametricCubic | CubicGraph


@dataclass(frozen=True)
class Piece:
    """One ``geometry`` of a plan view: it begins ``start`` metres along the road."""

    start: float
    x: float
    y: float
    heading: float
    length: float
    shape: Shape

    def at(self, along: FloatArray) -> Curve:
        """Points and directions at metres ``along (K,)`` of the piece."""
        local = self.shape.at(along, self.length)
        points = exact.rotate(local.points, self.heading) + np.array([self.x, self.y])
        return Curve(points, exact.rotate(local.tangents, self.heading))


class ReferenceLine:
    """The line to which everything of a road refers: ``s`` metres along it, ``t`` metres to its left."""

    def __init__(self, pieces: Sequence[Piece], length: float, where: str) -> None:
        for piece, after in pairwise(pieces):
            reach = after.start - piece.start
            end = piece.at(np.array([piece.length])).points[0]
            apart = exact.hypot(end[0] - after.x, end[1] - after.y)
            if abs(reach - piece.length) > GAP_M or apart > GAP_M:
                raise BadInput(
                    f"{where}: planView: the geometry at s = {piece.start:g} is {piece.length:g} m long and ends "
                    f"{apart:.2f} m from the next, which begins at s = {after.start:g}; close the gap"
                )
        end_s = pieces[-1].start + pieces[-1].length
        if pieces[0].start != 0.0 or abs(end_s - length) > GAP_M:
            raise BadInput(
                f"{where}: planView: goes from s = {pieces[0].start:g} to {end_s:g}, the road from 0 to {length:g}; "
                "give the road the length of its geometries"
            )
        self._where = where
        self.pieces = tuple(pieces)
        self.starts = np.array([piece.start for piece in pieces])
        self.length = end_s

    def frame(self, s: FloatArray) -> Curve:
        """Points and directions at stations ``s (K,)``."""
        number = np.clip(np.searchsorted(self.starts, s, side="right") - 1, 0, len(self.pieces) - 1)
        points, tangents = np.empty((len(s), 2)), np.empty((len(s), 2))
        for k in np.unique(number).tolist():
            mine, piece = number == k, self.pieces[k]
            found = piece.at(np.clip(s[mine] - piece.start, 0.0, piece.length))
            points[mine], tangents[mine] = found
            if (exact.norm(found.tangents) < 0.5).any():
                raise BadInput(
                    f"{self._where}: planView: the geometry at s = {piece.start:g} has no direction somewhere; its "
                    "polynomials stand still there; export it again"
                )
        return Curve(points, tangents)

    def is_straight(self, s: float) -> bool:
        """Whether the piece at station ``s`` is."""
        number = int(np.searchsorted(self.starts, s, side="right")) - 1
        return self.pieces[max(number, 0)].shape.is_straight

    def turn(self) -> float:
        """Radians from the first direction to the last, positive to the left; more than π for more than a half turn."""
        count = max(math.ceil(self.length / SPACING_M), 1)
        tangents = self.frame(np.arange(count + 1) * (self.length / count)).tangents
        before, after = tangents[:-1], tangents[1:]
        cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        along = before[:, 0] * after[:, 0] + before[:, 1] * after[:, 1]
        return float(np.cumsum(exact.arctan2(cross, along))[-1])


class Profile:
    """A value along a road by cubic polynomials, each from its start on; 0 before the first."""

    def __init__(self, records: Sequence[tuple[float, Coefficients]], where: str) -> None:
        starts = [start for start, _ in records]
        if any(after < before for before, after in pairwise(starts)):
            raise BadInput(f"{where}: the records are not in the order of s; sort them")
        if not records or starts[0] > 0.0:
            records = [(0.0, (0.0, 0.0, 0.0, 0.0)), *records]
        self.starts = np.array([start for start, _ in records])
        self._cubics = np.array([cubic for _, cubic in records])

    def at(self, s: FloatArray) -> FloatArray:
        """Values at stations ``s (K,)``."""
        k = np.maximum(np.searchsorted(self.starts, s, side="right") - 1, 0)
        a, b, c, d = self._cubics[k].T
        p = s - self.starts[k]
        return np.asarray(a + p * (b + p * (c + p * d)))

    def is_linear(self, s: float) -> bool:
        """Whether the polynomial at station ``s`` is a straight line."""
        k = max(int(np.searchsorted(self.starts, s, side="right")) - 1, 0)
        return bool((self._cubics[k, 2:] == 0.0).all())
