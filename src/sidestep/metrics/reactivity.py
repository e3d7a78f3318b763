"""Reactivity: delay and detour that the robot causes to replayed people who react to it."""

from __future__ import annotations

import numpy as np

from sidestep.metrics.definition import Value, average, largest, metric
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord

DELAYED_FROM_S = 0.1
"""A person less than this behind the recording is not delayed: two steps of the usual length."""
DETOUR_FROM_M = 0.05

NO_REACTION = "replayed people do not react to the robot (reactivity none), or nobody is replayed"
NOBODY_DELAYED = "nobody was delayed"
_DELAY = (
    "Delay: time by which a replayed person is behind the recording at the end of their track or of the episode. It is "
    "the lag of the person's own clock plus, for a person off the recorded path, the straight way to the recorded "
    f"place divided by the person's mean recorded speed; up to {DELAYED_FROM_S:g} s does not count as a delay."
)
_GROWS = "The value grows with the length of the episode, so a lower value is not better when episodes fail early."
_REACTING = "Episodes with replayed people of reactivity pause or reroute."
_SOMEBODY = "Episodes with replayed people of reactivity pause or reroute in which somebody was delayed."


def final_delay(record: EpisodeRecord) -> FloatArray:
    """Each person's delay (s) at the end of their track or of the episode; NaN if they were not delayed."""
    last = record.person_delay[-1]  # compared in its own precision, in which 0.1 is not more than 0.1
    delays: FloatArray = np.where(last > DELAYED_FROM_S, last.astype(np.float64), np.nan)
    return delays


@metric("count", validity=_REACTING)
def people_delayed(record: EpisodeRecord) -> Value:
    """Number of people that the robot delayed. {_DELAY} {_GROWS}"""
    return float(np.isfinite(final_delay(record)).sum()) if record.person_delay.size else NO_REACTION


@metric("s", "lower", validity=_SOMEBODY)
def mean_delay_caused(record: EpisodeRecord) -> Value:
    """Mean delay of the people that the robot delayed. {_DELAY}"""
    return average(final_delay(record), NOBODY_DELAYED) if record.person_delay.size else NO_REACTION


@metric("s", validity=_REACTING)
def total_delay_caused(record: EpisodeRecord) -> Value:
    """Sum of the delays of all people; 0 if nobody was delayed. {_DELAY} {_GROWS}"""
    return float(np.nansum(final_delay(record))) if record.person_delay.size else NO_REACTION


@metric("s", validity=_SOMEBODY)
def max_delay_caused(record: EpisodeRecord) -> Value:
    """Largest delay of one person. {_DELAY} {_GROWS}"""
    return largest(final_delay(record), NOBODY_DELAYED) if record.person_delay.size else NO_REACTION


@metric("count", validity=_REACTING)
def people_disturbed(record: EpisodeRecord) -> Value:
    """Number of people who at any time were more than {DELAYED_FROM_S:g} s behind their recording or on a detour of
    more than {DETOUR_FROM_M:g} m because of the robot, even if they made up for it. {_GROWS}"""
    if not record.person_delay.size:
        return NO_REACTION
    late = (record.person_delay > DELAYED_FROM_S).any(axis=0)
    astray = (record.person_detour > DETOUR_FROM_M).any(axis=0)
    return float((late | astray).sum())


@metric("m", validity=_REACTING)
def total_detour_caused(record: EpisodeRecord) -> Value:
    """Sum over people of their detours at the end of their track or of the episode: the way walked plus the straight
    way to the recorded place, minus the recorded way up to there. Detours up to {DETOUR_FROM_M:g} m and shortcuts do
    not count. The detour of people who only pause is 0. {_GROWS}"""
    if not record.person_detour.size:
        return NO_REACTION
    last = record.person_detour[-1].astype(np.float64)
    return float(last[last > DETOUR_FROM_M].sum())
