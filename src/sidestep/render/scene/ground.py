"""The ground: areas cut against each other, kerbs and ramps between their levels, lane markings and the bars of
crosswalks, each with its material.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
import shapely.ops

from sidestep.render.mesh import Semantic
from sidestep.render.scene.layout import KERB_HEIGHT, SNAP, GroundHeight, Layout, Plane, join, meet, minus, words
from sidestep.render.scene.solids import MeshBuilder, OrientedRectangle, polygon_parts, triangulate, turned
from sidestep.types.base import FloatArray
from sidestep.types.road import Roads

LINE = 0.12  # m, width of a line
DASH, GAP = 3.0, 4.5  # m
EDGE = 0.25  # m from the kerb to the edge line
LANE = 3.5  # m: lanes are at least about this wide
STOP_LINE, STOP_GAP = 0.4, 1.0  # m: width, and distance from the crosswalk
STRAIGHT = 0.94  # share of its smallest rectangle that a straight road covers
BAR = 0.5  # m: width of crosswalk bars and of the gaps between


def road_paint(roads: list[Any], crosswalks: list[Any]) -> Any:
    """Union of all lines. A road is straight along the longer side of its smallest rectangle; where two roads cross
    or a crosswalk lies, lines stop."""
    crossing = shapely.union_all(crosswalks).buffer(STOP_GAP, join_style="mitre") if crosswalks else shapely.Polygon()
    lines = []
    for index, road in enumerate(roads):
        frame = OrientedRectangle.about(road)
        bent = road.area < STRAIGHT * frame.length * frame.width
        if not bent and (frame.length < 1.5 * frame.width or frame.width < 2.5):
            continue
        others = [other for j, other in enumerate(roads) if j != index and other.intersects(road)]
        junction = shapely.union_all([shapely.intersection(road, other) for other in others])
        stop = shapely.union(crossing, junction.buffer(1.0, join_style="mitre") if others else junction)
        painted = minus(_bent_lines(road) if bent else shapely.union_all(_lane_lines(frame)), stop)
        lines += [meet(painted, road)]
        for crosswalk in crosswalks if not bent or painted.area > 0 else ():
            local = _across(crosswalk) if bent else frame
            lines += [meet(line, road) for line in _stop_lines(local, road, [crosswalk])]
    return join(lines)


def marking_paint(roads: Roads, crosswalks: list[Any]) -> Any:
    """Union of the lines that a scene's roads describe, and a stop line at the end of every lane that enters a
    junction. Kerbs are no paint; nothing is painted over a crosswalk."""
    lines = []
    for marking in roads.markings:
        line = shapely.LineString(marking.points)
        if marking.kind == "double_solid":
            lines += [line.parallel_offset(LINE, side).buffer(LINE / 2, cap_style="flat") for side in ("left", "right")]
        elif marking.kind == "solid":
            lines.append(line.buffer(LINE / 2, cap_style="flat"))
        elif marking.kind == "broken":
            starts = np.arange(int(line.length / (DASH + GAP)) + 1) * (DASH + GAP)
            dashes = [shapely.ops.substring(line, start, min(start + DASH, line.length)) for start in starts.tolist()]
            lines += [dash.buffer(LINE / 2, cap_style="flat") for dash in dashes if dash.length > LINE]
    inside = {lane.name for lane in roads.lanes if lane.turn is not None}
    for lane in roads.lanes:
        if lane.turn is None and inside.intersection(lane.next):
            (x0, y0), (x1, y1) = lane.points[-2:]
            length = float(np.hypot(x1 - x0, y1 - y0))
            across = np.array([y0 - y1, x1 - x0]) / length * lane.width / 2
            end = np.array([x1, y1]) - np.array([x1 - x0, y1 - y0]) / length * STOP_LINE / 2
            lines.append(shapely.LineString([end - across, end + across]).buffer(STOP_LINE / 2, cap_style="flat"))
    return minus(join(lines), join(crosswalks)) if crosswalks else join(lines)


def strip_width(road: Any) -> float:
    """Width (m) of a strip of even width, from its area A = L W and outline P = 2 (L + W); 0 if it is no strip."""
    half = road.length / 2
    root = half * half - 4 * road.area
    width = (half - np.sqrt(root)) / 2 if root > 0 else 0.0
    return float(width) if road.area > 2.5 * width * width and not road.interiors else 0.0


def _bent_lines(road: Any) -> Any:
    """Edge lines and a middle line that follow a bent strip; nothing on junctions, which are no strips."""
    width = strip_width(road) if road.geom_type == "Polygon" else 0.0
    if width < 5.0:
        return shapely.Polygon()
    inner = road.buffer(-EDGE, join_style="mitre")
    middle = road.buffer(LINE / 2 + 0.04 - width / 2, join_style="mitre")
    if middle.area > 2.5 * LINE * road.area / width:  # parts are wider than the rest: no strip after all
        return shapely.Polygon()
    return join([minus(inner, inner.buffer(-LINE, join_style="mitre")), middle])


def _across(crosswalk: Any) -> OrientedRectangle:
    """Axes of the road under a crosswalk: x along the road."""
    frame = OrientedRectangle.about(crosswalk)
    return OrientedRectangle(frame.x, frame.y, frame.angle + np.pi / 2, frame.width, frame.length)


def _lane_lines(frame: OrientedRectangle) -> list[Any]:
    half, wide = frame.length / 2, frame.width / 2
    lines = []
    if frame.width >= 5.0:
        for y in (EDGE - wide, wide - EDGE - LINE):
            lines.append(frame.rectangle(-half, half, y, y + LINE))
    lanes = max(int((frame.width + 0.3) // LANE), 1)
    starts = np.arange(-half, half, DASH + GAP)
    for lane in range(1, lanes):
        y = -wide + lane * frame.width / lanes
        lines += [frame.rectangle(x, min(x + DASH, half), y - LINE / 2, y + LINE / 2) for x in starts]
    return lines


def _stop_lines(frame: OrientedRectangle, road: Any, crosswalks: list[Any]) -> list[Any]:
    """Stop lines before each crosswalk, across the half of the road that drives towards it (on the right)."""
    lines: list[Any] = []
    wide = frame.width / 2 - EDGE - LINE
    if frame.width < 5.0:
        return lines
    for crosswalk in crosswalks:
        if not crosswalk.intersects(road):
            continue
        corners = np.asarray(crosswalk.exterior.coords) - (frame.x, frame.y)
        along = corners @ np.array([np.cos(frame.angle), np.sin(frame.angle)])
        before, after = along.min() - STOP_GAP, along.max() + STOP_GAP
        lines.append(frame.rectangle(before - STOP_LINE, before, -wide, -LINE))
        lines.append(frame.rectangle(after, after + STOP_LINE, LINE, wide))
    return lines


def crosswalk_bars(crosswalk: Any, roads: list[Any]) -> Any:
    """Bars across the walking direction. One walks along the longer side of a long crosswalk, else across the road that
    it lies on."""
    near = [road for road in roads if road.distance(crosswalk) < 0.5]
    own = OrientedRectangle.about(crosswalk)
    if own.length > 1.35 * own.width:
        walking = own.angle
    elif near:
        road = max(near, key=lambda other: other.intersection(crosswalk.buffer(0.5)).area)
        frame = OrientedRectangle.about(road)
        walking = (
            frame.angle + np.pi / 2 if frame.length > 1.2 * frame.width else OrientedRectangle.about(crosswalk).angle
        )
    else:
        walking = OrientedRectangle.about(crosswalk).angle
    centre = np.asarray(crosswalk.centroid.coords)[0]
    direction, across = np.array([np.cos(walking), np.sin(walking)]), np.array([-np.sin(walking), np.cos(walking)])
    corners = np.asarray(crosswalk.exterior.coords) - centre
    along, side = corners @ direction, np.abs(corners @ across).max() + 1.0
    length = along.max() - along.min()
    count = max(int(length / (2 * BAR)), 1)
    first = along.min() + (length - (2 * count - 1) * BAR) / 2
    bars = []
    for k in range(count):
        a, b = first + 2 * BAR * k, first + 2 * BAR * k + BAR
        ring = [centre + t * direction + s * across for t, s in ((a, -side), (b, -side), (b, side), (a, side))]
        bars.append(shapely.Polygon(ring))
    inner = crosswalk.buffer(-0.15, join_style="mitre")
    return meet(shapely.union_all(bars), inner if inner.area > 0 else crosswalk)


PRIORITY = ("crosswalk", "ramp", "island", "kerb", "verge", "grass", "frontage", "sidewalk", "road", "walkable")
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
    "island": Semantic.SIDEWALK,
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
                "island": "paving_grey",
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
    regions: list[tuple[str, Any]], domain: Any, fill: str, buildings: Any, height: GroundHeight, palette: Palette,
    roads: Roads | None = None,
) -> list[Piece]:  # fmt: skip
    """Disjoint pieces that cover ``domain`` without the buildings. ``fill`` is the kind of ground nobody drew. Lines
    are painted as ``roads`` says; without markings, as the shapes of roads suggest."""
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
    crosswalks = by_kind["crosswalk"]
    paint = (
        marking_paint(roads, crosswalks)
        if roads is not None and roads.markings
        else road_paint(by_kind["road"], crosswalks)
    )
    return _pieces(areas, by_kind, height, palette, paint)


def _edge_with_kerbs(areas: dict[str, Any]) -> None:
    """Kerb stones along every road edge that has none."""
    low = join([areas["road"], areas["crosswalk"]])
    strip = low.buffer(KERB_WIDTH, join_style="mitre")
    drawn = areas["kerb"].buffer(0.02)
    for kind in ("verge", "grass", "frontage", "sidewalk", "island", "walkable"):
        stones = minus(meet(areas[kind], strip), drawn)
        stones = join([part for part in shapely.get_parts(stones) if part.area > 0.02])
        areas["kerb"] = join([areas["kerb"], stones])
        areas[kind] = minus(areas[kind], stones)


def _pieces(
    areas: dict[str, Any], by_kind: dict[str, list[Any]], height: GroundHeight, palette: Palette, paint: Any
) -> list[Piece]:
    pieces = []
    low = LOW if height.lowered.area > 0 else FLAT
    bars = join([crosswalk_bars(c, by_kind["road"]) for c in by_kind["crosswalk"]])
    for kind, area in areas.items():
        semantic = Semantic.FLOOR if set(palette.surfaces) == {"walkable"} else SEMANTIC[kind]
        material = palette.surfaces.get(kind, palette.surfaces["walkable"])
        plane = low if kind in ("road", "crosswalk") else FLAT
        if kind == "ramp":
            for ramp in height.ramps:
                part = meet(area, ramp.polygon)
                pieces.append(Piece(part, material, semantic, ramp.plane, OrientedRectangle.about(ramp.polygon).angle))
                area = minus(area, ramp.polygon)
        if kind in ("road", "crosswalk"):
            lines, label = (paint, Semantic.LANE_MARKING) if kind == "road" else (bars, Semantic.CROSSWALK)
            painted = meet(area, lines)
            pieces.append(Piece(painted, "road_paint", label, plane))
            area = minus(area, painted)
            semantic = Semantic.CROSSWALK if kind == "crosswalk" else semantic
        for part in polygon_parts(area):
            pieces.append(Piece(part, material, semantic, plane, OrientedRectangle.about(part).angle))
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
