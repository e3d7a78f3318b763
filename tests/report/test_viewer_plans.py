"""Plans, forecasts, gestures and events in a real browser, on real episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sidestep.report.viewer import write_viewer
from sidestep.types.record import EpisodeRecord, PolicyInfo
from tests.needs import in_browser
from tests.report.episodes import eventful, planned
from tests.report.watching import Watched

pytestmark = in_browser
Open = Callable[..., Watched]
PLAN, STOP, SIDEWALK, ROAD, VERGE, RAMP = (
    (139, 47, 214), (229, 36, 63), (239, 233, 220), (185, 192, 202), (224, 227, 176), (207, 194, 238),
)  # fmt: skip
"""Of the light theme."""


@pytest.fixture(scope="module")
def open_page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    opened: list[Watched] = []

    def open_record(record: EpisodeRecord, moment: str = "") -> Watched:
        path = tmp_path_factory.mktemp("viewer") / "episode.html"
        write_viewer(record, path)
        opened.append(Watched(browser, path, moment, color_scheme="light"))
        return opened[-1]

    yield open_record
    for watched in opened:
        watched.close()


def alike(watched: Watched, canvas: str, colour: tuple[int, int, int], within: int = 24) -> int:
    """Pixels of a canvas that have about that colour."""
    watched.page.wait_for_timeout(150)
    away = np.abs(np.asarray(watched.picture(canvas)).astype(int) - colour).max(axis=2)
    return int((away <= within).sum())


def robot_in(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the robot's blue, below the buttons, which have it too."""
    rows, columns = np.nonzero((picture[60:, :, 2] > 180) & (picture[60:, :, 0] < 60))
    return rows + 60, columns


def seek(watched: Watched, time: float, duration: float) -> None:
    watched.part("scrub").evaluate(
        f"e => {{ e.value = Number(e.max) * {time / duration}; e.dispatchEvent(new Event('input')) }}"
    )
    watched.wait(f"Math.abs(Number(d.time) - {time}) < 0.02")


def test_the_plan_and_the_forecasts_of_mpc_are_drawn_in_all_views(open_page: Open) -> None:
    watched = open_page(planned())
    seek(watched, 3.0, 6.0)
    watched.wait("Number(d.plan) > 15 && Number(d.forecasts) >= 8")
    for view, canvas in (("2", "flat"), ("1", "deep"), ("3", "deep")):
        watched.page.keyboard.press(view)
        assert alike(watched, canvas, PLAN) > 40
        watched.page.keyboard.press("i")
        watched.wait("d.plan === '0' && d.forecasts === '0'")
        assert alike(watched, canvas, PLAN) == 0
        watched.page.keyboard.press("i")
        watched.wait("Number(d.plan) > 15")
    watched.part("play").click()
    watched.wait("Number(d.time) > 3.3 && Number(d.plan) > 10")
    watched.part("play").click()
    assert watched.part("gestures").is_disabled()


def test_a_plan_is_where_the_record_says(open_page: Open) -> None:
    """In the view from above the last point of the plan is as many pixels from the robot as it is metres away."""
    record = planned()
    watched = open_page(record, "view=top&t=2")
    watched.page.keyboard.press("t")
    watched.wait("d.view === 'top' && d.time === '2.000'")
    plan, robot = record.plans.plan_at(40), record.robot_pose[40, :2]
    watched.page.wait_for_timeout(200)
    picture = np.asarray(watched.picture("flat")).astype(int)
    rows, columns = np.nonzero(np.abs(picture - PLAN).max(axis=2) <= 40)
    at_rows, at_columns = robot_in(picture)
    across = at_columns.max() - at_columns.min() + 1  # pixels of the robot's diameter
    scale = across / (2 * record.robot.footprint.enclosing_radius)
    reach = np.hypot(columns - at_columns.mean(), rows - at_rows.mean()).max() / scale
    assert reach == pytest.approx(np.hypot(*(plan - robot).T).max(), rel=0.2)


