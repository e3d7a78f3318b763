"""Short ways of 10 to 20 m for scenarios, as many as a town has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sidestep import exact
from sidestep.scenes.towns.curves import cut, dot, resample, stations_of, unit
from sidestep.scenes.towns.routes import join_lines
from sidestep.types.base import FloatArray

if TYPE_CHECKING:
    from sidestep.scenes.towns.town import Spot, Town

SHORTEST, LONGEST = 10.0, 20.0  # m
STRAIGHT_TURN = np.radians(5)
CURVE_TURN = np.radians(20)
KEEP = 2.5  # m from the ends of a way


def straight_spots(town: Town) -> list[Spot]:
    """Cut from sidewalks between crosswalks, one behind the other, of lengths that vary."""
    return _along_sidewalks(town, "straight")


def curve_spots(town: Town) -> list[Spot]:
    """The same where the sidewalk turns, also round roundabouts."""
    return _along_sidewalks(town, "curve")


def _along_sidewalks(town: Town, kind: str) -> list[Spot]:
    spots: list[Spot] = []
    for number, (a, b, edge) in enumerate(town.graph.edges(data=True)):
        block = town.blocks[edge["block"]].kind
        wanted = ("straight", "curve") if kind == "straight" else ("curve", "straight", "roundabout")
        if edge["kind"] != "sidewalk" or block not in wanted:
            continue
        spots += _cut_up(town, a, b, number, kind)
    return spots


def _cut_up(town: Town, a: int, b: int, number: int, kind: str) -> list[Spot]:
    """Pieces of one sidewalk that are straight, or that turn."""
    from sidestep.scenes.towns.town import Spot

    edge = town.graph.edges[a, b]
    line, at = edge["line"], stations_of(edge["line"])
    path: FloatArray | None = None
    spots: list[Spot] = []
    start, k = KEEP, number
    while start + SHORTEST + 1 < at[-1] - KEEP:
        length = SHORTEST + 0.5 + (k * 7 % 10)
        middle = cut(line, start, min(start + length, at[-1] - KEEP), at)
        turn = _turned(middle)
        if turn < STRAIGHT_TURN if kind == "straight" else turn > CURVE_TURN:
            if path is None:
                path = resample(town.edge_path(edge["start"], b if edge["start"] == a else a), 0.25)
            points = _between(path, middle[0], middle[-1])
            if SHORTEST <= stations_of(points)[-1] <= LONGEST:
                spots.append(Spot(np.round(points, 3), edge["width"], kind, edge["block"]))
        start += length + 1.0
        k += 1
    return spots


def _turned(points: FloatArray) -> float:
    """Largest angle (rad) between the first direction and any other."""
    step = unit(np.diff(points, axis=0))
    a, b = step[0], step
    return float(np.abs(exact.arctan2(a[0] * b[:, 1] - a[1] * b[:, 0], dot(b, a))).max())


def _between(dense: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """The part of a path, given as close points, between the places nearest to two points."""
    at = [int(exact.norm(dense - point).argmin()) for point in (start, end)]
    return resample(dense[at[0] : at[1] + 1], 1.0)


def crosswalk_spots(town: Town) -> list[Spot]:
    """Over each crosswalk both ways, from a few metres along one sidewalk to a few metres along the other."""
    from sidestep.scenes.towns.town import Spot

    spots = []
    for number, (a, b, edge) in enumerate(town.graph.edges(data=True)):
        room = LONGEST - 0.5 - edge["length"]
        if edge["kind"] != "crosswalk" or room < 1.0:
            continue
        for turn, (start, goal) in enumerate(((a, b), (b, a))):
            lead = min(1.5 + (number + turn) % 3, room / 2)
            before, after = _lead(town, start, goal, lead, number + turn), _lead(town, goal, start, lead, number)
            lines = [before[::-1], town.edge_path(start, goal), after]
            points = join_lines(lines, [0.0] * 3, ["sidewalk", "crosswalk", "sidewalk"], ()).points
            if SHORTEST <= stations_of(points)[-1] <= LONGEST:
                spots.append(Spot(points, edge["width"], "crosswalk", edge["block"]))
    return spots


def _lead(town: Town, node: int, other: int, length: float, choice: int) -> FloatArray:
    """The first metres of one of the sidewalks at a node, away from it."""
    ways = [
        n for n in sorted(town.graph.neighbors(node)) if n != other and town.graph.edges[node, n]["kind"] == "sidewalk"
    ]
    return cut(town.edge_path(node, ways[choice % len(ways)]), 0.0, length)
