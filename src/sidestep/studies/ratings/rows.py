"""One row of a table of ratings: which columns there are, and what a row must be like to be taken."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.studies.ratings.questionnaire import Questionnaire

COLUMNS = (
    "study", "participant", "set", "policy", "scenario", "location", "run", "item", "rating", "reverse", "origin",
    "time", "episode",
)  # fmt: skip
"""Those of ``Ratings``, in its order."""
HUMAN, SIMULATED, PUBLISHED = "human", "simulated", "published"
ORIGINS = (HUMAN, SIMULATED, PUBLISHED)
MOST_ROWS = 2_000_000
LONGEST = 300
"""Maximum number of characters of a name."""
ALIKE = 0.75
"""Similarity from which one name is taken for a misspelling of another."""
MOST_EXTRA = 300
LONGEST_NOTE = 20_000
"""Maximum number of characters of a text in another column."""
LARGEST = 1_000_000
"""Largest number of a set, a run and a rating."""
NEEDED = ("participant", "policy", "scenario")
DEFAULTS: dict[str, Any] = {"study": "", "set": 1, "location": "", "run": 1, "origin": HUMAN, "time": "", "episode": ""}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a formula in a spreadsheet."""
WHOLE = ("set", "run", "rating")
_YES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def split_columns(row: Mapping[str, Any], place: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The columns of the table, and the others as text. A name that is nearly that of a missing column is refused."""
    known = {name: value for name, value in row.items() if name in COLUMNS}
    other = {str(name): value for name, value in row.items() if name not in COLUMNS}
    missing = tuple(name for name in COLUMNS if name not in known)
    for name in other:
        if _is_misspelt(name, missing):
            raise UnknownName("column", name, COLUMNS, place)
    if len(other) > MOST_EXTRA:
        raise BadInput(f"{place}: more than {MOST_EXTRA} columns besides those of a table of ratings; remove some")
    return known, {name: _note(value, name, place) for name, value in other.items()}


@lru_cache(maxsize=1000)
def _is_misspelt(name: str, missing: tuple[str, ...]) -> bool:
    return bool(get_close_matches(name, missing, 1, ALIKE))


def _note(value: Any, name: str, place: str) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    if len(text) > LONGEST_NOTE:
        raise BadInput(f"{place}: {name:.80} has more than {LONGEST_NOTE:,} characters; shorten it")
    return text.replace("\0", "")


def check_row(row: Mapping[str, Any], questionnaire: Questionnaire | None, place: str) -> dict[str, Any]:
    """The checked values of a row, defaults filled in."""
    values = {**DEFAULTS, **{name: value for name, value in row.items() if not is_empty(value)}}
    for name in (*NEEDED, "item", "rating"):
        if name not in values:
            remedy = ' (0 for "cannot tell")' if name == "rating" else ""
            raise BadInput(f"{place}: no {name}; fill it in{remedy}")
    for name in WHOLE:
        values[name] = _whole(values[name], name, place)
    for name in ("study", "participant", "policy", "scenario", "location", "item", "origin", "time", "episode"):
        values[name] = _name(values[name], name, place)
    if values["origin"] not in ORIGINS:
        raise UnknownName("origin", values["origin"], ORIGINS, place)
    if values["set"] < 1 or values["run"] < 1:
        raise BadInput(f"{place}: sets and runs are numbered from 1")
    values["reverse"] = _reverse(values, questionnaire, place)
    return values


def _reverse(values: Mapping[str, Any], questionnaire: Questionnaire | None, place: str) -> bool:
    """Whether the item is reversed: the questionnaire says it, else the row."""
    given = values.get("reverse")
    if given is not None and not isinstance(given, bool | np.bool_):
        if str(given).strip().lower() not in _YES:
            raise BadInput(f"{place}: reverse is {given!r:.40}; write true or false")
        given = _YES[str(given).strip().lower()]
    if questionnaire is None:
        return bool(given)
    questionnaire.check_rating(values["item"], values["rating"], place)
    item = questionnaire.item(values["item"])
    if item.scenario not in (None, values["scenario"]):
        asked = [each.id for each in questionnaire.items_for(values["scenario"])]
        if not asked:
            raise UnknownName("scenario", values["scenario"], questionnaire.scenarios, place)
        raise BadInput(f"{place}: item {item.id} belongs to scenario {item.scenario}, not {values['scenario']}")
    if given is not None and bool(given) != item.reverse and not questionnaire.is_disputed(item.id):
        raise BadInput(
            f"{place}: item {item.id}: reverse is {str(bool(given)).lower()}, but the questionnaire "
            f"{questionnaire.name} says {str(item.reverse).lower()}; leave the column out"
        )
    return item.reverse


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _whole(value: Any, name: str, place: str) -> int:
    try:
        number = float(value)
        if number != int(number) or abs(number) > LARGEST:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{place}: {name} is {value!r:.40}; write a whole number") from None
    return int(number)


def _name(value: Any, name: str, place: str) -> str:
    """Text that terminals, pages and spreadsheets show as it is."""
    text = str(value).strip()
    if len(text) > LONGEST:
        raise BadInput(f"{place}: {name} has more than {LONGEST} characters; shorten it")
    if not text.isprintable():
        raise BadInput(f"{place}: {name} {text!r:.40} has control characters; remove them")
    if text.startswith(FORMULA):
        raise BadInput(f"{place}: {name} {text!r:.40} begins like a formula of a spreadsheet; begin with a letter")
    return text
