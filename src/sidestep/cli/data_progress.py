"""The bar of a download, on stderr: bytes, speed and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def download_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A function of (bytes done, bytes in all, file) that moves a bar; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[label]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, label="")

        def move(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total or None, label=label)

        yield move
