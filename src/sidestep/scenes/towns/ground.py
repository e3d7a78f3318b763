"""Paved ground: streets, corners and junctions cut into strips that share their corners, and plazas inside blocks of
houses, with passages to the streets on two sides and a basin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.towns.network import Network
from sidestep.scenes.towns.pieces import KERB_HEIGHT, ObjectRows, PieceList
from sidestep.scenes.towns.streets import Corner, Half, Layout, Street
from sidestep.scenes.walkways import left_of, unit
from sidestep.types.base import FloatArray

ISLAND_KERB = 0.25  # m
LANE = 6.8  # m, road round the island of a roundabout

ZONES = (("kerb", 0, 1), ("verge", 1, 2), ("sidewalk", 2, 4), ("frontage", 4, 5))


def circle(centre: FloatArray, radius: float, corners: int = 48) -> FloatArray:
    """A round outline, mm precise."""
    angle = np.arange(corners) * 2 * np.pi / corners
    return np.round(centre + radius * np.stack([exact.cos(angle), exact.sin(angle)], axis=1), 3)


def add_street_ground(pieces: PieceList, street: Street, block: int) -> None:
    """Road, crosswalks, ramps, kerbs, verges and sidewalks. Frontages come with the lots behind them."""
    left, right = street.lines
    cuts = [0]
    for crossing in street.crossings:
        i0, i1 = (street.index(crossing.station + sign * crossing.width / 2) for sign in (-1, 1))
        cuts += [i0, i1]
        pieces.strip("crosswalk", left[0, i0 : i1 + 1], right[0, i0 : i1 + 1], block, "crosswalk")
        for lines in street.lines:
            pieces.strip("ramp", lines[0, i0 : i1 + 1], lines[2, i0 : i1 + 1], block, "ramp")
    cuts.append(len(street.stations) - 1)
    for a, b in zip(cuts[::2], cuts[1::2], strict=True):
        pieces.strip("road", left[0, a : b + 1], right[0, a : b + 1], block, "street")
        for lines in street.lines:
            for kind, inner, outer in ZONES[:2]:
                pieces.strip(kind, lines[inner, a : b + 1], lines[outer, a : b + 1], block)
    for lines in street.lines:
        pieces.strip("sidewalk", lines[2], lines[4], block)


def add_corner_ground(pieces: PieceList, corner: Corner, block: int) -> None:
    """The zones round a corner, without its frontage."""
    for kind, inner, outer in ZONES[:3]:
        pieces.strip(kind, corner.lines[inner], corner.lines[outer], block)


def add_junction_ground(
    pieces: PieceList, network: Network, junction: int, by_after: dict[Half, Corner], ring: float, block: int
) -> None:
    """The road where arms meet; in a roundabout an island of grass with a kerb."""
    outline = []
    for street, end in network.arms[junction]:
        outline.append(by_after[(street, 0 if end == 0 else 1)].lines[0][::-1])
    shell = np.concatenate(outline)
    if not ring:
        pieces.add("road", shell, block, "junction")
        return
    centre = network.junctions[junction]
    island, lawn = circle(centre, ring - LANE), circle(centre, ring - LANE - ISLAND_KERB)
    pieces.add("road", shapely.Polygon(shell, [island]), block, "junction")
    pieces.add("kerb", shapely.Polygon(island, [lawn]), block, "", KERB_HEIGHT)
    pieces.add("grass", lawn, block, "island")


MOST_PLAZAS = 6  # plazas in a town
CLEAR_OF_CROSSWALKS = 12.0  # m between a passage and the next crosswalk


@dataclass(frozen=True, eq=False)
class Plaza:
    """A square with two mouths on half streets at given stations."""

    ring: int
    halves: tuple[Half, Half]
    stations: tuple[float, float]
    centre: FloatArray
    along: FloatArray  # unit, from the first mouth to the second
    size: tuple[float, float]  # m, along and across
    passage: float  # m
    basin: float  # m, radius
    area: Any  # shapely polygon up to the sidewalks


def lay_plazas(layout: Layout, rng: np.random.Generator) -> tuple[Plaza, ...]:
    """Plazas in some of the blocks that have four streets."""
    plazas: list[Plaza] = []
    for index in rng.permutation(len(layout.rings)):
        ring = layout.rings[index]
        if len(plazas) == MOST_PLAZAS:
            break
        if ring.outer or len(ring.halves) != 4:
            continue
        first = int(rng.integers(0, 2))
        halves = (ring.halves[first], ring.halves[first + 2])
        stations = tuple(_free_station(layout.streets[street], rng) for street, _ in halves)
        passage = exact.uniform(rng, 5.0, 8.0)
        size, basin = exact.uniform(rng, 24.0, 38.0, 2), exact.uniform(rng, 1.6, 2.8)
        if any(station is None for station in stations):
            continue
        plaza = _make_plaza(layout, int(index), halves, stations, passage, size, basin)
        if plaza is not None:
            plazas.append(plaza)
    return tuple(plazas)


def _free_station(street: Street, rng: np.random.Generator) -> float | None:
    for share in (exact.uniform(rng, 0.45, 0.55), 0.33, 0.67):
        station = street.start + share * (street.end - street.start)
        if all(abs(crossing.station - station) > CLEAR_OF_CROSSWALKS for crossing in street.crossings):
            return float(np.round(station, 2))
    return None


def _make_plaza(
    layout: Layout, index: int, halves: tuple[Half, Half], stations: Any, passage: float, size: FloatArray, basin: float
) -> Plaza | None:
    ends = []
    for (street, side), station in zip(halves, stations, strict=True):
        s = layout.streets[street]
        offset = s.zones[side].offsets(s.road_half)[5] * (1 if side == 0 else -1)
        ends.append(s.points_at(np.array([station]), np.array([offset]))[0][0])
    a, b = ends
    along = unit(b - a)
    across = left_of(along)
    middle = (a + b) / 2
    distance = float(exact.hypot(*(b - a)))
    if distance < size[0] + 30:
        return None
    half = size / 2
    square = shapely.Polygon([middle + along * half[0] * x + across * half[1] * y for x, y in _CORNERS])
    passages = shapely.LineString([a - along * 4, b + along * 4]).buffer(passage / 2, cap_style="flat")
    within = shapely.Polygon(layout.ring_line(layout.rings[index], 4))
    lots = shapely.Polygon(layout.ring_line(layout.rings[index], 5)).buffer(-6.0)
    if not lots.contains(square):
        return None
    area = shapely.set_precision(shapely.intersection(shapely.union(square, passages), within), 0.001)
    if area.geom_type != "Polygon":
        return None
    return Plaza(
        index, halves, (stations[0], stations[1]), middle, along, (float(size[0]), float(size[1])), passage, basin, area
    )


_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def furnish_plaza(plaza: Plaza, rows: ObjectRows, block: int, rng: np.random.Generator) -> None:
    """A basin, benches that face it, trees in the corners, lamp posts, and a kiosk."""
    along, across = plaza.along, left_of(plaza.along)
    rows.add("basin", plaza.centre, along, (2 * plaza.basin, 2 * plaza.basin), 0.5, block)
    half = np.array(plaza.size) / 2
    for side in (-1, 1):
        for x in (-0.45, 0.0, 0.45):
            point = plaza.centre + along * half[0] * x + across * side * (half[1] - 1.6)
            rows.add("bench", point, along, (1.8, 0.5), 0.45, block)
            rows.add_standing_point("bench", point - across * side * 0.65, across * side, block)
        for x in (-1, 1):
            corner = plaza.centre + along * x * (half[0] - 2.2) + across * side * (half[1] - 2.2)
            size = float(exact.uniform(rng, 0.3, 0.5))
            rows.add("tree", corner, along, (size, size), float(exact.uniform(rng, 5.0, 8.0)), block)
            lamp = plaza.centre + along * x * (half[0] - 5.0) + across * side * (half[1] - 3.0)
            rows.add("lamp post", lamp, along, (0.18, 0.18), 4.5, block)
    side = 1 if rng.random() < 0.5 else -1
    kiosk = plaza.centre + along * side * half[0] * 0.22 + across * side * (half[1] - 3.6)
    rows.add("kiosk", kiosk, along, (2.4, 1.6), 1.1, block)
    rows.add_standing_point("kiosk", kiosk - across * side * 1.4, across * side, block)
