"""Write the files of the three bundled places, which the project drew by hand: two maps as OpenStreetMap XML, an
annotated scan with its mesh, and the long routes over them. The coordinates are made up and lie in the open
Atlantic, so that nobody takes the files for map data. Run ``python -m tools.draw_places``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import networkx as nx
import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.geojson import ECCENTRICITY2, SEMI_MAJOR, to_geojson
from sidestep.scenes.places import DATA, LONG_ROUTES, bundled_place
from sidestep.scenes.places.osm import osm_place
from sidestep.scenes.places.place import Place
from sidestep.scenes.walkways import Route, left_of, points_at, stations_between, stations_of, unit
from sidestep.types.base import FloatArray
from sidestep.types.scene import SceneSpec
from tools.lantern_court_mesh import model_place, write_glb

ORIGIN = (-30.0, 45.0)  # longitude, latitude, degrees
Points = Sequence[tuple[float, float]]
NOTE = "Drawn by the Sidestep project. An invented place: this is not OpenStreetMap data."


def arc(centre: tuple[float, float], radius: float, start: float, end: float, pieces: int = 10) -> Points:
    """Points on a circle between two angles, degrees."""
    angle = np.radians(np.linspace(start, end, pieces + 1))
    return [(centre[0] + radius * float(exact.cos(a)), centre[1] + radius * float(exact.sin(a))) for a in angle]


@dataclass
class MapSheet:
    """Nodes, ways and relations. Nodes at the same place are one."""

    name: str
    half: float  # m: the sheet reaches so far each way
    nodes: dict[tuple[float, float], dict[str, str]] = field(default_factory=dict)
    ways: list[tuple[list[tuple[float, float]], dict[str, str]]] = field(default_factory=list)
    relations: list[tuple[list[tuple[int, str]], dict[str, str]]] = field(default_factory=list)

    def node(self, x: float, y: float, **tags: str) -> tuple[float, float]:
        place = (round(float(x), 3), round(float(y), 3))
        self.nodes.setdefault(place, {}).update(_keys(tags))
        return place

    def way(self, points: Points, /, *, closed: bool = False, **tags: str) -> int:
        """Returns the number of the way; ``a__b`` in a keyword is the key ``a:b``."""
        refs = [self.node(x, y) for x, y in points]
        self.ways.append(([*refs, refs[0]] if closed else refs, _keys(tags)))
        return len(self.ways) - 1

    def ring_building(self, outer: Points, inner: Points, **tags: str) -> None:
        """A building round a courtyard, as a multipolygon."""
        members = [(self.way(outer, closed=True), "outer"), (self.way(inner, closed=True), "inner")]
        self.relations.append((members, {"type": "multipolygon", **_keys(tags)}))

    def terrace(
        self,
        line: Points,
        offset: float,
        kept: list[Any],
        rng: np.random.Generator,
        depth: tuple[float, float] = (8.0, 12.0),
    ) -> None:
        """Houses along a line, ``offset`` m to its left (negative: right), where nothing of ``kept`` is in the way."""
        points = np.array(line)
        at, place = stations_of(points), 2.0
        while place + 8.0 < at[-1]:
            wide, deep = float(exact.uniform(rng, 8.0, 14.0)), float(exact.uniform(rng, *depth))
            ends = [_beside(points, at, s, offset) for s in (place, min(place + wide, at[-1]))]
            out = left_of(unit(ends[1] - ends[0])) * np.sign(offset) * deep
            ring = np.round([ends[0], ends[1], ends[1] + out, ends[0] + out], 2)
            house = shapely.Polygon(ring)
            if house.is_valid and np.abs(ring).max() < self.half - 0.5 and not any(house.intersects(a) for a in kept):
                kept.append(house.buffer(0.02))
                storeys = int(rng.integers(2, 5))
                use = {"shop": "yes"} if rng.random() < 0.35 else {}
                corners = [(x, y) for x, y in ring.tolist()]
                self.way(corners, closed=True, building="house", building__levels=str(storeys), **use)
                place += wide + 0.05
            else:
                place += 2.0

    def along(self, line: Points, offset: float, every: float, start: float, avoid: list[Any], **tags: str) -> None:
        """The same thing again and again beside a line, but nowhere in ``avoid``."""
        points = np.array(line)
        at = stations_of(points)
        for station in stations_between(start, at[-1] - 2.0, every).tolist():
            x, y = _beside(points, at, station, offset)
            if not any(area.contains(shapely.Point(x, y)) for area in avoid) and max(abs(x), abs(y)) < self.half - 1:
                self.node(x, y, **tags)

    def to_xml(self) -> str:
        numbers = {place: k + 1 for k, place in enumerate(self.nodes)}
        box = [_lonlat(sx * self.half, sx * self.half) for sx in (-1, 1)]
        lines = ["<?xml version='1.0' encoding='UTF-8'?>", f"<!-- {self.name}. {NOTE} -->"]
        lines.append('<osm version="0.6" generator="sidestep">')
        (west, south), (east, north) = box
        lines.append(f'  <bounds minlat="{south:.8f}" minlon="{west:.8f}" maxlat="{north:.8f}" maxlon="{east:.8f}"/>')
        for place, tags in self.nodes.items():
            lon, lat = _lonlat(*place)
            head = f'  <node id="{numbers[place]}" lat="{lat:.8f}" lon="{lon:.8f}"'
            lines += [f"{head}>", *_tag_lines(tags), "  </node>"] if tags else [f"{head}/>"]
        for k, (refs, tags) in enumerate(self.ways):
            lines.append(f'  <way id="{1001 + k}">')
            lines += [f'    <nd ref="{numbers[ref]}"/>' for ref in refs]
            lines += [*_tag_lines(tags), "  </way>"]
        for k, (members, tags) in enumerate(self.relations):
            lines.append(f'  <relation id="{5001 + k}">')
            lines += [f'    <member type="way" ref="{1001 + way}" role="{role}"/>' for way, role in members]
            lines += [*_tag_lines(tags), "  </relation>"]
        return "\n".join([*lines, "</osm>", ""])


def _keys(tags: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ":"): value for key, value in tags.items()}


def _tag_lines(tags: dict[str, str]) -> list[str]:
    return [f"    <tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in sorted(tags.items())]


def _beside(points: FloatArray, at: FloatArray, station: float, offset: float) -> FloatArray:
    low, high = max(station - 0.5, 0.0), min(station + 0.5, at[-1])
    behind, middle, ahead = points_at(np.array([low, station, high]), at, points)
    return np.asarray(middle + left_of(unit(ahead - behind)) * offset)


def _lonlat(x: float, y: float) -> tuple[float, float]:
    """The inverse of the tangent plane near its origin: within 100 m right to a millimetre."""
    sine = exact.sin(np.radians(ORIGIN[1]))
    flat = 1 - ECCENTRICITY2 * sine * sine
    normal = SEMI_MAJOR / np.sqrt(flat)
    meridian = SEMI_MAJOR * (1 - ECCENTRICITY2) / (flat * np.sqrt(flat))
    lat = ORIGIN[1] + np.degrees(y / meridian)
    return ORIGIN[0] + float(np.degrees(x / (normal * exact.cos(np.radians(lat))))), float(lat)


KETTLEGATE_HALF = 82.0  # m
COOPER: Points = [(-90, 44), (-50, 46.2), (-28, 47), (0, 48), (20, 48), (40, 47.6), (60, 46.6), (90, 43.5)]
KETTLE: Points = [
    (20, 48), (20, 37), *arc((-10, 30), 30, 0, -90, 20), (-25, 0), (-34, 0), (-40, 0),
    *arc((-45, -25), 25, 90, 180, 18), (-70, -50), (-70, -90),
]  # fmt: skip
LOCK: Points = [(-25, 0), (-25, -13), *arc((0, -35), 25, 180, 270, 18), (20, -60), (60, -60), (90, -60)]
WEIR: Points = [(60, 46.6), (60, 35), (60, -8), (60, -48), (60, -60)]
SQUARE: Points = [(-44, 5), (-13, 5), (-13, 20), (-17, 33), (-44, 33)]
ALLEY: Points = [(-28, 33), (-28, 47)]
KETTLEGATE_ROADS = ((COOPER, 3.5, 2.8), (KETTLE, 2.75, 2.6), (LOCK, 2.75, 2.5), (WEIR, 3.0, 2.4))
KETTLEGATE_CROSSINGS = (
    (-50, 46.2),
    (0, 48),
    (40, 47.6),
    (20, 37),
    (-40, 0),
    (-70, -50),
    (-25, -13),
    (20, -60),
    (60, 35),
    (60, -8),
    (60, -48),
)


def draw_kettlegate() -> MapSheet:
    """The whole sheet."""
    sheet = MapSheet("Kettlegate", KETTLEGATE_HALF)
    rng = np.random.default_rng(7)
    for points, half, walk in KETTLEGATE_ROADS:
        kind = "tertiary" if points is COOPER else "residential"
        sheet.way(points, highway=kind, width=f"{2 * half:g}", sidewalk="both", sidewalk__both__width=f"{walk:g}")
    for x, y in KETTLEGATE_CROSSINGS:
        sheet.node(x, y, highway="crossing", crossing="marked", width="3.2")
    _draw_square(sheet)
    streets = [shapely.LineString(points).buffer(half + walk + 0.35) for points, half, walk in KETTLEGATE_ROADS]
    kept = [*streets, shapely.Polygon(SQUARE).buffer(0.2), shapely.LineString(ALLEY).buffer(2.2)]
    sheet.ring_building([(10, -48), (45, -48), (45, -22), (10, -22)], [(20, -41), (36, -41), (36, -30), (20, -30)],
                        building="civic", height="11.5")  # fmt: skip
    kept.append(shapely.box(9, -49, 46, -21))
    for points, half, walk in KETTLEGATE_ROADS:
        for side in (1, -1):
            sheet.terrace(points, side * (half + walk + 0.4), kept, rng)
    sheet.terrace([(-44, 33.3), (-13, 33.3)], 0.3, kept, rng, (6.0, 7.0))
    _furnish_kettlegate(sheet)
    return sheet


def _draw_square(sheet: MapSheet) -> None:
    sheet.way(SQUARE, closed=True, highway="pedestrian", area="yes", name="Kettle Square")
    sheet.way([(-34, 0), (-36, 17), (-28, 33)], highway="footway", width="2.4")
    sheet.way([(-18, 0), (-18, 18), (-28, 33)], highway="footway", width="2.4")
    sheet.way(ALLEY, highway="pedestrian", width="4", name="Needle Alley")
    sheet.node(-27, 16.5, amenity="fountain")
    for x, y in ((-41.0, 10.0), (-41, 22), (-33, 30), (-15.5, 12), (-22, 29)):
        sheet.node(x, y, natural="tree")
    for x, y, towards in ((-30.5, 12.5, "45"), (-23.5, 20.5, "225"), (-41.5, 16, "90")):
        sheet.node(x, y, amenity="bench", direction=towards)
    for across in (-29.4, -26.6):
        sheet.node(across, 34.0, barrier="bollard")
    sheet.node(-43, 30, tourism="information")


def _furnish_kettlegate(sheet: MapSheet) -> None:
    clear = [shapely.Point(place).buffer(7.0) for place in KETTLEGATE_CROSSINGS]
    clear += [shapely.Point(place).buffer(13.0) for place in ((20, 48), (-25, 0), (60, 46.6), (60, -60))]
    for points, half, _ in KETTLEGATE_ROADS:
        for side, start in ((1, 9.0), (-1, 21.0)):
            sheet.along(points, side * (half + 0.35), 26.0, start, clear, highway="street_lamp")
        sheet.along(points, half + 0.4, 48.0, 17.0, clear, amenity="waste_basket")
        sheet.along(points, -(half + 0.35), 61.0, 30.0, clear, emergency="fire_hydrant")
    sheet.along(COOPER, -(3.5 + 0.45), 19.0, 24.0, clear, natural="tree")
    sheet.node(-66, 40.9, highway="bus_stop")
    sheet.way([(66, -30), (80, -30)], barrier="hedge")


PIPER_HALF = 80.0  # m
PARADE: Points = [(-90, 0), (-30, 0), (-14, 0), (35, 0), (50, 0), (90, 0)]
ANCHOR: Points = [(-30, 0), (-30, 10.5), (-30, 40), (-30, 55), (-30, 90)]
BELL_NORTH: Points = [(35, 0), (35, 10.5), (35, 42), (35, 55), (35, 90)]
CHANDLER: Points = [(-30, 55), (2, 55), (35, 55)]
BELL_SOUTH: Points = [(35, 0), (35, -10.5), *arc((7, -33), 28, 0, -90, 20), (-15, -61), (-90, -61)]
SIDE_STREETS = (ANCHOR, BELL_NORTH, CHANDLER, BELL_SOUTH)
SIDE_HALF, SIDE_WALK = 3.0, 2.6  # m
MAIN_HALF, MAIN_WALK, VERGE = 4.5, 3.4, 1.3  # m
MIDDLE = MAIN_HALF + VERGE + MAIN_WALK / 2
PARK_PATH: Points = [
    (-56, -MIDDLE),
    (-56, -14),
    *arc((-44, -26), 12, 180, 255, 8),
    *arc((-50.5, -50), 13, 72, 0, 8),
    (-37.5, -56.7),
]
PARK: Points = [(-72, -11.5), (-22, -11.5), (-22, -54.5), (-72, -54.5)]
NODE_CROSSINGS = ((-30, 40), (35, 42), (2, 55), (-15, -61))


def draw_piper_parade() -> MapSheet:
    """The whole sheet."""
    sheet = MapSheet("Piper Parade", PIPER_HALF)
    rng = np.random.default_rng(11)
    sheet.way(PARADE, highway="secondary", lanes="3", sidewalk="separate")
    for points in SIDE_STREETS:
        width = f"{SIDE_WALK:g}"
        sheet.way(
            points, highway="residential", width=f"{2 * SIDE_HALF:g}", sidewalk="both", sidewalk__both__width=width
        )
    _draw_sidewalks(sheet)
    for x, y in NODE_CROSSINGS:
        sheet.node(x, y, highway="crossing", width="3")
    sheet.way(PARK, closed=True, leisure="park", name="Reed Green")
    sheet.way(PARK_PATH, highway="footway", width="2.6")
    _draw_houses(sheet, rng)
    _furnish_piper_parade(sheet)
    return sheet


def _draw_sidewalks(sheet: MapSheet) -> None:
    """Both sides of the Parade, with crossings over it and over the side streets' mouths."""
    edge, width = SIDE_HALF + SIDE_WALK / 2, f"{MAIN_WALK:g}"
    north: list[Points] = [
        [(-90, MIDDLE), (-30 - edge, MIDDLE)],
        [(-30 + edge, MIDDLE), (-14, MIDDLE), (35 - edge, MIDDLE)],
        [(35 + edge, MIDDLE), (50, MIDDLE), (90, MIDDLE)],
    ]
    south: list[Points] = [
        [(-90, -MIDDLE), (-56, -MIDDLE), (-14, -MIDDLE), (35 - edge, -MIDDLE)],
        [(35 + edge, -MIDDLE), (50, -MIDDLE), (90, -MIDDLE)],
    ]
    for points in north + south:
        sheet.way(points, highway="footway", footway="sidewalk", width=width)
    for x in (-14, 50):
        sheet.way([(x, -MIDDLE), (x, 0), (x, MIDDLE)], highway="footway", footway="crossing", width="3.6")
        sheet.node(x, 0, highway="crossing", crossing="marked")
    for x, y in ((-30, 10.5), (35, 10.5), (35, -10.5)):
        reach = edge if y > 0 else edge + 0.3
        sheet.way([(x - reach, y), (x, y), (x + reach, y)], highway="footway", footway="crossing", width="3.6")
    for side in (1, -1):
        low, high = sorted((side * MAIN_HALF, side * (MAIN_HALF + VERGE)))
        for x0, x1 in ((-79, -40), (-20, -17), (-11, 25), (53.5, 79)):
            sheet.way([(x0, low), (x1, low), (x1, high), (x0, high)], closed=True, landuse="grass")


