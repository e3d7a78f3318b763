"""Plazas: paved squares inside a block of houses, with passages to the streets on two sides and a basin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep import exact
from sidestep.scenes.towns.curves import left_of, unit
from sidestep.scenes.towns.objects import ObjectRows
from sidestep.scenes.towns.rings import Corner, Half, Ring, half_lines
from sidestep.scenes.towns.streets import Street
from sidestep.types.base import FloatArray

MOST = 6  # plazas in a town
CLEAR = 12.0  # m between a passage and the next crosswalk


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


def ring_line(streets: tuple[Street, ...], corners: tuple[Corner, ...], ring: Ring, line: int) -> FloatArray:
    """One of the six lines, once round a block."""
    parts = []
    for (street, side), corner in zip(ring.halves, ring.corners, strict=True):
        parts += [half_lines(streets[street], side)[line], corners[corner].lines[line][1:-1]]
    return np.concatenate(parts)


def lay_plazas(
    streets: tuple[Street, ...], corners: tuple[Corner, ...], rings: tuple[Ring, ...], rng: np.random.Generator
) -> tuple[Plaza, ...]:
    """Plazas in some of the blocks that have four streets."""
    plazas: list[Plaza] = []
    for index in rng.permutation(len(rings)):
        ring = rings[index]
        if len(plazas) == MOST:
            break
        if ring.outer or len(ring.halves) != 4:
            continue
        first = int(rng.integers(0, 2))
        halves = (ring.halves[first], ring.halves[first + 2])
        stations = tuple(_free_station(streets[street], rng) for street, _ in halves)
        passage, size, basin = (
            exact.uniform(rng, 5.0, 8.0),
            exact.uniform(rng, 24.0, 38.0, 2),
            exact.uniform(rng, 1.6, 2.8),
        )
        if any(station is None for station in stations):
            continue
        plaza = _make(streets, corners, ring, int(index), halves, stations, passage, size, basin)
        if plaza is not None:
            plazas.append(plaza)
    return tuple(plazas)


def _free_station(street: Street, rng: np.random.Generator) -> float | None:
    for share in (exact.uniform(rng, 0.45, 0.55), 0.33, 0.67):
        station = street.start + share * (street.end - street.start)
        if all(abs(crossing.station - station) > CLEAR for crossing in street.crossings):
            return float(np.round(station, 2))
    return None


def _make(
    streets: tuple[Street, ...],
    corners: tuple[Corner, ...],
    ring: Ring,
    index: int,
    halves: tuple[Half, Half],
    stations: Any,
    passage: float,
    size: FloatArray,
    basin: float,
) -> Plaza | None:
    ends = []
    for (street, side), station in zip(halves, stations, strict=True):
        s = streets[street]
        offset = s.zones[side].offsets(s.road_half)[5] * (1 if side == 0 else -1)
        ends.append(s.place(np.array([station]), np.array([offset]))[0][0])
    a, b = ends
    along = unit(b - a)
    across = left_of(along)
    middle = (a + b) / 2
    distance = float(exact.hypot(*(b - a)))
    if distance < size[0] + 30:
        return None
    half = size / 2
    square = shapely.Polygon([middle + along * half[0] * x + across * half[1] * y for x, y in _CORNERS])
    way = shapely.LineString([a - along * 4, b + along * 4]).buffer(passage / 2, cap_style="flat")
    within = shapely.Polygon(ring_line(streets, corners, ring, 4))
    lots = shapely.Polygon(ring_line(streets, corners, ring, 5)).buffer(-6.0)
    if not lots.contains(square):
        return None
    area = shapely.set_precision(shapely.intersection(shapely.union(square, way), within), 0.001)
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
            place = plaza.centre + along * half[0] * x + across * side * (half[1] - 1.6)
            rows.add("bench", place, along, (1.8, 0.5), 0.45, block)
            rows.use("bench", place - across * side * 0.65, across * side, block)
        for x in (-1, 1):
            corner = plaza.centre + along * x * (half[0] - 2.2) + across * side * (half[1] - 2.2)
            size = float(exact.uniform(rng, 0.3, 0.5))
            rows.add("tree", corner, along, (size, size), float(exact.uniform(rng, 5.0, 8.0)), block)
            lamp = plaza.centre + along * x * (half[0] - 5.0) + across * side * (half[1] - 3.0)
            rows.add("lamp post", lamp, along, (0.18, 0.18), 4.5, block)
    side = 1 if rng.random() < 0.5 else -1
    kiosk = plaza.centre + along * side * half[0] * 0.22 + across * side * (half[1] - 3.6)
    rows.add("kiosk", kiosk, along, (2.4, 1.6), 1.1, block)
    rows.use("kiosk", kiosk - across * side * 1.4, across * side, block)
