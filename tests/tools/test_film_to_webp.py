"""Films for pages: fewer frames, the same duration, and a limit of size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tools.film_to_webp
from tools.film_to_webp import film_to_webp

README_FILM = Path(__file__).resolve().parents[2] / "docs" / "images" / "episode.webp"


def make_film(path: Path, frames: int) -> None:
    pictures = [Image.fromarray(np.full((24, 32, 3), 40 * k, np.uint8)) for k in range(frames)]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=50)


def test_every_second_frame_at_the_same_speed(tmp_path: Path) -> None:
    make_film(tmp_path / "film.gif", 5)
    assert film_to_webp(tmp_path / "film.gif", tmp_path / "film.webp") == (tmp_path / "film.webp").stat().st_size
    film = Image.open(tmp_path / "film.webp")
    durations = []
    for frame in range(film.n_frames):
        film.seek(frame)
        film.load()
        durations.append(film.info["duration"])
    assert durations == [100, 100, 50]


def test_a_film_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_film(tmp_path / "film.gif", 2)
    monkeypatch.setattr(tools.film_to_webp, "LARGEST_BYTES", 10)
    with pytest.raises(SystemExit, match="--quality"):
        film_to_webp(tmp_path / "film.gif", tmp_path / "film.webp")


def test_the_film_of_the_readme_is_small() -> None:
    assert 50_000 < README_FILM.stat().st_size <= tools.film_to_webp.LARGEST_BYTES
