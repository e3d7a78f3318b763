"""Company: how well the robot stays with the person whom it follows, leads or accompanies."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.series import pedestrian_distance
from sidestep.metrics.sources import HALL, SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

COMPANY = frozenset({"leading", "following", "accompanying"})
"""Events whose person keeps the robot company."""
NEAREST_M, FARTHEST_M = 0.45, 3.6
"""The band: Hall's personal and social distance."""
_ALONE = "nobody led, followed or accompanied the robot"


def companion_distances(record: EpisodeRecord) -> FloatArray:
    """(K,) surface distances (m) to the companion in the states after the trigger, while the companion is there; of
    several companions one after the other."""
    names = [f"person:{number}" for number in record.person_id]
    distance, parts = pedestrian_distance(record), [np.zeros(0)]
    for event in record.events:
        if event.kind == "trigger" and event.text in COMPANY and event.subject in names:
            with_robot = distance[record.time >= event.time - 1e-9, names.index(event.subject)]
            parts.append(with_robot[~np.isnan(with_robot)])
    return np.concatenate(parts)


def companion_share(record: EpisodeRecord) -> MetricResult:
    """Share of the states with a companion in which the companion is neither too near nor too far."""
    distance = companion_distances(record)
    if not distance.size:
        return MetricResult.invalid("ratio", _ALONE)
    return MetricResult(float(np.mean((distance >= NEAREST_M) & (distance <= FARTHEST_M))), "ratio")


def companion_distance(record: EpisodeRecord) -> MetricResult:
    """Mean distance to the companion."""
    distance = companion_distances(record)
    return MetricResult(float(distance.mean()), "m") if distance.size else MetricResult.invalid("m", _ALONE)


_VALIDITY = "Episodes in which an event leading, following or accompanying was triggered."
COMPANION_SHARE = Metric(
    name="companion_share",
    unit="ratio",
    direction="higher",
    definition="Of the states from the trigger of an event leading, following or accompanying on, while its person is "
    f"present, the share with that person {NEAREST_M:g} to {FARTHEST_M:g} m from the robot, both included.",
    source=f"{SIDESTEP}; the band from the personal to the social distance of {HALL}",
    distance="surface",
    validity=_VALIDITY,
    function=companion_share,
    dialects={},
)
COMPANION_DISTANCE = Metric(
    name="companion_distance",
    unit="m",
    direction="none",
    definition="Mean distance to the person of an event leading, following or accompanying, over the states from its "
    "trigger on in which the person is present.",
    source=SIDESTEP,
    distance="surface",
    validity=_VALIDITY,
    function=companion_distance,
    dialects={},
)
