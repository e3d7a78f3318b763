"""A record that cannot be read says which file, what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import RecordError
from sidestep.records import load_record, migrate, save_record
from tests.records.example import example_record


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
    pq.write_table(table.replace_schema_metadata(changed), path)


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


def test_flipped_bits_are_found(path: Path) -> None:
    """Wherever a byte changes, loading fails or gives the very same record; it never gives another one."""
    whole = path.read_bytes()
    digest = load_record(path).digest
    failures = 0
    for place in range(4, len(whole), max(1, len(whole) // 200)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            assert load_record(path).digest == digest
        except RecordError:
            failures += 1
    assert failures > 50


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


def test_migration_is_applied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of version 0 that had another name for a column becomes readable by one table line."""
    rewrite(path, format="0")
    table = pq.read_table(path)
    renamed = table.rename_columns(["heading_rad" if name == "heading" else name for name in table.column_names])
    pq.write_table(renamed.replace_schema_metadata(table.schema.metadata), path)

    def zero_to_one(old: pa.Table, metadata: migrate.Metadata) -> tuple[pa.Table, migrate.Metadata]:
        names = ["heading" if name == "heading_rad" else name for name in old.column_names]
        return old.rename_columns(names), metadata | {"format": "1"}

    monkeypatch.setitem(migrate.MIGRATIONS, 0, zero_to_one)
    assert load_record(path).digest == example_record().digest


def test_changed_values_do_not_match_the_digest(path: Path) -> None:
    rewrite(path, outcome="success")
    with pytest.raises(RecordError, match="do not match the stored digest"):
        load_record(path)


@pytest.mark.parametrize("key", ["scenario", "policy", "walls", "people", "seed", "digest"])
def test_missing_description(path: Path, key: str) -> None:
    rewrite(path, **{key: None})
    with pytest.raises(RecordError, match=r"a\.parquet"):
        load_record(path)


def test_missing_column(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["people_x"]), path)
    with pytest.raises(RecordError, match="no column 'people_x'"):
        load_record(path)


def test_rows_cut_off(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 5), path)
    with pytest.raises(RecordError, match=r"a\.parquet"):
        load_record(path)
