"""Texts of pages and messages in the language of a study: a catalogue ``languages/LANGUAGE.yaml`` per language."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from sidestep._util.reading import parse_mapping
from sidestep.errors import BadInput
from sidestep.studies.access import Refused

FOLDER = files("sidestep.studies") / "languages"
SCRIPT_TEXTS = (
    "Start",
    "Paused",
    "Go on",
    "Ready. You start with the first key, or here.",
    "Wait until the robot reaches its mark (blue).",
    "Storing …",
    "This walk goes on in another window.",
    "No connection. Trying again …",
    "✓ stored",
    "the answer was refused",
    "No connection. Your answers are kept here and sent again …",
)
"""Texts of the scripts of pages."""

Say = Callable[..., str]
"""English text, fields → the text in another language, filled in."""


@cache
def catalogue(language: str) -> dict[str, str]:
    """English text → text; empty for English and for a language that has no catalogue."""
    file = FOLDER / f"{language.partition('-')[0]}.yaml"
    if not file.is_file():
        return {}
    return {str(key): str(value) for key, value in parse_mapping(file.read_text("utf-8"), str(file), "texts").items()}


def languages() -> tuple[str, ...]:
    """Languages of pages."""
    found = (each.name.removesuffix(".yaml") for each in FOLDER.iterdir() if each.name.endswith(".yaml"))
    return ("en", *sorted(found))


@cache
def say_in(language: str) -> Say:
    """A function that translates texts into a language; a text without translation stays English."""
    known = catalogue(language)

    def say(text: str, **values: object) -> str:
        found = known.get(text, text)
        return found.format(**values) if values else found

    return say


def script_texts(language: str) -> str:
    """The texts of scripts as JSON, for ``data-texts`` of a page."""
    say = say_in(language)
    return json.dumps({text: say(text) for text in SCRIPT_TEXTS}, ensure_ascii=False)


def error_in(language: str, error: BaseException) -> str:
    """The message of an error for a participant."""
    known, say = catalogue(language), say_in(language)
    if isinstance(error, Refused) and error.text in known:
        return say(error.text, **error.values)
    if known and isinstance(error, BadInput):
        return say("This was not accepted: {reason}", reason=error)
    return str(error)
