"""The section of the report about suite ``socnav``, its files, its film strip; the log of an episode."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.errors import BadInput, UnknownName
from sidestep.records import save_record
from sidestep.records.exports.episode_log import episode_log
from sidestep.render.films.top_view import EpisodeView
from sidestep.report import write_report
from sidestep.report.papers.socnavbench.episodes import SocnavRun, read_episode, read_socnav
from sidestep.report.papers.socnavbench.plots import PLOTS, draw_plot, plotted_episodes
from sidestep.report.papers.socnavbench.section import choose_episode, film_strip
from sidestep.report.plots import image_bytes
from sidestep.report.selection import LabelledEpisode
from sidestep.runs.episode import score_episode
from sidestep.runs.finished import FinishedRun
from sidestep.runs.folder import RunFile, episode_path, save_results
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord, Event
from tests.report.conftest import Builder

COLOURS = {"orca": "#4169f0", "oracle": "#e8833a"}
TABLES = ("summary", "table2", "table3", "table4", "oracle")
FILES = {
    *(f"{name}.{form}" for name in TABLES for form in ("md", "tex", "csv")),
    *(f"fig{number}.{form}" for number in range(6, 12) for form in ("png", "svg")),
    "fig12.png",
}


def as_socnav(record: EpisodeRecord) -> EpisodeRecord:
    secret = {"needs": ("future",), "privileged": True}
    policy = replace(record.policy, **secret) if record.policy.name == "oracle" else record.policy
    return replace(record, scenario=record.scenario.model_copy(update={"suite": "socnav"}), policy=policy)


@pytest.fixture(scope="module")
def socnav_folder(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies, two scenarios; orca touches somebody in the second."""
    folder = tmp_path_factory.mktemp("socnav") / "run"
    outcomes = {("orca", "second"): Outcome.PEDESTRIAN_COLLISION}
    records = [
        as_socnav(build(policy, name, outcome=outcomes.get((policy, name), Outcome.SUCCESS), duration=2.0))
        for policy in ("oracle", "orca")
        for name in ("first", "second")
    ]
    plan = Plan(
        suite="socnav",
        scenarios=tuple({record.scenario.name: record.scenario for record in records}.values()),
        policies=(PolicyPlan(name="oracle"), PolicyPlan(name="orca")),
        seeds=(0,),
    )
    for record in records:
        save_record(record, episode_path(folder, record.policy.name, record.scenario.name, record.seed))
    RunFile(plan, commit="abc123", complete=True).save(folder)
    save_results([score_episode(record, "paper") for record in records], folder / "results.parquet", "paper")
    return folder


def labelled(folder: Path) -> list[LabelledEpisode]:
    run = FinishedRun(folder)
    return [LabelledEpisode(run, scores, scores.policy) for scores in run.episodes]


@pytest.fixture(scope="module")
def socnav_run(socnav_folder: Path) -> SocnavRun:
    run = read_socnav(labelled(socnav_folder))
    assert run is not None
    return run


def test_report_has_the_section_and_its_files(socnav_folder: Path, tmp_path: Path) -> None:
    files = write_report([socnav_folder], tmp_path / "r.html", tmp_path / "tables")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="socnav"' in page
    assert 'id="socnav-table2"' in page
    assert 'id="socnav-oracle"' in page
    assert "oracle (privileged)" in page
    assert page.count("data:image/svg+xml;base64,") == len(PLOTS)
    assert {path.name for path in files} == FILES == {path.name for path in (tmp_path / "tables").iterdir()}
    for path in files:
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert min(picture.size) > 200
        assert path.stat().st_size > 100


def test_other_suites_have_the_summary_only(run_folder: Path, tmp_path: Path) -> None:
    files = write_report([run_folder], tmp_path / "r.html", tmp_path / "tables")
    assert 'id="socnav"' not in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert {path.name for path in files} == {"summary.md", "summary.tex", "summary.csv"}
    assert "People: generated." in (tmp_path / "tables" / "summary.md").read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="socnav"):
        write_report([run_folder], tmp_path / "r.html", options={"strip": "corner"})


