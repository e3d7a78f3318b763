"""Random numbers of people: speeds and places."""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.types.base import FloatArray
from sidestep.types.scenario import Box, CrowdPart


def draw_speeds(part: CrowdPart, count: int, rng: np.random.Generator) -> FloatArray:
    """Preferred speeds of ``count`` people, m/s."""
    law = part.speed
    speeds: FloatArray = np.minimum(np.maximum(exact.normal(rng, law.mean, law.sd, count), law.low), law.high)
    return speeds


def draw_in_box(box: Box, count: int, rng: np.random.Generator) -> FloatArray:
    """``count`` points, even over the box."""
    low, high = np.array(box[:2]), np.array(box[2:])
    points: FloatArray = low + rng.random((count, 2)) * (high - low)
    return points
