"""Numbers of the sidewalk tables: published, estimated, gathered from runs, and written."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.metrics.estimates import Estimate, count_rate, mean, rate, ratio_of_sums, share
from sidestep.metrics.series import driven_m
from sidestep.metrics.statistics import poisson_limits, wilson
from sidestep.report.papers.sidewalkbench.episodes import (
    LONG,
    REACTIVE,
    UNIT,
    SidewalkRun,
    describe_inputs,
    published,
    read_sidewalk,
)
from sidestep.report.papers.sidewalkbench.tables import (
    behaviour_table,
    long_table,
    mark_arriving,
    people_table,
    sidewalk_tables,
    unit_table,
)
from sidestep.report.selection import label_episodes
from sidestep.report.table_model import (
    Cell,
    Column,
    Row,
    Table,
    average_row,
    mark_best,
)
from sidestep.report.table_writer import comma_separated, latex, markdown
from sidestep.runs.finished import FinishedRun
from sidestep.types.record import Event
from tests.report.conftest import Builder
from tests.report.sidewalk_runs import OUT, SUCCESS, TOUCHED, sidewalk_record, write_run


def read(*folders: Path) -> SidewalkRun:
    run = read_sidewalk(label_episodes([FinishedRun(folder) for folder in folders]))
    assert run is not None
    return run


def cell(table: Table, section: int, policy: str, column: str) -> Estimate:
    row = next(row for row in table.sections[section].rows if row.policy == policy)
    return row.cells[[each.name for each in table.columns].index(column)].estimate


@pytest.fixture(scope="module")
def unit(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lane keeping: ``naive`` leaves the curve in a town."""
    records = []
    for policy in ("naive", "expert"):
        curve = OUT if policy == "naive" else SUCCESS
        out = (Event(2.0, "off_route"),) if policy == "naive" else ()
        records += [
            sidewalk_record(build, policy, UNIT, "straight-a"),
            sidewalk_record(build, policy, UNIT, "curve-a", curve, events=out),
            sidewalk_record(build, policy, UNIT, "straight-p", place="real"),
        ]
    return write_run(tmp_path_factory.mktemp("unit") / "unit", records)


@pytest.fixture(scope="module")
def reactive(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People: ``naive`` touches somebody in two of three lateral episodes."""
    records = []
    for policy in ("naive", "expert"):
        bad = TOUCHED if policy == "naive" else SUCCESS
        records += [
            sidewalk_record(build, policy, REACTIVE, "static-a"),
            sidewalk_record(build, policy, REACTIVE, "lateral-a", bad),
            sidewalk_record(build, policy, REACTIVE, "lateral-b", bad),
            sidewalk_record(build, policy, REACTIVE, "lateral-c"),
        ]
    return write_run(tmp_path_factory.mktemp("reactive") / "reactive", records)


@pytest.fixture(scope="module")
def long(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long routes: two failures of different kinds, and none, over routes of different length."""
    events = (Event(0.5, "collision_start", "wall"), Event(0.6, "collision_end", "wall"), Event(1.0, "frozen"))
    records = [
        sidewalk_record(build, "expert", LONG, "long-a", events=events),
        sidewalk_record(build, "expert", LONG, "long-b", duration=4.0),
    ]
    return write_run(tmp_path_factory.mktemp("long") / "long", records)


def test_published_numbers_agree_with_each_other() -> None:
    models = {model.name: model for model in published().models}
    assert len(models) == 9
    assert models["OpenPilot"].long["town"] == (1.34, 1.01, 0.33, 0.01, 1.34)
    assert models["MIMIC"].people["minimum_pedestrian_distance"][7] == 2.01
    assert models["FlowPilot"].success == (0.70, 0.42, 0.39, 0.45, 0.45, 0.08, 0.60, 0.11, 0.12)
    for model in models.values():
        assert model.success[0] == model.unit["town"]["straight"][0]  # static is the straight block
        for row in model.long.values():
            assert row[0] == pytest.approx(sum(number or 0.0 for number in row[1:4]), abs=0.0101)
    means = np.mean([model.success for model in models.values()], axis=0)
    assert means == pytest.approx(published().average.success, abs=0.0051)


def test_estimates_by_hand() -> None:
    assert rate([1.0, 0.0, None, 1.0]) == Estimate(2 / 3, *wilson(2, 3), 3, 4)
    assert rate([None]) == mean([None]) == Estimate(of=1)
    assert mean([0.5]) == Estimate(0.5, None, None, 1, 1)
    middle = mean([0.0, 0.25, 1.0])
    assert middle.value == pytest.approx(1.25 / 3)
    assert middle.low is not None
    assert middle.high is not None
    assert 0 <= middle.low < middle.high <= 1
    assert share([1.0, 1.0]).low == rate([1.0, 1.0]).low
    assert share([0.5, 1.0]) == mean([0.5, 1.0])
    assert ratio_of_sums([1, 0], [100, 300], 100).value == pytest.approx(0.25)  # not the mean of 1 and 0
    assert ratio_of_sums([1], [4]) == Estimate(0.25, None, None, 1, 1)
    assert ratio_of_sums([], []).value is None
    assert ratio_of_sums([0, 0], [4, 5]) == Estimate(0.0, None, None, 2, 2)  # not [0, 0]
    assert count_rate([0, 0], [150.0, 250.0]) == Estimate(0.0, 0.0, pytest.approx(-log(0.025) / 4), 2, 2)
    assert count_rate([1, 0], [150.0, 250.0]) == ratio_of_sums([1, 0], [150.0, 250.0], 100)
    assert count_rate([], []) == Estimate()


def test_a_robot_that_hardly_drives_has_a_bound_and_not_a_dash() -> None:
    """Who stands still and is carried on fails often over no way: told, and never the best."""
    stands = count_rate([6, 6], [0.0, 0.0])
    assert (stands.value, stands.bound, stands.n) == (None, "12 in 0 m", 2)
    crawls = count_rate([6, 6], [1.0, 2.0])
    assert crawls.bound == "≥ 207 (12 in 3 m)"
    rows = [
        Row("stop", ("",), "here", (Cell(stands),)),
        Row("a", ("",), "here", (Cell(count_rate([9] * 12, [50.0] * 12)),)),
    ]
    rows += [Row("b", ("",), "here", (Cell(count_rate([5] * 12, [50.0] * 12)),))]
    marked = mark_best(rows, (Column("fc", "FC", better="lower"),))
    assert [row.cells[0].best for row in marked] == [False, False, True]
    assert marked[0].cells[0].text == "12 in 0 m"


def test_episodes_of_one_town_are_drawn_together() -> None:
    values = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0] * 5
    towns = [f"town{k // 4}" for k in range(40)]
    alone, together = rate(values), rate(values, towns)
    assert alone.value == together.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    lengths = [value + 0.01 * k for k, value in enumerate(values)]
    assert mean(lengths, towns).high > mean(lengths).high


