"""The two policies of the sidewalk suites: ``follow_lane`` keeps to the sidewalk round what stands on it and sees
nobody; ``expert`` (privileged) also knows everybody's state, groups and gestures, and shows what can be done. Their
planner simulates many ways to go on and takes the cheapest, ten times a second. The distances to the edge of the
sidewalk and to the next solid come from tiles that are drawn where the robot is.
"""

from __future__ import annotations

from itertools import combinations
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np
import shapely
from scipy.ndimage import distance_transform_edt

from sidestep import registry
from sidestep._util import exact
from sidestep._util.exact import cos, hypot, sin
from sidestep.errors import BadInput
from sidestep.interfaces import Policy, Predictor
from sidestep.kernels.layout import GROUP_GAP_M
from sidestep.policies.crowd_forecast import CrowdPaths, CrowdPredictor
from sidestep.policies.robot_agent import empty_observation
from sidestep.policies.sidewalk.lane_kernels import (
    LOOK_TIMES,
    STEP_S,
    STEPS,
    Candidates,
    Lane,
    LaneRobot,
    Tile,
    fill_polygon,
    nearest_on_route,
    plan_lane,
)
from sidestep.types import Command, Observation, Pedestrians, RobotState, Task, Velocity
from sidestep.types.base import BoolArray, FloatArray, IntArray, Model, NonNegative, Positive
from sidestep.types.events import GESTURES
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import OPEN, SOLID, Region, SceneSpec

LANES = frozenset({"sidewalk", "crosswalk", "ramp", "walkable"})
"""Ground that a sidewalk robot drives on."""
CELL_M = 0.1
TILE_M = 30.0
REACH_M = 9.0
"""A tile is used while the robot is at least this far from its border."""
FAR_M = 5.0


class GroundTiles:
    """Draws tiles of one scene where the robot goes."""

    def __init__(self, scene: SceneSpec) -> None:
        self._scene = scene
        lanes = [region for region in scene.regions if region.kind in LANES]
        self._everywhere = not lanes
        solids = [region for region in scene.regions if region.kind in SOLID]
        ground = [region for region in scene.regions if region.kind in OPEN] if scene.enclosed else []
        self._lanes, self._solids, self._inside = (_RegionMasks(part) for part in (lanes, solids, ground))
        self._tile: Tile | None = None

    def at(self, x: float, y: float) -> Tile:
        """The tile to use at (x, y), which is not near its border."""
        tile = self._tile
        if tile is None or not all(REACH_M <= d <= TILE_M - REACH_M for d in (x - tile.x0, y - tile.y0)):
            tile = self._tile = self._draw(x, y)
        return tile

    def _draw(self, x: float, y: float) -> Tile:
        origin = np.array([x - TILE_M / 2, y - TILE_M / 2])
        solid = self._solids.mask(origin)
        if self._scene.enclosed:
            solid |= ~self._inside.mask(origin)
        lane = ~solid if self._everywhere else self._lanes.mask(origin) & ~solid
        ground = _inside_distance(lane) - _inside_distance(~lane)
        return Tile(ground, _inside_distance(~solid), float(origin[0]), float(origin[1]), CELL_M)


def _inside_distance(mask: BoolArray) -> FloatArray:
    """(n, n) distance of the cells of ``mask`` to its edge, m; 0 outside, and ``FAR_M`` where there is no edge."""
    if mask.all():
        return np.full(mask.shape, FAR_M)
    distance: FloatArray = np.maximum(distance_transform_edt(mask) - 0.5, 0.0) * CELL_M
    return distance


class _RegionMasks:
    """Regions that can be drawn into a tile."""

    def __init__(self, regions: list[Region]) -> None:
        self._regions = regions
        self._tree = shapely.STRtree([shapely.Polygon(region.polygon) for region in regions])

    def mask(self, origin: FloatArray) -> BoolArray:
        """(n, n) which cells of the tile at ``origin`` are in a region; a hole of one does not cut another."""
        size = round(TILE_M / CELL_M) + 1
        whole = np.zeros((size, size), bool)
        near = self._tree.query(shapely.box(*origin, *(origin + TILE_M)))
        for index in sorted(near.tolist()):
            region = self._regions[index]
            own = whole if not region.holes else np.zeros((size, size), bool)
            _fill(own, region.polygon, origin)
            if region.holes:
                holes = np.zeros((size, size), bool)
                for hole in region.holes:
                    _fill(holes, hole, origin)
                whole |= own & ~holes
        return whole


