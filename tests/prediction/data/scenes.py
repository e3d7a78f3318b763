"""Small hand-made interactions: a vehicle on the x-axis, and pedestrians with given paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep.types.base import FloatArray
from sidestep.types.interactions import Clip, Interactions

STEP_S = 0.1
LENGTH_M, WIDTH_M = 4.0, 2.0


def walk(start: tuple[float, float], velocity: tuple[float, float], seconds: float) -> FloatArray:
    """(T, 2) positions at 10 Hz."""
    t = STEP_S * np.arange(round(seconds / STEP_S) + 1)
    return np.asarray(start) + t[:, None] * np.asarray(velocity)


def straight_road(
    tracks: Sequence[FloatArray], speed: float = 10.0, bumper: float = 0.0, clips: int = 1
) -> Interactions:
    """Tracks of pedestrians beside a vehicle that drives along +x; its front bumper is at ``bumper`` when each track
    begins. ``clips``: tracks take turns in so many clips."""
    sizes = np.array([len(track) for track in tracks])
    stop = np.cumsum(sizes)
    t = np.concatenate([STEP_S * np.arange(size) for size in sizes])
    x = bumper - LENGTH_M / 2 + speed * t
    frames, count = len(t), len(tracks)
    nan = np.full(frames, np.nan)
    path = np.array([[-100.0, 0.0], [200.0, 0.0]])
    return Interactions(
        step_s=STEP_S, position=np.concatenate(tracks), body=nan, head=nan,
        ego=np.stack([x, 0 * x, 0 * x], axis=1), ego_speed=np.full(frames, speed),
        start=stop - sizes, stop=stop, person=np.arange(count), clip=np.arange(count) % clips,
        begin_s=np.zeros(count), crossing=np.zeros(count, bool), passes=np.zeros(count, np.uint8),
        labelled=np.zeros(count, bool), split=np.full(count, 2),
        clips=tuple(Clip(f"clip {k}", path, LENGTH_M, WIDTH_M) for k in range(clips)),
    )  # fmt: skip
