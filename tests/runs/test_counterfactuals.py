"""Counterfactuals of a run: simulated once per scenario and seed, extended when needed, scored, packed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.leaderboard.audit import audit_run
from sidestep.leaderboard.pack import write_pack
from sidestep.leaderboard.unpack import opened_runs
from sidestep.metrics.people_cost import NO_COUNTERFACTUAL
from sidestep.records import load_record
from sidestep.records.counterfactuals import COUNTERFACTUALS, counterfactual_path
from sidestep.runs.counterfactuals import COST_METRICS, CounterfactualResult, make_counterfactuals
from sidestep.runs.folder import RESULTS_FILE, load_results
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run
from sidestep.suites.files import load_suite

SUITE = """
summary: People and a robot
defaults:
  robots: [{spec: pioneer_3dx, start: [0, 0, 0], goal: [2, 0]}]
  rules: {time_limit_s: 4}
scenarios:
  - {name: met, crowd: [{people: [{start: [4, 0.1], waypoints: [[-4, 0.1]]}]}]}
  - {name: alone}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two scenarios."""
    (tmp_path / "suite.yaml").write_text(SUITE)
    carry_on(tmp_path, "straight")
    return tmp_path / "run"


def carry_on(tmp_path: Path, *policies: str) -> None:
    plan = make_plan(load_suite(str(tmp_path / "suite.yaml")), policies)
    run_benchmark(plan, tmp_path / "run")


def costs(folder: Path) -> dict[str, float | str]:
    """Scenario → mean delay or the reason for none, of the table."""
    episodes, _ = load_results(folder / RESULTS_FILE)
    found = {each.scenario: each.metrics["delay_mean_s"] for each in episodes}
    return {scenario: result.value if result.valid else result.reason for scenario, result in found.items()}


def test_counterfactuals_fill_in_what_the_robot_costs(run: Path) -> None:
    before, _ = load_results(run / RESULTS_FILE)
    assert {before[0].metrics[name].reason for name in COST_METRICS} == {NO_COUNTERFACTUAL}
    assert make_counterfactuals(run) == CounterfactualResult(2, 0, ())
    after, _ = load_results(run / RESULTS_FILE)
    assert all(after[0].metrics[name].valid for name in COST_METRICS)
    assert after[0].metrics["affected_people"].value == 1.0
    others = set(before[0].metrics) - set(COST_METRICS)
    assert {name: after[0].metrics[name] for name in others} == {name: before[0].metrics[name] for name in others}
    assert after[0].digest == before[0].digest
    assert costs(run)["alone"] == "nobody was present"


def test_scoring_and_resuming_keep_the_costs(run: Path, tmp_path: Path) -> None:
    make_counterfactuals(run)
    first = costs(run)
    score_run(run)
    assert costs(run) == first
    carry_on(tmp_path, "straight")
    assert costs(run) == first
    assert not audit_run(run).problems


def test_another_policy_shares_the_counterfactuals_and_a_longer_episode_extends_them(run: Path, tmp_path: Path) -> None:
    assert make_counterfactuals(run).made == 2
    path = run / COUNTERFACTUALS / "met__seed0.parquet"
    short = load_record(path)
    carry_on(tmp_path, "straight", "stop")
    assert make_counterfactuals(run).made == 2  # the robot that stands takes all of the time
    long = load_record(path)
    assert long.steps > short.steps
    assert np.array_equal(short.person_position, long.person_position[: short.steps + 1], equal_nan=True)
    assert make_counterfactuals(run) == CounterfactualResult(0, 2, ())


def test_a_damaged_counterfactual_is_made_again(run: Path) -> None:
    make_counterfactuals(run)
    path = run / COUNTERFACTUALS / "met__seed0.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    score_run(run)
    assert costs(run)["met"] == NO_COUNTERFACTUAL
    assert make_counterfactuals(run) == CounterfactualResult(1, 1, ())
    assert costs(run)["met"] != NO_COUNTERFACTUAL


def test_counterfactuals_do_not_depend_on_workers(run: Path) -> None:
    make_counterfactuals(run)
    one = load_record(run / COUNTERFACTUALS / "met__seed0.parquet").digest
    for path in (run / COUNTERFACTUALS).iterdir():
        path.unlink()
    make_counterfactuals(run, workers=2)
    assert load_record(run / COUNTERFACTUALS / "met__seed0.parquet").digest == one


def test_packs_have_the_counterfactuals(run: Path, tmp_path: Path) -> None:
    make_counterfactuals(run)
    packed = tmp_path / "run.sidestep"
    write_pack(run, packed)
    with opened_runs([packed]) as [opened]:
        score_run(opened)
        assert costs(opened.folder) == costs(run)


def test_a_folder_without_records_has_no_counterfactuals(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such run folder"):
        make_counterfactuals(tmp_path / "nothing")
    assert counterfactual_path(tmp_path / "episodes" / "p" / "a.parquet") == tmp_path / COUNTERFACTUALS / "a.parquet"
