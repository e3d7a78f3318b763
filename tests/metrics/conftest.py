"""What every test of metrics gets: a way to score by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sidestep.metrics.score import score
from sidestep.types import EpisodeRecord, MetricResult


@pytest.fixture(scope="session")
def result() -> Callable[..., MetricResult]:
    """Score one metric of a record."""

    def scored(record: EpisodeRecord, metric: str, dialect: str = "paper") -> MetricResult:
        return score(record, [metric], dialect)[metric]

    return scored


@pytest.fixture(scope="session")
def value(result: Callable[..., MetricResult]) -> Callable[..., float]:
    """The value of one metric of a record, which must be valid."""

    def valid_value(record: EpisodeRecord, metric: str, dialect: str = "paper") -> float:
        found = result(record, metric, dialect)
        assert found.valid, found.reason
        return found.value

    return valid_value
