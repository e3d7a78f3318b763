"""One task of a run: simulate, save, score. The same function runs here, in a worker process and on a
cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep._util.writing import CannotWrite
from sidestep.errors import BadInput, GuestFailed, RecordError
from sidestep.interfaces import Policy, describe_policy
from sidestep.metrics.score import EpisodeScores, score_episode
from sidestep.records.counterfactuals import with_counterfactual
from sidestep.runs.folder import pack
from sidestep.runs.plan import PolicyPlan
from sidestep.runs.remote.guests import GuestPolicy, GuestProcesses
from sidestep.runs.remote.host import RemoteEpisode
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.remote.session import FailedPolicy
from sidestep.runs.storage import IN_FOLDER, Storage
from sidestep.types.record import EpisodeRecord, Mode, PolicyInfo
from sidestep.types.result import EpisodeEnd
from sidestep.types.scenario import Scenario

RunEpisode = Callable[..., EpisodeRecord]
"""``sidestep.simulation.run_episode``, or something that stands in for it."""


@dataclass(frozen=True)
class EpisodeTask:
    """Everything that one episode needs; sent to a worker as it is."""

    scenario: Scenario
    policy: PolicyPlan
    seed: int
    path: Path
    """Where the record goes."""
    mode: Mode = "sync"
    latency_s: float | None = None
    act_limit_s: float | None = 10.0
    base: Path | None = None
    dialect: str = "paper"
    isolation: Isolation = field(default_factory=Isolation)
    """Limits of a policy in a process of its own, and which ones are."""
    failure: str = ""
    """Not empty: the policy took its process down, and this is to be recorded as its error."""
    only_score: bool = False
    """Score the record if it is there and whole; never simulate."""
    storage: Storage = IN_FOLDER
    """Holds the record."""
    ledger_says: str | None = None
    """Digest of the record that counts, by the run's ledger; empty: none does; None: the run has no ledger yet."""

    @property
    def label(self) -> str:
        """For people: which episode it is."""
        return f"{self.policy.name} · {self.scenario.name} · seed {self.seed}"


@dataclass(frozen=True)
class TaskResult:
    """What a task came to: scores, or the reason why there is no episode; neither where nothing was to be simulated."""

    scores: EpisodeScores | None = None
    skipped: str = ""
    simulated: bool = False
    """False when a record from before was used."""
    replaced: str = ""
    """Not empty: why a record from before was not used."""
    stopped: str = ""
    """Not empty: why the record cannot be saved, as when the disk is full. The run has to end."""


_ENDING = threading.Event()


def stop_saving() -> None:
    """Save no more records in this process, because it is about to end. A policy whose process is ended with it, or
    that is interrupted by the end, has not failed."""
    _ENDING.set()


MakePolicy = Callable[[EpisodeTask], Any]
"""Makes the policy of a task; None: it is one of ours or a guest, made as usual."""


def run_task(
    task: EpisodeTask,
    run_episode: RunEpisode | None = None,
    make_policy: MakePolicy | None = None,
    guests: GuestProcesses | None = None,
    in_process: bool = False,
) -> TaskResult:
    """Make sure that the task's record is there, and score it. A record that is already there and whole is kept.

    ``guests`` keeps the process of a guest for the next task; without it, it is ended here. With ``in_process``, and
    where ``run_episode`` stands in for the simulator, every policy runs in this process.
    """
    existing, reason = find_record(task)
    if existing is not None:
        return TaskResult(pack(score_episode(existing, task.dialect)))
    if task.only_score:
        return TaskResult(replaced=reason)
    with nullcontext(guests) if guests is not None else GuestProcesses() as processes:
        try:
            policy = _policy_of(task, make_policy, None if in_process or run_episode is not None else processes)
            record = simulate(task, policy, run_episode)
        except BadInput as error:
            return TaskResult(skipped=str(error), replaced=reason)
        if _ENDING.is_set():
            raise SystemExit(0)
        try:
            task.storage.save(record, task.path)
        except CannotWrite as error:
            return TaskResult(stopped=str(error))
        scores = score_episode(with_counterfactual(record, task.path), task.dialect)
        with suppress(Exception):  # the episode is over, and nothing that a policy does now changes it
            policy.end_episode(EpisodeEnd(scores.outcome, scores.error, dict(scores.metrics)))
        with suppress(Exception):
            policy.close()
        if isinstance(policy, GuestPolicy):
            keep_output(policy, task, failed=bool(record.error))
    return TaskResult(pack(scores), simulated=True, replaced=reason)


