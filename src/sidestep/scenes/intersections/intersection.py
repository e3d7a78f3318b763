"""The scene of an intersection that is described by its arms: road, sidewalks, crossings, markings, lanes through the
junction, buildings at the corners, signals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.intersections.description import Arm, Intersection
from sidestep.scenes.walkways import left_of, spline, turn_between, unit
from sidestep.types.base import FloatArray
from sidestep.types.road import Crossing, Lane, Marking, Roads, Signal, Turn
from sidestep.types.scene import Region, SceneSpec

STRAIGHT_RAD = 0.6
"""A connection that turns by less goes straight on."""
CONNECTION_PIECES = 24
KERB_PIECES = 12
MEDIAN_M = 1.5
"""Directions that are farther apart than this have a painted median between them, with a line at either side."""
OVERLAP = "{} overlap; turn them apart, increase stop_m, or take lanes away"
SAME_CORNER_M = 0.3
"""Corners of neighbouring lanes that are nearer to each other are one."""


class _Road:
    """The lines of one arm."""

    def __init__(self, arm: Arm, spec: Intersection) -> None:
        centre, width = np.array(spec.centre), spec.lane_width
        self.arm = arm
        self.into = _lane_lines(arm, centre, width, inwards=True)
        self.out = _lane_lines(arm, centre, width, inwards=False)
        for line, way in [*((line, -1.0) for line in self.into), *((line, 1.0) for line in self.out)]:
            if way * float(exact.norm(line[-1] - centre) - exact.norm(line[0] - centre)) <= 0.0:
                where = "lanes_in must lead to" if way < 0.0 else "lanes_out must lead away from"
                raise BadInput(f"{spec.name}: arm {arm.name!r}: {where} the centre; list the points in that order")
        self.in_edge = offset(self.into[-1], -width / 2)
        """Kerb on the right of a driver who enters, towards the junction."""
        self.out_edge = offset(self.out[-1], -width / 2)
        """Kerb on the right of a driver who leaves, away from the junction."""
        self.far_end = _far_end(self.into, self.out, width)
        first, last = self.out[0][1] - self.out[0][0], self.into[0][-1] - self.into[0][-2]
        self.axis = unit(unit(first) - unit(last))
        """Outwards, where the arm meets the junction."""
        self.angle = float(exact.arctan2(self.axis[1], self.axis[0]))


def _lane_lines(arm: Arm, centre: FloatArray, width: float, *, inwards: bool) -> list[FloatArray]:
    lanes = arm.lanes_in if inwards else arm.lanes_out
    if not isinstance(lanes, int):
        return [np.array(line, np.float64) for line in lanes]
    assert arm.heading_deg is not None
    sine, cosine = exact.sincos(arm.heading_deg * np.pi / 180.0)
    axis = np.array([cosine, sine])
    ends = np.array([arm.stop_m, arm.length_m])
    along = centre + ends[:, None] * axis
    # outwards the lanes lie on the right of the axis; the left one is nearest to it
    right = -left_of(axis) * (-1.0 if inwards else 1.0)
    lines = [along + (k + 0.5) * width * right for k in range(lanes)]
    return [line[::-1].copy() if inwards else line for line in lines]


def _far_end(into: list[FloatArray], out: list[FloatArray], width: float) -> FloatArray:
    """Corners of the lanes at the far end of an arm, between the ends of the two kerbs: lanes are not equally long."""
    sides = [(offset(line, -width / 2)[-1], offset(line, width / 2)[-1]) for line in reversed(out)]
    sides += [(offset(line, width / 2)[0], offset(line, -width / 2)[0]) for line in into]
    corners = [corner for pair in sides for corner in pair]
    kept = [corners[0]]
    for corner in corners[1:-1]:
        if min(exact.hypot(*(corner - other)) for other in (kept[-1], corners[-1])) > SAME_CORNER_M:
            kept.append(corner)
    return np.array(kept[1:]).reshape(-1, 2)


def offset(points: FloatArray, distance: float) -> FloatArray:
    """The line ``distance`` metres to the left of ``points`` (negative: to the right)."""
    step = unit(np.diff(points, axis=0))
    sums = unit(np.concatenate([step[:1], step[:-1] + step[1:], step[-1:]]))
    cosine = np.concatenate([(sums[:-1] * step).sum(axis=1), [1.0]])
    moved: FloatArray = points + (distance / np.maximum(cosine, 0.5))[:, None] * left_of(sums)
    return moved


def intersection_scene(spec: Intersection) -> SceneSpec:
    """The scene of an intersection, with its roads."""
    roads = sorted((_Road(arm, spec) for arm in spec.arms), key=lambda road: road.angle)
    kerbs = [_corner(road, after) for road, after in zip(roads, [*roads[1:], roads[0]], strict=True)]
    regions = [*_sidewalks(spec, roads, kerbs), *_surface(spec, roads, kerbs)]
    crossings = [_crossing(spec, road, kerbs) for road in roads if road.arm.crossing is not None]
    regions += [Region(kind="crosswalk", name=found.name, polygon=_strip(found)) for found in crossings]
    lanes = [lane for road in roads for lane in _lanes_of(spec, road)] + _connections(spec, roads)
    named = {lane.name for lane in lanes}
    for route in spec.routes:
        for lane in (route.lane_in, route.lane_out):
            if lane not in named:
                raise UnknownName("lane", lane, sorted(named), f"{spec.name}: route {route.pose}/{route.branch}")
    return SceneSpec(
        name=spec.name,
        regions=tuple(regions),
        roads=Roads(
            lanes=tuple(_with_next(lanes)),
            markings=tuple(_markings(spec, roads, kerbs)),
            crossings=tuple(crossings),
            signals=_signals(roads) if spec.signals else (),
        ),
        source=spec.source,
    )


def _rounded(points: FloatArray) -> tuple[tuple[float, float], ...]:
    """Whole millimetres: what a file would say."""
    return tuple((float(x), float(y)) for x, y in np.rint(np.asarray(points) * 1000.0) / 1000.0)


def _corner(road: _Road, after: _Road) -> FloatArray:
    """The kerb from an arm to the next one counter-clockwise: along the entering side of the first, round the corner,
    along the leaving side of the second."""
    a, b = road.in_edge[-1], after.out_edge[0]
    da, db = unit(a - road.in_edge[-2]), unit(after.out_edge[1] - b)
    curve = _connect(a, da, b, db, KERB_PIECES)
    return np.concatenate([road.in_edge[:-1], curve, after.out_edge[1:]])


def _connect(a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, pieces: int) -> FloatArray:
    """A smooth curve. Where the two directions cross between ``a`` and ``b`` it is that of a rounded corner: a cubic
    Bézier curve, with control points at 0.55 of the way to the corner, as of a quarter circle."""
    cross = da[0] * db[1] - da[1] * db[0]
    gap = b - a
    if abs(cross) > 0.2:
        out = (gap[0] * db[1] - gap[1] * db[0]) / cross
        back = (gap[1] * da[0] - gap[0] * da[1]) / cross
        if out > 0.0 and back > 0.0:
            t = (np.arange(pieces + 1) / pieces)[:, None]
            s = 1.0 - t
            first, second = a + 0.55 * out * da, b - 0.55 * back * db
            curve: FloatArray = s * s * s * a + 3.0 * s * s * t * first + 3.0 * s * t * t * second + t * t * t * b
            return curve
    return spline(a, da, b, db, pieces).points


def _surface(spec: Intersection, roads: list[_Road], kerbs: list[FloatArray]) -> list[Region]:
    """The asphalt: a strip for every arm, and the junction between their ends."""
    outlines = [np.concatenate([road.in_edge, road.out_edge, road.far_end]) for road in roads]
    regions = [
        Region(kind="road", name=road.arm.name, polygon=_rounded(outline))
        for road, outline in zip(roads, outlines, strict=True)
    ]
    middle: list[FloatArray] = []
    for road, after, kerb in zip(roads, [*roads[1:], roads[0]], kerbs, strict=True):
        first, last = len(road.in_edge) - 1, len(kerb) - len(after.out_edge)
        middle.append(kerb[first : last + 1])
    junction = Region(kind="road", name="junction", polygon=_rounded(np.concatenate(middle)))
    if not shapely.Polygon(junction.polygon).is_valid:
        raise BadInput(f"{spec.name}: {OVERLAP.format('some arms')}")
    return [*regions, junction]


def _sidewalks(spec: Intersection, roads: list[_Road], kerbs: list[FloatArray]) -> list[Region]:
    """A paved strip along every kerb, and a building behind it where there is room."""
    regions, buildings, outlines = [], [], []
    for k, (road, after, kerb) in enumerate(zip(roads, [*roads[1:], roads[0]], kerbs, strict=True)):
        behind_in, behind_out = offset(road.in_edge, -spec.sidewalk_m), offset(after.out_edge, -spec.sidewalk_m)
        corner = _crossing_point(behind_in, behind_out)
        if corner is None:  # the arms lie opposite: one strip along both
            outer = np.concatenate([behind_in, behind_out])
        else:
            outer = np.concatenate([_up_to(behind_in, corner), [corner], _up_to(behind_out[::-1], corner)[::-1]])
            if spec.buildings:
                buildings.append(_building(corner, road.axis, after.axis, k))
        outline = np.concatenate([kerb, outer[::-1]])
        if not shapely.Polygon(outline).is_valid:  # narrower than the kerb's curve cuts off the corner: round as well
            outline = np.concatenate([kerb, offset(kerb, -spec.sidewalk_m)[::-1]])
        outlines.append(shapely.Polygon(outline))
        if not outlines[-1].is_valid:
            arms = f"arms {road.arm.name!r} and {after.arm.name!r}"
            raise BadInput(f"{spec.name}: {OVERLAP.format(arms)}")
        regions.append(Region(kind="sidewalk", name=f"sidewalk {k}", polygon=_rounded(outline)))
    paved = shapely.union_all(outlines)
    return regions + [block for block in buildings if not shapely.Polygon(block.polygon).intersects(paved)]


def _crossing_point(a: FloatArray, b: FloatArray) -> FloatArray | None:
    """Where the last piece of ``a``, drawn on, meets the first of ``b``, drawn back."""
    da, db = unit(a[-1] - a[-2]), unit(b[1] - b[0])
    cross = da[0] * db[1] - da[1] * db[0]
    if abs(cross) < 0.3:
        return None
    gap = b[0] - a[-1]
    meeting: FloatArray = a[-1] + da * ((gap[0] * db[1] - gap[1] * db[0]) / cross)
    return meeting


def _up_to(line: FloatArray, corner: FloatArray) -> FloatArray:
    """The points of a line that lie before ``corner``, which is on its last piece or beyond."""
    step = unit(line[-1] - line[-2])
    before: FloatArray = line[((corner - line) * step).sum(axis=1) > 0.05]
    return before


BUILDING_M, SETBACK_M = 22.0, 3.0


def _building(corner: FloatArray, one: FloatArray, two: FloatArray, k: int) -> Region:
    """A block at a corner, between the directions of its two arms."""
    near = corner + SETBACK_M * (one + two)
    corners = [near, near + BUILDING_M * one, near + BUILDING_M * (one + two), near + BUILDING_M * two]
    area = exact.total(p[0] * q[1] - p[1] * q[0] for p, q in pairwise([*corners, corners[0]]))
    ordered = corners if area > 0 else corners[::-1]
    return Region(kind="building", name=f"building {k}", polygon=_rounded(np.array(ordered)), height=7.0 + 3.0 * k)


def _crossing(spec: Intersection, road: _Road, kerbs: list[FloatArray]) -> Crossing:
    """The crossing of one arm: straight across the arm's axis, from kerb to kerb."""
    assert road.arm.crossing is not None
    near, far = road.arm.crossing
    middle = np.array(spec.centre) + (near + far) / 2 * road.axis
    across = left_of(road.axis)
    reach = [t for kerb in kerbs for t in _cuts(kerb, middle, across)]
    if not (any(t < 0.0 for t in reach) and any(t > 0.0 for t in reach)):
        raise BadInput(
            f"{spec.name}: arm {road.arm.name!r}: the crossing, {near:g} to {far:g} m from the centre, has no kerb at "
            "either side; move it to where the arm is"
        )
    ends = [max(t for t in reach if t < 0.0), min(t for t in reach if t > 0.0)]
    first, second = _rounded(np.array([middle + t * across for t in ends]))
    return Crossing(name=f"crossing {road.arm.name}", ends=(first, second), width=far - near)


