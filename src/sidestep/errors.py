"""Errors that a person can act on: each names the place and the remedy."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_TEXT = 2000
"""Characters of a text that came from somebody else's code."""
LONGEST_TRACEBACK = 4000
LONGEST_NAME = 80
"""Characters of a known name in a message: a file may have columns with names of any length."""
MOST_FRAMES = 10
"""Calls in the traceback of a policy that a record keeps, the innermost ones."""
PACKAGE = Path(__file__).parent
INSTALLED = frozenset({"site-packages", "dist-packages"})
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Sequences that a terminal obeys instead of showing them."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters but tab and newline, and those that change the direction of writing."""


class SidestepError(Exception):
    """Base of all errors that Sidestep raises on purpose."""


class BadInput(SidestepError):
    """A file, setting or name that a user gave cannot be used. The command line exits with 2."""


class UnknownName(BadInput):
    """A name that is in no table, with the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        place = f"{where}: " if where else ""
        super().__init__(f"{place}unknown {kind} {name!r:.80}{did_you_mean(name[:80], known)}")


@contextmanager
def plug_in_errors(kind: str, name: str, bundled: Container[str], doing: str = "asked") -> Iterator[None]:
    """What a plug-in raises becomes a ``BadInput`` that names it; our own errors, and those of what is ``bundled``,
    pass as they are."""
    try:
        yield
    except SidestepError:
        raise
    except Exception as error:
        if name in bundled:
            raise
        raise BadInput(f"{kind} {name!r}, {doing}, failed: {describe_error(error)}{place_of(error)}") from error


class RecordError(BadInput):
    """An episode record that cannot be read: truncated, foreign or of an unsupported version."""


class MissingExtra(SidestepError):
    """An optional dependency is not installed. ``extra`` is the name of the extra that has it, or several with
    commas."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'sidestep[{extra}]'")
        self.extra = extra


class GuestFailed(SidestepError):
    """A policy in another process raised, was late, sent nonsense or ended. The text says it all; ``traceback`` is that
    of the other process, where there is one."""

    def __init__(self, reason: str, traceback: str = "") -> None:
        super().__init__(reason)
        self.traceback = traceback


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean …?`` with close matches, else the list of known names."""
    names = sorted(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…" for name in known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if close:
        return "; did you mean " + " or ".join(repr(match) for match in close) + "?"
    if not names:
        return "; none are known"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"; known: {shown}"


def printable(text: str, limit: int = LONGEST_TEXT) -> str:
    """A text from somebody else's code, fit for terminals and files: no escape sequences, no control characters, no
    lone surrogates, at most ``limit`` characters."""
    text = _UNSEEN.sub("", _ESCAPES.sub("", text[: 4 * limit].replace("\r\n", "\n")))
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def describe_error(error: BaseException) -> str:
    """``Kind: message`` of an error that somebody else's code raised, whatever its own text does."""
    kind = "an error"
    try:
        if isinstance(error, GuestFailed):
            return printable(str(error))
        kind = str(type(error).__name__)
        return printable(f"{kind}: {error}")
    except BaseException as second:
        if isinstance(second, KeyboardInterrupt) and not isinstance(error, KeyboardInterrupt):
            raise
        return printable(f"{kind} (its text cannot be shown)")


def place_of(error: BaseException) -> str:
    """`` (file.py, line 12)``: where somebody else's code raised; of several places the innermost that is neither
    Sidestep's nor installed. Empty where there is none."""
    try:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if not _is_installed(each.filename)]
        return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    except Exception:  # of whatever kind: the error itself matters more than its place
        return ""


def short_traceback(error: BaseException, message: str) -> str:
    """The traceback of an error that a policy raised, from its own code on to ``message``, as Python prints it. Files
    are named by their last names, installed ones from their package on: a record holds nobody's home folder."""
    if isinstance(error, GuestFailed):
        return error.traceback
    try:
        frames = traceback.extract_tb(error.__traceback__)
        while frames and Path(frames[0].filename).is_relative_to(PACKAGE) and not _is_policy(frames[0].filename):
            del frames[0]
        if not frames:
            return ""
        shown = [(_without_folder(at.filename), at.lineno or 0, at.name, at.line) for at in frames[-MOST_FRAMES:]]
        lines = "".join(traceback.format_list(shown))
        text = f"Traceback (most recent call last):\n{lines}{message}"
        return printable(text[-LONGEST_TRACEBACK:], LONGEST_TRACEBACK)
    except Exception:  # of whatever kind: the error itself matters more than its traceback
        return ""


def _is_policy(file: str) -> bool:
    return Path(file).is_relative_to(PACKAGE / "policies")


def _without_folder(file: str) -> str:
    for folder in (PACKAGE.parent, *(each for each in Path(file).parents if each.name in INSTALLED)):
        if Path(file).is_relative_to(folder):
            return Path(file).relative_to(folder).as_posix()
    return file if file.startswith("<") else Path(file).name


def _is_installed(file: str) -> bool:
    path = Path(file)
    is_ours = path.is_relative_to(PACKAGE) or path.is_relative_to(Path(traceback.__file__).parent)
    return is_ours or file.startswith("<") or not INSTALLED.isdisjoint(path.parts)
