"""Traffic on lanes: the arrays with which all vehicles of a world are driven in one compiled call (``lane_driving``),
and how those that have left come in again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_V, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.layout import COVER
from sidestep.kernels.world import mirror_cover, mirror_robot
from sidestep.simulation.traffic import car_following as car
from sidestep.simulation.traffic.drivers import VehicleDriver
from sidestep.simulation.traffic.lane_driving import along_path, drive_vehicles
from sidestep.simulation.traffic.lanes import Conflict, LaneGraph, stations
from sidestep.types import CompiledScene, RobotSpec
from sidestep.types.base import FloatArray
from sidestep.types.road import Roads
from sidestep.types.scenario import VehiclePlacement

LANE_DRIVER = "lane"
DEFAULTS: dict[str, float] = {
    "headway_s": 1.2, "acceleration": 1.5, "braking": 2.0, "standstill_m": 2.0, "gap_s": 1.5, "patience_s": 6.0,
    "margin_m": 0.35,
}  # fmt: skip
"""Settings of a driver: the IDM's T, a, b and s0 (Treiber and Kesting, "Traffic Flow Dynamics", 2013, table 11.2:
values of city traffic), the gap accepted at conflicts, how long a driver waits, what is kept free at either side."""
RETURNS = "returns_s"
"""Setting of a driver that comes in again: seconds after it has left. Without it a vehicle does not return."""
KEEPS_CLEAR = "keeps_clear"
"""Setting of a driver, 1: waits before a junction, and before the crossing at it, rather than in it."""
WISH_MPS = "wish_mps"
"""Setting of a driver: the speed that it wants to keep; without it, the speed that the vehicle has at the start."""
FURTHER = (RETURNS, KEEPS_CLEAR, WISH_MPS)
AT_JUNCTION_M = 5.0  # from a junction to a crossing that belongs to it
STAGGER_S, STAGGERED = 0.7, 7  # two who wait for each other do not lose patience at the same moment
SIDEWAYS = 2.0  # m/s²: comfortable in a curve
ENTRY_M = 15.0  # nobody comes in again while a body is in the lane and nearer than this
ENTRY_BRAKING = 3.0  # m/s²: enough to stop before the first crossing or junction


class LaneDriver(VehicleDriver):
    """Marks a vehicle as one that drives along lanes; all of them are driven at once by :class:`LaneVehicles`."""

    def __init__(self, lanes: Sequence[str] = (), **settings: float) -> None:
        if len(lanes) < 1:
            raise BadInput("the driver 'lane' needs lanes: names of lanes of the scene, in order")
        for name, value in settings.items():
            if name not in (*DEFAULTS, *FURTHER):
                raise UnknownName("setting", name, (*DEFAULTS, *FURTHER), "driver 'lane'")
            if not value > 0.0:
                raise BadInput(f"{name} must be above 0, got {value}")


class _JunctionLane(NamedTuple):
    """A lane through a junction on a path: its number, and metres along the path (``LanePaths``)."""

    number: int
    begin: float
    entry: float
    first: float
    end: float
    clear: float


class _Path(NamedTuple):
    points: FloatArray
    begin: float
    limit: FloatArray
    lanes: list[_JunctionLane]
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
        keeps_clear = any(place.parameters.get(KEEPS_CLEAR) for place in placements)
        conflicts = graph.swept_conflicts() if keeps_clear else graph.conflicts()
        self._rules = self._pack_rules(graph, roads, body, conflicts)
        paths = [self._path(graph, roads, place, where) for place in placements]
        self._paths = _pack_paths(paths)
        count = len(placements)
        bodies = np.zeros((count, car.BODY_ROWS))
        settings = np.zeros((count, car.SETTING_ROWS))
        for k, (place, spec) in enumerate(zip(placements, specs, strict=True)):
            corners = spec.footprint.polygon or ((spec.footprint.enclosing_radius,) * 2,)
            bodies[k, car.FRONT] = max(x for x, _ in corners)
            bodies[k, car.REAR] = -min(x for x, _ in corners) if spec.footprint.polygon else corners[0][0]
            bodies[k, car.HALF] = max(abs(y) for _, y in corners)
            bodies[k, car.WHEELBASE] = spec.wheelbase or 1.0
            bodies[k, car.LOCK] = spec.limits.max_steer or 0.6
            given: dict[str, Any] = {**DEFAULTS, **place.parameters}
            settings[k] = [_wish_of(place), *(given[name] for name in DEFAULTS), given.get(KEEPS_CLEAR, 0.0)]
            settings[k, car.PATIENCE] += STAGGER_S * (k % STAGGERED if KEEPS_CLEAR in given else k)
        state = np.zeros((count, car.STATE_ROWS))
        state[:, car.ALONG] = [path.begin for path in paths]
        self._body = body
        self._returns_s = np.array([place.parameters.get(RETURNS, np.inf) for place in placements])
        self._left_at = np.full(count, np.nan)
        cover = body[list(rows), COVER]
        self._vehicles = car.Vehicles(
            row=np.array(rows, np.int64),
            first_disc=(first_disc + cover[:, 1]).astype(np.int64),
            discs=cover[:, 0].astype(np.int64),
            body=bodies,
            settings=settings,
            state=state,
        )

    def write_commands(
        self, time: float, dt: float, agents: FloatArray, flags: Any, people: int, robots: FloatArray, foreign: int,
        command: FloatArray,
    ) -> None:  # fmt: skip
        """Write the commands of the coming step."""
        for i in np.flatnonzero(self._vehicles.state[:, car.GONE]).tolist():
            if np.isnan(self._left_at[i]):
                self._left_at[i] = time
            elif time - self._left_at[i] >= self._returns_s[i] and self._has_room(i, agents, flags):
                self._come_in(i, agents, flags, people, robots)
        drive_vehicles(
            time, dt, agents, flags, people, robots, foreign, self._vehicles, self._paths, self._rules, command
        )

    def _has_room(self, i: int, agents: FloatArray, flags: Any) -> bool:
        """Whether nobody is in the lane near the beginning of a vehicle's path."""
        points, last = self._paths.points[i], int(self._paths.last[i])
        body, margin = self._vehicles.body[i], float(self._vehicles.settings[i, car.MARGIN])
        for j in np.flatnonzero(flags[layout.ACTIVE] == 1).tolist():
            x, y, radius = agents[[layout.PX, layout.PY, layout.RADIUS], j].astype(np.float64).tolist()
            along, miss = along_path(points, last, 0.0, ENTRY_M + radius, x, y)
            if along >= ENTRY_M + radius:
                continue
            reach = radius + margin + float(body[car.HALF if along > 0.0 else car.REAR])
            if miss < reach * reach:
                return False
        return True

    def _come_in(self, i: int, agents: FloatArray, flags: Any, people: int, robots: FloatArray) -> None:
        """Put a vehicle that has left at the beginning of its path, slow enough to stop before the first crossing or
        junction."""
        vehicles, paths = self._vehicles, self._paths
        row, (x, y) = int(vehicles.row[i]), paths.points[i, 0]
        ahead = paths.points[i, 1] - paths.points[i, 0]
        cosine, sine = ahead / float(exact.norm(ahead))
        speed = min(float(vehicles.settings[i, car.WISH]), float(paths.limit[i, 0]))
        crossings, junctions = paths.crossing_at[i, paths.crossing[i] >= 0, 0], paths.entry_at[i, paths.lane[i] >= 0]
        for begin in [*crossings.tolist(), *junctions.tolist()]:
            gap = begin - float(vehicles.body[i, car.FRONT]) - car.STOP_BEFORE_M
            speed = min(speed, float(np.sqrt(2.0 * ENTRY_BRAKING * max(gap, 0.0))))
        robot = robots[row]
        robot[:] = 0.0
        robot[[ROBOT_X, ROBOT_Y, ROBOT_HEADING]] = x, y, exact.arctan2(sine, cosine)
        robot[[ROBOT_V, ROBOT_VX, ROBOT_VY]] = speed, speed * cosine, speed * sine
        mirror_robot(agents, people + row, robot)
        mirror_cover(agents, people + len(robots), robot, self._body[row])
        first = int(vehicles.first_disc[i])
        flags[layout.ACTIVE, [people + row, *range(first, first + int(vehicles.discs[i]))]] = 1
        vehicles.state[i] = 0.0
        self._left_at[i] = np.nan

    def _path(self, graph: LaneGraph, roads: Roads, place: VehiclePlacement, where: str) -> _Path:
        names = list(place.parameters.get("lanes", ()))
        for name in names:
            if name not in graph.lanes:
                raise UnknownName("lane", name, graph.lanes, where)
        x, y, _ = place.pose
        begins = np.concatenate([[0.0], np.cumsum([graph.length[name] for name in names])])
        if RETURNS in place.parameters:  # the whole path, of which it is somewhere
            places = [graph.nearest_on(name, x, y) for name in names]
            k = min(range(len(names)), key=lambda k: places[k].aside)
            points, start = graph.line(names), float(begins[k]) + places[k].along
        else:
            first = graph.nearest_on(names[0], x, y).along
            points, start = graph.line(names, first), 0.0
            begins = begins - first
        # points are a metre apart up to rounding: metres along and indices are the same scale
        scale = (len(points) - 1) / float(stations(points)[-1])
        crossings = _crossings(points, roads)
        lanes = self._junction_lanes(names, begins * scale, crossings)
        ends = {name: float(end) * scale for name, end in zip(names, begins[1:], strict=False)}
        signals = [(k, ends[n]) for k, signal in enumerate(roads.signals) for n in signal.lanes if n in ends]
        limit = _speed_limits(points, [graph.lanes[name].speed_limit for name in names], _wish_of(place))
        return _Path(points, start * scale, limit, lanes, crossings, signals)

    def _junction_lanes(
        self, names: Sequence[str], begins: FloatArray, crossings: Sequence[tuple[int, float, float]]
    ) -> list[_JunctionLane]:
        """The junction lanes among the lanes of a path, the k-th of which begins at ``begins[k]``. Those that follow
        on each other belong to one junction and are entered together."""
        found: list[_JunctionLane] = []
        for _, group in groupby(range(len(names)), lambda k: names[k] in self._junction):
            run = list(group)
            if names[run[0]] not in self._junction:
                continue
            begin, end = float(begins[run[0]]), float(begins[run[-1] + 1])
            numbers = [self._junction[names[k]] for k in run]
            conflicts = self._rules.conflicts
            first = min(
                float(begins[k]) + float(conflicts[conflicts[:, 0] == number, 1].min(initial=np.inf))
                for k, number in zip(run, numbers, strict=True)
            )
            entry = min([begin, first, *(a for _, a, b in crossings if a < begin < b + AT_JUNCTION_M)])
            clear = max([end, *(b for _, a, b in crossings if a - AT_JUNCTION_M < end < b)])
            first = max(first, begin)
            found += [
                _JunctionLane(number, float(begins[k]), entry, first, end, clear)
                for k, number in zip(run, numbers, strict=True)
            ]
        return found

    def _pack_rules(self, graph: LaneGraph, roads: Roads, body: FloatArray, found: Sequence[Conflict]) -> car.RoadRules:
        conflicts = [
            (self._junction[c.lane], c.begin, c.end, self._junction[c.other], c.other_begin, c.other_end, c.merges)
            for c in found
        ]
        return car.RoadRules(
            conflicts=np.array(conflicts, np.float64).reshape(-1, 7),
            priority=np.array([graph.lanes[name].priority for name in self._junction], np.int64),
            crossings=np.array([[*c.ends[0], *c.ends[1], c.width] for c in roads.crossings], np.float64).reshape(-1, 5),
            signals=np.array([[s.cycle_s, s.green_at_s, s.green_s, s.yellow_s] for s in roads.signals]).reshape(-1, 4),
            walks=(body[:, COVER, 0] == 0.0).astype(np.int64),
        )


