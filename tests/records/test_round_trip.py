"""What is saved is what is loaded, to the bit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from sidestep.records import load_record, save_record
from sidestep.types import EpisodeRecord, Event, Outcome, PolicyInfo
from sidestep.types.record import Plans
from tests.records.example import example_record


def assert_same_bits(a: EpisodeRecord, b: EpisodeRecord) -> None:
    for item in fields(EpisodeRecord):
        old, new = getattr(a, item.name), getattr(b, item.name)
        if isinstance(old, np.ndarray):
            assert (old.dtype, old.shape) == (new.dtype, new.shape), item.name
            assert old.tobytes() == new.tobytes(), item.name
        else:
            assert old == new, item.name


@pytest.mark.parametrize(
    ("steps", "people", "others"), [(7, 3, 1), (1, 1, 0), (200, 40, 2), (5, 0, 0), (0, 2, 0), (0, 0, 0)]
)
def test_every_field_comes_back_to_the_bit(tmp_path: Path, steps: int, people: int, others: int) -> None:
    record = example_record(steps, people, others)
    save_record(record, tmp_path / "a.parquet")
    loaded = load_record(tmp_path / "a.parquet")
    assert_same_bits(record, loaded)
    assert loaded.digest == record.digest


def test_no_walls_and_no_events(tmp_path: Path) -> None:
    record = example_record(walls=np.zeros((0, 4)), events=(), outcome=Outcome.SUCCESS)
    save_record(record, tmp_path / "a.parquet")
    assert_same_bits(record, load_record(tmp_path / "a.parquet"))


def test_a_failed_policy_keeps_its_error_text(tmp_path: Path) -> None:
    record = example_record(outcome=Outcome.POLICY_ERROR, error="Traceback …\nZeroDivisionError: «0»")
    save_record(record, tmp_path / "a.parquet")
    assert load_record(tmp_path / "a.parquet").error == record.error


def test_events_lie_in_the_row_of_their_step(tmp_path: Path) -> None:
    """States at 0, 0.05, …: 0.12 s is in step 2 (0.10 to 0.15], exactly 0.35 s ends step 6."""
    save_record(example_record(), tmp_path / "a.parquet")
    rows = pq.read_table(tmp_path / "a.parquet").column("events").to_pylist()
    kinds = {number: [event["kind"] for event in row] for number, row in enumerate(rows) if row}
    assert kinds == {1: ["limit_start"], 2: ["collision_start"], 6: ["timeout"]}


def test_the_last_row_has_a_state_and_no_step(tmp_path: Path) -> None:
    save_record(example_record(), tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert len(table) == 8
    assert table.column("command_0").to_pylist()[-1] is None
    assert table.column("x").to_pylist()[-1] is not None
    assert table.column("command_0").null_count == 1


def test_a_plain_parquet_reader_finds_the_description(tmp_path: Path) -> None:
    save_record(example_record(), tmp_path / "a.parquet")
    metadata = pq.read_schema(tmp_path / "a.parquet").metadata
    assert metadata[b"sidestep.format"] == b"2"
    assert b'"corner"' in metadata[b"sidestep.scenario"]
    assert b'"horizon": 3.0' in metadata[b"sidestep.policy"]
    assert metadata[b"sidestep.digest"].decode() == example_record().digest


def test_settings_that_json_does_not_know_become_plain_values(tmp_path: Path) -> None:
    policy = PolicyInfo("mine", {"gain": np.float32(0.5), "points": np.eye(2), "where": Path("a/b"), "set": {2, 1}})
    save_record(example_record(policy=policy), tmp_path / "a.parquet")
    assert load_record(tmp_path / "a.parquet").policy.settings == {
        "gain": 0.5,
        "points": [[1.0, 0.0], [0.0, 1.0]],
        "where": "a/b",
        "set": [1, 2],
    }


def test_saving_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.parquet"
    save_record(example_record(seed=1), path)
    save_record(example_record(seed=2), path)
    assert load_record(path).seed == 2
    assert [file.name for file in path.parent.iterdir()] == ["a.parquet"]


def test_a_failed_write_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    save_record(example_record(seed=1), path)

    def full(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput, match="No space left on device; free some space"):
        save_record(example_record(seed=2), path)
    assert load_record(path).seed == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_many_events_of_one_moment_keep_their_order(tmp_path: Path) -> None:
    events = tuple(Event(0.1, "trigger", f"t{k}", float(k)) for k in (3, 1, 2, 0))
    save_record(example_record(events=events), tmp_path / "a.parquet")
    assert load_record(tmp_path / "a.parquet").events == events


def plans(points: int, expected: int) -> Plans:
    """Three plans, the second of which is none, and forecasts at the first and last."""
    draw = np.random.default_rng(3)
    robot = draw.normal(size=(3, points, 2))
    robot[1] = np.nan
    robot[2, points // 2 :] = np.nan
    rows = 3 if expected else 0
    return Plans(
        0.3, np.array([0, 2, 5]), robot, np.array([0, 0, 5])[:rows], np.array([2, 1, 2])[:rows],
        draw.normal(size=(rows, expected, 2)),
    )  # fmt: skip


@pytest.mark.parametrize(("points", "expected"), [(4, 3), (4, 0), (0, 3)])
def test_plans_come_back_and_are_no_part_of_the_digest(tmp_path: Path, points: int, expected: int) -> None:
    record = example_record(plans=plans(points, expected))
    assert record.digest == example_record().digest
    save_record(record, tmp_path / "a.parquet")
    loaded = load_record(tmp_path / "a.parquet")
    assert loaded.plans == record.plans
    assert loaded.plans != Plans()
    assert_same_bits(record, loaded)


def test_without_plans_the_file_has_no_columns_for_them(tmp_path: Path) -> None:
    save_record(example_record(), tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert not {"plan", "forecast", "forecast_people"} & set(table.column_names)
    assert b"sidestep.plan_step_s" not in table.schema.metadata


def test_plans_that_do_not_fit_the_record_are_refused() -> None:
    with pytest.raises(BadInput, match="after the last state"):
        example_record(steps=3, plans=plans(4, 3))
    with pytest.raises(BadInput, match="nobody in the record"):
        example_record(people=2, plans=plans(4, 3))
    with pytest.raises(BadInput, match="must rise"):
        Plans(0.3, np.array([2, 1]), np.zeros((2, 1, 2)))
    with pytest.raises(BadInput, match="without a plan"):
        Plans(0.3, np.array([2]), np.zeros((1, 1, 2)), np.array([1]), np.array([0]), np.zeros((1, 1, 2)))
