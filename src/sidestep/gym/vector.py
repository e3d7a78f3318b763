"""The native vector environment: all worlds are stepped in one compiled call, on several threads."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sidestep.errors import BadInput
from sidestep.gym.environments import ENDINGS, Environments, RewardWeights, action_space, observation_space
from sidestep.gym.tasks import make_scenario
from sidestep.kernels.environment import OUT_OF_TIME, REACHED_GOAL
from sidestep.simulation.build import WorldBuilder
from sidestep.types.base import BoolArray, FloatArray

Observations = dict[str, Any]


class CrowdVectorEnv(gymnasium.vector.VectorEnv[Observations, FloatArray, FloatArray]):
    """``num_envs`` environments like :class:`sidestep.gym.environment.CrowdEnv`.

    An environment whose episode is over is reset in the same step (``AutoresetMode.SAME_STEP``): the observation is the new
    episode's first, the old one's last is in ``info["final_obs"]``. New episodes come from a pool of ``pool`` worlds
    built at ``reset`` and used in turn; a larger pool means more variety and memory. With ``copy=False`` the arrays that
    ``step`` returns are overwritten by the next step.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "Crossing",
        pool: int | None = None,
        threads: int | None = None,
        weights: RewardWeights | None = None,
        max_people: int | None = None,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """``options`` go to :func:`sidestep.gym.tasks.make_scenario`."""
        if render_mode is not None:
            raise BadInput("the vector environment does not draw; use gymnasium.make(…, render_mode='rgb_array') for pictures")
        if num_envs < 1:
            raise BadInput(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self._builder = WorldBuilder(make_scenario(task, **options))
        self.scenario = self._builder.scenario
        self._pool = max(num_envs, 2 * num_envs if pool is None else pool)
        self._threads = (os.cpu_count() or 1) if threads is None else threads
        self._weights = weights or RewardWeights()
        self._copy = copy
        self._environments = self._make(np.random.default_rng(0))
        self._rows = self._environments.worlds.people if max_people is None else max_people
        if self._rows < self._environments.worlds.people:
            raise BadInput(f"max_people {max_people} is fewer than the {self._environments.worlds.people} of this scenario")
        self.single_observation_space = observation_space(self._rows)
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None

    def _make(self, rng: np.random.Generator) -> Environments:
        seeds = rng.integers(2**31, size=self._pool)
        worlds = [self._builder.build(int(seed)) for seed in seeds]
        return Environments(worlds, self._weights, self._threads, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, dict[str, Any]]:
        """New worlds everywhere; with a seed, the same ones every time."""
        super().reset(seed=seed)
        self._environments = self._make(self.np_random)
        return self._observations(), {}

    def step(self, actions: FloatArray) -> tuple[Observations, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act in all environments; those that are over start anew at once."""
        environments = self._environments
        actions = np.ascontiguousarray(actions, np.float32).reshape(self.num_envs, 1, 2)
        environments.step(actions)
        ending = environments.ending[:, 0].copy()
        reward = environments.reward[:, 0].copy()
        over = ending > 0
        info: dict[str, Any] = {}
        if over.any():
            info = self._final_info(ending, over)
            environments.reset(np.flatnonzero(over))
        truncated = ending == OUT_OF_TIME
        return self._observations(), reward, over & ~truncated, truncated, info

    def _final_info(self, ending: Any, over: BoolArray) -> dict[str, Any]:
        reasons = np.array(ENDINGS, dtype=object)[ending]
        ended = {"is_success": ending == REACHED_GOAL, "termination_reason": reasons}
        return {
            **ended,
            "_is_success": over,
            "_termination_reason": over,
            "final_obs": {key: value.copy() for key, value in self._observations().items()},
            "_final_obs": over,
            "final_info": {**ended, "_is_success": over, "_termination_reason": over},
            "_final_info": over,
        }

    def _observations(self) -> Observations:
        views = self._environments
        people, mask = views.people_view[:, 0], views.mask[:, 0]
        missing = max(self._rows, 1) - people.shape[1]
        if missing:
            people = np.pad(people, ((0, 0), (0, missing), (0, 0)))
            mask = np.pad(mask, ((0, 0), (0, missing)))
        observations = {"robot": views.robot_view[:, 0], "people": people, "mask": mask}
        return {key: value.copy() for key, value in observations.items()} if self._copy else observations
