"""The table of ratings: one row per answer, as numpy columns, and its files.

A *run* is one experience of one participant, named by study, participant, set, policy, scenario, location and run
number; no item is answered twice after one run. CSV files are long (one answer per line: columns ``item``, ``rating``)
or wide (one run per line, one column per item), as paper sheets are typed in. Columns of other names pass through as
text: an export of a study has comments, orders, outcomes and more. Human, simulated and published ratings are never
analysed together.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidestep._util.reading import check_parquet, read_bytes, read_json, read_text
from sidestep._util.writing import whole_file, write_whole
from sidestep.errors import BadInput, UnknownName
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.rows import (
    COLUMNS,
    FORMULA,
    HUMAN,
    MOST_ROWS,
    PUBLISHED,
    SIMULATED,
    check_row,
    is_empty,
    split_columns,
)
from sidestep.types.base import BoolArray, FloatArray, IntArray

__all__ = [
    "COLUMNS",
    "HUMAN",
    "PUBLISHED",
    "SIMULATED",
    "Ratings",
    "count_incomplete_runs",
    "make_ratings",
    "read_ratings",
    "read_rows",
    "write_ratings",
]
StringArray = npt.NDArray[np.str_]
KEY = ("study", "participant", "set", "policy", "scenario", "location", "run")
"""Columns that name a run."""
OTHER_COLUMNS = {"question": "item"}
"""Other name of a column in files → its name."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """(n,) columns, one row per answer."""

    study: StringArray
    participant: StringArray
    set: IntArray
    """Batch of runs on one occasion, from 1."""
    policy: StringArray
    scenario: StringArray
    location: StringArray
    run: IntArray
    """Number of the run, from 1, within participant, set, policy, scenario and location."""
    item: StringArray
    rating: IntArray
    """Rating as given; 0 means "cannot tell", unless the questionnaire defines another value."""
    reverse: BoolArray
    """Whether the item is reversed."""
    origin: StringArray
    time: StringArray
    """ISO 8601, or empty."""
    episode: StringArray
    """Digest or path of the episode's record, or empty."""
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Other columns of the file, as text."""

    def __len__(self) -> int:
        return len(self.rating)

    def select(self, chosen: npt.NDArray[Any]) -> Ratings:
        """The rows of a mask or of row numbers."""
        extra = {name: column[chosen] for name, column in self.extra.items()}
        return Ratings(**{name: getattr(self, name)[chosen] for name in COLUMNS}, extra=extra)

    def where(self, **values: Any) -> Ratings:
        """The rows in which the named columns have these values: ``where(policy="orca", set=1)``."""
        mask = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            mask &= self.column(name) == value
        return self.select(mask)

    def column(self, name: str) -> npt.NDArray[Any]:
        """The column of that name."""
        if name not in COLUMNS:
            raise UnknownName("column of ratings", name, COLUMNS)
        column: npt.NDArray[Any] = getattr(self, name)
        return column

    def names(self, column: str) -> list[Any]:
        """The different values of a column, in order of appearance."""
        return list(dict.fromkeys(self.column(column).tolist()))

    def rows(self) -> list[dict[str, Any]]:
        """One mapping per answer, plain values."""
        columns = [getattr(self, name).tolist() for name in COLUMNS]
        columns += [column.tolist() for column in self.extra.values()]
        names = (*COLUMNS, *self.extra)
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def noted(self, name: str) -> list[str]:
        """The text of another column of the file in every row; empty where there is none."""
        return [""] * len(self) if name not in self.extra else [str(text) for text in self.extra[name].tolist()]

    def run_numbers(self) -> IntArray:
        """(n,) number of the run of every answer, in order of appearance."""
        seen: dict[tuple[Any, ...], int] = {}
        keys = zip(*(getattr(self, name).tolist() for name in KEY), strict=True)
        return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)

    def coded(self, questionnaire: Questionnaire, reverse: bool = True) -> FloatArray:
        """(n,) ratings with reversed items turned round (``reverse``); NaN where the participant could not tell."""
        scale = questionnaire.scale
        value = self.rating.astype(np.float64)
        if reverse:
            value = np.where(self.reverse, scale.lowest + scale.highest - value, value)
        return np.where(self.rating == scale.cannot_tell, np.nan, value) if scale.cannot_tell is not None else value

    def one_origin(self) -> str:
        """The origin that all ratings share; BadInput where they are mixed or none."""
        found = sorted(set(self.origin.tolist()))
        if not found:
            raise BadInput("the table has no ratings; collect or import some first")
        if len(found) > 1:
            raise BadInput(f"ratings of different origins ({', '.join(found)}) are never analysed together; choose one")
        return str(found[0])


def make_ratings(
    rows: Iterable[Mapping[str, Any]],
    questionnaire: Questionnaire | None = None,
    where: str = "ratings",
    lines: Sequence[int] | None = None,
    complete: bool = True,
) -> Ratings:
    """A table from one mapping per answer. ``lines`` numbers the rows in messages, else they count from 1.

    BadInput names the row of a rating out of range, an unknown item, a missing value or a second answer. With a
    questionnaire, ratings and items are checked, and ``reverse`` comes from it; ``complete`` demands that every run
    has a rating for each item of its scenario.
    """
    found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    others: list[dict[str, str]] = []
    seen: dict[tuple[Any, ...], int] = {}
    places: list[int] = []
    for index, row in enumerate(rows):
        number = lines[index] if lines is not None else index + 1
        place = f"{where}: row {number}"
        if index >= MOST_ROWS:
            raise BadInput(f"{place}: more than {MOST_ROWS:,} answers; split the table")
        known, other = split_columns(row, place)
        values = check_row(known, questionnaire, place)
        others.append(other)
        key = (*(values[name] for name in KEY), values["item"])
        if key in seen:
            raise BadInput(
                f"{place}: {_run_text(values)} answers item {values['item']} a second time (first in row {seen[key]}); "
                "remove one of the two, or give the runs different numbers"
            )
        seen[key] = number
        places.append(number)
        for name in COLUMNS:
            found[name].append(values[name])
    ratings = _as_columns(found, others)
    if questionnaire is not None and complete:
        _check_complete(ratings, questionnaire, where, places)
    return ratings


def _as_columns(found: Mapping[str, list[Any]], others: Sequence[Mapping[str, str]]) -> Ratings:
    kinds = {"set": np.int64, "run": np.int64, "rating": np.int64, "reverse": np.bool_}
    names = list(dict.fromkeys(name for other in others for name in other))
    extra = {name: np.array([other.get(name, "") for other in others], dtype=object) for name in names}
    columns: dict[str, Any] = {name: np.array(found[name], dtype=kinds.get(name, np.str_)) for name in COLUMNS}
    return Ratings(**columns, extra=extra)


def _run_text(values: Mapping[str, Any]) -> str:
    parts = [f"{name} {values[name]}" for name in KEY if values[name] != ""]
    return ", ".join(parts)


def _check_complete(ratings: Ratings, questionnaire: Questionnaire, where: str, places: Sequence[int]) -> None:
    for first, missing in _incomplete_runs(ratings, questionnaire):
        run = _run_text({name: getattr(ratings, name)[first] for name in KEY})
        cannot_tell = questionnaire.scale.cannot_tell
        remedy = "" if cannot_tell is None else f', {cannot_tell} for "cannot tell"'
        raise BadInput(f"{where}: row {places[first]}: {run} has no rating of {', '.join(missing)}; add it{remedy}")


def _incomplete_runs(ratings: Ratings, questionnaire: Questionnaire) -> Iterator[tuple[int, list[str]]]:
    """First row and missing items of every run that has no rating of an item of its scenario."""
    answered: dict[int, list[int]] = {}
    for row, run in enumerate(ratings.run_numbers().tolist()):
        answered.setdefault(run, []).append(row)
    for rows in answered.values():
        given = {str(ratings.item[row]) for row in rows}
        asked = questionnaire.items_for(str(ratings.scenario[rows[0]]))
        if missing := [item.id for item in asked if item.id not in given]:
            yield rows[0], missing


def count_incomplete_runs(ratings: Ratings, questionnaire: Questionnaire) -> int:
    """Number of runs without a rating, not even "cannot tell", of an item of their scenario."""
    return sum(1 for _ in _incomplete_runs(ratings, questionnaire))


def read_ratings(
    path: Path | str,
    questionnaire: Questionnaire | None = None,
    *,
    complete: bool = True,
    defaults: Mapping[str, Any] | None = None,
) -> Ratings:
    """A table from a CSV, Parquet or JSON file, checked as by ``make_ratings``. ``defaults`` fills columns that the
    file does not have, such as ``{"study": "pilot", "policy": "orca"}``."""
    rows, lines = read_rows(Path(path))
    rows, lines = _long(rows, lines, questionnaire, str(path))
    if defaults:
        rows = [{**defaults, **{name: value for name, value in row.items() if not is_empty(value)}} for row in rows]
    return make_ratings(rows, questionnaire, str(path), lines, complete)


def read_rows(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows of a CSV, Parquet or JSON file, unchecked, and their numbers in the file."""
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".json": _read_json}
    if path.suffix.lower() not in readers:
        raise BadInput(f"{path}: ratings are read from .csv, .parquet and .json files; rename or convert it")
    rows, lines = readers[path.suffix.lower()](path)
    for row, line in zip(rows, lines, strict=True):
        for other in OTHER_COLUMNS.keys() & row.keys():
            if OTHER_COLUMNS[other] in row:
                raise BadInput(
                    f"{path}: row {line}: has {other} and {OTHER_COLUMNS[other]}, which mean the same; remove one"
                )
    renamed = [{OTHER_COLUMNS.get(name, name): value for name, value in row.items()} for row in rows]
    return renamed, lines


