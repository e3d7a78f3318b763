"""Recorded people: who was where, when."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray, frozen_array


@dataclass(frozen=True, eq=False)
class Tracks:
    """Annotations of many people, sorted by person, then time. Gaps inside a track are interpolated linearly."""

    person: IntArray  # (K,) int64: whose annotation it is
    time: FloatArray  # (K,) float64, s
    position: FloatArray  # (K, 2) float64, m
    rate_hz: float  # annotations per second
    source: str = ""
    licence: str = ""
    frame: str = "world, metres"
    group: dict[int, int] = field(default_factory=dict)  # person → walking group

    def __post_init__(self) -> None:
        count = len(self.person)
        set_ = object.__setattr__
        person = frozen_array(self.person, np.int64, (count,), "tracks.person")
        time = frozen_array(self.time, np.float64, (count,), "tracks.time")
        position = frozen_array(self.position, np.float64, (count, 2), "tracks.position")
        if not (np.isfinite(time).all() and np.isfinite(position).all()):
            raise BadInput(f"tracks{' of ' + self.source if self.source else ''}: times and positions must be finite")
        order = np.lexsort((time, person))
        set_(self, "person", person[order])
        set_(self, "time", time[order])
        set_(self, "position", position[order])
        repeated = (np.diff(self.person) == 0) & (np.diff(self.time) <= 0)
        if repeated.any():
            row = int(np.argmax(repeated))
            raise BadInput(f"tracks: person {self.person[row]} is annotated twice at {self.time[row]:.3f} s")

    @property
    def people(self) -> IntArray:
        """(N,) the people's numbers, ascending."""
        return np.unique(self.person)

    def sample(self, times: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Positions (T, N, 2), velocities (T, N, 2) and presence (T, N) at ``times``, linear between annotations.

        Absent people have position and velocity NaN. The velocity is that of the straight piece the time falls in.
        """
        people = self.people
        shape = (len(times), len(people))
        position = np.full((*shape, 2), np.nan)
        velocity = np.full((*shape, 2), np.nan)
        present = np.zeros(shape, dtype=bool)
        first = np.searchsorted(self.person, people, side="left")
        last = np.searchsorted(self.person, people, side="right")
        for column, (a, b) in enumerate(zip(first, last, strict=True)):
            t, xy = self.time[a:b], self.position[a:b]
            here = (times >= t[0]) & (times <= t[-1])
            present[:, column] = here
            if b - a == 1:
                position[here, column], velocity[here, column] = xy[0], 0.0
                continue
            piece = np.clip(np.searchsorted(t, times[here], side="right") - 1, 0, b - a - 2)
            slope = (xy[piece + 1] - xy[piece]) / (t[piece + 1] - t[piece])[:, None]
            position[here, column] = xy[piece] + slope * (times[here] - t[piece])[:, None]
            velocity[here, column] = slope
        return position, velocity, present
