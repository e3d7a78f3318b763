"""Tables in the shape of SocNavBench's, from episodes whose numbers are counted by hand."""

from __future__ import annotations

import csv
import io
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.report.papers.socnavbench.episodes import DIALECTS, FAILURES, METRICS, SocnavEpisode, SocnavRun, published
from sidestep.report.papers.socnavbench.tables import (
    TABLE_2,
    TABLE_3,
    TABLE_4,
    format_of,
    oracle_table,
    socnav_tables,
)
from sidestep.report.table_model import Cell, Table
from sidestep.report.table_writer import comma_separated, latex, markdown
from sidestep.types.result import MetricResult

PAPER, CODE = DIALECTS
INCOMPLETE = {"timeout", "environment_collision", "policy_error"}


def episode(
    policy: str,
    scenario: str,
    outcome: str = "success",
    code_outcome: str | None = None,
    privileged: bool = False,
    source: str = "recorded",
    **values: float,
) -> SocnavEpisode:
    """``values`` are the same in both dialects, except energy, of which the program's is 20 times ours."""
    scores = {}
    for dialect, ended in ((PAPER, outcome), (CODE, code_outcome or outcome)):
        known = {name: float(ended == name) for name in ("success", *FAILURES)}
        known |= {"completed": float(outcome not in INCOMPLETE), "pedestrian_collisions": 0.0, **values}
        if "energy" in known and dialect == CODE:
            known["energy"] *= 20
        scores[dialect] = {
            name: MetricResult(known[name], "u") if name in known else MetricResult.invalid("u", "none")
            for name in METRICS
        }
    return SocnavEpisode(
        policy, policy, privileged, scenario, 0, source, "sync", {}, scores, np.ones(3), np.ones(3), np.ones(3)
    )


def small() -> list[SocnavEpisode]:
    """social_force completes A and B, orca all three, mpc B and C only; the oracle is privileged."""
    return [
        episode("orca", "A", "pedestrian_collision", code_outcome="success", pedestrian_collisions=2, path_length=11),
        episode("orca", "B", path_length=11, energy=2, path_traversal_time=10),
        episode("orca", "C", path_length=50, path_traversal_time=30),
        episode("social_force", "A", path_length=10, energy=3),
        episode("social_force", "B", path_length=12, energy=5, path_traversal_time=12),
        episode("social_force", "C", "timeout", pedestrian_collisions=1, path_length=99, goal_traversal_ratio=0.4),
        episode("mpc", "A", "policy_error", path_length=1),
        episode("mpc", "B", path_length=10.5, path_traversal_time=9),
        episode("mpc", "C", path_length=40, path_traversal_time=20),
        episode("oracle", "A", privileged=True, path_length=9),
        episode("oracle", "B", privileged=True, path_length=10, path_traversal_time=8),
        episode("oracle", "C", privileged=True, path_length=20, path_traversal_time=20),
    ]


@pytest.fixture(scope="module")
def run() -> SocnavRun:
    return SocnavRun(tuple(small()))


@pytest.fixture(scope="module")
def tables(run: SocnavRun) -> dict[str, Table]:
    return {table.name: table for table in socnav_tables(run)}


def cell(table: Table, policy: str, definitions: str, column: str) -> Cell:
    index = [each.name for each in table.columns].index(column)
    (row,) = [row for row in table.rows if (row.policy, row.keys) == (policy, (definitions,))]
    return row.cells[index]


def test_only_episodes_completed_by_the_papers_algorithms_are_compared(run: SocnavRun) -> None:
    assert run.deciding_policies == ["social_force", "orca"]
    assert run.common == {("A", 0), ("B", 0)}
    assert [each.scenario for each in run.compared("mpc")] == ["B"]


def test_without_the_papers_algorithms_all_fair_ones_decide() -> None:
    some = SocnavRun(tuple(each for each in small() if each.policy in {"mpc", "oracle"}))
    assert some.deciding_policies == ["mpc"]
    assert some.common == {("B", 0), ("C", 0)}


