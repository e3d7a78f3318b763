"""What can be chosen of the sidewalk policies."""

from __future__ import annotations

from sidestep.types.base import Model, NonNegative, Positive


class LaneSettings(Model):
    """Of the lane follower and of the expert."""

    cruise_mps: Positive = 1.5
    think_s: NonNegative = 0.1
    """Time between two plans; in between, the command stays."""
