"""Robots and vehicles in one model of moving bodies: their arrays in a world, and the director of the vehicles.

Robots come first, as the scenario lists them, then its traffic. Both have a spec, a state and a column of ``agents``;
both are moved, stopped by walls, swept for contacts and seen by people in the same way. A policy commands the robots
under test, a :class:`TrafficDirector` the vehicles. What differs is the body: robots meet the outline of a vehicle, and
people see a row of discs that covers it, since the circle about a car would close every sidewalk beside it. The same
holds for a robot under test that is a car, that is, one with a wheelbase.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import shapely

from sidestep import registry
from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName, describe_error, place_of
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_ROWS, ROBOT_V, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.layout import BODY_ROWS, COVER, COVER_X, MIDDLE, RULE_DT, WHEELS
from sidestep.kernels.world import mirror_cover
from sidestep.scenes.free_space import free_mask
from sidestep.simulation.road_judge import body_middle, wheel_places
from sidestep.simulation.robots import DYNAMICS_CODES, CommandConverter, load_robot, pack_limits
from sidestep.simulation.seeds import generator_for
from sidestep.simulation.traffic import (
    LANE_DRIVER,
    DrivingTask,
    LaneVehicles,
    RoadView,
    cover_body,
    draw_vehicles,
    inner_radius,
    load_vehicle,
    make_driver,
)
from sidestep.types import CompiledScene, Event, Footprint, RobotPlacement, RobotSpec, RobotState, Scenario
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.command import checked_command
from sidestep.types.scenario import VehiclePlacement

if TYPE_CHECKING:
    from sidestep.simulation.worlds import Worlds


class RoadUsers(NamedTuple):
    """R robots and vehicles at time 0, with D discs that cover vehicles (``kernels.layout``, ``kernels.world``)."""

    specs: tuple[RobotSpec, ...]
    state: FloatArray  # (R, ROBOT_ROWS) float64
    body: FloatArray  # (R, BODY_ROWS, 2) float64
    limits: FloatArray  # (R, LIMIT_ROWS) float64
    dynamics: IntArray  # (R,) int32
    goals: FloatArray  # (R, 2) float64; of a vehicle its start
    agents: FloatArray  # (AGENT_ROWS, R + D) float32
    flags: IntArray  # (FLAG_ROWS, R + D) int32

    @property
    def discs(self) -> FloatArray:
        """(R + D, 3) float64: x, y and radius of the circles that people see."""
        return np.ascontiguousarray(self.agents[[layout.PX, layout.PY, layout.RADIUS]].T, np.float64)


def load_specs(scenario: Scenario, base: Path | None) -> tuple[Scenario, tuple[RobotSpec, ...]]:
    """The scenario with the specs of its vehicles written down, and the specs of its robots and vehicles."""
    robots = tuple(
        load_robot(place.spec, None if place.dynamics == "policy" else place.dynamics, base)
        for place in scenario.robots
    )
    vehicles = tuple(load_vehicle(place.kind) if place.spec is None else place.spec for place in scenario.traffic)
    for k, spec in enumerate(vehicles):
        if spec.look and spec.look not in registry.names("looks"):
            raise UnknownName("look", spec.look, registry.names("looks"), where=f"vehicle {k} ({spec.name})")
    traffic = tuple(
        place.model_copy(update={"spec": spec}) for place, spec in zip(scenario.traffic, vehicles, strict=True)
    )
    return scenario.model_copy(update={"traffic": traffic}), (*robots, *vehicles)


def make_road_users(scenario: Scenario, specs: Sequence[RobotSpec], scene: CompiledScene, where: str) -> RoadUsers:
    """The arrays of all robots and vehicles; ``BadInput`` for one that starts in a wall or on another."""
    robots, traffic = scenario.robots, scenario.traffic
    for index, (robot, spec) in enumerate(zip(robots, specs, strict=False)):
        _check_robot(robot, spec, scene, f"{where}: robot {index}")
    poses = [robot.start for robot in robots] + [vehicle.pose for vehicle in traffic]
    if traffic:
        _check_vehicles(traffic, specs, poses, scene, where)
    state = np.zeros((len(poses), ROBOT_ROWS))
    state[:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]] = poses
    speeds = [robot.speed for robot in robots] + [vehicle.speed for vehicle in traffic]
    for k, (row, speed) in enumerate(zip(state, speeds, strict=True)):
        if speed > 0.0 or k >= len(robots):
            sine, cosine = exact.sincos(row[ROBOT_HEADING])
            row[[ROBOT_V, ROBOT_VX, ROBOT_VY]] = speed, speed * cosine, speed * sine
    goals = [robot.goal for robot in robots] + [pose[:2] for pose in poses[len(robots) :]]
    body = np.zeros((len(poses), BODY_ROWS, 2))
    shares = [robot.share for robot in robots] + [0.0] * len(traffic)
    radii: list[float] = []
    discs: list[tuple[float, float]] = []
    for k, spec in enumerate(specs):
        corners = spec.footprint.polygon or ()
        body[k, 0] = len(corners), spec.footprint.enclosing_radius
        body[k, 1 : 1 + len(corners)] = np.reshape(corners, (-1, 2))
        body[k, WHEELS], body[k, MIDDLE, 0] = wheel_places(spec), body_middle(spec.footprint)
        is_covered = corners and (k >= len(robots) or spec.wheelbase is not None)
        radii.append(inner_radius(spec.footprint) if is_covered else spec.footprint.enclosing_radius)
        if is_covered:
            cover = cover_body(spec.footprint)
            body[k, COVER], body[k, COVER_X] = (cover.discs, len(discs)), (cover.x, cover.spacing)
            discs += [(cover.radius, spec.limits.max_speed)] * cover.discs
    seen = np.array([*zip(radii, (spec.limits.max_speed for spec in specs), strict=True), *discs])
    agents, flags = _columns(state, body, seen)
    agents[layout.SHARE, : len(shares)] = shares
    flags[layout.MODEL, : len(robots)] = layout.MODEL_NONE
    limits = np.stack([pack_limits(spec) for spec in specs])
    dynamics = np.array([DYNAMICS_CODES[spec.dynamics] for spec in specs], np.int32)
    return RoadUsers(tuple(specs), state, body, limits, dynamics, np.array(goals, np.float64), agents, flags)


def _columns(state: FloatArray, body: FloatArray, seen: FloatArray) -> tuple[FloatArray, IntArray]:
    """The columns of agents and flags of vehicles in ``state``; ``seen`` (R + D, 2) has radius and top speed. Nobody
    expects a vehicle to take a share of an avoidance."""
    agents = np.zeros((layout.AGENT_ROWS, len(seen)), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, len(seen)), np.int32)
    agents[layout.RADIUS] = seen[:, 0]
    agents[layout.PREF_SPEED] = agents[layout.MAX_SPEED] = seen[:, 1]
    rows = [ROBOT_X, ROBOT_Y, ROBOT_VX, ROBOT_VY, ROBOT_HEADING]
    agents[[layout.PX, layout.PY, layout.VX, layout.VY, layout.HEADING], : len(state)] = state[:, rows].T
    for k in np.flatnonzero(body[:, COVER, 0]).tolist():
        mirror_cover(agents, len(state), state[k], body[k])
    flags[layout.MODEL] = layout.MODEL_VEHICLE
    flags[layout.ACTIVE] = 1
    flags[layout.GROUP] = -1
    return agents, flags


def _check_robot(placement: RobotPlacement, robot: RobotSpec, scene: CompiledScene, where: str) -> None:
    inner = robot.footprint.radius or min(exact.hypot(x, y) for x, y in robot.footprint.polygon or ())
    for what, point in (("start", placement.start[:2]), ("goal", placement.goal)):
        if not free_mask(scene, np.array([point]), inner if what == "start" else 0.0)[0]:
            raise BadInput(
                f"{where}: the {what} ({point[0]:g}, {point[1]:g}) is inside a wall of scene {scene.spec.name!r} "
                f"(robot {robot.name!r} needs {inner:.2f} m); move it into free space"
            )


def _outline(footprint: Footprint, pose: tuple[float, float, float]) -> shapely.Polygon:
    """The body at ``pose``."""
    if footprint.polygon is None:
        return shapely.Point(pose[:2]).buffer(footprint.enclosing_radius)
    return shapely.Polygon(exact.rotate(np.array(footprint.polygon), pose[2]) + np.array(pose[:2]))


def _check_vehicles(
    traffic: Sequence[VehiclePlacement], specs: Sequence[RobotSpec], poses: Sequence[tuple[float, float, float]],
    scene: CompiledScene, where: str,
) -> None:  # fmt: skip
    bodies = [_outline(spec.footprint, pose) for spec, pose in zip(specs, poses, strict=True)]
    walls = shapely.MultiLineString(list(scene.segments.reshape(-1, 2, 2).astype(np.float64)))
    robots = len(specs) - len(traffic)
    for k, place in enumerate(traffic):
        here = f"{where}: vehicle {k} ({place.kind})"
        x, y = poses[robots + k][:2]
        if bodies[robots + k].intersects(walls):
            raise BadInput(
                f"{here} at ({x:g}, {y:g}) touches a wall of scene {scene.spec.name!r}; move it into free space"
            )
        for j in range(robots + k):
            if bodies[j].intersects(bodies[robots + k]):
                other = f"robot {j}" if j < robots else f"vehicle {j - robots}"
                raise BadInput(f"{here} at ({x:g}, {y:g}) touches {other} at the start; move one of them")
        if place.speed > specs[robots + k].limits.max_speed:
            raise BadInput(
                f"{here} has the speed {place.speed:g} m/s; this kind drives at most "
                f"{specs[robots + k].limits.max_speed:g} m/s"
            )


class TrafficDirector:
    """Drives the vehicles of one episode: asks every driver before every step, all from the same state."""

    def __init__(self, scenario: Scenario, scene: CompiledScene, seed: int, body: FloatArray, where: str) -> None:
        self._first = len(scenario.robots)
        self._names, self._drivers, self._converters = [], [], []
        self._rows: list[int] = []
        self._discs = [range(int(cover[1]), int(cover[0] + cover[1])) for cover in body[self._first :, COVER]]
        lanes = [k for k, place in enumerate(scenario.traffic) if place.driver_name == LANE_DRIVER]
        self._make_lane_vehicles = partial(_lane_vehicles, scenario, lanes, body, scene, where) if lanes else None
        self._lane_vehicles: LaneVehicles | None = None
        for k, place in enumerate(scenario.traffic):
            assert place.spec is not None
            if k in lanes:
                make_driver(place, f"{where}: vehicle {k} ({place.kind})")
                continue
            self._rows.append(k)
            rng = generator_for(scenario.suite, scenario.name, seed, "traffic", k)
            name = f"{where}: vehicle {k} ({place.kind})"
            driver = make_driver(place, name)
            driver.reset(DrivingTask(place, place.spec, scene, scenario.rules.step_s, rng, name))
            self._names.append(name)
            self._drivers.append(driver)
            self._converters.append(CommandConverter(place.spec, scenario.rules.step_s))

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Write the commands of the coming step. Causes no events."""
        agents, is_active = worlds.agents[b], worlds.flags[b, layout.ACTIVE] == 1
        time = float(worlds.clock[b]) * float(worlds.rules[b, RULE_DT])
        if self._make_lane_vehicles is not None:
            if self._lane_vehicles is None:
                self._lane_vehicles = self._make_lane_vehicles(worlds.columns)
            step_s = float(worlds.rules[b, RULE_DT])
            self._lane_vehicles.write_commands(
                time, step_s, agents, worlds.flags[b], worlds.people, worlds.robot_state[b], self._first,
                worlds.command[b],
            )  # fmt: skip
        for k, name, driver, converter in zip(self._rows, self._names, self._drivers, self._converters, strict=True):
            seen = is_active.copy()
            seen[worlds.people + self._first + k] = False
            seen[[worlds.columns + disc for disc in self._discs[k]]] = False
            columns = np.flatnonzero(seen)
            bodies = agents[: layout.RADIUS + 1, columns].astype(np.float64)
            own = RobotState(*worlds.robot_state[b, self._first + k, :ROBOT_V].tolist())
            view = RoadView(time, own, bodies[:2].T, bodies[2:4].T, bodies[layout.RADIUS], columns < worlds.people)
            try:
                command = checked_command(driver.drive(view))
            except Exception as error:  # a plug-in's mistake, reported with its name
                raise BadInput(f"{name}: its driver failed: {describe_error(error)}{place_of(error)}") from error
            worlds.command[b, self._first + k] = converter.to_native(command, own)
        return []


