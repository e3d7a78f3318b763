"""A Ray cluster of several nodes, as processes of this computer, one of which is killed during the run."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from sidestep.runs.episode import EpisodeTask, TaskResult, run_task
from sidestep.runs.executors import Serial
from sidestep.runs.ray_executor import Ray, _import_ray
from sidestep.runs.runner import tasks_of
from tests.needs import reason_missing
from tests.runs.fake import fake_episode, fake_plan

WORK = partial(run_task, run_episode=fake_episode)


def _slowly(task: EpisodeTask) -> TaskResult:
    """Says which process of which node it is, and takes its time."""
    import ray

    node = task.path.parents[3] / "nodes" / ray.get_runtime_context().get_node_id()
    node.mkdir(parents=True, exist_ok=True)
    (node / str(os.getpid())).touch()
    time.sleep(0.2)
    return WORK(task)


@pytest.mark.full
def test_a_node_that_is_killed_costs_no_episode_and_blames_no_policy(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason=reason_missing("ray"))
    _import_ray()
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
                workers = [int(path.name) for path in (tmp_path / "nodes" / node.node_id).iterdir()]
                assert workers, "it had its share"
                cluster.remove_node(node, allow_graceful=False)
                for worker in workers:
                    with suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
    finally:
        executor.close()
        cluster.shutdown()
    assert len(finished) == len(serial), "each once"
    assert {label: result.scores.digest for label, result in finished} == serial  # type: ignore[union-attr]
