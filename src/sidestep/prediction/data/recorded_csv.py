"""Columns of comma-separated files, with errors that name file, line and column."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sidestep.datasets.annotations import read_text
from sidestep.errors import BadInput, did_you_mean

Kind = Literal["whole", "number", "gaps", "text"]
"""``gaps``: numbers of which some may be missing (NaN)."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of a file; ``line`` is the line of each row."""

    path: Path
    line: Any  # (K,) int64
    values: dict[str, Any]  # name → (K,) array

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.line)

    def choose(self, rows: Any) -> Columns:
        """Some of the rows, by numbers or a mask."""
        return Columns(self.path, self.line[rows], {name: column[rows] for name, column in self.values.items()})

    def refuse(self, wrong: Any, reason: str) -> None:
        """``BadInput`` with the first line of which ``wrong (K,)`` is true."""
        if np.any(wrong):
            raise BadInput(f"{self.path}:{self.line[int(np.argmax(wrong))]}: {reason}")


def read_columns(path: Path, kinds: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> Columns:
    """The columns ``kinds``, and of ``optional`` those that there are, by the names in the first line. Other columns
    are ignored."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    reader = csv.reader(read_text(path).splitlines())
    header = [name.strip() for name in next(reader, [])]
    for name in kinds:
        if name not in header:
            raise BadInput(f"{path}:1: there is no column {name!r}{did_you_mean(name, header)}")
    wanted = {**kinds, **{name: kind for name, kind in (optional or {}).items() if name in header}}
    rows, lines = [], []
    for row in reader:
        if not row:
            continue
        if len(row) != len(header):
            raise BadInput(
                f"{path}:{reader.line_num}: {len(row)} values, but the first line names {len(header)} columns"
            )
        rows.append(row)
        lines.append(reader.line_num)
    if not rows:
        raise BadInput(f"{path}: no rows below the names of the columns")
    texts = list(zip(*rows, strict=True))
    line = np.array(lines, np.int64)
    return Columns(
        path, line, {name: _column(path, line, name, texts[header.index(name)], kind) for name, kind in wanted.items()}
    )


def _column(path: Path, line: Any, name: str, texts: tuple[str, ...], kind: Kind) -> Any:
    if kind == "text":
        return np.array([text.strip() for text in texts])
    if kind == "gaps":
        texts = tuple(text if text.strip() else "nan" for text in texts)
    try:
        values = np.array(texts, np.float64)
    except ValueError:
        row = next(k for k, text in enumerate(texts) if not _is_number(text))
        raise BadInput(f"{path}:{line[row]}: column {name}: {texts[row][:40]!r} is not a number") from None
    wrong = np.isinf(values) if kind == "gaps" else ~np.isfinite(values)
    if kind == "whole":
        wrong |= values != np.rint(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        wanted = "a whole number" if kind == "whole" else "a finite number"
        raise BadInput(f"{path}:{line[row]}: column {name}: {texts[row][:40]!r} is not {wanted}")
    return values.astype(np.int64) if kind == "whole" else values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
