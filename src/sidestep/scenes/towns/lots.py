"""What stands behind the frontage: houses wall to wall or with gaps, villas in gardens, parks; and the ground there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.towns.ground import Plaza
from sidestep.scenes.towns.network import HALF
from sidestep.scenes.towns.pieces import ObjectRows, PieceList
from sidestep.scenes.towns.streets import Layout, Ring, half_lines
from sidestep.scenes.walkways import dot, left_of, section, stations_between, stations_of, unit
from sidestep.types.base import FloatArray

STOREY = 3.1  # m
PARKS = 0.08  # share of the blocks
SMALLEST = 40.0  # m², of a house
NAMES = ("house", "house", "house", "shop", "shop", "cafe", "hotel", "house")
SHOPS = frozenset({"shop", "cafe", "hotel"})


@dataclass(frozen=True, eq=False)
class House:
    polygon: Any
    height: float
    name: str
    front: FloatArray  # (2,) middle of the front
    inward: FloatArray  # (2,) unit
    block: int


def lay_lots(
    layout: Layout, plazas: tuple[Plaza, ...], rng: np.random.Generator, pieces: PieceList, rows: ObjectRows
) -> None:
    """Frontages, houses, alleys, gardens and parks of all blocks."""
    by_ring = {plaza.ring: plaza for plaza in plazas}
    houses: list[House] = []
    for index, ring in enumerate(layout.rings):
        plaza = by_ring.get(index)
        park = bool(rng.random() < PARKS) and plaza is None and not ring.outer
        _add_frontage(layout, ring, plaza, pieces)
        inner: Any = shapely.Polygon(layout.ring_line(ring, 5))
        if ring.outer:
            inner = shapely.difference(shapely.box(-HALF, -HALF, HALF, HALF), inner)
        alleys: list[Any] = []
        first = len(houses)
        if not park:
            for line in _sides(layout, ring):
                _line_up(line, ring.halves[0][0], rng, houses, alleys)
        if plaza is not None:
            _line_square(plaza, inner, ring.halves[0][0], rng, houses)
        _keep_inside(houses, first, inner)
        _add_yard(inner, plaza, alleys, park, ring.halves[0][0], pieces)
        free = inner if plaza is None else shapely.difference(inner, plaza.area.buffer(2.0))
        _plant(free, park, ring.halves[0][0], rng, rows)
    for house in _without_overlaps(houses, plazas):
        pieces.add("building", house.polygon, house.block, house.name, house.height)
        if np.isfinite(house.front).all():
            kind = "shop_window" if house.name in SHOPS else "door"
            rows.add_standing_point(kind, house.front - 0.7 * house.inward, house.inward, house.block)


def _add_frontage(layout: Layout, ring: Ring, plaza: Plaza | None, pieces: PieceList) -> None:
    for half, number in zip(ring.halves, ring.corners, strict=True):
        lines, corner = half_lines(layout.streets[half[0]], half[1]), layout.corners[number].lines
        if plaza is not None and half in plaza.halves:
            strip = shapely.Polygon(np.concatenate([lines[4], lines[5][::-1]]))
            _add_parts(pieces, "frontage", shapely.difference(strip, plaza.area, grid_size=0.001), half[0], "")
        else:
            pieces.strip("frontage", lines[4], lines[5], half[0])
        pieces.strip("frontage", corner[4], corner[5], half[0])


def _add_parts(pieces: PieceList, kind: str, geometry: Any, block: int, name: str) -> None:
    for part in shapely.get_parts(geometry):
        if part.geom_type == "Polygon" and part.area > 0.01:
            pieces.add(kind, part, block, name)


def _add_yard(inner: Any, plaza: Plaza | None, alleys: list[Any], park: bool, block: int, pieces: PieceList) -> None:
    """Grass where nothing else is; alleys are paved."""
    paved = shapely.union_all([*alleys, *([plaza.area] if plaza else [])], grid_size=0.001)
    if plaza is not None:
        alleys = [part for alley in alleys for part in shapely.get_parts(shapely.difference(alley, plaza.area))]
    if alleys:
        ground = shapely.intersection(shapely.union_all(alleys, grid_size=0.001), inner, grid_size=0.001)
        _add_parts(pieces, "frontage", ground, block, "alley")
    lawn = shapely.difference(inner, paved, grid_size=0.001) if not paved.is_empty else inner
    _add_parts(pieces, "grass", lawn, block, "park" if park else "yard")


def _sides(layout: Layout, ring: Ring) -> list[FloatArray]:
    """The inner edge of the frontage from each sharp corner to the next."""
    lines: list[list[FloatArray]] = [[]]
    for (street, side), number in zip(ring.halves, ring.corners, strict=True):
        lines[-1].append(half_lines(layout.streets[street], side)[5])
        corner = layout.corners[number].lines[5]
        if layout.corners[number].sharp:
            middle = len(corner) // 2
            lines[-1].append(corner[1 : middle + 1])
            lines.append([corner[middle:-1]])
        else:
            lines[-1].append(corner[1:-1])
    if len(lines) > 1:
        lines[0] = lines.pop() + lines[0]
    return [np.concatenate(parts) for parts in lines]


def _line_up(line: FloatArray, block: int, rng: np.random.Generator, houses: list[House], alleys: list[Any]) -> None:
    """Houses along one side of a block, from its start to its end, in one of three manners."""
    stations = stations_of(line)
    length = stations[-1]
    manner = ("terrace", "mixed", "villas")[int(rng.choice(3, p=[0.4, 0.4, 0.2]))]
    gap_share = {"terrace": 0.08, "mixed": 0.4, "villas": 0.9}[manner]
    storeys = int(rng.integers(2, 6)) if manner != "villas" else 2
    depth = float(exact.uniform(rng, 9.0, 16.0))
    at = 0.0
    while at < length - 7.0:
        width = float(exact.uniform(rng, 8.0, 15.0) if manner == "villas" else exact.uniform(rng, 8.0, 24.0))
        setback = float(exact.uniform(rng, 1.0, 4.0)) if manner == "villas" else 0.0
        tall = max(storeys + int(rng.integers(-1, 2)), 1) * STOREY + 0.45
        name = NAMES[int(rng.integers(len(NAMES)))] if manner != "villas" else "house"
        gap, random_share = float(exact.uniform(rng, 2.5, 7.0)), rng.random()
        end = min(at + width, length)
        if length - end < 7.0:
            end = length
        house = _house(section(line, at, end, stations), setback, depth, tall, name, block)
        if house is not None:
            houses.append(house)
        if random_share < gap_share and end < length - 20.0:
            if manner == "mixed" and at > 20.0:
                alleys.append(_lot(section(line, end, end + gap, stations), depth)[0])
            end += gap
        at = end


def _line_square(plaza: Plaza, inner: Any, block: int, rng: np.random.Generator, houses: list[House]) -> None:
    """Houses along the two sides of a plaza that have no passage."""
    across = left_of(plaza.along)
    for sign in (1.0, -1.0):
        side = plaza.centre + sign * across * (plaza.size[1] / 2 + 0.4)
        reach = sign * plaza.along * plaza.size[0] / 2
        found: list[House] = []
        _line_up(np.stack([side - reach, side, side + reach]), block, rng, found, [])
        houses += [house for house in found if inner.contains(house.polygon.buffer(1.0))]


def _keep_inside(houses: list[House], first: int, inner: Any) -> None:
    """Cut the houses from number ``first`` on at the edge of their block."""
    wide = inner.buffer(0.22, quad_segs=1)
    shapely.prepare(wide)
    polygons = np.array([house.polygon for house in houses[first:]], dtype=object)
    for index in np.flatnonzero(~shapely.covers(wide, polygons)).tolist():
        house = houses[first + index]
        parts = shapely.get_parts(shapely.intersection(house.polygon, inner, grid_size=0.001))
        houses[first + index] = replace(
            house, polygon=max(parts, key=lambda part: part.area, default=shapely.Polygon())
        )


def _lot(front: FloatArray, depth: float) -> tuple[Any, FloatArray]:
    """A lot of a depth (m) behind a front line, and the direction into it."""
    inward = left_of(unit(front[-1] - front[0]))
    ring = np.concatenate([front, [front[-1] + depth * inward, front[0] + depth * inward]])
    return shapely.Polygon(np.round(ring, 3)), inward


def _house(front: FloatArray, setback: float, depth: float, height: float, name: str, block: int) -> House | None:
    if setback:
        inward = left_of(unit(front[-1] - front[0]))
        bulge = float(dot(front - front[0], inward).max())
        front = front[[0, -1]] + inward * (setback + bulge)
    elif len(front) > 2:  # few long walls instead of many short ones; they stay within 0.2 m of the line
        front = shapely.get_coordinates(shapely.simplify(shapely.LineString(front), 0.18))
    lot, inward = _lot(front, depth)
    if not lot.is_valid or max(map(abs, lot.bounds)) > HALF - 1:
        return None
    middle = len(front) // 2
    return House(lot, round(height, 2), name, (front[middle - 1] + front[middle]) / 2, inward, block)


def _without_overlaps(houses: list[House], plazas: tuple[Plaza, ...]) -> list[House]:
    """Houses in order, each without what earlier ones and plazas cover; remainders that are no houses are left out."""
    polygons = np.array([house.polygon for house in houses], dtype=object)
    tree = shapely.STRtree(polygons)
    later, earlier = tree.query(polygons, predicate="intersects")
    shared = earlier < later
    later, earlier = later[shared], earlier[shared]
    real = shapely.area(shapely.intersection(polygons[later], polygons[earlier])) > 0.02
    cover: dict[int, list[int]] = {}
    for a, b in zip(later[real].tolist(), earlier[real].tolist(), strict=True):
        cover.setdefault(a, []).append(b)
    square: dict[int, Any] = {}
    for plaza in plazas:
        for index in tree.query(plaza.area, predicate="intersects").tolist():
            square[index] = plaza.area
    left: dict[int, House] = {}
    for index, house in enumerate(houses):
        polygon = house.polygon
        if polygon.geom_type != "Polygon" or polygon.area < SMALLEST:
            continue
        blocking = [left[k].polygon for k in sorted(cover.get(index, [])) if k in left]
        blocking += [square[index].buffer(0.0)] if index in square else []
        if blocking:
            polygon = shapely.difference(polygon, shapely.union_all(blocking), grid_size=0.001)
            polygon = max(shapely.get_parts(polygon), key=lambda part: part.area, default=polygon)
            if polygon.geom_type != "Polygon" or polygon.area < SMALLEST:
                continue
            if polygon.area < 0.8 * house.polygon.area and polygon.buffer(-2.2, quad_segs=1).is_empty:
                continue
            lost = polygon.distance(shapely.Point(house.front)) > 0.5
            house = replace(house, polygon=polygon, front=np.full(2, np.nan) if lost else house.front)
        left[index] = house
    return list(left.values())


def _plant(inner: Any, park: bool, block: int, rng: np.random.Generator, rows: ObjectRows) -> None:
    """Trees on a shaken grid: close in parks, wide apart in back yards."""
    pitch, border = (8.0, 2.0) if park else (26.0, 24.0)
    x0, y0, x1, y1 = inner.bounds
    xs, ys = np.meshgrid(stations_between(x0, x1, pitch), stations_between(y0, y1, pitch))
    points = np.stack([xs.ravel(), ys.ravel()], axis=1)
    points = points + exact.uniform(rng, -0.3, 0.3, points.shape) * pitch
    sizes, heights = exact.uniform(rng, 0.3, 0.6, len(points)), exact.uniform(rng, 5.0, 9.0, len(points))
    ground = inner.buffer(-border, quad_segs=2)
    inside = shapely.contains_xy(ground, points[:, 0], points[:, 1])
    for k in np.flatnonzero(inside).tolist():
        rows.add("tree", points[k], np.array([1.0, 0.0]), (float(sizes[k]), float(sizes[k])), float(heights[k]), block)
