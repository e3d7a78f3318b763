"""A record that cannot be read says which file, what is wrong and what to do."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import RecordError
from sidestep.policies.orca import Orca
from sidestep.records import load_record, save_record
from sidestep.records.write import seal
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, Event, PolicyInfo
from sidestep.types.scenario import CirclePlacement, CrowdPart, RandomPlacement
from tests.records.example import example_record, example_scenario

FORMAT_1 = Path(__file__).parent / "data" / "format_1.parquet"


def reseal(path: Path, table: pa.Table) -> None:
    """Save a changed table with the checksum that its new bytes have: only the digest can tell."""
    metadata = {key: text for key, text in table.schema.metadata.items() if key != b"sidestep.checksum"}
    path.write_bytes(seal(table.replace_schema_metadata(metadata)))


def rewrite(path: Path, **metadata: str | None) -> None:
    """Change metadata of a saved record; None removes a key."""
    table = pq.read_table(path)
    changed = dict(table.schema.metadata)
    for key, text in metadata.items():
        name = f"sidestep.{key}".encode()
        if text is None:
            del changed[name]
        else:
            changed[name] = text.encode()
    reseal(path, table.replace_schema_metadata(changed))


def stored(path: Path, key: str) -> Any:
    return json.loads(pq.read_schema(path).metadata[f"sidestep.{key}".encode()])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_record(example_record(), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(RecordError, match=r"a\.parquet: truncated.*run the episode again"):
        load_record(path)


def assert_every_flip_is_found(path: Path, flips: int) -> None:
    """Wherever one bit changes, reading is a RecordError: no other error, and never another record."""
    whole = path.read_bytes()
    draw = np.random.default_rng(7)
    places = set(draw.integers(0, len(whole), flips).tolist()) | {0, len(whole) - 1, whole.find(b"sidestep.checksum")}
    for place in sorted(places):
        bit = 1 << int(draw.integers(8))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        with pytest.raises(RecordError, match=r"\.parquet: .*(run the episode again|newer Sidestep)"):
            load_record(path)
    path.write_bytes(whole)
    load_record(path)


def simulated_record() -> EpisodeRecord:
    """With plans, walls and people, as a run writes it."""
    scenario = load_suite("core").scenarios()[0]
    return run_episode(
        scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": 2.0})}), Orca()
    )


def test_one_flipped_bit_is_found(path: Path) -> None:
    assert_every_flip_is_found(path, 200)
    save_record(example_record(steps=1, people=0, others=0), path)
    assert_every_flip_is_found(path, 100)


@pytest.mark.full
def test_one_flipped_bit_is_found_in_many_places(path: Path) -> None:
    assert_every_flip_is_found(path, 3000)
    save_record(simulated_record(), path)
    assert_every_flip_is_found(path, 3000)


def test_any_truncation_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for length in (*range(0, len(whole), len(whole) // 100), *range(len(whole) - 60, len(whole))):
        path.write_bytes(whole[:length])
        with pytest.raises(RecordError, match=r"\.parquet: (truncated|damaged)"):
            load_record(path)


def test_foreign_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "b.parquet")
    with pytest.raises(RecordError, match=r"b\.parquet: a Parquet file, but not a Sidestep episode record"):
        load_record(tmp_path / "b.parquet")


def test_no_such_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such file"):
        load_record(tmp_path / "none.parquet")
    with pytest.raises(RecordError, match="is a folder"):
        load_record(tmp_path)


def test_newer_version(path: Path) -> None:
    rewrite(path, format="7")
    with pytest.raises(RecordError, match=r"written by a newer Sidestep \(format 7.*upgrade"):
        load_record(path)


def test_version_that_is_no_number(path: Path) -> None:
    rewrite(path, format="one")
    with pytest.raises(RecordError, match="format version 'one' is not a number"):
        load_record(path)


def test_older_version_without_migration(path: Path) -> None:
    rewrite(path, format="0")
    with pytest.raises(RecordError, match="format 0 is no longer readable"):
        load_record(path)


def test_format_1_is_read_with_its_own_digest(tmp_path: Path) -> None:
    """A file that format 1 wrote: groups hold for all states, the digest is that of its time. Saved again it is a
    record of the present format."""
    old = load_record(FORMAT_1)
    assert old.format_version == 1
    assert old.digest == "7a8ae97743cbb5cd068688188e708dbdfbcd47cc8241e8f991fd8c34365622b6"
    assert old.person_group.tolist() == [[-1, 4, 4]] * 8
    assert (old.policy.privileged, old.policy.needs) == (False, ("goal", "pedestrians"))
    same = example_record(person_group=np.array([-1, 4, 4]))
    save_record(old, tmp_path / "new.parquet")
    new = load_record(tmp_path / "new.parquet")
    assert (new.format_version, new.digest) == (2, same.digest)


def test_format_1_is_checked_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    table = pq.read_table(FORMAT_1)
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"sidestep.outcome": b"success"}), path)
    with pytest.raises(RecordError, match="do not match the stored digest"):
        load_record(path)


def test_a_newer_file_cannot_pass_for_one_without_a_checksum(path: Path) -> None:
    table = pq.read_table(path)
    metadata = {key: text for key, text in table.schema.metadata.items() if key != b"sidestep.checksum"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(RecordError, match="lost its checksum"):
        load_record(path)


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        ("scenario", lambda it: it["robots"][0].update(goal=[3.0, 0.5])),
        ("scenario", lambda it: it["rules"].update(goal_radius_m=2.0)),
        ("scenario", lambda it: it["rules"].update(time_limit_s=99.0)),
        ("scenario", lambda it: it.update(suite="other")),
        ("robot", lambda it: it["footprint"].update(radius=0.1)),
        ("robot", lambda it: it["limits"].update(max_speed=9.0)),
        ("policy", lambda it: it.update(needs=["goal"])),
        ("policy", lambda it: it.update(privileged=True)),
        ("people", lambda it: it.update(model=["static"] * 3)),
        ("people", lambda it: it.update(radius=[0.1] * 3)),
        ("other_radius", lambda it: it.__setitem__(0, 0.1)),
    ],
)
def test_what_scores_depend_on_cannot_be_edited(path: Path, key: str, edit: Callable[[Any], Any]) -> None:
    """Even by somebody who renews the checksum."""
    value = stored(path, key)
    edit(value)
    rewrite(path, **{key: json.dumps(value)})
    with pytest.raises(RecordError, match="do not match the stored digest"):
        load_record(path)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("outcome", "success"),
        ("source", "recorded"),
        ("mode", "latency"),
        ("seed", "13"),
        ("shortest_path_m", "2.0"),
    ],
)
def test_what_scores_depend_on_cannot_be_replaced(path: Path, key: str, text: str) -> None:
    rewrite(path, **{key: text})
    with pytest.raises(RecordError, match="do not match the stored digest"):
        load_record(path)


@pytest.mark.parametrize(("column", "value"), [("people_group", 0), ("x", 1.0), ("people_present", False)])
def test_columns_cannot_be_edited(path: Path, column: str, value: Any) -> None:
    table = pq.read_table(path)
    rows = table.column(column).to_pylist()
    rows[3] = [value] * len(rows[3]) if isinstance(rows[3], list) else value
    kind = table.schema.field(column).type
    reseal(path, table.set_column(table.column_names.index(column), column, pa.array(rows, kind)))
    with pytest.raises(RecordError, match="do not match the stored digest"):
        load_record(path)


def test_the_digest_leaves_out_what_scores_do_not_depend_on() -> None:
    """So that a re-run with another version, or on a slower machine, has the same digest."""
    record = example_record()
    policy = PolicyInfo("orca", {"horizon": 9.0}, ("goal", "pedestrians"), "sidestep 9")
    events = (*record.events[:2], Event(0.35, "policy_error", text="at 0x7f10"))
    other = (*record.events[:2], Event(0.35, "policy_error", text="at 0x7f20"))
    same = example_record(policy=policy, planning_time=np.ones(7), package_version="9", error="text")
    assert same.digest == record.digest
    assert example_record(events=events).digest == example_record(events=other).digest
    assert example_record(events=events).digest != record.digest


def test_the_sign_of_zero_is_no_part_of_the_digest() -> None:
    """NumPy's minimum of 0.0 and -0.0 is either, by processor."""
    pose = np.zeros((8, 3))
    one, other = (
        example_record(events=(Event(zero, "reset", value=zero),), robot_pose=pose * sign).digest
        for zero, sign in ((0.0, 1.0), (-0.0, -1.0))
    )
    assert one == other


