"""Writing pictures as a film: MP4 (H.264, extra ``video``), or GIF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.drawing.shapes import Picture
from sidestep.errors import BadInput, MissingExtra
from sidestep.types.record import EpisodeRecord

Size = tuple[int, int]


def write_film(frames: Iterator[Picture], path: Path | str, fps: int, size: Size) -> None:
    """All frames, of ``size`` (width, height) each; the format is chosen by the file's name."""
    if str(path).lower().endswith(".gif"):
        _write_gif(frames, path, fps)
    else:
        _write_mp4(frames, path, fps, size)


def film_steps(record: EpisodeRecord, fps: int, speed: float) -> list[int]:
    """The state to show in each frame; the last state stays for half a second."""
    count = int(np.ceil(record.duration * fps / speed)) + 1
    times = np.minimum(np.arange(count) * speed / fps, record.duration)
    steps = np.searchsorted(record.time, times + 1e-9, side="right") - 1
    return [*steps.tolist(), *[record.steps] * (fps // 2)]


def _write_gif(frames: Iterator[Picture], path: Path | str, fps: int) -> None:
    pictures = [Image.fromarray(frame).quantize(96, dither=Image.Dither.NONE) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0)


def _write_mp4(frames: Iterator[Picture], path: Path | str, fps: int, size: Size) -> None:
    if size[0] % 2 or size[1] % 2:
        raise BadInput(f"an MP4 needs even sizes, got {size[0]} × {size[1]}")
    try:
        import av
    except ImportError:
        raise MissingExtra("writing an MP4 video", "video") from None
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "20", "preset": "veryfast"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
