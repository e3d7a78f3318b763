"""Pictures of an environment: what ``render_mode="rgb_array"`` shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.drawing import TopView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_X, ROBOT_Y
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds

MARGIN_M = 1.5


def make_top_view(world: World, size: int) -> TopView:
    """A view that holds everything of the world: scene, people's routes, robots' starts and goals."""
    points = [world.goals, world.robot_state[:, [ROBOT_X, ROBOT_Y]], world.agents[[layout.PX, layout.PY], : world.people].T]
    for route, length in zip(world.routes, world.route_length, strict=True):
        points.append(route[:length])
    corners = np.concatenate(points)
    low, high = corners.min(axis=0) - MARGIN_M, corners.max(axis=0) + MARGIN_M
    if len(world.scene.wall_points):
        low = np.minimum(low, world.scene.wall_points.min(axis=0))
        high = np.maximum(high, world.scene.wall_points.max(axis=0))
    bounds = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    return TopView(world.scene.spec, world.scene.segments, bounds, (size, size))


def draw_environment(view: TopView, worlds: Worlds, b: int) -> Any:
    """World ``b`` as it is now, (H, W, 3) uint8."""
    world = worlds.worlds[b]
    n = worlds.people
    agents, here = worlds.agents[b], worlds.flags[b, layout.ACTIVE, :n] == 1
    robot = worlds.robot_state[b, :, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]].T
    return view.frame(
        robot[0],
        world.robots[0].footprint,
        people=agents[[layout.PX, layout.PY], :n].T[here],
        headings=agents[layout.HEADING, :n][here],
        radii=agents[layout.RADIUS, :n][here],
        groups=worlds.flags[b, layout.GROUP, :n][here],
        goal=(float(worlds.goals[b, 0, 0]), float(worlds.goals[b, 0, 1])),
        goal_radius=world.scenario.rules.goal_radius_m,
        others=robot[1:],
        other_radii=np.array([spec.footprint.enclosing_radius for spec in world.robots[1:]]),
        time=float(worlds.clock[b]) * world.scenario.rules.step_s,
    )
