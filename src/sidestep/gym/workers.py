"""Threads that help with a job."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Job = Callable[[int], Any]


class Workers:
    """``count`` threads that wait to be called. Whoever calls them does not wait for them: a job must be one that they
    can join late, or not at all.

    They start with the first call; they end with :meth:`close`, or when nobody holds this object any more.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._process = 0
        self._lines: list[SimpleQueue[Any]] = []
        self._end: Callable[[], Any] = _nothing

    def call(self, job: Job) -> None:
        """Let thread k, 1 … count, do ``job(k)`` as soon as it can; one that has not come to its last call yet is not
        called again."""
        if self.count == 0:
            return
        if self._process != os.getpid():  # not begun yet, closed, or a forked child, which has no threads
            self._begin()
        for number, line in enumerate(self._lines, start=1):
            if line.empty():
                line.put((job, number))

    def close(self) -> None:
        """End the threads; a later call starts new ones."""
        self._end()
        self._process = 0

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lines = [SimpleQueue() for _ in range(self.count)]
        for line in self._lines:
            threading.Thread(target=_serve, args=(line,), daemon=True, name="sidestep-worker").start()
        self._end = weakref.finalize(self, _dismiss, self._lines)


def _nothing() -> None:
    pass


def _dismiss(lines: list[SimpleQueue[Any]]) -> None:
    for line in lines:
        line.put(None)


def _serve(line: SimpleQueue[Any]) -> None:
    """Do what is asked until asked for nothing. Holds no reference to a job while it waits."""
    call = line.get()
    while call is not None:
        job, number = call
        job(number)
        del call, job
        call = line.get()
