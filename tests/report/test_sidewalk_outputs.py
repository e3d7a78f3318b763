"""The section of the report about the sidewalk suites, its files, and films by behaviour."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.errors import BadInput, UnknownName
from sidestep.report import write_report
from sidestep.report.papers import choose_section_films, make_section_films, make_sections
from sidestep.report.papers.sidewalkbench.episodes import LONG, REACTIVE, UNIT, read_sidewalk
from sidestep.report.papers.sidewalkbench.plots import PLOTS, draw_plot
from sidestep.report.papers.sidewalkbench.section import SECTION, choose_sidewalk_films
from sidestep.report.plots import image_bytes
from sidestep.report.selection import LabelledEpisode, film_list, label_episodes
from sidestep.runs.finished import FinishedRun
from sidestep.types.outcome import Outcome
from sidestep.types.record import Event
from tests.needs import skip_without_package
from tests.report.conftest import Builder
from tests.report.sidewalk_runs import OUT, TOUCHED, sidewalk_record, write_run
from tools.results import fill_page

COLOURS = {"expert": "#4169f0", "naive": "#e8833a"}
FILES = {
    *(f"sidewalk_table{k}.{form}" for k in (2, 5, 6, 7) for form in ("md", "tex", "csv")),
    *(f"sidewalk_{name}.{form}" for name in ("fig4", "fig6", "behaviours") for form in ("png", "svg")),
    *(f"summary.{form}" for form in ("md", "tex", "csv")),
}
needs_video = skip_without_package("av")


@pytest.fixture(scope="module")
def folders(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of each suite."""
    base = tmp_path_factory.mktemp("sidewalk")
    frozen = (Event(1.0, "frozen"),)
    unit, reactive, long = [], [], []
    for policy in ("naive", "expert"):
        unit += [sidewalk_record(build, policy, UNIT, f"{kind}-a") for kind in ("straight", "curve")]
        unit.append(sidewalk_record(build, policy, UNIT, "curve-p", place="real"))
        long += [sidewalk_record(build, policy, LONG, "long-a", events=frozen)]
        long += [sidewalk_record(build, policy, LONG, "long-p", place="real")]
        reactive.append(sidewalk_record(build, policy, REACTIVE, "static-a", duration=1.0))
    for k, outcome in enumerate((OUT, TOUCHED, TOUCHED, TOUCHED)):
        reactive.append(sidewalk_record(build, "naive", REACTIVE, f"lateral-{k}", outcome, duration=1.0))
    return [
        write_run(base / name, records) for name, records in (("unit", unit), ("reactive", reactive), ("long", long))
    ]


def labelled(*folders: Path) -> list[LabelledEpisode]:
    return label_episodes([FinishedRun(folder) for folder in folders])


def test_report_has_the_section_and_its_files(folders: list[Path], tmp_path: Path) -> None:
    files = write_report(folders, tmp_path / "r.html", tmp_path / "tables")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in ('id="sidewalk"', 'id="sidewalk_table2"', 'id="sidewalk_table7"', "OpenPilot †", 'href="#sidewalk"'):
        assert part in page
    assert page.count("data:image/svg+xml;base64,") == len(PLOTS)
    assert {path.name for path in files} == FILES == {path.name for path in (tmp_path / "tables").iterdir()}
    for path in files:
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert min(picture.size) > 200


def test_only_what_ran_is_shown(folders: list[Path], run_folder: Path) -> None:
    only = SECTION.make(labelled(folders[1]), COLOURS, {})
    assert only is not None
    assert [table.name for table in only.tables] == ["sidewalk_table2", "sidewalk_table6"]
    assert [figure.name for figure in only.figures] == ["sidewalk_behaviours"]
    assert make_sections(labelled(run_folder), COLOURS, {}) == []


def test_the_same_picture_is_the_same_bytes(folders: list[Path]) -> None:
    run = read_sidewalk(labelled(*folders))
    assert run is not None
    first, second = (image_bytes(draw_plot(PLOTS[0], run, COLOURS), "svg") for _ in range(2))
    assert first == second


