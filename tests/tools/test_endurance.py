"""The tool that measures a long run: its query gives the means of the table."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import pytest

from sidestep.metrics.score import EpisodeScores
from sidestep.runs.folder import save_results
from sidestep.types import MetricResult
from tests.needs import reason_missing
from tools.endurance import QUERY, Memory, measure, query_seconds

duckdb = pytest.importorskip("duckdb", reason=reason_missing("duckdb"))


def test_the_query_counts_and_averages_valid_values(tmp_path: Path) -> None:
    values = [1.0, 2.5, None, 4.0]
    episodes = [
        EpisodeScores(
            "s", f"s{k}", "stop", k, "timeout", "", {
                "a": MetricResult.invalid("m", "no data") if value is None else MetricResult(value, "m"),
                "b": MetricResult(1.0, "s"),
            },
        )
        for k, value in enumerate(values)
    ]  # fmt: skip
    save_results(episodes, tmp_path / "r.parquet", "paper")
    rows = duckdb.connect().execute(QUERY.format(path=tmp_path / "r.parquet")).fetchall()
    assert [row[:4] for row in rows] == [("stop", "a", 3, mean([1.0, 2.5, 4.0])), ("stop", "b", 4, 1.0)]
    seconds, found = query_seconds(tmp_path / "r.parquet")
    assert found == 2
    assert 0 < seconds < 5


def test_memory_is_the_median_of_each_tenth() -> None:
    assert Memory([(float(k), 10.0 * (k // 10)) for k in range(101)]).at_tenths()[:3] == [0.0, 10.0, 20.0]


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: reads /proc")
def test_memory_of_a_run_stays_flat(tmp_path: Path) -> None:
    """2,000 episodes; docs/records.md has the figures of 100,000."""
    found = measure(2000, tmp_path, 1)
    assert found["records"] == 2000
    assert found["resume"]["peak_mb"] < 600
    early, late = found["resume"]["mb_at_tenths"][4], found["resume"]["mb_at_tenths"][8]
    assert late - early < 60
    assert found["query_s"] < 1.0
