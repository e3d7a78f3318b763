"""Things along a street, zone by zone: parked cars on the road, posts and trees in the verge, tables in the frontage.

Some things stand in the clear sidewalk itself. They touch one of its edges and leave at least ``PASSAGE`` free; a
``Clutter`` says how far the way past them is from the middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep._util import exact
from sidestep.scenes.towns.pieces import ObjectRows
from sidestep.scenes.towns.streets import Street
from sidestep.scenes.walkways import left_of, stations_between
from sidestep.types.base import BoolArray, FloatArray

PASSAGE = 1.5  # m, free width beside things in the clear sidewalk
SLOT = 3.2  # m between things in the verge
FRONTAGE_SLOT = 2.8  # m
CAR_SLOT = 6.0  # m
TAPER = 3.5  # m over which a way swings round a thing

VERGE_THINGS: tuple[tuple[str, float, float, float, float], ...] = (
    # name, share of the free slots, length, width, height (m)
    ("litter bin", 0.05, 0.5, 0.5, 1.0),
    ("hydrant", 0.03, 0.3, 0.3, 0.8),
    ("sign post", 0.05, 0.12, 0.12, 2.7),
    ("bench", 0.07, 1.8, 0.5, 0.45),
    ("planter", 0.06, 1.4, 0.6, 0.6),
    ("bollard", 0.05, 0.2, 0.2, 0.9),
    ("cabinet", 0.03, 1.0, 0.45, 1.3),
    ("kiosk", 0.015, 2.2, 1.4, 1.1),
)
FRONTAGE_THINGS: tuple[tuple[str, float, float, float, float], ...] = (
    ("planter", 0.06, 1.2, 0.4, 0.6),
    ("plant pot", 0.08, 0.45, 0.45, 1.2),
    ("cafe table", 0.06, 0.7, 0.7, 0.75),
    ("bench", 0.03, 1.6, 0.45, 0.45),
    ("litter bin", 0.02, 0.45, 0.45, 1.0),
)
SIDEWALK_THINGS: tuple[tuple[str, float, float, float], ...] = (
    # name, length, width, height (m)
    ("litter bin", 0.5, 0.5, 1.0),
    ("planter", 1.3, 0.5, 0.6),
    ("plant pot", 0.45, 0.45, 1.2),
    ("bench", 1.7, 0.48, 0.45),
    ("cafe table", 0.7, 0.7, 0.75),
    ("bollard", 0.2, 0.2, 0.9),
    ("cabinet", 0.9, 0.45, 1.3),
    ("sign post", 0.14, 0.14, 2.7),
)


@dataclass(frozen=True)
class Clutter:
    """Something in the clear sidewalk: its station and half length along the street, and where the way past it is, m
    from the middle towards the lots."""

    station: float
    half_length: float
    shift: float


def furnish_street(
    street: Street, mouths: tuple[list[float], list[float]], rows: ObjectRows, block: int, rng: np.random.Generator
) -> tuple[tuple[Clutter, ...], tuple[Clutter, ...]]:
    """All things of one street; ``mouths[side]`` are stations of passages. Returns what stands in either sidewalk."""
    if street.parking:
        _park_cars(street, rows, block, rng)
    _mark_crossings(street, rows, block, rng)
    clutter = []
    for side in (0, 1):
        stop = _bus_stop(street, side, mouths[side], rows, block, rng)
        clutter.append(_fill_sidewalk(street, side, mouths[side] + stop, rows, block, rng))
        _fill_verge(street, side, stop, rows, block, rng)
        _fill_frontage(street, side, mouths[side], clutter[-1], rows, block, rng)
    return clutter[0], clutter[1]


def shift_at(clutter: tuple[Clutter, ...], stations: FloatArray) -> FloatArray:
    """How far the way past things lies from the middle of the sidewalk, towards the lots, m."""
    shift = np.zeros(len(stations))
    for thing in clutter:
        beyond = (np.abs(stations - thing.station) - thing.half_length - 0.7) / TAPER
        near = beyond < 1.0
        if near.any():
            shift[near] += thing.shift * (0.5 + 0.5 * exact.cos(np.pi * np.maximum(beyond[near], 0.0)))
    return shift


def _away(
    street: Street, stations: FloatArray, margin: float, others: list[float] | None = None, gap: float = 0.0
) -> BoolArray:
    """Which stations are ``margin`` m from the edges of crosswalks and ``gap`` m from other stations."""
    free = np.full(len(stations), True)
    for crossing in street.crossings:
        free &= np.abs(stations - crossing.station) > crossing.width / 2 + margin
    for other in others or []:
        free &= np.abs(stations - other) > gap
    return free


def _put(
    street: Street, side: int, stations: FloatArray, distance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points at ``distance`` from the centre line, directions along the street, and directions towards the lots."""
    sign = 1.0 if side == 0 else -1.0
    points, along = street.points_at(stations, sign * distance)
    return points, along, sign * left_of(along)


