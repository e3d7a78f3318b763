"""The world in SocNavBench's joystick protocol: the keys of its JSON objects, and its map frame.

Maps start at (0, 0) and are grids of 5 cm cells, row by row along y. A scene with negative coordinates is shifted; any
other scene keeps its coordinates.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import numpy as np

from sidestep.types import CompiledScene, Observation, Pedestrians, Task

MAP_SCALE_M = 0.05
MARGIN_M = 1.0
"""Margin of the map round the robot's start and goal if the scene ends earlier, m."""
ROBOT_NAME = "robot_agent"
CAUSES = {
    "success": "Success",
    "pedestrian_collision": "Pedestrian Collision",
    "environment_collision": "Obstacle Collision",
}
"""Outcome → termination cause. All other outcomes are sent as ``Timeout``, as clients know no other causes."""

NEVER_S = 1e8
"""Time of the last collision of a person who has not had one, s."""

Config = list[float]


@dataclass
class Contacts:
    """People who touched the robot, and when, as far as the observed states show.

    A person who touched the robot cannot collide again during a cool-down of ``cooldown_s``; the messages contain the
    number of simulation steps that are left of it.
    """

    cooldown_s: float
    last: dict[int, float] = field(default_factory=dict)
    """Person → time of the last collision, s."""

    def note(self, observation: Observation, radius: float) -> None:
        """Note the people who overlap the robot's circle."""
        people, robot = observation.pedestrians, observation.robot
        if people is None or not len(people):
            return
        apart = people.position.astype(np.float64) - (robot.x, robot.y)
        near = (apart * apart).sum(axis=1) < (people.radius.astype(np.float64) + radius) ** 2
        for person in people.id[near].tolist():
            if observation.time - self.last.get(person, -np.inf) >= self.cooldown_s - 1e-9:
                self.last[person] = observation.time

    def of(self, who: Collection[int], time: float, step_s: float) -> dict[str, Any]:
        """The collision entries of a person or, if ``who`` contains everybody, of the robot."""
        times = [self.last[person] for person in who if person in self.last]
        if not times:
            return {"collision_cooldown": 0, "last_collision_t": NEVER_S}
        left = max(times) + self.cooldown_s - time
        return {"collision_cooldown": max(0, ceil(left / step_s - 1e-6)), "last_collision_t": max(times)}


@dataclass(frozen=True)
class MapFrame:
    """Origin of the client's map in the world, and size of the map, m."""

    x: float
    y: float
    width: float
    height: float

    @classmethod
    def around(cls, scene: CompiledScene, task: Task) -> MapFrame:
        """The frame that contains the scene, the start and the goal."""
        goal = task.goal if task.goal is not None else task.start[:2]
        sides = (-MARGIN_M, MARGIN_M)
        xs, ys = (
            [scene.bounds[k], scene.bounds[k + 2], *(point[k] + side for point in (task.start, goal) for side in sides)]
            for k in (0, 1)
        )
        x, y = (min(0.0, float(floor(min(values)))) for values in (xs, ys))
        return cls(x, y, ceil(max(xs)) - x, ceil(max(ys)) - y)

    def to_client(self, x: float, y: float, heading: float) -> Config:
        """A configuration in the client's frame."""
        return [float(x) - self.x, float(y) - self.y, float(heading)]


def traversible(scene: CompiledScene, frame: MapFrame) -> list[list[float]]:
    """1.0 for cells whose centre is free, else 0.0; rows along y."""
    columns = frame.x + (np.arange(round(frame.width / MAP_SCALE_M)) + 0.5) * MAP_SCALE_M
    rows = frame.y + (np.arange(round(frame.height / MAP_SCALE_M)) + 0.5) * MAP_SCALE_M
    if not len(scene.wall_points):
        return np.ones((len(rows), len(columns))).tolist()
    ny, nx = scene.distance.shape
    (i, i1, fi), (j, j1, fj) = (
        _between((rows - scene.distance_origin[1]) / scene.distance_cell, ny),
        _between((columns - scene.distance_origin[0]) / scene.distance_cell, nx),
    )
    d = np.asarray(scene.distance, dtype=np.float64)
    low = d[np.ix_(i, j)] * (1 - fj) + d[np.ix_(i, j1)] * fj
    high = d[np.ix_(i1, j)] * (1 - fj) + d[np.ix_(i1, j1)] * fj
    clearance = low * (1 - fi)[:, None] + high * fi[:, None]
    return (clearance > 0).astype(np.float64).tolist()  # type: ignore[no-any-return]


def _between(place: Any, count: int) -> tuple[Any, Any, Any]:
    """The two samples around each place, and its position between them, 0 … 1."""
    place = np.clip(place, 0.0, count - 1.0)
    first = np.minimum(place.astype(np.intp), max(count - 2, 0))
    return first, np.minimum(first + 1, count - 1), place - first


def metadata(name: str, task: Task, frame: MapFrame) -> dict[str, Any]:
    """The first message of an episode, without people: they come with the first state."""
    assert task.map is not None
    start = frame.to_client(*task.start)
    goal = frame.to_client(*(task.goal if task.goal is not None else task.start[:2]), 0.0)
    untouched = Contacts(0.0).of((), 0.0, task.step_s)
    robot = _agent(ROBOT_NAME, start, task.robot.footprint.enclosing_radius, untouched)
    return {
        "robot_on": True,
        "environment": {
            "map_scale": MAP_SCALE_M,
            "map_name": task.map.spec.name,
            "room_center": [frame.width / 2, frame.height / 2, 0.0],
            "map_traversible": traversible(task.map, frame),
        },
        "episode_name": name,
        "pedestrians": {},
        "robots": {ROBOT_NAME: {**robot, "start_config": start, "goal_config": goal}},
        "delta_t": task.step_s,
        "episode_max_time": task.time_limit_s,
        "sim_t": 0.0,
    }


def state(observation: Observation, task: Task, frame: MapFrame, contacts: Contacts) -> dict[str, Any]:
    """The answer to ``sense``."""
    robot = observation.robot
    here = frame.to_client(robot.x, robot.y, robot.heading)
    touched = contacts.of(contacts.last, observation.time, task.step_s) | {"collision_cooldown": 0}
    about = _agent(ROBOT_NAME, here, task.robot.footprint.enclosing_radius, touched)
    people: dict[str, Any] = {}
    if observation.pedestrians is not None:
        people = _people(observation.pedestrians, frame, contacts, observation.time, task.step_s)
    return {
        "robot_on": True,
        "pedestrians": people,
        "robots": {ROBOT_NAME: about},
        "delta_t": task.step_s,
        "episode_max_time": task.time_limit_s,
        "sim_t": observation.time,
    }


def power_off(outcome: str, time: float) -> dict[str, Any]:
    """The last message of an episode."""
    return {"robot_on": False, "termination_cause": CAUSES.get(outcome, "Timeout"), "sim_t": time}


def _people(people: Pedestrians, frame: MapFrame, contacts: Contacts, time: float, step_s: float) -> dict[str, Any]:
    found = {}
    for number, (x, y), heading, radius in zip(
        people.id.tolist(), people.position.tolist(), people.heading.tolist(), people.radius.tolist(), strict=True
    ):
        name = f"prerec_{number:04d}"
        touched = contacts.of((number,), time, step_s)
        found[name] = _agent(name, frame.to_client(x, y, heading), radius, touched)
    return found


def _agent(name: str, here: Config, radius: float, touched: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "current_config": here, "radius": radius, **touched}