def keep_output(policy: GuestPolicy, task: EpisodeTask, failed: bool) -> None:
    """Write the beginning and the end of what a guest that failed has printed into a file beside its record."""
    text = policy.output if failed and policy.output.strip() else ""
    task.storage.save_log(text, task.path.with_suffix(".log"))


def existing_record(task: EpisodeTask) -> EpisodeRecord | None:
    """The record of this very task from before, if it is whole."""
    return find_record(task)[0]


def find_record(task: EpisodeTask) -> tuple[EpisodeRecord | None, str]:
    """The record of this very task from before, with its counterfactual if that is there, or why the one that is there
    cannot be used."""
    if not task.storage.exists(task.path):
        return None, ""
    try:
        record = task.storage.load(task.path)
    except RecordError as error:
        return None, str(error)
    if differing := differing_identity(task, record):
        return None, f"{task.path}: of another {' and '.join(differing)}"
    if task.ledger_says is not None and record.digest != task.ledger_says:
        return None, f"{task.path}: is not the record that the run has scored, by its ledger"
    return with_counterfactual(record, task.path), ""


def differing_identity(task: EpisodeTask, record: EpisodeRecord) -> list[str]:
    """Names of what identifies an episode and is not the same in the task and the record; none: it is the task's."""
    asked, found = _identity(task, task.scenario, task.policy), _identity(record, record.scenario, record.policy)
    return [name for name, value in asked.items() if found[name] != value]


def _identity(
    of: EpisodeTask | EpisodeRecord, scenario: Scenario, policy: PolicyPlan | PolicyInfo
) -> dict[str, str | int]:
    return {
        "policy": policy.name,
        "version of the policy": policy.version,
        "scenario": _described(scenario),
        "seed": of.seed,
        "mode": of.mode,
    }


def _described(scenario: Scenario) -> str:
    """What a scenario says and its record keeps unchanged. The scene, the robot's dynamics and the camera are filled in
    before an episode begins; the run's plan knows the files that they come from."""
    ego = {"start", "goal", "route", "share"}
    parts = {"name", "suite", "crowd", "events", "rules"}
    robots = [robot.model_dump_json(include=ego) for robot in scenario.robots]
    return "\n".join([scenario.model_dump_json(include=parts), *robots])


def _policy_of(task: EpisodeTask, make_policy: MakePolicy | None, guests: GuestProcesses | None) -> Policy:
    if task.failure:
        return FailedPolicy(task.failure)
    if make_policy is not None and (made := make_policy(task)) is not None:
        return registry.as_policy(made)
    name, settings = task.policy.made_from, task.policy.settings
    if guests is None or not task.isolation.covers(name):
        return registry.make_policy(name, settings)
    try:
        return guests.policy(name, settings, task.act_limit_s, task.isolation)
    except GuestFailed as error:
        return FailedPolicy(str(error))


def simulate(task: EpisodeTask, policy: Policy, run_episode: RunEpisode | None = None) -> EpisodeRecord:
    """The episode, fresh."""
    if run_episode is None:
        from sidestep.simulation import run_episode as standard

        run_episode = standard
    planned = task.policy
    info = describe_policy(policy, planned.name, planned.settings, planned.version, planned.privileged)
    return run_episode(
        task.scenario,
        policy,
        seed=task.seed,
        policy_info=replace(info, sandbox=policy.sandbox) if isinstance(policy, GuestPolicy) else info,
        mode=task.mode,
        latency_s=task.latency_s,
        act_limit_s=task.act_limit_s,
        base=task.base,
    )


def why_not_built(episode: RemoteEpisode) -> str:
    """Why an episode's scenario cannot be built; empty if it can."""
    from sidestep.simulation import build_world

    try:
        build_world(episode.scenario, episode.seed, episode.base)
    except BadInput as error:
        return str(error)
    return ""


def as_failed(task: EpisodeTask, reason: str) -> EpisodeTask:
    """The task that records that the policy took its process down."""
    return replace(task, failure=f"the policy ended its process: {reason}")
