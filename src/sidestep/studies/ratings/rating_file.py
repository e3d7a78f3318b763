"""A file of ratings without a study behind it: which questionnaire its questions belong to, and its table.

Without a questionnaire by name, it is the bundled ``protocol`` where a scenario is one of its and all questions are
items of it, by id or by number. Otherwise the file is its own questionnaire: every question an item, 1 to 5, 0 for
"cannot tell", reversed where a column ``reverse`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sidestep.errors import BadInput
from sidestep.studies.ratings.questionnaire import Identifier, Questionnaire, load_questionnaire
from sidestep.studies.ratings.table import Ratings, make_ratings, read_ratings, read_rows

USUAL = "protocol"
OWN = "own"
"""Name of a questionnaire made of a file's questions."""
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_YES = ("true", "1", "yes")


def read_rating_file(path: Path, questionnaire: str | Path | None = None) -> tuple[Ratings, Questionnaire]:
    """The checked table of a CSV, Parquet or JSON file, and its questionnaire. Runs may lack ratings."""
    rows, lines = read_rows(path)
    if not rows:
        raise BadInput(f"{path}: has no ratings; add rows below the names of the columns")
    if "item" not in rows[0]:  # a wide table has items as columns
        known = load_questionnaire(questionnaire or USUAL)
        return read_ratings(path, known, complete=False), known
    questions = list(dict.fromkeys(_text(row.get("item")) for row in rows))
    if questionnaire is not None:
        known = load_questionnaire(questionnaire)
    else:
        known = load_questionnaire(USUAL)
        scenarios = {_text(row.get("scenario")) for row in rows} - {""}
        strange = any(each and each not in _names(known) for each in questions)
        if strange or (scenarios and scenarios.isdisjoint(known.scenarios)):
            known = own_questionnaire(path, rows, lines)
    names = _names(known)
    renamed = [{**row, "item": names.get(_text(row.get("item")), _text(row.get("item")))} for row in rows]
    return make_ratings(renamed, known, str(path), lines, complete=False), known


def _text(value: Any) -> str:
    """A question as text; spreadsheets write the number 3 as 3.0."""
    text = "" if value is None else str(value).strip()
    return text.removesuffix(".0") if text.removesuffix(".0").isdecimal() else text


def _names(questionnaire: Questionnaire) -> dict[str, str]:
    """Names that a file may use for a question → id of its item."""
    numbers = {str(item.number): item.id for item in questionnaire.items}
    letters = {f"Q{item.number}": item.id for item in questionnaire.items}
    return numbers | letters | {item.id: item.id for item in questionnaire.items}


def own_questionnaire(path: Path, rows: Sequence[dict[str, Any]], lines: Sequence[int]) -> Questionnaire:
    """The questions of a file as a questionnaire. A question asked in one of several scenarios only belongs to it."""
    reverse: dict[str, bool] = {}
    scenarios: dict[str, set[str]] = {}
    for row, line in zip(rows, lines, strict=True):
        question = _text(row.get("item"))
        if not question:
            raise BadInput(f"{path}: row {line}: no question; fill it in")
        try:
            _IDENTIFIER.validate_python(question)
        except ValidationError:
            raise BadInput(
                f"{path}: row {line}: question {question!r:.80} is not a short name of letters, digits and _ . -; "
                "use such a name, or give --questionnaire FILE with its text"
            ) from None
        turned = _text(row.get("reverse")).lower() in _YES
        if reverse.setdefault(question, turned) != turned:
            raise BadInput(
                f"{path}: row {line}: question {question} is reversed here but not in an earlier row; make them agree"
            )
        scenarios.setdefault(question, set()).add(_text(row.get("scenario")))
    several = len(set().union(*scenarios.values())) > 1
    items = [
        {"id": question, "number": number, "text": question, "reverse": reverse[question]}
        | ({"scenario": next(iter(found))} if several and len(found) == 1 and _is_name(next(iter(found))) else {})
        for number, (question, found) in enumerate(scenarios.items(), start=1)
    ]
    return Questionnaire.parse({"name": OWN, "title": path.stem, "items": items}, str(path))


def _is_name(text: str) -> bool:
    try:
        _IDENTIFIER.validate_python(text)
    except ValidationError:
        return False
    return True
