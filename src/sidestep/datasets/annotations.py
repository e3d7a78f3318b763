"""Tracks from numbered video frames: the checks and the clock that all formats share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks


def check_rate(path: Path, rate_hz: float | None) -> float:
    """Frames per second, or an error that says how to give them."""
    if rate_hz is None:
        raise BadInput(
            f"{path}: the file does not say how many frames per second its frame numbers count, and it is none of the "
            "known recordings; give them with --rate-hz (option rate_hz)"
        )
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise BadInput(f"{path}: {rate_hz} frames per second is not a rate; rate_hz must be positive")
    return float(rate_hz)


def whole_numbers(path: Path, values: FloatArray, places: IntArray, what: str, place: str = "line") -> IntArray:
    """The values as int64; an error names the first that is no whole number."""
    wrong = ~np.isfinite(values) | (np.abs(values) > 2**53)
    wrong[~wrong] = values[~wrong] != np.round(values[~wrong])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadInput(f"{path}: {place} {places[row]}: the {what} {values[row]:g} is not a whole number")
    return values.astype(np.int64)


def frame_step(frame: FloatArray, person: IntArray) -> float:
    """The commonest distance in frames between two annotations of one person; 1 if nobody has two."""
    order = np.lexsort((frame, person))
    steps = np.diff(frame[order])[np.diff(person[order]) == 0]
    steps = steps[steps > 0]
    if not len(steps):
        return 1.0
    values, counts = np.unique(steps, return_counts=True)
    return float(values[np.argmax(counts)])


def tracks_from_frames(
    path: Path,
    frame: FloatArray,
    person: FloatArray,
    position: FloatArray,
    fps: float,
    *,
    places: IntArray,
    place: str = "line",
    source: str = "",
    licence: str = "",
    coordinates: str = "world, metres",
    group: dict[int, int] | None = None,
) -> Tracks:
    """Tracks with time = frame ÷ ``fps`` (s) and rate = ``fps`` ÷ the commonest frame step (annotations per second).

    ``places`` says where in the file each annotation is (lines or columns), for errors.
    """
    if not len(frame):
        raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
    bad = ~np.isfinite(frame) | ~np.isfinite(position).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(f"{path}: {place} {places[row]}: NaN or infinite where a number of frame, x or y should be")
    people = whole_numbers(path, person, places, "person", place)
    order = np.lexsort((places, frame, people))
    again = (np.diff(people[order]) == 0) & (np.diff(frame[order]) == 0)
    if again.any():
        first, second = order[int(np.argmax(again))], order[int(np.argmax(again)) + 1]
        raise BadInput(
            f"{path}: {place} {places[second]}: person {people[second]} is annotated twice in frame {frame[second]:g} "
            f"(first in {place} {places[first]}); remove one of the two"
        )
    present = set(np.unique(people).tolist()) if group else set()
    return Tracks(
        people,
        frame / fps,
        position,
        fps / frame_step(frame, people),
        source=source or path.name,
        licence=licence,
        frame=coordinates,
        group={member: number for member, number in (group or {}).items() if member in present},
    )
