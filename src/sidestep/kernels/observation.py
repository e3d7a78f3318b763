"""What a robot observes in learning environments, and in the benchmark when a learned policy drives it.

Everything is centred on the robot; for unicycle and bicycle robots it is also turned so that x points ahead, for
holonomic robots, whose commands are in the world frame, it is not. Only ``+ - * /``, ``sqrt`` and the exact functions
of ``kernels.approx`` are used: the same world gives the same bits in a batch of any size, alone, and in an episode.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, float64
from sidestep.kernels.rays import Beams, Discs, cast_lidar
from sidestep.kernels.visibility import visible_people

# robot observation: goal (x, y), velocity (x, y), turn rate, radius, speed limit, share of the time used
ROBOT_FEATURES = 8
# observation of a person or of another robot: position (x, y), velocity (x, y), radius
AGENT_FEATURES = 5

# layers of the occupancy grid
WALL_LAYER, PEOPLE_LAYER, ROBOT_LAYER, GRID_LAYERS = 0, 1, 2, 3
OCCUPIED = 255

# sight, float64: how far people are seen (m), in which angle about the heading (rad), 1 where they hide each other
SIGHT_RANGE, SIGHT_ANGLE, SIGHT_OCCLUSION, SIGHT_ROWS = range(4)


class Views(NamedTuple):
    """What the A robots under test of B environments observe; rows without an agent are zero."""

    robot: FloatArray  # (B, A, ROBOT_FEATURES) float32
    people: FloatArray  # (B, A, rows, AGENT_FEATURES) float32; where there are more people than rows, the nearest
    people_mask: IntArray  # (B, A, rows) int8
    robots: FloatArray  # (B, A, A - 1, AGENT_FEATURES) float32: the other robots
    robots_mask: IntArray  # (B, A, A - 1) int8
    lidar: FloatArray  # (B, A, rays) float32, m; no rays where nobody wants them
    grid: IntArray  # (B, A, GRID_LAYERS, H, W) uint8, 0 or OCCUPIED; no layers where nobody wants them


class Senses(NamedTuple):
    """How robots observe."""

    sight: FloatArray  # (B, SIGHT_ROWS) float64
    beams: Beams  # of the lidar, in the frame of the observation
    mount: FloatArray  # (2,) float64: the lidar's place ahead of the robot's centre and to its left, m
    cell: float  # of the grid, m
    reach: float  # walls farther than this matter to nothing of the above, m


class SenseScratch(NamedTuple):
    """Working memory of one thread."""

    segments: FloatArray  # (walls + edges of vehicles, 4) float32
    table: FloatArray  # float64, of ``rays.make_scratch``
    hits: IntArray  # (rays,) int32
    active: IntArray  # (M,) int32
    seen: IntArray  # (N,) uint8


class Place(NamedTuple):
    """One robot in one world; see ``layout.WorldArrays`` for the arrays."""

    agents: FloatArray
    flags: IntArray
    people: int  # columns of people
    tested: int  # robots under test, whose columns follow
    number: int  # of this one among them
    robot: FloatArray  # (ROBOT_ROWS,)
    goal: FloatArray  # (2,)
    is_turned: bool  # whether it observes along its heading
    time_share: float
    vehicles: FloatArray  # (V, ROBOT_ROWS)
    bodies: FloatArray  # (V, BODY_ROWS, 2)
    walls: Walls


@kernel(forceinline=True)
def _write_agent(
    agents: FloatArray, j: int, present: float, x: float, y: float, s: float, c: float, row: FloatArray
) -> None:
    """Agent ``j`` relative to (x, y) and turned by the angle of sine s and cosine c; zeros if not present."""
    dx, dy = (agents[at.PX, j] - x) * present, (agents[at.PY, j] - y) * present
    vx, vy = agents[at.VX, j] * present, agents[at.VY, j] * present
    row[0], row[1] = c * dx + s * dy, c * dy - s * dx
    row[2], row[3] = c * vx + s * vy, c * vy - s * vx
    row[4] = agents[at.RADIUS, j] * present


@kernel(forceinline=True)
def _observe_columns(
    agents: FloatArray, here: IntArray, first: int, last: int, x: float, y: float, s: float, c: float, out: FloatArray,
    mask: IntArray,
) -> None:  # fmt: skip
    """Agents ``first … last - 1``, one row each; ``here`` is 1 for those who are seen."""
    for j in range(first, last):
        is_here = here[j] == 1
        _write_agent(agents, j, float32(1.0) if is_here else float32(0.0), x, y, s, c, out[j - first])
        mask[j - first] = 1 if is_here else 0


@kernel
def _observe_nearest(
    agents: FloatArray, here: IntArray, people: int, x: float, y: float, s: float, c: float, out: FloatArray,
    mask: IntArray,
) -> None:  # fmt: skip
    """More people than rows: the nearest who are seen, by column; of two as near the lower column."""
    kept = 0
    for i in range(people):
        if here[i] != 1:
            continue
        dx, dy = agents[at.PX, i] - x, agents[at.PY, i] - y
        square = dx * dx + dy * dy
        nearer = 0
        for j in range(people):
            ex, ey = agents[at.PX, j] - x, agents[at.PY, j] - y
            other = ex * ex + ey * ey
            if here[j] == 1 and (other < square or (other == square and j < i)):
                nearer += 1
        if nearer < out.shape[0]:
            _write_agent(agents, i, float32(1.0), x, y, s, c, out[kept])
            mask[kept] = 1
            kept += 1
    for k in range(kept, out.shape[0]):
        for feature in range(AGENT_FEATURES):
            out[k, feature] = float32(0.0)
        mask[k] = 0


@kernel(forceinline=True)
def observe_robot(place: Place, senses: Senses, views: Views, b: int, scratch: SenseScratch) -> None:
    """Fill what the robot of ``place`` observes into row ``b`` of the views."""
    agents, flags, people, robot, r = place.agents, place.flags, place.people, place.robot, place.number
    own, goal = people + r, place.goal
    robot_out, people_out, robots_out = views.robot[b, r], views.people[b, r], views.robots[b, r]
    people_mask, robots_mask = views.people_mask[b, r], views.robots_mask[b, r]
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    s, c = 0.0, 1.0
    if place.is_turned:
        s, c = sincos64(robot[ROBOT_HEADING])
    gx, gy = goal[0] - x, goal[1] - y
    robot_out[0], robot_out[1] = c * gx + s * gy, c * gy - s * gx
    robot_out[2] = c * robot[ROBOT_VX] + s * robot[ROBOT_VY]
    robot_out[3] = c * robot[ROBOT_VY] - s * robot[ROBOT_VX]
    robot_out[4] = robot[ROBOT_OMEGA]
    robot_out[5], robot_out[6] = agents[at.RADIUS, own], agents[at.MAX_SPEED, own]
    robot_out[7] = place.time_share
    sight, rays, layers = senses.sight[b], views.lidar.shape[2], views.grid.shape[2]
    walls, edges = 0, 0
    if rays > 0 or layers > 0 or sight[SIGHT_OCCLUSION] == 1.0:
        walls = _gather_walls(place.walls, x, y, senses.reach, scratch.segments)
    if rays > 0 or layers > 0:
        edges = _gather_outlines(place, scratch.segments[walls:])
    _look(agents, flags, people, robot, sight, scratch.segments[:walls], scratch.seen)
    x32, y32, s32, c32 = float32(x), float32(y), float32(s), float32(c)
    rows = people_out.shape[0]
    present = people if people <= rows else _count_people(agents, people)
    if present <= rows:
        _observe_columns(agents, scratch.seen, 0, min(people, rows), x32, y32, s32, c32, people_out, people_mask)
    else:
        _observe_nearest(agents, scratch.seen, present, x32, y32, s32, c32, people_out, people_mask)
    active, last = flags[at.ACTIVE], people + place.tested
    _observe_columns(agents, active, people, own, x32, y32, s32, c32, robots_out, robots_mask)
    _observe_columns(agents, active, own + 1, last, x32, y32, s32, c32, robots_out[r:], robots_mask[r:])
    if rays > 0:
        _scan(place, senses, walls + edges, scratch, views.lidar[b, r])
    if layers > 0:
        _draw(place, s, c, senses.cell, walls, edges, scratch, views.grid[b, r])


@kernel
def observe_alone(place: Place, senses: Senses, views: Views, scratch: SenseScratch) -> None:
    """:func:`observe_robot` for a single robot, outside a batch."""
    observe_robot(place, senses, views, 0, scratch)


@kernel
def _count_people(agents: FloatArray, people: int) -> int:
    """People of the world; columns after them, which are there for larger worlds of its batch, have no radius."""
    while people > 0 and agents[at.RADIUS, people - 1] == 0.0:
        people -= 1
    return people


@kernel
def _look(
    agents: FloatArray, flags: IntArray, people: int, robot: FloatArray, sight: FloatArray, walls: FloatArray,
    seen: IntArray,
) -> None:  # fmt: skip
    """Write 1 into ``seen (N,)`` for every person whom the robot's detector reports, else 0."""
    if sight[SIGHT_RANGE] == np.inf and sight[SIGHT_ANGLE] >= 2.0 * pi and sight[SIGHT_OCCLUSION] != 1.0:
        for j in range(people):
            seen[j] = 1 if flags[at.ACTIVE, j] == 1 else 0
        return
    discs = Discs(agents[at.PX, :people], agents[at.PY, :people], agents[at.RADIUS, :people], flags[at.ACTIVE, :people])
    visible_people(
        robot[ROBOT_X], robot[ROBOT_Y], robot[ROBOT_HEADING], sight[SIGHT_RANGE], sight[SIGHT_ANGLE],
        sight[SIGHT_OCCLUSION] == 1.0, walls, discs, -1, seen,
    )  # fmt: skip


