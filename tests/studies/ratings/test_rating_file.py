"""Files of ratings without a study: columns, the questionnaire that fits, averages by hand, errors and their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from sidestep.studies.ratings import analyse
from sidestep.studies.ratings.rating_file import read_rating_file

HEAD = "participant,policy,scenario,location,set,run,question,rating"


def write(path: Path, *lines: str, head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_questions_of_the_protocol_by_number_are_reverse_coded(tmp_path: Path) -> None:
    """Item 1 is 5 and 3, the reversed item 2 is 1 and cannot tell: QAVG 4 and 1, SAVG (4 + 5) / 2."""
    file = write(
        tmp_path / "r.csv",
        "A,mpc,frontal,hall,1,1,1,5", "A,mpc,frontal,hall,1,1,2,1", "B,mpc,frontal,hall,1,1,1,3",
        "B,mpc,frontal,hall,1,1,Q2,0",
    )  # fmt: skip
    ratings, questionnaire = read_rating_file(file)
    assert questionnaire.name == "protocol"
    frontal = analyse(ratings, None, questionnaire)["scenarios"]["frontal"]
    assert frontal["savg"] == 4.5
    assert frontal["savg_raw"] == 2.5
    assert frontal["sd"] == pytest.approx((4 / 3) ** 0.5)  # of 5, 3 and 5
    assert frontal["questions"]["q1"]["sd"] == pytest.approx(2**0.5)
    assert frontal["questions"]["q2"] == {
        "mean": 1, "sd": None, "n": 1, "cannot_tell": 1, "mean_coded": 5, "reverse": True,
    }  # fmt: skip


def test_questions_of_ones_own(tmp_path: Path) -> None:
    lines = ["A,mpc,hall,polite,4,", "A,mpc,hall,startled,2,true", "A,mpc,door,polite,5,", "A,mpc,door,room,1,no"]
    file = write(tmp_path / "r.csv", *lines, head="participant,policy,scenario,question,rating,reverse")
    ratings, questionnaire = read_rating_file(file)
    about = {item.id: (item.scenario, item.reverse) for item in questionnaire.items}
    assert about == {"polite": (None, False), "startled": ("hall", True), "room": ("door", False)}
    document = analyse(ratings, None, questionnaire)
    assert document["scenarios"]["hall"]["savg"] == 4
    assert document["policies"]["mpc"]["savg"] == pytest.approx((4.5 + 4 + 1) / 3)


def test_numbers_in_scenarios_of_ones_own_are_not_items_of_the_protocol(tmp_path: Path) -> None:
    ratings, questionnaire = read_rating_file(write(tmp_path / "r.csv", "A,mpc,kitchen,,1,1,2,5"))
    assert (questionnaire.name, questionnaire.items[0].reverse) == ("own", False)
    assert ratings.item.tolist() == ["2"]


def test_parquet_and_json_say_the_same(tmp_path: Path) -> None:
    rows = [
        {"participant": "A", "policy": "mpc", "scenario": "frontal", "question": number, "rating": 4}
        for number in (1, 3)
    ]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    found = [read_rating_file(tmp_path / name)[0].rows() for name in ("r.json", "r.parquet")]
    assert found[0] == found[1]
    assert [row["item"] for row in found[0]] == ["q1", "q3"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A,mpc,frontal,,1,2,q1,6", "row 3: item q1: rating 6 is not on the scale; 1 to 5, or 0"),
        ("A,mpc,frontal,,1,2,q1,-1", "row 3: item q1: rating -1 is not on the scale"),
        ("A,mpc,frontal,,1,2,q1,4.5", "row 3: rating is '4.5'; write a whole number"),
        ("A,mpc,frontal,,1,2,q1,", "row 3: no rating"),
        ("A,mpc,,,1,2,q1,4", "row 3: no scenario"),
        (",mpc,frontal,,1,2,q1,4", "row 3: no participant"),
        ("A,mpc,frontal,,1,2,,4", "row 3: no item"),
        ("A,mpc,frontla,,1,2,q1,4", "row 3: unknown scenario 'frontla'; did you mean 'frontal'"),
        ("A,mpc,frontal,,1,2,q18,4", "row 3: item q18 belongs to scenario blind_corner"),
        ("A,mpc,frontal,,1,1,q1,4", "row 3: .* a second time"),
        ("A,mpc,frontal,,1,2,Was it nice?,4", "row 3: question 'Was it nice.' is not a short name"),
    ],
)
def test_errors_name_the_row(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_rating_file(write(tmp_path / "r.csv", "A,mpc,frontal,,1,1,q1,4", line))


def test_question_and_item_in_one_file(tmp_path: Path) -> None:
    file = write(tmp_path / "r.csv", "A,mpc,frontal,q1,q1,4", head="participant,policy,scenario,question,item,rating")
    with pytest.raises(BadInput, match="row 2: has question and item"):
        read_rating_file(file)


def test_reversal_must_agree(tmp_path: Path) -> None:
    lines = ["A,mpc,hall,polite,4,yes", "B,mpc,hall,polite,2,no"]
    file = write(tmp_path / "r.csv", *lines, head="participant,policy,scenario,question,rating,reverse")
    with pytest.raises(BadInput, match="row 3: question polite is reversed"):
        read_rating_file(file)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no ratings"):
        read_rating_file(write(tmp_path / "r.csv"))
