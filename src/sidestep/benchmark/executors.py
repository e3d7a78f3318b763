"""Who runs the tasks: this process, worker processes, or a Ray cluster. All give the same answers.

An executor yields every task with its answer, in any order; a task whose process died is answered by
``Died``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sidestep.benchmark.episode import Answer, EpisodeTask
from sidestep.errors import BadInput, MissingExtra

Work = Callable[[EpisodeTask], Answer]


@dataclass(frozen=True)
class Died:
    """The process that ran a task ended before it answered."""

    reason: str


Answered = tuple[EpisodeTask, Answer | Died]


class Executor(Protocol):
    """Runs tasks."""

    def run(self, work: Work, tasks: Sequence[EpisodeTask]) -> Iterator[Answered]:
        """Every task with its answer, as they come."""


@dataclass(frozen=True)
class Serial:
    """One after the other in this process: the quickest start, but a policy that kills its process kills the
    run."""

    def run(self, work: Work, tasks: Sequence[EpisodeTask]) -> Iterator[Answered]:
        """Every task in order."""
        for task in tasks:
            yield task, work(task)


@dataclass(frozen=True)
class Ray:
    """Tasks on a Ray cluster. Workers need this package and the run folder's path (a shared file system)."""

    address: str

    def run(self, work: Work, tasks: Sequence[EpisodeTask]) -> Iterator[Answered]:
        """Every task as the cluster finishes it."""
        ray = _import_ray()
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False)
            except (ConnectionError, ValueError) as error:
                raise BadInput(f"--ray {self.address}: no cluster answers there: {error}") from error

        def run_one(task: EpisodeTask) -> Answer:  # Ray takes plain functions only
            return work(task)

        remote = ray.remote(max_retries=0)(run_one)
        pending = {remote.remote(task): task for task in tasks}
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                yield pending.pop(reference), _fetch(ray, reference)


def _import_ray() -> Any:
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtra("--ray", "ray") from None
    return ray


def _fetch(ray: Any, reference: Any) -> Answer | Died:
    """The answer; Ray's own errors about lost workers mean that the process died, a task's error is
    raised."""
    lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError)
    try:
        answer: Answer = ray.get(reference)
    except lost as error:
        return Died(f"Ray lost the worker: {type(error).__name__}")
    return answer


def settle(
    executor: Executor,
    work: Work,
    tasks: Sequence[EpisodeTask],
    as_failed: Callable[[EpisodeTask, str], EpisodeTask],
) -> Generator[tuple[EpisodeTask, Answer], None, None]:
    """Every task with a definite answer.

    A task whose process died runs once more with nothing beside it (it may have been a neighbour that took
    the memory). If its process dies again the policy is at fault, and the episode is recorded as its failure;
    if even that kills the process, the scenario cannot be built and is skipped.
    """
    suspects: list[EpisodeTask] = []
    for task, answer in executor.run(work, tasks):
        if isinstance(answer, Died):
            suspects.append(task)
        else:
            yield task, answer
    for task in suspects:
        answer = _only(executor, work, task)
        if isinstance(answer, Died):
            reason = answer.reason
            answer = _only(executor, work, as_failed(task, reason))
            if isinstance(answer, Died):
                answer = Answer(skipped=f"building the scenario ended the process: {reason}")
        yield task, answer


def _only(executor: Executor, work: Work, task: EpisodeTask) -> Answer | Died:
    [(_, answer)] = executor.run(work, [task])
    return answer
