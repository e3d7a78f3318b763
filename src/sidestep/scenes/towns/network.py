"""The net of streets: lines over the town that cross at junctions, some stretches left out, joined by splines.

Rows and columns of a grid are shaken; a cubic spline runs through the nodes of each. Leaving stretches out makes tees
and bends. What is left between two junctions is one chain, which becomes a street.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

from sidestep._util import exact
from sidestep.scenes.walkways import Curve, fillet, resample, spline, stations_of, unit
from sidestep.types.base import FloatArray

SIZE = 2000.0  # m, side of a town
HALF = SIZE / 2
MARGIN = 80.0  # m from the outermost street to the border
SHAKE = 0.15  # of the spacing: how far a node is from its position in the grid
LEFT_OUT = 0.15  # share of the stretches
MOST_CELLS_JOINED = 3  # grid cells that may become one block
BEND = (26.0, 44.0)  # m, radius of bends

GridNode = tuple[int, int]  # row, column
Stretch = tuple[GridNode, GridNode]


@dataclass(frozen=True, eq=False)
class Chain:
    """A street's centre line from one junction to another."""

    start: int
    end: int
    curve: Curve  # a point about every metre
    stations: FloatArray  # (N,) m
    arterial: bool

    @cached_property
    def rows(self) -> FloatArray:
        """Points and directions side by side ``(N, 4)``, to look them up together."""
        return np.concatenate([self.curve.points, self.curve.tangents], axis=1)

    @property
    def length(self) -> float:
        return float(self.stations[-1])


@dataclass(frozen=True, eq=False)
class Network:
    """Junctions, and chains between them. ``arms[j]`` lists (chain, 0: starts here, 1: ends here) against the clock."""

    junctions: FloatArray  # (J, 2) m
    chains: tuple[Chain, ...]
    arms: tuple[tuple[tuple[int, int], ...], ...]


def lay_network(rng: np.random.Generator) -> Network:
    """Draw the streets of a town."""
    positions, tangents = _shaken_grid(rng)
    grid = _leave_out(positions, rng)
    main_rows = {int(rng.integers(2, 5)) + 4 * k for k in range(4)}
    main_columns = {int(rng.integers(2, 5)) + 4 * k for k in range(4)}
    junctions = [node for node in grid.nodes if grid.degree[node] >= 3]
    number = {node: k for k, node in enumerate(junctions)}
    chains = []
    for path in _paths(grid, number):
        (r0, c0), (r1, _) = path[0], path[1]
        arterial = r0 in main_rows if r0 == r1 else c0 in main_columns
        curve = _centre_line(path, positions, tangents, rng)
        chains.append(Chain(number[path[0]], number[path[-1]], curve, stations_of(curve.points), arterial))
    xy = np.array([positions[node] for node in junctions])
    return Network(xy, tuple(chains), _sorted_arms(len(junctions), chains))


