"""One task of a run: simulate, save, score. The same function runs here, in a worker process and on a
cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from sidestep import registry
from sidestep.runs.plan import Mode, PolicyPlan
from sidestep.errors import BadInput, GuestFailed, RecordError
from sidestep.remote.guests import GuestPolicy, Guests
from sidestep.records import load_record, save_record
from sidestep.writing import CannotWrite
from sidestep.types.command import Command
from sidestep.types.observation import Observation, Task
from sidestep.types.record import EpisodeRecord, PolicyInfo
from sidestep.types.result import MetricResult
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
    failure: str = ""
    """Not empty: the policy took its process down, and this is to be recorded as its error."""

    @property
    def label(self) -> str:
        """For people: which episode it is."""
        return f"{self.policy.name} · {self.scenario.name} · seed {self.seed}"


@dataclass(frozen=True)
class EpisodeScores:
    """One episode's line in the results: how it ended and what every metric says."""

    suite: str
    scenario: str
    policy: str
    seed: int
    outcome: str
    digest: str
    metrics: Mapping[str, MetricResult]
    error: str = ""
    privileged: bool = False
    """As the record says of the policy: it is never ranked with the others."""
    source: str = "generated"
    """Whether the people were recorded, generated or mixed."""
    cluster: str = ""
    """Episodes with the same non-empty cluster share a crowd window or a town and are not independent."""
    event: str = ""
    """``happened`` or ``missed`` where the scenario stages an event, else empty."""


@dataclass(frozen=True)
class TaskResult:
    """What a task came to: scores, or the reason why there is no episode."""

    scores: EpisodeScores | None = None
    skipped: str = ""
    simulated: bool = False
    """False when a record from before was used."""
    stopped: str = ""
    """Not empty: why the record cannot be saved, as when the disk is full. The run has to end."""


@dataclass(frozen=True)
class FailedPolicy:
    """Stands in for a policy that killed its process: fails at once with the reason, so that a record is
    made."""

    needs: ClassVar[frozenset[str]] = frozenset()
    reason: str = field(default="")

    def reset(self, task: Task) -> None:
        """Fail."""
        raise GuestFailed(self.reason)

    def act(self, observation: Observation) -> Command:
        """Never reached: ``reset`` has failed."""
        raise GuestFailed(self.reason)


MakePolicy = Callable[[EpisodeTask], Any]
"""Makes the policy of a task; None: it is one of ours or a guest, made as usual."""


def run_task(
    task: EpisodeTask,
    run_episode: RunEpisode | None = None,
    make_policy: MakePolicy | None = None,
    guests: Guests | None = None,
) -> TaskResult:
    """Make sure that the task's record is there, and score it. A record that is already there and whole is
    kept. A policy with a method ``end_episode`` is told the scores.

    ``guests`` keeps the process of a guest for the next task; without it, it is ended here. A stand-in for the
    simulator has policies of its own kind, which run in this process.
    """
    kept = existing_record(task)
    if kept is not None:
        return TaskResult(score_episode(kept, task.dialect))
    with nullcontext(guests) if guests is not None else Guests() as house:
        try:
            policy = _policy_of(task, make_policy, house if run_episode is None else None)
            record = simulate(task, policy, run_episode)
        except BadInput as error:
            return TaskResult(skipped=str(error))
        try:
            save_record(record, task.path)
        except CannotWrite as error:
            return TaskResult(stopped=str(error))
        scores = score_episode(record, task.dialect)
        if callable(tell := getattr(policy, "end_episode", None)):
            with suppress(Exception):  # the episode is over, and nothing that a policy does now changes it
                tell(scores)
        if isinstance(policy, GuestPolicy):
            policy.close()
            keep_output(policy, task.path, failed=bool(record.error))
    return TaskResult(scores, simulated=True)


def keep_output(policy: GuestPolicy, path: Path, failed: bool) -> None:
    """Write the end of what a guest that failed has printed into a file beside its record."""
    log = path.with_suffix(".log")
    with suppress(OSError):
        if failed and policy.output.strip():
            log.write_text(policy.output, encoding="utf-8")
        else:
            log.unlink(missing_ok=True)


def existing_record(task: EpisodeTask) -> EpisodeRecord | None:
    """The record of this very task from before, if it is whole."""
    if not task.path.exists():
        return None
    try:
        record = load_record(task.path)
    except RecordError:
        return None
    asked = (task.seed, task.policy.name, task.policy.version, task.mode, _described(task.scenario))
    found = (record.seed, record.policy.name, record.policy.version, record.mode, _described(record.scenario))
    return record if found == asked else None


def _described(scenario: Scenario) -> str:
    """What a scenario says and its record keeps unchanged. The scene, the robot's dynamics and the camera are filled in
    before an episode begins; the run's plan knows the files that they come from."""
    ego = {"start", "goal", "route", "share"}
    parts = {"name", "suite", "crowd", "events", "rules"}
    robots = [robot.model_dump_json(include=ego) for robot in scenario.robots]
    return "\n".join([scenario.model_dump_json(include=parts), *robots])


def _policy_of(task: EpisodeTask, make_policy: MakePolicy | None, guests: Guests | None) -> Any:
    if task.failure:
        return FailedPolicy(task.failure)
    if make_policy is not None and (made := make_policy(task)) is not None:
        return made
    name, settings = task.policy.name, task.policy.settings
    if guests is None or not registry.is_guest(name):
        return registry.make_policy(name, settings)
    try:
        return guests.policy(name, settings, task.act_limit_s)
    except GuestFailed as error:
        return FailedPolicy(str(error))


def simulate(task: EpisodeTask, policy: Any, run_episode: RunEpisode | None = None) -> EpisodeRecord:
    """The episode, fresh."""
    if run_episode is None:
        from sidestep.simulation import run_episode as standard

        run_episode = standard
    info = describe_policy(policy, task.policy)
    return run_episode(
        task.scenario,
        policy,
        seed=task.seed,
        policy_info=info,
        mode=task.mode,
        latency_s=task.latency_s,
        act_limit_s=task.act_limit_s,
        base=task.base,
    )


def describe_policy(policy: Any, planned: PolicyPlan) -> PolicyInfo:
    """Name, settings really used, needs and version, for the record."""
    own = getattr(policy, "settings", None)
    settings = {**planned.settings, **own} if isinstance(own, dict) else dict(planned.settings)
    info = PolicyInfo.describe(policy, planned.name, settings, planned.version)
    return replace(info, privileged=info.privileged or planned.privileged)


def score_episode(record: EpisodeRecord, dialect: str, metrics: list[str] | None = None) -> EpisodeScores:
    """The record's line in the results."""
    from sidestep.metrics.aggregate import cluster_of
    from sidestep.metrics.score import score
    from sidestep.metrics.interactions import event_state

    return EpisodeScores(
        suite=record.scenario.suite,
        scenario=record.scenario.name,
        policy=record.policy.name,
        seed=record.seed,
        outcome=record.outcome.value,
        digest=record.digest,
        metrics=score(record, metrics, dialect),
        error=record.error,
        privileged=record.policy.privileged,
        source=record.source,
        cluster=cluster_of(record.scenario),
        event=event_state(record),
    )


def as_failed(task: EpisodeTask, reason: str) -> EpisodeTask:
    """The task that records that the policy took its process down."""
    return replace(task, failure=f"the policy ended its process: {reason}")
