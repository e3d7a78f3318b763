"""Films as files: formats, errors that say what to do, and nothing half-written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput, MissingExtra
from sidestep.render.films import film
from sidestep.render.top_view.canvas import Picture
from tests.needs import reason_missing

SIZE = (64, 48)


def pictures(count: int = 5, size: tuple[int, int] = SIZE) -> Iterator[Picture]:
    for k in range(count):
        yield np.full((size[1], size[0], 3), 40 * k % 200, np.uint8)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_mp4_holds_all_frames_and_what_it_is_about(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason=reason_missing("av"))
    path = tmp_path / "deep" / "a.mp4"
    film.write_film(pictures(23), path, 20, SIZE, "record=abc cameras=first")
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        assert container.streams.video[0].average_rate == 20
    assert len(frames) == 23
    assert frames[3].shape == (48, 64, 3)
    assert abs(int(frames[3].mean()) - 120) < 8
    assert film.read_about(path) == "record=abc cameras=first"
    assert left_in(path.parent) == ["a.mp4"]


def test_a_gif_needs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    path = tmp_path / "a.gif"
    film.write_film(pictures(4), path, 10, SIZE, "about")
    with Image.open(path) as gif:
        assert gif.size == SIZE
        assert getattr(gif, "n_frames", 1) == 4
    assert film.read_about(path) == "about"


def test_nothing_is_known_about_what_is_no_film(tmp_path: Path) -> None:
    assert film.read_about(tmp_path / "missing.mp4") == ""
    (tmp_path / "text.mp4").write_text("no film")
    assert film.read_about(tmp_path / "text.mp4") == ""


@pytest.mark.parametrize("name", ["a.avi", "film", "a.mp4.txt"])
def test_an_unknown_suffix(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"\.mp4 or a \.gif"):
        film.write_film(pictures(), tmp_path / name, 20, SIZE)
    assert left_in(tmp_path) == []


def test_a_folder_in_the_place_of_a_film(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").mkdir()
    with pytest.raises(BadInput, match="is a folder; name a file in it"):
        film.check_film(tmp_path / "a.mp4")


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BadInput, match=r"cannot be written: .*choose another folder"):
        film.write_film(pictures(), tmp_path / "file" / name, 20, SIZE)


def test_a_missing_package_and_a_missing_codec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    with monkeypatch.context() as patch:
        patch.setattr(film, "CODEC", "libnosuch")
        with pytest.raises(BadInput, match=r"no H.264 encoder \(libnosuch\); install .*or write a \.gif"):
            film.write_film(pictures(), tmp_path / "a.mp4", 20, SIZE)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[video\]"):
        film.write_film(pictures(), tmp_path / "a.mp4", 20, SIZE)
    assert left_in(tmp_path) == []


def test_odd_sizes(tmp_path: Path) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    with pytest.raises(BadInput, match="even sizes, got 63 × 48"):
        film.write_film(pictures(size=(63, 48)), tmp_path / "a.mp4", 20, (63, 48))


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_drawing_that_fails_leaves_the_old_film(tmp_path: Path, name: str) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    film.write_film(pictures(), tmp_path / name, 20, SIZE, "old")

    def broken() -> Iterator[Picture]:
        yield from pictures(3)
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        film.write_film(broken(), tmp_path / name, 20, SIZE, "new")
    assert left_in(tmp_path) == [name]
    assert film.read_about(tmp_path / name) == "old"


def test_an_encoder_that_fails_stops_the_drawing(tmp_path: Path) -> None:
    """The error of the encoder's thread comes out, and no more pictures are drawn than wait."""
    drawn = []

    def fail(picture: Picture) -> None:
        raise ValueError("cannot encode")

    def draw() -> Iterator[Picture]:
        for picture in pictures(1000):
            drawn.append(1)
            yield picture

    with pytest.raises(ValueError, match="cannot encode"):
        film.in_background(draw(), fail)
    assert len(drawn) <= film.WAITING + 1
