"""Staged events: whether the event of a scenario happened, and whether the robot stayed with a companion.

An episode can end before its event begins: the robot leaves the sidewalk on its way there, or never sets off.
Such an episode fails like any other, but says nothing about the event, so tables count it separately.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sidestep.metrics import series
from sidestep.metrics.definition import Value, average, metric
from sidestep.metrics.sources import HALL, SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord, Event

EventState = Literal["happened", "missed", ""]

STANDING_KINDS = frozenset({"obstructing", "conversing", "queuing"})
"""Kinds of events whose people stand before and after the trigger: they happen when the robot comes near."""
MET_WITHIN_M = 4.0
"""Largest distance (centres) at which a robot meets people who stand."""


def event_state(record: EpisodeRecord) -> EventState:
    """``happened`` if at least one event of the scenario happened, ``missed`` if none did, ``""`` if none is staged.

    An event happens when it is triggered: its people set off (frontal, lateral, overtaking, crossing and the other
    kinds that walk) or raise a hand (gesturing). If its people only stand (``STANDING_KINDS``), the robot's centre must
    also come within ``MET_WITHIN_M`` of the nearest of them, at the trigger or later.
    """
    if not record.scenario.events:
        return ""
    triggers = (event for event in record.events if event.kind == "trigger")
    return "happened" if any(_event_happened_at(record, trigger) for trigger in triggers) else "missed"


def _event_happened_at(record: EpisodeRecord, trigger: Event) -> bool:
    if trigger.text not in STANDING_KINDS:
        return True
    first = np.array([f"person:{number}" == trigger.subject for number in record.person_id.tolist()], dtype=bool)
    state = min(int(np.searchsorted(record.time, trigger.time - 1e-9)), record.steps)
    group = record.person_group[state]  # as it is when the event is triggered
    together = group[first]
    people = first | np.isin(group, together[together >= 0])
    distance = series.pedestrian_centre_distance(record)[record.time >= trigger.time - 1e-9][:, people]
    return bool((distance <= MET_WITHIN_M + series.THRESHOLD_TOLERANCE_M).any())


@metric(series.INDICATOR_UNIT, validity="Episodes whose scenario stages an event.", distance="centre")
def event_happened(record: EpisodeRecord) -> Value:
    """1 if an event that the scenario stages was triggered, so that its people set off or raised a hand. For people who
    only stand (obstructing, conversing, queuing), the robot's centre must also have come within {MET_WITHIN_M:g} m of
    the nearest of them. 0 if the episode ended before its event, whatever its outcome."""
    return event_state(record) == "happened" if record.scenario.events else "the scenario stages no event"


COMPANION_EVENTS = frozenset({"leading", "following", "accompanying"})
"""Events whose person keeps the robot company."""
NEAREST_M, FARTHEST_M = 0.45, 3.6
"""The band: Hall's personal and social distance."""
_NO_COMPANION = "nobody led, followed or accompanied the robot"
_WITH_COMPANION = "Episodes in which a leading, following or accompanying event was triggered."


def companion_distances(record: EpisodeRecord) -> FloatArray:
    """(K,) surface distances (m) to the companion in the states after the trigger, while the companion is present;
    several companions are concatenated."""
    names = [f"person:{number}" for number in record.person_id]
    distance, parts = series.pedestrian_distance(record), [np.zeros(0)]
    for event in record.events:
        if event.kind == "trigger" and event.text in COMPANION_EVENTS and event.subject in names:
            with_robot = distance[record.time >= event.time - 1e-9, names.index(event.subject)]
            parts.append(with_robot[~np.isnan(with_robot)])
    return np.concatenate(parts)


@metric(
    "ratio",
    "higher",
    source=f"{SIDESTEP}; the band from the personal to the social distance of {HALL}",
    validity=_WITH_COMPANION,
    distance="surface",
)
def companion_share(record: EpisodeRecord) -> Value:
    """Share of states with the person of a leading, following or accompanying event {NEAREST_M:g} to {FARTHEST_M:g} m
    from the robot, both included, among the states from the event's trigger on in which the person is present."""
    distance = companion_distances(record)
    return average(((distance >= NEAREST_M) & (distance <= FARTHEST_M)).astype(np.float64), _NO_COMPANION)


@metric("m", validity=_WITH_COMPANION, distance="surface")
def companion_distance(record: EpisodeRecord) -> Value:
    """Mean distance to the person of a leading, following or accompanying event, over the states from the event's
    trigger on in which the person is present."""
    return average(companion_distances(record), _NO_COMPANION)
