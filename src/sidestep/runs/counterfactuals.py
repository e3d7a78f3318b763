"""The counterfactuals of a run, which are its episodes without the robot, one for all policies, and the metrics that
compare with them. ``records.counterfactuals`` names their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sidestep._util.writing import CannotWrite
from sidestep.errors import BadInput, RecordError
from sidestep.metrics import METRICS
from sidestep.metrics.people_cost import fits_scenario
from sidestep.metrics.score import EpisodeScores, score
from sidestep.records import load_record, save_record
from sidestep.records.counterfactuals import counterfactual_path
from sidestep.runs.episode import EpisodeTask, TaskResult, existing_record
from sidestep.runs.executors import Serial, WorkerDied, WorkerProcesses
from sidestep.runs.folder import RESULTS_FILE, load_results, load_run, only_run, pack, save_results
from sidestep.runs.runner import tasks_of
from sidestep.runs.score import score_run

COST_METRICS = tuple(name for name, where in METRICS.items() if where.startswith("sidestep.metrics.people_cost:"))
"""Metrics that need counterfactuals."""

CounterfactualProgress = Callable[[int, int, str], None]
"""Called after every counterfactual with how many are done, how many there are, and which it is."""


@dataclass(frozen=True)
class CounterfactualResult:
    """What ``make_counterfactuals`` did."""

    made: int
    """Counterfactuals simulated."""
    kept: int
    """Counterfactuals that were there and long enough."""
    skipped: tuple[str, ...]
    """Why counterfactuals could not be made."""

    def as_json(self) -> dict[str, Any]:
        """The document of ``sidestep counterfactual --json``, without the run."""
        return {"made": self.made, "kept": self.kept, "skipped": list(self.skipped)}


def make_counterfactuals(
    folder: Path, workers: int = 1, progress: CounterfactualProgress | None = None
) -> CounterfactualResult:
    """Simulate the counterfactual of every scenario and seed of the run that has a record, as long as the longest of
    its records, and write the metrics that compare with it into the tables of results. Counterfactuals that are there
    are kept."""
    plan = load_run(folder).plan
    if plan.suite == "log":
        raise BadInput(
            f"{folder}: its records are made of logs (`sidestep import`), which have no counterfactual to simulate"
        )
    with only_run(folder):
        tasks, steps = _wanted(tasks_of(plan, folder))
        if not tasks:
            raise BadInput(f"{folder}: no episode records in it")
        missing = [task for task in tasks if not _is_whole(task, steps[task.path])]
        executor = WorkerProcesses(workers) if workers > 1 else Serial()
        skipped = []
        for done, (task, result) in enumerate(
            executor.run(partial(run_counterfactual_task, steps=steps), missing), start=1
        ):
            if isinstance(result, WorkerDied):
                skipped.append(f"{_label(task)}: its process ended: {result.reason}")
            elif result.stopped:
                raise BadInput(result.stopped)
            elif result.skipped:
                skipped.append(f"{_label(task)}: {result.skipped}")
            if progress is not None:
                progress(done, len(missing), _label(task))
        score_costs(folder)
    return CounterfactualResult(len(missing) - len(skipped), len(tasks) - len(missing), tuple(skipped))


def run_counterfactual_task(task: EpisodeTask, steps: Mapping[Path, int]) -> TaskResult:
    """Simulate one counterfactual and save it. The task's policy is not asked."""
    from sidestep.simulation.counterfactual import run_counterfactual

    try:
        save_record(run_counterfactual(task.scenario, task.seed, steps[task.path], task.base), task.path)
    except CannotWrite as error:
        return TaskResult(stopped=str(error))
    except BadInput as error:
        return TaskResult(skipped=str(error))
    return TaskResult(simulated=True)


def score_costs(folder: Path) -> None:
    """Put the metrics that need counterfactuals into the run's table of every dialect; all other values stay as they
    are."""
    if not (folder / RESULTS_FILE).is_file():
        score_run(folder)
        return
    plan = load_run(folder).plan
    tasks = {(task.policy.name, task.scenario.name, task.seed): task for task in tasks_of(plan, folder)}
    for path in sorted(folder.glob("results*.parquet")):
        episodes, dialect = load_results(path)
        scored = [_with_costs(each, tasks.get((each.policy, each.scenario, each.seed)), dialect) for each in episodes]
        save_results(scored, path, dialect)


def _with_costs(scores: EpisodeScores, task: EpisodeTask | None, dialect: str) -> EpisodeScores:
    record = existing_record(task) if task is not None else None
    if record is None:
        return scores
    return pack(replace(scores, metrics={**scores.metrics, **score(record, COST_METRICS, dialect)}))


def _wanted(tasks: list[EpisodeTask]) -> tuple[list[EpisodeTask], dict[Path, int]]:
    """One task per counterfactual, and how many steps each needs."""
    wanted: dict[Path, EpisodeTask] = {}
    steps: dict[Path, int] = {}
    for task in tasks:
        length = _steps_in(task.path)
        if length is not None:
            path = counterfactual_path(task.path)
            wanted.setdefault(path, replace(task, path=path))
            steps[path] = max(length, steps.get(path, 0))
    return list(wanted.values()), steps


def _steps_in(path: Path) -> int | None:
    """Number of steps of a record, from the end of its file; None if there is no such file."""
    try:
        return int(pq.read_metadata(path).num_rows) - 1
    except (OSError, pa.ArrowException):
        return None


def _is_whole(task: EpisodeTask, steps: int) -> bool:
    """Whether the task's counterfactual is there, long enough and of this very scenario."""
    if (_steps_in(task.path) or 0) < steps or not task.path.exists():
        return False
    try:
        counterfactual = load_record(task.path)
    except RecordError:
        return False
    return counterfactual.seed == task.seed and fits_scenario(counterfactual.scenario, task.scenario)


def _label(task: EpisodeTask) -> str:
    return f"{task.scenario.name} · seed {task.seed}"
