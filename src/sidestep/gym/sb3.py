"""The native vector environment as a Stable-Baselines3 ``VecEnv``: train thousands of worlds without subprocesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from sidestep.errors import BadInput, MissingExtra
from sidestep.gym.vector import CrowdVectorEnv, VectorOptions

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the Stable-Baselines3 adapter", "learn") from error


class CrowdVecEnv(VecEnv):
    """Wraps a :class:`CrowdVectorEnv`; ``PPO("MultiInputPolicy", CrowdVecEnv(256))`` just works.

    ``infos`` of environments whose episode ended have ``terminal_observation``, ``TimeLimit.truncated``, ``is_success``
    and ``termination_reason``; the others are empty.
    """

    def __init__(self, num_envs: int, **options: Unpack[VectorOptions]) -> None:
        """``options`` go to :class:`CrowdVectorEnv`."""
        self._native = CrowdVectorEnv(num_envs, **options)
        self._actions: Any = None
        super().__init__(num_envs, self._native.single_observation_space, self._native.single_action_space)

    def reset(self) -> Any:
        """First observations, seeded if :meth:`seed` was called."""
        observations, _ = self._native.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: Any) -> None:
        """Remember the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Carry them out."""
        observations, reward, terminated, truncated, info = self._native.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        done = terminated | truncated
        for b in np.flatnonzero(done).tolist():
            infos[b] = {
                "terminal_observation": info["final_obs"][b],
                "TimeLimit.truncated": bool(truncated[b]),
                "is_success": bool(info["final_info"]["is_success"][b]),
                "termination_reason": info["final_info"]["termination_reason"][b],
            }
        return observations, reward.astype(np.float32), done, infos

    def close(self) -> None:
        """End the threads."""
        self._native.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the native environment, once per index."""
        return [getattr(self._native, attr_name)] * len(self._places(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible for one environment alone."""
        raise BadInput(f"cannot set {attr_name!r}: the worlds of a native vector environment share their settings")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Not possible for one environment alone."""
        raise BadInput(f"cannot call {method_name!r} on one world of a native vector environment")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never wrapped."""
        return [False] * len(self._places(indices))

    def _places(self, indices: int | Sequence[int] | None) -> Sequence[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices
