"""Sidewalks: failures per distance driven, and distances to people, after SidewalkBench."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics import series
from sidestep.metrics.definition import NOBODY, Value, metric, smallest
from sidestep.metrics.sources import HALL, SIDESTEP, SIDEWALKBENCH
from sidestep.types.decide import counted_failures
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord

INTIMATE_M = 0.45
"""Hall's intimate distance, here from surface to surface."""
LEAST_WAY_M = 1.0
"""Shortest distance over which an episode has a rate."""
LEAST_TOTAL_M = 100.0
"""Distance of all episodes together below which a rate is given as a bound only."""

COLLISIONS = frozenset({Outcome.PEDESTRIAN_COLLISION, Outcome.ENVIRONMENT_COLLISION, Outcome.VEHICLE_COLLISION})
PEDESTRIANS = frozenset({Outcome.PEDESTRIAN_COLLISION})
LANES = frozenset({Outcome.OFF_ROUTE})
FREEZES = frozenset({Outcome.FROZEN})
ALL = COLLISIONS | LANES | FREEZES


def count_failures(record: EpisodeRecord, kinds: frozenset[Outcome] = ALL) -> int:
    """Number of failures of ``kinds``; a contact that returns within the cool-down belongs to the same collision."""
    return sum(outcome in kinds for _, outcome in counted_failures(record.events, record.scenario.rules))


@metric("count", "lower", source=f"{SIDEWALKBENCH}, failure counts")
def failures(record: EpisodeRecord) -> Value:
    """Number of failures: collisions (a new touch of the same one within rules.collision_cooldown_s of the last contact
    belongs to the same collision), times that the robot left the ground of rules.stay_on, and times that it stood for
    rules.frozen_after_s."""
    return count_failures(record)


@metric("count", "lower", source=f"{SIDEWALKBENCH}, out of lane")
def off_route_count(record: EpisodeRecord) -> Value:
    """Number of times that the robot left the ground of rules.stay_on."""
    return count_failures(record, LANES)


@metric("count", "lower", source=f"{SIDEWALKBENCH}, freezing")
def freeze_count(record: EpisodeRecord) -> Value:
    """Number of times that the robot stood for rules.frozen_after_s."""
    return count_failures(record, FREEZES)


def _rate(name: str, what: str, kinds: frozenset[Outcome], short: str) -> Metric:
    """Metric of the number of ``kinds`` per 100 m."""

    @metric(
        "1/100 m",
        "lower",
        source=f"{SIDEWALKBENCH}, {short}",
        validity=f"Episodes with at least {LEAST_WAY_M:g} m driven.",
        name=name,
        definition=f"Number of {what} per 100 m that the robot drove itself; distance over which it was carried back "
        "to its route does not count. Over many episodes the sums are divided; the rates are never averaged. Below "
        f"{LEAST_TOTAL_M:g} m in total, a bound is given with the count (docs/statistics.md).",
    )
    def rate(record: EpisodeRecord) -> Value:
        if (way := series.driven_m(record)) < LEAST_WAY_M:
            return f"the robot drove less than {LEAST_WAY_M:g} m"
        return 100.0 * count_failures(record, kinds) / way

    return rate


failures_per_100m = _rate("failures_per_100m", "failures", ALL, "FC")
collisions_per_100m = _rate("collisions_per_100m", "collisions", COLLISIONS, "C")
off_route_per_100m = _rate("off_route_per_100m", "times that the robot left its ground", LANES, "OL")
freezes_per_100m = _rate("freezes_per_100m", "times that the robot froze", FREEZES, "F")


@metric(series.INDICATOR_UNIT, "lower", source=f"{SIDEWALKBENCH}, pedestrian collision rate", distance="surface")
def pedestrian_contact(record: EpisodeRecord) -> Value:
    """1 if the robot touched anybody in the episode, whatever its outcome, else 0. The mean over episodes is the
    pedestrian collision rate."""
    return count_failures(record, PEDESTRIANS) > 0


@metric(
    "m",
    "higher",
    source=f"{SIDEWALKBENCH}, minimum pedestrian distance, which does not say between which points",
    validity="Episodes that succeeded and in which somebody was present.",
    distance="centre",
)
def success_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Smallest distance from the robot's reference point to the centre of any person at any time."""
    if record.outcome is not Outcome.SUCCESS:
        return "the episode did not succeed"
    return smallest(series.pedestrian_centre_distance(record), NOBODY)


@metric(
    series.INDICATOR_UNIT,
    "higher",
    source=f"{SIDESTEP}, after {SIDEWALKBENCH}, which names the aim, and {HALL}, who names the distance",
    distance="surface",
)
def social_compliance(record: EpisodeRecord) -> Value:
    """1 if the episode succeeded and nobody was ever nearer than {INTIMATE_M:g} m to the robot, else 0."""
    least = np.nanmin(series.pedestrian_distance(record), initial=np.inf)
    return bool(record.outcome is Outcome.SUCCESS and least >= INTIMATE_M - series.THRESHOLD_TOLERANCE_M)
