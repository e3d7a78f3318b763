"""Since when everybody has been making their gesture: beside a simulation step by step, or over a whole record."""

from __future__ import annotations

import numpy as np

from sidestep.render.people.gait import Gestures
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.record import EpisodeRecord


class GestureClock:
    """Of N people. Both ways give the same times, so that a live camera and a film of the record agree."""

    def __init__(self, people: int) -> None:
        self._code: IntArray = np.zeros(people, np.int64)
        self._since: FloatArray = np.zeros(people)
        self._head_yaw: FloatArray = np.full(people, np.nan, np.float32)
        self._time = 0.0

    def advance(self, time_s: float, code: IntArray, head_yaw: FloatArray) -> None:
        """What everybody does now; a ``head_yaw`` (float32) of 0 or NaN: the head goes where it likes."""
        self._since = np.where(code != self._code, time_s, self._since)
        self._code, self._time = code, time_s
        self._head_yaw = _free(head_yaw)

    @property
    def now(self) -> Gestures:
        """What the pose needs to know."""
        return Gestures(code=self._code, time=self._time - self._since, head_yaw=self._head_yaw)


def recorded_gestures(record: EpisodeRecord) -> list[Gestures] | None:
    """One for each state of the record; None where nobody is directed."""
    if not record.person_gesture.size:
        return None
    clock = GestureClock(len(record.person_id))
    gestures = []
    for k, time_s in enumerate(record.time.tolist()):
        clock.advance(time_s, record.person_gesture[k].astype(np.int64), record.person_head_yaw[k])
        gestures.append(clock.now)
    return gestures


def _free(head_yaw: FloatArray) -> FloatArray:
    return np.where(head_yaw == 0.0, np.nan, head_yaw).astype(np.float32)
