"""Sidewalks: failures over the way driven, and how people were treated, as SidewalkBench counts them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics.series import (
    INDICATOR_UNIT,
    NOBODY,
    THRESHOLD_TOLERANCE_M,
    indicator,
    pedestrian_centre_distance,
    pedestrian_distance,
    smallest,
    step_lengths,
)
from sidestep.metrics.sources import HALL, SIDESTEP, SIDEWALKBENCH
from sidestep.types.decide import counted_failures
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

INTIMATE_M = 0.45
"""Hall's intimate distance, here from surface to surface."""
LEAST_WAY_M = 1.0
"""Rates over a shorter way than this say nothing."""
LEAST_TOTAL_M = 100.0
"""Of all episodes together: over a shorter way a rate is given as a bound only."""

COLLISIONS = frozenset({Outcome.PEDESTRIAN_COLLISION, Outcome.ENVIRONMENT_COLLISION, Outcome.VEHICLE_COLLISION})
LANES = frozenset({Outcome.OFF_ROUTE})
FREEZES = frozenset({Outcome.FROZEN})
ALL = COLLISIONS | LANES | FREEZES


def count_failures(record: EpisodeRecord, kinds: frozenset[Outcome] = ALL) -> int:
    """How often one of ``kinds`` happened; a contact that returns within the cool-down is one collision."""
    return sum(outcome in kinds for _, outcome in counted_failures(record.events, record.scenario.rules))


def driven_m(record: EpisodeRecord) -> float:
    """Length of the way that the robot drove itself, m."""
    return float(step_lengths(record).sum())


def failures(record: EpisodeRecord) -> MetricResult:
    """Number of failures."""
    return MetricResult(float(count_failures(record)), "count")


def make_rate(kinds: frozenset[Outcome]) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that answers how often ``kinds`` happened per 100 m."""

    def rate(record: EpisodeRecord) -> MetricResult:
        way = driven_m(record)
        if way < LEAST_WAY_M:
            return MetricResult.invalid("1/100 m", f"the robot drove less than {LEAST_WAY_M:g} m")
        return MetricResult(100.0 * count_failures(record, kinds) / way, "1/100 m")

    rate.__doc__ = f"100 m · number of {', '.join(sorted(kind.value for kind in kinds))} ÷ way driven."
    return rate


def success_pedestrian_distance(record: EpisodeRecord) -> MetricResult:
    """Least distance from the robot's centre to anybody's, in episodes that succeeded."""
    if record.outcome is not Outcome.SUCCESS:
        return MetricResult.invalid("m", "the episode did not succeed")
    return smallest(pedestrian_centre_distance(record), "m", NOBODY)


def social_compliance(record: EpisodeRecord) -> MetricResult:
    """1 if the episode succeeded and the robot stayed out of everybody's intimate space."""
    distance = pedestrian_distance(record)
    least = float(np.nanmin(distance)) if np.isfinite(distance).any() else np.inf
    return indicator(record.outcome is Outcome.SUCCESS and least >= INTIMATE_M - THRESHOLD_TOLERANCE_M)


def _rate_metric(name: str, what: str, kinds: frozenset[Outcome], short: str) -> Metric:
    return Metric(
        name=name,
        unit="1/100 m",
        direction="lower",
        definition=f"Number of {what} per 100 m of way that the robot drove itself; where it was carried back to its "
        "route is not driven. Over many episodes the sums are divided, never the rates averaged; over less than "
        f"{LEAST_TOTAL_M:g} m in all, a bound is given with the count (docs/statistics.md).",
        source=f"{SIDEWALKBENCH}, {short}",
        validity=f"Episodes with at least {LEAST_WAY_M:g} m driven.",
        function=make_rate(kinds),
    )


def _count_metric(name: str, what: str, kinds: frozenset[Outcome], short: str) -> Metric:
    def count(record: EpisodeRecord) -> MetricResult:
        return MetricResult(float(count_failures(record, kinds)), "count")

    count.__doc__ = f"Number of {what}."
    return Metric(
        name=name,
        unit="count",
        direction="lower",
        definition=f"Number of {what}.",
        source=f"{SIDEWALKBENCH}, {short}",
        validity="Always.",
        function=count,
    )


FAILURES = Metric(
    name="failures",
    unit="count",
    direction="lower",
    definition="Number of collisions (a new touch of the same one within rules.collision_cooldown_s of the last "
    "contact belongs to the same collision), of times the robot left the ground of rules.stay_on, and of times it "
    "stood for rules.frozen_after_s.",
    source=f"{SIDEWALKBENCH}, failure counts",
    validity="Always.",
    function=failures,
)
OFF_ROUTE_COUNT = _count_metric(
    "off_route_count", "times the robot left the ground of rules.stay_on", LANES, "out of lane"
)
FREEZE_COUNT = _count_metric("freeze_count", "times the robot stood for rules.frozen_after_s", FREEZES, "freezing")
FAILURES_PER_100M = _rate_metric("failures_per_100m", "failures", ALL, "FC")
COLLISIONS_PER_100M = _rate_metric("collisions_per_100m", "collisions", COLLISIONS, "C")
OFF_ROUTE_PER_100M = _rate_metric("off_route_per_100m", "times the robot left its ground", LANES, "OL")
FREEZES_PER_100M = _rate_metric("freezes_per_100m", "times the robot froze", FREEZES, "F")
PEDESTRIAN_CONTACT = Metric(
    name="pedestrian_contact",
    unit=INDICATOR_UNIT,
    direction="lower",
    definition="1 if the robot touched anybody in the episode, whatever its outcome, else 0. The mean over episodes is "
    "the pedestrian collision rate.",
    source=f"{SIDEWALKBENCH}, pedestrian collision rate",
    distance="surface",
    validity="Always.",
    function=lambda record: indicator(count_failures(record, frozenset({Outcome.PEDESTRIAN_COLLISION})) > 0),
)
SUCCESS_PEDESTRIAN_DISTANCE = Metric(
    name="success_pedestrian_distance",
    unit="m",
    direction="higher",
    definition="Least distance from the robot's reference point to the centre of any person at any time.",
    source=f"{SIDEWALKBENCH}, minimum pedestrian distance, which does not say between which points",
    distance="centre",
    validity="Episodes that succeeded and in which somebody was present.",
    function=success_pedestrian_distance,
)
SOCIAL_COMPLIANCE = Metric(
    name="social_compliance",
    unit=INDICATOR_UNIT,
    direction="higher",
    definition=f"1 if the episode succeeded and nobody was ever nearer than {INTIMATE_M:g} m to the robot, else 0.",
    source=f"{SIDESTEP}, after {SIDEWALKBENCH}, which names the aim, and {HALL}, who names the distance",
    distance="surface",
    validity="Always.",
    function=social_compliance,
)
