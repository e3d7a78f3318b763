"""The progress bar, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A function of (done, total, label) that moves a bar with the time left; silent where stderr is no
    terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[label]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, label="")

        def move(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, label=label)

        yield move


def prepare_kernels() -> None:
    """Compile the kernels if this machine has not yet, here and not in every worker at once."""
    from sidestep.cli.verb import say
    from sidestep.simulation.prepare import compile_kernels, needs_compiling

    if not needs_compiling():
        return
    say("compiling the kernels, once on this machine; it takes about half a minute")
    with progress_bar("compiling") as move:
        compile_kernels(lambda what, done, of: move(done, of, what))
