"""Worker processes that may die: each has its own pipe, so that the task that killed one is known."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from sidestep.benchmark.episode import Answer, EpisodeTask
from sidestep.benchmark.executors import Answered, Died, Work
from sidestep.guests import end_all

ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Processes:
    """``count`` spawned processes, one task at a time each, threads inside them limited to one when there are
    several."""

    count: int

    def run(self, work: Work, tasks: Sequence[EpisodeTask]) -> Iterator[Answered]:
        """Every task as it is finished. A worker that dies is replaced."""
        waiting = deque(tasks)
        several = self.count > 1
        workers: list[_Worker] = []
        try:
            while waiting or workers:
                while waiting and len(workers) < self.count:
                    workers.append(_Worker(work, waiting.popleft(), several))
                for worker in _ready(workers):
                    task, answer = worker.task, worker.take()
                    if worker.is_spent or not waiting:
                        worker.stop()
                        workers.remove(worker)
                    else:
                        worker.give(waiting.popleft())
                    yield task, answer
        finally:
            for worker in workers:
                worker.stop()


def _ready(workers: list[_Worker]) -> list[_Worker]:
    waited: list[Any] = [end for worker in workers for end in (worker.pipe, worker.process.sentinel)]
    ready = connection.wait(waited)
    return [worker for worker in workers if worker.pipe in ready or worker.process.sentinel in ready]


@dataclass(eq=False)
class _Worker:
    """One process and the task that it works on."""

    work: Work
    task: EpisodeTask
    one_thread: bool
    is_spent: bool = field(default=False, init=False)
    """The process has ended, or left threads running, and takes no more tasks."""

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.work), daemon=True)
        with _environment(dict.fromkeys(ONE_THREAD, "1") if self.one_thread else {}):
            self.process.start()
        theirs.close()
        self.give(self.task)

    def give(self, task: EpisodeTask) -> None:
        """Send the next task. That the process has just died is noticed when its answer is taken."""
        self.task = task
        try:
            self.pipe.send(task)
        except (BrokenPipeError, ConnectionResetError):
            self.is_spent = True

    def take(self) -> Answer | Died:
        """The answer, or how the process ended. An error inside our own code is raised here."""
        try:
            if not self.pipe.poll():
                raise EOFError
            answer, self.is_spent = self.pipe.recv()
        except (EOFError, OSError):
            self.is_spent = True
            return Died(self._ending())
        if isinstance(answer, _Raised):
            raise RuntimeError(f"{self.task.label}: error inside Sidestep\n{answer.text}")
        return answer  # type: ignore[no-any-return]

    def _ending(self) -> str:
        self.process.join(timeout=5)
        code = self.process.exitcode
        if code is None:
            return "it closed its connection"
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
        return f"{name}{' (out of memory?)' if name == 'SIGKILL' else ''}"

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass(frozen=True)
class _Raised:
    text: str


def _serve(pipe: Connection[Any, Any], work: Work) -> None:
    """The worker's life: a task in, an answer and whether to be replaced out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run's own process handles an interrupt and stops us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=_end_with_parent, daemon=True, name="sidestep-parent").start()
    try:
        _work_off(pipe, work)
    finally:
        end_all()  # with what they have started, which the end of this process alone would leave behind


def _end_with_parent() -> None:
    """When the run's process has been killed: end, with all guests, instead of finishing the episode."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        end_all()
        os._exit(1)


def _work_off(pipe: Connection[Any, Any], work: Work) -> None:
    threads = set(threading.enumerate())
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            answer: Any = work(task)
        except Exception:
            answer = _Raised(traceback.format_exc())
        is_spent = _has_left_threads(threads)
        try:
            pipe.send((answer, is_spent))
        except BrokenPipeError:
            return
        if is_spent:
            end_all()
            os._exit(0)


def _has_left_threads(before: set[threading.Thread]) -> bool:
    """Whether a policy that never came back still runs in a thread; threads that are just ending get a
    moment."""
    new = [thread for thread in threading.enumerate() if thread not in before]
    for thread in new:
        thread.join(timeout=0.1)
    return any(thread.is_alive() for thread in new)


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    """Variables that a child process is to inherit; what a person has set stays."""
    added = {name: value for name, value in changes.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
