"""Reading a table of results that somebody else may have made: what it states to hold is compared with the size of its
file, and types and texts are checked, before rows become Python objects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sidestep.errors import BadInput

LEAST_ROWS = 200_000
ROWS_PER_BYTE = 4
"""A file of b bytes has at most ``ROWS_PER_BYTE`` b rows, or ``LEAST_ROWS`` if that is more."""
LEAST_EPISODES = 10_000
BYTES_PER_EPISODE = 16
"""Every episode has a digest of 32 bytes, which do not compress."""
LEAST_BYTES = 1 << 26
BYTES_PER_BYTE = 256
"""A file of b bytes unpacks to at most ``BYTES_PER_BYTE`` b bytes, or ``LEAST_BYTES`` if that is more."""
LEAST_TEXT_BYTES = 500_000_000
TEXT_BYTES_PER_BYTE = 8192
"""The same of texts that are written out in every row: the traceback of an episode is in a hundred rows."""
LONGEST_TEXT = 100_000
DIALECT_KEY = b"sidestep.dialect"
DIALECT = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
ARROW_ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError)
"""What pyarrow raises on damaged files."""


class ResultsFile:
    """An open table. ``schema`` has all columns, ``later`` those that tables of older versions lack."""

    def __init__(self, path: Path, schema: pa.Schema, later: Collection[str]) -> None:
        self.path, self._schema = path, schema
        self._texts = [field.name for field in schema if pa.types.is_string(field.type)]
        try:
            there = [name for name in self._texts if name in pq.read_schema(path).names]
            self.file = pq.ParquetFile(path, pre_buffer=False, read_dictionary=there)
        except ARROW_ERRORS as error:
            raise self.damaged(error) from error
        try:
            self._check_size()
            self._check_columns(later)
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    @property
    def most_episodes(self) -> int:
        """No honest file of this size has more episodes."""
        return max(LEAST_EPISODES, self.path.stat().st_size // BYTES_PER_EPISODE)

    def damaged(self, error: BaseException) -> BadInput:
        """What to say of a table that cannot be read."""
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        return BadInput(f"{self.path}: cannot be read ({first}); `sidestep score {self.path.parent}` writes it again")

    def dialect(self, default: str) -> str:
        """The dialect that the metadata name."""
        raw = (self.file.schema_arrow.metadata or {}).get(DIALECT_KEY, default.encode())
        text = str(raw.decode("utf-8", "replace"))
        if DIALECT.fullmatch(text) is None:
            raise BadInput(
                f"{self.path}: its dialect {text!r:.80} is not a name; `sidestep score {self.path.parent}` writes the "
                "table again"
            )
        return text

    def batches(self, rows: int) -> Iterator[dict[str, list[Any]]]:
        """The columns that are there, as lists, some rows at a time."""
        try:
            for batch in self.file.iter_batches(rows, columns=self._names, use_threads=False):
                batch.validate(full=True)  # pyarrow reads places in a list of texts that are beyond its end
                yield {name: self._values(name, batch.column(name)) for name in self._names}
        except ARROW_ERRORS as error:
            raise self.damaged(error) from error

    def read(self) -> pa.Table:
        """The whole table, texts written out."""
        try:
            table = self.file.read(use_threads=False)
            table.validate(full=True)
            texts = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
            size = sum(_text_bytes(chunk) for name in texts for chunk in table.column(name).chunks)
            if size > max(LEAST_TEXT_BYTES, TEXT_BYTES_PER_BYTE * self.path.stat().st_size):
                raise BadInput(f"{self.path}: its texts take {size:,} bytes, too many for the size of the file")
            plain = [field.with_type(pa.string()) if field.name in texts else field for field in table.schema]
            return table.cast(pa.schema(plain, table.schema.metadata))
        except ARROW_ERRORS as error:
            raise self.damaged(error) from error

    def _check_size(self) -> None:
        about, size = self.file.metadata, self.path.stat().st_size
        if about.num_rows > max(LEAST_ROWS, ROWS_PER_BYTE * size):
            raise BadInput(f"{self.path}: states {about.num_rows:,} rows, too many for its {size:,} bytes")
        unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if unpacked > max(LEAST_BYTES, BYTES_PER_BYTE * size):
            raise BadInput(f"{self.path}: unpacks to {unpacked:,} bytes, too many for its {size:,} bytes")

    def _check_columns(self, later: Collection[str]) -> None:
        found = self.file.schema_arrow
        missing = [name for name in self._schema.names if name not in {*found.names, *later}]
        if missing:
            raise BadInput(f"{self.path}: not a table of results, it has no column {missing[0]!r}")
        self._names = [name for name in self._schema.names if name in found.names]
        for name in self._names:
            if found.names.count(name) > 1:
                raise BadInput(f"{self.path}: has two columns {name!r}; write it again")
            kind, wanted = found.field(name).type, self._schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if kind != wanted:
                raise BadInput(f"{self.path}: column {name!r} holds {str(kind)[:80]}, expected {wanted}")

    def _values(self, name: str, column: Any) -> list[Any]:
        if column.null_count and name != "value":
            raise BadInput(f"{self.path}: column {name!r} has empty cells; write the table again")
        if not pa.types.is_dictionary(column.type):
            return list(column.to_pylist())
        if len(column.dictionary) and pc.max(pc.binary_length(column.dictionary)).as_py() > LONGEST_TEXT:
            raise BadInput(f"{self.path}: column {name!r} has texts of more than {LONGEST_TEXT:,} bytes")
        if column.dictionary.null_count:
            raise BadInput(f"{self.path}: column {name!r} has empty cells; write the table again")
        texts = column.dictionary.to_pylist()
        return [texts[index] for index in column.indices.to_pylist()]


def _text_bytes(chunk: Any) -> int:
    lengths = pc.binary_length(chunk.dictionary).to_pylist()
    counts = np.bincount(chunk.indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(lengths)).tolist()
    return sum((length or 0) * count for length, count in zip(lengths, counts, strict=True))
