"""Worker processes that hold the walks: a walk stays in one process, and steps due together are sent together."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from sidestep.errors import SidestepError
from sidestep.studies import walk_worker
from sidestep.studies.access import Refused
from sidestep.studies.site import log
from sidestep.studies.walk_worker import WalkOrder

PAUSE_S = 0.1
"""Seconds between two walks that begin, in which the other walks are stepped."""

STOPPED = "the simulation has stopped; the walk starts over"

_Due = tuple[str, dict[str, Any], "asyncio.Future[tuple[str, bool]]"]


class Workers:
    """Executors of one worker each: a walk stays with its worker. ``processes`` 0: a thread of the server instead."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._executors = [self._make() for _ in range(max(1, processes))]
        self._load = [0] * len(self._executors)
        self._due: list[list[_Due]] = [[] for _ in self._executors]
        self._begins = [asyncio.Lock() for _ in self._executors]
        self._flushing: list[asyncio.Task[None] | None] = [None] * len(self._executors)

    def _make(self) -> Executor:
        if not self._processes:
            return ThreadPoolExecutor(1, "walks")
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), walk_worker.warm_up)

    def place(self) -> int:
        """The worker with the fewest walks."""
        worker = self._load.index(min(self._load))
        self._load[worker] += 1
        return worker

    def leave(self, worker: int) -> None:
        """A walk has gone."""
        self._load[worker] -= 1

    async def call(self, worker: int, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do something in a worker; a worker that has died is replaced and its walks are lost (``Refused``)."""
        executor = self._executors[worker]
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work, *arguments)
        except BrokenExecutor:
            if self._executors[worker] is executor:
                log.error("a walk worker has died and is replaced")
                self._executors[worker] = self._make()
            raise Refused(503, STOPPED) from None

    async def begin(self, worker: int, key: str, order: WalkOrder) -> tuple[str, str, float]:
        """Begin a walk; what the page draws, the first state and the length of a step, s.

        A worker begins one walk after another and steps the others in between, so that many who begin together do not
        disturb those who walk."""
        async with self._begins[worker]:
            begun: tuple[str, str, float] = await self.call(worker, walk_worker.begin, key, order)
            await asyncio.sleep(PAUSE_S)
        return begun

    async def step(self, worker: int, key: str, person: dict[str, Any]) -> tuple[str, bool]:
        """One step of a walk. Walks that are due at the same time go to the worker together."""
        result: asyncio.Future[tuple[str, bool]] = asyncio.get_running_loop().create_future()
        self._due[worker].append((key, person, result))
        flushing = self._flushing[worker]
        if flushing is None or flushing.done():
            self._flushing[worker] = asyncio.create_task(self._flush(worker))
        return await result

    async def _flush(self, worker: int) -> None:
        while due := self._due[worker]:
            self._due[worker] = []
            try:
                states = await self.call(worker, walk_worker.step_all, [each[:2] for each in due])
            except Refused as error:
                states = [str(error)] * len(due)
            except Exception:  # a mistake of ours: nobody may wait for ever
                log.exception("a step of walks has failed")
                states = [STOPPED] * len(due)
            for (_, _, result), state in zip(due, states, strict=True):
                if result.done():  # given up
                    continue
                if isinstance(state, str):
                    result.set_exception(Refused(503, state))
                else:
                    result.set_result(state)

    async def start(self, orders: list[WalkOrder]) -> None:
        """Wait until every worker has rehearsed ``orders``, so that no participant waits for a compiler."""
        workers = range(len(self._executors))
        for order in orders:
            try:
                await self.call(0, walk_worker.rehearse, order)  # the first one fills the cache of machine code
                await asyncio.gather(*(self.call(each, walk_worker.rehearse, order) for each in workers[1:]))
            except SidestepError as error:
                log.error("%s with %s cannot be walked: %s", order.scenario, order.policy, error)
        await asyncio.gather(*(self.call(each, walk_worker.drop, "") for each in workers))

    def pids(self) -> list[int]:
        """Process ids of the workers."""
        pools = [each for each in self._executors if isinstance(each, ProcessPoolExecutor)]
        return [pid for pool in pools for pid in pool._processes]

    def close(self) -> None:
        """End the workers."""
        for executor in self._executors:
            executor.shutdown(wait=False, cancel_futures=True)