def _fill(mask: BoolArray, ring: tuple[tuple[float, float], ...], origin: FloatArray) -> None:
    cells = np.trunc((np.array(ring) - origin) / CELL_M).astype(np.int64)
    fill_polygon(mask, cells, np.empty(2 * len(cells)))


SPACING_M = 0.25
"""Distance between the points of the route that is planned on."""
NO_PATH, NO_BARS = np.zeros((0, 2)), np.zeros((0, 5))
NOBODY = CrowdPaths(np.zeros((0, 6)), np.zeros((0, len(LOOK_TIMES), 2)))
PATH_STEP_S = 0.3
"""Time between the points of the published path, s."""
OFFSETS_M = np.linspace(-1.8, 1.8, 19)
TRANSITIONS_M = (1.5, 4.0)
SPEEDS = (0.0, 0.2, 0.45, 0.75, 1.0)
"""Speeds as parts of the cruising speed."""
SEEN_M = 12.0
MOST_PEOPLE = 12
GOAL_SHARE = 0.7
"""Share of the goal's radius: the largest lateral distance from the goal at which it plans to arrive."""
STANDING_MPS = 0.3
BAR_RADIUS_M = 0.3
WALKER_SPARE_M, STANDING_SPARE_M = 0.22, 0.12
"""Distance kept between bodies, m: a person who walks may turn."""
FASTEST_TURN, HARDEST = 2.0, 3.0


class LanePlanner:
    """The planner of one episode. Without a predictor it knows nobody."""

    def __init__(self, task: Task, cruise_mps: float, predictor: Predictor | None = None) -> None:
        if task.map is None or task.route is None:
            raise BadInput("a lane planner needs the map and the route")
        if task.robot.dynamics != "unicycle":
            raise BadInput(
                f"robot {task.robot.name!r} moves as {task.robot.dynamics!r}; sidewalk policies drive unicycles: "
                "choose delivery_robot, robot_dog or humanoid, or set dynamics: unicycle"
            )
        self._tiles = GroundTiles(task.map.spec)
        route = resample(np.vstack([[task.start[:2]], task.route]))
        self._lane = Lane(route, SPACING_M, GOAL_SHARE * task.goal_radius_m, lane_robot(task.robot))
        self._people = None if predictor is None else CrowdPredictor(predictor, LOOK_TIMES, task)
        self._cruise = min(cruise_mps, task.robot.limits.max_speed)
        choices = [(d, over, part * self._cruise) for d in OFFSETS_M for over in TRANSITIONS_M for part in SPEEDS]
        self._candidates = Candidates(
            targets=np.array([(offset, speed) for offset, _, speed in choices]),
            blends=np.array([transition(over) for _, over, _ in choices]),
            out=np.zeros((len(choices), 3)),
        )
        self._index, self._before = 0, 0.0
        self._state: FloatArray | None = None
        self._best, self._cap = 0, 0.0

    def drive(self, time: float, robot: RobotState, people: Pedestrians | None, speed_cap: float = np.inf) -> Velocity:
        """The cheapest way to go on from here, among ``people``."""
        sine, cosine = exact.sincos(robot.heading)
        speed = robot.vx * cosine + robot.vy * sine
        self._state = np.array([robot.x, robot.y, robot.heading, speed, robot.omega])
        self._index = self._locate(robot.x, robot.y)
        self._cap = min(speed_cap, self._cruise)
        self._plan(self._candidates, *self._crowd(time, robot, people), NO_PATH)
        out = self._candidates.out
        self._best = int(out[:, 0].argmin())
        self._before = float(self._candidates.targets[self._best, 0])
        return Velocity(float(out[self._best, 1]), float(out[self._best, 2]))

    def path(self) -> FloatArray | None:
        """(H, 2) the chosen path, every ``PATH_STEP_S``; None before there is one."""
        if self._state is None:
            return None
        steps, only = np.full((STEPS, 2), np.nan), slice(self._best, self._best + 1)
        chosen = Candidates(self._candidates.targets[only], self._candidates.blends[only], np.zeros((1, 3)))
        self._plan(chosen, NOBODY, NO_BARS, steps)
        every = round(PATH_STEP_S / STEP_S)
        return steps[every - 1 :: every]

    def _plan(self, candidates: Candidates, people: CrowdPaths, bars: FloatArray, path: FloatArray) -> None:
        assert self._state is not None
        tile = self._tiles.at(*self._state[:2].tolist())
        here = self._index, self._before, self._cap
        plan_lane(self._state, *here, self._lane, candidates, tile, people, bars, path)

    def _locate(self, x: float, y: float) -> int:
        """Where on the route the robot is: near where it was, or anywhere if it was carried off."""
        route = self._lane.route
        near = nearest_on_route(route, x, y, self._index - 8, self._index + 16)
        if exact.hypot(*(route[near, :2] - (x, y))) > 3.0:
            near = nearest_on_route(route, x, y, 0, len(route) - 1)
        return int(near)

    def _crowd(self, time: float, robot: RobotState, people: Pedestrians | None) -> tuple[CrowdPaths, FloatArray]:
        """Paths of the nearest people, and (G, 5) bars between those who stand together."""
        if people is None or self._people is None or not len(people):
            return NOBODY, NO_BARS
        away = exact.hypot(people.position[:, 0] - robot.x, people.position[:, 1] - robot.y)
        near = np.argsort(away, kind="stable")[:MOST_PEOPLE]
        near = near[away[near] < SEEN_M]
        walks = exact.hypot(people.velocity[near, 0], people.velocity[near, 1]) > STANDING_MPS
        spare = np.where(walks, WALKER_SPARE_M, STANDING_SPARE_M)
        rows = np.column_stack([people.position[near], people.velocity[near], people.radius[near], spare])
        rows, ids = np.ascontiguousarray(rows, np.float64), people.id[near]
        self._people.remember(time, ids, rows)
        return self._people.paths(time, ids, rows, robot, None)[0], group_bars(people, near)


