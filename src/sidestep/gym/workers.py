"""Threads that wait to do the parts of a job side by side."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Job = Callable[[int], Any]


class Workers:
    """``threads`` threads, of which the caller's own is one. They start with the first job and wait between jobs, which
    costs half of what an executor costs; they end with :meth:`close`, or when nobody holds this object any more."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process = 0
        self._ticket = 0
        self._lines: list[tuple[SimpleQueue[Any], SimpleQueue[Any]]] = []
        self._end: Callable[[], Any] = _nothing

    def run(self, job: Job) -> list[Any]:
        """``[job(0), job(1), …, job(threads - 1)]``, done at the same time."""
        if self.threads == 1:
            return [job(0)]
        if self._process != os.getpid():  # not begun yet, closed, or a forked child, which has no threads
            self._begin()
        self._ticket += 1
        for part, (calls, _) in enumerate(self._lines, start=1):
            calls.put((self._ticket, job, part))
        try:
            results = [job(0)]
        finally:
            answers = [self._answer(line) for _, line in self._lines]
        for value, error in answers:
            if error is not None:
                raise error
            results.append(value)
        return results

    def close(self) -> None:
        """End the threads; a later job starts new ones."""
        self._end()
        self._process = 0

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lines = [(SimpleQueue(), SimpleQueue()) for _ in range(self.threads - 1)]
        for line in self._lines:
            threading.Thread(target=_serve, args=line, daemon=True, name="sidestep-worker").start()
        self._end = weakref.finalize(self, _dismiss, [calls for calls, _ in self._lines])

    def _answer(self, line: SimpleQueue[Any]) -> tuple[Any, BaseException | None]:
        while True:  # what is left of a job whose caller was interrupted is skipped
            ticket, value, error = line.get()
            if ticket == self._ticket:
                return value, error


def _nothing() -> None:
    pass


def _dismiss(lines: list[SimpleQueue[Any]]) -> None:
    for calls in lines:
        calls.put(None)


def _serve(calls: SimpleQueue[Any], answers: SimpleQueue[Any]) -> None:
    """Do what is asked until asked for nothing. Holds no reference to a job while it waits."""
    call = calls.get()
    while call is not None:
        ticket, job, part = call
        try:
            answers.put((ticket, job(part), None))
        except BaseException as error:
            answers.put((ticket, None, error))
        del call, job
        call = calls.get()
