"""Threads that wait for jobs."""

from __future__ import annotations

import os
import threading

import pytest

from sidestep.gym.workers import Workers


def test_results_in_order_on_different_threads() -> None:
    workers = Workers(3)
    barrier = threading.Barrier(3, timeout=10)  # passes only if the parts run at the same time

    def job(part: int) -> tuple[int, int]:
        barrier.wait()
        return part, threading.get_ident()

    for _ in range(20):
        results = workers.run(job)
        assert [part for part, _ in results] == [0, 1, 2]
        assert len({thread for _, thread in results}) == 3
        assert results[0][1] == threading.get_ident()
    workers.close()


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_in_any_part_is_raised_and_the_next_job_is_sound(wrong: int) -> None:
    workers = Workers(2)

    def job(part: int) -> int:
        if part == wrong:
            raise ValueError(f"part {part}")
        return part

    for _ in range(3):
        with pytest.raises(ValueError, match=f"part {wrong}"):
            workers.run(job)
        assert workers.run(lambda part: part) == [0, 1]
    workers.close()


def test_answers_of_an_interrupted_job_are_skipped() -> None:
    workers = Workers(2)
    workers.run(lambda part: part)
    workers._lines[0][0].put((workers._ticket - 1, lambda part: "old", 1))  # as a job leaves it that nobody waited for
    assert workers.run(lambda part: part) == [0, 1]
    workers.close()


def test_one_thread_is_the_callers() -> None:
    assert Workers(1).run(lambda part: (part, threading.get_ident())) == [(0, threading.get_ident())]


def test_a_job_after_closing_starts_anew() -> None:
    workers = Workers(2)
    for _ in range(2):
        assert workers.run(lambda part: part) == [0, 1]
        workers.close()
    workers.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_its_own_threads() -> None:
    workers = Workers(2)
    workers.run(lambda part: part)
    child = os.fork()
    if child == 0:
        os._exit(0 if workers.run(lambda part: part) == [0, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    workers.close()