@kernel
def _gather_walls(walls: Walls, x: float, y: float, reach: float, out: FloatArray) -> int:
    """Copy the edges whose bounding box comes within ``reach`` of (x, y) in both axes, and count them."""
    points, found = walls.points, 0
    for k in range(points.shape[0]):
        ax, ay = points[k, 0], points[k, 1]
        bx, by = points[walls.next[k], 0], points[walls.next[k], 1]
        if min(ax, bx) - x <= reach and x - max(ax, bx) <= reach:
            if min(ay, by) - y <= reach and y - max(ay, by) <= reach:
                out[found, 0], out[found, 1], out[found, 2], out[found, 3] = ax, ay, bx, by
                found += 1
    return found


@kernel
def _gather_outlines(place: Place, out: FloatArray) -> int:
    """Write the edges of all vehicles that are there and have corners, and count them."""
    vehicles, bodies, found = place.vehicles, place.bodies, 0
    for v in range(vehicles.shape[0]):
        corners = int(bodies[v, 0, 0])
        if corners == 0 or place.flags[at.ACTIVE, place.people + place.tested + v] != 1:
            continue
        x, y = vehicles[v, ROBOT_X], vehicles[v, ROBOT_Y]
        s, c = sincos64(vehicles[v, ROBOT_HEADING])
        for k in range(corners):
            px, py = bodies[v, 1 + k, 0], bodies[v, 1 + k, 1]
            qx, qy = bodies[v, 1 + (k + 1) % corners, 0], bodies[v, 1 + (k + 1) % corners, 1]
            out[found, 0], out[found, 1] = (c * px - s * py) + x, (s * px + c * py) + y
            out[found, 2], out[found, 3] = (c * qx - s * qy) + x, (s * qx + c * qy) + y
            found += 1
    return found


