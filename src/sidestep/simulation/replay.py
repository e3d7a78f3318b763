"""Recorded people put on the simulation's clock and into its frame."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.datasets import load_dataset, load_tracks
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Rules
from sidestep.types.scenario import ReplayPlacement
from sidestep.types.tracks import Tracks

_dataset = lru_cache(maxsize=16)(load_dataset)
"""Recordings that were read; they are frozen."""


class Replay(NamedTuple):
    """People who are moved along known tracks, recorded or generated."""

    tracks: FloatArray  # (T, N, 4) float32: x, y, vx, vy at every step; NaN when absent
    person_id: IntArray  # (N,) int64
    group: IntArray  # (N,) int32, -1 alone


def load_replay(placement: ReplayPlacement, rules: Rules, where: str, base: Path | None) -> Replay:
    """The recorded people of ``placement``, at every step of an episode."""
    times = placement.start_s + placement.speed * rules.step_s * np.arange(rules.max_steps + 1)
    recorded = _read(placement, base)
    _check_window(recorded, placement, (times[0], times[-1]), where)
    tracks = _choose_people(recorded, placement, (times[0], times[-1]), where)
    position, velocity, present = tracks.sample(times)
    keep = present.any(axis=0)
    people = tracks.people[keep]
    s, c = exact.sincos(placement.rotation)
    rotate = placement.scale * np.array([[c, s], [-s, c]])
    if placement.mirror:
        rotate[1] *= -1.0
    position = exact.matmul(position[:, keep], rotate) + np.array(placement.offset)
    velocity = exact.matmul(velocity[:, keep], rotate) * placement.speed
    groups = np.array([tracks.group.get(int(person), -1) for person in people], dtype=np.int32)
    return Replay(np.concatenate([position, velocity], axis=2).astype(np.float32), people, groups)


def _read(placement: ReplayPlacement, base: Path | None) -> Tracks:
    if placement.path is None:
        assert placement.dataset is not None
        return _dataset(placement.dataset)
    path = Path(placement.path)
    options: dict[str, Any] = {} if placement.rate_hz is None else {"rate_hz": placement.rate_hz}
    return load_tracks(base / path if base is not None and not path.is_absolute() else path, **options)


def _check_window(tracks: Tracks, placement: ReplayPlacement, window: tuple[float, float], where: str) -> None:
    """An episode before or after the whole recording would be an empty world that claims to have recorded people."""
    begin, end = float(tracks.time.min()), float(tracks.time.max())
    if window[0] > end or window[1] < begin:
        side = "after" if window[0] > end else "before"
        raise BadInput(
            f"{where}: the window of {window[0]:g} to {window[1]:g} s lies {side} the recording "
            f"{placement.dataset or placement.path}, which has people from {begin:g} to {end:g} s; change start_s"
        )


def _choose_people(tracks: Tracks, placement: ReplayPlacement, window: tuple[float, float], where: str) -> Tracks:
    """The annotations of those whom the placement asks for and whose track meets the time window."""
    people = tracks.people
    first = np.searchsorted(tracks.person, people, side="left")
    last = np.searchsorted(tracks.person, people, side="right") - 1
    keep = (tracks.time[first] <= window[1]) & (tracks.time[last] >= window[0])
    if placement.people is not None:
        unknown = sorted(set(placement.people) - set(people.tolist()))
        if unknown:
            raise BadInput(f"{where}: the recording {tracks.source or placement.path} has no person {unknown[0]}")
        keep &= np.isin(people, placement.people)
    if placement.first_person is not None:
        late = (people >= placement.first_person) & (tracks.time[first] > window[1])
        end = int(np.argmax(late)) if late.any() else len(people)
        keep &= (people >= placement.first_person) & (np.arange(len(people)) < end)
    rows = np.isin(tracks.person, people[keep])
    return Tracks(
        tracks.person[rows], tracks.time[rows], tracks.position[rows], tracks.rate_hz, tracks.source, tracks.licence,
        tracks.frame, tracks.group,
    )  # fmt: skip