def _park_cars(street: Street, rows: ObjectRows, block: int, rng: np.random.Generator) -> None:
    for side in (0, 1):
        stations = stations_between(street.start + 6, street.end - 6, CAR_SLOT)
        stations = stations + exact.uniform(rng, -0.3, 0.3, len(stations))
        there = (rng.random(len(stations)) < 0.5) & _away(street, stations, 5.5)
        points, along, _ = _put(street, side, stations, np.full(len(stations), street.road_half - 1.1))
        for k in np.flatnonzero(there).tolist():
            rows.add("parked car", points[k], along[k], (4.3, 1.78), 1.45, block)


def _mark_crossings(street: Street, rows: ObjectRows, block: int, rng: np.random.Generator) -> None:
    """Signals, signs or bollards beside ramps, in the verge."""
    for crossing in street.crossings:
        name, size, tall = (("signal post", 0.2, 3.2), ("sign post", 0.12, 2.7), ("bollard", 0.2, 0.9))[
            0 if street.chain.arterial and not crossing.mid_block else int(rng.integers(1, 3))
        ]
        for side, before in ((0, 1), (1, -1), (0, -1), (1, 1)):
            if name == "signal post" and (side == 0) != (before == 1):
                continue
            zones = street.zones[side]
            station = np.array([crossing.station + before * (crossing.width / 2 + 0.35)])
            distance = np.array([street.road_half + zones.kerb + min(0.5, zones.verge / 2)])
            points, along, _ = _put(street, side, station, distance)
            rows.add(name, points[0], along[0], (size, size), tall, block)


def _bus_stop(
    street: Street, side: int, mouths: list[float], rows: ObjectRows, block: int, rng: np.random.Generator
) -> list[float]:
    """A shelter in a wide verge of an arterial: glass at the kerb, a bench before it, open to the sidewalk."""
    zones = street.zones[side]
    share, wanted = exact.uniform(rng, 0.2, 0.8), rng.random() < 0.5
    station = np.array([street.start + share * (street.end - street.start)])
    if not (wanted and street.chain.arterial and zones.verge >= 1.3) or not _away(street, station, 8.0, mouths, 8.0)[0]:
        return []
    near = street.road_half + zones.kerb
    for name, distance, size, tall in (
        ("bus shelter", near + 0.25, (3.6, 0.1), 2.4),
        ("bench", near + 0.65, (2.2, 0.4), 0.45),
    ):
        points, along, inward = _put(street, side, station, np.array([distance]))
        rows.add(name, points[0], along[0], size, tall, block)
    points, along, _ = _put(street, side, station + 2.6, np.array([near + 0.4]))
    rows.add("sign post", points[0], along[0], (0.12, 0.12), 2.7, block)
    points, _, inward = _put(street, side, station, np.array([near + zones.verge + 0.35]))
    rows.add_standing_point("bus_stop", points[0], -inward[0], block)
    return [float(station[0])]


