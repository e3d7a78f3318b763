"""A finished drive before the referee: contacts and the goal, found by the same kernels as in simulated episodes.

The states of the log are put into a world one after the other; between two of them everybody moves evenly, so a contact
is found inside a step too. The robot is never stopped or moved: where the log leads through a wall, the wall was
touched. A simulated robot stands ``SKIN`` before a wall that it pushes against, so a body this near touches it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.bodies import BEFORE_ROWS, WAS_HERE, WAS_X, WAS_Y
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.layout import CrowdParameters, Walls, WorldArrays
from sidestep.kernels.sweep import NO_CONTACT, SKIN, move_with_walls, sweep_polygon_walls
from sidestep.kernels.world import mirror_robot, sweep_contacts
from sidestep.metrics.footprint_distance import distance_to_segments
from sidestep.scenes.compile import list_wall_cells
from sidestep.simulation.build import World, build_world
from sidestep.simulation.referee import Referee
from sidestep.simulation.worlds import Worlds
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.outcome import Outcome
from sidestep.types.record import Event
from sidestep.types.robot import RobotSpec
from sidestep.types.scenario import Scenario
from sidestep.types.scene import SceneSpec

ROBOT_ROWS = [ROBOT_X, ROBOT_Y, ROBOT_HEADING, ROBOT_VX, ROBOT_VY, ROBOT_OMEGA]
NEAR_WALL_M = 2.0 * SKIN
"""A body this near to a wall touches it."""


def judge_drive(
    scenario: Scenario,
    spec: RobotSpec,
    robot: FloatArray,
    person_id: IntArray,
    person_radius: FloatArray,
    person_group: IntArray,
    people: FloatArray,
    present: BoolArray,
    walls: FloatArray,
    has_goal: bool,
) -> tuple[tuple[Event, ...], Outcome, int]:
    """Events and outcome of a drive by the scenario's rules, and the number of its last state: the goal ends a drive.

    ``robot`` (T+1, 6): pose and velocity; ``people`` (T+1, N, 5) float32: position, velocity, heading; ``walls`` (W, 4)
    float32; without ``has_goal`` the scenario's goal is none.
    """
    world = _world(scenario, person_id, person_radius, person_group)
    worlds = Worlds([world])
    referee = Referee(world)
    view = _first_of(worlds.batch.worlds)
    before = np.zeros((BEFORE_ROWS, view.agents.shape[1]), np.float32)
    count, own, step_s = len(person_id), len(person_id), scenario.rules.step_s
    at_wall = wall_contacts(spec, robot, walls)
    at_goal = has_goal & _reaches_goal(robot[:, :2], scenario.ego.goal, scenario.rules.goal_radius_m)
    _put(view, count, robot[0], people[0], present[0])
    mirror_robot(view.agents, own, view.robots[0])
    for k in range(1, len(robot)):
        before[WAS_X], before[WAS_Y] = view.agents[layout.PX], view.agents[layout.PY]
        before[WAS_HERE] = view.flags[layout.ACTIVE] == 1
        _put(view, count, robot[k], people[k], present[k])
        sweep_contacts(view, before, step_s)
        mirror_robot(view.agents, own, view.robots[0])
        view.status[0, layout.AT_WALL] = at_wall[k] <= 1.0
        view.measures[0, layout.WALL_FRACTION] = at_wall[k]
        view.status[0, layout.AT_GOAL] = at_goal[k]
        worlds.clock[0] += 1
        worlds.judge()
        if referee.watch(worlds, 0):
            return tuple(referee.events), referee.outcome, k
    return tuple(referee.events), referee.outcome, len(robot) - 1


def _world(scenario: Scenario, person_id: IntArray, radius: FloatArray, group: IntArray) -> World:
    """The scenario's robot on open ground with people who are put where they were."""
    roads = None if isinstance(scenario.scene, str) else scenario.scene.roads
    bare = scenario.model_copy(update={"scene": SceneSpec(roads=roads), "crowd": ()})
    world, count = build_world(bare, 0), len(person_id)
    agents = np.zeros((layout.AGENT_ROWS, count + world.agents.shape[1]), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, agents.shape[1]), np.int32)
    agents[:, count:], flags[:, count:] = world.agents, world.flags
    agents[layout.RADIUS, :count] = radius
    flags[layout.GROUP, :count] = group
    return replace(
        world,
        scenario=scenario,
        person_id=np.asarray(person_id, np.int64),
        agents=agents,
        flags=flags,
        routes=np.zeros((count, 1, 2), np.float32),
        route_length=np.zeros(count, np.int32),
        person_model=("replay",) * count,
    )


