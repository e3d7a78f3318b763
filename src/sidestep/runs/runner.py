"""A plan becomes a run folder. Killed at any moment, it goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sidestep.runs.episode import TaskResult, EpisodeScores, EpisodeTask, MakePolicy, RunEpisode, as_failed, run_task
from sidestep.runs.executors import Executor, Ray, Serial, run_with_retry
from sidestep.runs.folder import RESULTS_FILE, RunFile, Skipped, episode_path, only_run, open_folder
from sidestep.runs.plan import Plan
from sidestep.runs.executors import WorkerProcesses
from sidestep.runs.folder import pack, save_results
from sidestep.errors import BadInput
from sidestep.remote.guests import Guests

Progress = Callable[[int, int, EpisodeTask, TaskResult], None]
"""Called after every episode with how many are done, how many there are, the task and its answer."""


@dataclass(frozen=True)
class RunResult:
    """A run as it lies in its folder."""

    folder: Path
    plan: Plan
    episodes: tuple[EpisodeScores, ...]
    """In the order of the plan."""
    skipped: tuple[Skipped, ...]
    dialect: str = "paper"


def run_benchmark(
    plan: Plan,
    out: Path,
    workers: int = 1,
    progress: Progress | None = None,
    *,
    ray: str | None = None,
    run_episode: RunEpisode | None = None,
    make_policy: MakePolicy | None = None,
    replaced: Iterable[str] = (),
) -> RunResult:
    """Run ``plan`` into the folder ``out``; episodes that are already there and whole are not run again, but those of
    policies that are ``replaced`` and have changed.

    A KeyboardInterrupt passes through after the results so far are written. ``run_episode`` stands in for
    ``sidestep.simulation.run_episode``; with worker processes it must be importable. With ``make_policy``
    the policies are this process's own, and everything runs in it.
    """
    with only_run(out), Guests() as guests:
        run = open_folder(out, plan, replaced)
        tasks = tasks_of(run.plan, out)
        executor = choose_executor(run.plan, workers, ray) if make_policy is None else Serial()
        work = partial(run_task, run_episode=run_episode, make_policy=make_policy, guests=guests)
        answers: dict[Path, TaskResult] = {}
        settled = run_with_retry(executor, work, tasks, as_failed)
        try:
            for task, answer in settled:
                if answer.stopped:
                    raise BadInput(answer.stopped)
                answers[task.path] = answer if answer.scores is None else replace(answer, scores=pack(answer.scores))
                if progress is not None:
                    progress(len(answers), len(tasks), task, answer)
        except BaseException:
            settled.close()  # workers stop before another run may come
            with suppress(BadInput):  # if nothing can be written, the first error says so
                _close(run, out, tasks, answers, finished=False)
            raise
        return _close(run, out, tasks, answers, finished=True)


def tasks_of(plan: Plan, out: Path) -> list[EpisodeTask]:
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
            base=plan.base,
        )
        for policy in plan.policies
        for scenario in plan.scenarios
        for seed in plan.seeds
    ]


def choose_executor(plan: Plan, workers: int, ray: str | None = None) -> Executor:
    """Ray if an address is given; this process for one worker and our own policies only; else worker
    processes.

    Somebody else's policy has a process of its own besides (``sidestep.remote``).
    """
    if ray is not None:
        return Ray(ray)
    if workers <= 1 and all(policy.is_bundled for policy in plan.policies):
        return Serial()
    return WorkerProcesses(max(workers, 1))


def _close(run: RunFile, out: Path, tasks: list[EpisodeTask], answers: dict[Path, TaskResult], finished: bool) -> RunResult:
    """Write the results and what was skipped."""
    done = [(task, answers[task.path]) for task in tasks if task.path in answers]
    episodes = tuple(answer.scores for _, answer in done if answer.scores is not None)
    skipped = tuple(
        Skipped(task.scenario.name, task.policy.name, task.seed, answer.skipped)
        for task, answer in done
        if answer.scores is None
    )
    save_results(episodes, out / RESULTS_FILE, "paper")
    replace(run, complete=finished, skipped=skipped).save(out)
    return RunResult(out, run.plan, episodes, skipped)
