"""One Gymnasium environment: a robot among people."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from sidestep.drawing import TopView
from sidestep.errors import BadInput
from sidestep.gym.environments import (
    ENDINGS,
    Environments,
    RewardWeights,
    action_space,
    observation_of,
    observation_space,
)
from sidestep.gym.picture import draw_environment, make_top_view
from sidestep.gym.tasks import make_scenario
from sidestep.kernels.environment import OUT_OF_TIME, REACHED_GOAL, RUNNING
from sidestep.simulation.build import WorldBuilder
from sidestep.types.base import FloatArray

SAMPLED_WORLDS = 8
"""Where the number of people differs from world to world, the observation holds as many as the fullest of so many."""


class CrowdEnv(gymnasium.Env[dict[str, Any], FloatArray]):
    """A robot that has to reach its goal among people.

    Observation: ``robot`` (8,): goal x, y; velocity x, y; turn rate; radius; speed limit; share of the time used.
    ``people`` (N, 5): position x, y; velocity x, y; radius. ``mask`` (N,): 1 where the row is a person. Metres, seconds,
    radians; centred on the robot and, except for holonomic robots, turned so that x points ahead.
    Action: two numbers in [-1, 1] over the robot's limits: (vx, vy) in the world frame, (v, ω) or (v, steer).
    Ends: goal, contact with a person or wall (terminated), time limit (truncated). ``info`` has ``is_success`` and
    ``termination_reason``, which is empty while the episode goes on.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(
        self,
        task: str = "Crossing",
        render_mode: str | None = None,
        weights: RewardWeights | None = None,
        max_people: int | None = None,
        picture_size: int = 480,
        **options: Any,
    ) -> None:
        """``options`` go to :func:`sidestep.gym.tasks.make_scenario` (people, crowd_model, robot, scenario, …)."""
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode {render_mode!r} is unknown; use 'rgb_array' or None")
        self.render_mode = render_mode
        self._builder = WorldBuilder(make_scenario(task, **options))
        self.scenario = self._builder.scenario
        self._weights = weights or RewardWeights()
        samples = [self._builder.build(seed) for seed in range(SAMPLED_WORLDS)]
        people = max(world.people for world in samples)
        self._rows = people if max_people is None else max_people
        self._environments = Environments([max(samples, key=lambda world: world.people)], self._weights)
        self._picture_size = picture_size
        self._view: TopView | None = None
        self._action = np.zeros((1, 1, 2), np.float32)
        self._over = True
        self.observation_space = observation_space(self._rows)
        self.action_space = action_space()
        self.world_seed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new world, drawn with the environment's generator; ``options={"world_seed": k}`` asks for a certain one."""
        super().reset(seed=seed)
        given = (options or {}).get("world_seed")
        self.world_seed = int(self.np_random.integers(2**31)) if given is None else int(given)
        world = self._builder.build(self.world_seed)
        if self._environments.worlds.fits(world):
            self._environments.load(world)
        else:
            self._environments = Environments([world], self._weights)
        self._over = False
        return observation_of(self._environments, 0, rows=self._rows), self._info(RUNNING)

    def step(self, action: FloatArray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out the action for one step."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset() before the next step()")
        self._action[0, 0] = action
        if not np.isfinite(self._action).all():
            raise BadInput(f"action {action} has a number that is not finite")
        environments = self._environments
        environments.step(self._action)
        ending = int(environments.ending[0, 0])
        self._over = ending != RUNNING
        observation = observation_of(environments, 0, rows=self._rows)
        truncated = ending == OUT_OF_TIME
        return observation, float(environments.reward[0, 0]), self._over and not truncated, truncated, self._info(ending)

    def render(self) -> Any:
        """The world from above, (H, W, 3) uint8."""
        if self.render_mode is None:
            return None
        if self._view is None:
            self._view = make_top_view(self._environments.worlds.worlds[0], self._picture_size)
        return draw_environment(self._view, self._environments.worlds, 0)

    def _info(self, ending: int) -> dict[str, Any]:
        return {"is_success": ending == REACHED_GOAL, "termination_reason": ENDINGS[ending]}
