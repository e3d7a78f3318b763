"""Tables: what is counted, averaged and how sure we are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.score import EpisodeScores, directions
from sidestep.metrics.statistics import bootstrap_means, wilson
from sidestep.types import MetricResult, Outcome


def episode(policy: str, seed: int, outcome: Outcome = Outcome.SUCCESS, **values: float | None) -> EpisodeScores:
    results = {
        name: MetricResult.invalid("m", "none") if value is None else MetricResult(value, "m")
        for name, value in values.items()
    }
    results["success"] = MetricResult(float(outcome is Outcome.SUCCESS), "0/1")
    return EpisodeScores("suite", "scenario", policy, seed, outcome, "", results)


def test_failures_are_counted_and_never_averaged_away() -> None:
    rows = [
        episode("a", 0, distance=1.0),
        episode("a", 1, distance=3.0),
        episode("a", 2, Outcome.POLICY_ERROR, distance=None),
        episode("a", 3, Outcome.TIMEOUT, distance=None),
    ]
    table = aggregate(rows).policies["a"]
    assert table.episodes == 4
    assert table.outcomes["success"] == 2
    assert table.outcomes["policy_error"] == 1
    assert table.outcomes["timeout"] == 1
    assert sum(table.outcomes.values()) == 4
    assert set(table.outcomes) == {outcome.value for outcome in Outcome}
    assert table.metrics["success"].mean == 0.5
    assert table.metrics["success"].n == 4
    assert table.metrics["distance"].n == 2
    assert table.metrics["distance"].mean == 2


def test_spread_and_quartiles() -> None:
    table = aggregate([episode("a", k, x=float(v)) for k, v in enumerate([1, 2, 3, 4, 10])])
    x = table.policies["a"].metrics["x"]
    assert (x.median, x.lower_quartile, x.upper_quartile, x.mean) == (3, 2, 4, 4)
    assert x.sd == pytest.approx(np.sqrt(12.5))
    assert x.low < 4 < x.high
    assert x.unit == "m"


def test_too_few_values() -> None:
    one = aggregate([episode("a", 0, x=2.0)]).policies["a"].metrics
    assert (one["x"].n, one["x"].mean, one["x"].sd, one["x"].low, one["x"].high) == (1, 2.0, None, None, None)
    assert one["success"].low is None
    none = aggregate([episode("a", 0, x=None)]).policies["a"].metrics["x"]
    assert (none.n, none.mean, none.median, none.low) == (0, None, None, None)
    assert aggregate([]).policies == {}


def test_equal_values_have_no_spread() -> None:
    x = aggregate([episode("a", k, x=0.1) for k in range(7)]).policies["a"].metrics["x"]
    assert (x.low, x.mean, x.high) == (0.1, 0.1, 0.1)
    assert x.sd == pytest.approx(0)


def test_wilson() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)  # Agresti and Coull's example
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(20, 20)[1] == 1.0
    reference = scipy.stats.binomtest(7, 33).proportion_ci(method="wilson")
    assert wilson(7, 33) == pytest.approx((reference.low, reference.high))


def test_proportions_use_wilson() -> None:
    rows = [episode("a", k, Outcome.SUCCESS if k < 8 else Outcome.TIMEOUT) for k in range(10)]
    success = aggregate(rows).policies["a"].metrics["success"]
    assert (success.low, success.high) == pytest.approx(wilson(8, 10))


@pytest.mark.parametrize("n", [8, 33, 200])
def test_bootstrap_agrees_with_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    values = np.stack([rng.exponential(1, n), rng.normal(3, 1, n)])
    low, high = bootstrap_means(values, resamples=20_000)
    for row, a, b in zip(values, low, high, strict=True):
        theirs = scipy.stats.bootstrap(
            (row,),
            np.mean,
            n_resamples=20_000,
            method="BCa",
            rng=np.random.default_rng(1),
            batch=1000,
        ).confidence_interval
        width = theirs.high - theirs.low
        assert (a, b) == pytest.approx(tuple(theirs), abs=0.03 * width)


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    samples = rng.exponential(1.0, (400, 40))
    low, high = bootstrap_means(samples, resamples=1000)
    assert 0.90 < ((low <= 1) & (high >= 1)).mean() < 0.98


def test_large_samples_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(0).normal(0, 1, (1, 50_000))
    low, high = bootstrap_means(values, resamples=200)
    assert high[0] - low[0] == pytest.approx(2 * 1.96 / np.sqrt(50_000), rel=0.2)


def test_a_summary_does_not_depend_on_its_company() -> None:
    rng = np.random.default_rng(4)
    rows = [episode("a", k, x=float(rng.normal()), y=float(rng.normal())) for k in range(12)]
    only_x = [replace(row, metrics={"x": row.metrics["x"]}) for row in rows]
    others = [episode("b", k, x=float(k)) for k in range(9)]
    alone, together = aggregate(only_x).policies["a"], aggregate([*others, *rows]).policies["a"]
    assert alone.metrics["x"].low == pytest.approx(together.metrics["x"].low, rel=1e-12)
    assert aggregate(rows) == aggregate(rows)
    assert list(aggregate([*others, *rows]).policies) == ["b", "a"]


def test_directions() -> None:
    table = aggregate([episode("a", k, path_length=float(k)) for k in range(3)], directions=directions())
    metrics = table.policies["a"].metrics
    assert metrics["path_length"].direction == "lower"
    assert metrics["success"].direction == "higher"
    assert table.policies["a"].episodes == 3


def test_many_metrics_of_many_episodes() -> None:
    rng = np.random.default_rng(0)
    rows = [
        episode(
            f"policy {p}",
            k,
            **{f"m{m}": (None if rng.random() < 0.1 else float(rng.normal())) for m in range(60)},
        )
        for p in range(5)
        for k in range(100)
    ]
    table = aggregate(rows)
    assert len(table.policies) == 5
    for entry in table.policies.values():
        assert entry.episodes == 100
        assert all(70 < figures.n <= 100 for name, figures in entry.metrics.items() if name.startswith("m"))
