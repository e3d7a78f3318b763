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
NARROWEST = 0.3  # shorter side of a picture over the longer


def make_top_view(world: World, size: int) -> TopView:
    """A view that holds everything of the world: scene, people's ways, robots' starts and goals. Its longer side has
    ``size`` pixels."""
    people = world.agents[[layout.PX, layout.PY], : world.people].T[world.flags[layout.ACTIVE, : world.people] == 1]
    points = [world.goals, world.robot_state[:, [ROBOT_X, ROBOT_Y]], people]
    for route, length in zip(world.routes, world.route_length, strict=True):
        points.append(route[:length])
    if world.replay is not None:
        tracks = world.replay[..., :2]
        points.append(tracks[np.isfinite(tracks[..., 0])])
    corners = np.concatenate(points)
    low, high = corners.min(axis=0) - MARGIN_M, corners.max(axis=0) + MARGIN_M
    if len(world.scene.wall_points):
        low = np.minimum(low, world.scene.wall_points.min(axis=0))
        high = np.maximum(high, world.scene.wall_points.max(axis=0))
    wide, high_m = high - low
    width, height = (_pixels(side / max(wide, high_m), size) for side in (wide, high_m))
    bounds = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    return TopView(world.scene.spec, world.scene.segments, bounds, (width, height))


def _pixels(share: float, size: int) -> int:
    """A side's pixels, where the longer has ``size``: even, as video codecs want it, and with room for the clock."""
    return 2 * round(max(share, NARROWEST) * size / 2)


def draw_environment(view: TopView, worlds: Worlds, b: int) -> Any:
    """World ``b`` as it is now, (H, W, 3) uint8. In front, with its goal, is the first robot that still drives; robots
    whose episode is over are not shown, except when all are over."""
    world = worlds.worlds[b]
    n = worlds.people
    agents, flags = worlds.agents[b], worlds.flags[b]
    people = agents[[layout.PX, layout.PY], :n].T.astype(np.float64)
    people[flags[layout.ACTIVE, :n] != 1] = np.nan
    driving = np.flatnonzero(flags[layout.ACTIVE, n:] == 1)
    front, others = (int(driving[0]), driving[1:]) if len(driving) else (0, driving)
    pose = worlds.robot_state[b][:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]]
    goal_x, goal_y = worlds.goals[b, front]
    return view.frame(
        pose[front],
        world.robots[front].footprint,
        people=people,
        headings=agents[layout.HEADING, :n],
        radii=agents[layout.RADIUS, :n],
        groups=flags[layout.GROUP, :n],
        goal=(float(goal_x), float(goal_y)),
        goal_radius=world.scenario.rules.goal_radius_m,
        others=pose[others],
        other_radii=agents[layout.RADIUS, n + others],
        time=float(worlds.clock[b]) * world.scenario.rules.step_s,
    )
