"""Both forms of an item that a publication reverses against its wording."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidestep.studies.ratings import analyse, load_questionnaire, read_ratings
from sidestep.studies.ratings.rating_file import read_rating_file
from sidestep.studies.ratings.simulated import RatedRun, RaterSettings, load_mapping, simulate_ratings
from sidestep.studies.ratings.table import Ratings
from sidestep.types.result import MetricResult
from tests.studies.ratings.tables import PROTOCOL, answers, constant, table

CORRECTED = load_questionnaire("protocol-corrected")
PERFECT = [1, 5, 5, 5]
"""Not in the way, avoided me, made room, clear what it wanted."""


def doorway(*runs: list[int]) -> Ratings:
    return table(
        *(answers(run, "narrow_doorway", participant=f"p{k}", policy=policy)
          for k in range(8) for policy, run in zip(("good", "bad"), runs, strict=False))
    )  # fmt: skip


def test_a_perfect_robot_reaches_four_as_published_and_five_corrected() -> None:
    document = analyse(doorway(PERFECT))
    assert document["scenarios"]["narrow_doorway"]["savg"] == 4
    other = document["other_form"]
    assert (other["questionnaire"], other["items"], other["as_worded"]) == ("protocol-corrected", ["q17"], True)
    assert other["scenarios"] == {"narrow_doorway": {"savg": 5, "sd": 0}}
    assert other["policies"]["good"]["savg"] == 5
    corrected = analyse(doorway(PERFECT), questionnaire=CORRECTED)
    assert corrected["scenarios"]["narrow_doorway"]["savg"] == 5
    assert corrected["other_form"]["scenarios"]["narrow_doorway"]["savg"] == 4
    assert not corrected["other_form"]["as_worded"]


def test_differences_and_averages_of_both_forms_are_on_the_page(tmp_path: Path) -> None:
    """Bad: 3, 3, 3, 1. As published it scores (3 + 3 + 3 + 5) / 4 = 3.5, corrected 2.5: half a level and 2.5 levels."""
    document = analyse(doorway(PERFECT, [3, 3, 3, 1]), tmp_path)
    assert document["comparison"]["all"]["pairs"][0]["difference"] == pytest.approx(3.5 - 4)
    assert document["other_form"]["pairs"][0]["difference"] == pytest.approx(2.5 - 5)
    text = (tmp_path / "report.html").read_text()
    assert "With q17 the other way round (protocol-corrected): good − bad: 2.50" in text
    assert "narrow_doorway: SAVG" in text
    assert '<td class="number">4.00</td><td class="number"><b>5.00</b></td>' in text
    assert "Published averages" in text
    analyse(doorway(PERFECT, [3, 3, 3, 1]), tmp_path, CORRECTED)
    assert "Published averages" in (tmp_path / "report.html").read_text()


def test_scenarios_without_the_item_are_left_alone() -> None:
    assert analyse(table(constant(3)))["other_form"] is None
    both = analyse(table(constant(3), answers(PERFECT, "narrow_doorway")))
    assert list(both["other_form"]["scenarios"]) == ["narrow_doorway"]


def test_exported_ratings_can_be_analysed_in_either_form(tmp_path: Path) -> None:
    """The column `reverse` of the export is that of the published form."""
    analyse(doorway(PERFECT), tmp_path)
    assert read_ratings(tmp_path / "ratings.csv").where(item="q17").reverse.all()
    ratings, known = read_rating_file(tmp_path / "ratings.csv", "protocol-corrected")
    assert analyse(ratings, None, known)["scenarios"]["narrow_doorway"]["savg"] == 5
    assert not read_ratings(tmp_path / "ratings.csv", CORRECTED).where(item="q17").reverse.any()


def test_simulated_raters_answer_what_they_read() -> None:
    """A robot whose metrics are the best of every anchor gets 5 for being clear, whichever way it is scored."""
    mapping = load_mapping("protocol")
    best = {
        term.metric: MetricResult(term.good, "")
        for item in ("q14", "q15", "q16", "q17") for term in mapping.items[item]
    }  # fmt: skip
    settings = RaterSettings(leaning=0, run_noise=0, answer_noise=0, cannot_tell=0)
    for known, savg in ((PROTOCOL, 4), (CORRECTED, 5)):
        ratings = simulate_ratings([RatedRun("good", "narrow_doorway", best)], known, 3, 0, mapping, settings)
        assert set(ratings.where(item="q17").rating.tolist()) == {5}
        assert analyse(ratings, None, known)["scenarios"]["narrow_doorway"]["savg"] == savg
