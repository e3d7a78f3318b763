"""Ray: the same records as in one process, bounded submission, lost workers and lost nodes. On a real Ray."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidestep.errors import BadInput, MissingExtra
from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask, TaskResult, as_failed, run_task
from sidestep.runs.executors import Serial, WorkerDied, run_with_retry
from sidestep.runs.plan import Plan, make_plan
from sidestep.runs.ray_executor import AHEAD, LARGEST_BATCH, LOCAL, Ray, resources_of
from sidestep.runs.runner import run_benchmark, tasks_of
from sidestep.suites.files import load_suite
from tests.needs import reason_missing
from tests.runs.fake import fake_episode, fake_plan

WORK = partial(run_task, run_episode=fake_episode)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of one node with two CPUs, for all tests of this file."""
    pytest.importorskip("ray", reason=reason_missing("ray"))
    executor = Ray(LOCAL, 2)
    yield executor.connect()
    executor.close()


def digests(plan: Plan, out: Path, executor: Any) -> dict[tuple[str, str, int], str]:
    finished = [result.scores for _, result in run_with_retry(executor, WORK, tasks_of(plan, out), as_failed)]
    return {(each.policy, each.scenario, each.seed): each.digest for each in finished if each is not None}


def told(result: TaskResult | WorkerDied) -> str:
    """What a stand-in for an episode has to say."""
    assert isinstance(result, TaskResult)
    return result.skipped


def test_the_same_records_as_in_one_process(ray: Any, tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", "Raises", seeds=20)
    serial = digests(plan, tmp_path / "a", Serial())
    assert len(serial) == 120
    assert digests(plan, tmp_path / "b", Ray(LOCAL, 2)) == serial
    assert ray.is_initialized(), "a connection that was there before stays"


def test_real_episodes_are_the_same(ray: Any, tmp_path: Path) -> None:
    plan = make_plan(load_suite("core"), ["stop", "orca"], limit=2)
    one = run_benchmark(plan, tmp_path / "one")
    many = run_benchmark(plan, tmp_path / "many", 2, ray=LOCAL)
    assert [each.digest for each in many.episodes] == [each.digest for each in one.episodes]


def test_it_listens_on_this_computer_alone(ray: Any) -> None:
    assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]


def test_tasks_are_taken_as_there_is_room(ray: Any, tmp_path: Path) -> None:
    """Of a long run, only so many tasks are taken as actors can hold."""
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    task = tasks_of(plan, tmp_path)[0]
    taken = 0

    def endless() -> Iterator[EpisodeTask]:
        nonlocal taken
        while True:
            taken += 1
            yield task

    results = Ray(LOCAL, 2).run(_sleeps, endless())
    for done in range(1, 40):
        next(results)
        assert taken <= done + 2 * AHEAD * LARGEST_BATCH
    results.close()
    before = taken
    time.sleep(0.2)
    assert taken == before


def _sleeps(task: EpisodeTask) -> TaskResult:
    time.sleep(0.01)
    return TaskResult(simulated=True)


@pytest.mark.parametrize("policy", [pytest.param("Exits", marks=pytest.mark.full), "Killed"])
def test_a_policy_that_ends_its_process_fails_and_the_run_goes_on(ray: Any, tmp_path: Path, policy: str) -> None:
    plan = fake_plan(tmp_path, policy, seeds=1)
    result = run_benchmark(plan, tmp_path / "run", 2, run_episode=fake_episode, ray=LOCAL)
    outcomes = {(each.scenario, each.seed): each.outcome for each in result.episodes}
    assert outcomes == {("s0", 0): "success", ("s1", 0): "policy_error", ("s2", 0): "success"}
    record = load_record(next((tmp_path / "run").rglob("s1__seed0.parquet")))
    assert "the policy ended its process" in record.error


def test_a_process_that_died_by_bad_luck_gets_a_second_chance(ray: Any, tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Unlucky", seeds=1, settings={"folder": str(tmp_path)})
    result = run_benchmark(plan, tmp_path / "run", 2, run_episode=fake_episode, ray=LOCAL)
    assert [each.outcome for each in result.episodes] == ["success"] * 3
    assert (tmp_path / "died").exists()


def test_errors_of_our_own_are_not_swallowed(ray: Any, tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    with pytest.raises(RuntimeError, match="error inside Sidestep"):
        list(Ray(LOCAL).run(_broken, tasks_of(plan, tmp_path)))


def _broken(task: EpisodeTask) -> TaskResult:
    raise KeyError("a bug")


def test_an_actor_with_a_thread_left_over_is_replaced(ray: Any, tmp_path: Path) -> None:
    tasks = tasks_of(fake_plan(tmp_path, "Steady", scenarios=1, seeds=2), tmp_path)
    results = {task.seed: told(result) for task, result in Ray(LOCAL, 1).run(_leaves_a_thread, tasks)}
    assert set(results) == {0, 1}
    assert len(set(results.values())) == 2, "each in a process of its own"


def _leaves_a_thread(task: EpisodeTask) -> TaskResult:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return TaskResult(skipped=str(os.getpid()))


def test_what_a_policy_declares_is_what_its_actor_gets(ray: Any, tmp_path: Path) -> None:
    assert resources_of({}) == (1.0, 0.0)
    assert resources_of({"gpu": 0.5}) == (1.0, 0.5)
    plan = fake_plan(tmp_path, "Steady", "Raises", scenarios=1, seeds=1)
    large, small = (
        policy.model_copy(update={"resources": {"cpu": cpu}})
        for policy, cpu in zip(plan.policies, (2, 0.5), strict=True)
    )
    tasks = tasks_of(plan.model_copy(update={"policies": (large, small)}), tmp_path)
    found = {(task.policy.name.rpartition(":")[2], told(result)) for task, result in Ray(LOCAL).run(_resources, tasks)}
    assert found == {("Steady", "2.0"), ("Raises", "0.5")}


def _resources(task: EpisodeTask) -> TaskResult:
    import ray

    return TaskResult(skipped=str(ray.get_runtime_context().get_assigned_resources()["CPU"]))


def test_what_this_computer_has_not_got_is_refused(ray: Any, tmp_path: Path) -> None:
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1)
    policy = plan.policies[0].model_copy(update={"resources": {"gpu": 3}})
    with pytest.raises(BadInput, match=r"3 GPU .* 0 GPU"):
        list(Ray(LOCAL).run(WORK, tasks_of(plan.model_copy(update={"policies": (policy,)}), tmp_path)))


def test_without_ray_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[ray\]"):
        list(Ray("auto").run(WORK, tasks_of(fake_plan(tmp_path, "Steady"), tmp_path)))
