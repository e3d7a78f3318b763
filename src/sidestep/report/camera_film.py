"""Stills and films of a record by any cameras: colour, depth and classes beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.drawing.shapes import Picture
from sidestep.errors import BadInput
from sidestep.report.film import check_film, film_steps, write_film
from sidestep.report.montage import Montage
from sidestep.types.record import EpisodeRecord
from sidestep.types.sensors import CameraSettings

FPS = 20


def draw_still(
    record: EpisodeRecord,
    path: Path,
    *,
    time_s: float = 0.0,
    cameras: Sequence[str] = ("first",),
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
) -> None:
    """One moment into a PNG or JPEG file."""
    montage = Montage(record, cameras, panels, settings, title=False)
    step = int(np.argmin(np.abs(record.time - time_s)))
    save_picture(montage.frame(step), path)


def save_picture(picture: Picture, path: Path, quality: int = 90) -> None:
    """Into a file; the format is chosen by its name."""
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise BadInput(f"{path}: a still is a .png or .jpg file; rename it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path, quality=quality, optimize=True)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}; choose another place") from error


def draw_film(
    record: EpisodeRecord,
    path: Path,
    *,
    cameras: Sequence[str] = ("first",),
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
    fps: int = FPS,
    about: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """The whole episode into an MP4 (extra ``video``) or GIF file; ``progress`` hears (frames done, of how many)."""
    if fps <= 0:
        raise BadInput(f"a film needs fps above zero, got {fps}")
    check_film(path)
    montage = Montage(record, cameras, panels, settings)
    steps = film_steps(record, fps, 1.0)

    def frames() -> Iterator[Picture]:
        for done, step in enumerate(steps, start=1):
            yield montage.frame(step)
            if progress is not None:
                progress(done, len(steps))

    write_film(frames(), path, fps, montage.size, about)