def test_privileged_policies_are_neither_best_nor_in_the_average() -> None:
    columns = (Column("a", "A", better="higher"),)
    cells = {"expert": 0.99, "a": 0.4, "b": 0.6}
    rows = [
        Row(name, ("",), "here", (Cell(Estimate(value, None, None, 40, 40)),), name == "expert")
        for name, value in cells.items()
    ]
    assert [row.cells[0].best for row in mark_best(rows, columns)] == [False, False, True]
    [average] = average_row(rows, columns)
    assert average.cells[0].estimate.value == pytest.approx(0.5)
    assert rows[0].title == "expert (privileged)"
    few = [replace(row, cells=(Cell(Estimate(0.1 * k, None, None, 9, 9)),)) for k, row in enumerate(rows)]
    assert not any(row.cells[0].best for row in mark_best(few, columns))


def test_events_that_never_happened_are_a_section_of_their_own(reactive: Path) -> None:
    run = read(reactive)
    states = {"lateral-a": "missed", "lateral-b": "happened", "lateral-c": "happened"}
    episodes = tuple(
        replace(each, item=replace(each.item, scores=replace(each.item.scores, event=states.get(name, ""))))
        for each in run.episodes
        for name in [each.item.scores.scenario]
    )
    table = behaviour_table(replace(run, episodes=episodes))
    assert table.sections[1].name == "event_missed"
    assert cell(table, 1, "naive", "lateral") == Estimate(1.0, None, None, 3, 3)
    assert cell(table, 1, "naive", "all").value == 1
    assert cell(table, 1, "naive", "static") == Estimate()
    assert len(behaviour_table(run).sections) == 1  # nothing is staged in these
    assert "in gesturing to stop" in " ".join(table.notes)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(1.0, 500.0)), min_size=2, max_size=12))
def test_ratios_lie_between_those_of_episodes(pairs: list[tuple[int, float]]) -> None:
    counts, ways = zip(*pairs, strict=True)
    found = ratio_of_sums(counts, ways)
    each = [count / way for count, way in pairs]
    assert found.value is not None
    if found.low is None or found.high is None:
        assert found.value == 0
        return
    assert min(each) - 1e-12 <= found.low <= found.high <= max(each) + 1e-12
    assert min(each) - 1e-12 <= found.value <= max(each) + 1e-12


