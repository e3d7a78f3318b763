"""The state of many worlds as arrays: the named tuples that kernels take, and the names of the arrays' rows.

``Worlds``, the learning environments and the training of policies all step one :class:`WorldBatch`. Arrays have a
leading axis for the world; one row of ``agents`` or ``flags`` is contiguous in memory. Columns ``0 … N-1`` of these are
people, columns ``N … N+R-1`` mirror the R robots, so that people can see them; vehicles are the last of the robots.
Further columns, up to M-1, are discs that cover the long ones among them: people walk round these, and a vehicle's own
column is only as large as the circle about its reference point that fits into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]

# A NumPy scalar is neither float nor int to mypy; in kernels these types convert, and give numbers like any others.
float32: Callable[..., float] = cast(Any, np.float32)
float64: Callable[..., float] = cast(Any, np.float64)
int32: Callable[..., int] = cast(Any, np.int32)
int64: Callable[..., int] = cast(Any, np.int64)
uint32: Callable[..., int] = cast(Any, np.uint32)
uint64: Callable[..., int] = cast(Any, np.uint64)

# agents, float32: metres, metres per second, radians
PX, PY, VX, VY = 0, 1, 2, 3  # position and velocity of the body's centre, world frame
RADIUS = 4
PREF_SPEED, MAX_SPEED = 5, 6
SHARE = 7  # weight of this agent's part of a mutual avoidance: i takes SHARE_i / (SHARE_i + SHARE_j)
GOAL_X, GOAL_Y = 8, 9  # the waypoint that is walked to now
WISH_X, WISH_Y = 10, 11  # preferred velocity of this step
NEW_VX, NEW_VY = 12, 13  # what the crowd models write: velocity of the next step
HEADING = 14  # where the body faces
ENTER_TIME = 15  # when the person comes into the world; infinite once gone
LAG = 16  # steps of the recording's clock that a replayed person is behind; fractions while slowing down
PACE = 17  # how fast the own clock of a replayed person runs, 0 … 1
DELAY = 18  # s that the robot has cost a replayed person so far: the record's ``person_delay``
DETOUR = 19  # m that a replayed person has walked more than recorded: the record's ``person_detour``
HEAD_YAW = 20  # where the head turns from the heading; NaN: where the person is about to go
MAX_ACCELERATION = 21  # m/s² that the person can speed up, brake or swerve with; 0: unlimited
AGENT_ROWS = 22

# flags, int32
MODEL = 0  # which crowd model moves the agent, below
ACTIVE = 1  # 1 while in the world, else 0
GROUP = 2  # people of one walking group share a number; -1 alone
SEES_ROBOT = 3  # 0: the person does not react to robots
WAYPOINT = 4  # index of the waypoint that GOAL holds
AT_END = 5  # what the person does after the last waypoint, below
REACTIVITY = 6  # what a replayed person does when the robot interferes, below
DISTURBED = 7  # bits of this step, below
GESTURE = 8  # number of ``types.events.GESTURES``
FLAG_ROWS = 9

MODEL_NONE, MODEL_ORCA, MODEL_HELBING, MODEL_MOUSSAID, MODEL_REPLAY = 0, 1, 2, 3, 4
MODEL_SCRIPT = 5  # a director writes NEW_VX, NEW_VY before each step; walls are hard, others give way
MODEL_VEHICLE = 6  # of the columns of vehicles and of the discs that cover them
END_STAY, END_LEAVE, END_LOOP = 0, 1, 2
REACT_NONE, REACT_PAUSE, REACT_REROUTE = 0, 1, 2
IN_THE_WAY, OFF_RECORDING = 1, 2  # something is on the person's course; the person walks beside the recording

WALL_REACH = 4.0  # m: each cell of a scene's grid lists the walls within this distance of any of its points

GROUP_GAP_M = 3.6  # people of a group who are farther apart have nothing between them: Hall's social distance (1966)

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

NO_CONTACT = float32(2.0)
FAR = 1.0e3

# rules float64; the rows after these are the referee's (``kernels.referee``)
RULE_DT, RULE_GOAL_RADIUS, RULE_TIME_LIMIT = 0, 1, 2

# body (BODY_ROWS, 2) float64: first row (corners, radius), where a disc has 0 corners; then up to 8 corners; then, of a
# vehicle with corners, (number of discs that cover it, index of the first) and (x of the first, m between two); then
# (y of the left wheels, x of the front wheels) and (x of the body's middle, 0)
COVER, COVER_X, WHEELS, MIDDLE, BODY_ROWS = 9, 10, 11, 12, 13


class Walls(NamedTuple):
    """The W edges of a scene's solid polygons, which are closed and counter-clockwise: people are on the right of an
    edge. A square grid lists the edges near each cell (``WALL_REACH``); cell = row * nx + column."""

    points: FloatArray  # (W, 2) float32: first vertex of the edge, m
    dirs: FloatArray  # (W, 2) float32: unit vector to the next vertex
    next: IntArray  # (W,) int32: the edge that follows
    prev: IntArray  # (W,) int32: the edge before
    convex: IntArray  # (W,) uint8: 1 where the first vertex is convex
    cell_start: IntArray  # (cells + 1,) int32: where in cell_items the list of a cell begins
    cell_items: IntArray  # int32: numbers of edges
    grid: FloatArray  # (4,) float32: x0, y0, cell size, 0
    grid_shape: IntArray  # (2,) int32: nx, ny


class Grounds(NamedTuple):
    """Areas that must not be left, G of them end to end; see ``kernels.referee.on_ground``."""

    edges: FloatArray  # (E, 4) whole millimetres, each once for every horizontal band that it reaches
    bands: IntArray  # int64: where in the edges a band begins
    frames: FloatArray  # (G, 4): lowest y and height of a band (mm), first band, number of bands


class RoadLines(NamedTuple):
    """Markings and lanes of roads, R of them end to end; see ``kernels.road_rules``."""

    segments: FloatArray  # (M, 4) float64: x, y, x, y of the pieces of markings, m
    kinds: IntArray  # (M,) int64: their kinds, in the order of ``types.road.MarkingKind``
    lanes: FloatArray  # (P, 5) float64: x, y, x, y of the pieces of centre lines, and how far from them the lane counts
    offsets: IntArray  # (R + 1, 2) int64: where the segments and the lanes of a road begin


class SceneBank(NamedTuple):
    """The distinct scenes, recordings, grounds and roads of all worlds of a batch; worlds with equal ones share
    them."""

    walls: Walls  # of S scenes end to end, with grid (S, 4) and grid_shape (S, 2)
    offsets: IntArray  # (S + 1, 3) int64: where the points, cell_start and cell_items of a scene begin
    replays: FloatArray  # (K, T, N, 4) float32: x, y, vx, vy of recorded people, NaN when absent; number 0 is empty
    grounds: Grounds  # number 0 is empty
    roads: RoadLines  # number 0 is empty


class CrowdParameters(NamedTuple):
    """What each crowd model's ``as_array`` gives, float32 (B, …)."""

    orca: FloatArray
    helbing: FloatArray
    moussaid: FloatArray


