"""How much time human drivers leave pedestrians who cross in front of them: minimum time gaps in the driving corridor.

After Herman et al., *Pedestrian Behavior Prediction for Automated Driving: Requirements, Metrics, and Relevant
Features*, section IV-A. The time gap is TTC = d / v with d the metres along the vehicle's path from its front bumper to
the pedestrian and v the vehicle's speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from sidestep.prediction.data.corridor import CORRIDOR_M, project, visits
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.interactions import Interactions

BIN_S, LONGEST_S = 0.1, 10.0
"""Intervals of the histogram, and where it ends."""
STANDS_MPS = 0.01
"""Speed up to which a vehicle stands, so that there is no finite time gap."""
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Encounter:
    """A pedestrian who went through the corridor from one side to the other, ahead of the vehicle."""

    clip: str
    track: int
    person: int
    enter_s: float
    """Time of the first frame in the corridor, s of the clip."""
    leave_s: float
    """Time of the last frame in the corridor."""
    gap_s: float | None
    """Smallest time gap meanwhile; None: the vehicle stood all the time."""
    enter_gap_s: float | None
    """Time gap at the first frame in the corridor ahead of the vehicle; None: the vehicle stood."""
    distance_m: float
    """Smallest distance along the path from the front bumper meanwhile."""
    enter_speed_mps: float
    place: str
    origin: str
    driver: str


@dataclass(frozen=True, eq=False)
class PathPlaces:
    """Places of all frames with respect to the paths of their clips. Frames of no track are NaN."""

    ahead: FloatArray  # (F,) m along the path from the front bumper to the pedestrian; negative: behind the bumper
    left: FloatArray  # (F,) m from the path to the pedestrian, to the left
    along: FloatArray  # (F,) m along the path, of the pedestrian
    bumper: FloatArray  # (F,) m along the path, of the front bumper


def path_places(data: Interactions) -> PathPlaces:
    """Project all tracks and vehicles onto the paths."""
    along, left, bumper = (np.full(len(data.position), np.nan) for _ in range(3))
    for number, clip in enumerate(data.clips):
        tracks = np.nonzero(data.clip == number)[0]
        rows = _rows(data, tracks)
        if len(rows):
            along[rows], left[rows] = project(clip.path, data.position[rows])
            bumper[rows] = project(clip.path, data.ego[rows, :2])[0] + clip.length / 2
    return PathPlaces(along - bumper, left, along, bumper)


def _rows(data: Interactions, tracks: IntArray) -> IntArray:
    parts = [np.arange(data.start[track], data.stop[track], dtype=np.int64) for track in tracks]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def time_gap(ahead: FloatArray, speed: FloatArray) -> FloatArray:
    """TTC, s: ``ahead / speed``; infinite for a vehicle that stands or drives backwards. ``ahead`` must not be
    negative."""
    drives = speed > STANDS_MPS
    return np.where(drives, ahead / np.where(drives, speed, 1.0), inf)


def find_encounters(data: Interactions, corridor_m: float = CORRIDOR_M) -> list[Encounter]:
    """All encounters, track by track. The smallest gap is over the frames in the corridor at which the pedestrian is
    ahead of the front bumper."""
    places = path_places(data)
    speed = data.ego_speed.astype(np.float64)
    found = []
    for track in range(len(data)):
        begin = int(data.start[track])
        for visit in visits(places.left[begin : int(data.stop[track])], corridor_m):
            if not visit.across:
                continue
            rows = np.arange(begin + visit.first, begin + visit.last + 1)
            rows = rows[places.ahead[rows] > 0.0]
            if len(rows):
                time = data.begin_s[track] + data.step_s * np.array([visit.first, visit.last])
                gaps = time_gap(places.ahead[rows], speed[rows])
                clip = data.clips[int(data.clip[track])]
                found.append(
                    Encounter(
                        clip.name, track, int(data.person[track]), float(time[0]), float(time[1]),
                        _finite(gaps.min()), _finite(gaps[0]), float(places.ahead[rows].min()), float(speed[rows[0]]),
                        clip.place, clip.origin, clip.driver,
                    )
                )  # fmt: skip
    return found


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


@dataclass(frozen=True, eq=False)
class GapSummary:
    """The distribution of minimum time gaps. Encounters without a finite gap count as longer than all others."""

    encounters: int
    without_gap: int
    """Encounters in which the vehicle stood all the time."""
    quartiles: tuple[float | None, ...]
    """Smallest gaps at which the cumulative curve reaches 25, 50 and 75 %; None: it does not at any finite gap."""
    smallest: float | None
    most_frequent: tuple[float, float] | None
    """The interval of 0.1 s with most encounters, open at its right."""
    gaps: FloatArray  # (K,) finite gaps, rising, s
    counts: IntArray  # (100,) encounters per interval [k, k + 1) · 0.1 s
    longer: int
    """Encounters with a finite gap beyond the histogram."""

    def share_below(self, gap_s: float) -> float | None:
        """Share of all encounters with a smaller gap; None without encounters."""
        return float((self.gaps < gap_s).sum()) / self.encounters if self.encounters else None

    def document(self) -> dict[str, Any]:
        """The statistics as a JSON document."""
        return {
            "encounters": self.encounters,
            "without_finite_gap": self.without_gap,
            "quartiles_s": list(self.quartiles),
            "smallest_s": self.smallest,
            "most_frequent_s": self.most_frequent,
            "share_below_2_s": self.share_below(2.0),
            "bin_s": BIN_S,
            "counts": self.counts.tolist(),
            "longer": self.longer,
        }


def summarise_gaps(encounters: Sequence[Encounter]) -> GapSummary:
    """The distribution over all encounters."""
    gaps = np.sort(np.array([each.gap_s for each in encounters if each.gap_s is not None], np.float64))
    bins = round(LONGEST_S / BIN_S)
    interval = np.floor(np.minimum(gaps, LONGEST_S) / BIN_S + 1e-9).astype(np.int64)
    counts = np.bincount(interval, minlength=bins)[:bins]
    total = len(encounters)
    ranks = [int(np.ceil(share * total - 1e-9)) - 1 for share in QUARTILES]
    quartiles = tuple(float(gaps[rank]) if 0 <= rank < len(gaps) else None for rank in ranks)
    top = int(np.argmax(counts))
    return GapSummary(
        encounters=total,
        without_gap=total - len(gaps),
        quartiles=quartiles,
        smallest=float(gaps[0]) if len(gaps) else None,
        most_frequent=(round(top * BIN_S, 6), round((top + 1) * BIN_S, 6)) if counts[top] else None,
        gaps=gaps,
        counts=counts,
        longer=len(gaps) - int(counts.sum()),
    )


def encounter_rows(encounters: Sequence[Encounter]) -> list[dict[str, Any]]:
    """One mapping per encounter, for CSV and JSON."""
    return [asdict(each) for each in encounters]


@dataclass(frozen=True, eq=False)
class Scene:
    """One encounter over time, as in the paper's Fig. 5."""

    encounter: Encounter
    time: FloatArray  # (K,) s from the beginning of the scene
    speed: FloatArray  # (K,) m/s
    gap: FloatArray  # (K,) TTC, s; NaN: the pedestrian is no longer ahead, or the vehicle stands
    gap_unbraked: FloatArray  # (K,) TTC had the vehicle kept the speed of the first frame; NaN as above
    enter: float
    leave: float
    """Times at which the pedestrian enters and leaves the corridor, s from the beginning of the scene."""


