"""The numbers that the SocNavBench paper prints (``data/socnavbench_published.yaml``), to stand beside ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sidestep.reading import read_mapping
from sidestep.types.base import Finite, Model, NonNegative

DATA = Path(__file__).parent / "data" / "socnavbench_published.yaml"

Spread = tuple[Finite, NonNegative | None]
"""Mean, and what the paper prints after ±; None where it prints nothing."""


class Algorithm(Model):
    """One algorithm's rows in Tables 2 to 4."""

    name: str
    success: int
    failures: dict[str, int]
    pedestrian_collisions: int
    planning_time_avg: Spread
    path_length: Spread
    path_length_ratio: Spread
    goal_traversal_ratio: Spread
    path_irregularity: Spread
    path_traversal_time: Spread
    speed_avg: Spread
    energy: Spread
    acceleration_avg: Spread
    jerk_avg: Spread

    def spread(self, metric: str) -> Spread | None:
        """Mean and spread of a metric, by our name for it; None if the paper has none."""
        value = getattr(self, metric, None)
        return value if isinstance(value, tuple) else None


class Published(Model):
    """The file as a whole. ``algorithms`` go by the names of our policies."""

    citation: str
    episodes: int
    completed_by_all: int
    notes: tuple[str, ...]
    algorithms: dict[str, Algorithm]


@cache
def published() -> Published:
    """The paper's numbers."""
    return Published.parse(read_mapping(DATA), str(DATA))
