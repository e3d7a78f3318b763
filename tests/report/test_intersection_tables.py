"""IntersectNav's tables: hand-made episodes, runs on disk, and files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from sidestep.metrics.score import EpisodeScores, score
from sidestep.metrics.statistics import wilson
from sidestep.report import write_report
from sidestep.report.papers.intersectnav.episodes import (
    DEFINITION,
    PROGRAM,
    IntersectionEpisode,
    IntersectionRun,
    read_intersection,
)
from sidestep.report.papers.intersectnav.section import SECTION
from sidestep.report.papers.intersectnav.tables import OUTCOMES, intersection_tables, metric_table, task_table
from sidestep.report.selection import LabelledEpisode, label_episodes
from sidestep.report.table_model import Cell, Table
from sidestep.report.table_writer import comma_separated
from sidestep.runs.finished import FinishedRun, ScoredRun
from sidestep.runs.folder import episode_path
from sidestep.suites.intersection import ENDS
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from tests.report.conftest import Builder
from tests.report.sidewalk_runs import write_run

HERE = Path("made-by-hand")
RUN = FinishedRun(HERE, table=ScoredRun(HERE, "intersection", "generated", DEFINITION, ()))
TABLES = ("intersection_tasks", "intersection_scenes", "intersection_metrics", "intersection_metrics_code")


def by_hand(
    outcome: str, task: str = "left", place: str = "scene4", traffic: str = "ped-only", label: str = "pid",
    steps: float = 100.0, privileged: bool = False, number: int = 0,
) -> IntersectionEpisode:  # fmt: skip
    scores = EpisodeScores("intersection", f"{task}-{number}", label, 0, outcome, "", {}, privileged=privileged)
    values = {DEFINITION: {"total_steps": steps}, PROGRAM: {"total_steps": steps, "heading_deviation": -steps}}
    return IntersectionEpisode(LabelledEpisode(RUN, scores, label), label, task, place, traffic, "ClearNoon", values)


def cell(table: Table, section: str, policy: str, key: str, column: str) -> Cell:
    rows = next(each for each in table.sections if each.name == section).rows
    row = next(row for row in rows if (row.policy, row.keys) == (policy, (key,)))
    return row.cells[[each.name for each in table.columns].index(column)]


def test_ratios_by_task_scene_and_traffic() -> None:
    episodes = [
        by_hand("success"),
        by_hand("success", place="scene5"),
        by_hand("pedestrian_collision"),
        by_hand("vehicle_collision", "straight"),
        by_hand("environment_collision", "straight"),
        by_hand("lane_invasion", "straight"),
        by_hand("wrong_exit", "right"),
        by_hand("off_route", "right"),
        by_hand("timeout", traffic="ped-veh"),
    ]
    tasks, scenes, *_ = intersection_tables(IntersectionRun(tuple(episodes)))
    assert cell(tasks, "ped-only", "pid", "left", "success").estimate.value == pytest.approx(2 / 3)
    assert cell(tasks, "ped-only", "pid", "straight on", "collision").estimate.value == pytest.approx(2 / 3)
    assert cell(tasks, "ped-only", "pid", "straight on", "collision").text == "66.7"
    assert cell(tasks, "ped-only", "pid", "right", "wrong_exit").estimate.value == 0.5
    every = cell(tasks, "ped-only", "pid", "all", "collision").estimate
    assert (every.value, every.n) == (3 / 8, 8)
    assert (every.low, every.high) == pytest.approx(wilson(3, 8, 0.95))
    assert cell(tasks, "ped-veh", "pid", "all", "timeout").estimate.value == 1.0
    assert [row.keys for row in tasks.sections[1].rows] == [("left",), ("all",)]
    assert cell(scenes, "ped-only", "pid", "5", "success").estimate.n == 1
    assert cell(scenes, "ped-only", "pid", "4", "success").estimate.value == pytest.approx(1 / 7)
    assert [row.keys for row in scenes.sections[0].rows] == [("4",), ("5",)]
    for table in (tasks, scenes):
        for row in table.rows:
            assert sum(each.estimate.value or 0.0 for each in row.cells) == pytest.approx(1.0)
    assert "8 in ped-only, 1 in ped-veh" in tasks.notes[-1]


def test_every_outcome_of_the_suite_has_a_column() -> None:
    counted = [outcome for _, _, kinds in OUTCOMES.values() for outcome in kinds]
    assert len(counted) == len(set(counted))
    assert set(counted) == set(ENDS)


def test_means_of_both_dialects() -> None:
    episodes = (
        by_hand("success", steps=100.0),
        by_hand("success", steps=200.0),
        by_hand("timeout", "right", steps=9.0),
    )
    run = IntersectionRun(episodes)
    definition, program = metric_table(run, DEFINITION), metric_table(run, PROGRAM)
    assert cell(definition, "ped-only", "pid", "left", "total_steps").estimate.value == 150.0
    assert cell(definition, "ped-only", "pid", "all", "total_steps").estimate.value == 103.0
    assert cell(definition, "ped-only", "pid", "all", "heading_deviation").estimate.value is None
    assert cell(definition, "ped-only", "pid", "all", "heading_deviation").text == "–"
    assert cell(program, "ped-only", "pid", "left", "heading_deviation").text == "−150"


def test_a_policy_that_fails_early_is_not_the_best_of_the_steps() -> None:
    """Nor is a privileged one."""

    def many(outcome: str, label: str, steps: float, privileged: bool = False) -> list[IntersectionEpisode]:
        return [by_hand(outcome, label=label, steps=steps, privileged=privileged, number=k) for k in range(20)]

    run = IntersectionRun(
        (
            *many("success", "sees", 5.0, privileged=True),
            *many("success", "slow", 400.0),
            *many("success", "quick", 300.0),
            *many("lane_invasion", "crash", 10.0),
        )
    )
    assert run.labels == ("slow", "quick", "crash", "sees")
    table = metric_table(run, DEFINITION)
    best = {row.policy for row in table.rows if row.keys == ("left",) and row.cells[5].best}
    assert table.columns[5].name == "total_steps"
    assert best == {"quick"}
    won = {(row.policy, k) for row in task_table(run).rows for k, each in enumerate(row.cells) if each.best}
    assert won == {("slow", 0), ("quick", 0)}  # nobody is the best of timeouts for having failed otherwise


def made(
    build: Builder, policy: str, name: str, outcome: Outcome, traffic: str = "ped-only", seed: int = 0
) -> EpisodeRecord:
    """A record of the suite that drove 2 s."""
    record = build(policy, name, seed=seed, outcome=outcome, duration=2.0)
    task = name.rpartition("-")[2]
    tags = (task, name.partition("-")[0], "test", traffic)
    notes = {"options": {"weather": "WetSunset"}}
    scenario = record.scenario.model_copy(update={"suite": "intersection", "tags": tags, "notes": notes})
    return replace(record, scenario=scenario, events=())


@pytest.fixture
def folders(build: Builder, tmp_path: Path) -> list[Path]:
    """A run among people only and one among vehicles."""
    people = [
        made(build, "pid", "scene4-pose0-left", Outcome.SUCCESS),
        made(build, "pid", "scene5-pose1-right", Outcome.TIMEOUT),
    ]
    vehicles = [made(build, "pid", "scene4-pose0-left", Outcome.VEHICLE_COLLISION, "ped-veh")]
    return [write_run(tmp_path / "only", people), write_run(tmp_path / "veh", vehicles)]


def labelled(*folders: Path) -> list[LabelledEpisode]:
    return label_episodes([FinishedRun(folder) for folder in folders])


def test_runs_with_and_without_vehicles_belong_together(folders: list[Path], build: Builder) -> None:
    run = read_intersection(labelled(*folders))
    assert run is not None
    assert run.labels == ("pid",)
    assert run.traffic == ("ped-only", "ped-veh")
    assert {each.weather for each in run.episodes} == {"WetSunset"}
    first = run.choose("ped-only", "pid", "left", "scene4")
    assert [each.outcome for each in first] == ["success"]
    scores = first[0].item.scores.metrics
    assert first[0].values[DEFINITION]["total_steps"] == scores["total_steps"].value == 40.0
    assert first[0].values[DEFINITION]["ego_jerk"] == scores["ego_jerk"].value
    program = score(made(build, "pid", "scene4-pose0-left", Outcome.SUCCESS), ["other_jerk"], PROGRAM)["other_jerk"]
    assert first[0].values[PROGRAM]["other_jerk"] == program.value != scores["other_jerk"].value


def test_two_runs_of_the_same_traffic_are_told_apart(folders: list[Path], build: Builder, tmp_path: Path) -> None:
    again = write_run(tmp_path / "again", [made(build, "pid", "scene4-pose0-left", Outcome.TIMEOUT)])
    run = read_intersection(labelled(folders[0], again))
    assert run is not None
    assert run.labels == ("pid (only)", "pid (again)")


def test_the_program_s_counts_of_a_record_that_is_gone_are_missing(folders: list[Path]) -> None:
    episode_path(folders[1], "pid", "scene4-pose0-left", 0).unlink()
    run = read_intersection(labelled(folders[1]))
    assert run is not None
    assert (run.missing, run.unread) == (0, 1)
    assert run.episodes[0].values[PROGRAM] == {}
    assert run.episodes[0].values[DEFINITION]["total_steps"] == 40.0
    assert any("could not be read" in note for note in intersection_tables(run)[0].notes)


def test_other_suites_and_unknown_tasks_have_no_section(build: Builder, run_folder: Path, tmp_path: Path) -> None:
    assert SECTION.make(labelled(run_folder), {}, {}) is None
    odd = write_run(tmp_path / "odd", [made(build, "pid", "scene4-pose0-round", Outcome.SUCCESS)])
    assert SECTION.make(labelled(odd), {}, {}) is None


def test_report_has_the_section_and_its_files(folders: list[Path], tmp_path: Path) -> None:
    files = write_report(folders, tmp_path / "r.html", tmp_path / "tables")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in ('id="intersection"', 'href="#intersection"', *(f'id="{name}"' for name in TABLES), "Ped-Veh"):
        assert part in page
    names = {path.name for path in files}
    assert {f"{name}.{form}" for name in TABLES for form in ("md", "tex", "csv")} <= names
    rows = list(csv.DictReader(io.StringIO((tmp_path / "tables" / "intersection_tasks.csv").read_text())))
    found = {(row["section"], row["task"], row["metric"]): row["value"] for row in rows}
    assert found["ped-only", "right", "timeout"] == "1.0"
    assert found["ped-veh", "all", "collision"] == "1.0"


def test_csv_names_the_scene(folders: list[Path]) -> None:
    run = read_intersection(labelled(*folders))
    assert run is not None
    lines = list(csv.DictReader(io.StringIO(comma_separated(intersection_tables(run)[1]))))
    assert {line["scene"] for line in lines} == {"4", "5"}
    assert {line["unit"] for line in lines} == {""}
