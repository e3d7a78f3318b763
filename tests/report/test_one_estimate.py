"""The same number with the same interval in every place that shows it: the summary, the report, a comparison, the board
and Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from sidestep.api import Run
from sidestep.leaderboard.groups import make_groups
from sidestep.leaderboard.pack import write_pack
from sidestep.leaderboard.site import Settings, write_board
from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.estimates import Estimate, count_rate, kind_of, mean, share
from sidestep.metrics.rates import RATES
from sidestep.metrics.score import EpisodeScores
from sidestep.metrics.statistics import wilson
from sidestep.report import write_report
from sidestep.report.summary import metric_column, summarise_episodes
from sidestep.report.table_model import Cell
from sidestep.runs.compare import compare_runs
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult
from tests.leaderboard.packing import make_run

Numbers = tuple[float | None, float | None, float | None, int]
"""Value, lower and upper limit, number of episodes."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies of which one fails, in three scenarios under four seeds, so that there are clusters."""
    return make_run(tmp_path_factory.mktemp("estimates"), "Steady", "Raises", seeds=(0, 1, 2, 3))


@pytest.fixture(scope="module")
def summary(run: Path) -> dict[str, Any]:
    """The summary in Python: policy → its entry."""
    return Run(run).summary()["policies"]


def numbers(entry: dict[str, Any]) -> Numbers:
    return entry["mean"], entry["low"], entry["high"], entry["n"]


def same(found: Numbers, expected: Numbers) -> bool:
    return all(
        (a is None) == (b is None) and (a is None or a == pytest.approx(b))
        for a, b in zip(found, expected, strict=True)
    )


def number(text: str) -> float | None:
    return float(text) if text else None


def test_the_report_shows_the_summary(run: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    write_report([run], tmp_path / "report.html")
    with (tmp_path / "report.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(entry["metrics"]) for entry in summary.values())
    for row in rows:
        found = number(row["mean"]), number(row["low"]), number(row["high"]), int(row["n"])
        assert same(found, numbers(summary[row["policy"]]["metrics"][row["metric"]])), row


def test_the_terminal_and_the_page_print_the_summary(run: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    console = Console(record=True, width=500, file=(tmp_path / "terminal.txt").open("w", encoding="utf-8"))
    document = Run(run).summary()
    document._print_table(dict(document), console)
    text = console.export_text()
    for name in ("success", "spl", "closest_pedestrian_distance", "jerk_avg"):
        estimates = {policy: Estimate(*numbers(entry["metrics"][name])[:3]) for policy, entry in summary.items()}
        for cell in metric_column(name, summary["steady"]["metrics"][name]["unit"], estimates).cells.values():
            assert cell.text in page
            assert cell.text in text
            assert cell.interval in page
            assert cell.interval in text


def test_a_comparison_has_the_means_of_the_summary(run: Path, summary: dict[str, Any]) -> None:
    [pair] = compare_runs([run], metrics=None)["pairs"]
    compared = 0
    for name, entry in pair["metrics"].items():
        for side in ("a", "b"):
            stated = summary[pair[side]]["metrics"][name]
            if entry["n"] == stated["n"] > 0 and entry["where"] == "all":
                assert entry[f"mean_{side}"] == pytest.approx(stated["mean"]), name
                compared += 1
    assert compared > 20


def test_the_board_shows_the_summary(run: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    write_pack(run, tmp_path / "mine.pack")
    board = write_board(
        [tmp_path / "mine.pack"], tmp_path / "site", Settings(reports=False, verify=0, need_rerun=False)
    )
    [group] = make_groups(board.entries, "success")
    entries = json.loads((tmp_path / "site" / "board.json").read_text(encoding="utf-8"))["suites"]["test"][0]["entries"]
    assert {entry["label"] for entry in entries} == set(summary) == {entry.label for entry in group.entries}
    for entry in entries:
        metrics = summary[entry["label"]]["metrics"]
        assert set(entry["metrics"]) == set(metrics)
        for name, found in entry["metrics"].items():
            assert same(numbers(found), numbers(metrics[name])), name


def scores(values: list[float], unit: str, clusters: list[str], name: str = "x") -> list[EpisodeScores]:
    return [
        EpisodeScores("s", f"s{k}", "a", 0, Outcome.SUCCESS, "", {name: MetricResult(value, unit)}, cluster=cluster)
        for k, (value, cluster) in enumerate(zip(values, clusters, strict=True))
    ]


CASES = {
    "none": [],
    "one": [0.4],
    "one of one": [1.0],
    "all 0": [0.0] * 6,
    "all 1": [1.0] * 6,
    "mixed 0 and 1": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0],
    "alike": [0.25] * 6,
    "shares": [0.1, 0.9, 1.0, 0.0, 0.5, 0.7],
}


@pytest.mark.parametrize("unit", ["0/1", "ratio", "count", "m", "s"])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_edges_are_alike_in_summaries_and_tables_of_papers(case: str, unit: str, clustered: bool) -> None:
    values = CASES[case]
    if unit == "0/1" and not {*values} <= {0.0, 1.0}:
        return
    clusters = ["a", "a", "b", "b", "c", "c"][: len(values)] if clustered else [""] * len(values)
    alone = mean(values, clusters, kind_of("x", unit))
    rows = scores(values, unit, clusters)
    assert alone == (aggregate(rows).policies["a"].estimate("x") if rows else Estimate())
    if rows:
        [column] = summarise_episodes(rows).columns
        assert column.cells["a"].estimate == alone


def test_shares_of_0_and_1_have_wilsons_interval_everywhere() -> None:
    """The bootstrap's would be shorter: six episodes, four of them 1."""
    values = CASES["mixed 0 and 1"]
    found = share(values)
    assert (found.low, found.high) == pytest.approx(wilson(4, 6))
    assert aggregate(scores(values, "ratio", [""] * 6)).policies["a"].estimate("x") == found


def test_rates_are_alike_in_summaries_and_tables_of_papers() -> None:
    rng = np.random.default_rng(3)
    counts, metres = rng.integers(0, 4, 12).astype(float), rng.uniform(20, 60, 12)
    towns = [f"town{k // 3}" for k in range(12)]
    name, counted = next(iter(RATES.items()))
    rows = [
        EpisodeScores(
            "s", f"s{k}", "a", 0, Outcome.SUCCESS, "",
            {
                counted: MetricResult(count, "count"),
                "distance_driven": MetricResult(way, "m"),
                name: MetricResult(100 * count / way, "1/100 m"),
            },
            cluster=town,
        )
        for k, (count, way, town) in enumerate(zip(counts.tolist(), metres.tolist(), towns, strict=True))
    ]  # fmt: skip
    found = aggregate(rows).policies["a"].estimate(name)
    assert found == count_rate(counts.tolist(), metres.tolist(), towns)
    assert Cell(found).interval
