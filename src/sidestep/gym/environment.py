"""One Gymnasium environment, a robot among people, and its picture from above for ``render_mode="rgb_array"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.cameras import EnvironmentCameras
from sidestep.gym.observation import CameraOption, GridOption, LidarOption, action_space, choose_sensors
from sidestep.gym.tasks import WorldOptions, make_source, room_for_people
from sidestep.gym.training import Training, describe_training
from sidestep.kernels import elementary, layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_X, ROBOT_Y
from sidestep.kernels.referee import ENDING, NEWS, RUNNING, SUCCEEDED, TIMEOUT_NEWS
from sidestep.render.top_view import TopView
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types.base import FloatArray
from sidestep.types.robot import Footprint

VIEW_MARGIN_M = 1.5
LEAST_ASPECT_RATIO = 0.3  # shorter side of a picture over the longer


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
    low, high = corners.min(axis=0) - VIEW_MARGIN_M, corners.max(axis=0) + VIEW_MARGIN_M
    if len(world.scene.wall_points):
        low = np.minimum(low, world.scene.wall_points.min(axis=0))
        high = np.maximum(high, world.scene.wall_points.max(axis=0))
    wide, high_m = high - low
    width, height = (_pixels(side / max(wide, high_m), size) for side in (wide, high_m))
    bounds = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    return TopView(world.scene.spec, world.scene.segments, bounds, (width, height))


def _pixels(share: float, size: int) -> int:
    """A side's pixels, where the longer has ``size``: even, as video codecs want it, and with room for the clock."""
    return 2 * round(max(share, LEAST_ASPECT_RATIO) * size / 2)


def draw_environment(view: TopView, worlds: Worlds, b: int) -> Any:
    """World ``b`` as it is now, (H, W, 3) uint8. In front, with its goal, is the first robot that still drives; robots
    whose episode is over are not shown, except when all are over, nor are vehicles that have left."""
    world = worlds.worlds[b]
    n = worlds.people
    agents, flags = worlds.agents[b], worlds.flags[b]
    people = agents[[layout.PX, layout.PY], :n].T.astype(np.float64)
    people[flags[layout.ACTIVE, :n] != 1] = np.nan
    tested = len(world.scenario.robots)
    driving = np.flatnonzero(flags[layout.ACTIVE, n : n + tested] == 1)
    front, others = (int(driving[0]), driving[1:]) if len(driving) else (0, driving)
    discs = [Footprint(radius=float(agents[layout.RADIUS, n + k])) for k in others]
    pose = worlds.robot_state[b][:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]]
    vehicles = np.flatnonzero(flags[layout.ACTIVE, n + tested : worlds.columns] == 1) + tested
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
        others=np.concatenate([pose[others], pose[vehicles]]),
        other_footprints=[*discs, *(world.robots[v].footprint for v in vehicles)],
        time=float(worlds.clock[b]) * world.scenario.rules.step_s,
    )


Observation = dict[str, Any]

KEPT_BATCHES = 64
"""Scenarios of a suite whose arrays are kept for their next episode."""


