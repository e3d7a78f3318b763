"""Sidewalks: failures over the way driven, and how people were treated, as SidewalkBench counts them."""

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
"""Rates over a shorter way than this say nothing."""
LEAST_TOTAL_M = 100.0
"""Distance of all episodes together below which a rate is given as a bound only."""

COLLISIONS = frozenset({Outcome.PEDESTRIAN_COLLISION, Outcome.ENVIRONMENT_COLLISION, Outcome.VEHICLE_COLLISION})
PEDESTRIANS = frozenset({Outcome.PEDESTRIAN_COLLISION})
LANES = frozenset({Outcome.OFF_ROUTE})
FREEZES = frozenset({Outcome.FROZEN})
ALL = COLLISIONS | LANES | FREEZES


def count_failures(record: EpisodeRecord, kinds: frozenset[Outcome] = ALL) -> int:
    """How often one of ``kinds`` happened; a contact that returns within the cool-down is one collision."""
    return sum(outcome in kinds for _, outcome in counted_failures(record.events, record.scenario.rules))


@metric("count", "lower", source=f"{SIDEWALKBENCH}, failure counts")
def failures(record: EpisodeRecord) -> Value:
    """Number of collisions (a new touch of the same one within rules.collision_cooldown_s of the last contact belongs
    to the same collision), of times the robot left the ground of rules.stay_on, and of times it stood for
    rules.frozen_after_s."""
    return count_failures(record)


@metric("count", "lower", source=f"{SIDEWALKBENCH}, out of lane")
def off_route_count(record: EpisodeRecord) -> Value:
    """Number of times the robot left the ground of rules.stay_on."""
    return count_failures(record, LANES)


@metric("count", "lower", source=f"{SIDEWALKBENCH}, freezing")
def freeze_count(record: EpisodeRecord) -> Value:
    """Number of times the robot stood for rules.frozen_after_s."""
    return count_failures(record, FREEZES)


def _rate(name: str, what: str, kinds: frozenset[Outcome], short: str) -> Metric:
    """How often ``kinds`` happened per 100 m."""

    @metric(
        "1/100 m",
        "lower",
        source=f"{SIDEWALKBENCH}, {short}",
        validity=f"Episodes with at least {LEAST_WAY_M:g} m driven.",
        name=name,
        definition=f"Number of {what} per 100 m of way that the robot drove itself; where it was carried back to its "
        "route is not driven. Over many episodes the sums are divided, never the rates averaged; over less than "
        f"{LEAST_TOTAL_M:g} m in all, a bound is given with the count (docs/statistics.md).",
    )
    def rate(record: EpisodeRecord) -> Value:
        if (way := series.driven_m(record)) < LEAST_WAY_M:
            return f"the robot drove less than {LEAST_WAY_M:g} m"
        return 100.0 * count_failures(record, kinds) / way

    return rate


failures_per_100m = _rate("failures_per_100m", "failures", ALL, "FC")
collisions_per_100m = _rate("collisions_per_100m", "collisions", COLLISIONS, "C")
off_route_per_100m = _rate("off_route_per_100m", "times the robot left its ground", LANES, "OL")
freezes_per_100m = _rate("freezes_per_100m", "times the robot froze", FREEZES, "F")


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
    """Least distance from the robot's reference point to the centre of any person at any time."""
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