def _cuts(line: FloatArray, start: FloatArray, direction: FloatArray) -> list[float]:
    """Where a polyline cuts the straight line through ``start``: metres from there along the unit vector."""
    gap = line - start
    side = direction[0] * gap[:, 1] - direction[1] * gap[:, 0]
    along = gap[:, 0] * direction[0] + gap[:, 1] * direction[1]
    found = np.flatnonzero((side[:-1] < 0.0) != (side[1:] < 0.0))
    share = side[found] / (side[found] - side[found + 1])
    cuts: list[float] = (along[found] + share * (along[found + 1] - along[found])).tolist()
    return cuts


def _strip(crossing: Crossing) -> tuple[tuple[float, float], ...]:
    a, b = np.array(crossing.ends)
    side = left_of(unit(b - a)) * crossing.width / 2
    return _rounded(np.array([a - side, b - side, b + side, a + side]))


def _lanes_of(spec: Intersection, road: _Road) -> list[Lane]:
    def lane(name: str, line: FloatArray) -> Lane:
        return Lane(name=name, points=_rounded(line), width=spec.lane_width, speed_limit=spec.speed_limit)

    name = road.arm.name
    return [lane(f"{name} in {k}", line) for k, line in enumerate(road.into)] + [
        lane(f"{name} out {k}", line) for k, line in enumerate(road.out)
    ]


