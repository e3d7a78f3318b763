"""Threads that share a job."""

from __future__ import annotations

import threading
from copy import deepcopy

import pytest

from sidestep._util.threads import WorkerThreads


def test_every_thread_does_its_part_and_all_are_waited_for() -> None:
    workers = WorkerThreads(3)
    for _ in range(20):
        done = dict.fromkeys(range(3), 0)

        def part(number: int, done: dict[int, int] = done) -> None:
            done[number] += 1

        workers.run(part)
        assert done == {0: 1, 1: 1, 2: 1}
    seen: list[int] = []
    workers.run_side_by_side(seen.append, range(50))
    assert sorted(seen) == list(range(50))


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_any_thread_is_raised_when_all_are_done(failing: int) -> None:
    workers, done = WorkerThreads(2), []

    def part(number: int) -> None:
        done.append(number)
        if number == failing:
            raise ValueError(f"thread {number}")

    with pytest.raises(ValueError, match=f"thread {failing}"):
        workers.run(part)
    assert sorted(done) == [0, 1]
    done.clear()
    failing = -1
    workers.run(part)
    assert sorted(done) == [0, 1]


def test_one_thread_is_the_caller_and_copies_start_their_own() -> None:
    before, names = threading.active_count(), set()
    WorkerThreads(1).run(lambda number: names.add(threading.current_thread().name))
    assert (names, threading.active_count()) == ({threading.current_thread().name}, before)
    workers = WorkerThreads(2)
    assert deepcopy(workers).count == 2
