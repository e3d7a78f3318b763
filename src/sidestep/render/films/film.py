"""Writing pictures as a film: MP4 (H.264, extra ``video``), or GIF.

A film is encoded in a thread of its own while the next picture is drawn. It is whole or not there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from sidestep._util.writing import whole_file
from sidestep.errors import BadInput, MissingExtra
from sidestep.render.top_view.canvas import Picture
from sidestep.types.record import EpisodeRecord

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
    with whole_file(path) as temporary:
        if path.suffix.lower() == ".gif":
            _write_gif(frames, temporary, fps, about)
        else:
            _write_mp4(frames, temporary, fps, size, about)


def check_film(path: Path, size: Size = (2, 2)) -> None:
    """Raise an error if a film of that name and size cannot be written here; to be called before the film is made."""
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
    """The text that ``write_film`` stored in a film; empty if there is no such file or no text."""
    try:
        if path.suffix.lower() == ".gif":
            with Image.open(path) as picture:
                comment: Any = picture.info.get("comment", b"")
            return bytes(comment).decode("utf-8", "replace")
        import av

        with av.open(str(path)) as container:
            return str(container.metadata.get("comment", ""))
    except Exception:  # Pillow and FFmpeg have a dozen ways to say it
        return ""


def film_steps(record: EpisodeRecord, fps: int) -> list[int]:
    """The state to show in each frame; the last state stays for half a second."""
    count = int(np.ceil(record.duration * fps)) + 1
    times = np.minimum(np.arange(count) / fps, record.duration)
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
        if about:
            container.metadata["comment"] = about
        stream = container.add_stream(CODEC, rate=fps, options=SETTINGS)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"

        def encode(picture: Picture) -> None:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))

        in_background(frames, encode)
        container.mux(stream.encode())


def in_background(frames: Iterator[Picture], work: Callable[[Picture], None]) -> None:
    """Do ``work`` with every frame, in order, in a thread of its own while the next frames are drawn. The first error
    is raised. Frames must not be changed afterwards."""
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1, "film") as pool:
        try:
            for frame in frames:
                waiting.append(pool.submit(work, frame))
                if len(waiting) > WAITING or waiting[0].done():
                    waiting.popleft().result()
            for each in waiting:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
