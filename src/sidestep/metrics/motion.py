"""Motion: speed, acceleration, jerk, energy and erratic driving, from recorded velocities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from sidestep.interfaces import Direction, Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.outcome import DRIVEN, why_not_driven
from sidestep.metrics.series import (
    NO_STEPS,
    acceleration,
    average,
    forward_speed,
    jerk,
    largest,
    smallest,
    speed,
    turn_rate,
)
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

TURN_DEAD_BAND_RADPS = 0.1
"""Turning slower than this has no direction."""
TRAVEL_DEAD_BAND_MPS = 0.01
"""Driving slower than this has no direction."""

_NO_FRONT = "a holonomic robot drives in every direction alike"
_COMPLETED = f"{DRIVEN}: another one costs little, but is no better."

Statistic = Literal["min", "avg", "max"]
_WORDS: dict[str, str] = {"min": "Smallest", "avg": "Mean", "max": "Largest"}


def summarise_series(
    series: FloatArray, statistic: Statistic, unit: str, reason: str, weights: FloatArray
) -> MetricResult:
    """Minimum, time-weighted mean or maximum of the values that are not NaN."""
    if statistic == "avg":
        return average(series, unit, reason, weights)
    return (smallest if statistic == "min" else largest)(series, unit, reason)


def make_motion_statistic(
    series: Callable[[EpisodeRecord], FloatArray], statistic: Statistic, unit: str, reason: str
) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that summarises a series of motion over the steps k = 1 … T, weighted by their lengths."""

    def motion_statistic(record: EpisodeRecord) -> MetricResult:
        return summarise_series(series(record)[1:], statistic, unit, reason, np.diff(record.time))

    motion_statistic.__doc__ = f"{_WORDS[statistic]} {series.__name__} over the steps."
    return motion_statistic


