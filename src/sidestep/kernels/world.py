"""One step of one world, and of many worlds in one call.

The order inside a step: people come in; they decide (all from the same state, robots included), replayed ones who react
first; the robots move, stopped by walls; the people move, stopped by walls and by each other; contacts with robots are
swept over the step; arrivals are noted. Nothing is drawn at random. What this means by the rules of a scenario is the
referee's business (``kernels.referee``).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.bodies import WAS_HERE, WAS_X, WAS_Y, separate_bodies
from sidestep.kernels.dynamics import (
    ROBOT_HEADING,
    ROBOT_OMEGA,
    ROBOT_V,
    ROBOT_VX,
    ROBOT_VY,
    ROBOT_X,
    ROBOT_Y,
    advance_robot,
)
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import (
    ACTIVE,
    HEADING,
    MODEL,
    MODEL_HELBING,
    MODEL_MOUSSAID,
    MODEL_ORCA,
    MODEL_REPLAY,
    PX,
    PY,
    RADIUS,
    REACT_REROUTE,
    REACTIVITY,
    VX,
    VY,
)
from sidestep.kernels.orca import orca_world
from sidestep.kernels.people import enter_people, face_people, move_people, replay_people, wish_velocities
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

# status (R, STATUS_ROWS) int32: what happened to each robot in the last step
LIMITED = 0  # bits of record.LIMIT_NAMES
AT_WALL = 1
AT_GOAL = 2
TOUCHED = 3  # by a person or another robot
STATUS_ROWS = 4

# measures (R, MEASURE_ROWS) float64
WALL_FRACTION = 0  # when in the step the wall was touched, 0 … 1
GOAL_DISTANCE = 1  # at the end of the step, m
NEAREST = 2  # least surface distance to a person over the step, m; FAR when nobody is there
MEASURE_ROWS = 3

WALKING = (1 << MODEL_ORCA) | (1 << MODEL_HELBING) | (1 << MODEL_MOUSSAID)

NO_CONTACT = np.float32(2.0)
FAR = 1.0e3

# rules float64; the rows after these are the referee's (``kernels.referee``)
RULE_DT, RULE_GOAL_RADIUS, RULE_TIME_LIMIT = 0, 1, 2

# body (BODY_ROWS, 2) float64: first row (corners, radius) — a disc has 0 corners — then up to 8 corners; then, of a
# vehicle with corners, (number of discs that cover it, index of the first) and (x of the first, m between two)
COVER, COVER_X, BODY_ROWS = 9, 10, 11


@kernel(forceinline=True)
def step_world(
    step, agents, flags, people, routes, route_length, robots, body, limits, dynamics, goals, command, applied, contact,
    status, measures, rules, walls, replay, orca_parameters, helbing_parameters, moussaid_parameters, before,
    orca_scratch, force_scratch,
):  # fmt: skip
    """Advance one world from ``step`` to ``step + 1``. Arrays without the environment axis; see ``kernels.layout``.

    ``force_scratch`` is None in worlds without social forces: their kernels are then neither compiled nor linked.
    """
    dt64 = rules[RULE_DT]
    dt = np.float32(dt64)
    enter_people(agents, flags, people, np.float32(step * dt64))
    wish_velocities(agents, flags, people, routes, route_length, dt)
    models, reactive = 0, 0
    for i in range(people):
        reactive |= flags[REACTIVITY, i]
    if reactive:
        react_people(agents, flags, people, replay, step, dt)
    for i in range(people):
        models |= 1 << flags[MODEL, i]
    if models & (1 << MODEL_ORCA):
        if reactive & REACT_REROUTE:
            widen_robots(agents, people, before)
        orca_world(agents, flags, people, *walls, orca_parameters, orca_scratch)
        if reactive & REACT_REROUTE:
            narrow_robots(agents, people, before)
    if force_scratch is not None:
        edges = (walls[0], walls[1], walls[2], walls[5], walls[6], walls[7], walls[8])
        if models & (1 << MODEL_HELBING):
            helbing_world(agents, flags, people, *edges, helbing_parameters, dt, force_scratch)
        if models & (1 << MODEL_MOUSSAID):
            moussaid_world(agents, flags, people, *edges, moussaid_parameters, dt, force_scratch)
    for j in range(agents.shape[1]):
        before[WAS_X, j], before[WAS_Y, j] = agents[PX, j], agents[PY, j]
        before[WAS_HERE, j] = np.float32(1.0) if flags[ACTIVE, j] == 1 else np.float32(0.0)
    for r in range(robots.shape[0]):
        move_robot(
            robots[r], body[r], limits[r], dynamics[r], command[r], applied[r], status[r], measures[r], walls, dt64
        )
    move_people(agents, flags, people, walls, dt)
    if models & (1 << MODEL_REPLAY):
        replay_people(agents, flags, people, replay, step + 1)
    if models & WALKING:
        separate_bodies(agents, flags, people, before, walls, dt)
    if reactive:
        note_delays(agents, flags, people, before, replay, step + 1, dt)
    face_people(agents, flags, people)
    sweep_contacts(agents, flags, people, robots, body, before, contact, status, measures, dt64)
    for r in range(robots.shape[0]):
        _note_goal(
            robots[r], goals[r], before[WAS_X, people + r], before[WAS_Y, people + r], rules, status[r], measures[r]
        )
        mirror_robot(agents, people + r, robots[r])
        if body[r, COVER, 0] > 0.0:
            mirror_cover(agents, people + robots.shape[0], robots[r], body[r])


@kernel
def mirror_cover(agents, first, robot, body):
    """Show a long vehicle to the people as a row of discs, in the columns from ``first`` on that are its own."""
    sine, cosine = sincos64(robot[ROBOT_HEADING])
    for k in range(int(body[COVER, 0])):
        ahead = body[COVER_X, 0] + k * body[COVER_X, 1]
        column = first + int(body[COVER, 1]) + k
        agents[PX, column] = np.float32(robot[ROBOT_X] + ahead * cosine)
        agents[PY, column] = np.float32(robot[ROBOT_Y] + ahead * sine)
        agents[VX, column] = np.float32(robot[ROBOT_VX] - robot[ROBOT_OMEGA] * ahead * sine)
        agents[VY, column] = np.float32(robot[ROBOT_VY] + robot[ROBOT_OMEGA] * ahead * cosine)
        agents[HEADING, column] = np.float32(robot[ROBOT_HEADING])


@kernel(forceinline=True)
def mirror_robot(agents, column, robot):
    """Show the robot to the people as one more agent."""
    agents[PX, column], agents[PY, column] = np.float32(robot[ROBOT_X]), np.float32(robot[ROBOT_Y])
    agents[VX, column], agents[VY, column] = np.float32(robot[ROBOT_VX]), np.float32(robot[ROBOT_VY])
    agents[HEADING, column] = np.float32(robot[ROBOT_HEADING])


@kernel(forceinline=True)
def move_robot(robot, body, limits, dynamics, command, applied, status, measures, walls, dt):
    """Dynamics, then walls: a disc slides along them, a polygon stops. Either way the contact is noted."""
    x, y, heading = robot[ROBOT_X], robot[ROBOT_Y], robot[ROBOT_HEADING]
    status[LIMITED] = advance_robot(dynamics, robot, command[0], command[1], limits, dt, applied)
    status[AT_WALL] = 0
    measures[WALL_FRACTION] = 2.0
    if walls[0].shape[0] == 0:
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
        status[AT_WALL] = 1
        measures[WALL_FRACTION] = fraction
        robot[ROBOT_VX], robot[ROBOT_VY] = (robot[ROBOT_X] - x) / dt, (robot[ROBOT_Y] - y) / dt


@kernel(forceinline=True)
def sweep_contacts(agents, flags, people, robots, body, before, contact, status, measures, dt):
    """First touch of each robot with each other agent inside the step, both moving evenly from where they were. People
    and other robots are discs; vehicles are met by their outlines."""
    for r in range(robots.shape[0]):
        own = people + r
        x0, y0 = np.float64(before[WAS_X, own]), np.float64(before[WAS_Y, own])
        vx, vy = (robots[r, ROBOT_X] - x0) / dt, (robots[r, ROBOT_Y] - y0) / dt
        radius = np.float64(agents[RADIUS, own]) if body[r, COVER, 0] == 0.0 else body[r, 0, 1]
        nearest = FAR
        status[r, TOUCHED] = 0
        for j in range(people + robots.shape[0]):
            contact[r, j] = NO_CONTACT
            if j == own or flags[ACTIVE, j] != 1:
                continue
            now_x, now_y = np.float64(agents[PX, j]), np.float64(agents[PY, j])
            other = np.float64(agents[RADIUS, j])
            is_vehicle = False
            if j >= people:
                now_x, now_y = robots[j - people, ROBOT_X], robots[j - people, ROBOT_Y]
                is_vehicle = body[j - people, COVER, 0] > 0.0
                if is_vehicle:
                    other = body[j - people, 0, 1]
            was_x, was_y = np.float64(before[WAS_X, j]), np.float64(before[WAS_Y, j])
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
                contact[r, j] = np.float32(fraction)
                status[r, TOUCHED] = 1
            if j < people:
                nearest = min(nearest, gap)
        measures[r, NEAREST] = nearest


@kernel
def _sweep_vehicle(robot, body, x0, y0, vx, vy, radius, vehicle, outline, was_x, was_y, wx, wy, dt):
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
def _note_goal(robot, goal, was_x, was_y, rules, status, measures):
    """The goal is reached when the straight piece just driven comes within the goal radius."""
    dx, dy = robot[ROBOT_X] - was_x, robot[ROBOT_Y] - was_y
    gx, gy = goal[0] - was_x, goal[1] - was_y
    square = dx * dx + dy * dy
    along = 1.0 if square == 0.0 else min(max((gx * dx + gy * dy) / square, 0.0), 1.0)
    miss_x, miss_y = gx - along * dx, gy - along * dy
    radius = rules[RULE_GOAL_RADIUS]
    status[AT_GOAL] = 1 if miss_x * miss_x + miss_y * miss_y < radius * radius else 0
    end_x, end_y = gx - dx, gy - dy
    measures[GOAL_DISTANCE] = sqrt(end_x * end_x + end_y * end_y)


@kernel(forceinline=True)
def scene_of(bank, scene):
    """The walls of one scene out of the bank that all worlds share: the tuple that every kernel calls ``walls``."""
    points, dirs, following, previous, convex, cell_start, cell_items, grids, grid_shapes, offsets = bank
    w0, w1 = offsets[scene, 0], offsets[scene + 1, 0]
    c0, c1 = offsets[scene, 1], offsets[scene + 1, 1]
    i0, i1 = offsets[scene, 2], offsets[scene + 1, 2]
    return (
        points[w0:w1], dirs[w0:w1], following[w0:w1], previous[w0:w1], convex[w0:w1],
        cell_start[c0:c1], cell_items[i0:i1], grids[scene], grid_shapes[scene],
    )  # fmt: skip


@kernel
def step_worlds(
    first, last, running, clock, agents, flags, people, routes, route_length, robots, body, limits, dynamics, goals,
    command, applied, contact, status, measures, rules, index, bank, replays, parameters, scratch,
):  # fmt: skip
    """Advance worlds ``first … last - 1`` that are running by one step each."""
    for b in range(first, last):
        if running[b] == 0:
            continue
        step_world(
            clock[b], agents[b], flags[b], people, routes[b], route_length[b], robots[b], body[b], limits[b],
            dynamics[b], goals[b], command[b], applied[b], contact[b], status[b], measures[b], rules[b],
            scene_of(bank, index[b, 0]), replays[index[b, 1]], parameters[0][b], parameters[1][b], parameters[2][b],
            scratch[0], scratch[1], scratch[2],
        )  # fmt: skip
        clock[b] += 1
