"""How the episodes of a run are executed: in this process, in worker processes, or on a Ray cluster
(``sidestep.runs.ray_executor``). All give the same results.

An executor takes tasks one by one as it has room for them, and yields every task with its result, in any order. A
worker process has its own pipe, so that the task that ended it is known; such a task is run once more alone before it
counts as the policy's failure.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection, current_process, get_context
from multiprocessing.connection import Connection
from typing import Any

from sidestep._util.threads import end_with_parent
from sidestep.errors import BadInput
from sidestep.runs.episode import EpisodeTask, TaskResult, stop_saving
from sidestep.runs.remote.guests import describe_exit, end_all

Work = Callable[[EpisodeTask], TaskResult]


@dataclass(frozen=True)
class WorkerDied:
    """The process that ran a task ended before it had a result."""

    reason: str


FinishedTask = tuple[EpisodeTask, TaskResult | WorkerDied]


class Executor(ABC):
    """Runs tasks."""

    @abstractmethod
    def run(self, work: Work, tasks: Iterable[EpisodeTask]) -> Iterator[FinishedTask]:
        """Every task with its result, as they come. A task is taken when there is room for it, not before."""

    def close(self) -> None:  # noqa: B027
        """Free what several calls of ``run`` share; by default nothing."""


@dataclass(frozen=True)
class Serial(Executor):
    """One after the other in this process: the quickest start, but a policy that kills its process kills the
    run."""

    def run(self, work: Work, tasks: Iterable[EpisodeTask]) -> Iterator[FinishedTask]:
        """Every task in order."""
        for task in tasks:
            yield task, work(task)


def run_with_retry(
    executor: Executor,
    work: Work,
    tasks: Iterable[EpisodeTask],
    as_failed: Callable[[EpisodeTask, str], EpisodeTask],
) -> Generator[tuple[EpisodeTask, TaskResult], None, None]:
    """Every task with a definite result.

    A task whose process died runs once more with nothing beside it (it may have been a neighbour that took
    the memory). If its process dies again the policy is at fault, and the episode is recorded as its failure;
    if even that kills the process, the scenario cannot be built and is skipped.
    """
    suspects: list[EpisodeTask] = []
    try:
        for task, result in executor.run(work, tasks):
            if isinstance(result, WorkerDied):
                suspects.append(task)
            else:
                yield task, result
        for task in suspects:
            yield task, _result_alone(executor, work, task, as_failed)
    finally:
        executor.close()


def _result_alone(
    executor: Executor, work: Work, task: EpisodeTask, as_failed: Callable[[EpisodeTask, str], EpisodeTask]
) -> TaskResult:
    result = _only(executor, work, task)
    if not isinstance(result, WorkerDied):
        return result
    reason = result.reason
    result = _only(executor, work, as_failed(task, reason))
    if isinstance(result, WorkerDied):
        return TaskResult(skipped=f"building the scenario ended the process: {reason}")
    return result


def _only(executor: Executor, work: Work, task: EpisodeTask) -> TaskResult | WorkerDied:
    [(_, result)] = executor.run(work, [task])
    return result


WORKER = "sidestep-worker"
"""Name of worker processes."""
UNGUARDED = 70
"""Exit code of a worker whose main script starts a run when it is imported."""
GUARD = (
    'worker processes import the script that starts the run; put the call below `if __name__ == "__main__":` in that '
    "script, so that importing it starts no other run"
)


def refuse_in_import() -> None:
    """``BadInput`` if a child process imports the main script, which calls this; a worker of ours ends silently and
    leaves the message to the run."""
    for frame, _ in traceback.walk_stack(inspect.currentframe()):
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__mp_main__":
            if current_process().name == WORKER:
                raise SystemExit(UNGUARDED)
            raise BadInput(GUARD)


ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class WorkerProcesses(Executor):
    """``count`` spawned processes, one task at a time each, threads inside them limited to one when there are
    several."""

    count: int

    def run(self, work: Work, tasks: Iterable[EpisodeTask]) -> Iterator[FinishedTask]:
        """Every task as it is finished. A worker that dies is replaced."""
        waiting = iter(tasks)
        following = next(waiting, None)
        several = self.count > 1
        workers: list[_Worker] = []
        try:
            while following is not None or workers:
                while following is not None and len(workers) < self.count:
                    workers.append(_Worker(work, following, several))
                    following = next(waiting, None)
                for worker in _ready(workers):
                    task, result = worker.task, worker.take()
                    if worker.is_spent or following is None:
                        worker.stop()
                        workers.remove(worker)
                    else:
                        worker.give(following)
                        following = next(waiting, None)
                    yield task, result
        finally:
            for worker in workers:
                worker.stop()


CHECK_S = 1.0
"""How often workers are looked at, s."""
STOPPED_CHECKS = 10
"""A worker that is stopped or traced at so many checks in a row is ended."""


def _ready(workers: list[_Worker]) -> list[_Worker]:
    """The workers that have a result or have ended; those that somebody has stopped are ended meanwhile."""
    waited: list[Any] = [end for worker in workers for end in (worker.pipe, worker.process.sentinel)]
    while not (ready := connection.wait(waited, CHECK_S)):
        for worker in workers:
            worker.end_if_stopped()
    return [worker for worker in workers if worker.pipe in ready or worker.process.sentinel in ready]


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped or traced (Linux; elsewhere not known)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return False


@dataclass(eq=False)
class _Worker:
    """One process and the task that it works on."""

    work: Work
    task: EpisodeTask
    one_thread: bool
    is_spent: bool = field(default=False, init=False)
    """The process has ended, or left threads running, and takes no more tasks."""
    stopped_checks: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_worker_main, args=(theirs, self.work), name=WORKER, daemon=True)
        with _environment(dict.fromkeys(ONE_THREAD, "1") if self.one_thread else {}):
            self.process.start()
        theirs.close()
        self.give(self.task)

    def give(self, task: EpisodeTask) -> None:
        """Send the next task. That the process has just died is noticed when its result is taken."""
        self.task = task
        try:
            self.pipe.send(task)
        except (BrokenPipeError, ConnectionResetError):
            self.is_spent = True

    def take(self) -> TaskResult | WorkerDied:
        """The result, or how the process ended. An error inside our own code is raised here."""
        try:
            if not self.pipe.poll():
                raise EOFError
            result, self.is_spent = self.pipe.recv()
        except (EOFError, OSError):
            self.is_spent = True
            return WorkerDied(self._ending())
        return checked(self.task, result)

    def end_if_stopped(self) -> None:
        """End the process if it has been stopped for long; policies of others cannot do that, but other programs."""
        pid = self.process.pid
        self.stopped_checks = self.stopped_checks + 1 if pid is not None and is_stopped(pid) else 0
        if self.stopped_checks >= STOPPED_CHECKS:
            self.process.kill()

    def _ending(self) -> str:
        self.process.join(timeout=5)
        if self.stopped_checks >= STOPPED_CHECKS:
            return f"it was stopped for {STOPPED_CHECKS * CHECK_S:g} s"
        code = self.process.exitcode
        if code == UNGUARDED:
            raise BadInput(GUARD) from None
        return "it closed its connection" if code is None else describe_exit(code)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass(frozen=True)
class Raised:
    """The traceback of an error inside our own code, from another process."""

    text: str


def perform(work: Work, task: EpisodeTask) -> TaskResult | Raised:
    """``work(task)`` in another process than the run's."""
    try:
        return work(task)
    except Exception:
        return Raised(traceback.format_exc())


