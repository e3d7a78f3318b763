"""Progress bars on stderr with the time left, for everything that takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def progress_bar(what: str, is_download: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A function of (done, total, label) that moves a bar with the time left, of a download in bytes with its speed;
    silent where stderr is not a terminal."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    amounts = (
        (progress.DownloadColumn(), progress.TransferSpeedColumn())
        if is_download
        else (progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    )
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *amounts,
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[label]}"),
    )
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, label="")

        def move(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total or None, label=label)

        yield move


CompileProgress = Callable[[str, float], None]
"""Called with what is compiled next and the share of the work that is done, 0 … 1."""

LINES_APART_S = 3.0


@contextmanager
def compile_progress(what: str, seconds: float) -> Iterator[CompileProgress]:
    """A line on stderr that says what is compiled and how long it is expected to take. A terminal shows one line that
    changes; elsewhere a line follows every few seconds. ``seconds``: what the whole takes on two cores."""
    begin, shown = perf_counter(), -LINES_APART_S
    changes = sys.stderr.isatty()

    def show(label: str, share: float) -> None:
        nonlocal shown
        now = perf_counter() - begin
        if changes or now - shown >= LINES_APART_S:
            total = max(now / share, 0.5 * seconds) if share > 0.0 else seconds
            left = max(total * (1.0 - share), 1.0)
            text = f"compiling {what}, once on this machine: {label} ({share:.0%} done, about {left:.0f} s left)"
            print(f"\r\x1b[K{text}" if changes else text, end="" if changes else "\n", file=sys.stderr, flush=True)
            shown = now

    try:
        yield show
    finally:
        if changes:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
