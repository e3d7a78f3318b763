"""Where the vehicles of a seed start and which lanes they take, and which parking bays are taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep._util import exact
from sidestep.simulation.traffic.kinds import load_vehicle
from sidestep.simulation.traffic.lane_traffic import LANE_DRIVER, RETURNS, WISH_MPS
from sidestep.simulation.traffic.lanes import LaneGraph
from sidestep.types import CompiledScene
from sidestep.types.base import FloatArray
from sidestep.types.road import Crossing, Roads
from sidestep.types.scenario import LaneTraffic, VehiclePlacement

START_SPACING_M = 6.0
MOST_LANES = 32
MOST_VEHICLES = 100
CLEAR_OF_CROSSINGS_M = 7.0  # from the rear axle of a vehicle that starts to the edge of a crossing
PARKED_KIND = "car"
CLEAR_OF_PARKED_M = 4.0

Spot = tuple[str, FloatArray, float]  # lane, point, heading


def draw_vehicles(
    traffic: LaneTraffic, scene: CompiledScene, robots: Sequence[tuple[float, float]], rng: np.random.Generator,
    where: str,
) -> tuple[VehiclePlacement, ...]:  # fmt: skip
    """The vehicles of one seed: those that drive, each somewhere on a lane and with the way it will take, and those
    that are parked. Where vehicles are given per kilometre, roads without lanes have none."""
    roads = scene.spec.roads
    has_none = traffic.per_km is not None and roads is not None and not roads.lanes
    driving = () if has_none else _draw_driving(traffic, roads or Roads(), robots, rng, where)
    return (*driving, *_draw_parked(traffic, roads or Roads(), robots, rng))


def _draw_driving(
    traffic: LaneTraffic, roads: Roads, robots: Sequence[tuple[float, float]], rng: np.random.Generator, where: str
) -> tuple[VehiclePlacement, ...]:
    graph = LaneGraph(roads, where)
    is_anywhere = traffic.per_km is not None or traffic.anywhere
    spots = _starts_anywhere(graph, roads.crossings) if is_anywhere else _starts(graph)
    if traffic.per_km is None:
        wanted = int(rng.integers(traffic.count[0], traffic.count[1], endpoint=True))
    else:
        streets = exact.total(graph.length[name] for name, lane in graph.lanes.items() if lane.turn is None)
        mean = traffic.per_km * streets / 1000.0
        wanted = min(int(mean + exact.uniform(rng, 0.0, 1.0)), MOST_VEHICLES)
    kinds, shares = list(traffic.kinds), np.cumsum(list(traffic.kinds.values()))
    taken = [np.array(place) for place in robots]
    parameters = dict(traffic.parameters)
    if traffic.returns_s is not None:
        parameters[RETURNS] = traffic.returns_s
    vehicles: list[VehiclePlacement] = []
    for k in rng.permutation(len(spots)).tolist():
        if len(vehicles) == wanted:
            break
        name, point, heading = spots[k]
        kind = kinds[int(np.searchsorted(shares, exact.uniform(rng, 0.0, float(shares[-1])), side="right"))]
        share = float(exact.uniform(rng, *traffic.speed_share))
        lanes = _wander(graph, _come_from(graph, name, rng) if traffic.returns_s is not None else [name], rng)
        if any(float(exact.norm(point - other)) < traffic.apart_m for other in taken):
            continue
        taken.append(point)
        wish = round(min(load_vehicle(kind).limits.max_speed, share * graph.lanes[name].speed_limit), 3)
        is_rolling = traffic.starts == "rolling"
        vehicles.append(
            VehiclePlacement(
                kind=kind,
                start=(float(point[0]), float(point[1]), heading),
                speed=wish if is_rolling else 0.0,
                driver=LANE_DRIVER,
                parameters={**parameters, **({} if is_rolling else {WISH_MPS: wish}), "lanes": lanes},
            )
        )
    return tuple(vehicles)


def _starts(graph: LaneGraph) -> list[Spot]:
    """Where vehicles may start: not on a lane through a junction, nor on one that leads nowhere."""
    return [
        spot for name, lane in graph.lanes.items() if lane.turn is None and lane.next for spot in _along(graph, name)
    ]


def _starts_anywhere(graph: LaneGraph, crossings: Sequence[Crossing]) -> list[Spot]:
    """The same on all lanes outside of junctions, also on those that end at the scene's border, but off crossings."""
    found = []
    for name, lane in graph.lanes.items():
        for spot in _along(graph, name) if lane.turn is None else ():
            if all(_distance(spot[1], crossing) > crossing.width / 2 + CLEAR_OF_CROSSINGS_M for crossing in crossings):
                found.append(spot)
    return found


def _distance(point: FloatArray, crossing: Crossing) -> float:
    """From a point to the middle line of a crossing, m."""
    a, b = np.array(crossing.ends)
    step, gap = b - a, point - a
    share = (gap[0] * step[0] + gap[1] * step[1]) / (step[0] * step[0] + step[1] * step[1])
    return float(exact.norm(gap - min(max(share, 0.0), 1.0) * step))


def _along(graph: LaneGraph, name: str) -> list[Spot]:
    spots = []
    line = graph.line([name], spacing=START_SPACING_M)
    for k in range(1, len(line) - 1):
        step = line[k + 1] - line[k]
        spots.append((name, line[k], float(exact.arctan2(step[1], step[0]))))
    return spots


def _wander(graph: LaneGraph, lanes: list[str], rng: np.random.Generator) -> list[str]:
    while graph.lanes[lanes[-1]].next and len(lanes) < MOST_LANES:
        following = graph.lanes[lanes[-1]].next
        lanes.append(following[int(rng.integers(len(following)))])
    return lanes


def _come_from(graph: LaneGraph, name: str, rng: np.random.Generator) -> list[str]:
    """Lanes that lead to a lane from where traffic comes into the scene."""
    lanes = [name]
    while len(lanes) < MOST_LANES // 2:
        before = sorted(set(graph.graph.predecessors(lanes[0])) - set(lanes))
        if not before:
            break
        lanes.insert(0, before[int(rng.integers(len(before)))])
    return lanes


def _draw_parked(
    traffic: LaneTraffic, roads: Roads, robots: Sequence[tuple[float, float]], rng: np.random.Generator
) -> tuple[VehiclePlacement, ...]:
    if traffic.parked_share == 0.0:
        return ()
    corners = load_vehicle(PARKED_KIND).footprint.polygon or ()
    ahead = (max(x for x, _ in corners) + min(x for x, _ in corners)) / 2
    vehicles = []
    for bay, draw in zip(roads.parking, rng.random(len(roads.parking)).tolist(), strict=True):
        middle = np.array(bay.middle)
        sine, cosine = exact.sincos(bay.heading)
        if draw >= traffic.parked_share or any(
            float(exact.norm(middle - np.array(place))) < CLEAR_OF_PARKED_M for place in robots
        ):
            continue
        start = (float(middle[0] - ahead * cosine), float(middle[1] - ahead * sine), bay.heading)
        vehicles.append(VehiclePlacement(kind=PARKED_KIND, start=start))
    return tuple(vehicles)
