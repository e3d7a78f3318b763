"""Pictures show what the record says: looked at pixel by pixel."""

from __future__ import annotations

import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput, MissingExtra
from sidestep.records.exports.episode_log import contacts_of
from sidestep.render.films.cameras import BAR_PX, draw_film
from sidestep.render.films.top_view import EpisodeView, draw_png, draw_strip
from sidestep.render.top_view import palette
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.robot import Footprint
from sidestep.types.sensors import CameraSettings


def close_to(picture: np.ndarray, colour: palette.Colour, tolerance: int = 40) -> np.ndarray:
    return np.abs(picture.astype(int) - colour).max(axis=-1) <= tolerance


def around(view: EpisodeView, picture: np.ndarray, x: float, y: float, reach_m: float) -> np.ndarray:
    column, row = view.top.view.pixels(np.array([x, y])).astype(int)
    reach = int(reach_m * view.top.view.scale)
    return picture[max(0, row - reach) : row + reach, max(0, column - reach) : column + reach]


def test_robot_and_goal_are_where_the_record_has_them(record: EpisodeRecord) -> None:
    view = EpisodeView(record, (640, 480))
    picture = view.frame(20)
    assert picture.shape == (480, 640, 3)
    assert picture.dtype == np.uint8
    x, y, _ = record.robot_pose[20]
    assert close_to(around(view, picture, x, y, 0.2), palette.ROBOT).mean() > 0.4
    assert close_to(around(view, picture, *record.scenario.ego.goal, 0.2), palette.GOAL).mean() > 0.3


def test_heading_is_visible(record: EpisodeRecord) -> None:
    """The white wedge points ahead: more white before the robot's centre than behind it."""
    view = EpisodeView(record, (900, 900))
    x, y, heading = record.robot_pose[0]
    picture = view.frame(0)
    ahead = around(view, picture, x + 0.1 * np.cos(heading), y + 0.1 * np.sin(heading), 0.07)
    behind = around(view, picture, x - 0.15 * np.cos(heading), y - 0.15 * np.sin(heading), 0.07)
    assert close_to(ahead, palette.WHITE).mean() > close_to(behind, palette.WHITE).mean() + 0.2


def test_people_are_drawn_in_their_colours_and_the_absent_are_not(record: EpisodeRecord) -> None:
    view = EpisodeView(record, (900, 900))
    for index in (6, 14):
        x, y = record.person_position[10, index]
        spot = around(view, view.frame(10), x, y, 0.25)
        assert close_to(spot, palette.person_colour(index)).mean() > 0.15
    assert np.isnan(record.person_position[-1, 14]).all()
    assert np.isfinite(view.frame(record.steps)).all()


def test_contact_is_red_from_its_moment_on(record: EpisodeRecord) -> None:
    view = EpisodeView(record, (640, 640))
    (contact,) = contacts_of(record)
    step = int(np.argmin(np.abs(record.time - contact.time)))

    def red(k: int) -> int:
        return int(close_to(around(view, view.frame(k), contact.x, contact.y, 0.8), palette.COLLISION).sum())

    assert red(step - 1) == 0
    assert red(step) > 100  # ring and flash
    assert 4 < red(record.steps) < red(step)  # the dot that stays


def test_contact_lies_between_the_two_bodies(record: EpisodeRecord) -> None:
    (contact,) = contacts_of(record)
    step = int(np.argmin(np.abs(record.time - contact.time)))
    x, y, _ = record.robot_pose[step]
    assert contact.subject == "person:105"
    assert np.hypot(contact.x - x, contact.y - y) == pytest.approx(0.25, abs=0.02)
    assert contact.y > y  # the person is on that side


def test_frames_are_repeatable_and_leave_no_traces(record: EpisodeRecord) -> None:
    view = EpisodeView(record, (320, 320))
    first = view.frame(30)
    view.frame(record.steps)
    assert np.array_equal(first, view.frame(30))
    assert np.array_equal(first, EpisodeView(record, (320, 320)).frame(30))
    assert np.array_equal(view.frame(-1), view.frame(record.steps))


