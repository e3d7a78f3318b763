"""From a scenario and a seed to a world: every random number drawn, every array filled, every contradiction found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from sidestep.crowd.models import MODEL_NAMES, model_code, pack_parameters
from sidestep.crowd.placement import Placed, Placer
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_ROWS, ROBOT_X, ROBOT_Y
from sidestep.kernels.world import BODY_ROWS, RULE_DT, RULE_GOAL_RADIUS, RULE_ROWS, RULE_TIME_LIMIT
from sidestep.robots import DYNAMICS_CODES, load_robot, pack_limits
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask, shortest_path
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.replay import load_replay
from sidestep.simulation.seeds import generator_for
from sidestep.types import CompiledScene, RobotPlacement, RobotSpec, Scenario, SceneSpec
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scenario import CrowdPart, ReplayPlacement

_AT_END = {"stay": layout.END_STAY, "leave": layout.END_LEAVE, "loop": layout.END_LOOP}


@dataclass(frozen=True, eq=False)
class World:
    """The initial state of one world. N people, R robots, M = N + R agents, W waypoints at most."""

    scenario: Scenario
    seed: int
    scene: CompiledScene
    robots: tuple[RobotSpec, ...]
    person_id: IntArray  # (N,) int64
    agents: FloatArray  # (AGENT_ROWS, M) float32
    flags: IntArray  # (FLAG_ROWS, M) int32
    routes: FloatArray  # (N, W, 2) float32
    route_length: IntArray  # (N,) int32
    robot_state: FloatArray  # (R, ROBOT_ROWS) float64
    body: FloatArray  # (R, BODY_ROWS, 2) float64
    limits: FloatArray  # (R, LIMITS) float64
    dynamics: IntArray  # (R,) int32
    goals: FloatArray  # (R, 2) float64
    rules: FloatArray  # (RULE_ROWS,) float64
    replay: FloatArray | None  # (T, N, 4) float32: x, y, vx, vy; NaN when absent or not replayed
    parameters: tuple[FloatArray, FloatArray, FloatArray]  # ORCA, Helbing, Moussaïd

    @property
    def people(self) -> int:
        """Number of people, present or yet to come."""
        return len(self.person_id)

    @property
    def person_model(self) -> tuple[str, ...]:
        """Name of the crowd model of each person."""
        return tuple(MODEL_NAMES[int(code)] for code in self.flags[layout.MODEL, : self.people])


@lru_cache(maxsize=64)
def _compiled(spec_json: str, where: str) -> CompiledScene:
    return compile_scene(SceneSpec.model_validate_json(spec_json), where)


def build_world(scenario: Scenario, seed: int, base: Path | None = None) -> World:
    """The world of ``scenario`` under ``seed``. ``base`` is the folder that relative file names start from."""
    where = f"scenario {scenario.name!r}"
    spec = resolve_scene(scenario.scene, base)
    scene = _compiled(spec.model_dump_json(), where)
    robots = tuple(load_robot(robot.spec, robot.dynamics) for robot in scenario.robots)
    for index, (placement, robot) in enumerate(zip(scenario.robots, robots, strict=True)):
        _check_robot(placement, robot, scene, f"{where}: robot {index}")
    placed, parts, replays = _place_people(scenario, seed, scene, robots, where, base)
    columns = len(placed) + len(robots)
    agents = np.zeros((layout.AGENT_ROWS, columns), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, columns), np.int32)
    longest = max([1, *(len(person.waypoints) for person in placed)])
    routes = np.zeros((len(placed), longest, 2), np.float32)
    route_length = np.zeros(len(placed), np.int32)
    for i, (person, part) in enumerate(zip(placed, parts, strict=True)):
        _fill_person(agents, flags, i, person, part, model_code(part, where))
        route_length[i] = len(person.waypoints)
        if person.waypoints:
            routes[i, : len(person.waypoints)] = person.waypoints
    replay, person_id = _fill_replay(agents, flags, replays, len(placed))
    for r, (placement, robot) in enumerate(zip(scenario.robots, robots, strict=True)):
        _fill_robot_column(agents, flags, len(placed) + r, placement, robot)
    state = np.zeros((len(robots), ROBOT_ROWS))
    state[:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]] = [placement.start for placement in scenario.robots]
    rules = np.zeros(RULE_ROWS)
    rules[RULE_DT] = scenario.rules.step_s
    rules[RULE_GOAL_RADIUS] = scenario.rules.goal_radius_m
    rules[RULE_TIME_LIMIT] = scenario.rules.time_limit_s
    return World(
        scenario=scenario.model_copy(update={"scene": spec}),
        seed=seed,
        scene=scene,
        robots=robots,
        person_id=person_id,
        agents=agents,
        flags=flags,
        routes=routes,
        route_length=route_length,
        robot_state=state,
        body=np.stack([_pack_body(robot) for robot in robots]),
        limits=np.stack([pack_limits(robot) for robot in robots]),
        dynamics=np.array([DYNAMICS_CODES[robot.dynamics] for robot in robots], np.int32),
        goals=np.array([placement.goal for placement in scenario.robots], np.float64),
        rules=rules,
        replay=replay,
        parameters=pack_parameters(scenario.crowd, scenario.rules.step_s, where),
    )


def _check_robot(placement: RobotPlacement, robot: RobotSpec, scene: CompiledScene, where: str) -> None:
    inner = robot.footprint.radius or min(np.hypot(x, y) for x, y in robot.footprint.polygon or ())
    for what, point in (("start", placement.start[:2]), ("goal", placement.goal)):
        if not free_mask(scene, np.array([point]), inner if what == "start" else 0.0)[0]:
            raise BadInput(
                f"{where}: the {what} ({point[0]:g}, {point[1]:g}) is inside a wall of scene {scene.spec.name!r} "
                f"(robot {robot.name!r} needs {inner:.2f} m); move it into free space"
            )


def _place_people(
    scenario: Scenario, seed: int, scene: CompiledScene, robots: tuple[RobotSpec, ...], where: str, base: Path | None
) -> tuple[list[Placed], list[CrowdPart], list[tuple[int, FloatArray, IntArray]]]:
    """People in column order with their part; and per replayed part its first column, tracks (T, n, 4) and ids."""

    def free(points: FloatArray, radius: float) -> IntArray:
        return free_mask(scene, points, radius)

    def find_path(start: FloatArray, goal: FloatArray, radius: float) -> FloatArray:
        if not len(scene.wall_points):
            return goal[None]
        return shortest_path(scene, start, goal, radius)[1:]

    taken = [(*place.start[:2], robot.footprint.enclosing_radius) for place, robot in zip(scenario.robots, robots, strict=True)]
    placer = Placer(free, find_path, scenario.rules.time_limit_s, where, taken)  # type: ignore[arg-type]
    placed: list[Placed] = []
    parts: list[CrowdPart] = []
    replays = []
    for index, part in enumerate(scenario.crowd):
        model_code(part, where)
        if isinstance(part.placement, ReplayPlacement):
            tracks, ids, groups = load_replay(part.placement, scenario.rules, where, base)
            replays.append((len(placed), tracks, ids))
            people = [Placed((0.0, 0.0), (), 0.0, part.radius, group=int(group)) for group in groups]
        else:
            people = placer.place(part, generator_for(scenario.suite, scenario.name, seed, "placement", index))
        placed += people
        parts += [part] * len(people)
    return placed, parts, replays


def _fill_person(agents: FloatArray, flags: IntArray, i: int, person: Placed, part: CrowdPart, code: int) -> None:
    first = person.waypoints[0] if person.waypoints else person.start
    agents[[layout.PX, layout.PY], i] = person.start
    agents[[layout.GOAL_X, layout.GOAL_Y], i] = first
    agents[layout.RADIUS, i] = person.radius
    agents[layout.PREF_SPEED, i] = person.speed
    agents[layout.MAX_SPEED, i] = 1.3 * person.speed
    agents[layout.SHARE, i] = part.share
    agents[layout.ENTER_TIME, i] = person.enter_s
    toward = np.arctan2(first[1] - person.start[1], first[0] - person.start[0])
    agents[layout.HEADING, i] = person.heading if person.heading is not None else toward
    flags[layout.MODEL, i] = code
    flags[layout.ACTIVE, i] = 1 if person.enter_s <= 0 and code != layout.MODEL_REPLAY else 0
    flags[layout.GROUP, i] = person.group
    flags[layout.SEES_ROBOT, i] = int(part.sees_robot)
    flags[layout.AT_END, i] = _AT_END[part.at_end]
    if code != layout.MODEL_REPLAY and person.waypoints and person.enter_s <= 0:
        speed = person.speed / max(float(np.hypot(first[0] - person.start[0], first[1] - person.start[1])), 1e-6)
        agents[layout.VX, i] = (first[0] - person.start[0]) * speed
        agents[layout.VY, i] = (first[1] - person.start[1]) * speed


def _fill_replay(
    agents: FloatArray, flags: IntArray, replays: list[tuple[int, FloatArray, IntArray]], people: int
) -> tuple[FloatArray | None, IntArray]:
    """The replay array over all people, the state of replayed people at time 0, and everybody's number."""
    person_id = np.arange(people, dtype=np.int64)
    if not replays:
        return None, person_id
    steps = max(len(tracks) for _, tracks, _ in replays)
    replay = np.full((steps, people, 4), np.nan, np.float32)
    for first, tracks, ids in replays:
        columns = slice(first, first + len(ids))
        replay[: len(tracks), columns] = tracks
        if len(replays) == 1:
            person_id[columns] = ids
            others = np.ones(people, bool)
            others[columns] = False
            person_id[others] = np.arange(others.sum()) + (int(ids.max()) + 1 if len(ids) else 0)
        here = np.isfinite(tracks[0, :, 0])
        at = np.flatnonzero(here) + first
        agents[[[layout.PX], [layout.PY], [layout.VX], [layout.VY]], at] = tracks[0, here].T
        agents[layout.HEADING, at] = np.arctan2(tracks[0, here, 3], tracks[0, here, 2])
        flags[layout.ACTIVE, at] = 1
    return replay, person_id


def _fill_robot_column(agents: FloatArray, flags: IntArray, j: int, placement: RobotPlacement, robot: RobotSpec) -> None:
    agents[[layout.PX, layout.PY], j] = placement.start[:2]
    agents[layout.HEADING, j] = placement.start[2]
    agents[layout.RADIUS, j] = robot.footprint.enclosing_radius
    agents[[layout.PREF_SPEED, layout.MAX_SPEED], j] = robot.limits.max_speed
    agents[layout.SHARE, j] = placement.share
    flags[layout.MODEL, j] = layout.MODEL_NONE
    flags[layout.ACTIVE, j] = 1
    flags[layout.GROUP, j] = -1


def _pack_body(robot: RobotSpec) -> FloatArray:
    body = np.zeros((BODY_ROWS, 2))
    body[0, 1] = robot.footprint.enclosing_radius
    if robot.footprint.polygon is not None:
        body[0, 0] = len(robot.footprint.polygon)
        body[1 : 1 + len(robot.footprint.polygon)] = robot.footprint.polygon
    return body