def _connections(spec: Intersection, roads: list[_Road]) -> list[Lane]:
    """Lanes through the junction: left from the left lane, right from the right lane, straight on from every lane."""
    lanes = []
    for road in roads:
        for other in roads:
            if other is road:
                continue
            angle = turn_between(-road.axis, other.axis)
            turn: Turn = "straight" if abs(angle) < STRAIGHT_RAD else "left" if angle > 0 else "right"
            for k, m in _pairs(len(road.into), len(other.out), turn):
                a, b = road.into[k], other.out[m]
                curve = _connect(a[-1], unit(a[-1] - a[-2]), b[0], unit(b[1] - b[0]), CONNECTION_PIECES)
                lanes.append(
                    Lane(
                        name=f"{road.arm.name} {k} > {other.arm.name} {m}",
                        points=_rounded(curve),
                        width=spec.lane_width,
                        speed_limit=spec.speed_limit,
                        next=(f"{other.arm.name} out {m}",),
                        turn=turn,
                        priority=2 * road.arm.priority - (turn == "left"),
                    )
                )
    return lanes


def _pairs(into: int, out: int, turn: Turn) -> list[tuple[int, int]]:
    """Which lane leads to which."""
    if turn == "left":
        return [(0, 0)]
    if turn == "right":
        return [(into - 1, out - 1)]
    return [(k, min(k, out - 1)) for k in range(into)]