def _draw_houses(sheet: MapSheet, rng: np.random.Generator) -> None:
    kept = [shapely.LineString(points).buffer(SIDE_HALF + SIDE_WALK + 0.35) for points in SIDE_STREETS]
    kept += [shapely.LineString(PARADE).buffer(MIDDLE + MAIN_WALK / 2 + 0.35), shapely.Polygon(PARK).buffer(1.0)]
    sheet.ring_building([(-14, 18), (20, 18), (20, 46), (-14, 46)], [(-4, 26), (11, 26), (11, 38), (-4, 38)],
                        building="retail", building__levels="4")  # fmt: skip
    kept.append(shapely.box(-15, 17, 21, 47))
    for side in (1, -1):
        sheet.terrace(PARADE, side * (MIDDLE + MAIN_WALK / 2 + 0.4), kept, rng, (9.0, 14.0))
    for points in SIDE_STREETS:
        for side in (1, -1):
            sheet.terrace(points, side * (SIDE_HALF + SIDE_WALK + 0.4), kept, rng)


def _furnish_piper_parade(sheet: MapSheet) -> None:
    crossings = [(-14, 0), (50, 0), (-30, 10.5), (35, 10.5), (35, -10.5), *NODE_CROSSINGS]
    clear = [shapely.Point(place).buffer(8.5) for place in crossings]
    clear += [shapely.Point(place).buffer(12.0) for place in ((-30, 0), (35, 0), (-30, 55), (35, 55))]
    for side, start in ((1, 10.0), (-1, 16.0)):
        sheet.along(PARADE, side * (MAIN_HALF + 0.65), 12.0, start, clear, natural="tree")
        sheet.along(PARADE, side * (MAIN_HALF + 0.5), 24.0, start + 6, clear, highway="street_lamp")
        sheet.along(PARADE, side * (MIDDLE + MAIN_WALK / 2 - 0.35), 37.0, start + 3, clear, amenity="bench")
        sheet.along(PARADE, side * (MIDDLE - MAIN_WALK / 2 + 0.35), 43.0, start + 12, clear, amenity="waste_basket")
    for points in SIDE_STREETS:
        sheet.along(points, SIDE_HALF + 0.35, 24.0, 18.0, clear, highway="street_lamp")
        sheet.along(points, -(SIDE_HALF + 0.35), 45.0, 26.0, clear, barrier="bollard")
    for x, y in ((-66, -18), (-30, -20), (-48, -40), (-66, -46), (-28, -48), (-62, -30)):
        sheet.node(x, y, natural="tree", height="8")
    sheet.node(-52.2, -22, amenity="bench")
    sheet.node(16, MAIN_HALF + 0.6, highway="bus_stop")