def test_gestures_events_and_ground_of_a_sidewalk(open_page: Open) -> None:
    record = eventful()
    watched = open_page(record)
    assert watched.part("plans").is_disabled()
    seek(watched, 3.0, record.duration)
    watched.wait("d.labels === 'stop!'")
    assert watched.part("labels").locator("span:visible").inner_text() == "stop!"
    for view, canvas in (("2", "flat"), ("1", "deep")):
        watched.page.keyboard.press(view)
        for colour in (SIDEWALK, ROAD, VERGE, RAMP):
            assert alike(watched, canvas, colour, 8) > 100
    seek(watched, 9.5, record.duration)
    watched.wait("d.labels === 'stop! talks looks about'")  # a group says it once
    watched.page.keyboard.press("g")
    watched.wait("d.labels === ''")
    assert watched.part("labels").locator("span:visible").count() == 0
    watched.page.keyboard.press("g")
    marks = watched.part("events").locator("button")
    kinds = marks.evaluate_all("all => all.map(e => e.className.split(' ')[1])")
    assert kinds == ["e-trigger"] * 3 + ["hit", "e-group", "hit", "e-route", "e-reset", "warn"]
    colours = marks.evaluate_all("all => all.map(e => getComputedStyle(e).backgroundColor)")
    assert len(set(colours)) == 6
    marks.nth(7).hover()
    assert "is put back on the route" in watched.part("tip").inner_text()
    marks.nth(7).click()
    watched.wait("d.time === '15.300' && d.labels.endsWith('put back')")


def test_help_and_legend(open_page: Open) -> None:
    watched = open_page(eventful(), "view=top")
    sheet = watched.part("sheet")
    assert not sheet.is_visible()
    watched.page.keyboard.press("?")
    assert sheet.is_visible()
    told = sheet.inner_text()
    for word in ("sidewalk", "crosswalk", "kerb", "verge", "time line: trigger", "where somebody looks"):
        assert word in told
    assert "means to go" not in told
    watched.page.keyboard.press("Escape")
    assert not sheet.is_visible()
    watched.part("help").click()
    watched.part("close").click()
    assert not sheet.is_visible()


def test_a_long_way_is_followed(open_page: Open) -> None:
    """The same street, driven ten times as far: the robot stays in the middle of the picture."""
    record = eventful()
    far = replace(record, robot_pose=record.robot_pose * (10.0, 1.0, 1.0), events=record.events[:3])
    watched = open_page(far, "view=top")
    assert watched.part("follow").is_checked()
    for moment, view, canvas in ((2.0, "2", "flat"), (12.0, "2", "flat"), (12.0, "1", "deep")):
        watched.page.keyboard.press(view)
        seek(watched, moment, record.duration)
        watched.page.wait_for_timeout(200)
        picture = np.asarray(watched.picture(canvas)).astype(int)
        rows, columns = robot_in(picture)
        assert abs(columns.mean() - picture.shape[1] / 2) < picture.shape[1] / 4
        assert abs(rows.mean() - picture.shape[0] / 2) < picture.shape[0] / 4
    watched.page.keyboard.press("f")
    watched.page.keyboard.press("0")
    watched.page.wait_for_timeout(200)
    assert watched.colours("deep") > 20


def test_the_lidar_is_drawn_from_its_mount(open_page: Open) -> None:
    record = replace(eventful(), policy=PolicyInfo("scanner", needs=("lidar",)))
    watched = open_page(record, "view=top&t=3")
    watched.wait("d.time === '3.000'")
    before = np.asarray(watched.picture("flat")).astype(int)
    watched.page.keyboard.press("l")
    watched.page.wait_for_timeout(200)
    changed = np.abs(np.asarray(watched.picture("flat")).astype(int) - before).max(axis=2) > 4
    _, columns = np.nonzero(changed)
    front = robot_in(before)[1].max()  # the middle of the scanner's half circle is 0.2 m ahead of it
    assert abs(columns.min() - front) <= 5
