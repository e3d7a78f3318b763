"""Threads that help, and what they help with: a step that all finish together whoever comes late."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from sidestep._util.threads import HelperThreads
from sidestep.gym.batch import EnvironmentBatch, RewardWeights
from sidestep.gym.tasks import make_source
from sidestep.kernels.environment import COUNTERS, FINISHED, INSIDE, TAKEN, open_step


def test_each_does_the_job_on_its_own_thread() -> None:
    workers = HelperThreads(2)
    barrier = threading.Barrier(3, timeout=10)  # passes only if both are there at the same time
    seen: dict[int, int] = {}

    def job(number: int) -> None:
        seen[number] = threading.get_ident()
        barrier.wait()

    for _ in range(20):
        seen.clear()
        workers.call(job)
        barrier.wait()
        assert sorted(seen) == [1, 2]
        assert len({*seen.values(), threading.get_ident()}) == 3
    workers.close()


def test_one_that_is_busy_is_called_once() -> None:
    workers = HelperThreads(1)
    begin, done, go = threading.Event(), threading.Semaphore(0), threading.Event()

    def slow(number: int) -> None:
        begin.set()
        assert go.wait(10)
        done.release()

    workers.call(slow)
    assert begin.wait(10)
    for _ in range(5):
        workers.call(slow)
    go.set()
    assert done.acquire(timeout=10)
    assert done.acquire(timeout=10)
    assert not done.acquire(timeout=0.1)
    workers.close()


def test_none_is_no_thread() -> None:
    before = threading.active_count()
    HelperThreads(0).call(lambda number: pytest.fail("nobody should come"))
    assert threading.active_count() == before


def test_a_call_after_closing_starts_anew() -> None:
    workers, came = HelperThreads(1), threading.Event()
    for _ in range(2):
        came.clear()
        workers.call(lambda number: came.set())
        assert came.wait(10)
        workers.close()
    workers.close()


def test_waiting_threads_hold_no_job() -> None:
    class Job:
        def __init__(self) -> None:
            self.came = threading.Event()

        def __call__(self, number: int) -> None:
            self.came.set()

    workers, job = HelperThreads(1), Job()
    workers.call(job)
    assert job.came.wait(10)
    gone = weakref.ref(job)
    del job
    for _ in range(100):  # the thread lets go of it a moment after the event
        gc.collect()
        if gone() is None:
            break
        threading.Event().wait(0.01)
    assert gone() is None
    workers.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_its_own_threads() -> None:
    workers, came = HelperThreads(1), threading.Event()
    workers.call(lambda number: came.set())
    assert came.wait(10)
    child = os.fork()
    if child == 0:
        came.clear()
        workers.call(lambda number: came.set())
        os._exit(0 if came.wait(10) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    workers.close()


def environments(workers: HelperThreads | None = None, size: int = 20) -> EnvironmentBatch:
    builder = make_source("Crossing", people=4).builder()
    worlds = [builder.build(seed) for seed in range(size)]
    return EnvironmentBatch(worlds, RewardWeights(), 4, size=size, workers=workers)


class Uncalled(HelperThreads):
    """Workers that leave their scratch to whoever helps uncalled."""

    def call(self, job: Any) -> None:
        pass


def test_helpers_at_any_time_change_nothing() -> None:
    """Threads that help without being asked, in the middle of everything, as late helpers do."""
    alone, helped = environments(), environments(Uncalled(2))
    stop = threading.Event()

    def meddle(number: int) -> None:
        while not stop.is_set():
            helped._help(number)

    meddlers = [threading.Thread(target=meddle, args=(number,), daemon=True) for number in (1, 2)]
    for thread in meddlers:
        thread.start()
    try:
        same_course(alone, helped, steps=100)
    finally:
        stop.set()
        for thread in meddlers:
            thread.join()
    assert helped._counters[INSIDE] == 0


def same_course(one: EnvironmentBatch, other: EnvironmentBatch, steps: int) -> None:
    rng = np.random.default_rng(0)
    for step in range(steps):
        action = rng.uniform(-1, 1, one.action.shape)
        for each in (one, other):
            each.action[:] = action
            each.step()
            assert each._counters[FINISHED] == each.size
            if step % 20 == 19:
                each.reset(np.arange(each.size))
        assert np.array_equal(one.views.people, other.views.people)
        assert np.array_equal(one.views.robot, other.views.robot)
        assert np.array_equal(one.reward, other.reward)


def test_helpers_that_are_called_change_nothing() -> None:
    workers = HelperThreads(3)
    same_course(environments(), environments(workers), steps=300)
    workers.close()


def test_a_step_after_one_that_was_interrupted() -> None:
    """The leader never came: a helper took some or nothing of the open step; the next one is whole."""
    for helps in (False, True):
        some = environments(HelperThreads(1))
        assert open_step(some._counters, some.action)
        if helps:
            some._help(1)
        clock = some.worlds.clock.copy()
        some.step()
        assert np.array_equal(some.worlds.clock, clock + 1)


def test_a_step_is_not_opened_for_numbers_that_are_not_finite() -> None:
    counters = np.full(COUNTERS, 7, np.int64)
    action = np.zeros((3, 1, 2), np.float32)
    action[2, 0, 1] = np.inf
    assert not open_step(counters, action)
    assert counters[TAKEN] == 7
