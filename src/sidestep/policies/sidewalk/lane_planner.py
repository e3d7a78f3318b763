"""Drives along a route on a sidewalk: of many ways to go on, the cheapest one, chosen ten times a second. Distance to
the edge of the sidewalk and to the next solid thing comes from tiles that are drawn where the robot is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import shapely
from scipy.ndimage import distance_transform_edt

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.kernels.layout import GROUP_GAP_M
from sidestep.policies.sidewalk import lane_kernels as lane_plan
from sidestep.policies.sidewalk.lane_kernels import fill_polygon
from sidestep.types import Pedestrians, RobotState, Task, Velocity
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import OPEN, SOLID, Region, SceneSpec

LANES = frozenset({"sidewalk", "crosswalk", "ramp", "walkable"})
"""Ground that a sidewalk robot drives on."""
CELL_M = 0.1
TILE_M = 30.0
REACH_M = 9.0
"""A tile is used while the robot is so far from its border."""
FAR_M = 5.0


@dataclass(frozen=True, eq=False)
class Tile:
    """Two distance fields about one place, first value at ``origin``."""

    origin: FloatArray  # (2,) m
    ground: FloatArray  # (n, n) distance to the edge of the ground, negative off it, m
    free: FloatArray  # (n, n) distance to the next solid, 0 inside, m

    def holds(self, x: float, y: float) -> bool:
        """Whether (x, y) is far enough from the border."""
        low = min(x - self.origin[0], y - self.origin[1])
        high = max(x - self.origin[0], y - self.origin[1])
        return bool(low >= REACH_M and high <= TILE_M - REACH_M)


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
        """The tile to use at (x, y)."""
        if self._tile is None or not self._tile.holds(x, y):
            self._tile = self._draw(x, y)
        return self._tile

    def _draw(self, x: float, y: float) -> Tile:
        origin = np.array([x - TILE_M / 2, y - TILE_M / 2])
        solid = self._solids.mask(origin)
        if self._scene.enclosed:
            solid |= ~self._inside.mask(origin)
        lane = ~solid if self._everywhere else self._lanes.mask(origin) & ~solid
        return Tile(origin, _inside_distance(lane) - _inside_distance(~lane), _inside_distance(~solid))


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
"""Between the points of the route as it is planned on."""
NO_PATH = np.zeros((0, 2))
PATH_STEP_S = 0.3
"""Between the points of the way that is shown."""
OFFSETS_M = np.linspace(-1.8, 1.8, 19)
TRANSITIONS_M = (1.5, 4.0)
SPEEDS = (0.0, 0.2, 0.45, 0.75, 1.0)
"""As parts of the cruising speed."""
SEEN_M = 12.0
MOST_PEOPLE = 12
GOAL_SHARE = 0.7
"""Of the goal's radius: how far beside the goal it plans to arrive at most."""
STANDING_MPS = 0.3
BAR_RADIUS_M = 0.3
WALKER_SPARE_M, STANDING_SPARE_M = 0.22, 0.12
"""Room kept between the bodies: who walks may turn."""
FASTEST_TURN, HARDEST = 2.0, 3.0


