"""Threads that do one job together."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Job = Callable[[int], Any]


class Team:
    """``count`` threads, the caller included. The others start with the first job and end with this object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._process = 0
        self._lines: list[SimpleQueue[Any]] = []
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()

    def run(self, job: Job) -> None:
        """``job(k)`` for k = 0 … count - 1, one on each thread; returns when all are done."""
        if self.count > 1 and self._process != os.getpid():  # not begun yet, or a forked child, which has no threads
            self._begin()
        for number, line in enumerate(self._lines, start=1):
            line.put((job, number))
        try:
            job(0)
        finally:
            failures = [self._done.get() for _ in self._lines]
        for failure in failures:
            if failure is not None:
                raise failure

    def __deepcopy__(self, memo: dict[int, Any]) -> Team:
        """Threads are not copied: a copy starts its own."""
        return Team(self.count)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._done = SimpleQueue()
        self._lines = [SimpleQueue() for _ in range(self.count - 1)]
        for line in self._lines:
            thread = threading.Thread(target=_serve, args=(line, self._done), daemon=True, name="sidestep-render")
            thread.start()
        weakref.finalize(self, _dismiss, self._lines)


def _dismiss(lines: list[SimpleQueue[Any]]) -> None:
    for line in lines:
        line.put(None)


def _serve(line: SimpleQueue[Any], done: SimpleQueue[BaseException | None]) -> None:
    call = line.get()
    while call is not None:
        job, number = call
        failure: BaseException | None = None
        try:
            job(number)
        except BaseException as error:  # handed to the caller
            failure = error
        del call, job
        done.put(failure)
        call = line.get()
