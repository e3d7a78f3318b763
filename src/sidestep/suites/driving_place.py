"""Places of the intersection suite: the six of IntersectNav, and intersections of one's own, from a description by arms
(.yaml) or an OpenDRIVE file (.xodr).

A description may name its ``routes``, ``exit_area`` and ``people``; what it leaves out, and everything of an OpenDRIVE
file, follows from the lanes: every lane that leads through a junction is a route, which begins ``BEFORE_M`` metres
before the junction and leaves an area that reaches ``AROUND_M`` metres beyond it; people cross between boxes at the
ends of the crossings in the area. An OpenDRIVE file with several junctions is several places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from sidestep._util import exact
from sidestep._util.reading import is_file, read_mapping
from sidestep.errors import BadInput
from sidestep.scenes.intersections import IntersectionRoute, intersection_scene, load_intersection, parse_intersection
from sidestep.scenes.load import INTERSECTION, OPENDRIVE_SUFFIX, YAML_SUFFIXES, resolve_scene
from sidestep.simulation.traffic import LaneGraph
from sidestep.simulation.traffic.lanes import stations
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Side
from sidestep.types.road import Crossing, Roads
from sidestep.types.scenario import Box
from sidestep.types.scene import SceneSpec

BEFORE_M, AROUND_M = 10.0, 14.0
BEYOND_M = 25.0
"""How far beyond the exit a route of one's own ends, to which measurements point."""
REAR_M = 3.0
"""A car needs so much lane behind the middle of its body."""
SAME_JUNCTION_M = 5.0
"""Lanes of an OpenDRIVE file whose bounding boxes are nearer than this belong to one junction."""
BESIDE_M, HALF_BOX_M = 4.0, 2.0
"""People start this far beyond the ends of a crossing, in a square with this half side."""
OWN_NUMBER = 100
"""The first place of one's own has this number."""
Branch = Literal[-1, 0, 1]
BRANCH_OF: dict[str, Branch] = {"left": -1, "straight": 0, "right": 1}


@dataclass(frozen=True)
class DrivingPlace:
    """An intersection to drive through."""

    name: str
    number: int
    scene: str | SceneSpec
    """As scenarios name it: those of one's own are held whole."""
    graph: LaneGraph
    exit_area: Box
    people: tuple[tuple[Box, Box], ...]
    """Pairs of boxes between which people cross."""
    routes: tuple[IntersectionRoute, ...]
    town: int = 0


TOWNS = {0: 3, 1: 3, 2: 3, 3: 3, 4: 5, 5: 5}
"""Number of the published town of each scene."""


@cache
def published_place(number: int) -> DrivingPlace:
    """One of the six."""
    spec = load_intersection(f"intersectnav_{number}")
    assert spec.exit_area is not None
    graph = LaneGraph(intersection_scene(spec).roads or Roads(), f"intersection {spec.name}")
    return DrivingPlace(
        spec.name, number, INTERSECTION + spec.name, graph, spec.exit_area, spec.people, spec.routes, TOWNS[number]
    )


def own_places(file: str | Path, number: int = OWN_NUMBER) -> tuple[DrivingPlace, ...]:
    """The intersections of a file, numbered from ``number`` on; ``BadInput`` if no car can be driven through any."""
    path = Path(file).expanduser()
    if path.suffix.lower() not in (*YAML_SUFFIXES, OPENDRIVE_SUFFIX):
        raise BadInput(f"{str(file)!r:.200}: an intersection is a .yaml description with arms, or an .xodr file")
    if not is_file(path):
        raise BadInput(f"{str(file)!r:.200}: no such file; give the path of an intersection")
    if path.suffix.lower() == OPENDRIVE_SUFFIX:
        scene = resolve_scene(str(path))
        graph = LaneGraph(scene.roads or Roads(), str(path))
        return _from_lanes(scene, graph, _junctions(graph), path, number)
    data = read_mapping(path)
    if "arms" not in data:
        raise BadInput(f"{path}: has no 'arms'; docs/scenes.md describes intersections")
    spec = parse_intersection(data, str(path))
    scene = intersection_scene(spec)
    graph = LaneGraph(scene.roads or Roads(), str(path))
    if not spec.routes or spec.exit_area is None:
        (place,) = _from_lanes(scene, graph, [graph.inside], path, number)
        people = spec.people or place.people
        return (DrivingPlace(spec.name, number, scene, graph, place.exit_area, people, place.routes),)
    for route in spec.routes:
        graph.find_route(route.lane_in, route.lane_out)  # BadInput that names a lane that is not there
    people = spec.people or _boxes(scene.roads or Roads(), spec.exit_area)
    return (DrivingPlace(spec.name, number, scene, graph, spec.exit_area, people, spec.routes),)


def side_of(area: Box, x: float, y: float) -> Side:
    """The side of an area that a point at its edge is nearest to."""
    x0, y0, x1, y1 = area
    gaps: dict[Side, float] = {"east": abs(x1 - x), "north": abs(y1 - y), "west": abs(x - x0), "south": abs(y - y0)}
    return min(gaps, key=gaps.__getitem__)


