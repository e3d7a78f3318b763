"""Short ways of 10 to 20 m for scenarios on a place: straight, round a curve, over a crosswalk."""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.scenes.places.place import Place
from sidestep.scenes.towns.curves import cut, dot, resample, stations_of, unit
from sidestep.scenes.towns.routes import join_lines
from sidestep.scenes.towns.town import Spot
from sidestep.types.base import FloatArray

SHORTEST, LONGEST = 10.0, 20.0  # m
STRAIGHT_TURN, CURVE_TURN = np.radians(5), np.radians(20)
KEEP = 2.0  # m from the ends of an edge
STRIDE = 3.0  # m between the starts of spots that are tried
BESIDE, OFF_SOLIDS = 0.5, 0.65  # m
LEADS = (2.0, 3.5)  # m of sidewalk before and after a crosswalk


def straight_spots(place: Place) -> list[Spot]:
    """Along sidewalks that turn by less than 5°."""
    return _along(place, "straight")


def curve_spots(place: Place) -> list[Spot]:
    """Along sidewalks that turn by more than 20°."""
    return _along(place, "curve")


def _along(place: Place, kind: str) -> list[Spot]:
    """One behind the other, without overlap; every second one the other way."""
    spots: list[Spot] = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "sidewalk":
            continue
        line = resample(place.edge_path(a, b), 0.5)
        at = stations_of(line)
        start = KEEP
        while start + SHORTEST + 0.5 < at[-1] - KEEP:
            length = SHORTEST + 0.5 + (len(spots) * 7 + number) % 9
            points = resample(cut(line, start, min(start + length, at[-1] - KEEP), at), 1.0)
            turn = _turned(points)
            fits = turn < STRAIGHT_TURN if kind == "straight" else turn > CURVE_TURN
            if fits and place.has_room(points, BESIDE, OFF_SOLIDS):
                points = points[::-1] if len(spots) % 2 else points
                spots.append(Spot(np.round(points, 3), edge["width"], kind, -1))
                start += length
            start += STRIDE
    return spots


def _turned(points: FloatArray) -> float:
    """Largest angle (rad) between the first direction and any other, over steps of 1 m."""
    step = unit(np.diff(points, axis=0))
    a, b = step[0], step
    return float(np.abs(exact.arctan2(a[0] * b[:, 1] - a[1] * b[:, 0], dot(b, a))).max())


def crosswalk_spots(place: Place) -> list[Spot]:
    """Over each crosswalk both ways, from a few metres along one sidewalk to a few metres along the other."""
    spots = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "crosswalk":
            continue
        for turn, (start, goal) in enumerate(((a, b), (b, a))):
            spot = _over(place, start, goal, number + turn)
            if spot is not None:
                spots.append(spot)
    return spots


def _over(place: Place, start: int, goal: int, choice: int) -> Spot | None:
    edge = place.graph.edges[start, goal]
    for lead in LEADS:
        sides = [_lead(place, node, other, lead, choice) for node, other in ((start, goal), (goal, start))]
        if sides[0] is None or sides[1] is None:
            return None
        lines = [sides[0][::-1], place.edge_path(start, goal), sides[1]]
        points = join_lines(lines, [0.0] * 3, ["sidewalk", "crosswalk", "sidewalk"], ()).points
        if SHORTEST <= stations_of(points)[-1] <= LONGEST and place.has_room(points, BESIDE, OFF_SOLIDS):
            return Spot(points, edge["width"], "crosswalk", -1)
    return None


def _lead(place: Place, node: int, other: int, length: float, choice: int) -> FloatArray | None:
    """The first metres of one of the sidewalks at a node, away from it."""
    edges = place.graph.edges
    ways = [
        n for n in sorted(place.graph.neighbors(node))
        if n != other and edges[node, n]["kind"] != "crosswalk" and edges[node, n]["length"] > length
    ]  # fmt: skip
    return cut(place.edge_path(node, ways[choice % len(ways)]), 0.0, length) if ways else None