def test_a_kind_that_is_a_default_is_in_the_digest() -> None:
    """Two placements with the same numbers are told apart by nothing else."""
    one, other = (
        example_record(scenario=example_scenario(crowd=(CrowdPart(placement=placement),)))
        for placement in (CirclePlacement(count=3), RandomPlacement(count=3, area=(0, 0, 1, 1)))
    )
    assert one.digest != other.digest
    assert '"kind": "circle"' in json.dumps(one.meaning())


@pytest.mark.parametrize("key", ["scenario", "policy", "walls", "people", "seed", "digest"])
def test_missing_description(path: Path, key: str) -> None:
    rewrite(path, **{key: None})
    with pytest.raises(RecordError, match=r"a\.parquet"):
        load_record(path)


def test_missing_column(path: Path) -> None:
    reseal(path, pq.read_table(path).drop_columns(["people_x"]))
    with pytest.raises(RecordError, match="no column 'people_x'"):
        load_record(path)


def test_rows_cut_off(path: Path) -> None:
    reseal(path, pq.read_table(path).slice(0, 5))
    with pytest.raises(RecordError, match=r"a\.parquet"):
        load_record(path)


@cache
def bomb() -> str:
    """128 MB of zeros in 0.2 MB of text."""
    return base64.b64encode(zlib.compress(bytes(1 << 27), 6)).decode()