LANTERN_HALF = 46.0  # m
BEND: Points = [(-60, -20), (-32, -20), *arc((-20, 10), 30, -90, 0, 20), (10, 25), (10, 38), (10, 60)]
QUAY: Points = [(-60, 25), (-16, 25), (10, 25)]
COURT: Points = [(19, -44), (44, -44), (44, -4), (21, -4), (13, -16)]
LANTERN_ROADS = ((BEND, 3.0, 3.0), (QUAY, 2.75, 2.6))
LANTERN_CROSSINGS = ((-32, -20), BEND[12], (10, 38), (-16, 25))
SOURCE = "drawn by the Sidestep project; an invented place"


def draw_lantern_court() -> SceneSpec:
    """The annotated scene, in metres."""
    sheet = MapSheet("Lantern Court", LANTERN_HALF)
    rng = np.random.default_rng(23)
    for points, half, walk in LANTERN_ROADS:
        width = f"{walk:g}"
        sheet.way(points, highway="residential", width=f"{2 * half:g}", sidewalk="both", sidewalk__both__width=width)
    for x, y in LANTERN_CROSSINGS:
        sheet.node(x, y, highway="crossing", width="3.4")
    sheet.way(COURT, closed=True, highway="pedestrian", area="yes")
    sheet.way([(4, -15), (17, -20), (27, -24)], highway="footway", width="3")
    _furnish_lantern_court(sheet)
    kept = [shapely.LineString(points).buffer(half + walk + 0.35) for points, half, walk in LANTERN_ROADS]
    kept += [shapely.Polygon(COURT).buffer(0.2), shapely.LineString([(4, -15), (17, -20)]).buffer(1.8)]
    for points, half, walk in LANTERN_ROADS:
        for side in (1, -1):
            sheet.terrace(points, side * (half + walk + 0.4), kept, rng, (7.0, 10.0))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lantern-court.osm"
        file.write_text(sheet.to_xml(), encoding="utf-8")
        scene = osm_place(file).scene
    return scene.model_copy(update={"source": SOURCE, "name": "Lantern Court"})


