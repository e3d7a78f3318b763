"""One Gymnasium environment: a robot among people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from sidestep.drawing import TopView
from sidestep.errors import BadInput, UnknownName
from sidestep.gym.cameras import EnvironmentCameras, check_sensors, picture_spaces
from sidestep.gym.environments import ENDINGS, Environments
from sidestep.gym.observing import action_space, observation_space, room_for_people
from sidestep.gym.picture import draw_environment, make_top_view
from sidestep.gym.reward import RewardWeights
from sidestep.gym.tasks import make_builder
from sidestep.kernels.referee import ENDING, NEWS, RUNNING, SUCCEEDED, TIMEOUT_NEWS
from sidestep.simulation.build import World
from sidestep.types.base import FloatArray

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
        self._environments = Environments([self._builder.build(0)], self._weights, self._rows)
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
            self._environments = Environments([world], self._weights, self._rows)
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