def _with_next(lanes: list[Lane]) -> list[Lane]:
    """The lanes with what follows on those that enter the junction."""
    follows: dict[str, list[str]] = {}
    for lane in lanes:
        if lane.turn is not None:
            arm, rest = lane.name.split(" > ")[0].rsplit(" ", 1)
            follows.setdefault(f"{arm} in {rest}", []).append(lane.name)
    return [
        lane.model_copy(update={"next": tuple(follows[lane.name])}) if lane.name in follows else lane for lane in lanes
    ]


def _markings(spec: Intersection, roads: list[_Road], kerbs: list[FloatArray]) -> list[Marking]:
    half = spec.lane_width / 2
    lines = [Marking(kind="kerb", points=_rounded(kerb)) for kerb in kerbs]
    for road in roads:
        for group in (road.into, road.out):
            lines += [Marking(kind="broken", points=_rounded(offset(line, -half))) for line in group[:-1]]
        left_in, left_out = offset(road.into[0], half), offset(road.out[0], half)
        gap = left_in[-1] - left_out[0]
        if exact.hypot(gap[0], gap[1]) > MEDIAN_M:
            lines += [Marking(kind="solid", colour="yellow", points=_rounded(line)) for line in (left_in, left_out)]
        else:
            lines.append(Marking(kind="double_solid", colour="yellow", points=_rounded(left_in)))
    return lines


def _signals(roads: list[_Road]) -> tuple[Signal, ...]:
    """Opposite arms have green together, one pair after the other."""
    pairs: list[list[_Road]] = []
    for road in roads:
        for pair in pairs:
            if abs(turn_between(-road.axis, pair[0].axis)) < STRAIGHT_RAD:
                pair.append(road)
                break
        else:
            pairs.append([road])
    cycle = 20.0 * len(pairs)
    return tuple(
        Signal(
            name=f"signal {road.arm.name}",
            lanes=tuple(f"{road.arm.name} in {k}" for k in range(len(road.into))),
            cycle_s=cycle,
            green_at_s=20.0 * number,
            green_s=14.0,
            yellow_s=3.0,
        )
        for number, pair in enumerate(pairs)
        for road in pair
    )
