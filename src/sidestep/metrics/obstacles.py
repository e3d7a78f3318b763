"""Obstacles: how near the robot comes to walls."""

from __future__ import annotations

from sidestep.interfaces import Metric
from sidestep.metrics.answers import average, smallest
from sidestep.metrics.series import obstacle_clearance
from sidestep.metrics.sources import FRANCIS
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_NO_WALLS = "there are no walls"
_CLEARANCE = (
    "distance from the robot's surface (circle or polygon, exact) to the nearest wall edge, negative when the edge "
    "cuts the body"
)


def obstacle_clearance_min(record: EpisodeRecord) -> MetricResult:
    """Minimum over states of the clearance."""
    return smallest(obstacle_clearance(record), "m", _NO_WALLS)


def obstacle_clearance_avg(record: EpisodeRecord) -> MetricResult:
    """Mean over states of the clearance."""
    return average(obstacle_clearance(record), "m", _NO_WALLS)


OBSTACLE_CLEARANCE_MIN = Metric(
    name="obstacle_clearance_min",
    unit="m",
    direction="higher",
    definition=f"Minimum over the states of the {_CLEARANCE}.",
    source=f"{FRANCIS}, CD min",
    distance="surface",
    validity="Scenes with walls.",
    function=obstacle_clearance_min,
    dialects={},
)
OBSTACLE_CLEARANCE_AVG = Metric(
    name="obstacle_clearance_avg",
    unit="m",
    direction="higher",
    definition=f"Mean over the states of the {_CLEARANCE}.",
    source=f"{FRANCIS}, CD avg",
    distance="surface",
    validity="Scenes with walls.",
    function=obstacle_clearance_avg,
    dialects={},
)
