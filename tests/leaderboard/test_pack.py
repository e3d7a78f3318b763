"""Packs: the same bytes for the same run, what is in them, and what a reader refuses."""

from __future__ import annotations

import json
import struct
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput, SidestepError
from sidestep.leaderboard import unpack
from sidestep.leaderboard.pack import MEMBER, write_pack
from sidestep.leaderboard.signatures import make_key
from sidestep.leaderboard.unpack import is_pack, opened_runs, unpacked
from sidestep.runs.compare import compare_runs
from sidestep.runs.folder import load_run
from sidestep.runs.score import score_run
from tests.leaderboard.packing import make_pack, make_run, members_of, tampered, write_members

pytestmark = pytest.mark.usefixtures("in_process")
FIRST = "episodes/steady/s0__seed0.parquet"


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    first, second = (write_pack(run, tmp_path / name) for name in ("a.pack", "b.pack"))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.sha256 == second.sha256
    assert (first.episodes, first.sources, first.left_out) == (6, ("steady",), ())


def test_what_is_in_it(tmp_path: Path) -> None:
    members = members_of(make_pack(tmp_path))
    assert sorted(members)[:2] == ["SHA256SUMS", FIRST]
    assert set(members) - {f"episodes/steady/s{i}__seed{k}.parquet" for i in range(3) for k in (0, 1)} == {
        "SHA256SUMS", "pack.json", "run.json", "ledger.jsonl", "results.parquet", "sources/steady/mine.py",
    }  # fmt: skip
    about = json.loads(members["pack.json"])
    numpy = next(each for each in about["environment"]["distributions"] if each["name"] == "numpy")
    assert len(numpy["record_sha256"]) == 64
    assert about["environment"]["as_in_the_run"] is True
    [policy] = json.loads(members["run.json"])["plan"]["policies"]
    assert policy["reference"] == "sources/steady/mine.py:Steady"


def test_nothing_of_this_machine_is_in_it(tmp_path: Path) -> None:
    for source in (True, False):
        write_pack(make_run(tmp_path), tmp_path / "p.pack", source=source)
        for name, data in members_of(tmp_path / "p.pack").items():
            assert str(tmp_path).encode() not in data, name


def test_sha256sum_reads_the_hashes(tmp_path: Path) -> None:
    with unpacked(make_pack(tmp_path)) as pack:
        done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=pack.folder, check=False)
        assert done.returncode == 0


def test_source_only_if_it_is_what_ran(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert "source code is not in the pack" in write_pack(run, tmp_path / "a.pack", source=False).left_out[0]
    (tmp_path / "mine.py").write_text("class Steady: ...\n")
    packed = write_pack(run, tmp_path / "b.pack")
    assert packed.sources == ()
    assert "has changed since the run" in packed.left_out[0]
    assert not any(name.startswith("sources/") for name in members_of(tmp_path / "b.pack"))


def test_modules_beside_the_policy_are_packed_with_it(tmp_path: Path) -> None:
    (tmp_path / "gains.py").write_text("GAIN = 1.0\n")
    run = make_run(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text("from gains import GAIN\n" + file.read_text())
    from sidestep.runs.provenance import policy_version

    old = load_run(run)
    [policy] = old.plan.policies
    policy = policy.model_copy(update={"version": policy_version(policy.made_from)})
    replace(old, plan=old.plan.model_copy(update={"policies": (policy,)})).save(run)
    write_pack(run, tmp_path / "p.pack")
    assert {"sources/steady/gains.py", "sources/steady/mine.py"} <= members_of(tmp_path / "p.pack").keys()


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / FIRST).unlink()
    assert "5 of the 6 episodes" in write_pack(run, tmp_path / "p.pack").left_out[0]


def test_commands_take_packs_for_runs(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "Steady", "Raises")
    assert is_pack(pack)
    assert not is_pack(tmp_path / "run")
    assert not is_pack(tmp_path / "run" / FIRST)
    with opened_runs([pack, tmp_path / "run"]) as [inside, folder]:
        assert folder.folder == tmp_path / "run"
        assert inside.episodes == folder.episodes
        assert [each.digest for each in score_run(inside).episodes] == [each.digest for each in folder.episodes]
    assert not inside.folder.exists(), "what was unpacked is deleted"
    with opened_runs([pack]) as opened:
        document = compare_runs(opened)
    assert document["runs"] == [str(pack)]
    assert document["pairs"] == compare_runs([tmp_path / "run"])["pairs"]


def test_a_signature_is_checked(tmp_path: Path) -> None:
    made = make_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0, "nobody else reads the key"
    with pytest.raises(BadInput, match="already exists"):
        make_key(tmp_path / "key")
    run = make_run(tmp_path)
    packed = write_pack(run, tmp_path / "p.pack", key=tmp_path / "key")
    assert packed.signature == made
    with unpacked(tmp_path / "p.pack") as pack:
        assert pack.signature is not None
        assert pack.signature.fingerprint == made.fingerprint
    changed = tampered(tmp_path / "p.pack", {"sources/steady/mine.py": b"print('other code')\n"})
    with pytest.raises(BadInput, match=r"signature\.json: .* does not match"), unpacked(changed):
        pass
    with pytest.raises(BadInput, match="Ed25519 private key"):
        write_pack(run, tmp_path / "q.pack", key=tmp_path / "key.pub")


def refused(path: Path, message: str) -> None:
    with pytest.raises(BadInput, match=message), unpacked(path):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "../outside.parquet", "/etc/passwd", "episodes/../../x.parquet", "C:\\x.parquet", "episodes\\a\\b.parquet",
        "episodes/a/.hidden.parquet", "sources/evil.so", "sources/a/__init__.pyc", "extra.txt", "episodes/a/",
        "results.pkl", "episodes/ä/b.parquet",
    ],
)  # fmt: skip
def test_names_that_no_pack_has(tmp_path: Path, name: str) -> None:
    refused(tampered(make_pack(tmp_path), {name: b"x"}), "not a file of a pack")
    assert not (tmp_path / "outside.parquet").exists()