@kernel
def _scan(place: Place, senses: Senses, edges: int, scratch: SenseScratch, out: FloatArray) -> None:
    """The lidar: ranges to walls and outlines of vehicles, of which there are ``edges``, to people and robots."""
    agents, robot, people, tested = place.agents, place.robot, place.people, place.tested
    active = scratch.active
    for j in range(people + tested):
        active[j] = place.flags[at.ACTIVE, j]
    for j in range(people + tested, agents.shape[1]):  # vehicles, and the discs that cover them
        active[j] = 0
    for v in range(place.vehicles.shape[0]):
        if place.bodies[v, 0, 0] == 0.0:  # a round one has no outline
            active[people + tested + v] = place.flags[at.ACTIVE, people + tested + v]
    s, c = sincos64(robot[ROBOT_HEADING])
    ahead, left = senses.mount[0], senses.mount[1]
    x, y = robot[ROBOT_X] + ahead * c - left * s, robot[ROBOT_Y] + ahead * s + left * c
    discs = Discs(agents[at.PX], agents[at.PY], agents[at.RADIUS], active)
    heading = robot[ROBOT_HEADING] if place.is_turned else 0.0
    cast_lidar(
        x, y, heading, senses.beams, scratch.segments[:edges], discs, people + place.number, scratch.table, out,
        scratch.hits,
    )  # fmt: skip


