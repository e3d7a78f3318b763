"""How to define a metric: a function from a record to a number, or to the reason why there is none, with a decorator
that gives unit, direction, source and validity.

    @metric("m", "lower", source=f"{FRANCIS}, PL", validity="Episodes that reached the goal.")
    def path_length(record: EpisodeRecord) -> Value:
        \"\"\"Σ_k |p_k - p_(k-1)|; slower than {STANDING_MPS:g} m/s the robot stands.\"\"\"
        return why_not_driven(record) or driven_m(record)

The function's name is the name of the metric; its docstring is the definition that the page of metrics shows. Names
in braces are replaced by constants of the module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Literal

import numpy as np

from sidestep.interfaces import Direction, Metric
from sidestep.metrics.sources import SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

NO_STEPS = "the episode has no steps"
NOBODY = "nobody was present"
STARTS_AT_GOAL = "the robot starts at its goal"

Value = float | str
"""A number in the metric's unit, or the reason why there is none."""
Function = Callable[[EpisodeRecord], Value | MetricResult]
"""A metric in one dialect; it returns a ``MetricResult`` if its unit differs from the metric's."""


def metric(
    unit: str,
    direction: Direction = "none",
    *,
    source: str = SIDESTEP,
    validity: str = "Always.",
    distance: Literal["surface", "centre", "none"] = "none",
    dialects: Mapping[str, Function] | None = None,
    name: str = "",
    definition: str = "",
) -> Callable[[Function], Metric]:
    """Turn a function into a ``Metric``. ``name`` and ``definition`` are for functions created inside another
    function."""

    def decorate(function: Function) -> Metric:
        function.__name__ = name or function.__name__
        constants = vars(sys.modules[function.__module__])
        function.__doc__ = definition or " ".join((function.__doc__ or "").format_map(constants).split())
        return Metric(
            name=function.__name__,
            unit=unit,
            direction=direction,
            definition=function.__doc__,
            source=source,
            validity=validity,
            function=_with_unit(function, unit),
            distance=distance,
            dialects={dialect: _with_unit(other, unit) for dialect, other in (dialects or {}).items()},
        )

    return decorate


def _with_unit(function: Function, unit: str) -> Callable[[EpisodeRecord], MetricResult]:
    @wraps(function)
    def scored(record: EpisodeRecord) -> MetricResult:
        found = function(record)
        if isinstance(found, MetricResult):
            return found
        return MetricResult.invalid(unit, found) if isinstance(found, str) else MetricResult(float(found), unit)

    return scored


def smallest(series: FloatArray, reason: str) -> Value:
    """The minimum of the values that are not NaN; ``reason`` if there is none."""
    known = series[~np.isnan(series)]
    return float(known.min()) if known.size else reason


def largest(series: FloatArray, reason: str) -> Value:
    """The maximum of the values that are not NaN; ``reason`` if there is none."""
    known = series[~np.isnan(series)]
    return float(known.max()) if known.size else reason


def average(series: FloatArray, reason: str, weights: FloatArray | None = None) -> Value:
    """The (weighted) mean of the values that are not NaN; ``reason`` if there is none.

    Clipped to the values' range, which rounding could leave by one part in 10¹⁶.
    """
    known = ~np.isnan(series)
    if not known.any():
        return reason
    values = series[known]
    mean = np.average(values, weights=None if weights is None else weights[known])
    return float(np.clip(mean, values.min(), values.max()))
