"""Streets and the corners between them. A street has five zones on both sides of its centre line, crossings over it,
and ends where the junctions reach. Side 0 is on the left of the street's direction, side 1 on the right; lines of a
side, from the road outwards: 0 road edge, 1 kerb to verge, 2 verge to sidewalk, 3 middle of the sidewalk, 4
sidewalk to frontage, 5 frontage to lots. A half street is one side of a street, walked with the lots on the left;
half streets and corners, which have the same six lines, form a ring round each block of houses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.scenes.towns.network import Chain, Network
from sidestep.scenes.walkways import Curve, fillet, left_of, point_at, points_at, spline, turn_between, unit
from sidestep.types.base import FloatArray

ROAD_EDGE, KERB_EDGE, VERGE_EDGE, MIDDLE, SIDEWALK_EDGE, LOT_EDGE = range(6)
FLAT_ANGLE = np.radians(152)  # between two arms: from here on the sidewalk goes straight on
ROUNDABOUTS = 0.14  # share of the four-ways with room for one
ROUNDABOUT_ROOM = 112.0  # m, length of every arm
MID_BLOCK_FROM = 135.0  # m between the end crossings
CURVE_TURN = np.radians(24)  # a street that turns by more is a curve
NODE_GAP = 0.6  # m from the end of the corner to the crosswalk


@dataclass(frozen=True)
class Zones:
    """Widths of one side, m."""

    kerb: float
    verge: float
    sidewalk: float
    frontage: float

    def offsets(self, road_half: float) -> FloatArray:
        """Distances (m) of the six lines from the centre line."""
        verge = road_half + self.kerb + self.verge
        return np.array(
            [
                road_half,
                road_half + self.kerb,
                verge,
                verge + self.sidewalk / 2,
                verge + self.sidewalk,
                verge + self.sidewalk + self.frontage,
            ]
        )

    @property
    def inward(self) -> float:
        """Distance from the middle of the sidewalk to the lots, m."""
        return self.sidewalk / 2 + self.frontage


@dataclass(frozen=True)
class Crosswalk:
    """A crosswalk at a station (m) of a street."""

    station: float
    width: float
    mid_block: bool


@dataclass(frozen=True, eq=False)
class Street:
    """A chain with zones. ``lines[side]`` is ``(6, M, 2)`` at ``stations (M,)``, all in the chain's direction."""

    chain: Chain
    road_half: float  # m
    zones: tuple[Zones, Zones]
    crossings: tuple[Crosswalk, ...]
    stations: FloatArray
    centre: FloatArray  # (M, 2)
    tangents: FloatArray  # (M, 2)
    lines: tuple[FloatArray, FloatArray]
    parking: bool

    @property
    def start(self) -> float:
        return float(self.stations[0])

    @property
    def end(self) -> float:
        return float(self.stations[-1])

    def index(self, station: float) -> int:
        """The sample nearest to a station (m)."""
        return int(np.abs(self.stations - station).argmin())

    def points_at(self, station: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points ``(N, 2)`` at stations and distances to the left of the centre line (m), and the directions there."""
        found = points_at(station, self.chain.stations, self.chain.rows)
        ahead = unit(found[:, 2:])
        return found[:, :2] + left_of(ahead) * np.asarray(offset)[:, None], ahead

    def turned(self, start: float, end: float) -> float:
        """How much the street turns between two stations, rad, all turns counted positive."""
        inside = (self.chain.stations >= start) & (self.chain.stations <= end)
        t = self.chain.curve.tangents[inside]
        return float(np.abs(t[:-1, 0] * t[1:, 1] - t[:-1, 1] * t[1:, 0]).sum())


def junction_kinds(network: Network, rng: np.random.Generator) -> tuple[str, ...]:
    """tee, four_way or roundabout for each junction."""
    kinds = []
    for arms in network.arms:
        corner_lines = rng.random()
        room = all(network.chains[chain].length > ROUNDABOUT_ROOM for chain, _ in arms)
        if len(arms) == 3:
            kinds.append("tee")
        else:
            kinds.append("roundabout" if room and corner_lines < ROUNDABOUTS else "four_way")
    return tuple(kinds)


def lay_streets(
    network: Network, kinds: tuple[str, ...], rng: np.random.Generator
) -> tuple[tuple[Street, ...], FloatArray]:
    """All streets, and for each junction the radius of its roundabout's road (m; 0: none)."""
    plans = [_draw_widths(chain, rng) for chain in network.chains]
    rounds = np.where(np.array(kinds) == "roundabout", exact.uniform(rng, 15.0, 18.0, len(kinds)), 0.0)
    cuts = np.zeros((len(plans), 2))
    for junction, arms in enumerate(network.arms):
        for arm, reach in zip(arms, _reaches(network, plans, arms, rounds[junction]), strict=True):
            cuts[arm] = reach
        if not rounds[junction]:
            _make_room(network, plans, arms, cuts)
    streets = []
    for chain, (half, zones), (first, last) in zip(network.chains, plans, cuts, strict=True):
        wide = np.round(exact.uniform(rng, 3.0, 4.2, 3), 1)
        missing = rng.random(2) < 0.2
        ends = [kinds[node] == "tee" for node in (chain.start, chain.end)]
        crossings = []
        for end in (0, 1):
            station = first + NODE_GAP + wide[0] / 2 if end == 0 else chain.length - last - NODE_GAP - wide[1] / 2
            if not (missing[end] and ends[end]):
                crossings.append(Crosswalk(float(station), float(wide[end]), False))
        room = chain.length - first - last - 10
        if room > MID_BLOCK_FROM and rng.random() < 0.7:
            middle = first + (chain.length - first - last) * exact.uniform(rng, 0.42, 0.58)
            crossings.insert(min(len(crossings), 1), Crosswalk(float(middle), float(wide[2]), True))
        if not crossings:
            crossings.append(Crosswalk(float(first + NODE_GAP + wide[0] / 2), float(wide[0]), False))
        crossings.sort(key=lambda crossing: crossing.station)
        parking = bool(2 * half > 8.6 and rng.random() < 0.7)
        streets.append(_sample(chain, half, zones, tuple(crossings), first, chain.length - last, parking))
    return tuple(streets), rounds


def _draw_widths(chain: Chain, rng: np.random.Generator) -> tuple[float, tuple[Zones, Zones]]:
    """Half the road and the zones of both sides, cm precise; arterials are wider."""
    road = exact.uniform(rng, 10.0, 14.0) if chain.arterial else exact.uniform(rng, 6.0, 9.6)
    kerb = round(exact.uniform(rng, 0.15, 0.30), 2)
    sides = []
    for _ in range(2):
        sidewalk = exact.uniform(rng, 2.6, 4.5) if chain.arterial else exact.uniform(rng, 2.0, 3.8)
        widths = (exact.uniform(rng, 0.8, 2.5), sidewalk, exact.uniform(rng, 0.3, 1.5))
        sides.append(Zones(kerb, *(round(float(width), 2) for width in widths)))
    return round(road / 2, 2), (sides[0], sides[1])


def corner_radius(a: Zones, b: Zones) -> float:
    """Radius (m) of the middle of the sidewalk round a corner: the lots' corner is rounded by about 1 m or more."""
    return max(a.inward, b.inward) + 1.2


def _reaches(
    network: Network, plans: list[tuple[float, tuple[Zones, Zones]]], arms: tuple[tuple[int, int], ...], ring: float
) -> list[float]:
    """How far from the junction's centre each arm's own street starts, m: all corners fit before."""
    reaches = [9.0] * len(arms)
    out = [network.chains[c].curve.tangents[-end] * (1 if end == 0 else -1) for c, end in arms]
    for k, (chain, end) in enumerate(arms):
        after = (k + 1) % len(arms)
        chain2, end2 = arms[after]
        zones, zones2 = plans[chain][1][0 if end == 0 else 1], plans[chain2][1][1 if end2 == 0 else 0]
        mine, its = zones.offsets(plans[chain][0])[MIDDLE], zones2.offsets(plans[chain2][0])[MIDDLE]
        angle = turn_between(out[k], out[after]) % (2 * np.pi)
        if ring:
            widest = ring + max(zones.offsets(0.0)[MIDDLE], zones2.offsets(0.0)[MIDDLE])
            for arm in (k, after):
                reaches[arm] = max(reaches[arm], widest + 10.0)
        elif angle < FLAT_ANGLE:
            tangent = corner_radius(zones, zones2) / exact.tan(angle / 2) + 0.6
            reaches[k] = max(reaches[k], (its + mine * exact.cos(angle)) / exact.sin(angle) + tangent)
            reaches[after] = max(reaches[after], (mine + its * exact.cos(angle)) / exact.sin(angle) + tangent)
    return reaches


def _make_room(
    network: Network,
    plans: list[tuple[float, tuple[Zones, Zones]]],
    arms: tuple[tuple[int, int], ...],
    cuts: FloatArray,
) -> None:
    """Move the starts of bent arms outwards until the arc of every corner fits between them."""
    for _ in range(4):
        for k, (chain, end) in enumerate(arms):
            chain2, end2 = arms[k - 1]  # the corner on the right of this arm, seen from the junction
            side, side2 = (1 if end == 0 else 0), (0 if end2 == 0 else 1)
            a, da = _arm_end(network.chains[chain], end, cuts[chain, end], plans[chain], side)
            b, db = _arm_end(network.chains[chain2], end2, cuts[chain2, end2], plans[chain2], side2)
            turn = turn_between(-da, db)
            if turn < 0.7:
                continue
            cross = db[0] * da[1] - db[1] * da[0]
            gap = b - a
            ahead = (gap[0] * db[1] - gap[1] * db[0]) / cross
            behind = (gap[0] * da[1] - gap[1] * da[0]) / cross
            need = corner_radius(plans[chain][1][side], plans[chain2][1][side2]) * exact.tan(turn / 2)
            cuts[chain, end] += max(need - ahead, 0.0)
            cuts[chain2, end2] += max(need - behind, 0.0)


def _arm_end(
    chain: Chain, end: int, reach: float, plan: tuple[float, tuple[Zones, Zones]], side: int
) -> tuple[FloatArray, FloatArray]:
    """Where the middle of an arm's sidewalk starts, and the direction away from the junction there."""
    station = reach if end == 0 else chain.length - reach
    found = point_at(station, chain.stations, chain.rows)
    point, along = found[:2], unit(found[2:])
    offset = plan[1][side].offsets(plan[0])[MIDDLE] * (1 if side == 0 else -1)
    return point + left_of(along) * offset, along if end == 0 else -along


def _sample(
    chain: Chain,
    half: float,
    zones: tuple[Zones, Zones],
    crossings: tuple[Crosswalk, ...],
    first: float,
    last: float,
    parking: bool,
) -> Street:
    """Stations dense where the street turns, with one exactly at each edge of each crosswalk."""
    at, tangents = chain.stations, chain.curve.tangents
    bend = np.abs(tangents[:-1, 0] * tangents[1:, 1] - tangents[:-1, 1] * tangents[1:, 0]) / np.diff(at)
    need = np.concatenate([[0.0], np.cumsum(np.sqrt(bend / (8 * 0.012)) * np.diff(at))])  # chords of 12 mm sagitta
    need += at / 12.0
    low, high = exact.interp([first, last], at, need)
    wanted = exact.interp(np.linspace(low, high, int(np.ceil(high - low)) + 1), need, at)
    wanted[0], wanted[-1] = first, last
    edges = [c.station + sign * c.width / 2 for c in crossings for sign in (-1, 0, 1)]
    apart = (
        np.abs(wanted[:, None] - np.array(edges)[None, :]).min(axis=1) > 0.25 if edges else np.full(len(wanted), True)
    )
    apart[0] = apart[-1] = True
    stations = np.sort(np.concatenate([wanted[apart], edges]))
    found = points_at(stations, at, chain.rows)
    centre, along = found[:, :2], unit(found[:, 2:])
    lines = []
    for side, sign in ((0, 1.0), (1, -1.0)):
        offsets = sign * zones[side].offsets(half)
        lines.append(np.round(centre[None] + left_of(along)[None] * offsets[:, None, None], 3))
    return Street(chain, half, zones, crossings, stations, centre, along, (lines[0], lines[1]), parking)


TURN = np.radians(42)  # less is going straight on

Half = tuple[int, int]  # street, side


@dataclass(frozen=True, eq=False)
class Corner:
    """A corner of a junction: from the end of one half street to the start of the next."""

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


class Layout(NamedTuple):
    """Streets, the corners between them, and the rings of both round blocks of houses."""

    streets: tuple[Street, ...]
    corners: tuple[Corner, ...]
    rings: tuple[Ring, ...]

    def ring_line(self, ring: Ring, line: int) -> FloatArray:
        """One of the six lines, once round a block."""
        parts = []
        for (street, side), corner in zip(ring.halves, ring.corners, strict=True):
            parts += [half_lines(self.streets[street], side)[line], self.corners[corner].lines[line][1:-1]]
        return np.concatenate(parts)


def lay_rings(network: Network, streets: tuple[Street, ...], rounds: FloatArray) -> Layout:
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
    return Layout(streets, tuple(corners), tuple(rings))


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
    corner_lines = np.round(curve.points[None] + left_of(curve.tangents)[None] * offsets.T[:, :, None], 3)
    corner_lines[:, 0], corner_lines[:, -1] = lines[:, -1], lines2[:, 0]
    return Corner(after, junction, corner_lines, turn > TURN)


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
