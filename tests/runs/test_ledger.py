"""The ledger of a run: what was scored counts, and nothing that was changed afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.leaderboard.pack import write_pack
from sidestep.records import load_record, save_record
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import load_run
from sidestep.runs.ledger import START, Ledger, chained
from sidestep.types import Outcome
from tests.runs.ledgers import write_ledger
from tests.runs.test_runner import fake_plan, run


def laundered(folder: Path) -> Path:
    """Make a record of another policy worse, with a digest and checksum that are right again."""
    records = {path: load_record(path) for path in sorted((folder / "episodes").rglob("*.parquet"))}
    path = next(path for path, record in records.items() if record.outcome == Outcome.SUCCESS)
    save_record(replace(records[path], outcome=Outcome.TIMEOUT), path)
    return path


def test_every_scored_episode_has_a_line(tmp_path: Path) -> None:
    result = run(fake_plan(tmp_path, "Steady", "Raises"), tmp_path / "run")
    ledger = Ledger.load(tmp_path / "run")
    assert len(ledger.digests) == len(result.episodes)
    assert set(ledger.digests.values()) == {each.digest for each in result.episodes}
    assert load_run(tmp_path / "run").has_ledger
    lines = [json.loads(line) for line in (tmp_path / "run" / "ledger.jsonl").read_text().splitlines()]
    head = START
    for line in lines:
        head = chained(head, line["episode"], line["digest"])
        assert line["chain"] == head


def test_a_changed_record_is_run_again_on_resume(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", "Raises")
    before = run(plan, tmp_path / "run")
    path = laundered(tmp_path / "run")
    again = run(plan, tmp_path / "run")
    assert [each.digest for each in again.episodes] == [each.digest for each in before.episodes]
    assert load_record(path).outcome == Outcome.SUCCESS
    assert any("not the record that the run has scored" in note for note in again.notes)


def test_a_changed_record_is_not_counted_by_score_and_pack(tmp_path: Path) -> None:
    before = run(fake_plan(tmp_path, "Steady", "Raises"), tmp_path / "run")
    laundered(tmp_path / "run")
    scored = FinishedRun(tmp_path / "run").score(save=False)
    assert len(scored.episodes) == len(before.episodes) - 1
    assert any("ledger.jsonl" in text for text in scored.unreadable)
    with pytest.raises(BadInput, match=r"ledger\.jsonl"):
        write_pack(tmp_path / "run", tmp_path / "run.pack")


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    run(fake_plan(tmp_path, "Steady"), tmp_path / "run")
    laundered(tmp_path / "run")
    true = (tmp_path / "run" / "ledger.jsonl").read_bytes()
    write_ledger(tmp_path / "run")
    FinishedRun(tmp_path / "run").score()
    (tmp_path / "run" / "ledger.jsonl").write_bytes(true)
    with pytest.raises(BadInput, match=r"results\.parquet: the row of"):
        _ = FinishedRun(tmp_path / "run").table


@pytest.mark.parametrize("place", [0, 1, -1])
@pytest.mark.parametrize("how", ["digest", "episode", "left out", "twice", "nonsense"])
def test_a_changed_ledger_is_noticed(how: str, place: int, tmp_path: Path) -> None:
    run(fake_plan(tmp_path, "Steady", "Raises"), tmp_path / "run")
    path = tmp_path / "run" / "ledger.jsonl"
    lines = path.read_text().splitlines()
    changed = {"digest": '"digest": "0', "episode": '"episode": "x'}
    if how in changed:
        key = changed[how].split(": ")[0]
        lines[place] = lines[place].replace(f'{key}: "', changed[how] + " ", 1)
    elif how == "left out":
        del lines[place]
    else:
        lines.insert(place, lines[place] if how == "twice" else "[]")
    path.write_text("".join(f"{line}\n" for line in lines))
    if how == "left out" and place == -1:
        assert len(Ledger.load(path.parent).digests) == len(lines), "that episode is run again"
        return
    with pytest.raises(BadInput, match=r"ledger\.jsonl, line \d+"):
        Ledger.load(path.parent)


def test_a_last_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    before = run(plan, tmp_path / "run")
    path = tmp_path / "run" / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    again = run(plan, tmp_path / "run")
    assert [each.digest for each in again.episodes] == [each.digest for each in before.episodes]
    assert len(Ledger.load(tmp_path / "run").digests) == len(before.episodes)


def test_a_run_of_an_older_version_gets_a_ledger(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady")
    run(plan, tmp_path / "run")
    (tmp_path / "run" / "ledger.jsonl").unlink()
    description = tmp_path / "run" / "run.json"
    document = json.loads(description.read_text())
    del document["ledger"]
    description.write_text(json.dumps(document))
    assert FinishedRun(tmp_path / "run").score(save=False).episodes
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("episodes/*/*.parquet")}
    run(plan, tmp_path / "run")
    assert {path: path.stat().st_mtime_ns for path in before} == before, "no episode was run again"
    assert load_run(tmp_path / "run").has_ledger
    assert Ledger.load(tmp_path / "run").digests


@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=8)), max_size=12))
def test_what_is_added_is_read(tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    ledger = Ledger(folder / "ledger.jsonl")
    for name, digest in entries:
        if "/" not in name and "\0" not in name and name not in (".", ".."):
            ledger.add(folder / name, digest)
    assert (Ledger.load(folder).digests, Ledger.load(folder).head) == (ledger.digests, ledger.head)
