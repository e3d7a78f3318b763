"""The table model and its writer: numbers, marks and every form, on tables made by hand."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from sidestep.metrics.estimates import Estimate
from sidestep.report.table_model import (
    HERE,
    PUBLISHED,
    Cell,
    Column,
    NumberFormat,
    Row,
    Section,
    Table,
    csv_form,
    mark_best,
    within_reach,
)
from sidestep.report.table_writer import comma_separated, html, latex, markdown, print_table
from sidestep.report.terminal import print_comparison, print_summary

COLUMNS = (
    Column("success", "Success rate", unit="%", better="higher", symbol="↑", format=NumberFormat(0, 100.0)),
    Column("time", "Time to goal", unit="s", better="lower", symbol="↓"),
)


def row(policy: str, success: float, time: float | None, n: int = 12, origin: str = HERE, **more: object) -> Row:
    first = Estimate(success, success - 0.1, success + 0.1, 12, 12)
    cells = (Cell(first, COLUMNS[0].format), Cell(Estimate(time, n=n if time is not None else 0, of=12)))
    return Row(policy, ("map",), origin, cells, **more)


def table(*rows: Row, **more: object) -> Table:
    form = csv_form("policy sees metric value low best privileged")
    return Table("t", "Title", COLUMNS, (Section("", "", rows),), form, ("Sees",), ("A note.",), **more)


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        (NumberFormat(), 1.155, "1.16"),
        (NumberFormat(0, 100.0), 0.475, "48"),
        (NumberFormat(None, 1e6), 2.345e-5, "23.4"),
        (NumberFormat(sign=True), 0.5, "+0.50"),
        (NumberFormat(sign=True), -0.5, "−0.50"),
        (NumberFormat(factor=1e3, unit="ms"), 0.0021, "2.10 ms"),
    ],
)
def test_numbers(style: NumberFormat, value: float, text: str) -> None:
    assert style.text(value) == text


def test_spread_and_interval() -> None:
    assert Cell(Estimate(1.0, sd=0.25), NumberFormat(unit="s")).text == "1.00 ± 0.25 s"
    cell = Cell(Estimate(1.0, -0.5, 2.0, 7, 12), NumberFormat(1, unit="s"))
    assert (cell.text, cell.interval, cell.counted) == ("1.0 s", "−0.5 … 2.0", "7 of 12")
    assert (Cell().text, Cell().interval, Cell().counted) == ("–", "", "")
    bound = Cell(Estimate(None, 0.1, 0.9, 3, 3, "≤ 2 (0 in 40 m)"))
    assert (bound.text, bound.interval) == ("≤ 2 (0 in 40 m)", "")


def test_the_best_of_ours_and_of_theirs() -> None:
    rows = [row("a", 0.5, 9.0), row("b", 0.7, 8.0), row("few", 0.9, 1.0, n=9), row("sees all", 0.9, 0.1)]
    rows[3] = replace(rows[3], privileged=True)
    rows += [row("x", 0.1, 7.0, 0, PUBLISHED), row("y", 0.1, 5.0, 0, PUBLISHED)]
    marked = {each.policy: [cell.best for cell in each.cells] for each in mark_best(rows, COLUMNS)}
    assert marked == {
        "a": [False, False],
        "b": [False, True],
        "few": [True, False],  # twelve values of success, nine of time
        "sees all": [False, False],
        "x": [False, False],  # alike
        "y": [False, True],
    }
    left_out = mark_best(rows, COLUMNS, lambda row, column, cell: row.policy != "b")
    assert not any(cell.best for cell in left_out[1].cells)


def test_rows_that_do_not_observe_the_same_are_marked_apart() -> None:
    rows = [
        row("told", 0.9, 1.0, observation="exact"), row("less", 0.8, 2.0, observation="exact"),
        row("scans", 0.5, 5.0, observation="sensors"), row("worse", 0.4, 6.0, observation="sensors"),
    ]  # fmt: skip
    marked = mark_best(rows, COLUMNS)
    assert [[cell.best for cell in each.cells] for each in marked] == [[True, True], [False, False]] * 2
    assert [each.observation for each in marked] == ["exact", "exact", "sensors", "sensors"]


def test_who_is_clearly_below_the_best_is_out_of_reach() -> None:
    found = {"best": Estimate(0.9, 0.7, 1.0), "near": Estimate(0.5, 0.3, 0.7), "far": Estimate(0.5, 0.4, 0.69)}
    assert within_reach(found) == {"best", "near"}
    assert within_reach({**found, "best": Estimate(0.9)}) == {"best", "near", "far"}
    assert within_reach({"none": Estimate()}) == {"none"}


def test_every_form_escapes_names() -> None:
    made = table(row("a|b_<i>", 0.5, None))
    assert r"| a\|b_<i> | map | 50 [40 … 60] | – |" in markdown(made)
    assert "- A note." in markdown(made)
    assert r"a|b\_<i> & map & 50 & -- \\" in latex(made)
    assert r"Policy & Sees & Success rate (\%) $\uparrow$ & Time to goal (s) $\downarrow$ \\" in latex(made)
    page = html(made, "here")
    assert '<table id="here">' in page
    assert "a|b_&lt;i&gt;" in page
    assert "0 of 12" in page
    assert "<i>" not in page
    lines = list(csv.DictReader(io.StringIO(comma_separated(made))))
    assert [line["metric"] for line in lines] == ["success", "time"]
    assert lines[0] == {
        "policy": "a|b_<i>", "sees": "map", "metric": "success", "value": "0.5", "low": "0.4", "best": "no",
        "privileged": "no",
    }  # fmt: skip


def test_rows_of_one_policy_share_a_head() -> None:
    rows = (row("a", 0.5, 1.0), row("a", 0.6, 2.0), row("b", 0.7, 3.0), row("o", 1.0, 1.0, privileged=True))
    made = table(*rows, grouped=True)
    [section] = made.sections
    assert [made.rows_under_head(section, k) for k in range(4)] == [2, 0, 1, 1]
    assert [made.line_above(section, k) for k in range(4)] == ["", "", "first", "parted"]
    assert html(made).count('scope="rowgroup"') == 3
    assert latex(made).count(r"\addlinespace") == 1


def printed(made: Table, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    print_table(made, console)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_terminal_wraps_and_crops_no_cell(width: int) -> None:
    lines = printed(table(row("social_force", 0.5, 12.25, 7), row("stop", 0.0, None)), width)
    text = "\n".join(lines)
    assert all(len(line.rstrip()) <= max(width, 27) for line in lines)
    for part in ("social_force", "50", "40 … 60", "12.25", "7 of 12", "% ↑", "s ↓"):
        assert part in text
    assert "…\n" not in text
    blocks = sum(line.startswith("Policy") for line in lines)
    assert blocks == (1 if width >= 40 else 2)


def entry(mean: float | None, unit: str, low: float | None = None, high: float | None = None) -> dict[str, object]:
    return {"n": 4, "mean": mean, "sd": None, "low": low, "high": high, "unit": unit, "direction": "none"}


def test_summary_of_a_run_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {
        "success": entry(0.475, "0/1", 0.25, 0.71), "collisions": entry(1.025, "count", 0.6, 1.73),
        "spl": entry(0.459, "ratio", 0.239, 0.658), "route_completion": entry(0.945, "ratio", 0.892, 0.98),
        "time_to_goal": entry(17.5, "s", 14.5, 20.7), "closest_pedestrian_distance": entry(-0.003, "m", -0.04, 0.07),
        "jerk_avg": entry(14.0, "m/s³", 10.1, 22.8), "planning_time_avg": entry(4.87e-5, "s", 3.61e-5, 8.22e-5),
    }  # fmt: skip
    policy = {
        "episodes": 4, "outcomes": {"success": 3, "pedestrian_collision": 1, "timeout": 0}, "metrics": metrics,
        "privileged": False, "observes": ["lidar", "goal"], "observation_limits": {"lidar": "90 rays, 8 m"},
        "observation_class": "sensors", "events": {"happened": 3, "missed": 1},
    }  # fmt: skip
    policies = {"social_force": policy, "oracle": {**policy, "privileged": True}, "none": {**policy, "metrics": {}}}
    about = {"suite": "core", "source": "generated", "dialect": "paper", "run": "runs/x", "success": "goal"}
    print_summary({**about, "policies": policies})
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for part in ("oracle (privileged)", "25 … 71", "48.7", "µs ↓", "36.1 … 82.2", "1 of 4", "Pedestrian", "% ↑"):
        assert part in text
    assert "Timeout" not in text  # nothing ended so
    assert "social_force: lidar (90 rays, 8 m), goal" in " ".join(text.split())


def test_comparison_marks_the_better_side(capsys: pytest.CaptureFixture[str]) -> None:
    one = {
        "unit": "0/1", "mean_a": 0.5, "mean_b": 0.75, "difference": 0.25, "low": 0.1, "high": 0.4, "p_holm": 0.01,
        "n": 40, "clusters": 10, "where": "all", "better": "b",
    }  # fmt: skip
    alike = {**one, "difference": 0.0, "better": None}
    pair = {
        "a": "orca", "b": "mpc", "suite": "core", "episodes": 40, "metrics": {"success": one, "spl": alike},
        "outcomes_a": {"success": 20, "timeout": 20}, "outcomes_b": {"success": 30, "timeout": 10},
        "one_race": True,
    }  # fmt: skip
    seen = {"observes": ["map"], "observation_limits": {}, "observation_class": "exact"}
    entries = [{"label": label, "privileged": False, **seen} for label in ("orca", "mpc")]
    print_comparison({"pairs": [pair], "entries": entries, "ranking": {}, "comparisons": 2})
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for part in ("mpc − orca over 40 common episodes of core", "★ 75", "+25", "+10 … +40", "40/10", "1 more metrics"):
        assert part in text
    assert "★ 50" not in text
    assert "Not one race" not in text


def test_a_comparison_of_two_races_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    metric = {
        "unit": "0/1", "mean_a": 0.5, "mean_b": 0.75, "difference": 0.25, "low": 0.1, "high": 0.4, "p_holm": 0.01,
        "n": 40, "clusters": 10, "where": "all", "better": None,
    }  # fmt: skip
    pair = {
        "a": "scans", "b": "mpc", "suite": "core", "episodes": 40, "metrics": {"success": metric}, "one_race": False,
        "outcomes_a": {"success": 40}, "outcomes_b": {"success": 40},
    }  # fmt: skip
    entries = [
        {"label": "scans", "privileged": False, "observes": ["lidar"], "observation_limits": {"lidar": "90 rays, 8 m"},
         "observation_class": "sensors"},
        {"label": "mpc", "privileged": False, "observes": ["pedestrians", "map"], "observation_limits": {},
         "observation_class": "exact"},
    ]  # fmt: skip
    print_comparison({"pairs": [pair], "entries": entries, "ranking": {}, "comparisons": 1})
    text = " ".join(capsys.readouterr().out.split())
    assert "Not one race, so no side is marked as better" in text
    assert "scans has sensors only and mpc has exact states or the map" in text
    assert "scans: lidar (90 rays, 8 m)" in text
    assert "★ 75" not in text
