"""Shared by all commands: exit codes, output streams, and groups with a default command."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup

from sidestep.errors import BadInput, SidestepError

CHECK_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 3

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and everything else on stderr.")
]

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command: expected errors become a message on stderr and an exit code, not a traceback."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            for value in (*args, *kwargs.values()):
                _check_text(value)
            return function(*args, **kwargs)
        except SidestepError as error:
            say(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def _check_text(value: object) -> None:
    """Reject names that are not valid UTF-8, because they are written to files and the terminal."""
    if isinstance(value, list | tuple):
        for item in value:
            _check_text(item)
    elif isinstance(value, str | Path):
        try:
            str(value).encode()
        except UnicodeEncodeError:
            shown = str(value).encode("utf-8", "backslashreplace").decode()
            raise BadInput(f"{shown}: this name is not UTF-8; rename it, or give another one") from None


def say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(text, err=True)


def print_json(document: Any) -> None:
    """Print the JSON document on stdout; NaN and infinity become null."""
    typer.echo(json.dumps(_finite(document), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


@contextmanager
def quiet_stdout(wanted: bool) -> Iterator[None]:
    """Redirect stdout of this process and its children to stderr, so that stdout holds only the JSON document."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


class GroupWithDefault(TyperGroup):
    """Arguments that do not begin with the name of a command go to the command ``default``."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command first where there is none."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