def checked(task: EpisodeTask, result: TaskResult | Raised) -> TaskResult:
    """The result; an error inside our own code is raised."""
    if isinstance(result, Raised):
        raise RuntimeError(f"{task.label}: error inside Sidestep\n{result.text}")
    return result


def _worker_main(pipe: Connection[Any, Any], work: Work) -> None:
    """The worker's life: a task in, a result and whether to be replaced out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run's own process handles an interrupt and stops us
    signal.signal(signal.SIGTERM, _leave)
    end_with_parent(_give_up)
    try:
        _run_tasks(pipe, work)
    finally:
        end_all()  # with what they have started, which the end of this process alone would leave behind


def _leave(*_: Any) -> None:
    """Handle SIGTERM. The policy that is being asked may take the exit for an error of its own."""
    stop_saving()
    sys.exit(0)


def _give_up() -> None:
    """When the run's process has been killed: end all guests instead of finishing the episode."""
    stop_saving()  # before guests die, which would look like a failure of theirs
    end_all()


def _run_tasks(pipe: Connection[Any, Any], work: Work) -> None:
    threads = set(threading.enumerate())
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        result = perform(work, task)
        is_spent = has_left_threads(threads)
        try:
            pipe.send((result, is_spent))
        except BrokenPipeError:
            return
        if is_spent:
            end_all()
            os._exit(0)


def has_left_threads(before: set[threading.Thread]) -> bool:
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
