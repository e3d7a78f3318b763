"""Everybody's gait and gestures: over a whole record at once, or step by step beside a running simulation. Both run
the same kernel over the same inputs, so the camera of a live episode and the film of its record show the same.
Nothing is stored that does not follow from positions, velocities, headings and gestures up to now.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.errors import BadInput
from sidestep.render.people import gait_kernels as kernel
from sidestep.render.people.pose import PeopleState
from sidestep.render.people.wardrobe import Looks
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.record import EpisodeRecord


@dataclass(frozen=True, eq=False)
class Gestures:
    """What people do with their hands and heads at one moment, for all N columns; a field left out changes nothing."""

    code: IntArray | None = None  # (N,) of ``GESTURES``
    time: FloatArray | None = None  # (N,) s since it began
    left: FloatArray | None = None  # (N,) s until it ends
    head_yaw: FloatArray | None = None  # (N,) rad from the body's heading; NaN: look where one is about to go


def _start_phase(looks: Looks) -> FloatArray:
    """People do not walk in step: the phase that each begins with follows from the hash of the wardrobe."""
    phase: FloatArray = np.mod(looks.idle * 7.0, 1.0)
    return phase


def _state(rows: IntArray, track: FloatArray, looks: Looks, time: float, gestures: Gestures) -> PeopleState:
    """The pose of the people ``rows`` from their columns of the gait track (N, columns)."""
    now = track[rows]
    head_yaw = now[:, kernel.HEAD_YAW]
    if gestures.head_yaw is not None:
        wished = np.asarray(gestures.head_yaw, np.float64)[rows]
        head_yaw = np.where(np.isnan(wished), head_yaw, wished)
    return PeopleState(
        now[:, : kernel.Y + 1], now[:, kernel.HEADING], now[:, kernel.SPEED], now[:, kernel.PHASE], looks.model[rows],
        looks.scale[rows], now[:, kernel.TRAVEL], now[:, kernel.TURN_RATE], head_yaw,
        None if gestures.code is None else np.asarray(gestures.code, np.int64)[rows],
        None if gestures.time is None else np.asarray(gestures.time, np.float64)[rows],
        None if gestures.left is None else np.asarray(gestures.left, np.float64)[rows],
        looks.idle[rows], now[:, kernel.FEET :].reshape(-1, 2, 3), time,
    )  # fmt: skip


@dataclass(eq=False)
class PeopleAnimator:
    """The live mode: call ``advance`` once per step of the simulation, ``state`` whenever a picture is taken."""

    looks: Looks
    time: float = 0.0
    _track: FloatArray = field(init=False, repr=False)
    _start: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._track = np.zeros((len(self.looks.model), kernel.COLUMNS))
        self._start = _start_phase(self.looks)

    def advance(
        self, time: float, position: FloatArray, velocity: FloatArray, heading: FloatArray, present: BoolArray
    ) -> None:
        """Move on to ``time`` with the float32 positions (N, 2), velocities (N, 2) and headings (N,) of that moment."""
        now = _movement(position, velocity, heading, present)
        kernel.advance_gait(self._track, now, float(time) - self.time, self.looks.scale, self._start)
        self.time = float(time)

    @property
    def present(self) -> IntArray:
        """Columns of the people who are there now, in the order of the rows of ``state``."""
        return np.flatnonzero(self._track[:, kernel.PRESENT])

    def state(self, gestures: Gestures | None = None) -> PeopleState:
        """The pose of everyone who is there now."""
        return _state(self.present, self._track, self.looks, self.time, gestures or Gestures())


def _movement(position: FloatArray, velocity: FloatArray, heading: FloatArray, present: BoolArray) -> kernel.Movement:
    x, v, h = (np.ascontiguousarray(values, np.float32) for values in (position, velocity, heading))
    return kernel.Movement(x, v, h, np.ascontiguousarray(present, np.bool_))


@dataclass(frozen=True, eq=False)
class GaitTrack:
    """The gait of a whole episode, from :func:`track_gait`."""

    time: FloatArray  # (T,) s
    columns: FloatArray  # (T, N, COLUMNS of ``gait_kernels``)
    looks: Looks

    @property
    def phase(self) -> FloatArray:
        """(T, N) cycles."""
        return self.columns[:, :, kernel.PHASE]

    @property
    def heading(self) -> FloatArray:
        """(T, N) rad: of the body, which turns smoothly after the recorded heading."""
        return self.columns[:, :, kernel.HEADING]

    def present(self, index: int) -> IntArray:
        """Columns of the people who are there at a step, in the order of the rows of ``state``."""
        return np.flatnonzero(self.columns[index, :, kernel.PRESENT])

    def state(self, index: int, gestures: Gestures | None = None) -> PeopleState:
        """The pose of everyone who is there at a step."""
        rows = self.present(index)
        return _state(rows, self.columns[index], self.looks, float(self.time[index]), gestures or Gestures())

    def state_at(self, time: float, gestures: Gestures | None = None) -> tuple[IntArray, PeopleState]:
        """(columns, pose) at any time, between steps by interpolation; people who are there at the step before."""
        low = int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, len(self.time) - 1))
        high = min(low + 1, len(self.time) - 1)
        span = float(self.time[high] - self.time[low])
        share = min(max((time - float(self.time[low])) / span, 0.0), 1.0) if span > 0 else 0.0
        before, after = self.columns[low], self.columns[high]
        change = after - before
        for angle in (kernel.HEADING, kernel.TRAVEL):
            change[:, angle] = np.mod(change[:, angle] + np.pi, 2 * np.pi) - np.pi
        stays = (after[:, kernel.PRESENT] > 0)[:, None]
        rows = self.present(low)
        between = np.where(stays, before + share * change, before)
        for k in range(2):  # a planted foot does not move between steps: it stands at the old or at the new place
            foot = slice(kernel.FEET + 3 * k, kernel.FEET + 3 * k + 3)
            landed = np.floor(between[:, kernel.PHASE] + 0.5 * k) > np.floor(before[:, kernel.PHASE] + 0.5 * k)
            between[:, foot] = np.where(landed[:, None] & stays, after[:, foot], before[:, foot])
        return rows, _state(rows, between, self.looks, float(time), gestures or Gestures())


def track_gait(
    time: FloatArray, position: FloatArray, velocity: FloatArray, heading: FloatArray, present: BoolArray, looks: Looks
) -> GaitTrack:
    """The gait of N people over T moments; arrays as in the episode record (NaN where somebody is absent)."""
    t, n = np.shape(present)
    for name, array, shape in (
        ("time", time, (t,)), ("position", position, (t, n, 2)), ("velocity", velocity, (t, n, 2)),
        ("heading", heading, (t, n)), ("looks", looks.model, (n,)),
    ):  # fmt: skip
        if np.shape(array) != shape:
            raise BadInput(f"track_gait: {name} has shape {np.shape(array)}, want {shape} as in the record")
    columns = np.zeros((t, n, kernel.COLUMNS))
    moves, state = _movement(position, velocity, heading, present), np.zeros((n, kernel.COLUMNS))
    times = np.ascontiguousarray(time, np.float64)
    kernel.track_gait(columns, state, times, moves, looks.scale, _start_phase(looks))
    return GaitTrack(times, columns, looks)


class GestureClock:
    """When each of N people began the present gesture; live and from a record the times are the same."""

    def __init__(self, people: int) -> None:
        self._code: IntArray = np.zeros(people, np.int64)
        self._since: FloatArray = np.zeros(people)
        self._head_yaw: FloatArray = np.full(people, np.nan, np.float32)
        self._time = 0.0

    def advance(self, time_s: float, code: IntArray, head_yaw: FloatArray) -> None:
        """What everybody does now; a ``head_yaw`` (float32) of 0 or NaN: the head goes where it likes."""
        self._since = np.where(code != self._code, time_s, self._since)
        self._code, self._time = code, time_s
        self._head_yaw = np.where(head_yaw == 0.0, np.nan, head_yaw).astype(np.float32)

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
