"""What is seen beyond the scene: a backdrop of distant houses and trees around an open scene, and the buildings around
an enclosed court.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.building import add_building, draw_height
from sidestep.render.scene.furniture import FurniturePiece
from sidestep.render.scene.layout import SNAP, Layout, minus, off_grid
from sidestep.render.scene.solids import (
    MeshBuilder,
    OrientedRectangle,
    band,
    blob,
    disc,
    flat,
    polygon_parts,
    prism,
    sides,
)
from sidestep.render.scene.street_furniture import add_tree

CLEAR = 80.0
"""m between the drawing and the scenery: farther than sensors reach and robots get."""
STOREY = 3.2  # m, of far houses
TREES = 24  # between the drawing and the houses
TREE_BELT = 20.0  # m before the houses


def add_backdrop(builder: MeshBuilder, layout: Layout, rng: np.random.Generator) -> None:
    """Scenery around an open scene, with gaps where streets leave it: trees, and two rows of plain houses. Nothing of
    it is solid, so it is sky to depth pictures, classes and lidars."""
    x0, y0, x1, y1 = layout.bounds
    streets = _streets(layout)
    taken = [streets]
    with builder.backdrop():
        for row, distance in enumerate((CLEAR, CLEAR + 22.0)):
            west, south, east, north = x0 - distance, y0 - distance, x1 + distance, y1 + distance
            lines = [((west, south), (east, south)), ((east, south), (east, north)), ((east, north), (west, north))]
            for start, end in [*lines, ((west, north), (west, south))]:
                _house_row(builder, np.array(start), np.array(end), taken, rng, row)
        for x, y in _tree_positions(layout, streets, rng):
            _add_far_tree(builder, x, y, rng)


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
        flat(builder, footprint, height, roof, Semantic.BUILDING, turn=OrientedRectangle.about(footprint).angle)


def _add_far_tree(builder: MeshBuilder, x: float, y: float, rng: np.random.Generator) -> None:
    height, leaves = rng.uniform(7, 11), str(rng.choice(["leaves", "leaves_light", "leaves_dark"]))
    sides(builder, disc(x, y, 0.25, 6), -0.15, 0.5 * height, "bark", Semantic.TREE)
    wide = rng.uniform(0.2, 0.27) * height
    for up, share in ((0.5, 1.0), (0.76, 0.7)):
        size = share * wide
        shift = 0.3 * (1.0 - share) * wide
        blob(builder, (x + shift, y - shift, up * height), (size, size, 0.26 * height), leaves, Semantic.TREE, rng, 0.3)


def _tree_positions(layout: Layout, streets: Any, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Points in a belt before the far houses, off the streets."""
    x0, y0, x1, y1 = layout.bounds
    near = shapely.box(x0, y0, x1, y1).buffer(CLEAR - TREE_BELT)
    taken = shapely.union(streets.buffer(2.0), near)
    far = CLEAR - 3.0
    places: list[tuple[float, float]] = []
    for _ in range(20 * TREES):
        x, y = float(rng.uniform(x0 - far, x1 + far)), float(rng.uniform(y0 - far, y1 + far))
        spread = all((x - px) ** 2 + (y - py) ** 2 > 36.0 for px, py in places)
        if spread and not shapely.contains_xy(taken, x, y):
            places.append((round(x, 3), round(y, 3)))
        if len(places) == TREES:
            break
    return places


LEDGE = 0.5  # m, height of the border wall
HEDGE = 0.95  # m, top of the hedge behind it
SETBACK = 1.1  # m from the border to the house fronts
DEPTH = 7.0  # m of houses and gardens
SECTOR = 9.0  # m of front per house, about
BACK_WALL = 2.4  # m, behind gardens
APRON = 40.0  # m of ground beyond


def add_court(builder: MeshBuilder, layout: Layout, rng: np.random.Generator) -> None:
    """Everything outside the open ground. The border itself is exact; only what lies behind it is smoothed."""
    court = layout.open_area
    front = house_line(court)
    with builder.object():
        _add_border(builder, court, front, rng)
    outer = front.minimum_rotated_rectangle.buffer(DEPTH, join_style="mitre")
    block = shapely.difference(off_grid(outer), off_grid(front))
    plots = _plots(block, front)
    gardens = [plot for index, plot in enumerate(plots) if index % 4 == 3]
    houses = [plot for index, plot in enumerate(plots) if index % 4 != 3]
    seen = shapely.union_all([front.boundary, *(garden.boundary for garden in gardens)])
    for garden in gardens:
        _add_garden(builder, garden, outer, rng)
    for index, house in enumerate(houses):
        others = shapely.union_all([other for k, other in enumerate(houses) if k != index])
        with builder.object():
            height = draw_height(rng, 4)  # low enough for the sun to reach the court
            shop = bool(rng.random() < 0.4)
            add_building(builder, house, height, rng, shop=shop, seen=seen, blind=others)
    _add_apron(builder, outer)


