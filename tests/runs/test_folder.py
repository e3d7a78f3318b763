"""The run folder under strain: two runs at once, a full disk, damaged records, many files, long runs."""

from __future__ import annotations

import errno
import gc
import json
import multiprocessing
import os
import time
import tracemalloc
from multiprocessing.synchronize import Event as Signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestep._util.writing
from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import EpisodeScores
from sidestep.records import load_record
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.executors import WorkerProcesses
from sidestep.runs.folder import (
    LOCK_FILE,
    OWNER_FILE,
    PackedMetrics,
    episode_path,
    load_results,
    load_run,
    only_run,
    pack,
    save_results,
)
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import run_benchmark, tasks_of
from sidestep.runs.score import score_run
from sidestep.types import EpisodeRecord, MetricResult
from tests.runs.fake import fake_episode, fake_plan
from tests.runs.test_plan import FakeSuite


def run(plan: Any, out: Path, workers: int = 1, **options: Any) -> Any:
    return run_benchmark(plan, out, workers, run_episode=options.pop("run_episode", fake_episode), **options)


def hold(folder: Path, begun: Signal, done: Signal) -> None:
    with only_run(folder):
        begun.set()
        done.wait(30)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """A second one is told whose the first is and touches nothing; a killed one's claim is taken over."""
    context = multiprocessing.get_context("spawn")
    begun, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "run", begun, done))
    process.start()
    assert begun.wait(60)
    writing = tmp_path / "run/episodes/.a.parquet.1.tmp"
    writing.write_bytes(b"half")
    refused = rf"another run .*process {process.pid} .* \d+ s ago.*--out"
    with pytest.raises(BadInput, match=refused):
        run(fake_plan(tmp_path, "Steady"), tmp_path / "run")
    assert writing.exists()
    assert not (tmp_path / "run/run.json").exists()
    process.kill()
    process.join()
    assert (tmp_path / "run" / OWNER_FILE).exists()
    run(fake_plan(tmp_path, "Steady"), tmp_path / "run")
    assert not writing.exists()
    assert not (tmp_path / "run" / OWNER_FILE).exists()
    assert load_run(tmp_path / "run").complete


def test_the_owner_of_a_claim_may_be_unknown(tmp_path: Path) -> None:
    """Between the claim and the note of who made it, or when the note is damaged."""
    with only_run(tmp_path / "run"):
        for text in (None, "{", '{"pid": "x", "started": 3}', "[]"):
            path = tmp_path / "run" / OWNER_FILE
            path.unlink() if text is None else path.write_text(text)
            with pytest.raises(BadInput, match="another run is under way"), only_run(tmp_path / "run"):
                pass


def test_an_old_claim_is_told_in_hours(tmp_path: Path) -> None:
    with only_run(tmp_path / "run"):
        owner = json.loads((tmp_path / "run" / OWNER_FILE).read_text())
        (tmp_path / "run" / OWNER_FILE).write_text(json.dumps(owner | {"started": "2020-01-01T00:00:00+00:00"}))
        with pytest.raises(BadInput, match=r"started \d+ h ago"), only_run(tmp_path / "run"):
            pass