def energy(record: EpisodeRecord) -> MetricResult:
    """∫ v² dt = Σ v_k² (t_k - t_(k-1))."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("J·s", reason)
    return MetricResult(float(np.square(speed(record)[1:]) @ np.diff(record.time)), "J·s")


def sign_changes(values: FloatArray, dead_band: float) -> int:
    """How often ``values`` go from beyond the dead band on one side to beyond it on the other."""
    signs = np.sign(values[np.abs(values) > dead_band])
    return int(np.count_nonzero(signs[1:] != signs[:-1]))


def oscillations(record: EpisodeRecord) -> MetricResult:
    """Sign changes of the turn rate."""
    if reason := why_not_driven(record):
        return MetricResult.invalid("count", reason)
    return MetricResult(float(sign_changes(turn_rate(record)[1:], TURN_DEAD_BAND_RADPS)), "count")


def direction_reversals(record: EpisodeRecord) -> MetricResult:
    """Changes between driving forwards and backwards."""
    if record.robot.dynamics == "holonomic":
        return MetricResult.invalid("count", _NO_FRONT)
    if reason := why_not_driven(record):
        return MetricResult.invalid("count", reason)
    return MetricResult(float(sign_changes(forward_speed(record)[1:], TRAVEL_DEAD_BAND_MPS)), "count")


def backward_motion(record: EpisodeRecord) -> MetricResult:
    """Share of time with a forward speed below -0.01 m/s."""
    if record.robot.dynamics == "holonomic":
        return MetricResult.invalid("ratio", _NO_FRONT)
    backwards = (forward_speed(record)[1:] < -TRAVEL_DEAD_BAND_MPS).astype(np.float64)
    return average(backwards, "ratio", NO_STEPS, np.diff(record.time))


def _statistic(
    quantity: str, statistic: Statistic, unit: str, direction: Direction, formula: str, enough: str
) -> Metric:
    series = {"speed": speed, "acceleration": acceleration, "jerk": jerk}[quantity]
    symbol = {"speed": "V", "acceleration": "A", "jerk": "J"}[quantity]
    published = f"{SOCNAVBENCH}, average {quantity}; " if statistic == "avg" else ""
    return Metric(
        name=f"{quantity}_{statistic}",
        unit=unit,
        direction=direction,
        definition=f"{_WORDS[statistic]} {quantity} over the steps: {formula}.",
        source=f"{published}{FRANCIS}, {symbol} {statistic}",
        validity=f"Episodes with {enough}.",
        function=make_motion_statistic(series, statistic, unit, f"the episode has less than {enough}"),
        dialects={
            socnavbench_code.NAME: socnavbench_code.make_motion_statistic(quantity, statistic, unit),
        },
    )


_SPEED = "|v_k|, k = 1 … T, where v_k is the recorded velocity at which step k was executed"
_ACCELERATION = "|v_k - v_(k-1)| / (t_k - t_(k-1)), k = 1 … T, of the recorded velocity vectors"
_JERK = "|a_k - a_(k-1)| over the time between the middles of the two steps, k = 2 … T, of the acceleration vectors"

SPEED_MIN = _statistic("speed", "min", "m/s", "none", _SPEED, "one step")
SPEED_AVG = _statistic("speed", "avg", "m/s", "none", _SPEED + ", weighted by time", "one step")
SPEED_MAX = _statistic("speed", "max", "m/s", "none", _SPEED, "one step")
ACCELERATION_MIN = _statistic("acceleration", "min", "m/s²", "lower", _ACCELERATION, "one step")
ACCELERATION_AVG = _statistic("acceleration", "avg", "m/s²", "lower", _ACCELERATION + ", weighted by time", "one step")
ACCELERATION_MAX = _statistic("acceleration", "max", "m/s²", "lower", _ACCELERATION, "one step")
JERK_MIN = _statistic("jerk", "min", "m/s³", "lower", _JERK, "two steps")
JERK_AVG = _statistic("jerk", "avg", "m/s³", "lower", _JERK + ", weighted by time", "two steps")
JERK_MAX = _statistic("jerk", "max", "m/s³", "lower", _JERK, "two steps")

_TURN = (
    "The turn rate is the recorded one; of a holonomic robot, whose heading is free, it is how fast the direction of "
    "its velocity turns, 0 while it stands."
)
ENERGY = Metric(
    name="energy",
    unit="J·s",
    direction="lower",
    definition="Σ_k |v_k|² (t_k - t_(k-1)) = ∫ v² dt for unit mass (1 kg), summed over the episode. The integral's "
    "unit is J·s, which the paper calls joule.",
    source=f"{SOCNAVBENCH}, energy expenditure",
    validity=_COMPLETED,
    function=energy,
    dialects={socnavbench_code.NAME: socnavbench_code.energy},
)
OSCILLATIONS = Metric(
    name="oscillations",
    unit="count",
    direction="lower",
    definition=f"How often the turn rate goes from beyond {TURN_DEAD_BAND_RADPS} rad/s on one side to beyond it on the "
    f"other; slower turning in between does not matter. {_TURN}",
    source=SIDESTEP,
    validity=_COMPLETED,
    function=oscillations,
)
ANGULAR_SPEED_AVG = Metric(
    name="angular_speed_avg",
    unit="rad/s",
    direction="lower",
    definition=f"Mean of |turn rate| over the steps k = 1 … T, weighted by time. {_TURN}",
    source=f"{SIDESTEP}, beside {HUNAVSIM}'s cumulative heading changes",
    validity="Episodes with one step.",
    function=lambda record: average(np.abs(turn_rate(record)[1:]), "rad/s", NO_STEPS, np.diff(record.time)),
)
DIRECTION_REVERSALS = Metric(
    name="direction_reversals",
    unit="count",
    direction="lower",
    definition="How often the velocity along the heading goes from beyond "
    f"{TRAVEL_DEAD_BAND_MPS} m/s forwards to beyond it backwards or the other way round.",
    source=SIDESTEP,
    validity=f"{DRIVEN}; not those of holonomic robots.",
    function=direction_reversals,
)
BACKWARD_MOTION = Metric(
    name="backward_motion",
    unit="ratio",
    direction="lower",
    definition=f"Share of time in which the velocity along the heading is below -{TRAVEL_DEAD_BAND_MPS} m/s.",
    source=SIDESTEP,
    validity="Episodes with one step of a robot that is not holonomic.",
    function=backward_motion,
)
