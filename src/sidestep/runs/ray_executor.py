"""Episodes on a Ray cluster.

Long-lived actors, each with the CPUs and GPUs that the policy declares, import this package once and run batches of
episodes of one policy. An actor has at most ``AHEAD`` batches, and tasks are taken from their iterable only when an
actor has room, so a run of any length keeps few tasks in memory and few references in Ray. The size of batches follows
the measured time per episode.

When an actor is lost, the batches that it had not begun go to others as they are. The one that it was running is split:
a task that ends its actor's process when it is alone in its batch is reported as ``WorkerDied``. If the whole node is
gone, no task is to blame.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from operator import length_hint
from pathlib import Path
from time import monotonic
from typing import Any

from sidestep.errors import BadInput, MissingExtra
from sidestep.runs.episode import EpisodeTask, TaskResult
from sidestep.runs.executors import ONE_THREAD, Executor, FinishedTask, Raised, Work, WorkerDied, checked

LOCAL = "local"
"""The address of a cluster of one node that the run starts and ends."""
ANSWER_S = 10.0
"""Time for a cluster to accept a connection, s."""
LOCAL_TRIES = 3
"""Ray gives its own processes 30 s to start, which a busy computer exceeds."""
AHEAD = 2
"""Batches that an actor has at once: the one that it runs and the next."""
BATCH_S = 1.0
"""Time that a batch should take, s."""
LARGEST_BATCH = 100
START_S = 900.0
"""Time for the first actor to start, s; a cluster that grows needs minutes for a new node."""
FAILED_STARTS = 10
"""Actors lost in sequence before one starts, after which the run ends."""
NODE_LOSSES = 5
"""Number of nodes that may be lost with the same task before the task is suspected."""


@dataclass
class Ray(Executor):
    """Actors on the cluster at ``address``. Its nodes need this package, and scenario files, policies and the run
    folder under the same paths (a shared file system); with records in an object store, no run folder."""

    address: str
    actors: int | None = None
    """Largest number of actors; None: as many as the cluster has room for when the run begins."""
    _is_ours: bool = field(default=False, init=False, compare=False, repr=False)

    def run(self, work: Work, tasks: Iterable[EpisodeTask]) -> Iterator[FinishedTask]:
        """Every task as the cluster finishes it."""
        ray = self.connect()
        pool = _Pool(ray, work, tasks, self.actors, self.address)
        try:
            yield from pool.results()
        finally:
            pool.end()

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._is_ours:
            _import_ray().shutdown()
            self._is_ours = False

    def connect(self) -> Any:
        """Ray's module, connected to the cluster. A script's own connection is used and left as it is."""
        ray = _import_ray()
        if ray.is_initialized():
            return ray
        _check_answers(self.address)
        quiet = {"log_to_driver": False, "logging_level": "error"}
        own = {"num_cpus": self.actors or os.cpu_count(), "include_dashboard": False} if self.address == LOCAL else {}
        with _signals_kept(), _on_loopback(ray) if self.address == LOCAL else nullcontext():
            for tries_left in reversed(range(LOCAL_TRIES if self.address == LOCAL else 1)):
                try:
                    ray.init(address=self.address, **quiet, **own)
                    break
                except Exception as error:  # of any class, also where a busy computer keeps it from starting in time
                    ray.shutdown()
                    what = "Ray did not start" if self.address == LOCAL else "no cluster answers there"
                    if not tries_left:
                        raise BadInput(f"--ray {self.address}: {what}: {error}") from error
        self._is_ours = True
        return ray


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray else reports to its maker when it starts a cluster
    try:
        import ray
    except ImportError:
        raise MissingExtra("--ray", "ray") from None
    return ray


@contextmanager
def _on_loopback(ray: Any) -> Iterator[None]:
    """A cluster that is started meanwhile listens on the loopback interface alone, as Ray does where clusters are not
    supported. It looks at a variable when it is imported, here and in its own processes."""
    constants, variable = ray._private.ray_constants, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before, previous = constants.ENABLE_RAY_CLUSTER, os.environ.get(variable)
    constants.ENABLE_RAY_CLUSTER, os.environ[variable] = False, "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        if previous is None:
            del os.environ[variable]
        else:
            os.environ[variable] = previous


def _check_answers(address: str) -> None:
    """``BadInput`` at once if no process listens at ``host:port``; Ray tries for minutes."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise BadInput(f"--ray {address}: no cluster answers there: {error}") from error


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM, with which a run ends in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


Resources = tuple[float, float]
"""CPUs and GPUs of an actor."""


def resources_of(declared: Mapping[str, float]) -> Resources:
    """What a policy declares, as numbers: one CPU and no GPU if it does not say."""
    return float(declared.get("cpu", 1.0)), float(declared.get("gpu", 0.0))


@dataclass(eq=False)
class _Actor:
    handle: Any
    resources: Resources
    node: str = ""
    """Id of its node; empty: it has not started yet."""
    queue: deque[Any] = field(default_factory=deque)
    """References of its batches, the one that it runs first."""


