"""Planning: how long the policy thinks and how often the robot cannot do what it says."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.series import NO_STEPS, average, largest
from sidestep.metrics.sources import SIDESTEP, SOCNAVBENCH

_NEVER_ASKED = "the policy was never asked"


PLANNING_TIME_AVG = Metric(
    name="planning_time_avg",
    unit="s",
    direction="lower",
    definition="Mean wall-clock time of a call of the policy. Depends on the machine.",
    source=f"{SOCNAVBENCH}, average planning wait time",
    validity="Episodes in which the policy answered at least once.",
    function=lambda record: average(record.planning_time, "s", _NEVER_ASKED),
)
PLANNING_TIME_MAX = Metric(
    name="planning_time_max",
    unit="s",
    direction="lower",
    definition="Longest wall-clock time of a call of the policy. Depends on the machine.",
    source=SIDESTEP,
    validity="Episodes in which the policy answered at least once.",
    function=lambda record: largest(record.planning_time, "s", _NEVER_ASKED),
)
LIMITS_APPLIED = Metric(
    name="limits_applied",
    unit="ratio",
    direction="none",
    definition="Share of steps in which a limit of the robot (speed, turn rate, acceleration, …) changed the command.",
    source=SIDESTEP,
    validity="Episodes with at least one step.",
    function=lambda record: average((record.limited != 0).astype(np.float64), "ratio", NO_STEPS),
)