def test_records_other_than_those_scored_are_counted(socnav_folder: Path) -> None:
    first, *others = labelled(socnav_folder)
    run = read_socnav([replace(first, scores=replace(first.scores, digest="another")), *others])
    assert run is not None
    assert (len(run.episodes), run.missing) == (3, 1)


def test_strip_shows_the_episode_with_most_collisions(socnav_folder: Path, socnav_run: SocnavRun) -> None:
    assert choose_episode(socnav_run) == ("second", 0)
    assert choose_episode(socnav_run, "first") == ("first", 0)
    with pytest.raises(UnknownName, match="second"):
        choose_episode(socnav_run, "secnd")
    strip = film_strip(labelled(socnav_folder), socnav_run)
    assert strip.caption.startswith("second, seed 0")
    assert "Rows: orca, oracle." in strip.caption
    height, width = strip.picture.shape[:2]
    assert width > 2 * height


def test_touched_people_are_ringed(build: Builder) -> None:
    record = build(duration=2.0)
    plain, ringed = (EpisodeView(record, (200, 200), ring_touched=ring).frame(0) for ring in (False, True))
    assert not np.array_equal(plain, ringed)
    unharmed = build(duration=2.0, outcome=Outcome.SUCCESS)
    one, other = (EpisodeView(unharmed, (200, 200), ring_touched=ring).frame(0) for ring in (False, True))
    assert np.array_equal(one, other)


def test_plots_are_of_compared_episodes_and_reproducible(socnav_run: SocnavRun) -> None:
    assert len(plotted_episodes(socnav_run, "orca")) == 2
    plot = PLOTS[0]
    first, second = (image_bytes(draw_plot(plot, socnav_run, COLOURS), "svg") for _ in range(2))
    assert first == second


def test_plots_without_common_episodes_take_all(build: Builder) -> None:
    record = as_socnav(build("orca", duration=1.0, outcome=Outcome.TIMEOUT))
    run = SocnavRun((read_episode("orca", replace(record, events=())),))
    assert run.common == frozenset()
    assert len(plotted_episodes(run, "orca")) == 1
    for plot in PLOTS:
        draw_plot(plot, run, COLOURS)


def test_distances_are_capped_and_known(build: Builder) -> None:
    episode = read_episode("orca", build(duration=2.0))
    assert np.isfinite(episode.closest_distance).all()
    assert episode.closest_distance.max() <= 10.0
    assert episode.time_to_collision.max() <= 10.0
    assert (episode.planning_time == 0.002).all()


def test_log_tells_contacts_limits_and_the_end(build: Builder) -> None:
    record = build(duration=4.0)
    limits = (Event(0.5, "limit_start", "turn_rate"), Event(0.75, "limit_end", "turn_rate"))
    lines = episode_log(replace(record, events=(*record.events, *limits)))
    assert [line.kind for line in lines] == ["start", "limit_start", "collision_start", "goal_reached", "end"]
    assert lines[1].text == "limit of turn rate cuts the command until 0.75 s"
    assert "person 105" in lines[2].text
    assert "for 0.40 s" in lines[2].text
    assert "overlapping by up to 0.020 m" in lines[2].text
    assert lines[-1].text.startswith("ends: pedestrian collision after 4.00 s")
    assert [line.time for line in lines] == sorted(line.time for line in lines)


def test_command_line(socnav_folder: Path, tmp_path: Path) -> None:
    options = ["--out", str(tmp_path / "r.html"), "--tables", str(tmp_path / "t"), "--strip", "first", "--json"]
    told = CliRunner().invoke(app, ["report", str(socnav_folder), *options])
    assert told.exit_code == 0
    assert {Path(file).name for file in json.loads(told.stdout)["files"]} == FILES
    record = str(episode_path(socnav_folder, "orca", "second", 0))
    assert "touches person 105" in CliRunner().invoke(app, ["replay", record, "--log"]).stdout
    log = json.loads(CliRunner().invoke(app, ["replay", record, "--log", "--json"]).stdout)["record"]["log"]
    assert [line["kind"] for line in log] == ["start", "collision_start", "goal_reached", "end"]
