"""What a policy gets to see: what it asked for, and nothing else. Also the route from a robot's start to its goal round
the walls, and the privileged future: where everybody will be if nobody reacts to the robot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from sidestep import exact, registry
from sidestep.errors import BadInput, did_you_mean
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.scenes.free_space import path_length, shortest_path
from sidestep.sensors import Lidar, PedestrianDetector, VehicleDetector, outline_edges
from sidestep.simulation.build import World
from sidestep.simulation.pictures import PICTURES, PictureFeed
from sidestep.simulation.seeds import sequence_for
from sidestep.simulation.worlds import Worlds
from sidestep.types import Observation, Pedestrians, RobotState, Task
from sidestep.types.base import FloatArray
from sidestep.types.observation import NEEDS, Future, seal
from sidestep.types.sensors import PedestrianSensing

_POSE = [ROBOT_X, ROBOT_Y, ROBOT_HEADING]
ROUTE_SPARE_M = 0.15
"""Room that a route keeps from walls beyond the robot's radius, where there is that much."""


def route_to_goal(world: World, robot: int = 0) -> FloatArray:
    """Points (K, 2) to pass, the goal last: the scenario's route, else the shortest way with a little room to spare,
    else (no way is found) the goal alone."""
    place = world.scenario.robots[robot]
    if place.route or not len(world.scene.wall_points):
        return np.array([*place.route, place.goal])
    for spare in (ROUTE_SPARE_M, 0.0):
        way = _path_to_goal(world, robot, spare)
        if way is not None:
            return way[1:]
    return np.array([place.goal])


def shortest_path_length(world: World, robot: int = 0) -> float:
    """Length of the shortest path to the goal for the robot's enclosing circle, m; NaN where there is none. Where the
    robot has to stay on some ground, it is the length of its route, which does. Up to the goal itself everywhere: the
    metric subtracts the goal's radius."""
    place = world.scenario.robots[robot]
    if world.scenario.rules.stay_on and place.route:
        return path_length(np.array([place.start[:2], *place.route, place.goal]))
    if not len(world.scene.wall_points):
        return float(exact.hypot(place.goal[0] - place.start[0], place.goal[1] - place.start[1]))
    way = _path_to_goal(world, robot, 0.0)
    return float("nan") if way is None else path_length(way)


def _path_to_goal(world: World, robot: int, spare: float) -> FloatArray | None:
    place = world.scenario.robots[robot]
    radius = world.robots[robot].footprint.enclosing_radius + spare
    try:
        return shortest_path(world.scene, place.start[:2], place.goal, radius)
    except BadInput:
        return None


def future_of(world: World) -> Future:
    """Run a copy of the world, in which the robots stand and nobody sees them, to the time limit. Vehicles drive.

    Exact for replayed people and for all who do not see the robot; for the others, what they would do without it.
    """
    flags = world.flags.copy()
    if world.scenario.traffic:  # people see vehicles as they see robots: take the robots away instead
        flags[layout.ACTIVE, world.people : world.people + len(world.scenario.robots)] = 0
    else:
        flags[layout.SEES_ROBOT] = 0
    worlds = Worlds([replace(world, flags=flags)], threads=1)
    people, steps = world.people, world.scenario.rules.max_steps
    position = np.full((steps + 1, people, 2), np.nan, np.float32)
    for step in range(steps + 1):
        if step:
            worlds.step()
        here = worlds.flags[0, layout.ACTIVE, :people] == 1
        position[step, here] = worlds.agents[0, layout.PX : layout.PY + 1, :people][:, here].T
    return Future(position, world.agents[layout.RADIUS, :people].copy(), world.scenario.rules.step_s)


AVAILABLE: frozenset[str] = frozenset(
    {"pedestrians", "vehicles", "lidar", "map", "route", "goal", "history", "future", "points"}
)
"""Needs that this simulator can serve by itself. Pictures need a camera, signals come with their own package."""


def check_needs(needs: frozenset[str], policy: str) -> frozenset[str]:
    """The policy's needs, or an error when one is unknown or cannot be served."""
    for need in sorted(needs):
        if need not in NEEDS:
            raise BadInput(f"policy {policy!r} needs {need!r}, which is unknown{did_you_mean(need, NEEDS)}")
        if need in PICTURES and not registry.names("cameras"):
            raise BadInput(
                f"policy {policy!r} needs {need!r}, but no camera is installed; a package provides one under the entry "
                "point group 'sidestep.cameras'"
            )
        if need not in AVAILABLE | PICTURES:
            raise BadInput(
                f"policy {policy!r} needs {need!r}, which this version cannot serve (served: {sorted(AVAILABLE)})"
            )
    return needs


