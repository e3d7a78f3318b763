"""The way from a robot's start to its goal round the walls."""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.scenes.free_space import path_length, shortest_path
from sidestep.simulation.build import World
from sidestep.types.base import FloatArray

ROUTE_SPARE_M = 0.15
"""Room that a route keeps from walls beyond the robot's radius, where there is that much."""


def route_to_goal(world: World, robot: int = 0) -> FloatArray:
    """Points (K, 2) to pass, the goal last: the scenario's route, else the shortest way with a little room to spare,
    else (no way is found) the goal alone."""
    place = world.scenario.robots[robot]
    if place.route or not len(world.scene.wall_points):
        return np.array([*place.route, place.goal])
    for spare in (ROUTE_SPARE_M, 0.0):
        way = _way(world, robot, spare)
        if way is not None:
            return way[1:]
    return np.array([place.goal])


def shortest_way(world: World, robot: int = 0) -> float:
    """Length of the shortest way for the robot's enclosing circle, m; NaN where there is none. Where the robot has to
    stay on some ground, it is the length of its route, which does, up to the goal's circle."""
    place = world.scenario.robots[robot]
    if world.scenario.rules.stay_on and place.route:
        length = path_length(np.array([place.start[:2], *place.route, place.goal]))
        return max(length - world.scenario.rules.goal_radius_m, 0.0)
    if not len(world.scene.wall_points):
        return float(exact.hypot(place.goal[0] - place.start[0], place.goal[1] - place.start[1]))
    way = _way(world, robot, 0.0)
    return float("nan") if way is None else path_length(way)


def _way(world: World, robot: int, spare: float) -> FloatArray | None:
    place = world.scenario.robots[robot]
    radius = world.robots[robot].footprint.enclosing_radius + spare
    try:
        return shortest_path(world.scene, place.start[:2], place.goal, radius)
    except BadInput:
        return None
