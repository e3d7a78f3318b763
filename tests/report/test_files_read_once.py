"""A report of many sections opens every file of a run once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidestep.metrics import socnavbench_code
from sidestep.records import save_record
from sidestep.records.counterfactuals import counterfactual_path
from sidestep.report import write_report
from sidestep.runs import finished
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import RUN_FILE, episode_path
from sidestep.runs.plan import Plan
from sidestep.runs.score import score_run
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from tests.report.conftest import Builder
from tests.report.sidewalk_runs import write_run
from tests.report.test_intersection_tables import made

SUITES = {"socnav": (), "sidewalk-long": ("long", "town"), "synthetic": ()}
POLICIES = ("orca", "straight")
_counting: list[Counter[Path]] = []


def _count(event: str, arguments: tuple[Any, ...]) -> None:
    if _counting and event == "open" and isinstance(arguments[0], str | Path):
        _counting[-1][Path(arguments[0])] += 1


sys.addaudithook(_count)


@pytest.fixture
def opened() -> Iterator[Counter[Path]]:
    """How often each file was opened."""
    _counting.append(Counter())
    yield _counting[-1]
    _counting.pop()


@pytest.fixture(scope="module")
def folder(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four suites by two policies, with counterfactuals of one suite."""
    return write_run(tmp_path_factory.mktemp("many") / "run", _records(build))


def _records(build: Builder) -> list[EpisodeRecord]:
    records = []
    for policy in POLICIES:
        for suite, tags in SUITES.items():
            record = build(policy, f"{suite}-1", outcome=Outcome.SUCCESS, duration=2.0)
            scenario = record.scenario.model_copy(update={"suite": suite, "tags": tags})
            records.append(replace(record, scenario=scenario))
        records.append(made(build, policy, "scene4-pose0-left", Outcome.TIMEOUT))
    return records


def times_read(opened: Counter[Path], folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): count
        for path, count in opened.items()
        if path.is_relative_to(folder) and path.suffix == ".parquet" and not path.name.startswith("results")
    }


def test_a_report_opens_every_record_once(folder: Path, tmp_path: Path, opened: Counter[Path]) -> None:
    write_report([folder], tmp_path / "report.html", tmp_path / "tables")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in ("socnav", "sidewalk", "intersection"))
    read = times_read(opened, folder)
    assert len(read) == len(POLICIES) * (len(SUITES) + 1)
    assert set(read.values()) == {1}
    assert opened[folder / RUN_FILE] == 1


def test_counterfactuals_are_opened_once_too(build: Builder, tmp_path: Path, opened: Counter[Path]) -> None:
    records = _records(build)
    folder = write_run(tmp_path / "run", records)
    for record in records:
        path = episode_path(folder, record.policy.name, record.scenario.name, record.seed)
        save_record(record, counterfactual_path(path))
    score_run(folder)
    opened.clear()
    write_report([folder], tmp_path / "report.html")
    assert "Delay per person" in (tmp_path / "report.html").read_text(encoding="utf-8")
    read = times_read(opened, folder)
    assert any(name.startswith("counterfactuals/") for name in read)
    assert set(read.values()) == {1}


def test_records_without_a_run_folder_are_opened_once(folder: Path, tmp_path: Path, opened: Counter[Path]) -> None:
    write_report([folder / "episodes"], tmp_path / "report.html")
    assert set(times_read(opened, folder).values()) == {1}


def test_the_description_is_parsed_once(
    folder: Path, tmp_path: Path, opened: Counter[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    parse = Plan.parse.__func__
    monkeypatch.setattr(Plan, "parse", classmethod(lambda cls, *given: parsed.append(given) or parse(cls, *given)))
    run = FinishedRun(folder)
    write_report([run], tmp_path / "report.html")
    run.scores(socnavbench_code.NAME)
    assert len(parsed) == 1
    assert set(times_read(opened, folder).values()) == {1}


def test_the_table_of_a_dialect_is_read(build: Builder, tmp_path: Path, opened: Counter[Path]) -> None:
    folder = write_run(tmp_path / "run", _records(build))
    scored = score_run(folder, socnavbench_code.NAME)
    opened.clear()
    run = FinishedRun(folder)
    assert run.scores(socnavbench_code.NAME).episodes == scored.episodes
    assert run.metrics_of(run.episodes[0], ["energy"], socnavbench_code.NAME) == scored.episodes[0].metrics
    assert not times_read(opened, folder)


def test_a_table_of_other_records_is_not_used(build: Builder, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", _records(build))
    score_run(folder, socnavbench_code.NAME)
    other = build("orca", "socnav-1", seed=0, outcome=Outcome.TIMEOUT, duration=3.0)
    scenario = other.scenario.model_copy(update={"suite": "socnav", "tags": ()})
    save_record(replace(other, scenario=scenario), episode_path(folder, "orca", "socnav-1", 0))
    score_run(folder)
    run = FinishedRun(folder)
    [changed] = [each for each in run.episodes if (each.policy, each.scenario) == ("orca", "socnav-1")]
    [found] = [each for each in run.scores(socnavbench_code.NAME).episodes if each.digest == changed.digest]
    assert found.outcome == Outcome.TIMEOUT
    assert found.metrics == score_run(folder, socnavbench_code.NAME).episodes[0].metrics


def test_a_large_run_keeps_some_records_only(
    folder: Path, opened: Counter[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished, "MOST_BYTES", 1)
    run = FinishedRun(folder)
    first, second, *_ = run.episodes
    for each in (first, first, second, second, first):
        assert run.record(each) is not None
    assert sorted(times_read(opened, folder).values()) == [1, 2]