def test_a_changed_member(tmp_path: Path) -> None:
    pack = make_pack(tmp_path)
    refused(tampered(pack, {FIRST: b"other"}, resummed=False), f"'{FIRST}' does not match its hash")


def test_a_missing_member(tmp_path: Path) -> None:
    pack = make_pack(tmp_path)
    refused(tampered(pack, {FIRST: None}, resummed=False), f"member '{FIRST}' is missing")
    refused(tampered(pack, {"run.json": None}), r"'run\.json' is missing: not a pack")


def test_an_added_member(tmp_path: Path) -> None:
    added = "episodes/steady/s9__seed0.parquet"
    refused(tampered(make_pack(tmp_path), {added: b"x"}, resummed=False), f"'{added}' is not in SHA256SUMS")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    pack = make_pack(tmp_path)
    with zipfile.ZipFile(pack, "a") as archive:
        archive.writestr(zipfile.ZipInfo(FIRST), b"another one")
    refused(pack, f"'{FIRST}': .* twice")
    upper = tampered(make_pack(tmp_path), {FIRST.replace("steady", "STEADY"): b"x"})
    refused(upper, "twice")


def test_a_zip_bomb(tmp_path: Path) -> None:
    """50 MB of zeros in 50 kB: compressed members are refused before anything is unpacked."""
    members = members_of(make_pack(tmp_path)) | {FIRST: bytes(50_000_000)}
    bomb = write_members(tmp_path / "bomb.pack", members, zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1_000_000
    refused(bomb, "is compressed")


def test_members_that_overlap(tmp_path: Path) -> None:
    """The central directory says that one member is larger than the whole file."""
    pack = make_pack(tmp_path)
    data = bytearray(pack.read_bytes())
    entry = data.rfind(b"PK\x01\x02", 0, data.rfind(FIRST.encode()))
    data[entry + 20 : entry + 28] = struct.pack("<II", 900_000_000, 900_000_000)
    pack.write_bytes(data)
    refused(pack, f"member '{FIRST}': members overlap")


def test_sizes_beyond_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = make_pack(tmp_path)
    monkeypatch.setattr(unpack, "MOST_RECORD_BYTES", 100)
    refused(pack, r"'episodes/.*at most 100")
    monkeypatch.setattr(unpack, "MOST_MEMBERS", 3)
    refused(pack, "at most 3")


def test_a_link_is_no_member(tmp_path: Path) -> None:
    pack = make_pack(tmp_path)
    info = zipfile.ZipInfo("sources/steady/link.py")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(pack, "a") as archive:
        archive.writestr(info, "/etc/passwd")
    refused(pack, "not a regular file")


def test_what_is_no_pack_at_all(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    refused(tmp_path / "text", "not a pack, or damaged")
    refused(tmp_path / "absent", "no such pack")
    refused(write_members(tmp_path / "other.zip", {"run.json": b"{}"}), r"'pack\.json' is missing: not a pack")
    with pytest.raises(BadInput, match="not a run folder"):
        write_pack(tmp_path, tmp_path / "p.pack")


def test_a_newer_format_is_told(tmp_path: Path) -> None:
    refused(tampered(make_pack(tmp_path), {"pack.json": b'{"format": 99}'}), "by a newer Sidestep")
    refused(tampered(make_pack(tmp_path), {"pack.json": b"[]"}), "format is missing")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_anywhere_is_an_error_of_ours(small_pack: bytes, tmp_path: Path, data: st.DataObject) -> None:
    """Bytes are flipped, cut or inserted: the pack is refused, or every member is as it was."""
    place = data.draw(st.integers(0, len(small_pack) - 1))
    broken = bytearray(small_pack)
    kind = data.draw(st.sampled_from(("flip", "cut", "insert")))
    if kind == "flip":
        broken[place] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del broken[place:]
    else:
        broken[place:place] = data.draw(st.binary(min_size=1, max_size=40))
    path = tmp_path / "broken.pack"
    path.write_bytes(broken)
    message = ""
    try:
        with unpacked(path) as pack:
            assert (pack.folder / "sources/steady/mine.py").is_file()
    except SidestepError as error:
        message = str(error)
    assert not message or str(path) in message


@pytest.fixture(scope="module")
def small_pack(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("small")
    return make_pack(folder, scenarios=1, seeds=(0,)).read_bytes()


@given(st.from_regex(MEMBER, fullmatch=True))
def test_no_allowed_name_leaves_the_folder(name: str) -> None:
    parts = name.split("/")
    assert not name.startswith("/")
    assert all(part not in ("", ".", "..") for part in parts)