def test_counts(tables: dict[str, Table]) -> None:
    table = tables["table2"]
    assert cell(table, "social_force", PAPER, "success").text == "2/3"
    assert cell(table, "social_force", PAPER, "failures").text == "(1/0/0)"
    assert cell(table, "orca", PAPER, "failures").text == "(0/1/0)"
    assert cell(table, "mpc", PAPER, "failures").text == "(0/0/0) + 1 policy errors"
    assert cell(table, "orca", PAPER, "pedestrian_collisions").text == "2"
    assert cell(table, "social_force", PAPER, "pedestrian_collisions").text == "0"
    assert cell(table, "social_force", PAPER, "pedestrian_collisions_all").text == "1"


def test_dialects_stand_beside_each_other(tables: dict[str, Table]) -> None:
    assert cell(tables["table2"], "orca", PAPER, "success").text == "2/3"
    assert cell(tables["table2"], "orca", CODE, "success").text == "3/3"
    assert cell(tables["table2"], "orca", "published", "success").text == "24/33"
    assert cell(tables["table4"], "social_force", PAPER, "energy").text == "4.00 ± 1.41"
    assert cell(tables["table4"], "social_force", CODE, "energy").text == "80.00 ± 28.28"
    assert cell(tables["table4"], "social_force", "published", "energy").text == "398.33 ± 95.45"


def test_means_are_over_compared_episodes(tables: dict[str, Table]) -> None:
    length = cell(tables["table3"], "social_force", PAPER, "path_length")
    found = length.estimate
    assert (found.value, found.n, found.of) == (11.0, 2, 2)
    assert found.sd == pytest.approx(sqrt(2))
    other = cell(tables["table3"], "mpc", PAPER, "path_length")
    assert (other.estimate.value, other.estimate.sd, other.estimate.n, other.estimate.of) == (10.5, None, 1, 2)
    assert (other.text, other.counted) == ("10.50", "1 of 2")


def test_goal_traversal_is_over_incomplete_episodes_only(tables: dict[str, Table]) -> None:
    assert cell(tables["table3"], "social_force", PAPER, "goal_traversal_ratio").text == "0.40"
    assert cell(tables["table3"], "orca", PAPER, "goal_traversal_ratio").text == "–"


def test_only_the_papers_algorithms_have_published_values(tables: dict[str, Table]) -> None:
    for table in tables.values():
        assert [row.policy for row in table.rows if row.keys == ("published",)] == ["social_force", "orca"]


def test_privileged_policies_come_last_and_are_never_best(tables: dict[str, Table]) -> None:
    for table in tables.values():
        privileged = [row.privileged for row in table.rows]
        assert privileged == sorted(privileged)
        assert any("privileged" in note for note in table.notes)
        assert not any(figure.best for row in table.rows if row.privileged for figure in row.cells)
        assert not any(figure.best for row in table.rows for figure in row.cells)  # so few episodes prove nothing
    rows = [
        *many("orca", path_length=11),
        *many("mpc", path_length=10.5),
        *many("oracle", privileged=True, path_length=9),
    ]
    table = socnav_tables(SocnavRun(tuple(rows)))[1]
    assert cell(table, "mpc", PAPER, "path_length").best
    assert not cell(table, "orca", PAPER, "path_length").best
    assert not cell(table, "oracle", PAPER, "path_length").best
    assert "| mpc | paper | **10.50 ± 0.00** |" in markdown(table)


def many(policy: str, count: int = 12, **values: Any) -> list[SocnavEpisode]:
    return [episode(policy, f"S{k}", **values) for k in range(count)]


def test_a_total_over_fewer_episodes_is_not_the_best() -> None:
    fewer = [*many("mpc", 11), episode("mpc", "S11", "policy_error")]
    rows = [*many("orca", pedestrian_collisions=2), *many("social_force", pedestrian_collisions=1), *fewer]
    table = socnav_tables(SocnavRun(tuple(rows)))[0]
    assert cell(table, "mpc", PAPER, "pedestrian_collisions").text == "0"
    assert not cell(table, "mpc", PAPER, "pedestrian_collisions").best
    assert cell(table, "social_force", PAPER, "pedestrian_collisions").best