def group_bars(people: Pedestrians, near: IntArray) -> FloatArray:
    """(G, 5) x0, y0, x1, y1, radius between every two of a group who stand near each other: nobody passes there."""
    standing = exact.hypot(people.velocity[near, 0], people.velocity[near, 1]) < STANDING_MPS
    grouped = near[standing & (people.group[near] >= 0)]
    bars = [
        (*people.position[a], *people.position[b], BAR_RADIUS_M)
        for a, b in combinations(grouped.tolist(), 2)
        if people.group[a] == people.group[b] and exact.hypot(*(people.position[a] - people.position[b])) <= GROUP_GAP_M
    ]
    return np.array(bars, np.float64).reshape(-1, 5)


def resample(points: FloatArray) -> FloatArray:
    """(K, 4) x, y and unit tangent every ``SPACING_M`` along the line through ``points``; corners are cut a little."""
    keep = np.concatenate([[True], exact.hypot(*np.diff(points, axis=0).T) > 1e-6])
    points = points[keep]
    if len(points) < 2:
        points = np.vstack([points, points[-1] + (SPACING_M, 0.0)])
    lengths = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(points, axis=0).T))])
    at = np.linspace(0.0, lengths[-1], max(2, round(lengths[-1] / SPACING_M) + 1))
    line: FloatArray = exact.interp(at, lengths, points)
    for _ in range(4):
        line[1:-1] = 0.25 * line[:-2] + 0.5 * line[1:-1] + 0.25 * line[2:]
    tangent = np.gradient(line, axis=0)
    tangent /= np.maximum(exact.hypot(tangent[:, 0], tangent[:, 1]), 1e-9)[:, None]
    return np.ascontiguousarray(np.column_stack([line, tangent]))


def transition(over_m: float) -> FloatArray:
    """(G,) how much of the present offset is left after so many points of the route, if it is left over ``over_m``."""
    gone = SPACING_M * np.arange(round(max(TRANSITIONS_M) / SPACING_M))
    left: FloatArray = np.where(gone < over_m, 0.5 + 0.5 * exact.cos(np.pi * gone / over_m), 0.0)
    return left