def full_disk(*arguments: Any, **options: Any) -> EpisodeRecord:
    """An episode of which nothing can be written: the third one of the run."""
    record = fake_episode(*arguments, **options)
    if record.scenario.name == "s1":
        write = Path.write_bytes

        def no_space(path: Path, data: bytes) -> int:
            if path.name.startswith(".s1"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(path, data)

        Path.write_bytes = no_space  # type: ignore[method-assign]
    return record


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_run_with_what_to_do(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a worker; what was done is kept, and the same command goes on when there is space."""
    monkeypatch.setattr(Path, "write_bytes", Path.write_bytes)  # restored after the test
    plan = fake_plan(tmp_path, "Steady")
    with pytest.raises(BadInput, match=r"s1__seed\d\.parquet: .*No space left on device"):
        run(plan, tmp_path / "run", workers, run_episode=full_disk)
    monkeypatch.undo()
    kept = {path.name for path in (tmp_path / "run").rglob("s*.parquet")}
    assert kept
    assert not any(name.startswith("s1") for name in kept)
    assert not load_run(tmp_path / "run").complete
    assert not list((tmp_path / "run").rglob("*.tmp"))
    assert len(run(plan, tmp_path / "run").episodes) == 6


@pytest.mark.usefixtures("in_process")
def test_results_that_cannot_be_written_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = sidestep._util.writing.atomic

    def not_the_results(path: Path) -> Any:
        if path.name == "results.parquet":
            raise OSError(errno.EROFS, "Read-only file system")
        return written(path)

    monkeypatch.setattr("sidestep._util.writing.atomic", not_the_results)
    with pytest.raises(BadInput, match=r"results\.parquet: .*Read-only file system"):
        run(fake_plan(tmp_path, "Steady"), tmp_path / "run")


@pytest.mark.usefixtures("in_process")
def test_a_damaged_record_is_replaced_on_resume(tmp_path: Path) -> None:
    """One flipped bit anywhere: the episode runs again, the others do not, and the run goes on."""
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=2, settings={"folder": str(tmp_path)})
    first = run(plan, tmp_path / "run")
    path = episode_path(tmp_path / "run", plan.policies[0].name, "s0", 1)
    whole, asked = path.read_bytes(), 2
    draw = np.random.default_rng(1)
    for place in draw.integers(0, len(whole), 12).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << int(draw.integers(8)))]) + whole[place + 1 :])
        second = run(plan, tmp_path / "run")
        asked += 1
        assert [e.digest for e in first.episodes] == [e.digest for e in second.episodes]
        assert len((tmp_path / "asked.txt").read_text().splitlines()) == asked
        assert load_record(path).digest == first.episodes[1].digest


@pytest.mark.usefixtures("in_process")
def test_a_record_of_other_code_is_not_taken(tmp_path: Path) -> None:
    """As when a kill comes between the deletion of records and the new plan, or a file was copied there."""
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=1, settings={"folder": str(tmp_path)})
    run(plan, tmp_path / "run")
    run_file = tmp_path / "run/run.json"
    document = json.loads(run_file.read_text())
    document["plan"]["policies"][0]["version"] = "other"
    run_file.write_text(json.dumps(document))
    policy = plan.policies[0].model_copy(update={"version": "other"})
    run(plan.model_copy(update={"policies": (policy,)}), tmp_path / "run")
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 2


@pytest.mark.usefixtures("in_process")
def test_the_folder_is_swept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for every episode: listing 5,000 files takes longer than a short episode."""
    plan = fake_plan(tmp_path, "Steady", scenarios=3, seeds=10)
    listed: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path=".": (listed.append(str(path)), scan(path))[1])
    listing = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path=".": (listed.append(str(path)), listing(path))[1])
    run(plan, tmp_path / "run")
    run(plan, tmp_path / "run")
    inside = [path for path in listed if str(tmp_path / "run") in path]
    assert 1 <= len(inside) <= 20, "of two runs of 30 episodes"


def scores(number: int, metrics: int = 90) -> EpisodeScores:
    results = {
        f"metric_{k}": MetricResult(number + k / 7, "m") if k % 5 else MetricResult.invalid("s", f"no reason {k}")
        for k in range(metrics)
    }
    return EpisodeScores(
        "suite", f"s{number}", "orca", number, "success", f"{number:064x}", results, "", number % 2 == 1
    )


def test_packed_scores_are_the_same_scores() -> None:
    whole = scores(3)
    packed = pack(whole)
    assert isinstance(packed.metrics, PackedMetrics)
    assert dict(packed.metrics) == whole.metrics
    assert packed.metrics == whole.metrics
    assert list(packed.metrics) == list(whole.metrics)
    assert "metric_1" in packed.metrics
    assert packed.metrics.get("nothing") is None
    assert (packed.privileged, packed.digest) == (True, whole.digest)
    assert pack(packed).metrics == whole.metrics


def test_results_come_back_in_order_with_all_columns(tmp_path: Path) -> None:
    episodes = [scores(number, 7) for number in range(450)]
    save_results((pack(each) for each in episodes), tmp_path / "r.parquet", "paper")
    loaded, dialect = load_results(tmp_path / "r.parquet")
    assert dialect == "paper"
    assert loaded == episodes


def test_memory_of_a_long_run_stays_small(tmp_path: Path) -> None:
    """2 kB an episode until the end, and no more than a chunk of rows at once when the table is written and read."""
    gc.collect()
    tracemalloc.start()
    kept = [pack(scores(number)) for number in range(800)]
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] / len(kept) < 2000
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    save_results(kept, tmp_path / "r.parquet", "paper")
    assert tracemalloc.get_traced_memory()[1] - before < 40e6, "all rows at once take 60 MB or more"
    tracemalloc.reset_peak()
    loaded = load_results(tmp_path / "r.parquet")[0]
    assert tracemalloc.get_traced_memory()[1] - before < 60e6
    tracemalloc.stop()
    assert loaded[7].metrics == kept[7].metrics