class LanePlanner:
    """The planner of one episode."""

    def __init__(self, task: Task, cruise_mps: float) -> None:
        if task.map is None or task.route is None:
            raise BadInput("a lane planner needs the map and the route")
        if task.robot.dynamics != "unicycle":
            raise BadInput(
                f"robot {task.robot.name!r} moves as {task.robot.dynamics!r}; sidewalk policies drive unicycles: "
                "choose delivery_robot, robot_dog or humanoid, or set dynamics: unicycle"
            )
        self._tiles = GroundTiles(task.map.spec)
        self._route = resample(np.vstack([[task.start[:2]], task.route]))
        self._robot = robot_numbers(task.robot)
        self._cruise = min(cruise_mps, task.robot.limits.max_speed)
        choices = [(d, over, part * self._cruise) for d in OFFSETS_M for over in TRANSITIONS_M for part in SPEEDS]
        self._candidates = np.array([(offset, speed) for offset, _, speed in choices])
        self._blends = np.array([transition(over) for _, over, _ in choices])
        self._out = np.zeros((len(self._candidates), 3))
        self._goal_reach = GOAL_SHARE * task.goal_radius_m
        self._index, self._before = 0, 0.0
        self._state: FloatArray | None = None
        self._best, self._cap = 0, 0.0

    def drive(self, robot: RobotState, people: Pedestrians | None, speed_cap: float = np.inf) -> Velocity:
        """The best way to go on from here."""
        sine, cosine = exact.sincos(robot.heading)
        speed = robot.vx * cosine + robot.vy * sine
        state = np.array([robot.x, robot.y, robot.heading, speed, robot.omega])
        tile = self._tiles.at(robot.x, robot.y)
        self._index = self._locate(robot.x, robot.y)
        walkers, bars = self._crowd(robot, people)
        self._state, self._cap = state, min(speed_cap, self._cruise)
        self._plan(slice(None), tile, walkers, bars, self._out, NO_PATH)
        self._best = int(self._out[:, 0].argmin())
        self._before = float(self._candidates[self._best, 0])
        return Velocity(float(self._out[self._best, 1]), float(self._out[self._best, 2]))

    def path(self) -> FloatArray | None:
        """(H, 2) the chosen way, every ``PATH_STEP_S``; None before there is one."""
        if self._state is None:
            return None
        steps, tile = np.full((lane_plan.STEPS, 2), np.nan), self._tiles.at(*self._state[:2].tolist())
        nobody, nothing = lane_plan.empty_rows(6), lane_plan.empty_rows(5)
        self._plan(slice(self._best, self._best + 1), tile, nobody, nothing, np.zeros((1, 3)), steps)
        every = round(PATH_STEP_S / lane_plan.STEP_S)
        return steps[every - 1 :: every]

    def _plan(
        self, which: slice, tile: Tile, people: FloatArray, bars: FloatArray, out: FloatArray, path: FloatArray
    ) -> None:
        lane_plan.plan_lane(
            self._state, self._robot, self._route, self._index, SPACING_M, self._candidates[which],
            self._blends[which], self._before, self._goal_reach, self._cap, tile.ground, tile.free, tile.origin, CELL_M,
            people, bars, out, path,
        )  # fmt: skip

    def _locate(self, x: float, y: float) -> int:
        """Where on the route the robot is: near where it was, or anywhere if it was carried off."""
        near = lane_plan.nearest_on_route(self._route, x, y, self._index - 8, self._index + 16)
        if exact.hypot(*(self._route[near, :2] - (x, y))) > 3.0:
            near = lane_plan.nearest_on_route(self._route, x, y, 0, len(self._route) - 1)
        return int(near)

    def _crowd(self, robot: RobotState, people: Pedestrians | None) -> tuple[FloatArray, FloatArray]:
        """(P, 6) the nearest people, (G, 5) bars between those who stand together."""
        if people is None or not len(people):
            return lane_plan.empty_rows(6), lane_plan.empty_rows(5)
        away = exact.hypot(people.position[:, 0] - robot.x, people.position[:, 1] - robot.y)
        near = np.argsort(away, kind="stable")[:MOST_PEOPLE]
        near = near[away[near] < SEEN_M]
        walks = exact.hypot(people.velocity[near, 0], people.velocity[near, 1]) > STANDING_MPS
        spare = np.where(walks, WALKER_SPARE_M, STANDING_SPARE_M)
        walkers = np.column_stack([people.position[near], people.velocity[near], people.radius[near], spare])
        return np.ascontiguousarray(walkers, np.float64), group_bars(people, near)


def group_bars(people: Pedestrians, near: np.ndarray) -> FloatArray:
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
    line = np.column_stack([exact.interp(at, lengths, points[:, k]) for k in (0, 1)])
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


def robot_numbers(spec: RobotSpec) -> FloatArray:
    """What the kernel knows of the robot: its limits, and three discs that cover its body."""
    limits, polygon = spec.limits, spec.footprint.polygon
    if polygon is None:
        radius, front, back = spec.footprint.enclosing_radius, 0.0, 0.0
    else:
        corners = np.array(polygon)
        side, low, high = np.abs(corners[:, 1]).max(), corners[:, 0].min(), corners[:, 0].max()
        piece = (high - low) / 6
        radius, front, back = float(exact.hypot(side, piece)), high - piece, low + piece
    numbers = np.zeros(lane_plan.ROBOT_NUMBERS)
    numbers[lane_plan.MAX_SPEED] = limits.max_speed
    numbers[lane_plan.MAX_TURN] = limits.max_turn_rate or FASTEST_TURN
    numbers[lane_plan.SPEED_UP] = limits.max_acceleration or HARDEST
    numbers[lane_plan.SLOW_DOWN] = limits.max_deceleration or limits.max_acceleration or HARDEST
    numbers[lane_plan.TURN_UP] = limits.max_turn_acceleration or HARDEST
    numbers[lane_plan.DISC_RADIUS] = radius
    numbers[[lane_plan.DISC_1, lane_plan.DISC_2, lane_plan.DISC_3]] = back, 0.5 * (back + front), front
    return numbers
