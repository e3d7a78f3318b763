"""Averages per item (QAVG) and per scenario (SAVG) with standard deviations (STD), for any grouping of the ratings.

QAVG_i   mean of the ratings of item i, as answered; beside it the reverse-coded mean.
SAVG     mean of the reverse-coded QAVG_i over the items of the scenario; beside it the mean of QAVG_i as answered.
STD      sample standard deviation of all reverse-coded ratings of the cell (n - 1); beside it that of ratings as
         answered.

Answers without an opinion are in no mean and are counted. An item without any other answer has no average, and SAVG is
then over the remaining items, whose number is given. Definitions after Pirk et al. 2022, Tables II to V.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.writing import write_whole
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import Ratings
from sidestep.types.base import FloatArray

TABLES: dict[str, tuple[str, ...]] = {
    "locations": ("scenario", "policy", "location"),
    "participants": ("scenario", "policy", "participant"),
    "sets": ("scenario", "policy", "set"),
    "policies": ("scenario", "policy"),
}
"""Name of a table → columns whose values name a cell; in the shape of Tables II, III, IV and V."""
TITLES = {
    "locations": "Scenarios and locations",
    "participants": "Participants",
    "sets": "Sets",
    "policies": "Policies",
}


@dataclass(frozen=True)
class ItemAverage:
    """An item within a cell. No value without an answer that has an opinion."""

    item: str
    reverse: bool
    raw: float | None
    """QAVG, as answered."""
    coded: float | None
    """Reverse coded where the item is reversed, else the same."""
    n: int
    cannot_tell: int
    levels: tuple[int, ...]
    """Number of answers at each level of the scale, as answered."""


@dataclass(frozen=True)
class SummaryCell:
    """The averages of the ratings that share the values of some columns."""

    key: dict[str, Any]
    items: tuple[ItemAverage, ...]
    runs: int
    participants: int
    savg: float | None
    """Reverse coded."""
    savg_raw: float | None
    std: float | None
    std_raw: float | None
    averaged: int
    """Items that SAVG is the mean of."""

    def document(self) -> dict[str, Any]:
        """Plain data."""
        items = [
            {
                "item": each.item, "reverse": each.reverse, "qavg": each.raw, "qavg_coded": each.coded, "n": each.n,
                "cannot_tell": each.cannot_tell, "levels": list(each.levels),
            }
            for each in self.items
        ]  # fmt: skip
        return {
            **self.key, "runs": self.runs, "participants": self.participants, "savg": self.savg,
            "savg_raw": self.savg_raw, "std": self.std, "std_raw": self.std_raw, "averaged_items": self.averaged,
            "items": items,
        }  # fmt: skip


def summarise_ratings(ratings: Ratings, questionnaire: Questionnaire, by: Sequence[str]) -> list[SummaryCell]:
    """A cell for each combination of values of the columns ``by``, in the order of the questionnaire's scenarios and of
    appearance."""
    keys = list(zip(*(ratings.column(name).tolist() for name in by), strict=True))
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    order = {name: place for place, name in enumerate(questionnaire.scenarios)}
    place = list(by).index("scenario") if "scenario" in by else None
    found = rows if place is None else sorted(rows, key=lambda key: order.get(key[place], len(order)))
    return [_cell(ratings.select(np.array(rows[key])), questionnaire, dict(zip(by, key, strict=True))) for key in found]


def _cell(part: Ratings, questionnaire: Questionnaire, key: dict[str, Any]) -> SummaryCell:
    raw, coded = part.coded(questionnaire, reverse=False), part.coded(questionnaire)
    answered = set(part.item.tolist())
    items = tuple(
        _item(part, raw, coded, item.id, item.reverse, questionnaire)
        for item in questionnaire.items
        if item.id in answered
    )
    averages = [(each.raw, each.coded) for each in items if each.raw is not None and each.coded is not None]
    raws, codeds = zip(*averages, strict=True) if averages else ((), ())
    return SummaryCell(
        key=key,
        items=items,
        runs=int(part.run_numbers().max()) + 1,
        participants=len(part.names("participant")),
        savg=_mean(codeds),
        savg_raw=_mean(raws),
        std=_deviation(coded),
        std_raw=_deviation(raw),
        averaged=len(averages),
    )


def _item(
    part: Ratings, raw: FloatArray, coded: FloatArray, name: str, reverse: bool, questionnaire: Questionnaire
) -> ItemAverage:
    own = part.item == name
    known = own & ~np.isnan(raw)
    n = int(known.sum())
    levels = tuple(int((raw[known] == level).sum()) for level in questionnaire.scale.levels)
    mean_raw, mean_coded = _mean(raw[known].tolist()), _mean(coded[known].tolist())
    return ItemAverage(name, reverse, mean_raw, mean_coded, n, int(own.sum()) - n, levels)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if len(values) else None


def _deviation(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else None


def summary_tables(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, list[SummaryCell]]:
    """All of ``TABLES``; those of one participant, or of one set, only where there are several."""
    tables = {}
    for name, by in TABLES.items():
        if name in ("participants", "sets") and len(ratings.names(by[-1])) < 2:
            continue
        tables[name] = summarise_ratings(ratings, questionnaire, by)
    return tables


OVERVIEWS = {"scenarios": "scenario", "policies": "policy", "participants": "participant", "sets": "set"}
"""Part of the overview → column whose values name its cells."""


def overview_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, dict[str, Any]]:
    """Averages by scenario, by policy, by participant and by set, each over everything else."""
    return {
        part: {
            str(cell.key[column]): _overview(cell, questionnaire)
            for cell in summarise_ratings(ratings, questionnaire, [column])
        }
        for part, column in OVERVIEWS.items()
    }


def _overview(cell: SummaryCell, questionnaire: Questionnaire) -> dict[str, Any]:
    """``mean`` is as answered, ``savg`` reverse coded."""
    levels = np.array(questionnaire.scale.levels, np.float64)
    questions = {
        each.item: {
            "mean": each.raw, "sd": _deviation(np.repeat(levels, each.levels)), "n": each.n,
            "cannot_tell": each.cannot_tell, "mean_coded": each.coded, "reverse": each.reverse,
        }
        for each in cell.items
    }  # fmt: skip
    return {
        "questions": questions, "savg": cell.savg, "savg_raw": cell.savg_raw, "sd": cell.std, "sd_raw": cell.std_raw,
        "runs": cell.runs, "participants": cell.participants,
    }  # fmt: skip


SUMMARY_COLUMNS = (
    "table", "scenario", "policy", "location", "participant", "set", "item", "reverse", "qavg", "qavg_coded", "n",
    "cannot_tell", "savg_raw", "savg", "std_raw", "std", "runs",
)  # fmt: skip


def write_summaries(tables: dict[str, list[SummaryCell]], path: Path) -> None:
    """Every item of every cell as a line of a CSV file; no value is an empty field."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, SUMMARY_COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for name, cells in tables.items():
        for cell in cells:
            document = cell.document()
            for item in document.pop("items"):
                writer.writerow({"table": name, **document, **item, "reverse": str(item["reverse"]).lower()})
    write_whole(path, text.getvalue().encode())
