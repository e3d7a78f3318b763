"""One Gymnasium environment, a robot among people, and its picture from above for ``render_mode="rgb_array"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from sidestep.drawing import TopView
from sidestep.errors import BadInput, UnknownName
from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.observation import (
    EnvironmentCameras,
    action_space,
    check_sensors,
    observation_space,
    picture_spaces,
    room_for_people,
)
from sidestep.gym.tasks import make_builder
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_X, ROBOT_Y
from sidestep.kernels.referee import ENDING, NEWS, RUNNING, SUCCEEDED, TIMEOUT_NEWS
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
        other_footprints=[Footprint(radius=float(agents[layout.RADIUS, n + k])) for k in others],
        time=float(worlds.clock[b]) * world.scenario.rules.step_s,
    )


Observation = dict[str, Any]


class CrowdEnv(gymnasium.Env[Observation, Any]):
    """A robot that has to reach its goal among people.

    Observation: ``robot`` (8,): goal x, y; velocity x, y; turn rate; radius; speed limit; share of the time used.
    ``people`` (N, 5): position x, y; velocity x, y; radius. ``mask`` (N,): 1 where the row is a person. Metres,
    seconds, radians; centred on the robot and, except for holonomic robots, turned so that x points ahead.
    With ``sensors`` also what the robot's camera sees: ``rgb`` (H, W, 3) uint8, ``depth`` (H, W) float32 in metres,
    ``semantic`` (H, W) uint8.
    Action: two numbers in [-1, 1] over the robot's limits: (vx, vy) in the world frame, (v, ω) or (v, steer).
    Ends: as the scenario's rules say, terminated, or by the time limit, truncated. ``info`` has ``termination_reason``,
    the outcome that the benchmark would give, empty while the episode goes on, and ``is_success``; after a reset also
    ``world_seed``.
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
        camera: Any = None,
        **options: Any,
    ) -> None:
        """``sensors``: pictures in the observation, of ``rgb``, ``depth`` and ``semantic``; ``camera``: settings laid
        over the scenario's. ``options`` go to :func:`sidestep.gym.tasks.make_scenario` (people, crowd_model,
        robot, scenario, …)."""
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode {render_mode!r} is unknown; use 'rgb_array' or None")
        self.render_mode = render_mode
        self._sensors = check_sensors(sensors)
        self._builder = make_builder(task, camera, **options)
        self.scenario = self._builder.scenario
        self._weights = weights or RewardWeights()
        self._rows = room_for_people(self._builder, max_people)
        self._environments = EnvironmentBatch([self._builder.build(0)], self._weights, self._rows)
        self._picture_size = picture_size
        self._view: TopView | None = None
        self._under_way = False
        self._cameras: EnvironmentCameras | None = None
        pictures = picture_spaces(self._sensors, self.scenario.sensors.camera)
        self.observation_space = observation_space(self._rows, pictures)
        self.action_space = action_space()
        self.world_seed = 0
        """The seed of the present world: ``reset(options={"world_seed": …})`` brings it back."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new world, drawn with the environment's generator; ``options={"world_seed": k}`` asks for a certain one."""
        super().reset(seed=seed)
        options = options or {}
        for name in options:
            if name != "world_seed":
                raise UnknownName("reset option", name, ["world_seed"])
        given = options.get("world_seed")
        self.world_seed = int(self.np_random.integers(2**31)) if given is None else int(given)
        world = self._builder.build(self.world_seed)
        if self._environments.worlds.fits(world):
            self._environments.load(world)
        else:
            self._environments = EnvironmentBatch([world], self._weights, self._rows)
        self._under_way = True
        if self._sensors:
            self._begin_pictures(world)
        info = {"is_success": False, "termination_reason": "", "world_seed": self.world_seed}
        return self._observe(), info

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
        environments.step()
        marks = environments.worlds.marks
        ending: int = marks.item(0, 0, ENDING)
        over = ending != RUNNING
        truncated = over and bool(marks.item(0, 0, NEWS) & TIMEOUT_NEWS)
        self._under_way = not over
        info = {"is_success": ending == SUCCEEDED, "termination_reason": ENDINGS[ending]}
        reward: float = environments.reward.item()
        return self._observe(), reward, over and not truncated, truncated, info

    def _begin_pictures(self, world: World) -> None:
        if self._cameras is None:
            self._cameras = EnvironmentCameras([world], self._sensors, threads=1)
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
