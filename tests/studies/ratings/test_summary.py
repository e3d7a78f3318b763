"""Averages by hand, and the averages that the publication prints."""

from __future__ import annotations

import csv
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.studies.ratings.published import CheckedCell, check_published, load_published
from sidestep.studies.ratings.summary import summarise_ratings, summary_tables, write_summaries
from tests.studies.ratings.tables import PROTOCOL, answers, table

CHECKED = check_published(load_published())
CONSISTENT = {
    ("II", "F2"): 2.94, ("II", "W1"): 2.075, ("II", "G1"): 2.55, ("II", "G2"): 2.1, ("II", "N1"): 1.925,
    ("II", "N2"): 1.725, ("II", "B1"): 3.125, ("II", "B2"): 2.65, ("III", "3"): 2.78, ("IV", "3"): 2.6,
    ("V", "MPC"): 2.14, ("V", "MPC + BC"): 4.38,
}  # fmt: skip
SLIPS = {
    ("II", "F1"): 3.14, ("II", "W2"): 2.175, ("III", "1"): 2.72, ("III", "2"): 2.4, ("IV", "1"): 3.22,
    ("IV", "2"): 3.12,
}  # fmt: skip


def cell_of(key: tuple[str, str]) -> CheckedCell:
    return next(each for each in CHECKED if (each.cell.table, each.cell.group) == key)


@pytest.mark.parametrize("key", CONSISTENT)
def test_consistent_printed_averages_come_out_with_reverse_coding(key: tuple[str, str]) -> None:
    found = cell_of(key)
    assert found.reversed == pytest.approx(CONSISTENT[key])
    assert found.consistent


@pytest.mark.parametrize("key", SLIPS)
def test_printed_averages_that_disagree_are_marked(key: tuple[str, str]) -> None:
    found = cell_of(key)
    assert found.reversed == pytest.approx(SLIPS[key])
    assert not found.consistent


def test_some_printed_averages_are_those_of_ratings_as_answered() -> None:
    for key in (("II", "F1"), ("III", "2"), ("IV", "1"), ("IV", "2")):
        assert cell_of(key).raw == pytest.approx(cell_of(key).cell.savg, abs=0.05)
    assert len(CHECKED) == len(CONSISTENT) + len(SLIPS)


def test_published_tables_need_their_questionnaire() -> None:
    with pytest.raises(BadInput, match="unknown published tables"):
        load_published("protocol")


@pytest.mark.parametrize("key", CONSISTENT)
def test_ratings_with_the_printed_item_means_give_the_printed_scenario_mean(key: tuple[str, str]) -> None:
    """Ten runs whose item means are the printed ones: the whole path from rows to SAVG."""
    printed = cell_of(key).cell
    columns = []
    for mean in printed.qavg:
        low = int(mean)
        above = round(10 * (mean - low))
        columns.append([low + 1] * above + [low] * (10 - above))
    runs = [answers(row, scenario=printed.scenario, run=k + 1) for k, row in enumerate(zip(*columns, strict=True))]
    [cell] = summarise_ratings(table(*runs), PROTOCOL, ("scenario",))
    assert [each.raw for each in cell.items] == pytest.approx(list(printed.qavg))
    assert cell.savg == pytest.approx(printed.savg, abs=0.1 + 1e-9)
    assert cell.savg_raw == pytest.approx(sum(printed.qavg) / len(printed.qavg))


def test_hand_computed_cell_with_cannot_tell() -> None:
    [cell] = summarise_ratings(table(answers([1, 2, 3, 0, 5]), answers([3, 4, 3, 0, 5], run=2)), PROTOCOL, ("policy",))
    by_item = {each.item: each for each in cell.items}
    assert (by_item["q2"].raw, by_item["q2"].coded) == (3, 3)
    assert (by_item["q4"].raw, by_item["q4"].n, by_item["q4"].cannot_tell) == (None, 0, 2)
    assert by_item["q1"].levels == (1, 0, 1, 0, 0)
    assert cell.savg == (2 + 3 + 3 + 5) / 4
    assert (cell.averaged, cell.runs) == (4, 2)
    coded = [1, 4, 3, 5, 3, 2, 3, 5]
    assert cell.std == pytest.approx(np.std(coded, ddof=1))
    assert cell.std_raw == pytest.approx(np.std([1, 2, 3, 5, 3, 4, 3, 5], ddof=1))


def test_a_cell_without_opinions_has_no_averages() -> None:
    [cell] = summarise_ratings(table(answers([0] * 5)), PROTOCOL, ("policy",))
    assert (cell.savg, cell.savg_raw, cell.std, cell.averaged) == (None, None, None, 0)


@given(st.lists(st.integers(1, 5), min_size=5, max_size=5))
def test_reverse_coding_twice_is_nothing(ratings: list[int]) -> None:
    [cell] = summarise_ratings(table(answers(ratings)), PROTOCOL, ("policy",))
    [turned] = summarise_ratings(table(answers([6 - each for each in ratings])), PROTOCOL, ("policy",))
    assert cell.savg is not None
    assert turned.savg is not None
    assert cell.savg + turned.savg == pytest.approx(6)


def test_tables_in_the_order_of_the_questionnaire_and_as_a_file(tmp_path: Path) -> None:
    runs = [
        answers(list(islice(cycle([4, 2]), len(PROTOCOL.items_for(name)))), scenario=name, participant=who, set=k)
        for name in reversed(PROTOCOL.scenarios)
        for k, who in enumerate("AB", 1)
    ]
    tables = summary_tables(table(*runs), PROTOCOL)
    assert list(tables) == ["locations", "participants", "sets", "policies"]
    assert [cell.key["scenario"] for cell in tables["policies"]] == list(PROTOCOL.scenarios)
    write_summaries(tables, tmp_path / "summary.csv")
    with open(tmp_path / "summary.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    line = next(each for each in lines if each["table"] == "participants" and each["item"] == "q2")
    assert (line["participant"], line["reverse"], line["qavg"], line["qavg_coded"]) == ("A", "true", "2.0", "4.0")
    assert "sets" not in summary_tables(table(runs[0]), PROTOCOL)
