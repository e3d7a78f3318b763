"""Lanes of a town: one per direction of every street, keeping right; lanes through its junctions and round its
roundabouts; crossings at its crosswalks; bays at the kerbs of wide streets. A window has the parts that lie in it:
lanes end at its border.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.towns.furniture import CAR_SLOT
from sidestep.scenes.towns.ground import LANE
from sidestep.scenes.towns.network import Network
from sidestep.scenes.towns.pieces import Pieces
from sidestep.scenes.towns.streets import TURN, Street
from sidestep.scenes.walkways import left_of, resample, spline, stations_between, stations_of, turn_between, unit
from sidestep.types.base import FloatArray
from sidestep.types.road import Crossing, Lane, ParkingBay, Roads, Turn
from sidestep.types.scene import SOLID

SPEED_LIMIT = 8.3  # m/s: 30 km/h
PARKED_FROM = 4.3  # m, half the road: wider ones have cars at the kerb, some of them as furniture
PARKED_STRIP = 2.0  # m that these cars take at either side
NARROWEST_OFFSET = 1.15  # m from the centre line to a lane's: two vans can pass each other
BAYS_FROM = 4.6  # m, half the road: there a van passes a car in a bay
BAY_OFFSET, BAY = 0.95, (4.5, 1.8)  # m from the kerb to the middle of a bay; length and width of a car
CLEAR_OF_CROSSWALKS, CLEAR_OF_ENDS, CLEAR_OF_THINGS = 5.5, 6.0, 0.4  # m
PIECES = 14  # of a lane through a junction
MERGE_RAD = 0.45  # from an arm of a roundabout to where its lanes meet the ring
SHORTEST_M = 4.0  # shorter parts of lanes are left out
SHORTEST_ENTRY_M = 12.0  # of a part that leads from the border to a junction: a vehicle can stop on it
SAGITTA_M = 0.01


class LaneLine(NamedTuple):
    """A lane of the whole town; ``next`` are numbers of lanes."""

    name: str
    points: FloatArray  # (K, 2) m
    width: float
    next: tuple[int, ...] = ()
    turn: Turn | None = None
    priority: int = 0


class Bay(NamedTuple):
    """Where a car may stand, by its middle and the direction of the lane beside it."""

    middle: FloatArray
    along: FloatArray

    @property
    def outline(self) -> Any:
        """A car there, as a shapely polygon."""
        ahead, aside = self.along * BAY[0] / 2, left_of(self.along) * BAY[1] / 2
        return shapely.Polygon([self.middle + x * ahead + y * aside for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])


class TownRoads(NamedTuple):
    """Lanes, crossings and bays of a whole town. Lanes 2k and 2k + 1 are those of street k, along it and against it."""

    lanes: tuple[LaneLine, ...]
    crossings: tuple[Crossing, ...]
    bays: tuple[Bay, ...]


def lay_roads(network: Network, streets: tuple[Street, ...], rounds: FloatArray) -> TownRoads:
    """All roads of a town; ``rounds``: for each junction the radius of its roundabout's road (m; 0: none)."""
    lanes: list[LaneLine] = []
    for number, street in enumerate(streets):
        offset = np.full(len(street.stations), lane_offset(street))
        width = round(min(2 * float(offset[0]), street.road_half), 2)
        right, left = (street.points_at(street.stations, sign * offset)[0] for sign in (-1.0, 1.0))
        lanes.append(LaneLine(f"street {number} along", right, width))
        lanes.append(LaneLine(f"street {number} back", left[::-1], width))
    for junction, arms in enumerate(network.arms):
        centre, ring = network.junctions[junction], float(rounds[junction])
        for arm in arms:
            into = _lane_into(arm)
            following = []
            for other in arms:
                if other != arm:
                    following.append(len(lanes))
                    lanes.append(_through(lanes, network, (into, _lane_out(other)), centre, ring, junction))
            lanes[into] = lanes[into]._replace(next=tuple(following))
    crossings, bays = [], []
    for number, street in enumerate(streets):
        for index, crossing in enumerate(street.crossings):
            half = np.array([street.road_half, -street.road_half])
            first, second = np.round(street.points_at(np.full(2, crossing.station), half)[0], 3).tolist()
            name = f"street {number} crosswalk {index}"
            crossings.append(Crossing(name=name, ends=(tuple(first), tuple(second)), width=crossing.width))
        bays += _bays(street)
    return TownRoads(tuple(lanes), tuple(crossings), tuple(bays))


def lane_offset(street: Street) -> float:
    """Distance (m) of a street's lanes from its centre line: in the middle of what parked cars leave."""
    free = street.road_half - PARKED_STRIP if street.road_half > PARKED_FROM else street.road_half
    return max(free / 2, NARROWEST_OFFSET)


def _lane_into(arm: tuple[int, int]) -> int:
    street, end = arm
    return 2 * street + (1 if end == 0 else 0)


def _lane_out(arm: tuple[int, int]) -> int:
    street, end = arm
    return 2 * street + (0 if end == 0 else 1)


