"""Environments with cameras: steps per second of ten in one process, each step with a picture of each."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from sidestep.bench.environment import announce_environments
from sidestep.bench.measure import Effort, Figure, Note, rates

ENVIRONMENT = "sidestep/Plaza-v0"
ENVIRONMENTS, SIZE = 10, 96
NAME = f"gym_camera{ENVIRONMENTS}/{SIZE}x{SIZE}"


def measure_camera_environments(effort: Effort, note: Note) -> Figure:
    """Steps of all together, with colour and depth of each; twelve people on a square with four columns."""
    (values,) = rates([CameraEnvironments()], effort)
    return Figure(NAME, "env-steps/s", values)


class CameraEnvironments:
    """A run is one step of all environments."""

    def __init__(self) -> None:
        announce_environments()
        self._environments: Any = gymnasium.make_vec(
            ENVIRONMENT,
            num_envs=ENVIRONMENTS,
            pool=2 * ENVIRONMENTS,
            sensors=("rgb", "depth"),
            camera={"width": SIZE, "height": SIZE},
            copy=False,
        )
        self._environments.reset(seed=0)
        self._rng = np.random.default_rng(0)

    def prepare(self) -> None:
        """Choose the actions."""
        self._actions = self._rng.uniform(-1.0, 1.0, (ENVIRONMENTS, 2)).astype(np.float32)

    def run(self) -> float:
        """One step of each."""
        self._environments.step(self._actions)
        return float(ENVIRONMENTS)