def _shaken_grid(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Nodes ``(rows, columns, 2)`` and directions of row and column at each ``(rows, columns, 2, 2)``."""
    counts = rng.integers(11, 15, size=2)
    lines = []
    for count in counts:
        gaps = exact.uniform(rng, 0.78, 1.22, count - 1)
        gaps *= (SIZE - 2 * MARGIN) / gaps.sum()
        lines.append(np.concatenate([[0.0], np.cumsum(gaps)]) + MARGIN - HALF)
    ys, xs = lines
    positions = np.stack(np.meshgrid(xs, ys), axis=-1)
    spacing = np.array([np.diff(xs).mean(), np.diff(ys).mean()])
    positions = positions + exact.uniform(rng, -SHAKE, SHAKE, positions.shape) * spacing
    along_row = np.empty_like(positions)
    along_row[:, 1:-1] = positions[:, 2:] - positions[:, :-2]
    along_row[:, 0], along_row[:, -1] = positions[:, 1] - positions[:, 0], positions[:, -1] - positions[:, -2]
    along_column = np.empty_like(positions)
    along_column[1:-1] = positions[2:] - positions[:-2]
    along_column[0], along_column[-1] = positions[1] - positions[0], positions[-1] - positions[-2]
    return positions, np.stack([unit(along_row), unit(along_column)], axis=2)


def _leave_out(positions: FloatArray, rng: np.random.Generator) -> nx.Graph[GridNode]:
    """The grid without some inner stretches: still connected, no dead ends, no huge blocks."""
    rows, columns = positions.shape[:2]
    graph: nx.Graph[GridNode] = nx.Graph()
    graph.add_nodes_from((r, c) for r in range(rows) for c in range(columns))
    graph.add_edges_from(((r, c), (r, c + 1)) for r in range(rows) for c in range(columns - 1))
    graph.add_edges_from(((r, c), (r + 1, c)) for r in range(rows - 1) for c in range(columns))
    inner: list[tuple[Stretch, tuple[GridNode, GridNode]]] = []
    inner += [(((r, c), (r, c + 1)), ((r - 1, c), (r, c))) for r in range(1, rows - 1) for c in range(columns - 1)]
    inner += [(((r, c), (r + 1, c)), ((r, c - 1), (r, c))) for r in range(rows - 1) for c in range(1, columns - 1)]
    block = {(r, c): [(r, c)] for r in range(rows - 1) for c in range(columns - 1)}
    left = round(LEFT_OUT * graph.number_of_edges())
    for index in rng.permutation(len(inner)):
        (a, b), (one, other) = inner[index]
        together = block[one] + block[other]
        if left == 0 or min(graph.degree[a], graph.degree[b]) < 3 or block[one] is block[other]:
            continue
        if len(together) > MOST_CELLS_JOINED:
            continue
        graph.remove_edge(a, b)
        if not nx.has_path(graph, a, b):
            graph.add_edge(a, b)
            continue
        for cell in together:
            block[cell] = together
        left -= 1
    return graph


def _paths(graph: nx.Graph[GridNode], junctions: dict[GridNode, int]) -> list[list[GridNode]]:
    """Runs of nodes from one junction to the next, each once."""
    paths = []
    for node in junctions:
        for first in sorted(graph.neighbors(node)):
            path = [node, first]
            while path[-1] not in junctions:
                path.append(next(n for n in sorted(graph.neighbors(path[-1])) if n != path[-2]))
            if (path[0], path[1]) < (path[-1], path[-2]):
                paths.append(path)
    return paths


def _centre_line(path: list[GridNode], positions: FloatArray, tangents: FloatArray, rng: np.random.Generator) -> Curve:
    """Splines from node to node; where the run turns from a row into a column, a bend."""
    pieces = []
    for a, b in itertools.pairwise(path):
        axis = 0 if a[0] == b[0] else 1
        sense = 1.0 if a < b else -1.0
        chord = float(exact.hypot(*(positions[b] - positions[a])))
        pieces.append(
            spline(positions[a], sense * tangents[a][axis], positions[b], sense * tangents[b][axis], int(chord))
        )
    line = pieces[0]
    for before, a, piece in zip(path[:-2], path[1:-1], pieces[1:], strict=True):
        bend = _axis(before, a) != _axis(a, path[path.index(a) + 1])
        line = _bend(line, piece, float(exact.uniform(rng, *BEND))) if bend else _append(line, piece)
    points = resample(line.points, 1.0)
    slope = np.gradient(points, axis=0)
    slope[0], slope[-1] = line.tangents[0], line.tangents[-1]
    return Curve(points, unit(slope))


def _axis(a: GridNode, b: GridNode) -> int:
    return 0 if a[0] == b[0] else 1


def _append(line: Curve, piece: Curve) -> Curve:
    return Curve(np.concatenate([line.points, piece.points[1:]]), np.concatenate([line.tangents, piece.tangents[1:]]))


def _bend(line: Curve, piece: Curve, radius: float) -> Curve:
    """Both without their last and first metres, and a fillet between."""
    before, after = stations_of(line.points), stations_of(piece.points)
    radius = min(radius, 0.36 * float(after[-1]), 0.36 * float(before[-1]))
    reach = 1.15 * radius
    i = int(np.searchsorted(before, before[-1] - reach))
    j = int(np.searchsorted(after, reach))
    arc = fillet(line.points[i], line.tangents[i], piece.points[j], piece.tangents[j], radius)
    dense = resample(arc.points, 1.0)
    return _append(
        _append(Curve(line.points[: i + 1], line.tangents[: i + 1]), Curve(dense, unit(np.gradient(dense, axis=0)))),
        Curve(piece.points[j:], piece.tangents[j:]),
    )


def _sorted_arms(count: int, chains: list[Chain]) -> tuple[tuple[tuple[int, int], ...], ...]:
    arms: list[list[tuple[float, int, int]]] = [[] for _ in range(count)]
    for index, chain in enumerate(chains):
        for end, node in enumerate((chain.start, chain.end)):
            x, y = chain.curve.tangents[-end] * (1 if end == 0 else -1)
            arms[node].append((float(exact.arctan2(y, x)), index, end))
    return tuple(tuple((chain, end) for _, chain, end in sorted(arm)) for arm in arms)
