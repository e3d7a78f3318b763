"""The ground: regions cut apart by kind, painted, stepped at kerbs, and triangulated without a crack.

Every point of the ground belongs to exactly one piece. Where two pieces differ in height, an upright face joins them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.areas import SNAP, join, meet, minus
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.layout import Layout, words
from sidestep.render.scene.levels import KERB_HEIGHT, GroundHeight, Plane
from sidestep.render.scene.markings import crosswalk_bars, road_paint
from sidestep.render.scene.solids import Frame, polygon_parts, turned
from sidestep.render.scene.triangulate import triangulate
from sidestep.types.base import FloatArray

PRIORITY = ("crosswalk", "ramp", "kerb", "verge", "grass", "frontage", "sidewalk", "road", "walkable")
"""Where open regions overlap, the first of these kinds is what one sees."""
KERB_WIDTH = 0.15  # m, of kerbs that the scene does not draw itself
FLAT, LOW = Plane(), Plane(c=-KERB_HEIGHT)
SEMANTIC = {
    "crosswalk": Semantic.ROAD,
    "ramp": Semantic.SIDEWALK,
    "kerb": Semantic.KERB,
    "verge": Semantic.GRASS,
    "grass": Semantic.GRASS,
    "frontage": Semantic.SIDEWALK,
    "sidewalk": Semantic.SIDEWALK,
    "road": Semantic.ROAD,
    "walkable": Semantic.SIDEWALK,
}


@dataclass(frozen=True)
class Piece:
    """Part of the ground with one look."""

    polygon: Any
    material: str
    semantic: Semantic
    plane: Plane = FLAT
    turn: float = 0.0  # rad, of the picture


@dataclass(frozen=True)
class Palette:
    """Which surface each kind of ground has in this scene."""

    surfaces: dict[str, str]

    @classmethod
    def draw(cls, layout: Layout, rng: np.random.Generator) -> Palette:
        if layout.indoor:
            return cls({kind: _indoor_floor(layout, rng) for kind in PRIORITY[-1:]})
        return cls(
            {
                "crosswalk": "asphalt",
                "road": "asphalt",
                "ramp": "tactile",
                "kerb": "kerb_stone",
                "verge": "grass",
                "grass": "grass",
                "frontage": str(rng.choice(["cobbles", "paving_grey"])),
                "sidewalk": str(rng.choice(["slabs", "slabs_warm"])),
                "walkable": str(rng.choice(["paving", "paving_grey", "slabs"])),
            }
        )


def _indoor_floor(layout: Layout, rng: np.random.Generator) -> str:
    names = words(layout.spec.name.replace("_", " ")).union(*(words(region.name) for region, _ in layout.ground))
    if names & {"lobby", "station", "mall", "museum"}:
        return "terrazzo"
    if names & {"corridor", "hallway", "ward", "clinic"}:
        return str(rng.choice(["vinyl", "carpet_grey", "carpet_blue"]))
    return str(rng.choice(["wood_floor", "carpet_blue", "tiles"]))


def cut_ground(
    regions: list[tuple[str, Any]], domain: Any, fill: str, buildings: Any, height: GroundHeight, palette: Palette
) -> list[Piece]:
    """Disjoint pieces that cover ``domain`` without the buildings. ``fill`` is the kind of ground nobody drew."""
    by_kind = {kind: [polygon for k, polygon in regions if k == kind] for kind in PRIORITY}
    left = minus(domain, buildings)
    areas: dict[str, Any] = {}
    ramps = join([ramp.polygon for ramp in height.ramps])
    for kind in PRIORITY:
        wanted = join(by_kind[kind])
        if kind == "ramp":
            wanted = join([wanted, ramps])
        areas[kind] = meet(wanted, left)
        left = minus(left, areas[kind])
    areas[fill] = join([areas[fill], left])
    if height.lowered.area > 0:
        _edge_with_kerbs(areas)
    return _pieces(areas, by_kind, height, palette)


def _edge_with_kerbs(areas: dict[str, Any]) -> None:
    """Kerb stones along every road edge that has none."""
    low = join([areas["road"], areas["crosswalk"]])
    strip = low.buffer(KERB_WIDTH, join_style="mitre")
    drawn = areas["kerb"].buffer(0.02)
    for kind in ("verge", "grass", "frontage", "sidewalk", "walkable"):
        stones = minus(meet(areas[kind], strip), drawn)
        stones = join([part for part in shapely.get_parts(stones) if part.area > 0.02])
        areas["kerb"] = join([areas["kerb"], stones])
        areas[kind] = minus(areas[kind], stones)


def _pieces(
    areas: dict[str, Any], by_kind: dict[str, list[Any]], height: GroundHeight, palette: Palette
) -> list[Piece]:
    pieces = []
    low = LOW if height.lowered.area > 0 else FLAT
    paint = road_paint(by_kind["road"], by_kind["crosswalk"])
    bars = join([crosswalk_bars(c, by_kind["road"]) for c in by_kind["crosswalk"]])
    for kind, area in areas.items():
        semantic = Semantic.FLOOR if set(palette.surfaces) == {"walkable"} else SEMANTIC[kind]
        material = palette.surfaces.get(kind, palette.surfaces["walkable"])
        plane = low if kind in ("road", "crosswalk") else FLAT
        if kind == "ramp":
            for ramp in height.ramps:
                part = meet(area, ramp.polygon)
                pieces.append(Piece(part, material, semantic, ramp.plane, Frame.about(ramp.polygon).angle))
                area = minus(area, ramp.polygon)
        if kind in ("road", "crosswalk"):
            lines, label = (paint, Semantic.LANE_MARKING) if kind == "road" else (bars, Semantic.CROSSWALK)
            painted = meet(area, lines)
            pieces.append(Piece(painted, "road_paint", label, plane))
            area = minus(area, painted)
            semantic = Semantic.CROSSWALK if kind == "crosswalk" else semantic
        for part in polygon_parts(area):
            pieces.append(Piece(part, material, semantic, plane, Frame.about(part).angle))
    return [piece for piece in pieces if piece.polygon.area > 1e-5]


def add_ground(builder: MeshBuilder, pieces: list[Piece]) -> None:
    """Node all outlines against each other, triangulate each face, and join different heights by upright faces."""
    outlines = shapely.union_all([piece.polygon.boundary for piece in pieces], grid_size=SNAP)
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(outlines)))
    inside = shapely.point_on_surface(faces)
    tree = shapely.STRtree([piece.polygon for piece in pieces])
    which, owner = tree.query(inside, predicate="within")
    first = np.unique(which, return_index=True)
    owned = {int(face): int(owner[place]) for face, place in zip(*first, strict=True)}
    edges: dict[tuple[float, ...], list[tuple[FloatArray, FloatArray, Plane]]] = {}
    for index, face in enumerate(faces):
        if index not in owned or face.area < 1e-6:
            continue
        piece = pieces[owned[index]]
        _add_face(builder, face, piece)
        _list_edges(edges, shapely.geometry.polygon.orient(face, 1.0), piece.plane)
    _add_steps(builder, edges)


def _add_face(builder: MeshBuilder, face: Any, piece: Piece) -> None:
    points, triangles = triangulate(face)
    plane = piece.plane
    normal = np.array([-plane.a, -plane.b, 1.0])
    vertices = np.column_stack([points, plane.at(points)])
    uv = turned(points, piece.turn)
    builder.triangles(vertices, triangles, normal / np.linalg.norm(normal), uv, piece.material, piece.semantic)


def _list_edges(edges: dict[Any, Any], face: Any, plane: Plane) -> None:
    for ring in (face.exterior, *face.interiors):
        corners = np.asarray(ring.coords)
        for start, end in itertools.pairwise(corners):
            a, b = tuple(np.round(start, 4)), tuple(np.round(end, 4))
            edges.setdefault((min(a, b), max(a, b)), []).append((start, end, plane))


def _add_steps(builder: MeshBuilder, edges: dict[Any, Any]) -> None:
    """Kerb faces: the ground is on the left of an edge, so the face of a higher piece looks to the right."""
    quads, uvs = [], []
    for sides in edges.values():
        if len(sides) != 2:
            continue
        (start, end, plane), (_, _, other) = sides
        ends = np.array([start, end])
        mine, its = plane.at(ends), other.at(ends)
        if np.abs(mine - its).max() < 1e-4:
            continue
        if (mine + 1e-6 < its).any():
            ends, mine, its = ends[::-1], its[::-1], mine[::-1]
        (x0, y0), (x1, y1) = ends
        quads.append([(x0, y0, its[0]), (x1, y1, its[1]), (x1, y1, mine[1]), (x0, y0, mine[0])])
        length = np.hypot(x1 - x0, y1 - y0)
        uvs.append([(0, its[0]), (length, its[1]), (length, mine[1]), (0, mine[0])])
    if quads:
        _add_quads_without_slivers(builder, np.array(quads), np.array(uvs))


def _add_quads_without_slivers(builder: MeshBuilder, quads: FloatArray, uvs: FloatArray) -> None:
    """A step that fades out at one end is a triangle: the quadrilateral's other half has no area."""
    open0, open1 = quads[:, 3, 2] - quads[:, 0, 2] > 1e-5, quads[:, 2, 2] - quads[:, 1, 2] > 1e-5
    for keep, corners in ((open1, [0, 1, 2]), (open0, [0, 2, 3])):
        triangles, uv = quads[keep][:, corners], uvs[keep][:, corners]
        along = quads[keep][:, 1] - quads[keep][:, 0]
        normal = np.column_stack([along[:, 1], -along[:, 0], np.zeros(len(along))])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        faces = np.arange(3 * len(triangles)).reshape(-1, 3)
        builder.triangles(
            triangles.reshape(-1, 3), faces, np.repeat(normal, 3, 0), uv.reshape(-1, 2), "kerb_stone", Semantic.KERB
        )
