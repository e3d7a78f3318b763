"""Staged events: whether what a scenario stages for the robot happened in the episode.

An episode can end before its event begins: the robot leaves the sidewalk on its way there, or never sets off. Such an
episode fails like any other, but says nothing about the event, so tables count it separately.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.answers import INDICATOR_UNIT, indicator
from sidestep.metrics.series import THRESHOLD_TOLERANCE_M, pedestrian_centre_distance
from sidestep.metrics.sources import SIDESTEP
from sidestep.types.record import EpisodeRecord, Event
from sidestep.types.result import MetricResult

EventState = Literal["happened", "missed", ""]

STANDING_KINDS = frozenset({"obstructing", "conversing", "queuing"})
"""Kinds whose people stand where they are, triggered or not: these happen when the robot comes near them."""
MET_WITHIN_M = 4.0
"""A robot that came so near (centres) to people who stand has met them."""


def event_state(record: EpisodeRecord) -> EventState:
    """``happened`` if at least one event of the scenario happened, ``missed`` if none did, ``""`` if none is staged.

    An event has happened when it was triggered: its people set off (frontal, lateral, overtaking, crossing and the
    others who walk) or raised a hand (gesturing). People who only stand (``STANDING_KINDS``) must also have been met:
    the robot's centre came within ``MET_WITHIN_M`` of the nearest of them, at the trigger or later.
    """
    if not record.scenario.events:
        return ""
    triggers = (event for event in record.events if event.kind == "trigger")
    return "happened" if any(_happened(record, trigger) for trigger in triggers) else "missed"


def _happened(record: EpisodeRecord, trigger: Event) -> bool:
    if trigger.text not in STANDING_KINDS:
        return True
    first = np.array([f"person:{number}" == trigger.subject for number in record.person_id.tolist()], dtype=bool)
    state = min(int(np.searchsorted(record.time, trigger.time - 1e-9)), record.steps)
    group = record.person_group[state]  # as it is when the event is triggered
    together = group[first]
    people = first | np.isin(group, together[together >= 0])
    distance = pedestrian_centre_distance(record)[record.time >= trigger.time - 1e-9][:, people]
    return bool((distance <= MET_WITHIN_M + THRESHOLD_TOLERANCE_M).any())


def event_happened(record: EpisodeRecord) -> MetricResult:
    """1 if an event of the scenario happened, 0 if all were missed."""
    state = event_state(record)
    if not state:
        return MetricResult.invalid(INDICATOR_UNIT, "the scenario stages no event")
    return indicator(state == "happened")


EVENT_HAPPENED = Metric(
    name="event_happened",
    unit=INDICATOR_UNIT,
    direction="none",
    definition="1 if an event that the scenario stages was triggered, so that its people set off or raised a hand; "
    "people who only stand (obstructing, conversing, queuing) must also have been met: the robot's centre came within "
    f"{MET_WITHIN_M:g} m of the nearest of them. Else 0: the episode ended before its event, whatever its outcome.",
    source=SIDESTEP,
    distance="centre",
    validity="Episodes whose scenario stages an event.",
    function=event_happened,
    dialects={},
)