def _furnish_lantern_court(sheet: MapSheet) -> None:
    clear = [shapely.Point(place).buffer(6.5) for place in LANTERN_CROSSINGS]
    clear.append(shapely.Point(10, 25).buffer(12.0))
    for points, half, _ in LANTERN_ROADS:
        for side, start in ((1, 8.0), (-1, 17.0)):
            sheet.along(points, side * (half + 0.35), 21.0, start, clear, highway="street_lamp")
    for x, y in ((24, -38), (38, -38), (40, -10), (27, -8)):
        sheet.node(x, y, natural="tree", height="6")
    for x, y, towards in ((31, -36, "0"), (40, -24, "270"), (30, -9, "180")):
        sheet.node(x, y, amenity="bench", direction=towards)
    sheet.node(33, -23, amenity="fountain")
    sheet.node(20.5, -11, amenity="waste_basket")


LONG_ROUTES_PER_PLACE = {"kettlegate": 2, "piper-parade": 2, "lantern-court": 1}
"""How many long routes each place has."""


def main() -> None:
    """The maps, the annotation, the mesh, and the long routes over them."""
    for stem, sheet in (("kettlegate", draw_kettlegate()), ("piper-parade", draw_piper_parade())):
        (DATA / f"{stem}.osm").write_text(sheet.to_xml(), encoding="utf-8")
        print(f"{stem}.osm: {len(sheet.nodes)} nodes, {len(sheet.ways)} ways")
    scene = draw_lantern_court()
    annotation = json.dumps(to_geojson(scene), separators=(",", ":")).replace(
        '{"type":"Feature"', '\n{"type":"Feature"'
    )
    (DATA / "lantern-court.geojson").write_text(annotation + "\n", encoding="utf-8")
    parts = model_place(scene).parts()
    write_glb(DATA / "lantern-court.glb", parts)
    print(f"lantern-court: {len(scene.regions)} regions, {sum(len(t) for _, t in parts.values())} triangles")
    chosen = {name: _draw_long_routes(name, count) for name, count in LONG_ROUTES_PER_PLACE.items()}
    LONG_ROUTES.write_text(json.dumps(chosen, separators=(",", ":")) + "\n", encoding="utf-8")