BEFORE_S, AFTER_S = 3.0, 1.5
"""How much of an encounter a scene shows before the corridor is entered and after it is left."""


def make_scene(data: Interactions, encounter: Encounter, places: PathPlaces | None = None) -> Scene:
    """Speed and time gap before, during and after an encounter, and the gap without braking."""
    places = path_places(data) if places is None else places
    track, begin_s = encounter.track, float(data.begin_s[encounter.track])
    first, last = (round((time - begin_s) / data.step_s) for time in (encounter.enter_s, encounter.leave_s))
    length = int(data.stop[track] - data.start[track])
    begin = max(first - round(BEFORE_S / data.step_s), 0)
    end = min(last + round(AFTER_S / data.step_s), length - 1)
    rows = int(data.start[track]) + np.arange(begin, end + 1)
    time = data.step_s * np.arange(len(rows))
    speed = data.ego_speed[rows].astype(np.float64)
    constant = float(speed[0])
    ahead = places.along[rows] - (places.bumper[rows[0]] + constant * time)
    return Scene(
        encounter, time, speed, _shown(places.ahead[rows], speed), _shown(ahead, np.full(len(rows), constant)),
        (first - begin) * data.step_s, (last - begin) * data.step_s,
    )  # fmt: skip


def _shown(ahead: FloatArray, speed: FloatArray) -> FloatArray:
    gaps = time_gap(np.maximum(ahead, 0.0), speed)
    return np.where((ahead > 0.0) & np.isfinite(gaps), gaps, np.nan)


def choose_scenes(data: Interactions, encounters: Sequence[Encounter]) -> tuple[Scene | None, Scene | None]:
    """An encounter in which the driver brakes, and one in which the driver does not; None where there is no such.

    Braking: the speed falls by 20 to 80 % until the pedestrian leaves, and the gap without braking is smaller. Not
    braking: the speed stays within 15 %. The one of each kind is chosen whose gap is nearest to the median, at walking
    pace or more and with a second to see before the corridor is entered.
    """
    places = path_places(data)
    median = summarise_gaps(encounters).quartiles[1]
    chosen: dict[str, tuple[float, Scene]] = {}
    for encounter in encounters:
        if encounter.gap_s is None:
            continue
        scene = make_scene(data, encounter, places)
        kind = _kind_of(scene)
        miss = abs(encounter.gap_s - (3.0 if median is None else median))
        if kind and miss < chosen.get(kind, (inf, scene))[0]:
            chosen[kind] = miss, scene
    braking, steady = (chosen[kind][1] if kind in chosen else None for kind in ("braking", "steady"))
    return braking, steady


def _kind_of(scene: Scene) -> str:
    until = scene.time <= scene.leave + 1e-9
    speed, inside = scene.speed[until], until & (scene.time >= scene.enter - 1e-9)
    if scene.enter < 1.0 or speed[0] < 1.5:
        return ""
    drop = 1.0 - float(speed.min()) / float(speed[0])
    unbraked = scene.gap_unbraked[inside]
    worse = bool(np.isnan(unbraked).any() or np.nanmin(unbraked) < np.nanmin(scene.gap[inside]) - 0.3)
    if 0.2 <= drop <= 0.8 and worse:
        return "braking"
    return "steady" if float(np.abs(speed / speed[0] - 1.0).max()) <= 0.15 else ""
