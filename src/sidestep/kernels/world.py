"""One step of one world, and of many worlds in one call.

The order inside a step: people come in; they decide (all from the same state, robots included), replayed ones who react
first; the robots move, stopped by walls; the people move, stopped by walls and by each other; contacts with robots are
swept over the step; arrivals are noted. Nothing is drawn at random. What this means by the rules of a scenario is the
referee's business (``kernels.referee``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.approx import sincos64
from sidestep.kernels.bodies import WAS_HERE, WAS_X, WAS_Y, separate_bodies
from sidestep.kernels.dynamics import (
    LIMIT_ROWS,
    ROBOT_HEADING,
    ROBOT_OMEGA,
    ROBOT_ROWS,
    ROBOT_V,
    ROBOT_VX,
    ROBOT_VY,
    ROBOT_X,
    ROBOT_Y,
    advance_robot,
)
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import (
    CrowdParameters,
    FloatArray,
    SceneBank,
    Scratch,
    Walls,
    WorldArrays,
    WorldBatch,
    float32,
    float64,
)
from sidestep.kernels.orca import orca_world
from sidestep.kernels.people import (
    enter_people,
    face_people,
    move_people,
    narrow_people,
    replay_people,
    widen_people,
    wish_velocities,
)
from sidestep.kernels.reactive_replay import narrow_robots, note_delays, react_people, widen_robots
from sidestep.kernels.social_force_helbing import helbing_world
from sidestep.kernels.social_force_moussaid import moussaid_world
from sidestep.kernels.sweep import (
    clear_of_walls,
    move_with_walls,
    sweep_circles,
    sweep_polygon_circle,
    sweep_polygon_walls,
    sweep_polygons,
)

WALKING = (1 << at.MODEL_ORCA) | (1 << at.MODEL_HELBING) | (1 << at.MODEL_MOUSSAID)


@kernel(is_part=True, forceinline=True)
def step_world(
    step: int, world: WorldArrays, walls: Walls, replay: FloatArray, before: FloatArray, orca_scratch: FloatArray,
    force_scratch: FloatArray | None,
) -> None:  # fmt: skip
    """Advance one world from ``step`` to ``step + 1``: what episodes and learning environments both do.

    The parts of a ``Scratch`` are arguments because numba then leaves out what ``force_scratch`` is needed for where it
    is None: in worlds without social forces their kernels are neither compiled nor linked.
    """
    agents, flags, robots = world.agents, world.flags, world.robots
    people = world.routes.shape[0]
    dt64 = world.rules[at.RULE_DT]
    dt = float32(dt64)
    enter_people(agents, flags, people, float32(step * dt64))
    wish_velocities(agents, flags, people, world.routes, world.route_length, dt)
    models, reactive, is_limited = 0, 0, False
    for i in range(people):
        reactive |= flags[at.REACTIVITY, i]
        is_limited |= agents[at.MAX_ACCELERATION, i] > float32(0.0)
    if reactive:
        react_people(agents, flags, people, replay, step, dt)
    for i in range(people):
        models |= 1 << flags[at.MODEL, i]
    if models & (1 << at.MODEL_ORCA):
        if reactive & at.REACT_REROUTE:
            widen_robots(agents, people, before)
        if is_limited:
            widen_people(agents, people, before)
        orca_world(agents, flags, people, walls, world.parameters.orca, orca_scratch)
        if is_limited:
            narrow_people(agents, people, before)
        if reactive & at.REACT_REROUTE:
            narrow_robots(agents, people, before)
    if force_scratch is not None:
        if models & (1 << at.MODEL_HELBING):
            helbing_world(agents, flags, people, walls, world.parameters.helbing, dt, force_scratch, 0, people)
        if models & (1 << at.MODEL_MOUSSAID):
            moussaid_world(agents, flags, people, walls, world.parameters.moussaid, dt, force_scratch, 0, people)
    for j in range(agents.shape[1]):
        before[WAS_X, j], before[WAS_Y, j] = agents[at.PX, j], agents[at.PY, j]
        before[WAS_HERE, j] = float32(1.0) if flags[at.ACTIVE, j] == 1 else float32(0.0)
    for r in range(robots.shape[0]):
        move_robot(world, r, walls, dt64)
    move_people(agents, flags, people, walls, dt)
    if models & (1 << at.MODEL_REPLAY):
        replay_people(agents, flags, people, replay, step + 1)
    if models & WALKING:
        separate_bodies(agents, flags, people, before, walls, dt)
    if reactive:
        note_delays(agents, flags, people, before, replay, step + 1, dt)
    face_people(agents, flags, people)
    sweep_contacts(world, before, dt64)
    for r in range(robots.shape[0]):
        _note_goal(world, r, before[WAS_X, people + r], before[WAS_Y, people + r])
        mirror_robot(agents, people + r, robots[r])
        if world.body[r, at.COVER, 0] > 0.0:
            mirror_cover(agents, people + robots.shape[0], robots[r], world.body[r])


@kernel
def mirror_cover(agents: FloatArray, first: int, robot: FloatArray, body: FloatArray) -> None:
    """Show a long vehicle to the people as a row of discs, in the columns from ``first`` on that are its own."""
    sine, cosine = sincos64(robot[ROBOT_HEADING])
    for k in range(int(body[at.COVER, 0])):
        ahead = body[at.COVER_X, 0] + k * body[at.COVER_X, 1]
        column = first + int(body[at.COVER, 1]) + k
        agents[at.PX, column] = float32(robot[ROBOT_X] + ahead * cosine)
        agents[at.PY, column] = float32(robot[ROBOT_Y] + ahead * sine)
        agents[at.VX, column] = float32(robot[ROBOT_VX] - robot[ROBOT_OMEGA] * ahead * sine)
        agents[at.VY, column] = float32(robot[ROBOT_VY] + robot[ROBOT_OMEGA] * ahead * cosine)
        agents[at.HEADING, column] = float32(robot[ROBOT_HEADING])


@kernel(forceinline=True)
def mirror_robot(agents: FloatArray, column: int, robot: FloatArray) -> None:
    """Show the robot to the people as one more agent."""
    agents[at.PX, column], agents[at.PY, column] = float32(robot[ROBOT_X]), float32(robot[ROBOT_Y])
    agents[at.VX, column], agents[at.VY, column] = float32(robot[ROBOT_VX]), float32(robot[ROBOT_VY])
    agents[at.HEADING, column] = float32(robot[ROBOT_HEADING])


@kernel(is_part=True, forceinline=True)
def move_robot(world: WorldArrays, r: int, walls: Walls, dt: float) -> None:
    """Dynamics, then walls: a disc slides along them, a polygon stops. Either way the contact is noted."""
    robot, body, status, measures = world.robots[r], world.body[r], world.status[r], world.measures[r]
    command, applied = world.command[r], world.applied[r]
    x, y, heading = robot[ROBOT_X], robot[ROBOT_Y], robot[ROBOT_HEADING]
    status[at.LIMITED] = advance_robot(world.dynamics[r], robot, command[0], command[1], world.limits[r], dt, applied)
    status[at.AT_WALL] = 0
    measures[at.WALL_FRACTION] = 2.0
    if walls.points.shape[0] == 0:
        return
    if clear_of_walls(x, y, robot[ROBOT_X] - x, robot[ROBOT_Y] - y, body[0, 1], walls):
        return
    if body[0, 0] == 0.0:
        new_x, new_y, touched, fraction = move_with_walls(
            x, y, robot[ROBOT_X] - x, robot[ROBOT_Y] - y, body[0, 1], walls
        )
        robot[ROBOT_X], robot[ROBOT_Y] = new_x, new_y
    else:
        turn = robot[ROBOT_OMEGA] * dt
        corners = body[1 : 1 + int(body[0, 0])]
        fraction = sweep_polygon_walls(x, y, heading, robot[ROBOT_X] - x, robot[ROBOT_Y] - y, turn, corners, walls)
        touched = fraction <= 1.0
        if touched:
            part = max(fraction - 1e-3, 0.0)
            robot[ROBOT_X], robot[ROBOT_Y] = x + part * (robot[ROBOT_X] - x), y + part * (robot[ROBOT_Y] - y)
            robot[ROBOT_HEADING] = heading + part * turn
            robot[ROBOT_V] = robot[ROBOT_OMEGA] = 0.0
            new_x, new_y = robot[ROBOT_X], robot[ROBOT_Y]
    if touched:
        status[at.AT_WALL] = 1
        measures[at.WALL_FRACTION] = fraction
        robot[ROBOT_VX], robot[ROBOT_VY] = (robot[ROBOT_X] - x) / dt, (robot[ROBOT_Y] - y) / dt


@kernel(is_part=True, forceinline=True)
def sweep_contacts(world: WorldArrays, before: FloatArray, dt: float) -> None:
    """First touch of each robot with each other agent inside the step, both moving evenly from where they were. People
    and other robots are discs; vehicles are met by their outlines."""
    agents, flags, robots, body = world.agents, world.flags, world.robots, world.body
    contact, status = world.contact, world.status
    people = world.routes.shape[0]
    for r in range(robots.shape[0]):
        own = people + r
        x0, y0 = float64(before[WAS_X, own]), float64(before[WAS_Y, own])
        vx, vy = (robots[r, ROBOT_X] - x0) / dt, (robots[r, ROBOT_Y] - y0) / dt
        radius = float64(agents[at.RADIUS, own]) if body[r, at.COVER, 0] == 0.0 else body[r, 0, 1]
        nearest = at.FAR
        status[r, at.TOUCHED] = 0
        for j in range(people + robots.shape[0]):
            contact[r, j] = at.NO_CONTACT
            if j == own or flags[at.ACTIVE, j] != 1:
                continue
            now_x, now_y = float64(agents[at.PX, j]), float64(agents[at.PY, j])
            other = float64(agents[at.RADIUS, j])
            is_vehicle = False
            if j >= people:
                now_x, now_y = robots[j - people, ROBOT_X], robots[j - people, ROBOT_Y]
                is_vehicle = body[j - people, at.COVER, 0] > 0.0
                if is_vehicle:
                    other = body[j - people, 0, 1]
            was_x, was_y = float64(before[WAS_X, j]), float64(before[WAS_Y, j])
            wx, wy = (now_x - was_x) / dt, (now_y - was_y) / dt
            if before[WAS_HERE, j] == 0.0:  # came in at the end of this step: meets the robot where it is then
                was_x, was_y, wx, wy = x0 + now_x - robots[r, ROBOT_X], y0 + now_y - robots[r, ROBOT_Y], vx, vy
            fraction, gap = sweep_circles(x0, y0, vx, vy, radius, was_x, was_y, wx, wy, other, dt)
            if fraction <= 1.0 and is_vehicle:
                fraction = _sweep_vehicle(
                    robots[r], body[r], x0, y0, vx, vy, radius, robots[j - people], body[j - people], was_x, was_y, wx,
                    wy, dt,
                )  # fmt: skip
            elif fraction <= 1.0 and body[r, 0, 0] > 0.0:
                corners = body[r, 1 : 1 + int(body[r, 0, 0])]
                start = robots[r, ROBOT_HEADING] - robots[r, ROBOT_OMEGA] * dt
                fraction = sweep_polygon_circle(
                    x0, y0, start, vx, vy, robots[r, ROBOT_OMEGA], corners, was_x, was_y, wx, wy, other, dt
                )
            if fraction <= 1.0:
                contact[r, j] = float32(fraction)
                status[r, at.TOUCHED] = 1
            if j < people:
                nearest = min(nearest, gap)
        world.measures[r, at.NEAREST] = nearest


@kernel
def _sweep_vehicle(
    robot: FloatArray, body: FloatArray, x0: float, y0: float, vx: float, vy: float, radius: float, vehicle: FloatArray,
    outline: FloatArray, was_x: float, was_y: float, wx: float, wy: float, dt: float,
) -> float:  # fmt: skip
    """First contact of a robot, a disc or a polygon, with the outline of a vehicle."""
    corners = outline[1 : 1 + int(outline[0, 0])]
    omega = vehicle[ROBOT_OMEGA]
    heading = vehicle[ROBOT_HEADING] - omega * dt
    if body[0, 0] == 0.0:
        return sweep_polygon_circle(was_x, was_y, heading, wx, wy, omega, corners, x0, y0, vx, vy, radius, dt)
    turn = robot[ROBOT_OMEGA]
    return sweep_polygons(
        x0, y0, robot[ROBOT_HEADING] - turn * dt, vx, vy, turn, body[1 : 1 + int(body[0, 0])], was_x, was_y, heading,
        wx, wy, omega, corners, dt,
    )  # fmt: skip


@kernel(forceinline=True)
def _note_goal(world: WorldArrays, r: int, was_x: float, was_y: float) -> None:
    """The goal is reached when the straight piece just driven comes within the goal radius."""
    robot, goal = world.robots[r], world.goals[r]
    dx, dy = robot[ROBOT_X] - was_x, robot[ROBOT_Y] - was_y
    gx, gy = goal[0] - was_x, goal[1] - was_y
    square = dx * dx + dy * dy
    along = 1.0 if square == 0.0 else min(max((gx * dx + gy * dy) / square, 0.0), 1.0)
    miss_x, miss_y = gx - along * dx, gy - along * dy
    radius = world.rules[at.RULE_GOAL_RADIUS]
    world.status[r, at.AT_GOAL] = 1 if miss_x * miss_x + miss_y * miss_y < radius * radius else 0
    end_x, end_y = gx - dx, gy - dy
    world.measures[r, at.GOAL_DISTANCE] = sqrt(end_x * end_x + end_y * end_y)


def new_worlds(
    b: int, people: int, robots: int, *, route: int, waypoints: int, rules: int, parameters: Sequence[int], marks: int,
    notes: int, covers: int = 0,
) -> WorldArrays:  # fmt: skip
    """Arrays of ``b`` worlds, all zero. ``covers``: discs that cover vehicles; ``route``, ``waypoints``: most points of
    a person's route and of a robot's; ``rules``, ``parameters``, ``marks``, ``notes``: lengths of these."""
    r, m = robots, people + robots
    return WorldArrays(
        agents=np.zeros((b, at.AGENT_ROWS, m + covers), np.float32),
        flags=np.zeros((b, at.FLAG_ROWS, m + covers), np.int32),
        routes=np.zeros((b, people, route, 2), np.float32),
        route_length=np.zeros((b, people), np.int32),
        robots=np.zeros((b, r, ROBOT_ROWS)),
        body=np.zeros((b, r, at.BODY_ROWS, 2)),
        limits=np.zeros((b, r, LIMIT_ROWS)),
        dynamics=np.zeros((b, r), np.int32),
        goals=np.zeros((b, r, 2)),
        rules=np.zeros((b, rules)),
        scene_index=np.zeros((b, 4), np.int32),
        waypoints=np.zeros((b, r, waypoints, 4)),
        parameters=CrowdParameters(*(np.zeros((b, length), np.float32) for length in parameters)),
        command=np.zeros((b, r, 2)),
        applied=np.zeros((b, r, 2)),
        contact=np.zeros((b, r, m), np.float32),
        status=np.zeros((b, r, at.STATUS_ROWS), np.int32),
        measures=np.zeros((b, r, at.MEASURE_ROWS)),
        marks=np.zeros((b, r, marks), np.int32),
        notes=np.zeros((b, r, notes)),
    )


@kernel(forceinline=True)
def world_of(worlds: WorldArrays, b: int) -> WorldArrays:
    """World ``b`` of a batch: views of its arrays."""
    w, p = worlds, worlds.parameters
    parameters = CrowdParameters(p.orca[b], p.helbing[b], p.moussaid[b])
    return WorldArrays(
        w.agents[b], w.flags[b], w.routes[b], w.route_length[b], w.robots[b], w.body[b], w.limits[b], w.dynamics[b],
        w.goals[b], w.rules[b], w.scene_index[b], w.waypoints[b], parameters, w.command[b], w.applied[b], w.contact[b],
        w.status[b], w.measures[b], w.marks[b], w.notes[b],
    )  # fmt: skip


@kernel(forceinline=True)
def walls_of(bank: SceneBank, scene: int) -> Walls:
    """The walls of one scene out of the bank."""
    w, first, last = bank.walls, bank.offsets[scene], bank.offsets[scene + 1]
    w0, w1, c0, c1, i0, i1 = first[0], last[0], first[1], last[1], first[2], last[2]
    return Walls(
        w.points[w0:w1], w.dirs[w0:w1], w.next[w0:w1], w.prev[w0:w1], w.convex[w0:w1],
        w.cell_start[c0:c1], w.cell_items[i0:i1], w.grid[scene], w.grid_shape[scene],
    )  # fmt: skip


@kernel
def step_worlds(first: int, last: int, batch: WorldBatch, scratch: Scratch) -> None:
    """Advance worlds ``first … last - 1`` that are running by one step each."""
    for b in range(first, last):
        if batch.running[b] == 1:
            world = world_of(batch.worlds, b)
            walls, replay = walls_of(batch.bank, world.scene_index[0]), batch.bank.replays[world.scene_index[1]]
            step_world(batch.clock[b], world, walls, replay, scratch.before, scratch.orca, scratch.force)
            batch.clock[b] += 1
