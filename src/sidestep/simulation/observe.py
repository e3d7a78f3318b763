"""What a policy observes: what it needs, and nothing else. Also the route from a robot's start to its goal round
the walls, and the privileged future: where everybody will be if nobody reacts to the robot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep.errors import BadInput, plug_in_errors
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.scenes.free_space import path_length, shortest_path
from sidestep.simulation.build import World
from sidestep.simulation.seeds import sequence_for
from sidestep.simulation.sensors import PedestrianDetector
from sidestep.simulation.worlds import Worlds
from sidestep.types import Observation, RobotState, Task
from sidestep.types.base import FloatArray
from sidestep.types.observation import Future, seal
from sidestep.types.sensors import CameraSettings, PedestrianSensing

_POSE = [ROBOT_X, ROBOT_Y, ROBOT_HEADING]
ROUTE_SPARE_M = 0.15
"""Room that a route keeps from walls beyond the robot's radius, where there is that much."""


def route_to_goal(world: World, robot: int = 0) -> FloatArray:
    """Points (K, 2) to pass, the goal last: the scenario's route, else the shortest path with a little room to spare,
    else (no path is found) the goal alone."""
    place = world.scenario.robots[robot]
    if place.route or not len(world.scene.wall_points):
        return np.array([*place.route, place.goal])
    for spare in (ROUTE_SPARE_M, 0.0):
        path = _path_to_goal(world, robot, spare)
        if path is not None:
            return path[1:]
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
    path = _path_to_goal(world, robot, 0.0)
    return float("nan") if path is None else path_length(path)


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


_NONE = np.zeros((0, 3))


def view_for_sensors(worlds: Worlds, b: int, world: World, everybody: PedestrianDetector, robot: int = 0) -> SensorView:
    """World ``b`` as the sensors of one robot get it, in episodes and in learning environments. ``everybody`` detects
    all people of ``world``, with which the episode began."""
    own = robot_state(worlds, b, robot)
    agents, flags, step = worlds.agents[b], worlds.flags[b], int(worlds.clock[b])
    return SensorView(
        step=step,
        time_s=float(step) * world.scenario.rules.step_s,
        robot=own,
        agents=agents,
        flags=flags,
        own=worlds.people + robot,
        others=_poses_of_others(worlds, b, world, robot) if len(world.robots) > 1 else _NONE,
        vehicles=worlds.robot_state[b, len(world.scenario.robots) :],
        look=lambda: everybody.sense(agents, flags, (own.x, own.y, own.heading)),
    )


def _poses_of_others(worlds: Worlds, b: int, world: World, robot: int) -> FloatArray:
    """(K, 3) x, y, heading of the other robots and the vehicles; NaN for a vehicle that has left."""
    poses = worlds.robot_state[b, [r for r in range(len(world.robots)) if r != robot]][:, _POSE]
    first = worlds.people + len(world.scenario.robots)
    has_left = worlds.flags[b, layout.ACTIVE, first : worlds.columns] != 1
    if has_left.any():
        poses[len(poses) - len(has_left) :][has_left] = np.nan
    return poses


def detector_of_everybody(world: World) -> PedestrianDetector:
    """A detector that sees all people of ``world`` wherever they are."""
    return PedestrianDetector(PedestrianSensing(), world.person_id, world.scene.segments)


_FIELDS = frozenset(item.name for item in fields(Observation))


def make_sensors(world: World, needs: frozenset[str], robot: int = 0) -> dict[str, Sensor]:
    """The sensors that serve ``needs`` for one robot, each under the first of its needs."""
    served = {need: where for need, where in registry.table("sensors").items() if need in needs}
    others = tuple(spec for r, spec in enumerate(world.robots) if r != robot)
    sequence = sequence_for(world.scenario.suite, world.scenario.name, world.seed, "sensor", robot)
    seed = int(sequence.generate_state(1)[0])
    sensors: dict[str, Sensor] = {}
    for where in dict.fromkeys(served.values()):
        own = [need for need in served if served[need] == where]
        context = SensorContext(
            world.scene, world.robots[robot], frozenset(own), world.scenario, world.person_id, others, seed
        )
        settings = {key: value for need in own for key, value in world.scenario.sensors.extra.get(need, {}).items()}
        with plug_in_errors("sensor", own[0], registry.SENSORS, f"made with the settings {settings}"):
            sensors[own[0]] = registry.load("sensors", own[0])(context, **settings)
    return sensors


class Observer:
    """Makes the observations of one robot in one world of a batch, with all sensors that serve needs of its policy."""

    def __init__(self, world: World, needs: frozenset[str], robot: int = 0) -> None:
        self._world = world
        self._needs = needs
        self._robot = robot
        self._sensors = make_sensors(world, needs, robot)
        self._watching = [one for one in self._sensors.values() if type(one).watch is not Sensor.watch]
        self._everybody = detector_of_everybody(world)
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
        """Call this at every step: cameras have their own clock, and renderers of people follow all their steps."""
        if self._watching:
            view = self._view(worlds, b)
            for sensor in self._watching:
                sensor.watch(view)

    def observe(self, worlds: Worlds, b: int) -> Observation:
        """The world ``b`` as the robot sees it now."""
        view = self._view(worlds, b)
        seen: dict[str, Any] = {}
        for name, sensor in self._sensors.items():
            seen |= _sensed(name, sensor, view)
        extra = {name: seen.pop(name) for name in [*seen] if name not in _FIELDS}
        observation = Observation(time=view.time_s, robot=view.robot, goal=self._goal, extra=extra or None, **seen)
        seal(observation)
        return observation

    def draw(self, worlds: Worlds, b: int, settings: CameraSettings) -> Any:
        """(H, W, 3) uint8: what a camera with these settings sees now."""
        from sidestep.render.camera import RobotCamera

        world, robot = self._world, self._world.robots[self._robot]
        others = tuple(spec for r, spec in enumerate(world.robots) if r != self._robot)
        need, name = frozenset({"rgb"}), world.scenario.name
        camera = RobotCamera(world.scene, robot, need, settings, world.person_id, name, others)
        view = self._view(worlds, b)
        return camera.sense(view.robot, view.everybody, view.time_s, *((view.others,) if others else ()))["rgb"]

    def _view(self, worlds: Worlds, b: int) -> SensorView:
        return view_for_sensors(worlds, b, self._world, self._everybody, self._robot)


def _sensed(name: str, sensor: Sensor, view: SensorView) -> dict[str, Any]:
    """What a sensor reports of its needs. A plug-in's mistake is not the policy's fault: it stops the run."""
    wanted = sensor.context.needs
    with plug_in_errors("sensor", name, registry.SENSORS):
        found = sensor.sense(view)
    if not isinstance(found, Mapping) or not wanted <= found.keys():
        raise BadInput(f"sensor {name!r} must return a map with {sorted(wanted)}, not {found!r:.80}")
    return {key: value for key, value in found.items() if key in wanted or key == "picture_time"}


def robot_state(worlds: Worlds, b: int, robot: int = 0) -> RobotState:
    """The state of one robot of world ``b``."""
    state = worlds.robot_state[b, robot].tolist()
    return RobotState(
        state[ROBOT_X], state[ROBOT_Y], state[ROBOT_HEADING], state[ROBOT_VX], state[ROBOT_VY], state[ROBOT_OMEGA]
    )
