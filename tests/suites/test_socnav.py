"""The 33 episodes: as published, on recordings and on synthetic crowds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop
from sidestep.records import load_record
from sidestep.registry import make_policy
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.suites.socnav import SOCNAV, held_out_data, socnav_data
from tests.needs import skip_without_data

DATA = Path(os.environ.get("SIDESTEP_DATA", ""))
recordings = skip_without_data("socnavbench_peds")
published = skip_without_data("socnav_episodes.json")
GENERATED = SOCNAV.with_options({"source": "generated"})


def test_there_are_33_episodes_one_of_them_twice() -> None:
    scenarios = GENERATED.scenarios()
    assert len(scenarios) == len({scenario.name for scenario in scenarios}) == 33
    assert [scenario.name for scenario in scenarios if "duplicate" in scenario.tags] == ["t_hotel_cross"]
    by_name = {episode.name: episode for episode in socnav_data().episodes}
    twice, once = by_name["t_hotel_cross"], by_name["t_hotel_follow_diag"]
    assert (twice.start, twice.goal, twice.people) == (once.start, once.goal, once.people)


@published
def test_episodes_are_those_of_the_published_list() -> None:
    listed = json.loads((DATA / "socnav_episodes.json").read_text())["episodes"]
    for episode, entry in zip(socnav_data().episodes, listed, strict=True):
        assert episode.name == entry["name"]
        assert list(episode.start) == entry["robot_start"]
        assert list(episode.goal) == entry["robot_goal"][:2]
        assert episode.budget_s == entry["max_time_s"]
        for window, dataset in zip(episode.people, entry["datasets"], strict=True):
            assert window.recording == dataset["dataset"]
            assert window.first_person == dataset["first_ped_id"]
            assert window.first_frame == dataset["start_frame"]


@published
@recordings
def test_as_shipped_the_people_are_those_that_the_program_loads() -> None:
    """Where two windows of one recording are overlaid the record numbers people anew; their number is checked."""
    listed = {entry["name"]: entry for entry in json.loads((DATA / "socnav_episodes.json").read_text())["episodes"]}
    for scenario in SOCNAV.with_options({"source": "recorded", "time": "as-shipped"}).scenarios():
        world = build_world(scenario, 0)
        loaded = [set(dataset["ped_ids_loaded"]) for dataset in listed[scenario.name]["datasets"]]
        if len(loaded) == 1:
            assert set(world.person_id.tolist()) <= loaded[0]
        assert world.replay is not None
        here = np.isfinite(world.replay[::10, :, 0]).sum(axis=1)
        assert here.max() == pytest.approx(listed[scenario.name]["max_concurrent_peds"], abs=1)
        assert here.mean() == pytest.approx(listed[scenario.name]["mean_concurrent_peds"], rel=0.05)
        nearest = listed[scenario.name]["closest_ped_to_start_at_t0_m"]
        start = np.array(scenario.ego.start[:2])
        assert np.nanmin(np.hypot(*(world.replay[0, :, :2] - start).T)) == pytest.approx(nearest, abs=0.01)


@recordings
def test_recorded_where_the_recordings_are_installed() -> None:
    assert {scenario.source for scenario in SOCNAV.scenarios()} == {"recorded"}


def test_generated_where_they_are_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SIDESTEP_DATA", str(tmp_path))
    monkeypatch.setattr("sidestep.datasets.sources.user_folder", lambda: tmp_path)
    assert {scenario.source for scenario in SOCNAV.scenarios()} == {"generated"}
    with pytest.raises(BadInput, match="not installed"):
        SOCNAV.with_options({"source": "recorded"}).scenarios()
    with pytest.raises(BadInput, match="as-shipped"):
        SOCNAV.with_options({"source": "generated", "time": "as-shipped"}).scenarios()


def test_unknown_options_are_named() -> None:
    with pytest.raises(BadInput, match="reactivity"):
        SOCNAV.with_options({"reactivty": "pause"})
    with pytest.raises(BadInput, match="time"):
        SOCNAV.with_options({"time": "slow"})


def test_a_policy_gets_the_dynamics_that_it_asks_for() -> None:
    scenario = GENERATED.scenarios()[0]
    assert run_episode(scenario, make_policy("orca", {})).robot.dynamics == "holonomic"
    record = run_episode(scenario, Stop())
    assert record.robot.dynamics == "unicycle"
    assert record.source == "generated"


def test_no_person_stands_on_the_robot_at_the_start() -> None:
    for seed in (0, 1):
        for scenario in GENERATED.scenarios()[::4]:
            world = build_world(scenario, seed)
            assert world.replay is not None
            gap = np.hypot(*(world.replay[0, :, :2] - np.array(scenario.ego.start[:2])).T)
            assert np.nanmin(gap) > 0.8


def test_options_are_chosen_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sidestep.cli.app import app

    options = ["--set", "source=generated", "--set", "suite.step_s=0.1", "--set", "dynamics=holonomic", "--limit", "1"]
    result = CliRunner().invoke(app, ["run", "socnav", "--policy", "stop", *options, "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    record = load_record(next(tmp_path.rglob("t_ETH1*.parquet")))
    assert (record.step_s, record.robot.dynamics, record.source) == (0.1, "holonomic", "generated")
    assert CliRunner().invoke(app, ["run", "core", "--policy", "stop", "--set", "suite.time=native"]).exit_code == 2


HELD_OUT = held_out_data().windows


def test_the_test_split_begins_30_s_from_every_published_window() -> None:
    data = socnav_data()
    used = [(data.recordings[window.recording], window) for episode in data.episodes for window in episode.people]
    assert len(HELD_OUT) == 151
    assert len({(window.recording, window.start_s) for window in HELD_OUT}) == 151
    for window in HELD_OUT:
        dataset = data.recordings[window.recording].dataset
        begins = [known.first_frame / rec.recorded_hz for rec, known in used if rec.dataset == dataset]
        assert min(abs(window.start_s - begin) for begin in begins) >= 30.0


@recordings
def test_the_test_split_has_recorded_people_who_stand_off_the_start() -> None:
    scenarios = SOCNAV.with_options({"split": "test"}).scenarios()
    assert len({scenario.name for scenario in scenarios}) == 151
    for scenario in scenarios[::10]:
        world = build_world(scenario, 0)
        assert scenario.source == "recorded"
        assert world.replay is not None
        assert world.people >= 3
        gap = np.hypot(*(world.replay[0, :, :2] - np.array(scenario.ego.start[:2])).T)
        assert not (gap < 1.0).any()


def test_the_test_split_needs_the_recordings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SIDESTEP_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="data list"):
        SOCNAV.with_options({"split": "test"}).scenarios()
    with pytest.raises(BadInput, match="split=dev"):
        SOCNAV.with_options({"split": "test", "source": "generated"}).scenarios()