def _first_of(arrays: WorldArrays) -> WorldArrays:
    """Views of the only world of a batch."""
    fields = arrays._asdict()
    parameters = CrowdParameters(*(values[0] for values in fields.pop("parameters")))
    return WorldArrays(parameters=parameters, **{name: values[0] for name, values in fields.items()})


def _put(view: WorldArrays, count: int, robot: FloatArray, people: FloatArray, present: BoolArray) -> None:
    view.robots[0, ROBOT_ROWS] = robot
    rows = [layout.PX, layout.PY, layout.VX, layout.VY, layout.HEADING]
    view.agents[rows, :count] = np.nan_to_num(people).T
    view.flags[layout.ACTIVE, :count] = present


def _reaches_goal(path: FloatArray, goal: tuple[float, float], radius: float) -> BoolArray:
    """(T+1,) whether the straight piece that ends in each state comes within the goal's radius."""
    start = path[:-1].astype(np.float32).astype(np.float64)  # as the simulator keeps where a robot was
    step, ahead = path[1:] - start, np.asarray(goal) - start
    square = (step * step).sum(axis=1)
    along = np.clip((ahead * step).sum(axis=1) / np.where(square > 0, square, 1.0), 0.0, 1.0)
    miss = ahead - np.where(square > 0, along, 1.0)[:, None] * step
    return np.concatenate([[False], (miss * miss).sum(axis=1) < radius * radius])


def wall_contacts(spec: RobotSpec, robot: FloatArray, walls: FloatArray) -> FloatArray:
    """(T+1,) when in the step that ends in each state a wall is touched, as a fraction; ``NO_CONTACT`` (2): never."""
    found = np.full(len(robot), NO_CONTACT)
    if not len(walls):
        return found
    packed = pack_walls(walls)
    corners = np.array(spec.footprint.polygon or (), np.float64).reshape(-1, 2)
    near = distance_to_segments(spec.footprint, robot[:, :3], walls.astype(np.float64)) <= NEAR_WALL_M
    for k in range(1, len(robot)):
        (x, y, heading), (dx, dy, turn) = robot[k - 1, :3], robot[k, :3] - robot[k - 1, :3]
        if len(corners):
            found[k] = sweep_polygon_walls(x, y, heading, dx, dy, (turn + np.pi) % (2 * np.pi) - np.pi, corners, packed)
        else:
            found[k] = move_with_walls(x, y, dx, dy, spec.footprint.enclosing_radius + SKIN, packed)[3]
        if near[k] and found[k] > 1.0:
            found[k] = 0.0 if near[k - 1] else 1.0
    return found


def pack_walls(walls: FloatArray) -> Walls:
    """Edges that need not form rings as the arrays that kernels read: each is a ring of two corners."""
    count = len(walls)
    points = np.ascontiguousarray(walls.reshape(-1, 2), np.float32)
    other = np.arange(2 * count, dtype=np.int32) ^ 1
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    cells = list_wall_cells(walls.astype(np.float64), (*low.tolist(), *high.tolist()))
    return Walls(
        points, np.zeros_like(points), other, other.copy(), np.ones(2 * count, np.uint8), cells.cell_start,
        2 * cells.cell_items, cells.grid, cells.grid_shape,
    )  # fmt: skip
