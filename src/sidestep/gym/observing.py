"""The spaces of the environments, and how many people an observation has room for."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from sidestep.errors import BadInput
from sidestep.kernels.environment import AGENT_FEATURES, ROBOT_FEATURES
from sidestep.simulation.build import WorldBuilder
from sidestep.types.scenario import FlowPlacement

SAMPLED_WORLDS = 8
"""Where the number of people differs from world to world, there is room for the fullest of so many."""


def room_for_people(builder: WorldBuilder, max_people: int | None) -> int:
    """Rows of the ``people`` observation: ``max_people``, or as many as the scenario has; at least 1."""
    if max_people is not None:
        if max_people < 1:
            raise BadInput(f"max_people must be at least 1, got {max_people}")
        return max_people
    varies = any(isinstance(part.placement, FlowPlacement) for part in builder.scenario.crowd)
    return max(1, *(builder.build(seed).people for seed in range(SAMPLED_WORLDS if varies else 1)))


def observation_space(rows: int, pictures: dict[str, spaces.Space[Any]] | None = None) -> spaces.Dict:
    """``robot`` (8,), ``people`` (rows, 5) padded with zeros, ``mask`` (rows,): 1 where somebody is; and pictures."""
    return spaces.Dict(
        {
            **(pictures or {}),
            "robot": spaces.Box(-np.inf, np.inf, (ROBOT_FEATURES,), np.float32),
            "people": spaces.Box(-np.inf, np.inf, (rows, AGENT_FEATURES), np.float32),
            "mask": spaces.MultiBinary(rows),
        }
    )


def several_robots_space(rows: int, others: int) -> spaces.Dict:
    """The same with the other robots: ``robots`` (others, 5) and ``robots_mask`` (others,)."""
    alone = observation_space(rows).spaces
    robots = spaces.Box(-np.inf, np.inf, (others, AGENT_FEATURES), np.float32)
    return spaces.Dict({**alone, "robots": robots, "robots_mask": spaces.MultiBinary(others)})


def action_space() -> spaces.Box:
    """Two numbers in [-1, 1] that span the robot's command limits."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)