def test_distance_to_the_oracle(run: SocnavRun) -> None:
    table = oracle_table(run)
    assert table is not None
    assert [row.policy for row in table.rows] == ["social_force", "orca", "mpc"]
    assert cell(table, "mpc", PAPER, "success").text == "2 (3)"
    assert cell(table, "mpc", PAPER, "both").text == "2 of 3"
    assert cell(table, "mpc", PAPER, "time_ratio").estimate.value == pytest.approx((9 / 8 + 20 / 20) / 2)
    assert cell(table, "mpc", PAPER, "path_more").estimate.value == pytest.approx((0.5 + 20) / 2)
    without = SocnavRun(tuple(each for each in small() if each.policy != "oracle"))
    assert oracle_table(without) is None


def test_nothing_completed_by_all_is_no_value() -> None:
    run = SocnavRun((episode("orca", "A", "timeout"), episode("cadrl", "A", path_length=3)))
    table = socnav_tables(run)[1]
    assert run.common == frozenset()
    assert cell(table, "cadrl", PAPER, "path_length").text == "–"
    assert "0 of 1 episodes" in " ".join(table.notes)


@pytest.mark.parametrize("source", ["recorded", "generated"])
def test_every_form_says_where_the_people_come_from(source: str) -> None:
    run = SocnavRun(
        (episode("orca", "A", source=source, path_length=3), episode("stop", "A", "timeout", source=source))
    )
    for table in socnav_tables(run):
        for text in (markdown(table), latex(table), comma_separated(table)):
            assert source in text


def test_forms(tables: dict[str, Table]) -> None:
    table = tables["table3"]
    lines = markdown(table).splitlines()
    assert "| mpc | paper | 10.50 (1 of 2) |" in " ".join(lines)
    assert any(line.startswith("| oracle (privileged) |") for line in lines)
    bars = {line.count("|") for line in lines if line.startswith("|")}
    assert bars == {len(table.columns) + 3}
    tex = latex(table)
    assert r"social\_force & paper & 11.00 $\pm$ 1.41" in tex
    assert "10.50 (1 of 2)" in tex
    body = [line for line in tex.splitlines() if not line.startswith("%")]
    assert "".join(body).isascii()
    rows = list(csv.DictReader(io.StringIO(comma_separated(table))))
    assert len(rows) == len(table.rows) * len(table.columns)
    (length,) = [
        row
        for row in rows
        if (row["policy"], row["definitions"], row["metric"]) == ("social_force", PAPER, "path_length")
    ]
    assert (float(length["mean"]), length["n"], length["best"]) == (11.0, "2", "no")


def test_planning_times_carry_their_unit() -> None:
    def text(mean: float, sd: float | None) -> str:
        return format_of("planning_time_avg", mean).text(mean, sd)

    assert text(18.23, 7.41) == "18.23 ± 7.41 s"
    assert text(0.0123, None) == "12.30 ms"
    assert text(27e-6, 13e-6) == "27.00 ± 13.00 µs"
    assert format_of("path_length", 0.01).text(-0.01) == "−0.01"


def test_published_values_are_whole() -> None:
    paper = published()
    assert list(paper.algorithms) == ["social_force", "orca", "cadrl", "sampling"]
    for name, algorithm in paper.algorithms.items():
        ended = algorithm.success + sum(algorithm.failures.values())
        assert ended == paper.episodes - (name == "social_force"), "the paper's own sum, see the notes"
        for column in (*TABLE_2, *TABLE_3, *TABLE_4):
            if column.name not in {"success", "failures", "pedestrian_collisions", "pedestrian_collisions_all"}:
                assert column.name in algorithm.spreads


@given(st.permutations(small()))
def test_order_of_episodes_does_not_matter(episodes: list[SocnavEpisode]) -> None:
    run = SocnavRun(tuple(episodes))
    assert run.common == {("A", 0), ("B", 0)}
    length = cell(socnav_tables(run)[1], "social_force", PAPER, "path_length")
    assert length.text == "11.00 ± 1.41"
