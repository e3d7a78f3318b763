"""The windows of recordings that the socnav episodes replay, brought to the frame of their floor plan, and how a crowd,
recorded or synthetic alike, is sampled: where everybody is and how they move, every 0.4 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from sidestep._util import exact
from sidestep.datasets import load_dataset
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask
from sidestep.scenes.plans import load_plan
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.tracks import Tracks

BREAK_S = 1.0
BREAK_PEOPLE = 4
BODY_M = 0.2
STEP_S = 0.4
"""How often people are looked at, both in the recording and in the synthetic crowd; speeds are displacements over this
time."""


@dataclass(frozen=True)
class Transform:
    """Recorded (x, y) to the plan: X = a x + b y + offset, Y = c x + d y + offset."""

    matrix: tuple[tuple[int, int], tuple[int, int]]
    offset: tuple[float, float]

    def __call__(self, points: FloatArray) -> FloatArray:
        moved: FloatArray = exact.matmul(points, np.array(self.matrix).T) + np.array(self.offset)
        return moved


_TURNED = ((-1, 0), (0, -1))
TRANSFORMS = {
    "eth": Transform(((0, 1), (-1, 0)), (1.4, 14.4)),
    "hotel": Transform(((0, 1), (1, 0)), (12.0, 4.5)),
    "dhotel_top": Transform(((0, 1), (1, 0)), (12.0, 17.5)),
    "dhotel_bot": Transform(((0, 1), (1, 0)), (12.0, 4.5)),
    "zara01": Transform(_TURNED, (9.5, 3.0)),
    "zara02": Transform(_TURNED, (9.5, 1.85)),
    "univ": Transform(_TURNED, (10.0, 6.0)),
}
RECORDINGS = {"dhotel_top": "hotel", "dhotel_bot": "hotel"}
"""Placements that share a recording; the others are named like theirs."""


@dataclass(frozen=True)
class Window:
    """People from ``first_person`` on, from the moment that person comes in."""

    site: str
    placement: str
    first_person: int
    duration_s: float = 60.0

    @property
    def name(self) -> str:
        """Name of the synthetic crowd."""
        return f"{self.placement}_{self.first_person}"

    @property
    def recording(self) -> str:
        """Name of the recording."""
        return RECORDINGS.get(self.placement, self.placement)


WINDOWS = (
    *(Window("socnav_eth", "eth", first) for first in (1, 239, 251)),
    *(Window("socnav_zara", "zara01", first) for first in (1, 79)),
    *(Window("socnav_zara", "zara02", first) for first in (1, 8, 21, 45)),
    *(Window("socnav_univ", "univ", first) for first in (1, 121, 192, 206)),
    Window("socnav_hotel_small", "hotel", 362),
    Window("socnav_double_hotel", "dhotel_top", 141),
    Window("socnav_double_hotel", "dhotel_bot", 181),
)


@lru_cache(maxsize=8)
def load_recording(name: str) -> Tracks:
    """The replay file of the recording, its clock at the native rate."""
    return load_dataset(f"socnavbench-{name}")


@lru_cache(maxsize=8)
def find_breaks(recording: str) -> tuple[tuple[float, float], ...]:
    """When the recording says nothing: before and after it, and where it breaks off.

    A time without annotations is a break, not an empty place, if more people vanish at its start than leave together.
    """
    tracks = load_recording(recording)
    times = np.unique(tracks.time)
    ends = tracks.time[np.searchsorted(tracks.person, tracks.people, side="right") - 1]
    gaps = pairwise(times.tolist())
    inside = [
        (float(a), float(b)) for a, b in gaps if b - a > BREAK_S and (np.abs(ends - a) <= STEP_S).sum() >= BREAK_PEOPLE
    ]
    return ((-np.inf, float(times[0])), *inside, (float(times[-1]), np.inf))


def observed(recording: str, times: FloatArray) -> BoolArray:
    """At which of the recording's times (T,) it says who is there."""
    known = np.ones(len(times), bool)
    for begin, end in find_breaks(recording):
        known &= ~((times > begin + STEP_S / 2) & (times < end - STEP_S / 2))
    return known


@lru_cache(maxsize=8)
def placed_recording(site: str, placement: str) -> Tracks:
    """The whole recording in the plan's frame, while people's centres are on free ground of the plan."""
    recording = load_recording(RECORDINGS.get(placement, placement))
    position = TRANSFORMS[placement](recording.position)
    free = free_mask(compile_scene(load_plan(site)), position, BODY_M)
    return Tracks(recording.person[free], recording.time[free], position[free], recording.rate_hz)


def window_tracks(window: Window) -> tuple[Tracks, float]:
    """The people of the window in the plan's frame, and the recording's time that is time 0.

    As the episodes load them: numbers ascend from the first person, and the first who comes after the window ends the
    list. (In the university recording numbers are not in order of time, so this leaves people out.)
    """
    recording = load_recording(window.recording)
    people = recording.people
    begins = recording.time[np.searchsorted(recording.person, people, side="left")]
    start = float(begins[people == window.first_person][0])
    later = (people >= window.first_person) & (begins > start + window.duration_s)
    stop = people[later].min() if later.any() else people.max() + 1
    placed = placed_recording(window.site, window.placement)
    keep = (placed.person >= window.first_person) & (placed.person < stop)
    return Tracks(placed.person[keep], placed.time[keep], placed.position[keep], placed.rate_hz), start


MOVING_MPS = 0.3
"""Who is slower stands."""


@dataclass(frozen=True, eq=False)
class Seen:
    """T looks at N people, ``STEP_S`` apart. NaN where absent; the velocity is the displacement until the next look."""

    position: FloatArray  # (T, N, 2) m
    velocity: FloatArray  # (T, N, 2) m/s

    @property
    def present(self) -> BoolArray:
        """(T, N)."""
        return np.isfinite(self.position[:, :, 0])

    @property
    def speed(self) -> FloatArray:
        """(T, N) m/s."""
        return np.hypot(self.velocity[:, :, 0], self.velocity[:, :, 1])


def see_positions(position: FloatArray) -> Seen:
    """From positions (T, N, 2) every ``STEP_S``; who is seen once only has no velocity."""
    ahead = np.diff(position, axis=0) / STEP_S
    nothing = np.full((1, *position.shape[1:]), np.nan)
    forward, backward = np.concatenate([ahead, nothing]), np.concatenate([nothing, ahead])
    return Seen(position, np.where(np.isfinite(forward), forward, backward))


def see_tracks(tracks: Tracks, start_s: float, duration_s: float) -> Seen:
    """The people of a recording during a window, in the order of ``tracks.people``."""
    times = start_s + STEP_S * np.arange(round(duration_s / STEP_S) + 1)
    return see_positions(tracks.sample(times)[0])


def see_steps(replay: FloatArray, step_s: float) -> Seen:
    """A crowd given at every simulation step, (T, N, 4)."""
    return see_positions(replay[:: round(STEP_S / step_s), :, :2].astype(np.float64))
