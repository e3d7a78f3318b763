"""Traffic on lanes: where vehicles of a seed start and which lanes they take, and the arrays with which all of them are
driven in one compiled call (``lane_driving``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import sidestep.traffic.lane_driving as drive
from sidestep import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels.layout import COVER
from sidestep.traffic.drivers import VehicleDriver
from sidestep.traffic.kinds import load_vehicle
from sidestep.traffic.lanes import LaneGraph, stations
from sidestep.types import CompiledScene, RobotSpec
from sidestep.types.base import FloatArray
from sidestep.types.road import Roads
from sidestep.types.scenario import LaneTraffic, VehiclePlacement

LANE_DRIVER = "lane"
DEFAULTS: dict[str, float] = {
    "headway_s": 1.2, "acceleration": 1.5, "braking": 2.0, "standstill_m": 2.0, "gap_s": 1.5, "patience_s": 6.0,
    "margin_m": 0.35,
}  # fmt: skip
"""Settings of a driver: the IDM's T, a, b and s0 (Treiber and Kesting, "Traffic Flow Dynamics", 2013, table 11.2:
values of city traffic), the gap accepted at conflicts, how long a driver waits, what is kept free at either side."""
SIDEWAYS = 2.0  # m/s²: comfortable in a curve
START_SPACING_M = 6.0


class LaneDriver(VehicleDriver):
    """Marks a vehicle as one that drives along lanes; all of them are driven at once by :class:`LaneVehicles`."""

    def __init__(self, lanes: Sequence[str] = (), **settings: float) -> None:
        if len(lanes) < 1:
            raise BadInput("the driver 'lane' needs lanes: names of lanes of the scene, in order")
        for name, value in settings.items():
            if name not in DEFAULTS:
                raise UnknownName("setting", name, DEFAULTS, "driver 'lane'")
            if not value > 0.0:
                raise BadInput(f"{name} must be above 0, got {value}")


def draw_vehicles(
    traffic: LaneTraffic, scene: CompiledScene, robots: Sequence[tuple[float, float]], rng: np.random.Generator,
    where: str,
) -> tuple[VehiclePlacement, ...]:  # fmt: skip
    """The vehicles of one seed: each somewhere on a lane that leads into a junction, with the way it will take."""
    graph = LaneGraph(scene.spec.roads or Roads(), where)
    spots = _starts(graph)
    wanted = int(rng.integers(traffic.count[0], traffic.count[1], endpoint=True))
    kinds, shares = list(traffic.kinds), np.cumsum(list(traffic.kinds.values()))
    taken = [np.array(place) for place in robots]
    vehicles: list[VehiclePlacement] = []
    for k in rng.permutation(len(spots)).tolist():
        if len(vehicles) == wanted:
            break
        name, point, heading = spots[k]
        kind = kinds[int(np.searchsorted(shares, exact.uniform(rng, 0.0, float(shares[-1])), side="right"))]
        share = float(exact.uniform(rng, *traffic.speed_share))
        lanes = _wander(graph, name, rng)
        if any(float(exact.norm(point - other)) < traffic.apart_m for other in taken):
            continue
        taken.append(point)
        limit = min(load_vehicle(kind).limits.max_speed, share * graph.lanes[name].speed_limit)
        vehicles.append(
            VehiclePlacement(
                kind=kind,
                start=(float(point[0]), float(point[1]), heading),
                speed=round(limit, 3),
                driver=LANE_DRIVER,
                parameters={**traffic.parameters, "lanes": lanes},
            )
        )
    return tuple(vehicles)


def _starts(graph: LaneGraph) -> list[tuple[str, FloatArray, float]]:
    """Where vehicles may start: lane, point, heading; not on a lane through a junction, nor on one that
    leads nowhere."""
    spots = []
    for name, lane in graph.lanes.items():
        if lane.turn is not None or not lane.next:
            continue
        line = graph.line([name], spacing=START_SPACING_M)
        for k in range(1, len(line) - 1):
            step = line[k + 1] - line[k]
            spots.append((name, line[k], float(exact.arctan2(step[1], step[0]))))
    return spots


def _wander(graph: LaneGraph, name: str, rng: np.random.Generator) -> list[str]:
    lanes = [name]
    while graph.lanes[lanes[-1]].next and len(lanes) < 32:
        following = graph.lanes[lanes[-1]].next
        lanes.append(following[int(rng.integers(len(following)))])
    return lanes


class _Path(NamedTuple):
    points: FloatArray
    limit: FloatArray
    lanes: list[tuple[int, float]]
    crossings: list[tuple[int, float, float]]
    signals: list[tuple[int, float]]


class LaneVehicles:
    """Those of a scenario's vehicles that drive along lanes, in one episode."""

    def __init__(
        self, placements: Sequence[VehiclePlacement], specs: Sequence[RobotSpec], rows: Sequence[int], body: FloatArray,
        first_disc: int, scene: CompiledScene, where: str,
    ) -> None:  # fmt: skip
        """``rows``: of the vehicles among all robots and vehicles, whose ``body`` (R, BODY_ROWS, 2) is the kernels';
        the discs that cover bodies are in the columns from ``first_disc`` on."""
        roads = scene.spec.roads or Roads()
        graph = LaneGraph(roads, where)
        self._junction = {
            name: k for k, name in enumerate(n for n, lane in graph.lanes.items() if lane.turn is not None)
        }
        paths = [self._path(graph, roads, place, where) for place in placements]
        self._paths = _pack_paths(paths)
        self._rules = self._pack_rules(graph, roads)
        count = len(placements)
        bodies = np.zeros((count, drive.BODY_ROWS))
        settings = np.zeros((count, drive.SETTING_ROWS))
        for k, (place, spec) in enumerate(zip(placements, specs, strict=True)):
            corners = spec.footprint.polygon or ((spec.footprint.enclosing_radius,) * 2,)
            bodies[k, drive.FRONT] = max(x for x, _ in corners)
            bodies[k, drive.REAR] = -min(x for x, _ in corners) if spec.footprint.polygon else corners[0][0]
            bodies[k, drive.HALF] = max(abs(y) for _, y in corners)
            bodies[k, drive.WHEELBASE] = spec.wheelbase or 1.0
            bodies[k, drive.LOCK] = spec.limits.max_steer or 0.6
            given: dict[str, Any] = {**DEFAULTS, **place.parameters}
            settings[k] = [place.speed, *(given[name] for name in DEFAULTS)]
            settings[k, drive.PATIENCE] += 0.7 * k  # two who wait for each other do not go at the same moment
        cover = body[list(rows), COVER]
        self._vehicles = drive.Vehicles(
            row=np.array(rows, np.int64),
            first_disc=(first_disc + cover[:, 1]).astype(np.int64),
            discs=cover[:, 0].astype(np.int64),
            body=bodies,
            settings=settings,
            state=np.zeros((count, drive.STATE_ROWS)),
        )

    def write_commands(
        self, time: float, dt: float, agents: FloatArray, flags: Any, people: int, robots: FloatArray, foreign: int,
        command: FloatArray,
    ) -> None:  # fmt: skip
        """Write the commands of the coming step."""
        drive.drive_vehicles(
            time, dt, agents, flags, people, robots, foreign, self._vehicles, self._paths, self._rules, command
        )

    def _path(self, graph: LaneGraph, roads: Roads, place: VehiclePlacement, where: str) -> _Path:
        names = list(place.parameters.get("lanes", ()))
        for name in names:
            if name not in graph.lanes:
                raise UnknownName("lane", name, graph.lanes, where)
        x, y, _ = place.pose
        first = graph.nearest_on(names[0], x, y)
        points = graph.line(names, first.along)
        begins = np.concatenate([[0.0], np.cumsum([graph.length[name] for name in names])]) - first.along
        # points are a metre apart up to rounding: metres along and indices are the same scale
        scale = (len(points) - 1) / float(stations(points)[-1])
        lanes = [
            (self._junction[name], float(begin) * scale)
            for name, begin in zip(names, begins, strict=False)
            if name in self._junction
        ]
        ends = {name: float(end) * scale for name, end in zip(names, begins[1:], strict=False)}
        signals = [(k, ends[n]) for k, signal in enumerate(roads.signals) for n in signal.lanes if n in ends]
        limit = _speed_limits(points, [graph.lanes[name].speed_limit for name in names], place.speed)
        return _Path(points, limit, lanes, _crossings(points, roads), signals)

    def _pack_rules(self, graph: LaneGraph, roads: Roads) -> drive.RoadRules:
        conflicts = [
            (self._junction[c.lane], c.begin, c.end, self._junction[c.other], c.other_begin, c.other_end, c.merges)
            for c in graph.conflicts()
        ]
        return drive.RoadRules(
            conflicts=np.array(conflicts, np.float64).reshape(-1, 7),
            priority=np.array([graph.lanes[name].priority for name in self._junction], np.int64),
            crossings=np.array([[*c.ends[0], *c.ends[1], c.width] for c in roads.crossings], np.float64).reshape(-1, 5),
            signals=np.array([[s.cycle_s, s.green_at_s, s.green_s, s.yellow_s] for s in roads.signals]).reshape(-1, 4),
        )