def _from_lanes(
    scene: SceneSpec, graph: LaneGraph, junctions: list[list[str]], path: Path, number: int
) -> tuple[DrivingPlace, ...]:
    """A place for each junction that has routes."""
    if not graph.inside:
        raise BadInput(f"{path}: no lanes lead through a junction; give an intersection")
    roads = scene.roads or Roads()
    found: list[DrivingPlace] = []
    for lanes in junctions:
        points = np.concatenate([graph.lines[name] for name in lanes])
        (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        area: Box = (
            round(x0 - AROUND_M, 2), round(y0 - AROUND_M, 2), round(x1 + AROUND_M, 2), round(y1 + AROUND_M, 2)
        )  # fmt: skip
        routes = _routes(graph, lanes, area)
        if routes:
            name = scene.name or path.stem
            name = name if not found else f"{name}-{len(found) + 1}"
            found.append(DrivingPlace(name, number + len(found), scene, graph, area, _boxes(roads, area), routes))
    if not found:
        raise BadInput(
            f"{path}: no route: a lane has to lead at least {REAR_M:g} m to a junction, and lanes {AROUND_M:g} m "
            "beyond it; make the roads longer, or describe routes and exit_area"
        )
    return tuple(found)


def _junctions(graph: LaneGraph) -> list[list[str]]:
    """The lanes through junctions, those of one junction together."""
    groups: list[tuple[list[str], FloatArray]] = []
    for name in graph.inside:
        line = graph.lines[name]
        names, box = [name], np.array([line.min(axis=0), line.max(axis=0)])
        apart = []
        for others, other in groups:
            if (np.maximum(box[0] - other[1], other[0] - box[1]) <= SAME_JUNCTION_M).all():
                names = others + names
                box = np.array([np.minimum(box[0], other[0]), np.maximum(box[1], other[1])])
            else:
                apart.append((others, other))
        groups = [*apart, (names, box)]
    return [names for names, _ in groups]


def _routes(graph: LaneGraph, lanes: list[str], area: Box) -> tuple[IntersectionRoute, ...]:
    """One for each lane that leads to the junction and each thing it can do there."""
    found: dict[tuple[str, int], IntersectionRoute] = {}
    entries: list[str] = []
    for name in lanes:
        turn = graph.lanes[name].turn
        for into in graph.graph.predecessors(name):
            if into in graph.inside or turn is None or (into, BRANCH_OF[turn]) in found:
                continue
            if into not in entries:
                entries.append(into)
            route = _route(graph, into, name, area, entries.index(into), BRANCH_OF[turn])
            if route is not None:
                found[into, BRANCH_OF[turn]] = route
    return tuple(sorted(found.values(), key=lambda route: (route.pose, route.branch)))


def _route(graph: LaneGraph, into: str, through: str, area: Box, pose: int, branch: Branch) -> IntersectionRoute | None:
    """Through one lane of a junction; None if its lanes are too short."""
    begin = max(graph.length[into] - BEFORE_M, REAR_M)
    chain = [into, through]
    while len(chain) < 50:
        following = [name for name in graph.graph.successors(chain[-1]) if name not in chain]
        if not following:
            break
        chain.append(following[0])
        if not _inside(area, graph.lines[following[0]][-1]) and following[0] not in graph.inside:
            break
    if begin >= graph.length[into] or len(chain) < 3:
        return None
    line = graph.line(chain, begin_m=begin)
    out = [k for k in range(1, len(line)) if not _inside(area, line[k])]
    if not _inside(area, line[0]) or not out or chain[-1] in graph.inside:
        return None
    exit_at = out[0]
    last = min(exit_at + round(BEYOND_M / (stations(line)[-1] / (len(line) - 1))), len(line) - 1)
    start, end = _pose(line, 0), _pose(line, last)
    return IntersectionRoute(
        pose=pose, branch=branch, start=start, destination=_pose(line, exit_at), end=end, lane_in=into,
        lane_out=chain[-1],
    )  # fmt: skip


def _inside(area: Box, point: FloatArray) -> bool:
    x0, y0, x1, y1 = area
    return bool(x0 < point[0] < x1 and y0 < point[1] < y1)


def _pose(line: FloatArray, k: int) -> tuple[float, float, float]:
    k = min(k, len(line) - 1)
    step = line[min(k + 1, len(line) - 1)] - line[max(k - 1, 0)] if k else line[1] - line[0]
    angle = float(exact.arctan2(step[1], step[0]))
    return round(float(line[k, 0]), 3), round(float(line[k, 1]), 3), round(angle, 4)


def _boxes(roads: Roads, area: Box) -> tuple[tuple[Box, Box], ...]:
    """Squares at both ends of every crossing in the area."""
    found = []
    for crossing in roads.crossings:
        middle = (np.array(crossing.ends[0]) + np.array(crossing.ends[1])) / 2
        if _inside(area, middle):
            found.append((_box(crossing, 0), _box(crossing, 1)))
    return tuple(found)


def _box(crossing: Crossing, end: int) -> Box:
    near, far = np.array(crossing.ends[end]), np.array(crossing.ends[1 - end])
    step = near - far
    x, y = (near + BESIDE_M / float(exact.norm(step)) * step).round(2).tolist()
    return x - HALF_BOX_M, y - HALF_BOX_M, x + HALF_BOX_M, y + HALF_BOX_M
