"""The report: complete, self-contained, and deaf to what names try to make it do."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.report import write_report
from sidestep.report.selection import MOST_REPLAYS
from tests.report.conftest import EVIL

VOID = {"meta", "br", "input", "img", "link"}


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._open and self._open[-1] != "style":
            self.text.append(data.strip())

    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


@pytest.fixture(scope="module")
def report(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "report.html"
    write_report([run_folder], out)
    return out


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page(report.read_text(encoding="utf-8"))


def replay_data(page: Page) -> dict:
    (text,) = [text for attributes, text in page.scripts if attributes.get("id") == "replay-data"]
    return json.loads(text)


def test_every_section_is_there_once(page: Page) -> None:
    wanted = [
        "summary",
        "outcomes",
        "tradeoff",
        "distributions",
        "scenarios",
        "replay",
        "failures",
        "method",
        "definitions",
        "references",
        "provenance",
    ]
    ids = page.ids()
    assert len(ids) == len(set(ids))
    assert [name for name in ids if name in wanted] == wanted
    links = [a["href"] for tag, a in page.elements if tag == "a"]
    assert links == [*(f"#{name}" for name in wanted), "report.csv", "report.tex"]


def test_nothing_is_fetched(report: Path, page: Page) -> None:
    text = report.read_text(encoding="utf-8")
    for tag, attributes in page.elements:
        for name in ("src", "srcset", "href", "action", "data", "poster", "xlink:href"):
            to_save = tag == "a" and "download" in attributes
            assert to_save or attributes.get(name, "#").startswith("#"), (tag, attributes)
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
    assert not re.search(r"url\s*\(|@import|fetch\s*\(|XMLHttpRequest|import\s*\(|WebSocket|sendBeacon", text)
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert report.stat().st_size < 8_000_000


def test_an_evil_name_is_only_text(report: Path, page: Page) -> None:
    assert [tag for tag, a in page.elements if "onerror" in a or tag == "img"] == []
    assert len(page.scripts) == 2
    assert EVIL.strip() in page.text
    assert EVIL not in report.read_text(encoding="utf-8")
    assert EVIL in {episode["scenario"] for episode in replay_data(page)["episodes"]}
    assert "innerHTML" not in page.scripts[1][1]


def test_replays_match_their_records(page: Page, run_folder: Path) -> None:
    episodes = replay_data(page)["episodes"]
    assert 0 < len(episodes) <= MOST_REPLAYS
    records = [load_record(path) for path in run_folder.glob("episodes/*/*.parquet")]
    stored = {(r.policy.name, r.scenario.name, r.seed): r for r in records}
    for episode in episodes:
        record = stored[episode["policy"], episode["scenario"], episode["seed"]]
        assert episode["outcome"] == record.outcome
        assert episode["digest"] == record.digest[:12]
        assert episode["goal"] == list(record.scenario.ego.goal)


def test_heat_map_buttons_play_what_they_say(page: Page) -> None:
    episodes = replay_data(page)["episodes"]
    buttons = [a for tag, a in page.elements if tag == "button" and "data-replay" in a and "aria-label" in a]
    assert len(buttons) == 4
    for button in buttons:
        episode = episodes[int(button["data-replay"])]
        assert button["aria-label"].startswith(f"{episode['policy']}, {episode['scenario']}:")


def test_all_failures_are_counted(page: Page) -> None:
    bars = [a["aria-label"] for tag, a in page.elements if a.get("class") == "bar"]
    assert bars[0] == "orca: success 1, pedestrian collision 2, timeout 1"
    assert "4 episodes" in page.text


def test_controls_have_names(page: Page) -> None:
    for tag, attributes in page.elements:
        if tag == "canvas" or attributes.get("type") == "range":
            assert attributes["aria-label"]
    labels = [index for index, (tag, _) in enumerate(page.elements) if tag == "label"]
    assert len(labels) == 9


def test_tables_hold_the_same_numbers(report: Path, page: Page) -> None:
    with report.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["policy"], row["metric"]): row for row in csv.DictReader(file)}
    success = rows["orca", "success"]
    assert (success["episodes"], success["n"], float(success["mean"])) == ("4", "4", 0.25)
    assert "25" in page.text
    assert "% ↑" in page.text
    assert r"orca & people, goal & 25 &" in report.with_suffix(".tex").read_text(encoding="utf-8")


def test_two_runs_of_one_policy_are_told_apart(run_folder: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "second"
    shutil.copytree(run_folder, other)
    write_report([run_folder, other], tmp_path / "both.html")
    page = Page((tmp_path / "both.html").read_text(encoding="utf-8"))
    assert {"orca (first)", "orca (second)", "straight (first)", "straight (second)"} <= set(page.text)
    assert {episode["policy"] for episode in replay_data(page)["episodes"]} >= {
        "orca (first)",
        "orca (second)",
    }


def test_missing_records_leave_the_tables(run_folder: Path, tmp_path: Path) -> None:
    """The results alone make a report without a player; a run of nothing is an error."""
    import shutil

    bare = tmp_path / "bare"
    shutil.copytree(run_folder, bare)
    shutil.rmtree(bare / "episodes")
    write_report([bare], tmp_path / "bare.html")
    page = Page((tmp_path / "bare.html").read_text(encoding="utf-8"))
    assert "replay" not in page.ids()
    assert page.scripts == []
    with pytest.raises(BadInput, match="at least one run"):
        write_report([], tmp_path / "x.html")
    with pytest.raises(BadInput, match="nowhere"):
        write_report([tmp_path / "nowhere"], tmp_path / "x.html")


def test_failures_are_shown_worst_first(page: Page) -> None:
    episodes = replay_data(page)["episodes"]
    cards = [episodes[int(a["data-episode"])] for _, a in page.elements if "data-card" in a]
    assert len(cards) == 6
    assert all(episode["outcome"] != "success" for episode in cards)
    assert {episode["policy"] for episode in cards[:2]} == {"orca", "straight"}
    assert cards[0]["outcome"] == "pedestrian_collision"
    assert cards[-1]["outcome"] == "timeout"


def test_what_is_used_is_cited(page: Page) -> None:
    text = " ".join(page.text)
    assert "van den Berg, Guy, Lin, Manocha" in text
    assert "ACM Transactions on Human-Robot Interaction 11(3)" in text


def test_every_record_can_be_traced(page: Page, run_folder: Path) -> None:
    digests = {load_record(path).digest for path in run_folder.glob("episodes/*/*.parquet")}
    assert digests <= set(page.text)


def test_forty_episodes_stay_small(build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Minutes of a crowd: 40 episodes of 60 s with 15 people."""
    from sidestep.report.viewer.pack import pack_replays

    record = build(duration=60.0)
    data = pack_replays([("orca", record)] * 40)
    assert len(data["episodes"]) == 40
    assert len(json.dumps(data)) < 6_000_000