class Observer:
    """The eyes of one robot in one world of a batch."""

    def __init__(self, world: World, needs: frozenset[str], robot: int = 0) -> None:
        self._world = world
        self._needs = needs
        self._robot = robot
        sensors = world.scenario.sensors
        self._detector = PedestrianDetector(sensors.pedestrians, world.person_id, world.scene.segments)
        self._lidar = Lidar(sensors.lidar, world.scene.segments) if "lidar" in needs else None
        traffic = world.scenario.traffic
        self._footprints = [spec.footprint for spec in world.robots[len(world.scenario.robots) :]]
        self._vehicles = VehicleDetector(
            sensors.vehicles, [place.kind for place in traffic], self._footprints, world.scene.segments
        )
        step = world.scenario.rules.step_s * world.scenario.rules.control_every
        self._history: deque[Pedestrians] = deque(maxlen=max(1, round(sensors.history_s / step)))
        self._everybody = PedestrianDetector(PedestrianSensing(), world.person_id, world.scene.segments)
        self._feed: PictureFeed | None = None
        if needs & PICTURES:
            others = tuple(spec for r, spec in enumerate(world.robots) if r != robot)
            self._feed = PictureFeed(
                world.scene, world.robots[robot], needs & PICTURES, world.scenario, world.person_id, others
            )
        self._lidar3d: Any = None
        if "points" in needs:
            from sidestep.render.lidar3d import Lidar3D  # only for those who look: it brings the renderer along

            self._lidar3d = Lidar3D(
                world.scene, world.robots[robot], sensors.lidar3d, world.person_id, world.scenario.name
            )
        self._goal = world.scenario.robots[robot].goal if "goal" in needs else None

    def task(self) -> Task:
        """What is known before the first step."""
        scenario = self._world.scenario
        place = scenario.robots[self._robot]
        seed = sequence_for(scenario.suite, scenario.name, self._world.seed, "policy", self._robot)
        task = Task(
            robot=self._world.robots[self._robot],
            start=place.start,
            step_s=scenario.rules.step_s * scenario.rules.control_every,
            time_limit_s=scenario.rules.time_limit_s,
            goal_radius_m=scenario.rules.goal_radius_m,
            goal=self._goal,
            map=self._world.scene.for_policies() if "map" in self._needs else None,
            route=route_to_goal(self._world, self._robot) if "route" in self._needs else None,
            seed=int(seed.generate_state(1)[0]),
            future=future_of(self._world) if "future" in self._needs else None,
        )
        seal(task)
        return task

    def watch(self, worlds: Worlds, b: int) -> None:
        """To be called at every step: cameras have their own clock, and who draws people follows all their steps."""
        if self._feed is None and self._lidar3d is None:
            return
        step, robot = int(worlds.clock[b]), robot_state(worlds, b, self._robot)
        everybody = self._everybody.sense(worlds.agents[b], worlds.flags[b], (robot.x, robot.y, robot.heading))
        if self._feed is not None:
            self._feed.watch(step, robot, everybody, *self._machines(worlds, b))
        if self._lidar3d is not None:
            self._lidar3d.follow(robot, everybody, step * self._world.scenario.rules.step_s)

    def _machines(self, worlds: Worlds, b: int) -> tuple[FloatArray, ...]:
        """The poses (K, 3) of the other machines; nothing where there are none, as cameras without them expect."""
        others = [r for r in range(len(self._world.robots)) if r != self._robot]
        if not others:
            return ()
        return (worlds.robot_state[b, others][:, _POSE],)

    def observe(self, worlds: Worlds, b: int) -> Observation:
        """The world ``b`` as the robot sees it now."""
        robot = robot_state(worlds, b, self._robot)
        pose = (robot.x, robot.y, robot.heading)
        pedestrians = None
        if "pedestrians" in self._needs or "history" in self._needs:
            pedestrians = self._detector.sense(worlds.agents[b], worlds.flags[b], pose)
            if "history" in self._needs:
                seal(pedestrians)
                self._history.append(pedestrians)
        vehicles = worlds.robot_state[b, len(self._world.scenario.robots) :]
        lidar = None
        if self._lidar is not None:
            outlines = outline_edges(self._footprints, vehicles[:, _POSE]) if self._footprints else None
            lidar = self._lidar.sense(worlds.agents[b], worlds.flags[b], pose, worlds.people + self._robot, outlines)
        time_s = float(worlds.clock[b]) * self._world.scenario.rules.step_s
        seen: dict[str, Any] = {}
        if self._feed is not None or self._lidar3d is not None:
            everybody = self._everybody.sense(worlds.agents[b], worlds.flags[b], pose)
            if self._feed is not None:
                pictures, taken = self._feed.seen(int(worlds.clock[b]), robot, everybody, *self._machines(worlds, b))
                seen = {**pictures, "picture_time": taken}
            if self._lidar3d is not None:
                seen["points"] = self._lidar3d.sense(robot, everybody, time_s)
        observation = Observation(
            time=time_s,
            robot=robot,
            goal=self._goal,
            pedestrians=pedestrians if "pedestrians" in self._needs else None,
            vehicles=self._vehicles.sense(vehicles, pose) if "vehicles" in self._needs else None,
            lidar=lidar,
            history=tuple(self._history) if "history" in self._needs else None,
            **seen,
        )
        seal(observation)
        return observation


def robot_state(worlds: Worlds, b: int, robot: int = 0) -> RobotState:
    """The state of one robot of world ``b``."""
    state = worlds.robot_state[b, robot].tolist()
    return RobotState(
        state[ROBOT_X], state[ROBOT_Y], state[ROBOT_HEADING], state[ROBOT_VX], state[ROBOT_VY], state[ROBOT_OMEGA]
    )
