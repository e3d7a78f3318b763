"""Progress bars on stderr with the time left, for everything that takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, is_download: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A function of (done, total, label) that moves a bar with the time left, of a download in bytes with its speed;
    silent where stderr is no terminal."""
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
