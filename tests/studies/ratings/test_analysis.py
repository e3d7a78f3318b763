"""The whole analysis: its files, its page in a browser, and what it refuses."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sidestep.errors import BadInput
from sidestep.runs.finished import FinishedRun
from sidestep.studies.ratings import analyse, load_questionnaire, make_ratings, read_ratings
from sidestep.studies.ratings.figures import bar_segments, level_colours
from sidestep.studies.ratings.table import Ratings
from tests.needs import CHROMIUM, in_browser
from tests.report.test_html import Page
from tests.studies.ratings.tables import PROTOCOL, answers, constant, table

EVIL = "<script>alert(1)</script>"


def small_study(**about: Any) -> Ratings:
    """Four participants, two policies, two sets of two runs."""
    runs = []
    for who, (policy, base), k, run in product("ABCD", (("mpc", 2), (EVIL, 4)), (1, 2), (1, 2)):
        score = min(5, base + (run + k + ord(who)) % 2)
        runs.append(constant(score, participant=who, policy=policy, set=k, run=run, **about))
    return table(*runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("analysis")
    analyse(small_study(), out)
    return out


def test_document_is_written_and_the_ratings_come_back(folder: Path) -> None:
    document = json.loads((folder / "analysis.json").read_text())
    assert document["counts"] == {
        "answers": 160, "runs": 32, "participants": 4, "policies": 2, "scenarios": 1, "cannot_tell": 0,
        "incomplete_runs": 0,
    }  # fmt: skip
    assert document == json.loads(json.dumps(analyse(small_study())))
    [pair] = document["comparison"]["all"]["pairs"]
    assert pair["difference"] == pytest.approx(2)
    assert read_ratings(folder / "ratings.csv", PROTOCOL).rows() == small_study().rows()
    assert read_ratings(folder / "ratings.parquet", PROTOCOL).rows() == small_study().rows()
    names = {path.name for path in folder.iterdir()}
    assert names >= {"report.html", "summary.csv", "likert-frontal.svg", "likert-frontal.png"}


def test_page_is_well_formed_and_escapes_names(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.scripts == []
    assert EVIL not in text
    assert any(EVIL in part for part in page.text)
    ids = page.ids()
    assert len(ids) == len(set(ids))
    linked = {about["href"][1:] for tag, about in page.elements if tag == "a" and about["href"].startswith("#")}
    assert linked <= set(ids)
    assert not any("Simulated raters" in part for part in page.text)


def test_simulated_answers_are_marked_on_the_page(tmp_path: Path) -> None:
    analyse(small_study(origin="simulated"), tmp_path)
    assert "Simulated raters: these answers were computed" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_origins_and_studies_are_never_mixed() -> None:
    with pytest.raises(BadInput, match="never analysed together"):
        analyse(make_ratings([*small_study().rows(), *constant(3, participant="S", origin="simulated")]))
    with pytest.raises(BadInput, match="several studies"):
        analyse(make_ratings([*small_study().rows(), *constant(3, study="other")]))


def test_metrics_come_from_the_records_of_the_rated_episodes(run_folder: Path, tmp_path: Path) -> None:
    episodes = FinishedRun(run_folder).episodes
    runs = [
        constant(k % 5 + 1, policy=each.policy, participant=f"p{k % 4}", run=k + 1, episode=each.digest)
        for k, each in enumerate(episodes)
    ]
    document = analyse(table(*runs), tmp_path, records=run_folder / "episodes")
    assert document["metrics"]["runs_with_metrics"] == len(episodes) == 8
    found = {each["metric"]: each for each in document["metrics"]["correlations"]}
    distances = [each.metrics["closest_pedestrian_distance"].value for each in episodes]
    expected = spearmanr(distances, [k % 5 + 1 for k in range(8)]).statistic
    assert found["closest_pedestrian_distance"]["rho"] == pytest.approx(expected)
    assert found["wait_obedience"]["rho"] is None
    assert document["metrics"]["model"]["cross_validation"][0]["groups"] == 4
    assert "Predicting a run" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_ratings_of_another_questionnaire_are_refused() -> None:
    with pytest.raises(BadInput, match="unknown item 'q1'"):
        analyse(small_study(), questionnaire="rosas")


@pytest.mark.parametrize(
    "ratings",
    [
        table(answers([3] * 5)),
        table(answers([0] * 5)),
        table(answers([0] * 5), answers([5] * 5, participant="B", policy="x")),
        table(answers([1, 2, 3, 4, 5]), answers([2] * 4, scenario="blind_corner", run=3, set=2)),
    ],
    ids=["one run", "no opinion", "one opinion", "two scenarios"],
)
def test_the_smallest_studies_have_a_page(tmp_path: Path, ratings: Ratings) -> None:
    document = analyse(ratings, tmp_path)
    assert document["counts"]["runs"] >= 1
    Page((tmp_path / "report.html").read_text(encoding="utf-8"))


def test_instruments_without_scenarios_are_analysed_by_subscale(tmp_path: Path) -> None:
    rosas = load_questionnaire("rosas")
    rows = [
        {"participant": who, "policy": policy, "scenario": "hall", "item": item.id, "rating": (k + place) % 9 + 1}
        for k, (who, policy) in enumerate(product("ABC", ("a", "b")))
        for place, item in enumerate(rosas.items)
    ]
    document = analyse(make_ratings(rows, rosas), tmp_path, rosas)
    assert [each["subscale"] for each in document["reliability"]["internal_consistency"]] == [
        "warmth", "competence", "discomfort",
    ]  # fmt: skip
    assert "Published averages" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9).filter(any))
def test_bars_are_as_long_as_all_answers_and_split_in_the_middle(counts: list[int]) -> None:
    segments = bar_segments(counts)
    assert sum(width for _, width in segments) == pytest.approx(1)
    half, odd = divmod(len(counts), 2)
    left = sum(counts[:half]) + (counts[half] / 2 if odd else 0)
    assert segments[0][0] == pytest.approx(-left / sum(counts))
    assert segments[-1][0] + segments[-1][1] == pytest.approx(1 - left / sum(counts))


def test_bars_by_hand() -> None:
    assert bar_segments([1, 1, 2, 0, 4]) == [(-0.375, 0.125), (-0.25, 0.125), (-0.125, 0.25), (0.125, 0), (0.125, 0.5)]
    assert len(set(level_colours(5))) == 5
    assert level_colours(5)[2] == "#c3c8d0"


class TestBrowser:
    pytestmark = in_browser

    @pytest.mark.parametrize("width", [1280, 390])
    def test_page_fits_and_asks_for_nothing(self, folder: Path, width: int) -> None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": width, "height": 800})
            complaints: list[str] = []
            asked: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("request", lambda request: asked.append(request.url))
            page.goto((folder / "report.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("#answers svg").count() == 1
            assert page.locator("#answers svg text").count() > 10
            browser.close()
        assert complaints == []
        assert len(asked) == 1
