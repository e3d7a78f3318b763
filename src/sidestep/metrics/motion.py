"""Motion: speed, acceleration, jerk, energy and erratic driving, from recorded velocities."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sidestep.interfaces import Direction, Metric
from sidestep.metrics import series
from sidestep.metrics import socnavbench_code as code
from sidestep.metrics.definition import NO_STEPS, Value, average, largest, metric, smallest
from sidestep.metrics.outcome import DRIVEN, why_not_driven
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord

TURN_DEAD_BAND_RADPS = 0.1
"""Turning slower than this has no direction."""
TRAVEL_DEAD_BAND_MPS = 0.01
"""Driving slower than this has no direction."""

_NO_FRONT = "a holonomic robot drives in every direction alike"
_COMPLETED = f"{DRIVEN}: a drive that ends early has a lower value without being better."
_TURN = (
    "The turn rate is the recorded one; for a holonomic robot, whose heading is free, it is the rate at which the "
    "direction of its velocity turns, 0 while it stands."
)


def _statistic(
    motion: series.Series, which: Literal["min", "avg", "max"], unit: str, direction: Direction, formula: str,
    enough: str,
) -> Metric:  # fmt: skip
    """Minimum, time-weighted mean or maximum of a series of motion over the steps k = 1 … T."""
    quantity, reason = motion.__name__, f"the episode has less than {enough}"
    symbol = {"speed": "V", "acceleration": "A", "jerk": "J"}[quantity]
    word = {"min": "Smallest", "avg": "Mean", "max": "Largest"}[which]
    published = f"{SOCNAVBENCH}, average {quantity}; " if which == "avg" else ""

    @metric(
        unit,
        direction,
        source=f"{published}{FRANCIS}, {symbol} {which}",
        validity=f"Episodes with at least {enough}.",
        dialects={code.NAME: code.make_motion_statistic(quantity, which)},
        name=f"{quantity}_{which}",
        definition=f"{word} {quantity} over the steps: {formula}{', weighted by time' if which == 'avg' else ''}.",
    )
    def statistic(record: EpisodeRecord) -> Value:
        values = motion(record)[1:]
        if which == "avg":
            return average(values, reason, np.diff(record.time))
        return (smallest if which == "min" else largest)(values, reason)

    return statistic


_SPEED = "|v_k|, k = 1 … T, where v_k is the recorded velocity at which step k was executed"
_ACCELERATION = "|v_k - v_(k-1)| / (t_k - t_(k-1)), k = 1 … T, of the recorded velocity vectors"
_JERK = "|a_k - a_(k-1)| over the time between the middles of the two steps, k = 2 … T, of the acceleration vectors"

speed_min = _statistic(series.speed, "min", "m/s", "none", _SPEED, "one step")
speed_avg = _statistic(series.speed, "avg", "m/s", "none", _SPEED, "one step")
speed_max = _statistic(series.speed, "max", "m/s", "none", _SPEED, "one step")
acceleration_min = _statistic(series.acceleration, "min", "m/s²", "lower", _ACCELERATION, "one step")
acceleration_avg = _statistic(series.acceleration, "avg", "m/s²", "lower", _ACCELERATION, "one step")
acceleration_max = _statistic(series.acceleration, "max", "m/s²", "lower", _ACCELERATION, "one step")
jerk_min = _statistic(series.jerk, "min", "m/s³", "lower", _JERK, "two steps")
jerk_avg = _statistic(series.jerk, "avg", "m/s³", "lower", _JERK, "two steps")
jerk_max = _statistic(series.jerk, "max", "m/s³", "lower", _JERK, "two steps")


@metric(
    "J·s",
    "lower",
    source=f"{SOCNAVBENCH}, energy expenditure",
    validity=_COMPLETED,
    dialects={code.NAME: code.energy},
)
def energy(record: EpisodeRecord) -> Value:
    """Σ_k |v_k|² (t_k - t_(k-1)) = ∫ v² dt for unit mass (1 kg), summed over the episode. The integral's unit is J·s,
    which the paper calls joule."""
    return why_not_driven(record) or float(np.square(series.speed(record)[1:]) @ np.diff(record.time))


def sign_changes(values: FloatArray, dead_band: float) -> int:
    """Number of times that ``values`` go from beyond the dead band on one side to beyond it on the other."""
    signs = np.sign(values[np.abs(values) > dead_band])
    return int(np.count_nonzero(signs[1:] != signs[:-1]))


@metric("count", "lower", validity=_COMPLETED)
def oscillations(record: EpisodeRecord) -> Value:
    """Number of times that the turn rate goes from beyond {TURN_DEAD_BAND_RADPS} rad/s on one side to beyond it on the
    other, regardless of slower turning in between. {_TURN}"""
    return why_not_driven(record) or sign_changes(series.turn_rate(record)[1:], TURN_DEAD_BAND_RADPS)


@metric(
    "rad/s",
    "lower",
    source=f"{SIDESTEP}, beside {HUNAVSIM}'s cumulative heading changes",
    validity="Episodes with at least one step.",
)
def angular_speed_avg(record: EpisodeRecord) -> Value:
    """Mean of |turn rate| over the steps k = 1 … T, weighted by time. {_TURN}"""
    return average(np.abs(series.turn_rate(record)[1:]), NO_STEPS, np.diff(record.time))


@metric("count", "lower", validity=f"{DRIVEN}, except those of holonomic robots.")
def direction_reversals(record: EpisodeRecord) -> Value:
    """Number of times that the velocity along the heading goes from beyond {TRAVEL_DEAD_BAND_MPS} m/s forwards to
    beyond it backwards, or vice versa."""
    if record.robot.dynamics == "holonomic":
        return _NO_FRONT
    return why_not_driven(record) or sign_changes(series.forward_speed(record)[1:], TRAVEL_DEAD_BAND_MPS)


@metric("ratio", "lower", validity="Episodes with at least one step, of robots that are not holonomic.")
def backward_motion(record: EpisodeRecord) -> Value:
    """Share of time in which the velocity along the heading is below -{TRAVEL_DEAD_BAND_MPS} m/s."""
    if record.robot.dynamics == "holonomic":
        return _NO_FRONT
    backwards = (series.forward_speed(record)[1:] < -TRAVEL_DEAD_BAND_MPS).astype(np.float64)
    return average(backwards, NO_STEPS, np.diff(record.time))
