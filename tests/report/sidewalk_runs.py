"""Run folders of the sidewalk suites with synthetic episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sidestep.records import save_record
from sidestep.runs.episode import score_episode
from sidestep.runs.folder import RunFile, episode_path, save_results
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord, Event
from tests.report.conftest import Builder

SUCCESS, TOUCHED, OUT = Outcome.SUCCESS, Outcome.PEDESTRIAN_COLLISION, Outcome.OFF_ROUTE


def sidewalk_record(
    build: Builder,
    policy: str,
    suite: str,
    name: str,
    outcome: Outcome = SUCCESS,
    place: str = "town",
    seed: int = 0,
    events: Sequence[Event] = (),
    duration: float = 2.0,
) -> EpisodeRecord:
    """An episode whose kind is the first part of its name."""
    record = build(policy, name, seed=seed, outcome=outcome, duration=duration)
    tags = (name.partition("-")[0], place)
    return replace(
        record,
        scenario=record.scenario.model_copy(update={"suite": suite, "tags": tags}),
        events=(*events, *record.events) if outcome in (SUCCESS, TOUCHED) else tuple(events),
    )


def write_run(folder: Path, records: Sequence[EpisodeRecord], metrics: list[str] | None = None) -> Path:
    """A finished run folder with these records, scored with all metrics or those named."""
    plan = Plan(
        suite=records[0].scenario.suite,
        scenarios=tuple({record.scenario.name: record.scenario for record in records}.values()),
        policies=tuple(PolicyPlan(name=name) for name in dict.fromkeys(record.policy.name for record in records)),
        seeds=tuple(sorted({record.seed for record in records})),
    )
    for record in records:
        save_record(record, episode_path(folder, record.policy.name, record.scenario.name, record.seed))
    RunFile(plan, commit="abc123", complete=True).save(folder)
    scores = [score_episode(record, "paper", metrics) for record in records]
    save_results(scores, folder / "results.parquet", "paper")
    return folder