TRIES = 300
MIN_LENGTH, MAX_LENGTH = 130.0, 330.0  # m
BESIDE, OFF_SOLIDS = 0.45, 0.6  # m


def draw_long_route(place: Place, number: int, before: list[Route]) -> Route:
    """A shortest route between random nodes with a crosswalk or more, mostly elsewhere than those chosen ``before``."""
    rng = np.random.default_rng([number, 17])
    nodes = sorted(place.graph)
    for attempt in range(TRIES):
        start = nodes[int(rng.integers(len(nodes)))]
        found: Any = nx.single_source_dijkstra(place.graph, start, cutoff=MAX_LENGTH, weight="length")
        lengths, paths = found
        goals = [node for node in sorted(lengths) if lengths[node] >= MIN_LENGTH]
        if not goals:
            continue
        path = tuple(paths[goals[int(rng.integers(len(goals)))]])
        share = max((len(set(path) & set(other.nodes)) / len(path) for other in before), default=0.0)
        kinds = [place.graph.edges[step]["kind"] for step in pairwise(path)]
        if "crosswalk" not in kinds or "crosswalk" in (kinds[0], kinds[-1]) or share > 0.4 + 0.6 * attempt / TRIES:
            continue
        route = place.route_over(path)
        if place.has_room(route.points, BESIDE, OFF_SOLIDS):
            return route
    raise BadInput(f"place {place.name}: no long route number {number} of {MIN_LENGTH:g} m or more in {TRIES} draws")


def _draw_long_routes(name: str, count: int) -> list[list[tuple[float, float]]]:
    place = bundled_place(name)
    routes: list[Route] = []
    for number in range(count):
        routes.append(draw_long_route(place, number, routes))
        print(f"place:{name}/long/{number}: {routes[-1].length:.0f} m")
    return [[place.graph.nodes[node]["xy"] for node in route.nodes] for route in routes]


if __name__ == "__main__":
    main()