@kernel
def _draw(
    place: Place, s: float, c: float, cell: float, walls: int, edges: int, scratch: SenseScratch, out: IntArray
) -> None:
    """The occupancy grid: cell (i, j) spans x from (i - H/2) cells and y from (j - W/2) cells on, in the frame of
    the observation. A cell is occupied where an edge passes, and where its centre lies in a body."""
    agents, flags, people = place.agents, place.flags, place.people
    x, y = place.robot[ROBOT_X], place.robot[ROBOT_Y]
    for layer in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[layer, i, j] = 0
    middle_u, middle_v = 0.5 * out.shape[1], 0.5 * out.shape[2]
    for k in range(walls + edges):
        ax, ay = scratch.segments[k, 0] - x, scratch.segments[k, 1] - y
        bx, by = scratch.segments[k, 2] - x, scratch.segments[k, 3] - y
        u0, v0 = (c * ax + s * ay) / cell + middle_u, (c * ay - s * ax) / cell + middle_v
        u1, v1 = (c * bx + s * by) / cell + middle_u, (c * by - s * bx) / cell + middle_v
        plane = out[WALL_LAYER] if k < walls else out[ROBOT_LAYER]
        if abs(u1 - u0) >= abs(v1 - v0):
            _mark_line(u0, v0, u1, v1, plane, False)
        else:
            _mark_line(v0, u0, v1, u1, plane, True)
    for j in range(people + place.tested + place.vehicles.shape[0]):
        if j < people:
            is_here = scratch.seen[j] == 1
        elif j < people + place.tested:
            is_here = flags[at.ACTIVE, j] == 1 and j != people + place.number
        else:
            is_here = flags[at.ACTIVE, j] == 1 and place.bodies[j - people - place.tested, 0, 0] == 0.0
        if is_here:
            dx, dy = float64(agents[at.PX, j]) - x, float64(agents[at.PY, j]) - y
            u, v = (c * dx + s * dy) / cell + middle_u, (c * dy - s * dx) / cell + middle_v
            _mark_disc(u, v, float64(agents[at.RADIUS, j]) / cell, out[PEOPLE_LAYER if j < people else ROBOT_LAYER])


@kernel(forceinline=True)
def _whole(value: float, most: int) -> int:
    """The cell that holds a coordinate, brought into 0 … most - 1."""
    return int(min(max(value, 0.0), most - 1.0))


@kernel
def _mark_line(u0: float, v0: float, u1: float, v1: float, plane: IntArray, is_swapped: bool) -> None:
    """Occupy every cell that the line from (u0, v0) to (u1, v1), in cells, passes; ``|u1 - u0| >= |v1 - v0|``.
    ``is_swapped``: u counts columns of the plane and v rows."""
    if u1 < u0:
        u0, v0, u1, v1 = u1, v1, u0, v0
    long, wide = (plane.shape[1], plane.shape[0]) if is_swapped else (plane.shape[0], plane.shape[1])
    if u1 < 0.0 or u0 >= long:
        return
    slope = (v1 - v0) / (u1 - u0) if u1 > u0 else 0.0
    for i in range(_whole(u0, long), _whole(u1, long) + 1):
        begin, end = max(u0, float64(i)), min(u1, i + 1.0)
        first, last = v0 + (begin - u0) * slope, v0 + (end - u0) * slope
        low, high = min(first, last), max(first, last)
        if high < 0.0 or low >= wide:
            continue
        for j in range(_whole(low, wide), _whole(high, wide) + 1):
            if is_swapped:
                plane[j, i] = OCCUPIED
            else:
                plane[i, j] = OCCUPIED


@kernel
def _mark_disc(u: float, v: float, radius: float, plane: IntArray) -> None:
    """Occupy the cell that holds (u, v), and every cell whose centre is within ``radius`` of it, in cells."""
    high, wide = plane.shape
    if u + radius < 0.0 or u - radius >= high or v + radius < 0.0 or v - radius >= wide:
        return
    for i in range(_whole(u - radius, high), _whole(u + radius, high) + 1):
        for j in range(_whole(v - radius, wide), _whole(v + radius, wide) + 1):
            du, dv = i + 0.5 - u, j + 0.5 - v
            is_centre = i <= u < i + 1.0 and j <= v < j + 1.0
            if is_centre or du * du + dv * dv <= radius * radius:
                plane[i, j] = OCCUPIED