def _through(
    lanes: list[LaneLine], network: Network, ends: tuple[int, int], centre: FloatArray, ring: float, junction: int
) -> LaneLine:
    """The lane from one arm to another. Main streets go first, and who turns left goes last."""
    one, other = (lanes[lane] for lane in ends)
    a, b = one.points[-1], other.points[0]
    da, db = unit(a - one.points[-2]), unit(other.points[1] - b)
    angle = turn_between(da, db)
    turn: Turn = "straight" if abs(angle) < TURN else "left" if angle > 0 else "right"
    points = _round_island(a, da, b, db, centre, ring - LANE / 2) if ring else spline(a, da, b, db, PIECES).points
    return LaneLine(
        f"junction {junction}: {one.name} > {other.name}",
        points,
        min(one.width, other.width),
        (ends[1],),
        turn,
        2 * int(network.chains[ends[0] // 2].arterial) - (turn == "left" and not ring),
    )


def _round_island(
    a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, centre: FloatArray, radius: float
) -> FloatArray:
    """The line to the ring of a roundabout, along it counter-clockwise, and away."""
    start, end = (float(exact.arctan2(*(point - centre)[::-1])) for point in (a, b))
    wedge = (end - start) % (2 * np.pi)
    merge = min(MERGE_RAD, 0.45 * wedge)
    pieces = max(int((wedge - 2 * merge) * radius / 1.5), 1)
    angle = np.linspace(start + merge, start + wedge - merge, pieces + 1)
    out = np.stack([exact.cos(angle), exact.sin(angle)], axis=1)
    arc, along = centre + radius * out, left_of(out)
    first = spline(a, da, arc[0], along[0], PIECES).points
    last = spline(arc[-1], along[-1], b, db, PIECES).points
    return np.concatenate([first, arc[1:-1], last])


def _bays(street: Street) -> list[Bay]:
    """Bays at both kerbs of a street that is wide enough, off its ends and its crosswalks."""
    if street.road_half < BAYS_FROM:
        return []
    stations = stations_between(street.start + CLEAR_OF_ENDS, street.end - CLEAR_OF_ENDS, CAR_SLOT)
    for crossing in street.crossings:
        stations = stations[np.abs(stations - crossing.station) > crossing.width / 2 + CLEAR_OF_CROSSWALKS]
    bays = []
    for sign in (-1.0, 1.0):
        offset = np.full(len(stations), sign * (street.road_half - BAY_OFFSET))
        bays += [Bay(xy, -sign * ahead) for xy, ahead in zip(*street.points_at(stations, offset), strict=True)]
    return bays


def roads_within(roads: TownRoads, pieces: Pieces, area: Any) -> Roads:
    """What of a town's roads lies in ``area``, a shapely polygon; bays in which nothing stands."""
    shapely.prepare(area)
    x0, y0, x1, y1 = area.bounds
    parts: dict[int, list[_Part]] = {}
    for number, lane in enumerate(roads.lanes):
        low, high = lane.points.min(axis=0), lane.points.max(axis=0)
        if low[0] < x1 and low[1] < y1 and high[0] > x0 and high[1] > y0:
            parts[number] = _parts_within(lane, area)
    reached = {k for number, found in parts.items() if found and found[-1].has_end for k in roads.lanes[number].next}
    for number, found in parts.items():  # nobody comes into the window in the middle of a junction
        if roads.lanes[number].turn is not None:
            parts[number] = [part for part in found if part.has_begin and number in reached]
    return Roads(
        lanes=tuple(
            _lane(roads.lanes[number], part, index, roads, parts)
            for number, found in parts.items()
            for index, part in enumerate(found)
        ),
        crossings=tuple(c for c in roads.crossings if shapely.LineString(c.ends).intersects(area)),
        parking=tuple(_parking_bay(bay) for bay in roads.bays if _is_free(bay, pieces, area)),
    )


class _Part(NamedTuple):
    """A part of a lane, and whether the lane's beginning and end belong to it."""

    points: FloatArray
    has_begin: bool
    has_end: bool


def _parts_within(lane: LaneLine, area: Any) -> list[_Part]:
    dense = resample(lane.points, 1.0)
    inside = shapely.contains_xy(area, dense[:, 0], dense[:, 1])
    if inside.all():
        return [_Part(lane.points, True, True)]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    parts = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        points = dense[begin:end]
        shortest = SHORTEST_ENTRY_M if end == len(dense) else SHORTEST_M
        if len(points) > 1 and stations_of(points)[-1] >= shortest:
            points = shapely.get_coordinates(shapely.simplify(shapely.LineString(points), SAGITTA_M))
            parts.append(_Part(points, begin == 0, end == len(dense)))
    return parts


def _lane(lane: LaneLine, part: _Part, index: int, roads: TownRoads, parts: dict[int, list[_Part]]) -> Lane:
    following = []
    for number in lane.next if part.has_end else ():
        found = parts.get(number)
        if found and found[0].has_begin:
            following.append(_part_name(roads.lanes[number], 0))
    points = np.round(part.points, 3).tolist()
    return Lane(
        name=_part_name(lane, index),
        points=tuple(tuple(q) for p, q in pairwise([None, *points]) if p != q),
        width=lane.width,
        speed_limit=SPEED_LIMIT,
        next=tuple(following),
        turn=lane.turn,
        priority=lane.priority,
    )


def _part_name(lane: LaneLine, index: int) -> str:
    return f"{lane.name} part {index}" if index else lane.name


def _is_free(bay: Bay, pieces: Pieces, area: Any) -> bool:
    """Whether a car in the bay lies in the area and touches nothing of the town."""
    outline = bay.outline
    if not area.contains(outline):
        return False
    near = pieces.near(outline.buffer(CLEAR_OF_THINGS, join_style="mitre"))
    return not any(pieces.kinds[index] in SOLID for index in near.tolist())


def _parking_bay(bay: Bay) -> ParkingBay:
    x, y = np.round(bay.middle, 3).tolist()
    return ParkingBay(middle=(x, y), heading=round(float(exact.arctan2(bay.along[1], bay.along[0])), 6))
