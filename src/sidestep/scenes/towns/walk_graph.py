"""The graph of a town's walkways: sidewalks, crosswalks and paths over plazas, and the line to walk along each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
import numpy as np

from sidestep.scenes.towns.furniture import Clutter, shift_at
from sidestep.scenes.towns.ground import Plaza
from sidestep.scenes.towns.streets import MIDDLE, Corner, Half, Ring, Street
from sidestep.scenes.walkways import add_walkway, left_of
from sidestep.types.base import FloatArray


@dataclass(frozen=True)
class Stretch:
    """Part of a half street between two stations, in walking order."""

    street: int
    side: int
    start: float
    end: float


Part = Stretch | int | tuple[tuple[float, float], ...]
"""A stretch, the number of a corner, or points."""


class WalkLines:
    """Makes the graph and the lines of its edges."""

    def __init__(
        self,
        streets: tuple[Street, ...],
        corners: tuple[Corner, ...],
        clutter: tuple[tuple[tuple[Clutter, ...], tuple[Clutter, ...]], ...],
    ) -> None:
        self.streets, self.corners, self.clutter = streets, corners, clutter

    def line(self, parts: tuple[Part, ...], shifted: bool) -> FloatArray:
        """The middle of the clear sidewalk over parts; ``shifted``: round the things that stand in it."""
        lines = []
        for part in parts:
            if isinstance(part, Stretch):
                lines.append(self._stretch(part, shifted))
            elif isinstance(part, int):
                lines.append(self.corners[part].lines[MIDDLE])
            else:
                lines.append(np.array(part))
        points = np.concatenate(lines)
        apart = np.concatenate([[True], (np.abs(np.diff(points, axis=0)) > 2e-3).any(axis=1)])
        return np.asarray(points[apart])

    def _stretch(self, part: Stretch, shifted: bool) -> FloatArray:
        street = self.streets[part.street]
        low, high = sorted((part.start, part.end))
        if shifted:
            stations = np.linspace(low, high, max(int(np.ceil(high - low)), 1) + 1)
        else:
            inside = street.stations[(street.stations > low + 0.01) & (street.stations < high - 0.01)]
            stations = np.concatenate([[low], inside, [high]])
        sign = 1.0 if part.side == 0 else -1.0
        offset = np.full(len(stations), street.zones[part.side].offsets(street.road_half)[MIDDLE])
        if shifted:
            offset = offset + shift_at(self.clutter[part.street][part.side], stations)
        points = np.round(street.points_at(stations, sign * offset)[0], 3)
        return points if part.start <= part.end else points[::-1]


class BlockNumbers(NamedTuple):
    """Numbers of the blocks of junctions, of mid-block crossings by street and crossing, and of plazas."""

    junctions: dict[int, int]
    crossings: dict[tuple[int, int], int]
    plazas: list[int]


def make_graph(
    walks: WalkLines, rings: tuple[Ring, ...], plazas: tuple[Plaza, ...], numbers: BlockNumbers
) -> nx.Graph[int]:
    """Nodes at both ends of every crosswalk and at the mouths of passages."""
    graph: nx.Graph[int] = nx.Graph()
    streets = walks.streets
    on_half: dict[Half, list[tuple[float, int]]] = {}
    for number, street in enumerate(streets):
        for index, crossing in enumerate(street.crossings):
            ends = [_add_node(graph, street, number, side, crossing.station) for side in (0, 1)]
            for side in (0, 1):
                on_half.setdefault((number, side), []).append((crossing.station, ends[side]))
            block = numbers.crossings.get((number, index), number)
            points = tuple(graph.nodes[end]["xy"] for end in ends)
            _join(graph, walks, ends[0], ends[1], (points,), crossing.width, "crosswalk", block)
    for plaza, block in zip(plazas, numbers.plazas, strict=True):
        _join_plaza(graph, walks, plaza, block, on_half)
    for ring in rings:
        for k, half in enumerate(ring.halves):
            nodes = _in_order(on_half[half], half[1])
            street = streets[half[0]]
            for (s0, a), (s1, b) in itertools.pairwise(nodes):
                part = Stretch(half[0], half[1], s0, s1)
                _join(graph, walks, a, b, (part,), street.zones[half[1]].sidewalk, "sidewalk", half[0])
            after = ring.halves[(k + 1) % len(ring.halves)]
            first = _in_order(on_half[after], after[1])[0]
            _join_corner(graph, walks, half, nodes[-1], ring.corners[k], after, first, numbers)
    return graph


def _in_order(nodes: list[tuple[float, int]], side: int) -> list[tuple[float, int]]:
    return sorted(nodes, reverse=side == 1)


def _add_node(graph: nx.Graph[int], street: Street, number: int, side: int, station: float) -> int:
    offset = street.zones[side].offsets(street.road_half)[MIDDLE] * (1 if side == 0 else -1)
    x, y = np.round(street.points_at(np.array([station]), np.array([offset]))[0][0], 3).tolist()
    node = int(graph.number_of_nodes())
    graph.add_node(node, xy=(x, y), street=number, side=side, station=station)
    return node


def _join(
    graph: nx.Graph[int], walks: WalkLines, a: int, b: int, parts: tuple[Part, ...], width: float, kind: str, block: int
) -> None:
    add_walkway(graph, a, b, walks.line(parts, shifted=False), width, kind, block=block, parts=parts)


def _join_corner(
    graph: nx.Graph[int],
    walks: WalkLines,
    half: Half,
    last: tuple[float, int],
    corner: int,
    after: Half,
    first: tuple[float, int],
    numbers: BlockNumbers,
) -> None:
    one, other = walks.streets[half[0]], walks.streets[after[0]]
    parts = (
        Stretch(half[0], half[1], last[0], one.end if half[1] == 0 else one.start),
        corner,
        Stretch(after[0], after[1], other.start if after[1] == 0 else other.end, first[0]),
    )
    width = min(one.zones[half[1]].sidewalk, other.zones[after[1]].sidewalk)
    block = numbers.junctions[walks.corners[corner].junction]
    _join(graph, walks, last[1], first[1], parts, width, "sidewalk", block)


def _join_plaza(
    graph: nx.Graph[int], walks: WalkLines, plaza: Plaza, block: int, on_half: dict[Half, list[tuple[float, int]]]
) -> None:
    """Add the links from street to street, on either side of the basin."""
    ends = []
    for half, station in zip(plaza.halves, plaza.stations, strict=True):
        node = _add_node(graph, walks.streets[half[0]], half[0], half[1], station)
        on_half.setdefault(half, []).append((station, node))
        ends.append(node)
    across = left_of(plaza.along)
    inner = []
    for point in (
        plaza.centre - plaza.along * (plaza.size[0] / 2 - 2.0),
        plaza.centre + plaza.along * (plaza.size[0] / 2 - 2.0),
        plaza.centre + across * (plaza.basin + 2.2),
        plaza.centre - across * (plaza.basin + 2.2),
    ):
        x, y = np.round(point, 3).tolist()
        inner.append(graph.number_of_nodes())
        graph.add_node(inner[-1], xy=(x, y), street=-1, side=0, station=0.0)
    pairs = [(ends[0], inner[0]), (inner[1], ends[1])]
    pairs += [(inner[0], side) for side in inner[2:]] + [(side, inner[1]) for side in inner[2:]]
    for k, (a, b) in enumerate(pairs):
        points = (graph.nodes[a]["xy"], graph.nodes[b]["xy"])
        _join(graph, walks, a, b, (points,), plaza.passage if k < 2 else 3.0, "plaza", block)