class WorldArrays(NamedTuple):
    """The state of B worlds; or of one world, without the leading axis (``kernels.world.world_of``)."""

    agents: FloatArray  # (B, AGENT_ROWS, M) float32
    flags: IntArray  # (B, FLAG_ROWS, M) int32
    routes: FloatArray  # (B, N, W, 2) float32: waypoints of each person, m
    route_length: IntArray  # (B, N) int32: how many of them are used
    robots: FloatArray  # (B, R, ROBOT_ROWS) float64, see ``kernels.dynamics``
    body: FloatArray  # (B, R, BODY_ROWS, 2) float64
    limits: FloatArray  # (B, R, LIMIT_ROWS) float64, see ``kernels.dynamics``
    dynamics: IntArray  # (B, R) int32
    goals: FloatArray  # (B, R, 2) float64, m
    rules: FloatArray  # (B, RULE_ROWS) float64, see ``kernels.referee``
    scene_index: IntArray  # (B, 4) int32: numbers of the scene, recording, ground and road in the bank
    waypoints: FloatArray  # (B, R, …, 4) float64: where the referee may put a robot, see ``kernels.referee``
    parameters: CrowdParameters
    command: FloatArray  # (B, R, 2) float64, in the robot's native units
    applied: FloatArray  # (B, R, 2) float64: the command as executed
    contact: FloatArray  # (B, R, N + R) float32: when in the step each of them was touched, 0 … 1, else NO_CONTACT
    status: IntArray  # (B, R, STATUS_ROWS) int32
    measures: FloatArray  # (B, R, MEASURE_ROWS) float64
    marks: IntArray  # (B, R, …) int32: the referee's, see ``kernels.referee``
    notes: FloatArray  # (B, R, …) float64: the referee's


class WorldBatch(NamedTuple):
    """All that a step of B worlds reads and writes, but for the scratch of its thread."""

    clock: IntArray  # (B,) int64: steps made
    running: IntArray  # (B,) uint8: 0 where the episode is over
    worlds: WorldArrays
    bank: SceneBank


class Scratch(NamedTuple):
    """Working memory of one thread."""

    before: FloatArray  # (BEFORE_ROWS, M) float32, see ``kernels.bodies``
    orca: FloatArray  # float32, of ``make_orca_scratch``
    force: FloatArray | None  # float32, of ``make_social_force_scratch``; None where no social forces are used


def no_walls() -> Walls:
    """The walls of an open world."""
    corners, numbers = np.zeros((0, 2), np.float32), np.zeros(0, np.int32)
    cells = (np.zeros(2, np.int32), numbers, np.array([0, 0, 1, 0], np.float32), np.ones(2, np.int32))
    return Walls(corners, corners, numbers, numbers, np.zeros(0, np.uint8), *cells)


def copy_walls(scene: Any) -> Walls:
    """The walls of a ``types.CompiledScene``; copies, because numba compiles again for read-only arrays."""
    return Walls(
        scene.wall_points.copy(), scene.wall_dirs.copy(), scene.wall_next.copy(), scene.wall_prev.copy(),
        scene.wall_convex.copy(), scene.cell_start.copy(), scene.cell_items.copy(), scene.grid.copy(),
        scene.grid_shape.copy(),
    )  # fmt: skip
