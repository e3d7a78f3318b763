"""What lies beyond the drawing of an open scene: streets go on, far houses and trees close the view.

Houses keep ``CLEAR`` from the drawing, trees and lamp posts 3 m. They stand on grass or in verges that go on, never on
continued roads, sidewalks or walkways, where a walker may leave the drawing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.areas import SNAP, join
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.layout import Layout
from sidestep.render.scene.solids import Frame, flat, sides

REACH = 60.0  # m that the ground goes on
SQUARE_REACH = 14.0  # m that a wide open square goes on
NARROW = 8.0  # m: walkways up to this width go on like streets
CLEAR = 16.0  # m between the drawing and the first far house
STOREY = 3.2  # m, of far houses
CONTINUED = ("road", "sidewalk", "kerb", "verge", "frontage", "walkable", "grass")


def continue_ground(layout: Layout) -> Layout:
    """Regions that reach the border of the drawing, drawn out straight beyond it."""
    if layout.enclosed or layout.indoor or not layout.ground:
        return layout
    longer = []
    for region, polygon in layout.ground:
        if region.kind in CONTINUED:
            strips = [strip for side in range(4) for strip in _strips(polygon, layout.bounds, side, region.kind)]
            polygon = join([polygon, *strips])
        longer.append((region, polygon))
    return replace(layout, ground=tuple(longer))


def _strips(polygon: Any, bounds: tuple[float, float, float, float], side: int, kind: str) -> list[Any]:
    """Boxes beyond one side (0 west, 1 east, 2 south, 3 north) over the stretches where the polygon touches it."""
    x0, y0, x1, y1 = bounds
    thin = 0.01
    edge = [(x0, y0, x0 + thin, y1), (x1 - thin, y0, x1, y1), (x0, y0, x1, y0 + thin), (x0, y1 - thin, x1, y1)][side]
    strips = []
    for part in shapely.get_parts(shapely.intersection(polygon, shapely.box(*edge))):
        if part.geom_type != "Polygon" or part.area < 0.5 * thin * thin:
            continue
        a0, b0, a1, b1 = (round(value, 3) for value in part.bounds)
        width = (b1 - b0) if side < 2 else (a1 - a0)
        if width < 0.05:
            continue
        reach = REACH if kind not in ("walkable", "grass") or width <= NARROW else SQUARE_REACH
        strips.append(
            [
                shapely.box(x0 - reach, b0, x0, b1),
                shapely.box(x1, b0, x1 + reach, b1),
                shapely.box(a0, y0 - reach, a1, y0),
                shapely.box(a0, y1, a1, y1 + reach),
            ][side]
        )
    return strips


def add_far_houses(builder: MeshBuilder, layout: Layout, rng: np.random.Generator) -> None:
    """Two rows of plain houses around the drawing, with gaps where streets leave it."""
    x0, y0, x1, y1 = layout.bounds
    taken = [_streets(layout)]
    for row, distance in enumerate((CLEAR, CLEAR + 22.0)):
        west, south, east, north = x0 - distance, y0 - distance, x1 + distance, y1 + distance
        lines = [((west, south), (east, south)), ((east, south), (east, north)), ((east, north), (west, north))]
        for start, end in [*lines, ((west, north), (west, south))]:
            _house_row(builder, np.array(start), np.array(end), taken, rng, row)


def _streets(layout: Layout) -> Any:
    x0, y0, x1, y1 = layout.bounds
    drawn = shapely.box(x0, y0, x1, y1)
    strips = []
    for region, polygon in layout.ground:
        beyond = shapely.difference(polygon, drawn)
        if region.kind in ("road", "sidewalk", "kerb", "verge", "frontage") or region.kind == "walkable":
            strips.append(beyond)
    return shapely.union_all(strips).buffer(1.0, join_style="mitre") if strips else shapely.Polygon()


def _house_row(
    builder: MeshBuilder, start: Any, end: Any, taken: list[Any], rng: np.random.Generator, row: int
) -> None:
    length = float(np.hypot(*(end - start)))
    along = (end - start) / length
    outside = np.array([along[1], -along[0]])
    at = -8.0 + rng.uniform(0, 4)
    while at < length + 8.0:
        width, depth = STOREY * rng.integers(3, 7), STOREY * rng.integers(3, 5)
        near, far = start + along * at, start + along * (at + width)
        at += width + (rng.uniform(2, 9) if rng.random() < 0.5 else 0.05)
        storeys = int(rng.integers(3, 6)) + 2 * row
        shape = shapely.Polygon([near + outside * depth, far + outside * depth, far, near])
        if any(other.intersects(shape) for other in taken):
            continue
        taken.append(shape)
        add_far_house(builder, shapely.set_precision(shape, SNAP), STOREY * storeys, rng)


def add_far_house(builder: MeshBuilder, footprint: Any, height: float, rng: np.random.Generator) -> None:
    """A plain block with its windows in the picture of its walls."""
    material, roof = f"facade_far_{rng.integers(1, 4)}", str(rng.choice(["gravel", "roof_slate"]))
    with builder.object():
        sides(builder, footprint, -0.2, height, material, Semantic.BUILDING)
        flat(builder, footprint, height, roof, Semantic.BUILDING, turn=Frame.about(footprint).angle)


def verge_places(layout: Layout, reach: float = 40.0, pitch: float = 8.0) -> list[tuple[float, float]]:
    """Points in the middle of verges that go on beyond the drawing, every ``pitch`` m."""
    x0, y0, x1, y1 = layout.bounds
    near, far = shapely.box(x0 - 3, y0 - 3, x1 + 3, y1 + 3), shapely.box(x0 - reach, y0 - reach, x1 + reach, y1 + reach)
    places: list[tuple[float, float]] = []
    for region, polygon in layout.ground:
        beyond = shapely.intersection(shapely.difference(polygon, near), far) if region.kind == "verge" else None
        for part in shapely.get_parts(beyond) if beyond is not None else ():
            frame = Frame.about(part) if part.geom_type == "Polygon" and part.area > 1.0 else None
            if frame is None or frame.width < 0.5:
                continue
            count = int(frame.length / pitch)
            along = [((k + 0.5) / count - 0.5) * frame.length for k in range(count)]
            places += [(round(x, 3), round(y, 3)) for x, y in frame.to_world([(a, 0.0) for a in along]).tolist()]
    return places


def tree_places(layout: Layout, rng: np.random.Generator, count: int = 14) -> list[tuple[float, float]]:
    """Points beyond the drawing, off the streets, for decorative trees: 3 to 14 m from the border."""
    x0, y0, x1, y1 = layout.bounds
    drawn = shapely.box(x0, y0, x1, y1)
    taken = shapely.union(_streets(layout).buffer(1.0), drawn.buffer(3.0))
    places: list[tuple[float, float]] = []
    for _ in range(12 * count):
        x, y = float(rng.uniform(x0 - 13, x1 + 13)), float(rng.uniform(y0 - 13, y1 + 13))
        spread = all((x - px) ** 2 + (y - py) ** 2 > 16.0 for px, py in places)
        if spread and not shapely.contains_xy(taken, x, y):
            places.append((round(x, 3), round(y, 3)))
        if len(places) == count:
            break
    return places