def test_a_serial_run_keeps_little_of_each_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured between the 40th and the last episode."""
    monkeypatch.setattr("sidestep.runs.episode.score_episode", lambda record, *_: scores(record.seed))
    plan = fake_plan(tmp_path, "Steady", scenarios=2, seeds=100)
    sizes: list[int] = []

    def watch(done: int, *_: Any) -> None:
        if done in (40, 200):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])

    monkeypatch.setattr("sidestep.runs.runner.choose_executor", _serial)
    tracemalloc.start()
    run(plan, tmp_path / "run", progress=watch)
    tracemalloc.stop()
    assert (sizes[1] - sizes[0]) / 160 < 3500


def _serial(*_: Any) -> Any:
    from sidestep.runs.executors import Serial

    return Serial()


def test_a_worker_passes_the_error_on(tmp_path: Path) -> None:
    """Through the pipe as an answer, not as a traceback."""
    [task, *_] = tasks_of(fake_plan(tmp_path, "Steady", scenarios=1, seeds=1), Path("/proc/none"))
    [(_, answer)] = WorkerProcesses(1).run(_save_nowhere, [task])
    assert "cannot be written" in getattr(answer, "stopped", "")


def _save_nowhere(task: EpisodeTask) -> Any:
    from sidestep.runs.episode import run_task

    return run_task(task, run_episode=fake_episode)


def test_a_file_system_without_locks_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_there(*_: Any, **__: Any) -> None:
        raise NotImplementedError("no locks here")

    monkeypatch.setattr("sidestep.runs.folder.FileLock.acquire", not_there)
    with only_run(tmp_path / "run"):
        assert (tmp_path / "run" / OWNER_FILE).exists()
    assert not (tmp_path / "run" / OWNER_FILE).exists()


@pytest.mark.full
def test_sweeping_five_thousand_records_takes_a_moment(tmp_path: Path) -> None:
    folder = tmp_path / "run/episodes/orca"
    folder.mkdir(parents=True)
    for number in range(5000):
        (folder / f"s__seed{number}.parquet").touch()
    begin = time.perf_counter()
    run(fake_plan(tmp_path, "Steady", scenarios=1, seeds=1), tmp_path / "run")
    assert time.perf_counter() - begin < 30.0
    assert (tmp_path / "run" / LOCK_FILE).exists()


PRIVILEGED = """
import os

class Sees:
    needs = frozenset({"goal", "future"})
    def reset(self, task): ...
    def act(self, observation): return 1.0

class Says(Sees):
    needs = frozenset({"goal"})
    privileged = True

class Plain(Sees):
    needs = frozenset({"goal", "map"})

class Dies(Says):
    def act(self, observation): os._exit(3)
"""


def test_privilege_is_the_policys_and_in_record_and_results(tmp_path: Path) -> None:
    """Who sees the future is privileged without saying so; so is an episode in which a privileged policy died."""
    file = tmp_path / "some.py"
    file.write_text(PRIVILEGED)
    suite = FakeSuite(names=("s0",))
    names = [f"{file}:{name}" for name in ("Sees", "Says", "Plain", "Dies")]
    plan = make_plan(suite, names)
    assert [policy.privileged for policy in plan.policies] == [True, True, False, True]
    result = run_benchmark(plan, tmp_path / "run", run_episode=fake_episode)
    expected = dict(zip(names, (True, True, False, True), strict=True))
    assert {episode.policy: episode.privileged for episode in result.episodes} == expected
    assert {each.policy: each.privileged for each in load_results(tmp_path / "run/results.parquet")[0]} == expected
    assert {each.policy: each.privileged for each in score_run(tmp_path / "run").episodes} == expected
    for name, privileged in expected.items():
        assert load_record(episode_path(tmp_path / "run", name, "s0", 0)).policy.privileged is privileged


def test_which_of_the_bundled_policies_are_privileged() -> None:
    plan = make_plan(FakeSuite(names=("s0",)), [name for name in registry.POLICIES if name != "visual"])
    assert {policy.name for policy in plan.policies if policy.privileged} == {"oracle", "expert"}