def _read_csv(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    text = read_text(path, "CSV file of ratings")
    head = next((line for line in text.splitlines() if not _skipped(line)), "")
    delimiter = max(",;\t", key=head.count)  # spreadsheets of some countries separate by semicolons
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    names: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells) or (not names and cells[0].startswith("#")):
                continue
            if not names:
                names = [cell.strip() for cell in cells]
                twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
                if twice is not None:
                    raise BadInput(f"{path}: row 1: column {twice!r:.80} occurs twice; remove one")
                continue
            if len(cells) != len(names):
                raise BadInput(
                    f"{path}: row {reader.line_num}: {len(cells)} values for {len(names)} columns; correct the row"
                )
            rows.append(dict(zip(names, cells, strict=True)))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise BadInput(f"{path}: row {reader.line_num}: not valid CSV ({error!s:.120}); export it again") from None
    if not names:
        raise BadInput(f"{path}: is empty; its first line names the columns: {', '.join(COLUMNS)}")
    return rows, lines


def _skipped(line: str) -> bool:
    """Whether a line before the names of the columns is empty or a comment."""
    return not line.strip() or line.startswith("#")


def _read_parquet(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = read_bytes(path, "Parquet file of ratings")
    try:
        with pq.ParquetFile(pa.BufferReader(data), pre_buffer=False) as file:
            check_parquet(file.metadata, str(path), MOST_ROWS)
            table = file.read(use_threads=False)  # a thread may outlive an error in another column
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: not a Parquet file ({str(error).splitlines()[0]:.120}); export it again") from None
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows, list(range(1, len(rows) + 1))


def _read_json(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    rows = read_json(path, "JSON file of ratings")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{path}: expected a list of answers, each with participant, policy, scenario, item and rating")
    return rows, list(range(1, len(rows) + 1))


def _long(
    rows: list[dict[str, Any]], lines: list[int], questionnaire: Questionnaire | None, where: str
) -> tuple[list[dict[str, Any]], list[int]]:
    """One row per answer. A wide table has the items of the questionnaire as columns; empty cells are no answers."""
    if not rows or "item" in rows[0] or questionnaire is None:
        return rows, lines
    items = [item.id for item in questionnaire.items if item.id in rows[0]]
    if not items:
        raise BadInput(f"{where}: no column item, and none of {questionnaire.items[0].id} …; add one of them")
    for name in rows[0]:
        if name not in (*COLUMNS, *items) and get_close_matches(
            name, [item.id for item in questionnaire.items], 1, 0.6
        ):
            raise UnknownName("item", name, [item.id for item in questionnaire.items], f"{where}: row 1")
    answers: list[dict[str, Any]] = []
    numbers: list[int] = []
    for row, line in zip(rows, lines, strict=True):
        about = {name: value for name, value in row.items() if name not in items}
        given = [item for item in items if not is_empty(row.get(item))]
        answers += [{**about, "item": item, "rating": row[item]} for item in given]
        numbers += [line] * len(given)
    return answers, numbers


def write_ratings(ratings: Ratings, path: Path | str) -> None:
    """Write the table as ``.csv``, ``.parquet`` or ``.json``, by the ending of ``path``."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow((*COLUMNS, *ratings.extra))
        for row in ratings.rows():
            writer.writerow([_cell(value) for value in row.values()])
        write_whole(path, text.getvalue().encode())
    elif kind == ".json":
        write_whole(path, (json.dumps(ratings.rows(), indent=1, ensure_ascii=False) + "\n").encode())
    elif kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(
            {name: pa.array(getattr(ratings, name).tolist()) for name in COLUMNS}
            | {name: pa.array(column.tolist(), pa.string()) for name, column in ratings.extra.items()}
        )
        with whole_file(path) as temporary:
            pq.write_table(table, temporary)
    else:
        raise BadInput(f"{path}: ratings are written as .csv, .parquet or .json; choose one of these endings")


def _cell(value: Any) -> Any:
    """A value as a spreadsheet shows it: a text that begins like a formula begins with an apostrophe."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