@pytest.mark.parametrize("count", ["5", "-1", "0", "100000", "70000000", "9" * 5000, "nan"])
def test_walls_do_not_blow_up(path: Path, count: str) -> None:
    """Nothing more than the stated edges is unpacked, and not too many can be stated."""
    rewrite(path, walls=bomb(), wall_count=count)
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"a\.parquet: damaged"):
        load_record(path)
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


def test_walls_of_format_1_do_not_blow_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.records.read.MOST_WALLS", 1 << 17)
    path, table = tmp_path / "old.parquet", pq.read_table(FORMAT_1)
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"sidestep.walls": bomb().encode()}), path)
    tracemalloc.start()
    with pytest.raises(RecordError, match="damaged or incomplete: walls"):
        load_record(path)
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


def test_more_rows_than_fit_are_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three million equal rows in a file of a few kilobytes."""
    pq.write_table(pa.table({"x": np.zeros(3_000_000)}), path, compression="zstd")
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(RecordError, match="3000000 rows with 3000000 values cannot be in"):
        load_record(path)


HUGE, DEEP = "9" * 5000, "[" * 100_000


@pytest.mark.parametrize(
    "metadata",
    [
        {"seed": HUGE}, {"seed": "inf"}, {"format": HUGE}, {"format": "²"}, {"mode": "never"}, {"source": "dreamt"},
        {"shortest_path_m": "far"}, {"people": "[]"}, {"people": DEEP}, {"policy": "3"}, {"policy": DEEP},
        {"policy": '{"name": "a", "settings": [], "needs": "future", "version": ""}'}, {"other_radius": DEEP},
        {"people": '{"id": [1e400, 2, 3], "radius": [1, 1, 1], "model": ["a", "a", "a"]}'},
        {"people": '{"id": [' + HUGE + ', 2, 3], "radius": [1, 1, 1], "model": ["a", "a", "a"]}'},
        {"people": '{"id": [1, 2, 3], "radius": [1, 1, 1], "model": ["a"]}'},
        {"people": '{"id": [1, 2], "radius": [1, 1], "model": ["a", "a"]}'},
        {"other_radius": "[[1, 2]]"}, {"other_radius": "{}"}, {"scenario": "{}"}, {"scenario": DEEP},
        {"robot": "null"}, {"walls": "no base 64"}, {"walls": "AAAA"}, {"wall_count": "five"},
    ],
)  # fmt: skip
def test_nonsense_is_a_record_error(path: Path, metadata: dict[str, str]) -> None:
    """Of files with a good checksum, as somebody may write them on purpose."""
    rewrite(path, **metadata)
    with pytest.raises(RecordError, match=r"a\.parquet: "):
        load_record(path)


@pytest.mark.parametrize("name", ["time", "x", "command_0", "limited", "people_x", "people_group", "other_x", "events"])
def test_columns_of_another_type_are_a_record_error(path: Path, name: str) -> None:
    table = pq.read_table(path)
    for values in (["text"] * 8, [None] * 8, [[{"order": 1}]] * 8, [[1.0, None]] * 8):
        changed = table.set_column(table.column_names.index(name), name, pa.array(values))
        reseal(path, changed)
        with pytest.raises(RecordError, match=r"a\.parquet: "):
            load_record(path)


def test_metadata_that_is_no_text(path: Path) -> None:
    table = pq.read_table(path)
    reseal(path, table.replace_schema_metadata(table.schema.metadata | {b"sidestep.error": b"\xff\xfe"}))
    with pytest.raises(RecordError, match=r"a\.parquet: "):
        load_record(path)
