"""Writing pictures as a film: MP4 (H.264, extra ``video``), or GIF.

A film is encoded in a thread of its own while the next picture is drawn. It is whole or not there.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from sidestep.drawing.canvas import Picture
from sidestep.errors import BadInput, MissingExtra
from sidestep.types.record import EpisodeRecord
from sidestep.writing import atomic

Size = tuple[int, int]

SUFFIXES = (".mp4", ".gif")
CODEC: Final = "libx264"
SETTINGS = {"crf": "25", "preset": "superfast"}
"""Half the processor time and the bytes of ``veryfast`` at 20; text stays sharp."""
WAITING = 4
"""Pictures that may wait for the encoder."""


def write_film(frames: Iterator[Picture], path: Path | str, fps: int, size: Size, about: str = "") -> None:
    """All frames, of ``size`` (width, height) each; the format is chosen by the file's name. ``about`` is kept in the
    file, see :func:`read_about`."""
    path = Path(path)
    check_film(path, size)
    try:
        with atomic(path) as temporary:
            if path.suffix.lower() == ".gif":
                _write_gif(frames, temporary, fps, about)
            else:
                _write_mp4(frames, temporary, fps, size, about)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}; choose another place") from error


def check_film(path: Path, size: Size = (2, 2)) -> None:
    """Raise if this machine cannot write a film of that name and size; to be asked before work is done for it."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"{path}: a film is an .mp4 or a .gif file, not {suffix or 'without a suffix'}; rename it")
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; name a file in it, such as {path / 'film.mp4'}")
    if suffix == ".gif":
        return
    if size[0] % 2 or size[1] % 2:
        raise BadInput(f"an MP4 needs even sizes, got {size[0]} × {size[1]}")
    try:
        import av
    except ImportError:
        raise MissingExtra("writing an MP4 video", "video") from None
    try:
        av.Codec(CODEC, "w")
    except ValueError:  # av.codec.codec.UnknownCodecError
        raise BadInput(
            f"{path}: the PyAV of this machine has no H.264 encoder ({CODEC}); install the one from PyPI "
            "(pip install --force-reinstall av), or write a .gif"
        ) from None


def read_about(path: Path) -> str:
    """What ``write_film`` was told about a film; empty where there is no such file or nothing in it."""
    try:
        if path.suffix.lower() == ".gif":
            with Image.open(path) as picture:
                comment: Any = picture.info.get("comment", b"")
            return bytes(comment).decode("utf-8", "replace")
        import av

        with av.open(str(path)) as container:
            return str(container.metadata.get("comment", ""))
    except (OSError, ImportError, ValueError):
        return ""


def film_steps(record: EpisodeRecord, fps: int, speed: float) -> list[int]:
    """The state to show in each frame; the last state stays for half a second."""
    count = int(np.ceil(record.duration * fps / speed)) + 1
    times = np.minimum(np.arange(count) * speed / fps, record.duration)
    steps = np.searchsorted(record.time, times + 1e-9, side="right") - 1
    return [*steps.tolist(), *[record.steps] * (fps // 2)]


def _write_gif(frames: Iterator[Picture], path: Path, fps: int, about: str) -> None:
    pictures = [Image.fromarray(frame).quantize(96, dither=Image.Dither.NONE) for frame in frames]
    duration = round(1000 / fps)
    pictures[0].save(
        path, format="GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0, comment=about.encode()
    )


def _write_mp4(frames: Iterator[Picture], path: Path, fps: int, size: Size, about: str) -> None:
    import av

    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        container.metadata["comment"] = about
        stream = container.add_stream(CODEC, rate=fps, options=SETTINGS)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"

        def encode(picture: Picture) -> None:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))

        with BackgroundEncoder(encode) as encoder:
            for frame in frames:
                encoder.put(frame)
        container.mux(stream.encode())


class BackgroundEncoder:
    """Does ``work`` with everything that is put in, in order, in a thread; its error is raised where one puts or ends.

    Pictures that are put in must not be changed afterwards.
    """

    def __init__(self, work: Any) -> None:
        self._work = work
        self._waiting: queue.Queue[Picture | None] = queue.Queue(WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="film", daemon=True)

    def __enter__(self) -> BackgroundEncoder:
        self._thread.start()
        return self

    def put(self, picture: Picture) -> None:
        """Hand one over; waits while too many are waiting."""
        if self._error is not None:
            raise self._error
        self._waiting.put(picture)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._waiting.put(None)
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (picture := self._waiting.get()) is not None:
            if self._error is None:
                try:
                    self._work(picture)
                except BaseException as error:  # handed to the thread that draws
                    self._error = error