def test_unit_table_by_kind_and_place(unit: Path) -> None:
    table = unit_table(read(unit))
    assert [section.name for section in table.sections] == ["town", "real"]
    assert cell(table, 0, "naive", "straight_sr").value == 1
    naive = cell(table, 0, "naive", "curve_sr")
    assert (naive.value, naive.n, naive.low, naive.high) == (0, 1, None, None)  # one value has no interval
    assert cell(table, 0, "naive", "curve_spl").value == 0
    assert cell(table, 0, "expert", "curve_rc").value == 1
    assert cell(table, 0, "expert", "crosswalk_sr") == Estimate()
    assert cell(table, 1, "expert", "straight_sr").n == 1
    assert cell(table, 1, "S2E", "crosswalk_rc").value == 0.80
    assert "2 in generated towns, 1 in hand-made places" in table.notes[1]


def test_behaviour_and_people_tables(reactive: Path) -> None:
    run = read(reactive)
    table = behaviour_table(run)
    assert cell(table, 0, "naive", "lateral").value == pytest.approx(1 / 3)
    assert cell(table, 0, "naive", "all") == cell(table, 0, "naive", "lateral")  # static is none of the eight
    assert cell(table, 0, "average", "lateral").value == pytest.approx(2 / 3)
    assert cell(table, 0, "Average, as printed", "overtaking").value == 0.38
    people = people_table(run)
    names = [section.name for section in people.sections]
    assert names == ["pedestrian_collision_rate", "minimum_pedestrian_distance", "social_compliance"]
    assert cell(people, 0, "naive", "lateral").value == pytest.approx(2 / 3)
    assert (cell(people, 1, "naive", "lateral").n, cell(people, 1, "expert", "lateral").n) == (1, 3)
    never = [row for row in people.sections[0].rows if row.policy in ("ViNT", "NoMaD")]
    assert not any(each.best for row in never for each in row.cells)
    assert not any(row.policy == "ViNT" for row in people.sections[2].rows)


def test_long_table_divides_sums(long: Path, build: Builder) -> None:
    run = read(long)
    ways = [driven_m(sidewalk_record(build, "expert", LONG, name, duration=d)) for name, d in (("a", 2.0), ("b", 4.0))]
    table = long_table(run)
    assert sum(ways) < 100
    fc = cell(table, 0, "expert", "fc")
    assert (fc.value, fc.low) == (None, pytest.approx(100 * poisson_limits(2)[0] / sum(ways)))
    assert fc.bound.endswith(f"(2 in {sum(ways):.0f} m)")
    far = replace(
        run,
        episodes=tuple(replace(e, drive=replace(e.drive, distance_m=100 * e.drive.distance_m)) for e in run.episodes),
    )
    table = long_table(far)
    assert cell(table, 0, "expert", "fc").value == pytest.approx(2 / sum(ways))
    assert cell(table, 0, "expert", "c").value == cell(table, 0, "expert", "f").value == pytest.approx(1 / sum(ways))
    assert cell(table, 0, "expert", "ol") == Estimate(0.0, 0.0, pytest.approx(-log(0.025) / sum(ways)), 2, 2)
    table = long_table(run)
    assert cell(table, 0, "expert", "v").value == pytest.approx(sum(ways) / 6.0)
    assert cell(table, 0, "expert", "km").value == pytest.approx(sum(ways) / 1000)
    assert cell(table, 0, "OpenPilot", "rc").value is None
    assert not any(row.origin == "here" for row in table.sections[1].rows)


def test_runs_of_the_three_suites_belong_together(unit: Path, reactive: Path, long: Path) -> None:
    run = read(unit, reactive, long)
    assert run.labels == ("naive", "expert")
    assert [table.name[-1] for table in sidewalk_tables(run)] == ["2", "5", "6", "7"]
    assert len(read(reactive, reactive).labels) == 4  # the same run twice is not twice as many episodes


def test_two_runs_of_one_suite_are_told_apart(build: Builder, reactive: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [sidewalk_record(build, "expert", REACTIVE, "lateral-a")])
    assert read(reactive, other).labels == ("naive", "expert (reactive)", "expert (other)")


def test_scores_that_results_lack_are_taken_from_records(build: Builder, tmp_path: Path) -> None:
    records = [sidewalk_record(build, "expert", REACTIVE, f"lateral-{k}") for k in "ab"]
    run = read(write_run(tmp_path / "few", records, ["success"]))
    assert run.episodes[0].values["pedestrian_contact"] == 0
    plain = tmp_path / "few" / "episodes"  # records without a plan
    assert [each.kind for each in read(plain).episodes] == ["lateral", "lateral"]
    assert describe_inputs(records[0].policy.needs) == "people"
    assert describe_inputs(("rgb", "goal")) == "camera"


