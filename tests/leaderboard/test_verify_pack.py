"""Verification of packs: what a cheater can do and how it is found; whose code is run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.leaderboard.audit import audit_run
from sidestep.leaderboard.signatures import make_key
from sidestep.leaderboard.verify_pack import PackVerification, verify_pack
from sidestep.types import Outcome
from tests.leaderboard.packing import (
    changed_record,
    changed_results,
    make_pack,
    make_run,
    members_of,
    tampered,
)
from tests.runs.fake import fake_episode, write_policies
from tests.runs.ledgers import write_ledger

pytestmark = pytest.mark.usefixtures("in_process")
FIRST, SECOND = (f"episodes/raises/s0__seed{seed}.parquet" for seed in (0, 1))


def check(pack: Path, sample: int | None = None, trust: bool = False) -> PackVerification:
    return verify_pack(pack, sample, run_episode=fake_episode, trust=trust)


def bundle(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make ``steady`` a policy that comes with Sidestep."""
    monkeypatch.setitem(registry.POLICIES, "steady", f"{write_policies(folder)}:Steady")
    monkeypatch.setattr(registry, "table", registry.table.__wrapped__)  # not remembered from before


def kinds(pack: Path) -> list[str]:
    found = check(pack, 0)
    assert found.ok == (not found.audit.problems)
    return sorted({problem.kind for problem in found.audit.problems})


def test_an_honest_pack(tmp_path: Path) -> None:
    found = check(make_pack(tmp_path, "Steady", "Raises"), trust=True)
    assert found.ok
    document = found.as_json()
    assert (document["checked"], document["equal"], document["first_difference"]) == (12, 12, None)
    assert (document["pack"]["episodes"], document["pack"]["rescored"], document["pack"]["problems"]) == (12, 12, [])
    assert document["pack"]["signature"] is None
    json.dumps(document)