Batch = list[EpisodeTask]


class _Pool:
    """The actors of one call of ``Ray.run``."""

    def __init__(self, ray: Any, work: Work, tasks: Iterable[EpisodeTask], most: int | None, address: str) -> None:
        self._ray, self._address = ray, address
        self._class = ray.remote(_actor_class())
        self._work = ray.put(pickle.dumps(work))
        self._tasks = iter(tasks)
        self._left = length_hint(tasks, -1)
        """Number of tasks not taken yet; negative: not known."""
        self._following = next(self._tasks, None)
        self._again: deque[Batch] = deque()
        """Batches of actors that were lost."""
        self._node_losses: Counter[Path] = Counter()
        self._episode_s: dict[str, float] = {}
        """Policy → time per episode, s."""
        self._most = most
        self._room: dict[Resources, int] = {}
        self._actors: list[_Actor] = []
        self._pending: dict[Any, tuple[_Actor, Batch]] = {}
        """Reference → its actor and batch. The batch of an actor's start is empty."""
        self._failed_starts = 0
        self._since = monotonic()

    def results(self) -> Iterator[FinishedTask]:
        """Every task with its result."""
        while self._submit() or self._pending:
            for reference in self._ready():
                if reference in self._pending:  # not lost together with an earlier batch of its actor
                    yield from self._take(reference)

    def end(self) -> None:
        """End all actors."""
        for actor in self._actors:
            self._kill(actor)
        self._actors, self._pending = [], {}

    def _submit(self) -> bool:
        """Give batches to actors that have room, ask for more actors or end idle ones; whether tasks are waiting."""
        while (task := self._peek()) is not None:
            wanted = resources_of(task.policy.resources)
            actor = self._with_room(wanted)
            if actor is None:
                self._ask_for_actors(wanted)
                return True
            batch = self._next_batch()
            reference = actor.handle.run.remote(batch)
            actor.queue.append(reference)
            self._pending[reference] = (actor, batch)
        busy = {id(actor) for actor, batch in self._pending.values() if batch}
        for actor in [each for each in self._actors if id(each) not in busy]:
            self._drop(actor)
        return False

    def _peek(self) -> EpisodeTask | None:
        return self._again[0][0] if self._again else self._following

    def _next_batch(self) -> Batch:
        if self._again:
            return self._again.popleft()
        assert self._following is not None
        policy, batch = self._following.policy.name, list[EpisodeTask]()
        size = self._size_of_batch(policy)
        while len(batch) < size and self._following is not None and self._following.policy.name == policy:
            batch.append(self._following)
            self._following = next(self._tasks, None)
        self._left -= len(batch)
        return batch

    def _size_of_batch(self, policy: str) -> int:
        """The number of tasks that take ``BATCH_S``; fewer near the end, so that all actors finish at about the same
        time."""
        if policy not in self._episode_s:
            return 1
        size = int(min(BATCH_S / max(self._episode_s[policy], 1e-6), LARGEST_BATCH))
        if self._left >= 0:
            size = min(size, self._left // (AHEAD * max(len(self._actors), 1)))
        return max(size, 1)

    def _with_room(self, wanted: Resources) -> _Actor | None:
        """The actor with the fewest batches, if one of them has room for another."""
        free = [each for each in self._actors if each.node and each.resources == wanted and len(each.queue) < AHEAD]
        return min(free, key=lambda each: len(each.queue), default=None)

    def _ask_for_actors(self, wanted: Resources) -> None:
        """Ask Ray for as many actors as may be of use; those of other policies that have nothing to do are ended."""
        for actor in [each for each in self._actors if each.resources != wanted and not each.queue]:
            self._drop(actor)
        waiting = self._left + sum(map(len, self._again)) if self._left >= 0 else self._limit(wanted)
        for _ in range(min(self._limit(wanted) - len(self._actors), max(waiting, 1))):
            options = {"num_cpus": wanted[0], "num_gpus": wanted[1], "max_restarts": 0, "max_task_retries": 0}
            handle = self._class.options(**options).remote(self._work, os.getcwd(), dict.fromkeys(ONE_THREAD, "1"))
            actor = _Actor(handle, wanted)
            self._actors.append(actor)
            self._pending[handle.node.remote()] = (actor, [])

    def _limit(self, wanted: Resources) -> int:
        """Largest number of actors with these resources."""
        if wanted not in self._room:
            have = self._ray.cluster_resources()
            pairs = ((have.get("CPU", 0.0), wanted[0]), (have.get("GPU", 0.0), wanted[1]))
            room = min((int(there // each) for there, each in pairs if each > 0.0), default=1)
            if room < 1 and self._address == LOCAL:
                raise BadInput(
                    f"--ray {LOCAL}: {_described(wanted)} are needed, this computer has {_described_all(have)}"
                )
            self._room[wanted] = max(room, 1)
        return self._most or self._room[wanted]

    def _ready(self) -> list[Any]:
        """References that have a result, in the order of submission; waits for one."""
        references = list(self._pending)
        ready, _ = self._ray.wait(references, num_returns=1, timeout=START_S)
        if not ready:
            if not any(actor.node for actor in self._actors) and monotonic() - self._since >= START_S:
                wanted, have = self._actors[0].resources, self._ray.cluster_resources()
                raise BadInput(
                    f"--ray {self._address}: no worker has started within {START_S:g} s; each needs "
                    f"{_described(wanted)}, the cluster has {_described_all(have)}"
                )
            return []
        found, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        return [*ready, *(reference for reference in found if reference not in ready)]

    def _take(self, reference: Any) -> Iterator[FinishedTask]:
        actor, batch = self._pending[reference]
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(reference)
        except errors.RayTaskError:
            raise  # ours, and not of a task
        except errors.RayError as error:
            yield from self._lost(actor, error)
            return
        del self._pending[reference]
        if not batch:
            actor.node, self._failed_starts = answer, 0
            return
        actor.queue.remove(reference)
        results, seconds, is_spent = answer
        self._note_time(batch, results, seconds)
        if len(results) < len(batch):
            self._again.append(batch[len(results) :])
        if is_spent:  # a policy that never came back still runs in a thread of it
            self._again.extend(self._pending.pop(each)[1] for each in actor.queue)
            self._drop(actor)
        for task, result in zip(batch, results, strict=False):
            yield task, checked(task, result)

    def _note_time(self, batch: Batch, results: list[TaskResult | Raised], seconds: float) -> None:
        name, each = batch[0].policy.name, seconds / max(len(results), 1)
        self._episode_s[name] = 0.5 * (self._episode_s.get(name, each) + each)

    def _lost(self, actor: _Actor, error: Exception) -> Iterator[FinishedTask]:
        """The actor is gone: give its batches to others, and say which task ended it if that is known."""
        batches = [self._pending.pop(reference)[1] for reference in actor.queue]
        self._pending = {reference: entry for reference, entry in self._pending.items() if entry[0] is not actor}
        self._drop(actor)
        if not actor.node:
            self._failed_starts += 1
            is_ours = isinstance(error, self._ray.exceptions.RayActorError) and error.actor_init_failed
            if is_ours or self._failed_starts >= FAILED_STARTS:
                raise BadInput(f"--ray {self._address}: workers cannot start: {error}") from None
            return
        if not batches:
            return
        running, *waiting = batches
        self._again.extend(waiting)
        if self._is_alive(actor.node):
            if len(running) == 1:
                yield running[0], WorkerDied(f"Ray lost the worker: {type(error).__name__}")
            else:
                self._again.extend([task] for task in running)
            return
        self._node_losses.update(task.path for task in running)
        for task in running:
            if self._node_losses[task.path] >= NODE_LOSSES:
                yield task, WorkerDied(f"Ray lost {NODE_LOSSES} nodes that ran it")
            else:
                self._again.append([task])

    def _is_alive(self, node: str) -> bool:
        return any(entry["NodeID"] == node and entry["Alive"] for entry in self._ray.nodes())

    def _drop(self, actor: _Actor) -> None:
        self._actors.remove(actor)
        self._pending = {reference: entry for reference, entry in self._pending.items() if entry[0] is not actor}
        self._kill(actor)

    def _kill(self, actor: _Actor) -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(actor.handle)


def _described(resources: Resources) -> str:
    return f"{resources[0]:g} CPU and {resources[1]:g} GPU"


def _described_all(have: Mapping[str, float]) -> str:
    return _described((have.get("CPU", 0.0), have.get("GPU", 0.0)))


def _actor_class() -> type:
    """Pickled by value, so that a worker's number of threads is set before it imports anything of ours."""

    class EpisodeActor:
        """Runs batches of tasks, one task after the other."""

        def __init__(self, work: bytes, folder: str, environment: dict[str, str]) -> None:
            import os
            import pickle
            import threading
            from contextlib import suppress

            os.environ.update({name: value for name, value in environment.items() if name not in os.environ})
            with suppress(OSError):  # another computer may not have it
                os.chdir(folder)
            self._work = pickle.loads(work)
            self._threads = set(threading.enumerate())

        def node(self) -> str:
            """Id of the node that it runs on."""
            import ray

            return str(ray.get_runtime_context().get_node_id())

        def run(self, batch: list[Any]) -> tuple[list[Any], float, bool]:
            """Results of the first tasks of the batch, how long they took, s, and whether it takes no more."""
            from time import perf_counter

            from sidestep.runs.executors import has_left_threads, perform

            begin, results, is_spent = perf_counter(), [], False
            for task in batch:
                results.append(perform(self._work, task))
                is_spent = has_left_threads(self._threads)
                if is_spent:
                    break
            return results, perf_counter() - begin, is_spent

    return EpisodeActor
