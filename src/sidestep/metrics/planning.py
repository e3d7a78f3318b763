"""Planning: computing time of the policy, and how often a limit of the robot changes its command."""

from __future__ import annotations

import numpy as np

from sidestep.metrics.definition import NO_STEPS, Value, average, largest, metric
from sidestep.metrics.sources import SOCNAVBENCH
from sidestep.types.record import EpisodeRecord

_NEVER_ASKED = "the policy was never asked"
_ANSWERED = "Episodes in which the policy answered at least once."


@metric("s", "lower", source=f"{SOCNAVBENCH}, average planning wait time", validity=_ANSWERED)
def planning_time_avg(record: EpisodeRecord) -> Value:
    """Mean wall-clock time of a call of the policy. It depends on the machine."""
    return average(record.planning_time, _NEVER_ASKED)


@metric("s", "lower", validity=_ANSWERED)
def planning_time_max(record: EpisodeRecord) -> Value:
    """Longest wall-clock time of a call of the policy. It depends on the machine."""
    return largest(record.planning_time, _NEVER_ASKED)


@metric("ratio", validity="Episodes with at least one step.")
def limits_applied(record: EpisodeRecord) -> Value:
    """Share of steps in which a limit of the robot (speed, turn rate, acceleration, …) changed the command."""
    return average((record.limited != 0).astype(np.float64), NO_STEPS)
