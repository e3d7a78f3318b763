"""Errors that a person can act on: each names the place and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SidestepError(Exception):
    """Base of all errors that Sidestep raises on purpose."""


class BadInput(SidestepError):
    """A file, setting or name that a user gave cannot be used. The command line exits with 2."""


class UnknownName(BadInput):
    """A name that is in no table, with the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        place = f"{where}: " if where else ""
        super().__init__(f"{place}unknown {kind} {name!r:.80}{did_you_mean(name[:80], known)}")


class RecordError(BadInput):
    """An episode record that cannot be read: truncated, foreign or of an unsupported version."""


class MissingExtra(SidestepError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'sidestep[{extra}]'")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean …?`` with close matches, else the list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if close:
        return "; did you mean " + " or ".join(repr(match) for match in close) + "?"
    if not names:
        return "; none are known"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"; known: {shown}"
