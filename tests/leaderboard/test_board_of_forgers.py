"""The board and packs that are made to look good: nothing without a second run, contradictions, copies."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.leaderboard.pack import write_pack
from sidestep.leaderboard.signatures import make_key
from sidestep.leaderboard.site import Board
from sidestep.records import load_record, save_record
from sidestep.runs.score import score_run
from sidestep.types import Outcome
from tests.leaderboard.conftest import Build
from tests.leaderboard.forging import edit_records, forged, real_run, records_of
from tests.leaderboard.packing import make_pack, make_run
from tests.leaderboard.test_board import folder, ranks
from tests.runs.ledgers import write_ledger


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_run(tmp_path_factory.mktemp("real"))


def reasons(board: Board) -> dict[str, str]:
    return {entry.pack: entry.reasons[-1] for entry in board.unranked}


def text_of(folder: Path, name: str = "index.html") -> str:
    return re.sub(r"\s+", " ", (folder / "site" / name).read_text())


def test_no_rank_without_a_second_run(run: Path, tmp_path: Path, build: Build) -> None:
    write_pack(run, tmp_path / "real.pack")
    board = build(tmp_path / "real.pack", verify=0, need_rerun=True)
    assert "not run again (no episode was re-run)" in reasons(board)["real.pack"]
    board = build(tmp_path / "real.pack", verify=1, need_rerun=True, nonce="dice")
    assert board.unranked == []
    verified = board.entries[0].verified
    assert (verified.checked, verified.equal, verified.possible, verified.nonce) == (1, 1, 4, "dice")
    assert verified.missed == pytest.approx(0.75)
    assert "drawn with nonce dice: one forged episode would have been missed with 75%" in verified.text
    document = json.loads((tmp_path / "site" / "board.json").read_text())
    assert (document["nonce"], document["verify"]) == ("dice", 1)
    assert document["suites"]["core"][0]["entries"][0]["verified"]["missed"] == pytest.approx(0.75)
    assert '<code class="hash">dice</code>' in text_of(tmp_path)
    board = build(tmp_path / "real.pack", verify=5, need_rerun=True)
    assert board.entries[0].verified.is_complete


def test_foreign_code_that_nobody_ran_has_no_rank(tmp_path: Path, build: Build) -> None:
    pack = make_pack(tmp_path)
    board = build(pack, verify=5, need_rerun=True)
    assert "not run again (it is the author's own code" in reasons(board)["mine.pack"]
    board = build(pack, verify=5, need_rerun=False)
    assert ranks(board) == [[("steady", 1)]]
    assert "are ranked, too" in text_of(tmp_path)


def test_two_packs_that_contradict_each_other(run: Path, tmp_path: Path, build: Build) -> None:
    """The forger has changed an outcome: whoever was run again in full is right."""

    def lie(copy: Path) -> None:
        edit_records(copy, lambda record: replace(record, outcome=Outcome.SUCCESS))

    write_pack(run, tmp_path / "real.pack")
    pack = forged(run, tmp_path, lie)
    found = reasons(build(tmp_path / "real.pack", pack))
    assert set(found) == {"real.pack", "forged.pack"}
    assert "circle-crossing · seed 0 contradicts straight (real.pack)" in found["forged.pack"]
    board = build(tmp_path / "real.pack", pack, verify=5, need_rerun=True)
    assert set(reasons(board)) == {"forged.pack"}


def test_disputed_episodes_are_run_again(run: Path, tmp_path: Path, build: Build) -> None:
    """Nobody loses a rank because somebody else sends an invented pack."""

    def lie(copy: Path) -> None:
        edit_records(copy, lambda record: replace(record, outcome=Outcome.SUCCESS))

    write_pack(run, tmp_path / "real.pack")
    pack = forged(run, tmp_path, lie)
    for nonce in "ab":
        found = reasons(build(tmp_path / "real.pack", pack, verify=1, need_rerun=True, nonce=nonce))
        assert set(found) == {"forged.pack"}
        assert found["forged.pack"].endswith("it was run again, and the record of this pack is wrong")


def moved_alike(tmp_path: Path, name: str, policy: str, copies: int) -> list[Path]:
    """Packs of one policy under several names, which anybody can send."""
    packs = []
    for number in range(copies):
        place = folder(tmp_path, f"{name}{number}")
        run = make_run(place, policy, scenarios=8, seeds=(0,))
        document = json.loads((run / "run.json").read_text())
        document["machine"]["copy"] = number
        (run / "run.json").write_text(json.dumps(document))
        write_pack(run, place / f"{name}{number}.pack")
        packs.append(place / f"{name}{number}.pack")
    return packs


def test_copies_do_not_make_everybody_first(tmp_path: Path, build: Build) -> None:
    """Nine packs each of two policies: 153 pairs would be corrected for, of which one is real."""
    board = build(*moved_alike(tmp_path, "a", "Steady", 9), *moved_alike(tmp_path, "b", "Raises", 9))
    [group] = board.groups["test"]
    assert len(group.copies) == 16
    found = {label.partition(" ")[0]: place.rank for label, place in group.ranks.items()}
    assert found == {"steady": 1, "raises": 2}
    assert len(group.ranks) == 18
    assert group.separable
    [document] = json.loads((tmp_path / "site" / "board.json").read_text())["suites"]["test"]
    assert sum(entry["same_motion_as"] is not None for entry in document["entries"]) == 16
    assert text_of(tmp_path, "suites/test.html").count("same motion as") == 16


def test_a_policy_of_somebody_else_under_another_name(tmp_path: Path, build: Build) -> None:
    first = make_run(folder(tmp_path, "a"), "Steady", scenarios=8, seeds=(0,))
    other = folder(tmp_path, "b")
    shutil.copytree(first, other / "run")
    text = (other / "run" / "run.json").read_text().replace('"name": "steady"', '"name": "genius"')
    (other / "run" / "run.json").write_text(text)
    (other / "run" / "episodes" / "steady").rename(other / "run" / "episodes" / "genius")
    for path in records_of(other / "run"):
        record = load_record(path)
        save_record(replace(record, policy=replace(record.policy, name="genius")), path)
    write_ledger(other / "run")
    score_run(other / "run")
    for run in (first, other / "run"):
        write_pack(run, run.parent / f"{run.parent.name}.pack")
    board = build(tmp_path / "a" / "a.pack", tmp_path / "b" / "b.pack")
    assert board.groups["test"][0].copies == {"genius": "steady"}


def test_where_nothing_is_told_apart_nobody_is_first(tmp_path: Path, build: Build) -> None:
    board = build(make_pack(tmp_path, "Raises", "Steady", scenarios=2, seeds=(0,)))
    assert not board.groups["test"][0].separable
    page = text_of(tmp_path, "suites/test.html")
    assert "tell no two of these entries apart, so nobody is first" in page
    assert page.count(">undecided<") == 2
    assert 'class="place first"' not in page
    alone = build(make_pack(folder(tmp_path, "one")))
    assert alone.groups["test"][0].separable


def test_only_keys_of_the_list_are_ranked(tmp_path: Path, build: Build) -> None:
    run = make_run(tmp_path)
    for name in ("mine", "other"):
        make_key(tmp_path / name)
        write_pack(run, tmp_path / f"{name}.pack", key=tmp_path / name)
    write_pack(run, tmp_path / "plain.pack")
    keys: dict[str, Any] = {make_key(tmp_path / "third").public_key: "Team C"}
    keys[build(tmp_path / "mine.pack").entries[0].public_key or ""] = "Team A"
    board = build(*(tmp_path / f"{name}.pack" for name in ("mine", "other", "plain")), keys=keys)
    assert set(reasons(board)) == {"other.pack", "plain.pack"}
    assert board.entries[0].signer == "Team A"
    assert "Team A" in text_of(tmp_path, "suites/test.html")
    assert "Team A" in text_of(tmp_path, f"entries/{board.entries[0].id}.html")
    assert "signed by one of these keys are ranked: Team C, Team A" in text_of(tmp_path)


def test_a_motion_that_is_moved_a_little_is_another(run: Path, tmp_path: Path, build: Build) -> None:
    """The limits of this: only equal motion is found, and a forged one takes a second run."""

    def shake(copy: Path) -> None:
        def change(record: Any) -> Any:
            pose = np.array(record.robot_pose)
            pose[1:] += 1e-9
            return replace(record, robot_pose=pose)

        edit_records(copy, change, most=4)

    write_pack(run, tmp_path / "real.pack")
    pack = forged(run, tmp_path, shake)
    board = build(tmp_path / "real.pack", pack, verify=1, need_rerun=True)
    assert "second run differs" in " ".join(board.unranked[-1].reasons)
    assert {entry.pack for entry in board.unranked} >= {"forged.pack"}
