"""A plan becomes a run folder. Killed at any moment, it goes on where it was. ``serve_plan`` does the same with a
policy that connects over a socket (``sidestep serve``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput, SidestepError
from sidestep.metrics.score import EpisodeScores
from sidestep.runs.episode import EpisodeTask, MakePolicy, RunEpisode, TaskResult, as_failed, run_task
from sidestep.runs.executors import Executor, Serial, WorkerProcesses, refuse_in_import, run_with_retry
from sidestep.runs.folder import (
    RESULTS_FILE,
    RunFile,
    Skipped,
    episode_path,
    foreign_files,
    only_run,
    open_folder,
    pack,
    save_results,
)
from sidestep.runs.ledger import Ledger
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.provenance import sensor_files
from sidestep.runs.ray_executor import Ray
from sidestep.runs.remote.guests import GuestProcesses
from sidestep.runs.remote.host import Host
from sidestep.runs.storage import IN_FOLDER, Storage
from sidestep.types.outcome import Outcome

Progress = Callable[[int, int, EpisodeTask, TaskResult], None]
"""Called after every episode with how many are done, how many there are, the task and its result."""


class PolicyStopped(SidestepError):
    """A policy failed in a run that stops at the first error (``debug``); the text has its traceback."""


@dataclass(frozen=True)
class RunResult:
    """A run that has ended, as its folder holds it."""

    folder: Path
    plan: Plan
    """The plan of the whole folder; a command may name a part of it."""
    episodes: tuple[EpisodeScores, ...]
    """Episodes of the scenarios and seeds that the command names, of every policy of the folder, in the plan's
    order."""
    skipped: tuple[Skipped, ...]
    dialect: str = "paper"
    notes: tuple[str, ...] = ()
    """Problems of the folder: records that were not used, and files that do not belong there."""


def run_benchmark(
    plan: Plan,
    out: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    ray: str | None = None,
    storage: Storage = IN_FOLDER,
    run_episode: RunEpisode | None = None,
    make_policy: MakePolicy | None = None,
    replaced: Iterable[str] = (),
    debug: bool = False,
) -> RunResult:
    """Run the episodes of ``plan`` into the folder ``out``. Episodes that are already there and whole are not run
    again, except those of policies that are ``replaced`` and have changed. What the folder holds beside them is kept.
    Records go to ``storage``. ``workers`` processes run them, one by default; with ``ray``, the address of a cluster or
    ``local``, at most so many actors.

    A KeyboardInterrupt passes through after the results so far are written. ``run_episode`` stands in for
    ``sidestep.simulation.run_episode``; with worker processes it must be importable. With ``make_policy``
    the policies are this process's own, and everything runs in it. With ``debug`` every policy runs in this process and
    its main thread, without a time limit, and the first error of a policy raises ``PolicyStopped``.
    """
    refuse_in_import()
    with only_run(out), GuestProcesses() as guests:
        storage.fetch_index(out)
        run = open_folder(out, plan, replaced)
        storage.publish_index(out)
        named = {task.path for task in tasks_of(plan, out)}
        ledger = Ledger.load(out, mend=True)
        tasks = [
            replace(
                task,
                only_score=task.path not in named,
                ledger_says=ledger.digests.get(ledger.name(task.path), "") if run.has_ledger else None,
            )
            for task in tasks_of(run.plan, out, storage)
            if task.path in named or storage.exists(task.path)
        ]
        if debug:
            tasks = [replace(task, act_limit_s=None) for task in tasks]
        in_this_process = debug or make_policy is not None
        executor = Serial() if in_this_process else choose_executor(plan, workers, ray)
        work = partial(run_task, run_episode=run_episode, make_policy=make_policy, guests=guests, in_process=debug)
        results: dict[Path, TaskResult] = {}
        foreign = foreign_files(out, {task.path for task in tasks_of(run.plan, out)})
        finished_tasks = run_with_retry(executor, work, tasks, as_failed)
        try:
            for task, result in finished_tasks:
                if result.stopped:
                    raise BadInput(result.stopped)
                if debug:
                    _stop_at_error(task, result)
                if result.scores is not None:
                    ledger.add(task.path, result.scores.digest)
                    result = replace(result, scores=pack(result.scores))
                results[task.path] = result
                if progress is not None:
                    progress(len(results), len(tasks), task, result)
        except BaseException:
            finished_tasks.close()  # workers stop before another run may come
            with suppress(BadInput):  # if nothing can be written, the first error says so
                _close(run, plan, out, storage, tasks, results, finished=False)
            raise
        closed = _close(run, plan, out, storage, tasks, results, finished=True)
        replaced_records = (f"{each.replaced} (run again)" for each in results.values() if each.replaced)
        return replace(closed, notes=(*replaced_records, *foreign))


def _stop_at_error(task: EpisodeTask, result: TaskResult) -> None:
    scores = result.scores
    if scores is not None and scores.outcome == Outcome.POLICY_ERROR:
        where = f"\n{scores.traceback}" if scores.traceback else ""
        raise PolicyStopped(f"{task.label}: {scores.error}{where}")


def serve_plan(
    host: Host, plan_for: Callable[[PolicyPlan], Plan], out: Path, progress: Progress | None = None
) -> RunResult:
    """Run the plan with the policy that ``host`` admits, into the folder ``out``. Episodes whose record is already
    there are not run again. A KeyboardInterrupt passes through and leaves a run that can be resumed."""
    reason = "interrupted"
    try:
        said = host.admit()
        files = sensor_files(said.needs)
        plan = plan_for(PolicyPlan(name=said.name, settings=said.settings, version=said.version, files=files))
        host.announce(plan.suite, plan.mode, [task for task in tasks_of(plan, out) if not task.path.exists()])

        def make_policy(task: EpisodeTask) -> Any:
            return host.policy_for(task) if task.policy.name == said.name else None

        result = run_benchmark(plan, out, progress=progress, make_policy=make_policy)
        reason = "done"
        return result
    finally:
        host.close(reason)


def tasks_of(plan: Plan, out: Path, storage: Storage = IN_FOLDER) -> list[EpisodeTask]:
    """One task per episode: policy by policy, each through all scenarios and seeds."""
    return [
        EpisodeTask(
            scenario=scenario,
            policy=policy,
            seed=seed,
            path=episode_path(out, policy.name, scenario.name, seed),
            mode=plan.mode,
            latency_s=plan.latency_s,
            act_limit_s=plan.act_limit_s,
            isolation=plan.isolation,
            base=plan.base,
            storage=storage,
        )
        for policy in plan.policies
        for scenario in plan.scenarios
        for seed in plan.seeds
    ]


def choose_executor(plan: Plan, workers: int | None = None, ray: str | None = None) -> Executor:
    """Ray if an address is given; this process for one worker and our own policies only; else worker
    processes.

    Somebody else's policy has a process of its own besides (``sidestep.runs.remote``).
    """
    if ray is not None:
        return Ray(ray, workers)
    workers = workers or 1
    if workers <= 1 and all(policy.is_bundled for policy in plan.policies):
        return Serial()
    return WorkerProcesses(workers)


def _close(
    run: RunFile,
    plan: Plan,
    out: Path,
    storage: Storage,
    tasks: list[EpisodeTask],
    results: dict[Path, TaskResult],
    finished: bool,
) -> RunResult:
    """Write the results and what was skipped."""
    done = [(task, results[task.path]) for task in tasks if task.path in results]
    episodes = [(task, result.scores) for task, result in done if result.scores is not None]
    skipped = tuple(
        Skipped(task.scenario.name, task.policy.name, task.seed, result.skipped)
        for task, result in done
        if result.skipped
    )
    again = {(task.scenario.name, task.policy.name, task.seed) for task, _ in done}
    before = [entry for entry in run.skipped if (entry.scenario, entry.policy, entry.seed) not in again]
    save_results([scores for _, scores in episodes], out / RESULTS_FILE, "paper")
    complete = finished and len(episodes) + len(skipped) + len(before) == run.plan.size
    has_ledger = run.has_ledger or finished  # all records of an older run are in it now
    replace(run, complete=complete, skipped=(*before, *skipped), has_ledger=has_ledger).save(out)
    storage.publish_index(out)
    named = {(scenario.name, seed) for scenario in plan.scenarios for seed in plan.seeds}
    shown = tuple(scores for task, scores in episodes if (task.scenario.name, task.seed) in named)
    return RunResult(out, run.plan, shown, skipped)