def _lane_vehicles(
    scenario: Scenario, which: Sequence[int], body: FloatArray, scene: CompiledScene, where: str, first_disc: int
) -> LaneVehicles:
    """The vehicles ``which`` of a scenario's traffic, which follow lanes."""
    places = [scenario.traffic[k] for k in which]
    specs = [place.spec for place in places if place.spec is not None]
    rows = [len(scenario.robots) + k for k in which]
    return LaneVehicles(places, specs, rows, body, first_disc, scene, where)


def with_lane_traffic(scenario: Scenario, scene: CompiledScene, seed: int, where: str) -> Scenario:
    """The scenario with the vehicles that its ``lane_traffic`` brings under ``seed`` among its ``traffic``."""
    if scenario.lane_traffic is None:
        return scenario
    rng = generator_for(scenario.suite, scenario.name, seed, "traffic", LANE_TRAFFIC_PART)
    robots = [robot.start[:2] for robot in scenario.robots] + [place.pose[:2] for place in scenario.traffic]
    drawn = draw_vehicles(scenario.lane_traffic, scene, robots, rng, where)
    return scenario.model_copy(update={"traffic": (*scenario.traffic, *drawn), "lane_traffic": None})


LANE_TRAFFIC_PART = 1_000_000
"""Part number of its random numbers, beyond those of all vehicles."""
