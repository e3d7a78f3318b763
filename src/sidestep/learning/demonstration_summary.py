"""Summary of a file of demonstrations: numbers of frames and episodes, statistics of the actions, a contact sheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sidestep._util.writing import whole_file
from sidestep.errors import BadInput
from sidestep.learning.demonstration_layout import BRANCHES, FIELDS, RATE_HZ, DemonstrationEpisode
from sidestep.learning.demonstration_reader import Demonstrations

ACTIONS = ("steer", "throttle", "brake")
QUARTILES = ("minimum", "lower quartile", "median", "upper quartile", "maximum")
HEADER_PX = 24
CAPTION_PX = 16
GAP_PX = 4


class Count(NamedTuple):
    """Numbers of frames and episodes with something in common."""

    episodes: int
    frames: int


@dataclass(frozen=True)
class DemonstrationStatistics:
    """Contents of a file of demonstrations."""

    frames: int
    episodes: int
    unfinished: int
    """Episodes that were broken off before their last frame."""
    seconds: float
    """Duration of all episodes."""
    by_branch: dict[int, Count]
    by_scene: dict[int, Count]
    by_weather: dict[int, Count]
    inputs: int
    """Version of the inputs."""
    weathers: tuple[str, ...]
    """Names of the weathers by their numbers; empty if the file does not name them."""
    actions: dict[str, dict[str, float]] | None
    """Minimum, quartiles and maximum of steer, throttle and brake; None without frames."""
    braking_share: float | None
    """Share of the frames with a brake above 0; None without frames."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; counts as ``{"episodes": …, "frames": …}``."""
        counts = {
            name: {str(key): count._asdict() for key, count in getattr(self, name).items()}
            for name in ("by_branch", "by_scene", "by_weather")
        }
        return {**asdict(self), **counts}


def statistics(reader: Demonstrations, rate_hz: float = RATE_HZ) -> DemonstrationStatistics:
    """Statistics of all frames; ``rate_hz`` is the number of frames per second, which files do not state."""
    if not rate_hz > 0:
        raise BadInput(f"rate_hz: must be positive, not {rate_hz:g}; the published files have {RATE_HZ}")
    actions = np.concatenate([reader.column(branch, "action") for branch in BRANCHES])
    table = None
    if len(actions):
        quartiles = np.quantile(actions.astype(float), (0, 0.25, 0.5, 0.75, 1), axis=0).T.tolist()
        table = {name: dict(zip(QUARTILES, row, strict=True)) for name, row in zip(ACTIONS, quartiles, strict=True)}
    return DemonstrationStatistics(
        frames=len(reader),
        episodes=len(reader.episodes),
        unfinished=sum(not episode.finished for episode in reader.episodes),
        seconds=len(reader) / rate_hz,
        by_branch=dict.fromkeys(BRANCHES, Count(0, 0)) | _counts(reader, lambda each: each.branch),
        by_scene=_counts(reader, lambda each: each.scene),
        by_weather=_counts(reader, lambda each: each.weather),
        inputs=reader.inputs,
        weathers=reader.weathers,
        actions=table,
        braking_share=float((actions[:, 2] > 0).mean()) if len(actions) else None,
    )


def _counts(reader: Demonstrations, key: Callable[[DemonstrationEpisode], int]) -> dict[int, Count]:
    counts: dict[int, Count] = {}
    for episode in sorted(reader.episodes, key=key):
        episodes, frames = counts.get(key(episode), Count(0, 0))
        counts[key(episode)] = Count(episodes + 1, frames + episode.stop - episode.start)
    return counts


def picture_sheet(reader: Demonstrations, path: Path | str, *, per_branch: int = 16, columns: int = 8) -> None:
    """Write a PNG with up to ``per_branch`` pictures of each branch, evenly spaced over its frames, each with its trace
    number and its frame in the episode."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path}: a contact sheet is a .png file; rename it")
    if per_branch < 1 or columns < 1:
        raise BadInput(f"per_branch and columns: at least 1 each, not {per_branch} and {columns}")
    chosen = {branch: _spread(count, per_branch) for branch, count in reader.frames.items() if count}
    if not chosen:
        raise BadInput(f"{reader.path}: has no frames to draw; record some first")
    height, width, _ = FIELDS["img_t"].shape
    across, down = width + GAP_PX, height + CAPTION_PX + GAP_PX
    lines = {branch: -(-len(rows) // columns) for branch, rows in chosen.items()}
    size = (
        GAP_PX + across * min(columns, max(map(len, chosen.values()))),
        sum(HEADER_PX + down * count for count in lines.values()),
    )
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    counts = _counts(reader, lambda each: each.branch)
    top = 0
    for branch, rows in chosen.items():
        title = f"{BRANCHES[branch]}: {counts[branch].episodes} episodes, {counts[branch].frames} frames"
        draw.text((GAP_PX, top + 4), title, "black", ImageFont.load_default(14))
        for position, row in enumerate(rows):
            x, y = GAP_PX + across * (position % columns), top + HEADER_PX + down * (position // columns)
            picture = np.ascontiguousarray(reader.pictures(branch, row, row + 1)[0])
            sheet.paste(Image.fromarray(picture), (x, y))
            draw.text((x, y + height), _caption(reader, branch, row), "black", ImageFont.load_default(11))
        top += HEADER_PX + down * lines[branch]
    with whole_file(path) as temporary:
        sheet.save(temporary, format="PNG")


def _spread(count: int, most: int) -> list[int]:
    rows: list[int] = np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()
    return rows


def _caption(reader: Demonstrations, branch: int, row: int) -> str:
    episode = next(each for each in reader.episodes if each.branch == branch and each.start <= row < each.stop)
    return f"trace {episode.trace}, frame {row - episode.start}"
