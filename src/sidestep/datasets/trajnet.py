"""TrajNet++ ndjson: one JSON object per line, either a scene or a track row.

``{"scene": {"id": 0, "p": 4, "s": 10, "e": 210, "fps": 2.5}}`` and ``{"track": {"f": 10, "p": 4, "x": 1.5, "y": 2}}``.
``fps`` counts annotations, not frame numbers: if a person's rows are 10 frames apart, ``fps`` 2.5 means that 25 frame
numbers pass in a second. Rows with a ``prediction_number`` are forecasts, not recordings, and are left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.reading import parse_json
from sidestep._util.writing import write_whole
from sidestep.datasets.annotations import (
    data_lines,
    frame_step,
    head_lines,
    read_text,
    tracks_from_frames,
    whole_numbers,
)
from sidestep.errors import BadInput
from sidestep.interfaces import Loader
from sidestep.types.base import IntArray
from sidestep.types.tracks import Tracks

KINDS = ("scene", "track")


@dataclass(frozen=True)
class TrajnetLoader(Loader):
    """Reads and writes TrajNet++ files."""

    name: str = "trajnet"
    summary: str = "TrajNet++ ndjson: scene and track rows"

    def matches(self, path: Path) -> bool:
        """Whether the first line is a JSON object of a scene or a track."""
        lines = head_lines(path, 1)
        if not lines or not lines[0].lstrip().startswith("{"):
            return False
        try:
            row = parse_json(lines[0], str(path))
        except BadInput:
            return False
        return isinstance(row, dict) and len(row) == 1 and next(iter(row)) in KINDS

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the track rows. ``rate_hz``: how many frame numbers pass in a second, instead of ``fps``."""
        rows, line_numbers, rates = _parse(path)
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        fps = rate_hz
        if fps is None and rates:
            if len(rates) > 1:
                raise BadInput(f"{path}: scenes state different fps ({sorted(rates)}); give --rate-hz (option rate_hz)")
            finite = np.isfinite(table[:, :2]).all(axis=1)
            people = whole_numbers(path, table[finite, 1], line_numbers[finite], "person")
            fps = rates.pop() * frame_step(table[finite, 0], people)
        if not len(table):
            raise BadInput(f"{path}: no track rows in it, so nobody was recorded")
        return tracks_from_frames(path, table[:, 0], table[:, 1], table[:, 2:], fps, numbers=line_numbers)

    def save(self, tracks: Tracks, path: Path) -> list[str]:
        """Write one scene per person and all tracks. Returns what the format could not keep."""
        frames = tracks.time * tracks.rate_hz
        if np.abs(frames - np.round(frames)).max() > 1e-6:
            raise BadInput(
                f"{path}: TrajNet++ numbers its frames, and the annotations of {tracks.source or 'this recording'} are "
                "not at whole frames; convert to plain or sidestep"
            )
        frame = np.round(frames).astype(np.int64)
        first = np.searchsorted(tracks.person, tracks.people, side="left")
        last = np.searchsorted(tracks.person, tracks.people, side="right") - 1
        lines = [
            json.dumps({"scene": {"id": number, "p": person, "s": start, "e": end, "fps": tracks.rate_hz}})
            for number, (person, start, end) in enumerate(
                zip(tracks.people.tolist(), frame[first].tolist(), frame[last].tolist(), strict=True)
            )
        ]
        order = np.lexsort((tracks.person, frame))
        lines += [
            f'{{"track": {{"f": {f}, "p": {p}, "x": {x!r}, "y": {y!r}}}}}'
            for f, p, (x, y) in zip(
                frame[order].tolist(), tracks.person[order].tolist(), tracks.position[order].tolist(), strict=True
            )
        ]
        write_whole(path, ("\n".join(lines) + "\n").encode())
        lost = {"groups": bool(tracks.group), "source": bool(tracks.source), "licence": bool(tracks.licence)}
        return [name for name, was_there in lost.items() if was_there]


def _parse(path: Path) -> tuple[list[tuple[Any, ...]], IntArray, set[float]]:
    """Rows (frame, person, x, y), their lines, and the frame rates that the scenes state."""
    rows: list[tuple[Any, ...]] = []
    line_numbers: list[int] = []
    rates: set[float] = set()
    for number, line in zip(*reversed(data_lines(read_text(path))), strict=True):
        try:
            row = parse_json(line, "JSON", finite=False)
            track = row.get("track")
            if track is not None:
                if track.get("prediction_number") is None:
                    rows.append(tuple(float(track[key]) for key in ("f", "p", "x", "y")))
                    line_numbers.append(int(number))
            elif "fps" in row["scene"]:
                rates.add(float(row["scene"]["fps"]))
        except (BadInput, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            reason = f"{error!s:.60} is missing" if isinstance(error, KeyError) else f"{error!s:.120}"
            raise BadInput(
                f'{path}:{number}: expected {{"track": {{"f", "p", "x", "y"}}}} or {{"scene": …}}, '
                f"got {line.strip()[:60]!r} ({reason})"
            ) from None
    return rows, np.array(line_numbers, np.int64), rates


TRAJNET = TrajnetLoader()