def test_step_outside_the_record_is_an_error(record: EpisodeRecord) -> None:
    with pytest.raises(BadInput, match="states 0 to 160"):
        EpisodeView(record, (64, 64)).frame(161)


def test_options_change_the_picture(record: EpisodeRecord) -> None:
    plain = EpisodeView(record, (300, 300)).frame(40)
    for option in ("velocities", "personal_space"):
        assert not np.array_equal(plain, EpisodeView(record, (300, 300), **{option: True}).frame(40))


def test_polygon_footprint_is_drawn_to_scale(build) -> None:  # type: ignore[no-untyped-def]
    long = Footprint(polygon=((-0.8, -0.2), (0.8, -0.2), (0.8, 0.2), (-0.8, 0.2)))
    record = build(footprint=long)
    view = EpisodeView(record, (900, 900))
    x, y, heading = record.robot_pose[0]
    picture = view.frame(0)
    for distance, inside in ((0.7, True), (0.95, False)):
        spot = around(view, picture, x - distance * np.cos(heading), y - distance * np.sin(heading), 0.05)
        assert close_to(spot, palette.ROBOT).mean() > 0.9 if inside else close_to(spot, palette.ROBOT).mean() < 0.1


def test_png_has_its_size(record: EpisodeRecord, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    drawn = draw_png(record, path, time=4.05, size=(500, 400))
    with Image.open(path) as image:
        assert image.size == (500, 400)
        assert np.array_equal(np.asarray(image), drawn)
    assert close_to(drawn, palette.COLLISION).sum() > 100


def test_strip_puts_instants_side_by_side(record: EpisodeRecord, tmp_path: Path) -> None:
    strip = draw_strip(record, [1.0, 4.1, 8.0], tmp_path / "s.png", size=(200, 160))
    assert strip.shape == (160, 3 * 200 + 2 * 6, 3)
    assert np.array_equal(strip[:, :200], EpisodeView(record, (200, 160)).frame(20))
    with pytest.raises(BadInput, match="at least one"):
        draw_strip(record, [])


def sized(width: int, height: int) -> CameraSettings:
    return CameraSettings(width=width, height=height)


def test_mp4_has_size_length_and_contents(record: EpisodeRecord, tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    draw_film(record, path, cameras=("top",), settings=sized(320, 240), fps=10)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert float(stream.average_rate) == 10
    assert frames[0].shape == (240 + BAR_PX, 320, 3)
    assert len(frames) == 81 + 5  # 8 s, and half a second of the end
    assert close_to(frames[41][BAR_PX:], palette.COLLISION, 60).sum() > 20
    assert close_to(frames[0][BAR_PX:], palette.COLLISION, 60).sum() == 0


def test_video_refuses_what_it_cannot_do(
    record: EpisodeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="even"):
        draw_film(record, tmp_path / "v.mp4", cameras=("top",), settings=sized(321, 240))
    with pytest.raises(BadInput, match="above zero"):
        draw_film(record, tmp_path / "v.mp4", cameras=("top",), fps=0)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[video\]"):
        draw_film(record, tmp_path / "v.mp4", cameras=("top",), settings=sized(64, 64))
    assert not (tmp_path / "v.mp4").exists()


def test_gif_needs_no_extra(record: EpisodeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    draw_film(record, tmp_path / "v.gif", cameras=("top",), settings=sized(120, 90), fps=2)
    with Image.open(tmp_path / "v.gif") as image:
        assert image.size == (120, 90 + BAR_PX)
        assert image.n_frames >= 10


def test_a_record_of_one_state_can_be_drawn(build) -> None:  # type: ignore[no-untyped-def]
    from dataclasses import replace

    whole = build(outcome=Outcome.TIMEOUT)
    names = ("time", "robot_pose", "robot_velocity", "person_position", "person_velocity", "person_heading")
    first = {name: getattr(whole, name)[:1] for name in (*names, "person_present", "person_group", "other_pose")}
    none = {name: getattr(whole, name)[:0] for name in ("command", "applied", "limited", "planning_time")}
    record = replace(whole, events=(), **first, **none)
    assert draw_png(record, size=(100, 100)).shape == (100, 100, 3)
