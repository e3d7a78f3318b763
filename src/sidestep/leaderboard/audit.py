"""Check a run folder against its plan. ``audit_run`` reads every record, scores it again and compares the scores with
the table of results. It detects edited results, episodes that are missing, repeated or exchanged, changed records,
scenarios that are not those of the bundled suite, and records that do not begin in the world of their scenario and
seed. It simulates nothing: only ``verify`` detects a record that is consistent but invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from sidestep.errors import BadInput, RecordError
from sidestep.leaderboard.bundled import compare_scenarios
from sidestep.leaderboard.declared import PolicyCheck
from sidestep.leaderboard.duplicates import Trace, trace_of
from sidestep.leaderboard.worlds import Unbuilt, WorldCheck
from sidestep.metrics.score import EpisodeScores, common_source, score_episode
from sidestep.metrics.sources import DEFAULT_DIALECT
from sidestep.runs.episode import EpisodeTask, differing_identity
from sidestep.runs.finished import FinishedRun, ScoredRun, as_finished
from sidestep.runs.folder import EPISODES, RESULTS_FILE, pack
from sidestep.runs.runner import tasks_of
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

Key = tuple[str, str, int]
"""Policy, scenario, seed."""
SAME = 1e-9
"""Relative tolerance of scores, whose last bits may differ between processors; records are equal to the bit."""
DIGEST_HAS_SEED = 2
"""The first record format whose digest covers scenario and seed."""


@dataclass(frozen=True)
class Problem:
    """A problem of a run folder. ``kind`` is ``missing``, ``skipped``, ``record``, ``misplaced``, ``repeated``,
    ``foreign``, ``results``, ``scenario``, ``world``, ``policy`` or ``signature``."""

    kind: str
    text: str
    policy: str = ""
    """Empty if it concerns all policies."""


@dataclass(frozen=True)
class Audit:
    """Result of ``audit_run``: the scores of the records and the problems found."""

    run: FinishedRun
    scored: ScoredRun
    """New scores in the order of the plan, of records that are intact and in their place."""
    problems: tuple[Problem, ...]
    worlds_checked: int = 0
    """Number of records that were compared with the world of their scenario and seed."""
    unbuilt: tuple[Unbuilt, ...] = ()
    """Scenarios that could not be compared with the bundled suite, or whose worlds could not be built."""
    traces: Mapping[Key, Trace] = field(default_factory=dict)
    """What happened in each episode, whatever its policy is called."""

    def problems_of(self, policy: str) -> tuple[Problem, ...]:
        """Problems of one policy, and those that concern all policies."""
        return tuple(problem for problem in self.problems if problem.policy in ("", policy))


def audit_run(given: FinishedRun | Path) -> Audit:
    """Check the records and results of a run folder against its plan, and both against the bundled suite."""
    run = as_finished(given)
    folder, file = run.folder, run.description
    results, dialect, problems = _results(run)
    tasks = tasks_of(file.plan, folder)
    skipped = {(entry.policy, entry.scenario, entry.seed): entry.reason for entry in file.skipped}
    differing, unknown = compare_scenarios(file.plan)
    problems += [Problem("scenario", f"scenario {name!r}: {what}") for name, what in differing.items()]
    checks = _Checks(WorldCheck(file.plan, differing), PolicyCheck(file.plan))
    episodes: list[EpisodeScores] = []
    for task in tasks:
        record, problem = _record(run, task, skipped.get(_key_of_task(task)))
        if record is None:
            problems += [problem] if problem is not None else []
            continue
        problems += checks.of(task, record)
        stated = results.pop(_key_of_task(task), None)
        try:
            scores = pack(score_episode(record, dialect))
        except RecordError as error:
            problems.append(Problem("record", f"{task.label}: {error}", task.policy.name))
            continue
        episodes.append(scores)
        checks.traces[_key_of_task(task)] = trace_of(record)
        problems += _compare(scores, stated, task.label)
    problems += [
        Problem("results", f"{RESULTS_FILE} has {policy} · {scenario} · seed {seed}, which has no record", policy)
        for policy, scenario, seed in results
    ]
    problems += _foreign(folder, tasks)
    if not episodes:
        raise BadInput(f"{folder}: no record of the plan can be read; the first problem: {problems[0].text}")
    source = common_source(episode.source for episode in episodes)
    scored = ScoredRun(folder, file.plan.suite, source, dialect, tuple(episodes))
    unbuilt = (*(Unbuilt(name, reason) for name, reason in unknown.items()), *checks.worlds.unbuilt)
    return Audit(run, scored, tuple(problems), checks.worlds.checked, unbuilt, checks.traces)


class _Checks:
    """Checks of one record after the other: repeated episodes, worlds and what policies declare."""

    def __init__(self, worlds: WorldCheck, policies: PolicyCheck) -> None:
        self.worlds, self.policies = worlds, policies
        self.traces: dict[Key, Trace] = {}
        self._digests: dict[str, EpisodeTask] = {}

    def of(self, task: EpisodeTask, record: EpisodeRecord) -> Iterator[Problem]:
        """Problems of a record that is in its place."""
        name = task.policy.name
        if record.format_version >= DIGEST_HAS_SEED and record.digest in self._digests:
            other = self._digests[record.digest].label
            yield Problem("repeated", f"{task.label}: the same episode as {other}", name)
        self._digests.setdefault(record.digest, task)
        if what := self.worlds.difference(task, record):
            yield Problem("world", f"{task.label}: {what}", name)
        if what := self.policies.difference(task.policy, record):
            yield Problem("policy", f"{task.label}: {what}", name)


def _key_of_task(task: EpisodeTask) -> Key:
    return task.policy.name, task.scenario.name, task.seed


def _results(run: FinishedRun) -> tuple[dict[Key, EpisodeScores], str, list[Problem]]:
    """The table of results by episode; repeated episodes are problems."""
    try:
        listed, dialect = run.rows
    except BadInput as error:
        return {}, DEFAULT_DIALECT, [Problem("results", str(error))]
    found: dict[Key, EpisodeScores] = {}
    problems = []
    for each in listed:
        key = each.policy, each.scenario, each.seed
        if key in found:
            text = f"{RESULTS_FILE} has {each.policy} · {each.scenario} · seed {each.seed} more than once"
            problems.append(Problem("repeated", text, each.policy))
        found.setdefault(key, each)
    return found, dialect, problems


def _record(run: FinishedRun, task: EpisodeTask, skipped: str | None) -> tuple[EpisodeRecord | None, Problem | None]:
    policy = task.policy.name
    if not task.path.exists():
        if skipped is not None:
            return None, Problem("skipped", f"{task.label}: skipped in the run ({skipped[:200]})", policy)
        return None, Problem("missing", f"{task.label}: the plan has this episode, but its record is missing", policy)
    try:
        found = run.load(task.path)
    except RecordError as error:
        return None, Problem("record", str(error).replace(str(task.path), task.path.name), policy)
    if not differing_identity(task, found):
        return run.with_counterfactual(found, task.path), None
    what = f"{found.policy.name} {found.policy.version} · {found.scenario.name} · seed {found.seed} · {found.mode}"
    text = f"{task.label}: the record in its place belongs to another episode, code or mode ({what})"
    return None, Problem("misplaced", text, policy)


def _compare(scores: EpisodeScores, stated: EpisodeScores | None, label: str) -> Iterator[Problem]:
    """The first difference between the table of results and the record."""
    if stated is None:
        yield Problem("results", f"{label}: not in {RESULTS_FILE}", scores.policy)
        return
    for name in ("suite", "outcome", "digest", "privileged", "observes", "source"):
        was, is_ = getattr(stated, name), getattr(scores, name)
        if was != is_ and (was or name != "observes"):  # tables of older versions have no column observes
            yield Problem("results", f"{label}: {RESULTS_FILE} has {name} {was}, the record {is_}", scores.policy)
            return
    for name, found in stated.metrics.items():
        known = scores.metrics.get(name)
        if known is not None and not _same(found, known):
            text = f"{label}: {RESULTS_FILE} has {name} {_text(found)}, the record gives {_text(known)}"
            yield Problem("results", text, scores.policy)
            return


def _same(a: MetricResult, b: MetricResult) -> bool:
    if not (a.valid and b.valid):
        return a.valid == b.valid
    return isclose(a.value, b.value, rel_tol=SAME, abs_tol=1e-12)


def _text(result: MetricResult) -> str:
    return f"{result.value:.9g}" if result.valid else "no value"


def _foreign(folder: Path, tasks: Sequence[EpisodeTask]) -> Iterator[Problem]:
    known = {task.path for task in tasks}
    for path in sorted((folder / EPISODES).rglob("*.parquet")):
        if path not in known and not path.name.startswith("."):
            yield Problem("foreign", f"{path.relative_to(folder).as_posix()}: a record that is not in the plan")
