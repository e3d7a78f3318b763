"""What a notebook shows of a record."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.types.record import EpisodeRecord
from tests.needs import in_browser
from tests.report.conftest import EVIL, Builder
from tests.report.watching import Watched


def test_the_short_form_says_what_happened(record: EpisodeRecord) -> None:
    text = repr(record)
    assert record.scenario.name in text
    assert record.policy.name in text
    assert str(record.outcome).replace("_", " ") in text
    assert len(text) < 200


def test_plot_gives_an_image_of_the_moment(record: EpisodeRecord) -> None:
    first, last = record.plot(0.0), record.plot()
    assert first.size == (640, 640)
    assert np.asarray(first).tobytes() != np.asarray(last).tobytes()
    assert record.plot(0.0, size=(320, 200)).size == (320, 200)
    assert np.asarray(record.plot(1e6)).tobytes() == np.asarray(last).tobytes(), "after the end it stays as it ended"


def test_plot_into_axes_is_in_metres(record: EpisodeRecord) -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert record.plot(0.0, ax=axes) is axes
    low_x, high_x, low_y, high_y = axes.get_images()[0].get_extent()
    x, y = record.robot_pose[0, :2]
    assert low_x < x < high_x
    assert low_y < y < high_y
    assert axes.get_xlabel() == "x (m)"


def test_the_html_is_safe_and_has_a_picture(build: Builder) -> None:
    record = build(name=EVIL)
    page = record._repr_html_()
    assert "<img src=x" not in page
    assert "data:image/png;base64," in page
    assert record.digest[:12] in page
    assert "<script" not in page


def test_a_player_is_one_page(record: EpisodeRecord, tmp_path: Path) -> None:
    player = record.play(height=500)
    file = player.save(tmp_path / "episode.html")
    assert "<script" in file.read_text()
    inside = player._repr_html_()
    assert inside.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts"' in inside
    assert "height: 500px" in inside
    assert inside.count('"') == 2 * 3, "the page inside must not end the attribute that holds it"
    with pytest.raises(BadInput, match="100 to 4000 pixels"):
        record.play(height=5)


@pytest.mark.parametrize("view", ["flat", "deep"])
class TestInABrowser:
    pytestmark = in_browser

    def test_the_player_shows_the_episode_inside_a_frame(
        self, browser: Any, record: EpisodeRecord, tmp_path: Path, view: str
    ) -> None:
        page = tmp_path / "notebook.html"
        page.write_text(f"<!doctype html><body>{record.play()._repr_html_()}</body>", encoding="utf-8")
        watched = Watched(browser, page)
        inner = watched.page.frame_locator("iframe")
        inner.locator("#player [data-part='play']").wait_for()
        if view == "flat":
            inner.locator("#player [data-part='view-top']").click()
        watched.page.wait_for_timeout(600)
        canvas = inner.locator(f"#player [data-part='{view}']")
        picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
        width, height = picture.size
        middle = picture.crop((width // 8, height // 3, 7 * width // 8, 5 * height // 6))  # without the buttons
        assert len(middle.getcolors(1 << 24)) > 60, "a blank canvas has a handful of colours"
