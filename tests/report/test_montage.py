"""Cameras beside each other: sizes, what is where, words, stills and films."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.render.films.cameras import BAR_PX, Montage, draw_film, draw_still
from sidestep.render.mesh import Semantic
from sidestep.render.record_view import RecordView
from sidestep.simulation import run_episode
from sidestep.types import Observation, Task, Velocity
from sidestep.types.record import EpisodeRecord
from sidestep.types.sensors import CameraSettings
from tests.simulation.scenarios import make, room

SMALL = CameraSettings(width=64, height=48)


class Ahead:
    needs: frozenset[str] = frozenset()

    def reset(self, task: Task) -> None:
        """Nothing."""

    def act(self, observation: Observation) -> Velocity:
        return Velocity(0.5, 0.0)


@pytest.fixture(scope="module")
def record() -> EpisodeRecord:
    scenario = make(
        scene=room(10.0),
        robots=[{"spec": "pioneer_3dx", "start": [-2, 1.5, 0], "goal": [4, 1.5]}],
        crowd=[{"model": "static", "people": [{"start": [0.5, 1.9], "heading": 3.14}], "radius": 0.2}],
        rules={"step_s": 0.1, "time_limit_s": 1.0},
    )
    return run_episode(scenario, Ahead(), act_limit_s=None)


@pytest.mark.parametrize(
    ("cameras", "pictures", "size"),
    [
        (("first",), ("rgb",), (64, 48)),
        (("first",), ("rgb", "depth", "semantic", "instance"), (256, 48)),
        (("first", "chase"), ("rgb",), (128, 48)),
        (("first", "chase", "top"), ("rgb",), (176, 48)),
        (("first", "chase", "top"), ("rgb", "depth"), (192, 96)),
        (("top",), ("rgb",), (64, 48)),
        (("above", "above"), ("rgb", "rgb"), (64, 48)),
    ],
)
def test_sizes(
    record: EpisodeRecord, cameras: tuple[str, ...], pictures: tuple[str, ...], size: tuple[int, int]
) -> None:
    plain = Montage(record, cameras, pictures, SMALL, title=False)
    assert plain.size == size
    assert plain.frame(3).shape == (size[1], size[0], 3)
    titled = Montage(record, cameras, pictures, SMALL)
    assert titled.size == (size[0], size[1] + BAR_PX)
    assert np.array_equal(titled.frame(3)[BAR_PX:], plain.frame(3))


def test_each_panel_is_what_its_camera_sees(record: EpisodeRecord) -> None:
    picture = Montage(record, ("first", "chase"), ("rgb", "semantic"), SMALL, title=False).frame(5)
    view = RecordView(record, SMALL)
    assert np.array_equal(picture[:48, :64], view.images(5, ("rgb",), "first").rgb)
    assert np.array_equal(picture[:48, 64:], view.images(5, ("rgb",), "chase").rgb)
    person = view.images(5, ("semantic",), "first").semantic == Semantic.PERSON
    assert person.any()
    assert (picture[48:, :64][person] == picture[48:, :64][person][0]).all()


def test_the_title_tells_policy_scenario_outcome_and_time(record: EpisodeRecord) -> None:
    wide = Montage(record, ("first",), ("rgb",), CameraSettings(width=480, height=48))
    bars = [wide.frame(step)[:BAR_PX].astype(int) for step in (0, 5, 10)]
    words, clock = bars[0][:, :240], bars[0][:, 380:]
    assert words.std() > 10
    assert clock.std() > 10
    assert np.array_equal(bars[1][: BAR_PX - 2, :240], words[: BAR_PX - 2])
    assert not np.array_equal(bars[1][: BAR_PX - 2, 380:], clock[: BAR_PX - 2])
    coloured = [np.ptp(bar[BAR_PX - 1], axis=1) > 60 for bar in bars]
    assert [line.mean().round(1) for line in coloured] == [0.0, 0.5, 1.0]


def test_stills_and_films_are_written(record: EpisodeRecord, tmp_path: Path) -> None:
    draw_still(record, tmp_path / "still.png", time_s=0.5, settings=SMALL, panels=("rgb", "depth"))
    assert Image.open(tmp_path / "still.png").size == (128, 48)
    heard: list[tuple[int, int]] = []
    draw_film(
        record, tmp_path / "film.gif", cameras=("chase", "top"), settings=SMALL,
        progress=lambda done, of: heard.append((done, of)),
    )  # fmt: skip
    assert Image.open(tmp_path / "film.gif").size == (112, 48 + BAR_PX)
    assert heard[-1] == (31, 31)


def test_bad_names(record: EpisodeRecord, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'depth'"):
        draw_still(record, tmp_path / "x.png", panels=("dpeth",))
    with pytest.raises(BadInput, match="did you mean 'chase'"):
        draw_film(record, tmp_path / "x.gif", cameras=("chsae",))
    with pytest.raises(BadInput, match="at least one camera"):
        Montage(record, ())
    with pytest.raises(BadInput, match=r"\.png or \.jpg"):
        draw_still(record, tmp_path / "x.bmp", settings=SMALL)
    assert not list(tmp_path.iterdir())
