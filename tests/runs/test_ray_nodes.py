"""A Ray cluster of several nodes, as processes of this computer, one of which is killed during the run."""

from __future__ import annotations

import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from sidestep.runs.episode import EpisodeTask, TaskResult, run_task
from sidestep.runs.executors import Serial
from sidestep.runs.ray_executor import LOCAL, Ray, _import_ray
from sidestep.runs.runner import tasks_of
from tests.runs.fake import fake_episode, fake_plan

WORK = partial(run_task, run_episode=fake_episode)


def _slowly(task: EpisodeTask) -> TaskResult:
    time.sleep(0.2)
    return WORK(task)


@pytest.mark.full
def test_a_node_that_is_killed_costs_no_episode_and_blames_no_policy(tmp_path: Path) -> None:
    if find_spec("ray") is None:
        pytest.skip("the extra ray is not installed")
    ray = _import_ray(LOCAL)
    from ray.cluster_utils import Cluster

    plan = fake_plan(tmp_path, "Steady", seeds=20)
    serial = {task.label: result.scores.digest for task, result in Serial().run(WORK, tasks_of(plan, tmp_path / "a"))}  # type: ignore[union-attr]
    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        node = cluster.add_node(num_cpus=1)
        executor = Ray(cluster.address, 2)
        finished = []
        for task, result in executor.run(_slowly, tasks_of(plan, tmp_path / "b")):
            finished.append((task.label, result))
            if len(finished) == 15:
                assert sum(entry["Alive"] for entry in ray.nodes()) == 2
                cluster.remove_node(node, allow_graceful=False)
        assert sum(entry["Alive"] for entry in ray.nodes()) == 1
    finally:
        executor.close()
        cluster.shutdown()
    assert len(finished) == len(serial), "each once"
    assert {label: result.scores.digest for label, result in finished} == serial  # type: ignore[union-attr]