def test_foreign_code_is_run_only_if_trusted(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    pack = make_pack(tmp_path)
    spy = f"open({str(tmp_path / 'marks' / 'ran')!r}, 'w').close()\n".encode()
    source = members_of(pack)["sources/steady/mine.py"]
    pack = tampered(pack, {"sources/steady/mine.py": spy + source})
    found = check(pack)
    assert found.ok
    assert found.again.checked == 0
    assert [(each.policy, each.episodes) for each in found.not_checked] == [("steady", 6)]
    assert "--trust" in found.not_checked[0].reason
    assert not (tmp_path / "marks" / "ran").exists()
    assert check(pack, trust=True).again.checked == 6
    assert (tmp_path / "marks" / "ran").exists()


def test_a_bundled_name_with_a_predictor_of_the_packers_is_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = make_pack(tmp_path)
    bundle(monkeypatch, tmp_path)
    run = json.loads(members_of(pack)["run.json"])
    run["plan"]["policies"][0] |= {"reference": "", "settings": {"predictor": "antigravity:fly"}}
    found = check(tampered(pack, {"run.json": json.dumps(run).encode()}))
    assert found.again.checked == 0
    assert "--trust" in found.not_checked[0].reason


def test_a_bundled_policy_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = make_pack(tmp_path, "Steady", "Raises")
    bundle(monkeypatch, tmp_path)
    run = json.loads(members_of(pack)["run.json"])
    run["plan"]["policies"][0] |= {"reference": ""}
    found = check(tampered(pack, {"run.json": json.dumps(run).encode()}))
    assert found.again.by_policy == {"steady": (6, 6)}
    assert [each.policy for each in found.not_checked] == ["raises"]


def test_an_invented_record_is_found_by_running_it_again(tmp_path: Path) -> None:
    """The record, its digest and the results agree; only a second run tells."""
    pack = make_pack(tmp_path, "Raises")
    good = changed_record(pack, FIRST, lambda record: replace(record, outcome=Outcome.TIMEOUT, error=""))
    lie = tampered(pack, {FIRST: good})
    scored = tampered(lie, rescored(lie))
    assert kinds(scored) == []
    found = check(scored, trust=True)
    assert not found.ok
    assert (found.again.checked, found.again.equal) == (6, 5)
    assert found.again.first_difference is not None
    assert (found.again.first_difference.scenario, found.again.first_difference.quantity) == ("s0", "outcome")


def rescored(pack: Path) -> dict[str, bytes]:
    """Results and ledger that agree with the records of a pack."""
    from sidestep.leaderboard.unpack import unpacked
    from sidestep.runs.score import score_run

    with unpacked(pack) as inside:
        write_ledger(inside.folder)
        score_run(inside.folder)
        return {name: (inside.folder / name).read_bytes() for name in ("results.parquet", "ledger.jsonl")}


def test_edited_results(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Raises")
    found = check(tampered(pack, {"results.parquet": changed_results(pack, success=1.0)}), 0)
    assert {problem.kind for problem in found.audit.problems} == {"results"}
    assert "success 1, the record gives 0" in found.audit.problems[0].text
    assert all(each.metrics["success"].value == 0.0 for each in found.audit.scored.episodes), "the record counts"


def test_dropped_failures(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Raises")
    dropped = tampered(pack, {FIRST: None, "results.parquet": changed_results(pack, drop=1)})
    assert kinds(dropped) == ["missing"]


def test_failures_declared_as_skipped(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Raises")
    run = json.loads(members_of(pack)["run.json"])
    run["skipped"] = [{"scenario": "s0", "policy": "raises", "seed": 0, "reason": "cannot be built"}]
    changes = {FIRST: None, "results.parquet": changed_results(pack, drop=1), "run.json": json.dumps(run).encode()}
    assert kinds(tampered(pack, changes)) == ["skipped"]


def test_a_good_episode_in_the_place_of_a_bad_one(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Raises")
    assert "misplaced" in kinds(tampered(pack, {SECOND: members_of(pack)[FIRST]}))


def test_repeated_episodes(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Raises")
    assert kinds(tampered(pack, {"results.parquet": changed_results(pack, twice=True)})) == ["repeated"]
    copied = tampered(pack, {"episodes/raises/s9__seed0.parquet": members_of(pack)[FIRST]})
    assert kinds(copied) == ["foreign"]


def test_an_edited_record(tmp_path: Path) -> None:
    """Bytes changed in place: its checksum tells. Saved again: the results' digest tells."""
    pack = make_pack(tmp_path, "Raises")
    data = bytearray(members_of(pack)[FIRST])
    data[len(data) // 2] ^= 1
    assert kinds(tampered(pack, {FIRST: bytes(data)})) == ["record", "results"]
    saved = changed_record(pack, FIRST, lambda record: replace(record, outcome=Outcome.TIMEOUT))
    assert kinds(tampered(pack, {FIRST: saved})) == ["results"]


def test_the_key_has_to_be_the_one(tmp_path: Path) -> None:
    from sidestep.leaderboard.pack import write_pack

    run = make_run(tmp_path)
    for name in ("mine", "other"):
        make_key(tmp_path / name)
    write_pack(run, tmp_path / "signed.pack", key=tmp_path / "mine")
    write_pack(run, tmp_path / "plain.pack")
    assert verify_pack(tmp_path / "signed.pack", 0, key=tmp_path / "mine.pub").ok
    with pytest.raises(BadInput, match="is signed by"):
        verify_pack(tmp_path / "signed.pack", 0, key=tmp_path / "other.pub")
    with pytest.raises(BadInput, match="is not signed"):
        verify_pack(tmp_path / "plain.pack", 0, key=tmp_path / "mine.pub")


def test_modes_on_the_wall_clock_are_told(tmp_path: Path) -> None:
    found = check(make_pack(tmp_path, mode="async"), trust=True)
    assert found.again.checked == 0
    assert "wall clock" in found.not_checked[0].reason


def test_a_run_folder_is_audited_alike(tmp_path: Path) -> None:
    run = make_run(tmp_path, "Steady", "Raises")
    assert audit_run(run).problems == ()
    (run / FIRST).unlink()
    found = audit_run(run)
    assert [problem.kind for problem in found.problems] == ["missing", "results"]
    assert found.problems_of("steady") == ()


def test_the_verifier_draws_the_sample(tmp_path: Path) -> None:
    """It can be repeated with the nonce, and the chance of finding what is forged is told."""
    pack = make_pack(tmp_path, scenarios=10, seeds=(0, 1))
    asked: list[list[str]] = []

    def verified(nonce: str | None) -> PackVerification:
        labels: list[str] = []
        asked.append(labels)
        return verify_pack(
            pack, 4, progress=lambda _, __, task: labels.append(task.label), run_episode=fake_episode, trust=True,
            nonce=nonce,
        )  # fmt: skip

    first, again, other = verified("a"), verified("a"), verified(None)
    assert asked[0] == asked[1] != asked[2]
    document = first.as_json()
    assert (document["nonce"], document["checked"], document["of"]) == ("a", 4, 20)
    assert document["chances"]["1"] == pytest.approx(0.2)
    assert again.as_json() == document
    assert len(other.again.nonce) == 16


def test_a_run_folder_is_spread_unless_a_nonce_is_given(tmp_path: Path) -> None:
    from sidestep.runs.verify import verify_run

    run = make_run(tmp_path, scenarios=5)
    assert "nonce" not in verify_run(run, 3, run_episode=fake_episode).as_json()
    assert verify_run(run, 3, run_episode=fake_episode, nonce="n").as_json()["of"] == 10


def test_only_keys_of_the_list_count(tmp_path: Path) -> None:
    import base64

    from sidestep.leaderboard.pack import write_pack
    from sidestep.leaderboard.signatures import read_keys

    run = make_run(tmp_path)
    mine, other = (make_key(tmp_path / name).public_key for name in ("mine", "other"))
    write_pack(run, tmp_path / "signed.pack", key=tmp_path / "mine")
    write_pack(run, tmp_path / "plain.pack")
    line = (tmp_path / "mine.pub").read_text().splitlines()[1]
    short = base64.b64encode(bytes.fromhex(mine)).decode()
    for key in (mine, mine.upper(), line, short):
        (tmp_path / "keys").write_text(f"# the teams\n\n{key}  Team A  # in Berlin\n{other} Team B\n")
        assert read_keys(tmp_path / "keys") == {mine: "Team A", other: "Team B"}
    keys = read_keys(tmp_path / "keys")
    found = verify_pack(tmp_path / "signed.pack", 0, keys=keys)
    assert found.ok
    assert found.as_json()["pack"]["signer"] == "Team A"
    for pack, allowed in (("signed.pack", {other: "Team B"}), ("plain.pack", keys)):
        found = verify_pack(tmp_path / pack, 0, keys=allowed)
        assert [problem.kind for problem in found.audit.problems] == ["signature"]
        assert not found.ok
    for text in ("", "# none\n", "abc Team\n", mine, f"{mine} A\n{mine} B\n", f"{mine[:-2]} A\n"):
        (tmp_path / "keys").write_text(text)
        with pytest.raises(BadInput, match=r"keys: (line \d: |no keys in it)"):
            read_keys(tmp_path / "keys")
