"""What a step is worth."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from math import isfinite

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray


@dataclass(frozen=True)
class RewardWeights:
    """Reward of a step = success − collision − other failures + progress − discomfort − time.

    Defaults in the manner of CrowdNav (Chen et al., "Crowd-Robot Interaction", ICRA 2019): 1 for the goal, −0.25 for a
    collision, a penalty that grows within 0.2 m of a person; progress and other failures are ours.
    """

    success: float = 1.0
    """Once, when the episode ends with the outcome ``success``: at the goal, or where the task is to stop for a raised
    hand, for stopping."""
    collision: float = 0.25
    """Subtracted when a contact with a person, a wall or another robot begins."""
    progress: float = 0.1
    """Per metre nearer to the goal, straight line."""
    discomfort: float = 0.5
    """Subtracted per second and per metre inside ``discomfort_distance``."""
    discomfort_distance: float = 0.2
    """m, surface to surface, least over a simulation step."""
    time: float = 0.0
    """Subtracted per second."""
    failure: float = 0.25
    """Subtracted when the robot leaves its ground, crosses a group, freezes or reaches the goal instead of stopping."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isfinite(getattr(self, field.name)):
                raise BadInput(f"reward weight {field.name} must be finite, got {getattr(self, field.name)}")
        if self.discomfort_distance < 0:
            raise BadInput(f"discomfort_distance must be at least 0 m, got {self.discomfort_distance}")

    def as_array(self) -> FloatArray:
        """In the kernels' order."""
        return np.array(astuple(self), np.float64)