class CrowdEnv(gymnasium.Env[Observation, Any]):
    """A robot that has to reach its goal among people.

    Observation: ``robot`` (8,): goal x, y; velocity x, y; turn rate; radius; speed limit; share of the time used.
    ``people`` (N, 5): position x, y; velocity x, y; radius. ``mask`` (N,): 1 where the row is a person. Metres,
    seconds, radians; centred on the robot and, except for holonomic robots, turned so that x points ahead.
    With ``sensors`` also ``lidar`` (rays,) float32 in metres, ``grid`` (3, H, W) uint8: 255 where walls, people, or
    robots and vehicles are, and what the robot's camera sees: ``rgb`` (H, W, 3) uint8, ``depth`` (H, W) float32 in
    metres, ``semantic`` (H, W) uint8.
    Action: two numbers in [-1, 1] over the robot's limits: (vx, vy) in the world frame, (v, ω) or (v, steer).
    Ends: as the scenario's rules say, terminated, or by the time limit, truncated.

    ``info`` of every reset and step: ``termination_reason``, the outcome that the benchmark gives to the episode, empty
    until it ends; ``is_success``; of a suite also ``scenario``, the name. After a reset also ``world_seed``.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        task: str = "Crossing",
        render_mode: str | None = None,
        weights: RewardWeights | None = None,
        max_people: int | None = None,
        picture_size: int = 480,
        sensors: Sequence[str] = (),
        camera: CameraOption = None,
        lidar: LidarOption = None,
        grid: GridOption = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """``sensors``: of ``lidar``, ``grid``, ``rgb``, ``depth`` and ``semantic``; ``camera`` and ``lidar``: settings
        laid over the scenario's; ``grid``: ``size`` in cells and ``cell_m``. ``options`` say which worlds there are:
        :class:`~sidestep.gym.tasks.WorldOptions`."""
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode {render_mode!r} is unknown; use 'rgb_array' or None")
        elementary.install()  # for the worlds of resets
        self.render_mode = render_mode
        self._source = make_source(task, camera, **options)
        self._rows = room_for_people(self._source.peopled(), max_people)
        self.scenario = self._source.builder().scenario
        """The scenario of the present episode."""
        self._choice = choose_sensors(self._source.scenarios(sensors), sensors, lidar, grid)
        self._weights = weights or RewardWeights()
        self._batches: dict[str, EnvironmentBatch] = {}
        self._environments = self._batch(self._source.build(self._source.names[0], 0))
        self._picture_size = picture_size
        self._view: TopView | None = None
        self._under_way = False
        self._cameras: EnvironmentCameras | None = None
        self.observation_space = self._choice.space(self._rows)
        self.action_space = action_space()
        self.world_seed = 0
        """The seed of the present world: ``reset(options={"world_seed": …})`` brings it back."""

    @property
    def training(self) -> Training:
        """What a model that is trained here learns to drive, for :func:`sidestep.gym.save_model`."""
        return describe_training(self._source.scenarios(), self._source.base, self._choice)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new world, drawn with the environment's generator; ``options={"world_seed": k}`` asks for a certain one,
        and in a suite ``options={"scenario": name}`` for a certain scenario."""
        super().reset(seed=seed)
        options, known = options or {}, ["world_seed", "scenario"][: 1 + self._source.is_suite]
        for name in options:
            if name not in known:
                raise UnknownName("reset option", name, known)
        name, self.world_seed = self._source.draw(self.np_random, options.get("scenario"), options.get("world_seed"))
        world = self._source.build(name, self.world_seed)
        if world.scenario is not self.scenario:
            self.scenario, self._view = world.scenario, None
        self._environments = self._batch(world)
        self._under_way = True
        if self._choice.pictures:
            self._begin_pictures(world)
        info = self._info({"is_success": False, "termination_reason": ""})
        return self._observe(), {**info, "world_seed": self.world_seed}

    def _batch(self, world: World) -> EnvironmentBatch:
        """A batch of one that holds ``world``: one from before, if there is one that it fits into."""
        name = world.scenario.name
        found = self._batches.get(name)
        if found is not None and found.worlds.fits(world):
            found.load(world)
            return found
        if len(self._batches) >= KEPT_BATCHES:
            del self._batches[next(iter(self._batches))]
        lidar, grid = self._choice.lidar, self._choice.grid
        made = EnvironmentBatch([world], self._weights, self._rows, lidar=lidar, grid=grid)
        self._batches[name] = made
        return made

    def _info(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "scenario": self.scenario.name} if self._source.is_suite else info

    def step(self, action: FloatArray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out the action for one step."""
        if not self._under_way:
            raise ResetNeeded("no episode is under way: call reset() before step()")
        environments = self._environments
        row = environments.action[0, 0]
        try:
            row[0], row[1] = action
        except (TypeError, ValueError):
            raise BadInput(f"an action is two numbers in [-1, 1], got {action!r:.80}") from None
        cameras = self._cameras
        environments.step(None if cameras is None else lambda: cameras.watch(environments.worlds))
        marks = environments.worlds.marks
        ending: int = marks.item(0, 0, ENDING)
        over = ending != RUNNING
        truncated = over and bool(marks.item(0, 0, NEWS) & TIMEOUT_NEWS)
        self._under_way = not over
        info = self._info({"is_success": ending == SUCCEEDED, "termination_reason": ENDINGS[ending]})
        reward: float = environments.reward.item()
        return self._observe(), reward, over and not truncated, truncated, info

    def _begin_pictures(self, world: World) -> None:
        if self._cameras is None:
            self._cameras = EnvironmentCameras([world], self._choice.pictures, threads=1)
        else:
            self._cameras.restart(0, world)

    def _observe(self) -> Observation:
        if self._cameras is None:
            return self._environments.observation(0)
        self._cameras.look(self._environments.worlds, (0,))
        return {**self._environments.observation(0), **self._cameras.of(0)}

    def render(self) -> Any:
        """The world from above, (H, W, 3) uint8."""
        if self.render_mode is None:
            return None
        if self._view is None:
            self._view = make_top_view(self._environments.worlds.worlds[0], self._picture_size)
        return draw_environment(self._view, self._environments.worlds, 0)