def _wish_of(place: VehiclePlacement) -> float:
    return float(place.parameters.get(WISH_MPS, place.speed))


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


def _pack_paths(paths: Sequence[_Path]) -> car.LanePaths:
    most = max(len(path.points) for path in paths)
    count = len(paths)
    lanes = max(1, *(len(path.lanes) for path in paths))
    crossings = max(1, *(len(path.crossings) for path in paths))
    signals = max(1, *(len(path.signals) for path in paths))
    packed = car.LanePaths(
        points=np.zeros((count, most, 2)),
        last=np.array([len(path.points) - 1 for path in paths], np.int64),
        limit=np.zeros((count, most)),
        lane=np.full((count, lanes), -1, np.int64),
        lane_at=np.zeros((count, lanes)),
        entry_at=np.zeros((count, lanes)),
        first_at=np.zeros((count, lanes)),
        end_at=np.zeros((count, lanes)),
        clear_at=np.zeros((count, lanes)),
        crossing=np.full((count, crossings), -1, np.int64),
        crossing_at=np.zeros((count, crossings, 2)),
        signal=np.full((count, signals), -1, np.int64),
        signal_at=np.zeros((count, signals)),
    )
    for k, path in enumerate(paths):
        packed.points[k, : len(path.points)] = path.points
        packed.limit[k, : len(path.points)] = path.limit
        for m, lane in enumerate(path.lanes):
            packed.lane[k, m], packed.lane_at[k, m], packed.entry_at[k, m] = lane.number, lane.begin, lane.entry
            packed.first_at[k, m], packed.end_at[k, m], packed.clear_at[k, m] = lane.first, lane.end, lane.clear
        for m, (crossing, begin, end) in enumerate(path.crossings):
            packed.crossing[k, m], packed.crossing_at[k, m] = crossing, (begin, end)
        for m, (signal, stop) in enumerate(path.signals):
            packed.signal[k, m], packed.signal_at[k, m] = signal, stop
    return packed
