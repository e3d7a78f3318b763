"""A 2D scene → everything in it that stands still, in 3D. Which piece of furniture a solid footprint is follows from
its name, then from its shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Scene3D
from sidestep.render.scene import furniture, street_furniture
from sidestep.render.scene.building import add_building, draw_height
from sidestep.render.scene.furniture import FurniturePiece
from sidestep.render.scene.ground import Palette, add_ground, cut_ground
from sidestep.render.scene.layout import (
    REACH,
    Footprint,
    GroundHeight,
    Layout,
    continue_ground,
    layout_height,
    read_layout,
)
from sidestep.render.scene.rooms import add_rooms, room_height
from sidestep.render.scene.scanned import load_scanned
from sidestep.render.scene.solids import LEAST_HEIGHT, MeshBuilder, OrientedRectangle
from sidestep.render.scene.surroundings import add_backdrop, add_court, add_far_house
from sidestep.types.scene import CompiledScene, SceneSpec

Maker = Callable[[MeshBuilder, FurniturePiece], None]

MAKERS: dict[str, tuple[Maker, float]] = {
    "tree": (street_furniture.add_tree, 5.0),
    "lamp_post": (street_furniture.add_lamp_post, 4.0),
    "signal": (street_furniture.add_signal, 3.3),
    "sign": (street_furniture.add_sign, 2.9),
    "bollard": (street_furniture.add_bollard, 0.9),
    "hydrant": (street_furniture.add_hydrant, 0.8),
    "bench": (furniture.add_bench, 0.45),
    "bin": (furniture.add_bin, 1.0),
    "planter": (street_furniture.add_planter, 0.6),
    "pot_plant": (street_furniture.add_pot_plant, 1.4),
    "basin": (street_furniture.add_basin, 0.5),
    "table": (furniture.add_table, 0.75),
    "counter": (furniture.add_counter, 1.1),
    "chair": (furniture.add_chair, 0.9),
    "sofa": (furniture.add_sofa, 0.8),
    "bookcase": (furniture.add_bookcase, 2.0),
    "cupboard": (furniture.add_cupboard, 0.9),
    "column": (furniture.add_column, 3.0),
    "partition": (furniture.add_partition, 1.1),
    "gate": (furniture.add_gate, 1.1),
    "barrier": (furniture.add_barrier, 1.1),
    "screen": (furniture.add_glass_screen, 2.4),
    "parked_car": (street_furniture.add_parked_car, 1.45),
    "block": (furniture.add_block, 1.0),
}
"""Every kind: its maker and its height if the scene gives none, m."""

NAMES: tuple[tuple[str, str], ...] = (
    ("signal", "signal traffic"),
    ("tree", "tree"),
    ("lamp_post", "lamp lantern light"),
    ("hydrant", "hydrant"),
    ("bollard", "bollard"),
    ("sign", "sign"),
    ("bench", "bench"),
    ("bin", "bin"),
    ("planter", "planter hedge"),
    ("pot_plant", "plant pot"),
    ("basin", "basin fountain pool"),
    ("counter", "reception counter kiosk"),
    ("sofa", "armchair sofa couch"),
    ("chair", "chair stool"),
    ("table", "table desk"),
    ("bookcase", "bookcase shelf"),
    ("cupboard", "cupboard sideboard cabinet wardrobe"),
    ("column", "column pillar"),
    ("partition", "wall fence"),
    ("gate", "gate"),
    ("barrier", "barrier"),
    ("gate", "turnstile"),
    ("screen", "shelter screen"),
    ("parked_car", "car van vehicle"),
    ("bollard", "post"),
    ("lamp_post", "pole"),
)
"""Kinds and the words that name them; the first match wins."""


def furniture_kind(footprint: Footprint, piece: FurniturePiece) -> str:
    """A key of ``MAKERS``."""
    for kind, words in NAMES:
        if not piece.words.isdisjoint(words.split()) and _fits(kind, piece):
            return kind
    return _by_shape(piece, footprint.region.kind)


def _fits(made: str, piece: FurniturePiece) -> bool:
    """A name that the shape contradicts is not believed."""
    length, width = piece.frame.length, piece.frame.width
    if made in ("tree", "lamp_post", "signal", "sign", "hydrant"):
        return length < 1.2 and length < 2.5 * width
    if made == "bollard":
        return length < 2.2 * width
    if made == "parked_car":
        return 1.2 < width < 2.6 and 2.5 < length < 7.5
    if made in ("chair", "bookcase", "screen"):
        return piece.rectangular
    return True


def _by_shape(piece: FurniturePiece, kind: str) -> str:
    length, width = piece.frame.length, piece.frame.width
    if not piece.indoor and piece.rectangular and 3.5 <= length <= 5.6 and 1.5 <= width <= 2.3:
        return "parked_car"
    if width < 0.5 and length > 3.5 * width:
        return "bench" if kind == "furniture" and 1.1 < length < 3.2 and width > 0.3 else "partition"
    if length <= 0.35:
        return "bollard" if piece.indoor or piece.height < 2.0 else "lamp_post"
    if length <= 0.8 and width > 0.6 * length:
        if piece.indoor:
            return "column" if kind == "obstacle" else "pot_plant"
        return "tree" if piece.height > 2.5 else ("bin" if length < 0.6 else "planter")
    if piece.rectangular and 1.1 <= length <= 2.6 and 0.35 <= width <= 0.75:
        return "bench" if piece.height < 0.6 or not piece.indoor else "cupboard"
    if piece.indoor:
        return ("table" if piece.height < 1.0 else "cupboard") if kind == "furniture" else "column"
    return "planter" if piece.height < 1.5 else "block"


BUILDING_LENGTH, BUILDING_AREA = 3.0, 8.0  # m, m²: larger unnamed solids outdoors are buildings
MOST_WINDOWS = 1200  # of all buildings: those farther from the middle get pictured windows, to bound the triangles
LOWEST_BUILDING = 2.2  # m
MAP_WALL = 2.4  # m, of unnamed solids in the map of a robot: like the lidar that drew it, nobody sees over them
MOST_UNNAMED = 150  # solids without a name, as in the map of a robot; more than this are plain blocks
SHOP_WORDS = frozenset({"shop", "store", "cafe", "hotel", "market", "restaurant", "kiosk"})


def build_scene(scene: CompiledScene | SceneSpec, seed: int = 0, indoor: bool | None = None) -> Scene3D:
    """The scene in 3D, metres, z up, sidewalks and floors at z = 0.

    ``seed`` chooses materials, storeys and other looks; shapes that one can run into do not depend on it. ``indoor``
    overrides the rule of ``layout.is_indoor``. The same arguments give the same triangles. A scene with a mesh looks
    like the mesh.
    """
    spec = scene.spec if isinstance(scene, CompiledScene) else scene
    if spec.mesh is not None:
        return load_scanned(spec)
    layout = continue_ground(read_layout(scene, indoor))
    height = layout_height(layout)
    builder = MeshBuilder()
    rng = np.random.default_rng([seed, 0x5CE])
    buildings = [f for f in layout.solids if is_building(f, layout.indoor)]
    _add_all_ground(builder, layout, height, buildings, rng)
    _add_buildings(builder, layout, buildings, rng)
    crowded = sum(not footprint.region.name for footprint in layout.solids) > MOST_UNNAMED
    for index, footprint in enumerate(layout.solids):
        if not is_building(footprint, layout.indoor):
            plain = crowded and not footprint.region.name
            _add_piece(builder, layout, footprint, height, np.random.default_rng([seed, index]), plain)
    _add_beyond(builder, layout, np.random.default_rng([seed, 0xFA2]))
    return builder.finish(layout.indoor)


def is_building(footprint: Footprint, indoor: bool) -> bool:
    """A building region, or outdoors a solid longer than 3 m, wider than 1 m and larger than 8 m² that is not shaped
    like a parked car and has no name of another thing; neither if its height is given as less than 2.2 m."""
    given = footprint.region.height
    if footprint.region.kind == "building":
        return not given or given >= LOWEST_BUILDING
    frame = OrientedRectangle.about(footprint.polygon)
    piece = _piece(footprint, 0.0, np.random.default_rng(0), indoor)
    large = frame.length > BUILDING_LENGTH and footprint.polygon.area > BUILDING_AREA and frame.width > 1.0
    low = given is not None and given < LOWEST_BUILDING
    made = furniture_kind(footprint, piece)
    known = made == "parked_car" or (
        bool(footprint.region.name) and made not in ("block", "planter", "bollard", "partition", "column")
    )
    return not indoor and large and not low and not known


def _add_all_ground(
    builder: MeshBuilder, layout: Layout, height: GroundHeight, buildings: list[Footprint], rng: np.random.Generator
) -> None:
    palette = Palette.draw(layout, rng)
    regions: list[tuple[str, Any]] = [(region.kind, polygon) for region, polygon in layout.ground]
    domain: Any = layout.open_area
    fill = "walkable"
    if not layout.enclosed and not layout.indoor:
        x0, y0, x1, y1 = layout.bounds
        domain = shapely.box(x0 - REACH, y0 - REACH, x1 + REACH, y1 + REACH)
        fill = "grass"
        if not any(region.kind == "road" for region, _ in layout.ground):
            regions.append(("walkable", shapely.box(x0, y0, x1, y1)))
    elif not layout.enclosed:
        domain = shapely.union(domain, shapely.box(*layout.bounds))
    footprints = shapely.union_all([f.polygon for f in buildings])
    add_ground(builder, cut_ground(regions, domain, fill, footprints, height, palette, layout.spec.roads))


def _add_buildings(builder: MeshBuilder, layout: Layout, buildings: list[Footprint], rng: np.random.Generator) -> None:
    heights = [footprint.region.height or draw_height(rng) for footprint in buildings]
    detailed = _near_enough(layout, buildings, heights)
    tree = shapely.STRtree([footprint.polygon for footprint in buildings])
    for index, footprint in enumerate(buildings):
        if index not in detailed:
            add_far_house(builder, footprint.polygon, heights[index], rng)
            continue
        near = [k for k in tree.query(footprint.polygon.buffer(0.1)) if k != index]
        neighbours = shapely.union_all([buildings[k].polygon for k in near]) if near else None
        with builder.object():
            shop = bool(footprint.words & SHOP_WORDS)
            add_building(builder, footprint.polygon, heights[index], rng, shop=shop, blind=neighbours)


def _near_enough(layout: Layout, buildings: list[Footprint], heights: list[float]) -> set[int]:
    """The buildings nearest the middle that have ``MOST_WINDOWS`` windows together, about one per 2.7 m and storey."""
    x0, y0, x1, y1 = layout.bounds
    middle = shapely.Point((x0 + x1) / 2, (y0 + y1) / 2)
    left, chosen = float(MOST_WINDOWS), set()
    for index in sorted(range(len(buildings)), key=lambda k: buildings[k].polygon.distance(middle)):
        left -= buildings[index].polygon.length / 2.7 * heights[index] / 3.1
        if left < 0:
            break
        chosen.add(index)
    return chosen


def _piece(footprint: Footprint, z: float, rng: np.random.Generator, indoor: bool) -> FurniturePiece:
    frame = OrientedRectangle.about(footprint.polygon, z)
    height = footprint.region.height
    tall = 1.0 if height is None else max(height, LEAST_HEIGHT)
    return FurniturePiece(footprint.polygon, frame, tall, rng, footprint.words, indoor, z)


def _add_piece(
    builder: MeshBuilder,
    layout: Layout,
    footprint: Footprint,
    height: GroundHeight,
    rng: np.random.Generator,
    plain: bool,
) -> None:
    z = float(height.at(np.asarray(footprint.polygon.centroid.coords))[0])
    piece = _piece(footprint, z, rng, layout.indoor)
    made = furniture_kind(footprint, piece) if not plain else ("column" if layout.indoor else "block")
    maker, usual = MAKERS[made]
    if footprint.region.height is None:
        tall = room_height(layout) if layout.indoor and made in ("column", "partition") else usual
        tall = MAP_WALL if plain and not layout.indoor else tall
        piece = FurniturePiece(piece.polygon, piece.frame, tall, rng, piece.words, piece.indoor, z)
    with builder.object():
        maker(builder, piece)


def _add_beyond(builder: MeshBuilder, layout: Layout, rng: np.random.Generator) -> None:
    if layout.indoor:
        add_rooms(builder, layout, rng)
    elif layout.enclosed:
        add_court(builder, layout, rng)
    else:
        add_backdrop(builder, layout, rng)
