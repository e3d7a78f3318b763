"""What a target is: a reader with its valid inputs, and one case of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sidestep.errors import SidestepError
from tests.fuzz.damage import damage
from tests.fuzz.trees import Damage


class Prepared(NamedTuple):
    """A reader that is ready to be called."""

    seeds: tuple[bytes, ...]
    call: Callable[[bytes], Any]


@dataclass(frozen=True)
class Target:
    """A reader. ``prepare`` gets an empty folder of its own."""

    prepare: Callable[[Path], Prepared]
    damage: Damage = damage
    errors: tuple[type[Exception], ...] = (SidestepError,)


def case(target: Target, prepared: Prepared, number: int) -> bytes:
    """The bytes of a case, the same for the same number."""
    content = prepared.seeds[number % len(prepared.seeds)]
    return target.damage(number // len(prepared.seeds), content)


def check(target: Target, prepared: Prepared, content: bytes) -> str:
    """Read the content: an empty text, or the text of the declared error. Other errors pass through."""
    try:
        prepared.call(content)
    except target.errors as error:
        return str(error) or type(error).__name__
    return ""


Contents = bytes | Sequence[bytes] | Callable[[Path], bytes]


def from_file(
    contents: Contents, name: str, read: Callable[[Path], Any], **beside: bytes
) -> Callable[[Path], Prepared]:
    """A reader of the file ``name``; ``beside`` are files that belong to it, with ``__`` for the dot."""

    def prepare(folder: Path) -> Prepared:
        if callable(contents):
            found: tuple[bytes, ...] = (contents(folder),)
        else:
            found = (contents,) if isinstance(contents, bytes) else tuple(contents)
        for other, content in beside.items():
            (folder / other.replace("__", ".")).write_bytes(content)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def call(content: bytes) -> None:
            path.write_bytes(content)
            read(path)

        return Prepared(found, call)

    return prepare


def from_bytes(contents: Contents, read: Callable[[bytes], Any]) -> Callable[[Path], Prepared]:
    """A reader of bytes."""
    return lambda folder: Prepared((contents,) if isinstance(contents, bytes) else tuple(contents), read)  # type: ignore[arg-type]


def from_text(contents: Contents, read: Callable[[str], Any]) -> Callable[[Path], Prepared]:
    """A reader of a text, as a websocket or a command line hands it over."""
    return from_bytes(contents, lambda content: read(content.decode(errors="replace")))
