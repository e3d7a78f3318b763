"""Blocks of houses as rings of street sides and corners.

A half street is one side of a street, walked with the lots on the left. Following half streets from corner to corner
goes once round a block. A corner has the same six lines as a street, blended from one half street to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep import exact
from sidestep.scenes.towns.curves import Curve, fillet, left_of, spline, turn_between, unit
from sidestep.scenes.towns.network import Network
from sidestep.scenes.towns.streets import Street, corner_radius
from sidestep.types.base import FloatArray

TURN = np.radians(42)  # less is going straight on

Half = tuple[int, int]  # street, side


@dataclass(frozen=True, eq=False)
class Corner:
    """From the end of one half street to the start of the next, round a junction."""

    before: Half
    after: Half
    junction: int
    lines: FloatArray  # (6, K, 2)
    sharp: bool  # the lots have a corner here


@dataclass(frozen=True)
class Ring:
    """One block of houses; ``outer``: the land round the town."""

    halves: tuple[Half, ...]
    corners: tuple[int, ...]  # corner k follows half k
    outer: bool


def half_lines(street: Street, side: int) -> FloatArray:
    """The six lines of a half street in walking direction, lots on the left."""
    return street.lines[side] if side == 0 else street.lines[side][:, ::-1]


def lay_rings(
    network: Network, streets: tuple[Street, ...], rounds: FloatArray
) -> tuple[tuple[Corner, ...], tuple[Ring, ...]]:
    """Every corner and every ring."""
    following: dict[Half, tuple[Half, int]] = {}
    for junction, arms in enumerate(network.arms):
        for k, (street, end) in enumerate(arms):
            other, other_end = arms[k - 1]
            following[(street, 0 if end == 1 else 1)] = ((other, 0 if other_end == 0 else 1), junction)
    corners: list[Corner] = []
    number: dict[Half, int] = {}
    for half in sorted(following):
        after, junction = following[half]
        number[half] = len(corners)
        corners.append(_make_corner(network, streets, half, after, junction, float(rounds[junction])))
    rings, seen = [], set()
    for half in sorted(following):
        walked: list[Half] = []
        while half not in seen:
            seen.add(half)
            walked.append(half)
            half = following[half][0]
        if walked:
            rings.append(_make_ring(streets, tuple(walked), tuple(number[h] for h in walked)))
    return tuple(corners), tuple(rings)


def _make_ring(streets: tuple[Street, ...], halves: tuple[Half, ...], corners: tuple[int, ...]) -> Ring:
    x, y = np.concatenate([half_lines(streets[s], side)[3] for s, side in halves]).T
    area = np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    return Ring(halves, corners, bool(area < 0))


def _make_corner(
    network: Network, streets: tuple[Street, ...], before: Half, after: Half, junction: int, ring: float
) -> Corner:
    first, second = streets[before[0]], streets[after[0]]
    lines, lines2 = half_lines(first, before[1]), half_lines(second, after[1])
    a, b = lines[3, -1], lines2[3, 0]
    da, db = _direction(first, before[1], True), _direction(second, after[1], False)
    zones, zones2 = first.zones[before[1]], second.zones[after[1]]
    turn = turn_between(da, db)
    if ring:
        radius = ring + (zones.offsets(0.0)[3] + zones2.offsets(0.0)[3]) / 2
        curve = _round_about(network.junctions[junction], a, da, b, db, radius)
    elif turn > TURN:
        curve = fillet(a, da, b, db, corner_radius(zones, zones2))
    else:
        curve = spline(a, da, b, db, 14)
    step = exact.norm(np.diff(curve.points, axis=0))
    share = np.concatenate([[0.0], np.cumsum(step)])[:, None] / step.sum()
    share = share * share * (3 - 2 * share)
    widths, widths2 = (z.offsets(0.0) - z.offsets(0.0)[3] for z in (zones, zones2))
    offsets = widths * (1 - share) + widths2 * share
    drawn = np.round(curve.points[None] + left_of(curve.tangents)[None] * offsets.T[:, :, None], 3)
    drawn[:, 0], drawn[:, -1] = lines[:, -1], lines2[:, 0]
    return Corner(before, after, junction, drawn, turn > TURN)


def _direction(street: Street, side: int, end: bool) -> FloatArray:
    """Walking direction at the end or start of a half street."""
    along: FloatArray = street.tangents[-1 if end == (side == 0) else 0]
    return along if side == 0 else -along


def _round_about(
    centre: FloatArray, a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, radius: float
) -> Curve:
    """Towards the ring, along it against the driving direction, and away."""
    start, end = (exact.arctan2(*(p - centre)[::-1]) for p in (a, b))
    wedge = (start - end) % (2 * np.pi)
    flare = min(5.5 / radius, 0.46 * wedge)
    angle = np.linspace(start - flare, start - wedge + flare, max(int((wedge - 2 * flare) * radius / 1.2), 2) + 1)
    out = np.stack([exact.cos(angle), exact.sin(angle)], axis=1)
    arc = Curve(centre + radius * out, -left_of(out))
    first = spline(a, da, arc.points[0], arc.tangents[0], 10)
    last = spline(arc.points[-1], arc.tangents[-1], b, db, 10)
    parts = (first, Curve(arc.points[1:-1], arc.tangents[1:-1]), last)
    return Curve(np.concatenate([p.points for p in parts]), unit(np.concatenate([p.tangents for p in parts])))
