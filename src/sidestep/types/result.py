"""A metric's answer: a value with its validity, never a magic number."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Self


@dataclass(frozen=True, slots=True)
class MetricResult:
    """``value`` in ``unit`` if ``valid``; otherwise ``value`` is NaN and ``reason`` says why there is none."""

    value: float
    unit: str
    valid: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        if self.valid and not isfinite(self.value):
            raise ValueError(f"a valid metric result must be finite, got {self.value}")
        if not self.valid and not self.reason:
            raise ValueError("a metric result that is not valid must say why")

    @classmethod
    def invalid(cls, unit: str, reason: str) -> Self:
        """No value, and the reason."""
        return cls(nan, unit, valid=False, reason=reason)
