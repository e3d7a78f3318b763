"""The table of ratings: files in every form, and rows that are refused with their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.studies.ratings.table import COLUMNS, Ratings, make_ratings, read_ratings, write_ratings
from tests.studies.ratings.tables import PROTOCOL, answers, table

HEAD = "participant,policy,scenario,item,rating\n"


def test_reverse_coding_turns_starred_items_and_leaves_out_cannot_tell() -> None:
    ratings = table(answers([1, 2, 3, 0, 5]))
    assert ratings.coded(PROTOCOL).tolist()[:3] == [1, 4, 3]
    assert np.isnan(ratings.coded(PROTOCOL)[3])
    assert ratings.coded(PROTOCOL, reverse=False)[1] == 2


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_files_give_the_same_table_back(tmp_path: Path, form: str) -> None:
    ratings = table(answers([1, 2, 3, 0, 5], time="2024-05-01T10:00:00Z", episode="abc"), answers([5] * 5, run=2))
    path = tmp_path / f"ratings.{form}"
    write_ratings(ratings, path)
    assert read_ratings(path, PROTOCOL).rows() == ratings.rows()
    assert read_ratings(path).rows() == ratings.rows()


NAMES = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 5), st.integers(1, 99)), max_size=8))
def test_any_accepted_table_survives_csv(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[Any, ...]]
) -> None:
    rows = [
        {"participant": p, "policy": q, "scenario": "s", "item": "i", "rating": rating, "run": run, "reverse": True}
        for p, q, rating, run in found
    ]
    try:
        ratings = make_ratings(rows)
    except BadInput:
        return
    path = tmp_path_factory.mktemp("ratings") / "r.csv"
    write_ratings(ratings, path)
    assert read_ratings(path).rows() == ratings.rows()


def test_wide_sheet_as_typed_in_from_paper(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(
        "# typed in by hand, in the lab\n"
        "participant;scenario;location;run;q1;q2;q3;q4;q5;q6;q7;q8;q9\n"
        "A;frontal;f1;1;1;2;3;4;0;;;;\n"
        "A;intersection_wait;w1;1;;;;;;5;5;4;4\n"
    )
    ratings = read_ratings(path, PROTOCOL, defaults={"policy": "orca", "study": "paper"})
    assert len(ratings) == 9
    assert ratings.where(item="q9").rating.tolist() == [4]
    assert set(ratings.policy.tolist()) == {"orca"}
    assert set(ratings.origin.tolist()) == {"human"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "A,orca,frontal,q1,6\n", r"row 2: item q1: rating 6 is not on the scale; 1 to 5, or 0"),
        (HEAD + "A,orca,frontal,q1,2.5\n", r"row 2: rating is '2.5'; write a whole number"),
        (HEAD + "A,orca,frontal,q1,nan\n", r"row 2: rating is 'nan'"),
        (HEAD + "A,orca,frontal,q1,\n", r"row 2: no rating; fill it in \(0 for"),
        (HEAD + ",orca,frontal,q1,1\n", r"row 2: no participant"),
        (HEAD + "A,orca,frontal,q1,1\nA,orca,frontal,q1,2\n", r"row 3: .* a second time \(first in row 2\)"),
        (HEAD + "A,orca,frontal,q1,1\n", r"row 2: .* has no rating of q2, q3, q4, q5; add it, 0 for"),
        (HEAD + "A,orca,frontal,q99,1\n", r"row 2: unknown item 'q99'"),
        (HEAD + "A,orca,frontal,q6,1\n", r"row 2: item q6 belongs to scenario intersection_wait, not frontal"),
        (HEAD + "A,orca,lift,q6,1\n", r"row 2: unknown scenario 'lift'"),
        (HEAD + "A,orca,frontal,q1\n", r"row 2: 4 values for 5 columns"),
        (HEAD + "=A,orca,frontal,q1,1\n", r"row 2: participant '=A' begins like a formula"),
        (HEAD + "A\x07,orca,frontal,q1,1\n", r"row 2: participant .* control characters"),
        (HEAD.replace("rating", "ratng") + "A,orca,frontal,q1,1\n", r"row 2: unknown column 'ratng'; did you mean"),
        ("participant,participant,item\n", "occurs twice"),
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("# comment\n\n" + HEAD + "A,orca,frontal,q1,6\n", "row 4: item q1: rating 6"),
        (HEAD.replace("item", "run") + "A,orca,frontal,1,1\n", "no column item"),
        (HEAD.strip() + ",origin\nA,orca,frontal,q1,1,robot\n", r"row 2: unknown origin 'robot'"),
        (HEAD.strip() + ",reverse\nA,orca,frontal,q1,1,true\n", r"row 2: item q1: reverse is true, but"),
        (HEAD.strip() + ",run\nA,orca,frontal,q1,1,0\n", "numbered from 1"),
    ],
)
def test_bad_rows_are_refused_with_their_number(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_ratings(path, PROTOCOL)


@pytest.mark.parametrize("name", ["r.parquet", "r.json"])
def test_files_that_are_something_else_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("PAR1 nonsense")
    with pytest.raises(BadInput, match=name):
        read_ratings(tmp_path / name)
    with pytest.raises(BadInput, match=r"\.csv"):
        read_ratings(tmp_path / "r.xls")
    with pytest.raises(BadInput, match=r"\.csv"):
        write_ratings(table(answers([1] * 5)), tmp_path / "r.xls")


def test_origins_are_never_mixed() -> None:
    mixed = table(answers([1] * 5), answers([1] * 5, participant="S", origin="simulated"))
    with pytest.raises(BadInput, match=r"human, simulated.*never analysed together"):
        mixed.one_origin()
    with pytest.raises(BadInput, match="no ratings"):
        make_ratings([]).one_origin()


NOTES = {
    "order": 3, "response_s": -1.5, "comment": "=2+2, said \"she\";\nand more", "device": None, "about_age": "18-39",
    "first_view_s": 12.25, "flag": "",
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_other_columns_pass_through_as_text(tmp_path: Path, form: str) -> None:
    """A text that begins like a formula gets an apostrophe in a CSV file, a number does not."""
    ratings = table(answers([1, 2, 3, 0, 5], **NOTES), answers([5] * 5, run=2))
    assert ratings.noted("order") == ["3"] * 5 + [""] * 5
    assert ratings.noted("nothing") == [""] * 10
    path = tmp_path / f"ratings.{form}"
    write_ratings(ratings, path)
    again = read_ratings(path, PROTOCOL)
    assert list(again.extra) == list(NOTES)
    expected = {name: "" if value is None else str(value) for name, value in NOTES.items()}
    if form == "csv":
        expected["comment"] = "'" + expected["comment"]
        assert "\"'=2+2" in path.read_text()
        assert ",-1.5," in path.read_text()
    assert {name: again.noted(name)[0] for name in NOTES} == expected
    assert again.where(run=2).noted("comment") == [""] * 5
    assert again.rows()[0]["comment"] == expected["comment"]


def test_other_columns_of_a_wide_sheet(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("participant,policy,scenario,order,comment,q1,q2,q3,q4,q5\nA,orca,frontal,1,fine,1,2,3,4,5\n")
    assert read_ratings(path, PROTOCOL).noted("comment") == ["fine"] * 5
    path.write_text("participant,policy,scenario,q1,q2,q3,q4,q05\nA,orca,frontal,1,2,3,4,5\n")
    with pytest.raises(BadInput, match="unknown item 'q05'"):
        read_ratings(path, PROTOCOL, complete=False)


def test_notes_without_end_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="row 1: comment has more than 20,000 characters"):
        table(answers([1] * 5, comment="x" * 20_001))
    with pytest.raises(BadInput, match="more than 300 columns"):
        table(answers([1] * 5, **{f"note{k}": "x" for k in range(301)}))


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="a second time"):
        table(answers([1] * 5), answers([1] * 5))


def test_columns_are_those_of_the_contract() -> None:
    assert COLUMNS == (
        "study", "participant", "set", "policy", "scenario", "location", "run", "item", "rating", "reverse", "origin",
        "time", "episode",
    )  # fmt: skip
    ratings: Ratings = table(answers([1] * 5), answers([2] * 5, run=2))
    assert ratings.run_numbers().tolist() == [0] * 5 + [1] * 5
    with pytest.raises(BadInput, match="unknown column of ratings 'polcy'"):
        ratings.where(polcy="orca")