def test_figures_of_policies_that_never_move(build: Builder, tmp_path: Path) -> None:
    record = sidewalk_record(build, "naive", LONG, "long-a", Outcome.TIMEOUT)
    still = record.robot_pose.copy()
    still[:] = still[0]
    record = replace(record, robot_pose=still, robot_velocity=0 * record.robot_velocity)
    made = SECTION.make(labelled(write_run(tmp_path / "still", [record])), COLOURS, {})
    assert made is not None
    assert made.tables[0].sections[0].rows[0].cells[0].estimate.value is None


def test_films_show_the_commonest_failure(folders: list[Path]) -> None:
    run = read_sidewalk(labelled(folders[1]))
    assert run is not None
    films = choose_sidewalk_films(run)
    told = [(film.kind, film.label, film.episode.scores.outcome, film.count, film.of) for film in films]
    assert told == [
        ("static", "naive", "success", 1, 1),
        ("static", "expert", "success", 1, 1),
        ("lateral", "naive", "pedestrian_collision", 3, 4),
    ]
    assert films[2].file == "lateral/naive_failure.mp4"
    assert [film.label for film in choose_sidewalk_films(run, ["expert"])] == ["expert"]
    assert "| sidewalk-reactive | lateral | naive | pedestrian collision | 3 of 4 |" in film_list(films)
    with pytest.raises(UnknownName, match="naive"):
        choose_sidewalk_films(run, ["naiv"])


@needs_video
def test_films_are_made_once(folders: list[Path], tmp_path: Path) -> None:
    films = choose_section_films(labelled(folders[1]), ["naive"])
    assert len(films) == 2
    paths = make_section_films(films, tmp_path, ("top",), (96, 64))
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "static/naive_success.mp4",
        "lateral/naive_failure.mp4",
        "films.md",
    ]
    before = [path.stat().st_mtime_ns for path in paths[:2]]
    assert make_section_films(films, tmp_path, ("top",), (96, 64)) == paths
    assert [path.stat().st_mtime_ns for path in paths[:2]] == before
    make_section_films(films, tmp_path, ("top",), (64, 64))
    assert paths[0].stat().st_mtime_ns != before[0]


@needs_video
def test_films_that_cannot_be_made(folders: list[Path]) -> None:
    with pytest.raises(BadInput, match="sidewalk-reactive"):
        choose_section_films(labelled(folders[2]))
    command = ["report", str(folders[1]), "--films", str(folders[1] / "films"), "--camera", "topp"]
    assert "no camera is called 'topp'" in CliRunner().invoke(app, command).output


@needs_video
def test_command_line(folders: list[Path], tmp_path: Path) -> None:
    options = ["--films", str(tmp_path / "f"), "--film-policy", "expert", "--camera", "top", "--size", "64x64"]
    command = ["report", str(folders[1]), "--out", str(tmp_path / "r.html")]
    told = CliRunner().invoke(app, [*command, *options, "--json"])
    assert told.exit_code == 0, told.output
    assert [Path(film).name for film in json.loads(told.stdout)["films"]] == ["expert_success.mp4", "films.md"]
    assert CliRunner().invoke(app, [*command, "--film-policy", "expert"]).exit_code == 2


def test_page_is_filled_again_and_again(tmp_path: Path) -> None:
    page, tables, images = tmp_path / "suites" / "page.md", tmp_path / "tables", tmp_path / "images"
    for folder in (page.parent, tables, images):
        folder.mkdir()
    (tables / "one.md").write_text("### Title\n\n| a |\n\n- note\n", encoding="utf-8")
    Image.new("RGB", (4, 4)).save(tables / "two.png")
    parts = [f"<!-- begin {name} -->\nold\n<!-- end {name} -->" for name in ("one", "two", "counts")]
    page.write_text("Before\n" + "\nbetween\n".join(parts) + "\nAfter\n", encoding="utf-8")
    assert fill_page(page, tables, images) == ["one", "two", "counts"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before\n<!-- begin one -->\n\n| a |\n\n- note\n\n<!-- end one -->\nbetween\n")
    assert "![two](../images/two.png)" in text
    assert (images / "two.png").is_file()
    assert "| `sidewalk-reactive` | gesturing |" in text
    assert "old" not in text
    (tables / "two.png").unlink()  # what is not made anew stays as it is
    assert fill_page(page, tables, images) == ["one", "counts"]
    assert page.read_text(encoding="utf-8") == text
