"""Results of an episode: the value of a metric with its validity, never a magic number, and what a policy receives
at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Self


@dataclass(frozen=True, slots=True)
class MetricResult:
    """``value`` in ``unit`` if ``valid``; otherwise ``value`` is NaN and ``reason`` says why there is none."""

    value: float  # the value, or NaN
    unit: str  # unit of the value
    valid: bool = True  # whether there is a value
    reason: str = ""  # why there is no value

    def __post_init__(self) -> None:
        if self.valid and not isfinite(self.value):
            raise ValueError(f"a valid metric result must be finite, got {self.value}")
        if not self.valid and not self.reason:
            raise ValueError("a metric result that is not valid must say why")

    @classmethod
    def invalid(cls, unit: str, reason: str) -> Self:
        """No value, and the reason."""
        return cls(nan, unit, valid=False, reason=reason)


@dataclass(frozen=True)
class EpisodeEnd:
    """What ``Policy.end_episode`` gets when an episode is over: a copy, so that nothing in it changes the results."""

    outcome: str  # outcome of the episode
    error: str  # error message, or empty
    metrics: Mapping[str, MetricResult]  # metric name → result
