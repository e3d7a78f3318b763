"""How a metric answers: one number of a series, or no value and the reason."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray
from sidestep.types.result import MetricResult

INDICATOR_UNIT = "0/1"
"""Unit of metrics that are 0 or 1 in each episode: their mean is a proportion."""

NO_STEPS = "the episode has no steps"
NOBODY = "nobody was present"


def indicator(holds: bool) -> MetricResult:
    """1 if it holds, else 0."""
    return MetricResult(float(holds), INDICATOR_UNIT)


def smallest(series: FloatArray, unit: str, reason: str) -> MetricResult:
    """The minimum of the values that are not NaN; ``reason`` if there is none."""
    known = series[~np.isnan(series)]
    return MetricResult(float(known.min()), unit) if known.size else MetricResult.invalid(unit, reason)


def largest(series: FloatArray, unit: str, reason: str) -> MetricResult:
    """The maximum of the values that are not NaN; ``reason`` if there is none."""
    known = series[~np.isnan(series)]
    return MetricResult(float(known.max()), unit) if known.size else MetricResult.invalid(unit, reason)


def average(series: FloatArray, unit: str, reason: str, weights: FloatArray | None = None) -> MetricResult:
    """The (weighted) mean of the values that are not NaN; ``reason`` if there is none.

    Clipped to the values' range, which rounding could leave by one part in 10¹⁶.
    """
    known = ~np.isnan(series)
    if not known.any():
        return MetricResult.invalid(unit, reason)
    values = series[known]
    mean = np.average(values, weights=None if weights is None else weights[known])
    return MetricResult(float(np.clip(mean, values.min(), values.max())), unit)