def _speed_limits(points: FloatArray, limits: Sequence[float], wish: float) -> FloatArray:
    """(P,) what each point allows: the lane's limit, the curve, and braking for what comes."""
    step = np.diff(points, axis=0)
    length = exact.norm(step)
    unit = step / length[:, None]
    bend = np.zeros(len(points))
    sine = unit[:-1, 0] * unit[1:, 1] - unit[:-1, 1] * unit[1:, 0]
    bend[1:-1] = np.abs(sine) / ((length[:-1] + length[1:]) / 2)
    allowed = np.minimum(
        min(max(limits), wish) if wish > 0 else max(limits), np.sqrt(SIDEWAYS / np.maximum(bend, 1e-3))
    )
    for k in range(len(points) - 2, -1, -1):
        following = float(allowed[k + 1])
        allowed[k] = min(float(allowed[k]), float(np.sqrt(following * following + 2.0 * 1.5 * float(length[k]))))
    return allowed


def _crossings(points: FloatArray, roads: Roads) -> list[tuple[int, float, float]]:
    """The crossings that a path goes over: number, and where it enters and leaves them."""
    found = []
    for number, crossing in enumerate(roads.crossings):
        a, b = np.array(crossing.ends)
        along = (b - a) / float(exact.norm(b - a))
        gap = points - a
        ahead = gap[:, 0] * along[0] + gap[:, 1] * along[1]
        aside = gap[:, 1] * along[0] - gap[:, 0] * along[1]
        inside = (ahead > 0.0) & (ahead < float(exact.norm(b - a))) & (np.abs(aside) < crossing.width / 2)
        if inside.any():
            on = np.flatnonzero(inside)
            found.append((number, float(on[0]) - 0.5, float(on[-1]) + 0.5))
    return found