def _fill_verge(
    street: Street, side: int, stops: list[float], rows: ObjectRows, block: int, rng: np.random.Generator
) -> None:
    """Lamp posts and trees at steady distances, other things in the slots between."""
    zones = street.zones[side]
    stations = stations_between(street.start + 1.5, street.end - 1.5, SLOT)
    lamp_every, tree_every = int(rng.integers(7, 11)), int(rng.integers(2, 5))
    trees, phase = rng.random() < 0.75, int(rng.integers(0, 4))
    random_share, size, tall = (
        rng.random(len(stations)),
        exact.uniform(rng, 0.28, 0.5, len(stations)),
        exact.uniform(rng, 4.5, 8.0, len(stations)),
    )
    free = _away(street, stations, 1.9, stops, 4.6)
    middle = street.road_half + zones.kerb + zones.verge / 2
    points, along, inward = _put(street, side, stations, np.full(len(stations), middle))
    for k in np.flatnonzero(free).tolist():
        slot = k + phase
        if slot % lamp_every == 0:
            rows.add("lamp post", points[k], along[k], (0.18, 0.18), 4.6, block)
        elif trees and slot % tree_every == 1:
            rows.add("tree", points[k], along[k], (float(size[k]), float(size[k])), float(tall[k]), block)
        elif (thing := _pick(VERGE_THINGS, float(random_share[k]), zones.verge - 0.1)) is not None:
            name, long, wide, high = thing
            rows.add(name, points[k], along[k], (long, wide), high, block)
            if name in ("bench", "kiosk"):
                rows.add_standing_point(name, points[k] + inward[k] * (wide / 2 + 0.45), -inward[k], block)


def _pick(
    things: tuple[tuple[str, float, float, float, float], ...], random_share: float, room: float
) -> tuple[str, float, float, float] | None:
    """The thing that a number in [0, 1) stands for, if it fits into ``room`` m."""
    for name, share, long, wide, high in things:
        random_share -= share
        if random_share < 0:
            return (name, long, wide, high) if wide <= room else None
    return None


def _fill_frontage(
    street: Street,
    side: int,
    mouths: list[float],
    clutter: tuple[Clutter, ...],
    rows: ObjectRows,
    block: int,
    rng: np.random.Generator,
) -> None:
    zones = street.zones[side]
    stations = stations_between(street.start + 2.0, street.end - 2.0, FRONTAGE_SLOT)
    random_share = rng.random(len(stations))
    free = _away(street, stations, 0.0, mouths, 6.0) & _away(street, stations, -9.0, [c.station for c in clutter], 2.5)
    distance = zones.offsets(street.road_half)[5] - zones.frontage / 2
    points, along, _ = _put(street, side, stations, np.full(len(stations), distance))
    for k in np.flatnonzero(free).tolist():
        if (thing := _pick(FRONTAGE_THINGS, float(random_share[k]), zones.frontage - 0.04)) is not None:
            name, long, wide, high = thing
            rows.add(name, points[k], along[k], (long, wide), high, block)


def _fill_sidewalk(
    street: Street, side: int, mouths: list[float], rows: ObjectRows, block: int, rng: np.random.Generator
) -> tuple[Clutter, ...]:
    """Things at either edge of the clear sidewalk, 13 m or more apart."""
    zones = street.zones[side]
    count = int((street.end - street.start) / 13.0)
    gaps, what = exact.uniform(rng, 13.0, 34.0, count), rng.integers(0, len(SIDEWALK_THINGS), count)
    at_verge, share = rng.random(count) < 0.6, rng.random(count)
    stations = street.start + np.cumsum(gaps) - 6.0
    free = _away(street, stations, 7.0, mouths, 7.0) & (stations < street.end - 2.0) & (share < 0.9)
    edge = zones.offsets(street.road_half)
    clutter = []
    for k in np.flatnonzero(free).tolist():
        name, long, wide, high = SIDEWALK_THINGS[int(what[k])]
        most = zones.sidewalk - PASSAGE
        if wide > most:
            continue
        reach = wide + min(share[k] * 0.4, most - wide)  # m from the sidewalk's edge to the thing's far side
        distance = edge[2] + reach - wide / 2 if at_verge[k] else edge[4] - reach + wide / 2
        points, along, _ = _put(street, side, stations[k : k + 1], np.array([distance]))
        rows.add(name, points[0], along[0], (long, wide), high, block)
        clutter.append(Clutter(float(stations[k]), long / 2, float(reach / 2 if at_verge[k] else -reach / 2)))
    return tuple(clutter)
