"""Recorded people put on the simulation's clock and into its frame."""

from __future__ import annotations

from math import cos, sin
from pathlib import Path

import numpy as np

from sidestep.datasets import load_tracks
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Rules
from sidestep.types.scenario import ReplayPlacement


def load_replay(
    placement: ReplayPlacement, rules: Rules, where: str, base: Path | None
) -> tuple[FloatArray, IntArray, IntArray]:
    """Tracks (T, N, 4) float32 of x, y, vx, vy at every step (NaN when absent), the people's numbers and groups."""
    if placement.path is None:
        raise BadInput(f"{where}: replay by dataset name needs an installed dataset; name a file with `path:` instead")
    path = Path(placement.path)
    tracks = load_tracks(base / path if base is not None and not path.is_absolute() else path)
    times = placement.start_s + placement.speed * rules.step_s * np.arange(rules.max_steps + 1)
    position, velocity, present = tracks.sample(times)
    people = tracks.people
    keep = present.any(axis=0)
    if placement.people is not None:
        unknown = sorted(set(placement.people) - set(people.tolist()))
        if unknown:
            raise BadInput(f"{where}: the recording {path.name} has no person {unknown[0]}")
        keep &= np.isin(people, placement.people)
    c, s = cos(placement.rotation), sin(placement.rotation)
    rotate = placement.scale * np.array([[c, s], [-s, c]])
    if placement.mirror:
        rotate[1] *= -1.0
    position = position[:, keep] @ rotate + np.array(placement.offset)
    velocity = velocity[:, keep] @ rotate * placement.speed
    groups = np.array([tracks.group.get(int(person), -1) for person in people[keep]], dtype=np.int32)
    return np.concatenate([position, velocity], axis=2).astype(np.float32), people[keep], groups