def house_line(court: Any) -> Any:
    """A smooth line around the court: at least 0.15 m outside it, notches under 3 m closed, as straight as may be."""
    hull = shapely.union_all([shapely.Polygon(part.exterior) for part in polygon_parts(court)])
    closed: Any = hull.buffer(SETBACK + 1.5, join_style="mitre", mitre_limit=2.0).buffer(-1.5, quad_segs=3)
    closed = shapely.union_all([shapely.Polygon(part.exterior) for part in polygon_parts(closed)])
    for tolerance in (0.9, 0.7, 0.5, 0.3, 0.1, 0.0):
        front = shapely.set_precision(shapely.simplify(closed, tolerance), SNAP)
        if front.buffer(-0.15).contains(hull):
            break
    return front


def _add_border(builder: MeshBuilder, court: Any, front: Any, rng: np.random.Generator) -> None:
    stone = str(rng.choice(["rubble", "granite", "sandstone"]))
    for part in polygon_parts(minus(front, court)):
        for ring in (part.exterior, *part.interiors):
            corners = np.asarray(ring.coords)[:-1]
            band(builder, corners, corners, -0.05, LEDGE, stone, Semantic.WALL)
        part, rim = off_grid(part), off_grid(court).buffer(0.16, join_style="mitre")
        coping, bed = shapely.intersection(part, rim), shapely.difference(part, rim)
        for top in polygon_parts(coping, 1e-3):
            flat(builder, top, LEDGE, "stone_pale", Semantic.WALL)
        for soil in polygon_parts(bed, 1e-3):
            flat(builder, soil, LEDGE, "grass", Semantic.GRASS)
        for hedge in polygon_parts(bed.buffer(-0.06, join_style="mitre"), 0.05):
            prism(builder, hedge, LEDGE - 0.02, HEDGE, "hedge", Semantic.GRASS)


def _plots(block: Any, front: Any) -> list[Any]:
    """The block cut by rays from the middle of the court into plots with about ``SECTOR`` m of front."""
    middle = np.asarray(front.centroid.coords)[0]
    line = front.exterior if front.geom_type == "Polygon" else front.convex_hull.exterior
    corners = np.asarray(line.coords)[:-1]
    steps = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    places = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    cuts: list[float] = []
    for place in places[np.argsort(-np.linalg.norm(corners - middle, axis=1))]:
        if all(abs((place - cut + line.length / 2) % line.length - line.length / 2) > 0.6 * SECTOR for cut in cuts):
            cuts.append(float(place))
    cuts.sort()
    rays = []
    for start, end in zip(cuts, [*cuts[1:], cuts[0] + line.length], strict=True):
        pieces = max(round((end - start) / SECTOR), 1)
        for k in range(pieces):
            at = np.asarray(line.interpolate((start + (end - start) * k / pieces) % line.length).coords)[0]
            away = (at - middle) / np.hypot(*(at - middle))
            rays.append(shapely.LineString([middle, at + 6 * DEPTH * away]))
    lines = shapely.union_all([block.boundary, *rays])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    inside = shapely.contains(block, shapely.point_on_surface(faces))
    plots = [part for face in shapely.remove_repeated_points(faces[inside], 1e-6) for part in polygon_parts(face, 0.5)]
    around = [np.arctan2(*(np.asarray(plot.centroid.coords)[0] - middle)[::-1]) for plot in plots]
    return [plots[k] for k in np.argsort(around)]


def _add_garden(builder: MeshBuilder, plot: Any, outer: Any, rng: np.random.Generator) -> None:
    """Raised lawn with trees and a tall wall behind."""
    plot, rim = off_grid(plot), off_grid(outer).boundary.buffer(0.3, join_style="mitre")
    wall, lawn = shapely.intersection(plot, rim), shapely.difference(plot, rim)
    with builder.object():
        for part in polygon_parts(wall):
            prism(builder, part, -0.05, BACK_WALL, "brick_brown", Semantic.WALL, top="stone_pale")
    for part in polygon_parts(lawn):
        sides(builder, part, -0.05, LEDGE, "rubble", Semantic.WALL)
        flat(builder, part, LEDGE, "grass", Semantic.GRASS)
        inner = part.buffer(-1.2)
        x0, y0, x1, y1 = part.bounds
        placed: list[tuple[float, float]] = []
        for _ in range(40):
            x, y = float(rng.uniform(x0, x1)), float(rng.uniform(y0, y1))
            apart = all((x - a) ** 2 + (y - b) ** 2 > 9.0 for a, b in placed)
            if len(placed) < 3 and apart and shapely.contains_xy(inner, x, y):
                placed.append((x, y))
                with builder.object():
                    trunk = disc(x, y, 0.16, 8)
                    piece = FurniturePiece(
                        trunk, OrientedRectangle.about(trunk), rng.uniform(5, 7), rng, frozenset(), False, LEDGE
                    )
                    add_tree(builder, piece)


def _add_apron(builder: MeshBuilder, outer: Any) -> None:
    x0, y0, x1, y1 = outer.bounds
    far = shapely.box(x0 - APRON, y0 - APRON, x1 + APRON, y1 + APRON)
    for part in polygon_parts(minus(far, outer)):
        flat(builder, part, 0.0, "asphalt", Semantic.ROAD)
