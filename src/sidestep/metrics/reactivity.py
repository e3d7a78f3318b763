"""Reactivity: what the robot costs replayed people who react to it, in time and way."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.series import average, largest
from sidestep.metrics.sources import SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

DELAYED_FROM_S = 0.1
"""Who is less behind the recording is not delayed: two steps of the usual length."""
DETOUR_FROM_M = 0.05

NO_REACTION = "replayed people do not react to the robot (reactivity none), or nobody is replayed"
NOBODY_DELAYED = "nobody was delayed"


def final_delay(record: EpisodeRecord) -> FloatArray:
    """Each person's delay (s) at the end of their track or of the episode; NaN where they were not delayed."""
    last = record.person_delay[-1]  # compared in its own precision, in which 0.1 is not more than 0.1
    delays: FloatArray = np.where(last > DELAYED_FROM_S, last.astype(np.float64), np.nan)
    return delays


def people_delayed(record: EpisodeRecord) -> MetricResult:
    """Number of people with a final delay."""
    if not record.person_delay.size:
        return MetricResult.invalid("count", NO_REACTION)
    return MetricResult(float(np.isfinite(final_delay(record)).sum()), "count")


def total_delay_caused(record: EpisodeRecord) -> MetricResult:
    """Sum of the final delays."""
    if not record.person_delay.size:
        return MetricResult.invalid("s", NO_REACTION)
    return MetricResult(float(np.nansum(final_delay(record))), "s")


def mean_delay_caused(record: EpisodeRecord) -> MetricResult:
    """Mean final delay of those who were delayed."""
    if not record.person_delay.size:
        return MetricResult.invalid("s", NO_REACTION)
    return average(final_delay(record), "s", NOBODY_DELAYED)


def max_delay_caused(record: EpisodeRecord) -> MetricResult:
    """Largest final delay of one person."""
    if not record.person_delay.size:
        return MetricResult.invalid("s", NO_REACTION)
    return largest(final_delay(record), "s", NOBODY_DELAYED)


def people_disturbed(record: EpisodeRecord) -> MetricResult:
    """Number of people with a delay or a detour in any state."""
    if not record.person_delay.size:
        return MetricResult.invalid("count", NO_REACTION)
    late = (record.person_delay > DELAYED_FROM_S).any(axis=0)
    astray = (record.person_detour > DETOUR_FROM_M).any(axis=0)
    return MetricResult(float((late | astray).sum()), "count")


def total_detour_caused(record: EpisodeRecord) -> MetricResult:
    """Sum of the final detours, shortcuts left out."""
    if not record.person_detour.size:
        return MetricResult.invalid("m", NO_REACTION)
    last = record.person_detour[-1].astype(np.float64)
    return MetricResult(float(last[last > DETOUR_FROM_M].sum()), "m")


_DELAY = (
    "time that a replayed person is behind the recording at the end of their track or of the episode: how far "
    "the person's own clock is behind plus, beside the recording, the straight way to the recorded place divided "
    f"by the person's mean recorded speed; up to {DELAYED_FROM_S:g} s does not count as a delay"
)
_GROWS = " Grows with the length of the episode, so less is not better where episodes fail early."
_REACTING = "Episodes with replayed people of reactivity pause or reroute."
_SOMEBODY = "Episodes with replayed people of reactivity pause or reroute in which somebody was delayed."

PEOPLE_DELAYED = Metric(
    name="people_delayed",
    unit="count",
    direction="none",
    definition=f"Number of people that the robot delayed. Delay: {_DELAY}.{_GROWS}",
    source=SIDESTEP,
    validity=_REACTING,
    function=people_delayed,
)
MEAN_DELAY_CAUSED = Metric(
    name="mean_delay_caused",
    unit="s",
    direction="lower",
    definition=f"Mean delay of the people that the robot delayed. Delay: {_DELAY}.",
    source=SIDESTEP,
    validity=_SOMEBODY,
    function=mean_delay_caused,
)
TOTAL_DELAY_CAUSED = Metric(
    name="total_delay_caused",
    unit="s",
    direction="none",
    definition=f"Sum of the delays of all people; 0 if nobody was delayed. Delay: {_DELAY}.{_GROWS}",
    source=SIDESTEP,
    validity=_REACTING,
    function=total_delay_caused,
)
MAX_DELAY_CAUSED = Metric(
    name="max_delay_caused",
    unit="s",
    direction="none",
    definition=f"Largest delay of one person. Delay: {_DELAY}.{_GROWS}",
    source=SIDESTEP,
    validity=_SOMEBODY,
    function=max_delay_caused,
)
PEOPLE_DISTURBED = Metric(
    name="people_disturbed",
    unit="count",
    direction="none",
    definition=f"Number of people who at any time were more than {DELAYED_FROM_S:g} s behind their recording or on a "
    f"detour of more than {DETOUR_FROM_M:g} m because of the robot, also if they made up for it.{_GROWS}",
    source=SIDESTEP,
    validity=_REACTING,
    function=people_disturbed,
)
TOTAL_DETOUR_CAUSED = Metric(
    name="total_detour_caused",
    unit="m",
    direction="none",
    definition="Sum over people of how much farther they walked than recorded, at the end of their track or of the "
    "episode: the way walked plus the straight way to the recorded place, less the recorded way up to there; up to "
    f"{DETOUR_FROM_M:g} m and shortcuts do not count. 0 for people who only pause.{_GROWS}",
    source=SIDESTEP,
    validity=_REACTING,
    function=total_detour_caused,
)