def test_what_cannot_be_used_is_counted(build: Builder, long: Path, tmp_path: Path) -> None:
    first, second = label_episodes([FinishedRun(long)])
    run = read_sidewalk([replace(first, scores=replace(first.scores, digest="another")), second])
    assert run is not None
    assert (len(run.episodes), run.missing) == (1, 1)
    assert "1 episodes could not be read" in " ".join(sidewalk_tables(run)[0].notes)
    strange = sidewalk_record(build, "expert", REACTIVE, "dancing-a")
    assert read_sidewalk(label_episodes([FinishedRun(write_run(tmp_path / "strange", [strange]))])) is None


def test_best_needs_a_difference() -> None:
    columns = (Column("a", "A", better="higher"), Column("b", "B", better="lower"), Column("c", "C"))
    rows = [
        Row(name, ("",), "here", tuple(Cell(Estimate(value, n=40)) for value in values))
        for name, values in {"x": (0.5, 1.0, 1.0), "y": (0.5001, 2.0, 2.0), "z": (None, None, None)}.items()
    ]
    first, second, third = mark_best(rows, columns)
    assert [each.best for each in first.cells] == [False, True, False]  # 0.50 and 0.50 are printed alike
    assert not any(each.best for each in (*second.cells, *third.cells))


@pytest.fixture(scope="module")
def tables(unit: Path, reactive: Path, long: Path) -> list[Table]:
    return sidewalk_tables(read(unit, reactive, long))


def test_markdown_is_rectangular_and_marks_the_published(tables: list[Table]) -> None:
    for table in tables:
        text = markdown(table)
        widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
        assert widths == {len(table.columns) + 3}
        assert "| OpenPilot † |" in text
        assert "Published elsewhere" in text
    assert "0.33 [0.06 … 0.79]" in markdown(tables[0])


def test_latex_has_as_many_cells_as_columns(tables: list[Table]) -> None:
    for table in tables:
        text = latex(table)
        count = len(table.columns) * (len(table.sections) if table.side_by_side else 1) + 2
        assert rf"{{ll{'r' * (count - 2)}}}" in text
        rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {line.count(" & ") + 1 for line in rows} == {count}
        assert text.isascii() or not set("†↑↓–…") & set(text.partition(r"\begin")[2])
    assert r"\multicolumn{9}{c}{Towns" in latex(tables[1])


def test_csv_holds_numbers_and_intervals(tables: list[Table]) -> None:
    lines = list(csv.DictReader(io.StringIO(comma_separated(tables[3]))))
    own = next(line for line in lines if line["origin"] == "here" and line["metric"] == "v")
    assert float(own["low"]) <= float(own["value"]) <= float(own["high"])
    bound = next(line for line in lines if line["origin"] == "here" and line["metric"] == "fc")
    assert (bound["value"], bound["bound"][0]) == ("", "≥")
    theirs = next(line for line in lines if line["policy"] == "ViNT" and line["section"] == "real")
    assert (theirs["origin"], theirs["value"], theirs["low"]) == ("published", "27.52", "")


def test_who_drives_in_circles_is_the_best_of_no_column() -> None:
    """``circles`` never fails and is fast, but covers nothing of its route."""

    def row(policy: str, rate: float, speed: float, completion: float) -> Row:
        found = [Estimate(rate, rate, rate, 40, 40)] * 4 + [Estimate(speed, speed, speed, 40, 40)]
        found += [Estimate(completion, completion - 0.01, completion + 0.01, 40, 40), Estimate(9.0, n=40)]
        return Row(policy, ("",), "here", tuple(map(Cell, found)))

    rows = [row("circles", 0.0, 1.5, 0.02), row("drives", 1.0, 1.0, 0.98), row("fails", 2.0, 0.9, 0.99)]
    marked = {row.policy: [each.best for each in row.cells] for row in mark_arriving(rows)}
    assert not any(marked["circles"])
    assert marked["drives"][:5] == [True] * 5
    assert marked["fails"] == [False] * 5 + [True, False]


def test_shares_that_are_all_one_have_wilsons_interval() -> None:
    """30 of 30 completed routes are no proof that every route is completed."""
    found = share([1.0] * 30, ["a", "b", "c"] * 10)
    assert found.low is not None
    assert found.low < 0.5
    assert found.high == 1.0
    few = share([0.99, 1.0, 0.4, 1.0], ["a", "a", "b", "b"])
    assert few.high == 1.0
