"""Worker processes: the same answers as in one process, and policies that take theirs down."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask, TaskResult, as_failed, run_task
from sidestep.runs.executors import Executor, Serial, WorkerDied, WorkerProcesses, run_with_retry
from sidestep.runs.plan import Plan
from sidestep.runs.ray_executor import Ray
from sidestep.runs.runner import choose_executor, run_benchmark, tasks_of
from tests.runs.fake import fake_episode, fake_plan

WORK = partial(run_task, run_episode=fake_episode)


def digests(plan: Plan, out: Path, executor: Any) -> dict[tuple[str, str, int], str]:
    answers = run_with_retry(executor, WORK, tasks_of(plan, out), as_failed)
    found = [answer.scores for _, answer in answers]
    return {(each.policy, each.scenario, each.seed): each.digest for each in found if each is not None}


def test_workers_and_order_do_not_change_the_records(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", "Raises")
    serial = digests(plan, tmp_path / "a", Serial())
    assert len(serial) == 12
    assert len(set(serial.values())) == 12
    assert digests(plan, tmp_path / "b", WorkerProcesses(2)) == serial


@pytest.mark.parametrize(
    ("policy", "reason"), [pytest.param("Exits", "exit code 7", marks=pytest.mark.full), ("Killed", "SIGKILL")]
)
def test_a_policy_that_ends_its_process_fails_and_the_run_goes_on(tmp_path: Path, policy: str, reason: str) -> None:
    plan = fake_plan(tmp_path, policy, seeds=1)
    result = run_benchmark(plan, tmp_path / "run", 2, run_episode=fake_episode)
    assert {e.scenario: e.outcome for e in result.episodes} == {
        "s0": "success",
        "s1": "policy_error",
        "s2": "success",
    }
    record = load_record(next((tmp_path / "run").rglob("s1__seed0.parquet")))
    assert reason in record.error
    assert result.skipped == ()


def test_a_process_that_died_by_bad_luck_gets_a_second_chance(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Unlucky", seeds=1, settings={"folder": str(tmp_path)})
    result = run_benchmark(plan, tmp_path / "run", 2, run_episode=fake_episode)
    assert [e.outcome for e in result.episodes] == ["success"] * 3
    assert (tmp_path / "died").exists()


class _Fragile(Executor):
    """An executor whose processes die as often as told."""

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths

    def run(self, work: Any, tasks: Any) -> Any:
        for task in tasks:
            self.deaths -= 1
            yield task, WorkerDied("exit code 1") if self.deaths >= 0 else work(task)


@pytest.mark.parametrize(("deaths", "told"), [(1, ""), (2, "exit code 1"), (3, "skipped")])
def test_who_is_to_blame(tmp_path: Path, deaths: int, told: str) -> None:
    """One death: bad luck. Two: the policy. Three, without the policy: the scenario."""
    seen: list[EpisodeTask] = []

    def work(task: EpisodeTask) -> TaskResult:
        seen.append(task)
        return TaskResult(simulated=True)

    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    [(_, answer)] = run_with_retry(_Fragile(deaths), work, tasks_of(plan, tmp_path), as_failed)
    if told == "skipped":
        assert "ended the process" in answer.skipped
    else:
        assert told in seen[-1].failure
        assert bool(seen[-1].failure) == bool(told)


def test_errors_of_our_own_are_not_swallowed(tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    with pytest.raises(RuntimeError, match="error inside Sidestep"):
        list(WorkerProcesses(1).run(_broken, tasks_of(plan, tmp_path)))


def _broken(task: EpisodeTask) -> TaskResult:
    raise KeyError("a bug")


def test_somebody_elses_policy_gets_its_own_process(tmp_path: Path) -> None:
    mine = fake_plan(tmp_path, "Steady")
    ours = mine.model_copy(update={"policies": (mine.policies[0].model_copy(update={"name": "stop"}),)})
    assert choose_executor(ours, 1) == Serial()
    assert choose_executor(ours, 3) == WorkerProcesses(3)
    assert choose_executor(mine, 1) == WorkerProcesses(1)
    assert choose_executor(mine, 2, "auto") == Ray("auto", 2)
    assert choose_executor(mine, ray="auto") == Ray("auto")


def test_tasks_are_taken_one_by_one(tmp_path: Path) -> None:
    tasks = tasks_of(fake_plan(tmp_path, "Steady"), tmp_path)
    taken = iter(tasks)
    results = WorkerProcesses(1).run(WORK, taken)
    assert next(results)[0] == tasks[0]
    assert len(list(taken)) == len(tasks) - 3, "one done, one running, one to follow"
    results.close()  # type: ignore[attr-defined]


UNGUARDED = """
import sidestep
print(sidestep.run("core", "stop", limit=2, workers=2, out="run"))
"""
GUARDED = """
import sidestep
if __name__ == "__main__":
    print(sidestep.run("core", "stop", limit=2, workers=2, out="run"))
"""
OTHER_PROCESS = """
import multiprocessing
from sidestep.runs.executors import refuse_in_import
refuse_in_import()
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=refuse_in_import)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
"""


def run_script(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text)
    command = [sys.executable, "script.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_a_script_that_starts_a_run_when_imported_is_told_the_remedy(tmp_path: Path) -> None:
    done = run_script(UNGUARDED, tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1, "workers leave the message to the run"
    assert "BadInput: worker processes import the script" in done.stderr
    assert 'below `if __name__ == "__main__":`' in done.stderr
    again = run_script(GUARDED, tmp_path)
    assert again.returncode == 0, again.stderr
    assert "1 policy × 2 scenarios" in again.stdout


def test_a_run_in_the_import_of_another_process_is_refused(tmp_path: Path) -> None:
    done = run_script(OTHER_PROCESS, tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert "BadInput: worker processes import the script" in done.stderr
