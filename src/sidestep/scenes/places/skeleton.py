"""Walking lines in the middle of annotated ground: its medial axis, by the Voronoi diagram of points on its edge."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import shapely
from scipy.spatial import Voronoi

from sidestep import exact
from sidestep.scenes.places import grid
from sidestep.scenes.places.graph import WalkLine
from sidestep.types.base import FloatArray

SPACING = 0.5  # m between points on the edge
NARROWEST = 0.9  # m: no line where the ground is narrower
WIDEST = 4.0  # m: on a square one keeps to a way of this width
BRANCH = 1.6  # dead ends shorter than this many half widths lead into a corner, not anywhere
LEAD = 3.0  # m: so much sidewalk between a crosswalk and the next junction belongs to the crosswalk
TOLERANCE = 0.06  # m by which lines are straightened

Node = tuple[float, float]


def walking_lines(area: Any, crosswalks: Any) -> list[WalkLine]:
    """Lines in the middle of ``area``; those over ``crosswalks`` (with their ramps) are crosswalks."""
    shapely.prepare(area)
    shapely.prepare(crosswalks)
    axis = _medial_axis(area)
    edge = shapely.boundary(area)
    _prune(axis, edge)
    for a, b in axis.edges:
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        axis.edges[a, b]["kind"] = "crosswalk" if shapely.contains_xy(crosswalks, *middle) else "sidewalk"

    def width(line: Any) -> float:
        found = grid.places_along(grid.corners(line), grid.length_of(line) * np.linspace(0.1, 0.9, 9))
        places = shapely.points(found)
        return round(min(2 * float(np.median([grid.apart(edge, place) for place in places])), WIDEST), 2)

    lines = []
    for points, kind in _chains(axis):
        line = shapely.simplify(shapely.LineString(points), TOLERANCE)
        lines.append(WalkLine(line, width(line), kind, width))
    return lines


def _medial_axis(area: Any) -> nx.Graph:
    samples: list[tuple[float, float]] = []
    following: list[int] = []
    for polygon in shapely.get_parts(area):
        for ring in (polygon.exterior, *polygon.interiors):
            outline, length = grid.corners(ring), grid.length_of(ring)
            count = max(int(length / SPACING), 8)
            start = len(samples)
            samples += grid.places_along(outline, length * np.arange(count) / count).tolist()
            following += [start + (k + 1) % count for k in range(count)]
    diagram = Voronoi(np.array(samples))
    # The middle between two edges on a grid of 1 mm may be half a millimetre: it is made exact before it is rounded.
    vertices = np.round(np.round(diagram.vertices, 4), 3)
    inside = shapely.contains_xy(area, vertices[:, 0], vertices[:, 1])
    room = np.zeros(len(vertices), bool)
    away = shapely.distance(shapely.boundary(area), shapely.points(vertices[inside]))
    room[inside] = np.round(away, grid.SAME) > NARROWEST / 2
    axis: nx.Graph = nx.Graph()
    for (p, q), (a, b) in zip(diagram.ridge_points.tolist(), diagram.ridge_vertices, strict=True):
        beside = following[p] == q or following[q] == p
        if a >= 0 and b >= 0 and room[a] and room[b] and not beside:
            one, other = tuple(vertices[a].tolist()), tuple(vertices[b].tolist())
            if one != other:
                axis.add_edge(one, other)
    return axis


def _branch(axis: nx.Graph, leaf: Node) -> tuple[list[Node], float]:
    """From a dead end to the first junction, and its length, m."""
    path, length = [leaf], 0.0
    while True:
        ahead = [node for node in axis.neighbors(path[-1]) if len(path) < 2 or node != path[-2]]
        if len(ahead) != 1:
            return path, length
        length += float(exact.hypot(ahead[0][0] - path[-1][0], ahead[0][1] - path[-1][1]))
        path.append(ahead[0])


def _prune(axis: nx.Graph, edge: Any) -> None:
    """Take away branches into corners, until none is left."""
    while True:
        corners: list[Node] = []
        for leaf in [node for node in axis if axis.degree(node) == 1]:
            path, length = _branch(axis, leaf)
            if axis.degree(path[-1]) > 2 and round(length, grid.SAME) < round(
                BRANCH * grid.apart(edge, shapely.Point(path[-1])), grid.SAME
            ):
                corners += path[:-1]
        if not corners:
            return
        axis.remove_nodes_from(corners)


def _chains(axis: nx.Graph) -> list[tuple[FloatArray, str]]:
    """Lines between junctions, dead ends and places where the kind changes; short leads go to their crosswalk."""
    ends = {
        node for node in axis if axis.degree(node) != 2 or len({axis.edges[node, n]["kind"] for n in axis[node]}) > 1
    }
    seen: set[frozenset[Node]] = set()
    chains: list[tuple[list[Node], str]] = []
    for start in sorted(ends) + sorted(axis):  # the second list: rings without any end
        for step in sorted(axis.neighbors(start)):
            path = [start, step]
            if frozenset(path) in seen:
                continue
            seen.add(frozenset(path))
            while path[-1] not in ends and path[-1] != start:
                ahead = next(node for node in axis.neighbors(path[-1]) if node != path[-2])
                seen.add(frozenset((path[-1], ahead)))
                path.append(ahead)
            chains.append((path, axis.edges[path[0], path[1]]["kind"]))
    crossed = {end for path, kind in chains if kind == "crosswalk" for end in (path[0], path[-1])}
    found = []
    for path, kind in chains:
        points = np.array(path)
        length = float(exact.hypot(*np.diff(points, axis=0).T).sum())
        lead = any(end in crossed and axis.degree(end) == 2 for end in (path[0], path[-1]))
        found.append((points, "crosswalk" if lead and length < LEAD else kind))
    return found
