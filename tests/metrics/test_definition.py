"""How a metric is written: name and definition from the function, unit and reason added to what it returns."""

from __future__ import annotations

import pytest

from sidestep.metrics.definition import Value, metric
from sidestep.types import EpisodeRecord, MetricResult

from .records import straight_run

LIMIT_M, ZONES = 1.5, {"near": (0.0, 0.45)}


@metric("s", "lower", validity="Episodes longer than 1 s.", dialects={"other": lambda record: "never"})
def length(record: EpisodeRecord) -> Value:
    """Time until the end,
    beyond {LIMIT_M:g} m or {ZONES[near][1]:g} m."""
    return record.duration if record.duration > 1 else "too short"


def test_the_function_names_and_defines_the_metric() -> None:
    assert length.name == length.function.__name__ == "length"
    assert length.definition == "Time until the end, beyond 1.5 m or 0.45 m." == length.function.__doc__
    assert (length.unit, length.direction, length.distance, length.source) == ("s", "lower", "none", "Sidestep")


def test_a_number_gets_the_unit_and_a_text_is_the_reason() -> None:
    assert length(straight_run()) == MetricResult(8.0, "s")
    short = length(straight_run(4))
    assert (short.valid, short.unit, short.reason) == (False, "s", "too short")
    assert length(straight_run(), "other").reason == "never"


def test_a_result_keeps_its_own_unit() -> None:
    in_minutes = metric("s", name="minutes", definition="Duration in minutes.")(
        lambda record: MetricResult(record.duration / 60, "min")
    )
    assert in_minutes.name == in_minutes.function.__name__ == "minutes"
    assert in_minutes(straight_run()) == MetricResult(8.0 / 60, "min")


def test_an_unknown_constant_in_a_definition_is_an_error() -> None:
    def nameless(record: EpisodeRecord) -> Value:
        """Nearer than {NO_SUCH_LIMIT} m."""
        return 0.0

    with pytest.raises(KeyError, match="NO_SUCH_LIMIT"):
        metric("m")(nameless)