def _pack_paths(paths: Sequence[_Path]) -> drive.LanePaths:
    most = max(len(path.points) for path in paths)
    count = len(paths)
    lanes = max(1, *(len(path.lanes) for path in paths))
    crossings = max(1, *(len(path.crossings) for path in paths))
    signals = max(1, *(len(path.signals) for path in paths))
    packed = drive.LanePaths(
        points=np.zeros((count, most, 2)),
        last=np.array([len(path.points) - 1 for path in paths], np.int64),
        limit=np.zeros((count, most)),
        lane=np.full((count, lanes), -1, np.int64),
        lane_at=np.zeros((count, lanes)),
        crossing=np.full((count, crossings), -1, np.int64),
        crossing_at=np.zeros((count, crossings, 2)),
        signal=np.full((count, signals), -1, np.int64),
        signal_at=np.zeros((count, signals)),
    )
    for k, path in enumerate(paths):
        packed.points[k, : len(path.points)] = path.points
        packed.limit[k, : len(path.points)] = path.limit
        for m, (lane, begin) in enumerate(path.lanes):
            packed.lane[k, m], packed.lane_at[k, m] = lane, begin
        for m, (crossing, begin, end) in enumerate(path.crossings):
            packed.crossing[k, m], packed.crossing_at[k, m] = crossing, (begin, end)
        for m, (signal, stop) in enumerate(path.signals):
            packed.signal[k, m], packed.signal_at[k, m] = signal, stop
    return packed
