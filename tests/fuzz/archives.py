"""Damage to packs and to tables of results, inside what checks them: hashes and types are right again afterwards."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from functools import lru_cache
from typing import Any

from tests.fuzz.damage import damage
from tests.fuzz.trees import Damage

TEXTS = ("", "x", "\0", "a" * 200_000, "nan", "../x", "{0}", "½")


def pack_damage(inner: Damage) -> Damage:
    """Damage to a member of a pack, whose hash is put right; to its name; to its kind; else to the bytes."""
    from sidestep.leaderboard.pack import SUMS_FILE, sums_text

    @lru_cache(maxsize=2)
    def members_of(content: bytes) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def apply(seed: int, content: bytes) -> bytes:
        if seed % 4 == 0:
            return damage(seed, content)
        draw = random.Random(seed)
        members = dict(members_of(content))
        name = draw.choice(list(members))
        action = draw.random()
        if action < 0.1:
            members[draw.choice(("../x", "/x", "run.json/x", name.upper(), "episodes/x", "a\\b"))] = members.pop(name)
        elif action < 0.2:
            del members[name]
        elif members[name].startswith(b"{"):
            members[name] = inner(seed, members[name])
        else:
            members[name] = damage(seed, members[name])
        if name != SUMS_FILE and draw.random() < 0.9:
            kept = {each: data for each, data in members.items() if each not in (SUMS_FILE, "signature.json")}
            members[SUMS_FILE] = sums_text({each: hashlib.sha256(data).hexdigest() for each, data in kept.items()})
        return _archive(members, draw)

    return apply


def _archive(members: dict[str, bytes], draw: random.Random) -> bytes:
    packed = io.BytesIO()
    deflated = draw.random() < 0.05
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            if draw.random() < 0.01:
                info.external_attr = draw.choice((0o120777, 0o020666, 0o040755)) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
    return packed.getvalue()


def table_damage(seed: int, content: bytes) -> bytes:
    """A column of a Parquet table of another type, with other values, empty cells or none; or its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if seed % 5 == 0:
        return damage(seed, content)
    draw = random.Random(seed)
    table = _table_of(content)
    for _ in range(draw.choice((1, 1, 2))):
        action = draw.random()
        if action < 0.25 and table.schema.metadata:
            about = dict(table.schema.metadata)
            key = draw.choice(list(about))
            about[key] = draw.choice((b"", b"\xff\xfe", b"a" * 100_000, damage(seed, about[key]), b"../x", b"no-such"))
            table = table.replace_schema_metadata(about)
        elif action < 0.3:
            table = table.slice(draw.randrange(len(table) + 1), draw.randrange(3))
        else:
            table = _with_column(table, draw.randrange(table.num_columns), draw, pa)
    written = io.BytesIO()
    pq.write_table(table, written, compression=draw.choice(("zstd", "snappy", "none")))
    return written.getvalue()


@lru_cache(maxsize=2)
def _table_of(content: bytes) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(content))


def _with_column(table: Any, column: int, draw: random.Random, pa: Any) -> Any:
    name, values = table.column_names[column], table.column(column)
    action = draw.random()
    if action < 0.15:
        return table.remove_column(column)
    if action < 0.3:
        return table.set_column(column, name, pa.nulls(len(table), values.type))
    if action < 0.45:
        return table.set_column(column, name, table.column(draw.randrange(table.num_columns)))
    if action < 0.75:
        rows = values.to_pylist()
        if rows and rows[0] is None:
            return table
        if rows and not isinstance(rows[0], list):
            rows[draw.randrange(len(rows))] = _other(rows[0], draw)
        elif rows:
            rows[draw.randrange(len(rows))] = draw.choice((None, [], rows[0] * 3, rows[0][:1], [None] * len(rows[0])))
        return table.set_column(column, name, pa.array(rows, values.type))
    if action < 0.8:
        return table.append_column(name, values)
    kinds = (pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.large_string(), pa.binary(), pa.list_(pa.string()))
    return table.set_column(column, name, pa.nulls(len(table), draw.choice(kinds)))


def _other(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice((-1, 0, 2**62, -(2**62)))
    if isinstance(value, float):
        return draw.choice((float("nan"), float("inf"), -1e308, 0.0))
    return draw.choice((*TEXTS, None))
