"""The viewer and the report in a real browser: they play, they obey, they complain about nothing, they ask nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidestep.report import write_report
from sidestep.report.viewer import write_viewer
from sidestep.types.record import EpisodeRecord
from tests.needs import in_browser
from tests.report.watching import Watched

pytestmark = in_browser


@pytest.fixture(scope="module")
def page_file(record: EpisodeRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("viewer") / "episode.html"
    write_viewer(record, path)
    return path


@pytest.fixture(scope="module")
def opened(browser: Any, page_file: Path) -> Iterator[Watched]:
    watched = Watched(browser, page_file)
    yield watched
    watched.close()


RESET = """() => {
  const part = (name) => document.querySelector(`#player [data-part="${name}"]`);
  if (document.getElementById("player").dataset.playing === "true") part("play").click();
  for (const name of ["follow", "arrows", "space", "lidar"]) if (part(name).checked) part(name).click();
  if (!part("trails").checked) part("trails").click();
  part("speed").value = "1"; part("view-orbit").click(); part("reset").click();
  part("scrub").value = 0; part("scrub").dispatchEvent(new Event("input"));
  delete document.documentElement.dataset.theme; document.activeElement.blur();
}"""


@pytest.fixture
def viewer(opened: Watched) -> Iterator[Watched]:
    """One page for all tests, as if just opened: loading it costs more than most of them."""
    opened.page.emulate_media(color_scheme="light")
    opened.page.evaluate(RESET)
    opened.wait("d.time === '0.000'")
    yield opened
    assert opened.complaints == []


def test_play_and_pause(viewer: Watched) -> None:
    assert viewer.time() == 0
    viewer.part("play").click()
    viewer.wait("d.playing === 'true' && Number(d.time) > 0.2")
    viewer.part("play").click()
    viewer.wait("d.playing === 'false'")
    stopped = viewer.time()
    viewer.page.wait_for_timeout(120)
    assert viewer.time() == stopped


def test_scrub_moves_robot_clock_and_facts(viewer: Watched, record: EpisodeRecord) -> None:
    viewer.part("scrub").evaluate("e => { e.value = 500; e.dispatchEvent(new Event('input')) }")
    viewer.wait("d.time === '4.000'")
    assert viewer.part("clock").inner_text() == "4.00 / 8.00 s"
    x, y, _ = record.robot_pose[80]
    assert viewer.part("fact-place").inner_text() == f"{x:.2f}, {y:.2f} m"
    assert viewer.part("fact-people").inner_text() == "14"
    viewer.part("events").locator("button").first.hover()
    assert "touches person 105" in viewer.part("tip").inner_text()
    viewer.part("events").locator("button").last.click()
    viewer.wait("d.time === '8.000'")


def test_both_views_show_the_scene(viewer: Watched) -> None:
    assert viewer.state("view") == "orbit"
    assert viewer.colours("deep") > 200
    viewer.part("view-top").click()
    viewer.wait("d.view === 'top'")
    assert viewer.colours("flat") > 200
    assert not viewer.part("deep").is_visible()
    viewer.page.keyboard.press("3")
    viewer.wait("d.view === 'chase'")
    assert viewer.colours("deep") > 200


def test_speed_changes_how_fast_time_runs(viewer: Watched) -> None:
    viewer.part("speed").select_option("8")
    viewer.part("play").click()
    viewer.wait("d.playing === 'false' && d.time === '8.000'")
    viewer.page.keyboard.press("-")
    assert viewer.part("speed").input_value() == "4"
    options = viewer.part("speed").locator("option").evaluate_all("all => all.map(o => Number(o.value))")
    assert options == [0.25, 0.5, 1, 2, 4, 8]


def test_keys_toggle_extras_and_drags_turn_the_camera(viewer: Watched) -> None:
    box = viewer.part("screen").bounding_box()
    before = viewer.part("deep").screenshot()
    viewer.page.mouse.move(box["x"] + 200, box["y"] + 150)
    viewer.page.mouse.down()
    viewer.page.mouse.move(box["x"] + 320, box["y"] + 190, steps=3)
    viewer.page.mouse.up()
    viewer.page.wait_for_timeout(80)
    assert viewer.part("deep").screenshot() != before
    assert viewer.state("playing") == "false"
    for key, part in {"f": "follow", "p": "space", "v": "arrows", "l": "lidar"}.items():
        viewer.page.keyboard.press(key)
        assert viewer.part(part).is_checked()
    viewer.page.keyboard.press("t")
    assert not viewer.part("trails").is_checked()
    viewer.page.keyboard.press("End")
    viewer.wait("d.time === '8.000'")
    viewer.page.keyboard.press("Shift+ArrowLeft")
    viewer.wait("d.time === '7.000'")


def test_light_and_dark(viewer: Watched) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = viewer.page.evaluate(ground)
    viewer.page.locator("#theme").click()
    assert viewer.page.evaluate(ground) != light
    viewer.page.emulate_media(color_scheme="dark")
    viewer.page.locator("#theme").click()
    assert viewer.page.evaluate(ground) == light


def test_without_webgl_the_top_view_plays(browser: Any, page_file: Path) -> None:
    watched = Watched(browser, page_file)
    watched.context.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest)"
        " { return kind.startsWith('webgl') ? null : get.call(this, kind, ...rest) }"
    )
    watched.page.reload()
    assert watched.state("view") == "top"
    assert watched.part("view-orbit").is_disabled()
    watched.part("play").click()
    watched.wait("Number(d.time) > 0.1")
    watched.close()


def test_a_report_of_two_policies_plays_its_episodes(browser: Any, run_folder: Path, tmp_path: Path) -> None:
    write_report([run_folder], tmp_path / "report.html")
    watched = Watched(browser, tmp_path / "report.html", color_scheme="dark")
    page = watched.page
    page.locator(".heat [data-replay]").last.click()
    watched.wait("Number(d.time) > 0.1")
    watched.part("policy").select_option("orca")
    watched.wait("d.playing === 'false' && Number(d.time) === 0")
    card = page.locator("[data-card]").first
    card.scroll_into_view_if_needed()
    card.locator("canvas").click()
    watched.wait("d.playing === 'true'", "[data-card]")
    card.locator("[data-replay]").click()
    watched.wait(f"d.episode === '{card.get_attribute('data-episode')}'")
    assert watched.colours("deep") > 200
    watched.close()