def lane_robot(spec: RobotSpec) -> LaneRobot:
    """Limits of a robot, and three discs that cover its body."""
    limits, polygon = spec.limits, spec.footprint.polygon
    if polygon is None:
        radius, front, back = spec.footprint.enclosing_radius, 0.0, 0.0
    else:
        corners = np.array(polygon)
        side, low, high = np.abs(corners[:, 1]).max(), corners[:, 0].min(), corners[:, 0].max()
        piece = (high - low) / 6
        radius, front, back = float(exact.hypot(side, piece)), float(high - piece), float(low + piece)
    return LaneRobot(
        max_turn=limits.max_turn_rate or FASTEST_TURN,
        speed_up=limits.max_acceleration or HARDEST,
        slow_down=limits.max_deceleration or limits.max_acceleration or HARDEST,
        turn_up=limits.max_turn_acceleration or HARDEST,
        disc_radius=radius,
        discs=(back, 0.5 * (back + front), front),
    )


class LaneSettings(Model):
    """Settings of the lane follower."""

    cruise_mps: Positive = 1.5
    think_s: NonNegative = 0.1
    """Time between two plans; in between, the command stays."""


class ExpertSettings(LaneSettings):
    """Settings of the expert."""

    predictor: str = "constant_velocity"
    """Predictor of people's positions: a name of ``sidestep list predictors``, ``module:Class`` or
    ``file.py:Class``."""


class FollowLane(Policy):
    """Drives the route along the sidewalk, round what stands on it, as if there were no people."""

    name = "follow_lane"
    summary = "keeps to the sidewalk along its route, round static things; does not see people"
    citation = "Sidestep"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal"})
    plan_step_s = PATH_STEP_S
    settings_model: ClassVar[type[LaneSettings]] = LaneSettings
    _predictor: Predictor | None = None

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`LaneSettings`."""
        self._settings = self.settings_model.parse(settings, f"policy {self.name}")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._begin(task)
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._begin(task)

    def _begin(self, task: Task) -> None:
        self._planner = LanePlanner(task, self._settings.cruise_mps, self._predictor)
        self._command, self._until = Velocity(0.0, 0.0), -1.0

    def act(self, observation: Observation) -> Command:
        """The cheapest way to go on, planned every ``think_s``."""
        if observation.time >= self._until - 1e-9:
            self._command = self._drive(observation)
            self._until = observation.time + self._settings.think_s
        return self._command

    @property
    def plan(self) -> FloatArray | None:
        """(H, 2) the path chosen last, every ``plan_step_s``, m."""
        return self._planner.path()

    def _drive(self, observation: Observation) -> Velocity:
        return self._planner.drive(observation.time, observation.robot, None)


STOP_BEFORE_M = 2.2
"""Distance between centres at which it stands before a person who raises a hand."""
CALM_MPS2 = 0.8
HEEDED_M = 12.0
"""A raised hand counts within this distance."""


class Expert(FollowLane):
    """Drives along the route around obstacles and the predicted positions of people; stops for a stop gesture."""

    name = "expert"
    summary = "privileged: map, everybody's state, groups and gestures; avoids all of them and stops for gestures"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal", "pedestrians"})
    privileged: ClassVar[bool] = True
    settings_model: ClassVar[type[LaneSettings]] = ExpertSettings

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`ExpertSettings`."""
        super().__init__(**settings)
        self._predictor = registry.make_predictor(self.settings["predictor"])

    def _drive(self, observation: Observation) -> Velocity:
        people = observation.pedestrians
        cap = inf if people is None else allowed_speed(observation.robot, people)
        return self._planner.drive(observation.time, observation.robot, people, cap)


def allowed_speed(robot: RobotState, people: Pedestrians) -> float:
    """Top speed (m/s) with which the robot can still stop before everybody who raises a hand to it."""
    if people.gesture is None:
        return inf
    slowest = inf
    for k in np.flatnonzero(people.gesture == GESTURES["stop"]).tolist():
        dx, dy = float(people.position[k, 0]) - robot.x, float(people.position[k, 1]) - robot.y
        away, facing = hypot(dx, dy), float(people.heading[k])
        ahead = dx * cos(robot.heading) + dy * sin(robot.heading) > 0.0
        to_me = -dx * cos(facing) - dy * sin(facing) > 0.0
        if away < HEEDED_M and ahead and to_me:
            room = away - STOP_BEFORE_M
            slowest = min(slowest, sqrt(2.0 * CALM_MPS2 * room) if room > 0.0 else 0.0)
    return slowest
