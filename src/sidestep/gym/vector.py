"""The native vector environment: all worlds are stepped in one compiled call, on several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sidestep._util.threads import HelperThreads
from sidestep.errors import BadInput, UnknownName
from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.cameras import EnvironmentCameras
from sidestep.gym.observation import CameraOption, GridOption, LidarOption, action_space, choose_sensors
from sidestep.gym.tasks import WorldOptions, make_source, room_for_people
from sidestep.gym.training import Training, describe_training
from sidestep.kernels.referee import SUCCEEDED
from sidestep.simulation.build import World
from sidestep.types.base import BoolArray, FloatArray, IntArray

Observations = dict[str, Any]

LEAST_POOL = 256
"""Worlds in the pool, unless twice the environments are more."""
ENVIRONMENTS_PER_THREAD = 16
"""Fewer are not worth waking a thread for."""


class VectorOptions(WorldOptions, total=False):
    """Keyword arguments of :class:`CrowdVectorEnv` but ``num_envs``, for wrappers that pass them on."""

    task: str
    pool: int | None
    threads: int | None
    weights: RewardWeights | None
    max_people: int | None
    copy: bool
    render_mode: str | None
    sensors: Sequence[str]
    camera: CameraOption
    lidar: LidarOption
    grid: GridOption


class CrowdVectorEnv(gymnasium.vector.VectorEnv[Observations, Any, Any]):
    """``num_envs`` environments like :class:`sidestep.gym.environment.CrowdEnv`.

    An environment whose episode is over is reset in the same step (``AutoresetMode.SAME_STEP``): the observation is the
    new episode's first; the old one's last is in ``info["final_obs"]``, its information in ``info["final_info"]``. New
    episodes come from a pool of ``pool`` worlds built at ``reset`` and used in turn; a larger pool means more variety,
    memory and building time. With ``copy=False`` the observations that ``step`` returns are overwritten by the next.

    ``info`` has the keys of a single environment as arrays (num_envs,), each with its mask under ``_KEY``, and where
    episodes ended ``final_obs`` and ``final_info``, laid out as Gymnasium's own vector environments do.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

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
        sensors: Sequence[str] = (),
        camera: CameraOption = None,
        lidar: LidarOption = None,
        grid: GridOption = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """``sensors``, ``camera``, ``lidar``, ``grid`` and ``options`` as of a single environment; one thread draws for
        an environment at a time."""
        if render_mode is not None:
            raise BadInput("the vector environment does not draw; use gymnasium.make(…, render_mode='rgb_array')")
        if num_envs < 1:
            raise BadInput(f"num_envs must be at least 1, got {num_envs}")
        if pool is not None and pool < num_envs:
            raise BadInput(f"a pool of {pool} worlds is too small for {num_envs} environments")
        if threads is not None and threads < 1:
            raise BadInput(f"threads must be at least 1, got {threads}")
        self.num_envs = num_envs
        self._source = make_source(task, camera, **options)
        self._choice = choose_sensors(self._source.scenarios(sensors), sensors, lidar, grid)
        self._pool = max(2 * num_envs, LEAST_POOL) if pool is None else pool
        self._pool_seeds = np.zeros(self._pool, np.int64)
        wanted = max(1, min(_cores(), num_envs // ENVIRONMENTS_PER_THREAD)) if threads is None else threads
        self._workers = HelperThreads(min(wanted, num_envs) - 1)  # this thread works, too
        self._draw_threads = min(_cores() if threads is None else threads, num_envs)
        self._cameras: EnvironmentCameras | None = None
        self._worlds: list[World] = []
        self._weights = weights or RewardWeights()
        self._copy = copy
        self._rows = room_for_people(self._source.peopled(), max_people)
        self.scenario = self._source.builder().scenario
        """The scenario, or the first of the suite."""
        self._pool_scenarios: Any = np.empty(0, object)
        self._live: EnvironmentBatch | None = None
        self.single_observation_space = self._choice.space(self._rows)
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None
        self._no, self._yes = np.zeros(num_envs, np.bool_), np.ones(num_envs, np.bool_)
        self._no_reason = np.full(num_envs, "", object)

    @property
    def training(self) -> Training:
        """What a model that is trained here learns to drive, for :func:`sidestep.gym.save_model`."""
        return describe_training(self._source.scenarios(), self._source.base, self._choice)

    @property
    def world_seeds(self) -> IntArray:
        """The seed of each environment's present world: ``CrowdEnv.reset(options={"world_seed": …})`` repeats it."""
        return self._pool_seeds[self._environments.source]

    @property
    def scenario_names(self) -> list[str]:
        """The scenario of each environment's present world."""
        names: list[str] = self._pool_scenarios[self._environments.source].tolist()
        return names

    @property
    def _environments(self) -> EnvironmentBatch:
        if self._live is None:
            raise ResetNeeded("there are no worlds yet: call reset() first")
        return self._live

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """New worlds everywhere; with a seed, the same ones every time. ``options={"reset_mask": mask}``, (num_envs,)
        bool, resets only some, from the pool as it is."""
        options = options or {}
        for name in options:
            if name != "reset_mask":
                raise UnknownName("reset option", name, ["reset_mask"])
        if "reset_mask" in options:
            self._restart(self._chosen(options["reset_mask"], seed))
        else:
            super().reset(seed=seed)
            self._live = self._build()
            self._begin_pictures(np.arange(self.num_envs))
        info = self._running_info()
        info["world_seed"], info["_world_seed"] = self.world_seeds, info["_is_success"].copy()
        return self._observations(), info

    def _build(self) -> EnvironmentBatch:
        """A new pool: the worlds that a single environment with the same generator would come to, in this order."""
        drawn = [self._source.draw(self.np_random) for _ in range(self._pool)]
        self._pool_seeds = np.array([seed for _, seed in drawn])
        self._pool_scenarios = np.array([name for name, _ in drawn], object)
        worlds = [self._source.build(name, seed) for name, seed in drawn]
        _check_same_vehicles(worlds)
        self._worlds = worlds if self._choice.pictures else []
        return EnvironmentBatch(
            worlds,
            self._weights,
            self._rows,
            size=self.num_envs,
            workers=self._workers,
            lidar=self._choice.lidar,
            grid=self._choice.grid,
        )

    def _restart(self, which: IntArray) -> None:
        """New episodes in some places."""
        self._environments.reset(which)
        self._begin_pictures(which)

    def _begin_pictures(self, which: IntArray) -> None:
        """First pictures of the new episodes."""
        if not self._choice.pictures:
            return
        source = self._environments.source
        if self._cameras is None:
            worlds = [self._worlds[k] for k in source.tolist()]
            self._cameras = EnvironmentCameras(worlds, self._choice.pictures, self._draw_threads)
        else:
            for b in which.tolist():
                self._cameras.restart(b, self._worlds[source[b]])
        self._cameras.look(self._environments.worlds, which)

    def _chosen(self, mask: Any, seed: int | None) -> IntArray:
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise BadInput(f"reset_mask must be {self.num_envs} booleans, got {mask.dtype} of shape {mask.shape}")
        if seed is not None:
            raise BadInput("a seed means new worlds everywhere; give either a seed or a reset_mask")
        return np.flatnonzero(mask)

    def step(self, actions: FloatArray) -> tuple[Observations, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act in all environments; those whose episode is over begin a new one at once."""
        environments = self._environments
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs, 2):
            raise BadInput(f"actions must have shape ({self.num_envs}, 2), got {actions.shape}")
        environments.action[:, 0] = actions
        cameras = self._cameras
        environments.step(None if cameras is None else lambda: cameras.watch(environments.worlds))
        if cameras is not None:
            cameras.look(environments.worlds, np.arange(self.num_envs))
        ending = environments.ending[:, 0].copy()
        reward = environments.reward[:, 0].copy()
        over = ending != 0
        truncated = environments.timed_out()[:, 0]
        info = self._running_info()
        (which,) = over.nonzero()
        if len(which):
            self._add_final(info, ending, over, which)
            self._restart(which)
            if self._source.is_suite:  # of the new episodes
                info["scenario"] = self._pool_scenarios[environments.source]
        return self._observations(), reward, over & ~truncated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._workers.close()

    def _running_info(self) -> dict[str, Any]:
        """What Gymnasium's own vector environments make of the info of episodes under way."""
        info: dict[str, Any] = {
            "is_success": self._no.copy(),
            "_is_success": self._yes.copy(),
            "termination_reason": self._no_reason.copy(),
            "_termination_reason": self._yes.copy(),
        }
        if self._source.is_suite:
            info["scenario"] = self._pool_scenarios[self._environments.source]
            info["_scenario"] = self._yes.copy()
        return info

    def _add_final(self, info: dict[str, Any], ending: IntArray, over: BoolArray, which: IntArray) -> None:
        """The last observations and infos of the episodes that are over, laid out as Gymnasium's own do."""
        n = self.num_envs
        taken = {name: array[:, 0].take(which, 0) for name, array in self._environments.entries.items()}
        final, reasons = np.empty(n, object), np.empty(n, object)  # filled with None
        for k, b in enumerate(which.tolist()):
            final[b] = {name: array[k] for name, array in taken.items()}
            if self._cameras is not None:
                final[b].update(self._cameras.of(b))
            reasons[b] = ENDINGS[ending[b]]
        info["final_obs"], info["_final_obs"] = final, over
        info["final_info"], info["_final_info"] = (
            {
                "is_success": ending == SUCCEEDED,
                "_is_success": over.copy(),
                "termination_reason": reasons,
                "_termination_reason": over.copy(),
            },
            over.copy(),
        )
        if self._source.is_suite:
            names = np.empty(n, object)
            names[which] = self._pool_scenarios[self._environments.source[which]]
            info["final_info"]["scenario"], info["final_info"]["_scenario"] = names, over.copy()

    def _observations(self) -> Observations:
        seen = {name: array[:, 0] for name, array in self._environments.entries.items()}
        if self._copy:
            seen = {name: array.copy() for name, array in seen.items()}
        return seen if self._cameras is None else {**seen, **self._cameras.all(self._copy)}


def _check_same_vehicles(worlds: Sequence[World]) -> None:
    """The worlds of one batch have as many vehicles each."""
    first = worlds[0]
    for world in worlds:
        if len(world.robots) != len(first.robots):
            raise BadInput(
                f"scenario {first.scenario.name!r} has {len(first.robots) - 1} vehicles and {world.scenario.name!r} "
                f"{len(world.robots) - 1}; a vector environment needs as many in all: choose scenarios=[…], or use "
                "single environments (gymnasium.make_vec(…, vectorization_mode='sync'))"
            )


def _cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
