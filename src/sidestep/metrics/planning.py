"""Planning: how long the policy thinks and how often the robot cannot do what it says."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.series import NO_STEPS, average, largest
from sidestep.metrics.sources import SIDESTEP, SOCNAVBENCH
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_NEVER_ASKED = "the policy was never asked"


def planning_time_avg(record: EpisodeRecord) -> MetricResult:
    """Mean wall-clock time of a call of the policy."""
    return average(record.planning_time, "s", _NEVER_ASKED)


def planning_time_max(record: EpisodeRecord) -> MetricResult:
    """Longest wall-clock time of a call of the policy."""
    return largest(record.planning_time, "s", _NEVER_ASKED)


def limits_applied(record: EpisodeRecord) -> MetricResult:
    """Share of steps in which the command was cut to the robot's limits."""
    return average((record.limited != 0).astype(np.float64), "ratio", NO_STEPS)


PLANNING_TIME_AVG = Metric(
    name="planning_time_avg",
    unit="s",
    direction="lower",
    definition="Mean wall-clock time of a call of the policy. Depends on the machine.",
    source=f"{SOCNAVBENCH}, average planning wait time",
    validity="Episodes in which the policy answered at least once.",
    function=planning_time_avg,
)
PLANNING_TIME_MAX = Metric(
    name="planning_time_max",
    unit="s",
    direction="lower",
    definition="Longest wall-clock time of a call of the policy. Depends on the machine.",
    source=SIDESTEP,
    validity="Episodes in which the policy answered at least once.",
    function=planning_time_max,
)
LIMITS_APPLIED = Metric(
    name="limits_applied",
    unit="ratio",
    direction="none",
    definition="Share of steps in which a limit of the robot (speed, turn rate, acceleration, …) changed the command.",
    source=SIDESTEP,
    validity="Episodes with at least one step.",
    function=limits_applied,
)
