"""Threads that wait for jobs, and processes that end with their parent."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from multiprocessing import parent_process
from queue import SimpleQueue
from typing import Any

Job = Callable[[int], Any]


class HelperThreads:
    """``count`` threads that wait to be called. The caller does not wait for them: a job must be one that they can join
    late, or not at all.

    They start with the first call. They end with :meth:`close`, or when nobody holds this object any more.
    """

    def __init__(self, count: int, name: str = "sidestep-worker") -> None:
        self.count = count
        self._name = name
        self._process = 0
        self._queues: list[SimpleQueue[Any]] = []
        self._end: Callable[[], Any] = _nothing

    def call(self, job: Job) -> int:
        """Let thread k, 1 … count, do ``job(k)`` as soon as it can; returns the number of threads that were called. A
        thread that has not begun its last job yet is not called again."""
        if self.count == 0:
            return 0
        if self._process != os.getpid():  # not started yet, closed, or a forked child, which has no threads
            self._start()
        waiting = [(number, queue) for number, queue in enumerate(self._queues, start=1) if queue.empty()]
        for number, queue in waiting:
            queue.put((job, number))
        return len(waiting)

    def close(self) -> None:
        """End the threads; a later call starts new ones."""
        self._end()
        self._process = 0

    def _start(self) -> None:
        self._process = os.getpid()
        self._queues = [SimpleQueue() for _ in range(self.count)]
        for queue in self._queues:
            threading.Thread(target=_serve, args=(queue,), daemon=True, name=self._name).start()
        self._end = weakref.finalize(self, _dismiss, self._queues)


def _nothing() -> None:
    pass


def _dismiss(queues: list[SimpleQueue[Any]]) -> None:
    for queue in queues:
        queue.put(None)


def _serve(queue: SimpleQueue[Any]) -> None:
    """Do the jobs of a queue until it says None. Holds no reference to a job while it waits."""
    call = queue.get()
    while call is not None:
        job, number = call
        job(number)
        del call, job
        call = queue.get()


class WorkerThreads:
    """``count`` threads that share a job, the caller included. The others start with the first job and end with this
    object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._helpers = HelperThreads(max(count - 1, 0), "sidestep-shared")

    def run(self, job: Job) -> None:
        """Do ``job(k)`` for k = 0 … count - 1, one on each thread, and wait for all. Raises the first error."""
        done: SimpleQueue[BaseException | None] = SimpleQueue()

        def work(number: int) -> None:
            failure: BaseException | None = None
            try:
                job(number)
            except BaseException as error:  # handed to the caller
                failure = error
            done.put(failure)

        called = self._helpers.call(work)
        try:
            job(0)
        finally:
            failures = [done.get() for _ in range(called)]
        for failure in failures:
            if failure is not None:
                raise failure

    def run_side_by_side(self, job: Job, numbers: Iterable[int]) -> None:
        """``job(k)`` for every number, each on one of the threads."""
        waiting = deque(numbers)

        def work(_: int) -> None:
            while waiting:
                try:
                    k = waiting.popleft()
                except IndexError:  # another thread took the last
                    return
                job(k)

        self.run(work)

    def __deepcopy__(self, memo: dict[int, Any]) -> WorkerThreads:
        """Threads are not copied: a copy starts its own."""
        return WorkerThreads(self.count)


def end_with_parent(clean_up: Callable[[], Any] = _nothing) -> None:
    """Start a thread that ends this process, after ``clean_up``, as soon as the process that started it has ended, even
    if that was killed."""
    threading.Thread(target=_wait_for_parent, args=(clean_up,), daemon=True, name="sidestep-parent").start()


def _wait_for_parent(clean_up: Callable[[], Any]) -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        clean_up()
        os._exit(1)
