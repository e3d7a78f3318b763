"""What is in a recording and what is odd about it, and who walks together in it.

Walking groups: two people are a pair if, on a clock of 2.5 Hz, they are both present for at least 2 s and for
at least half of the shorter track, and for at least 80 % of that common time they are within 1.7 m of each
other and their velocities differ by at most 0.5 m/s, while both move on average at 0.4 m/s or more. Groups are
people connected by pairs. People who only stand together are not a walking group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.datasets.sources import Dataset
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

CLOCK_HZ = 2.5
LEAST_TIME_S = 2.0
LEAST_SHARE_OF_TRACK = 0.5
LEAST_SHARE_TOGETHER = 0.8
TOGETHER_WITHIN_M = 1.7
TOGETHER_VELOCITY_DIFFERENCE_MPS = 0.5
LEAST_SPEED_MPS = 0.4
FARTHEST_M = 1e8
"""Positions beyond this are no metres on Earth, and are not searched."""
MOST_INSTANTS = 10**7
"""More positions than this, on the clock, are not searched: about 46 days of one person."""


def detect_groups(tracks: Tracks) -> dict[int, int]:
    """Person → walking group, groups counted from 0 in the order of their lowest member; people alone are absent.

    Nothing is detected in recordings of more than :data:`MOST_INSTANTS` positions on the clock.
    """
    clock = (tracks.time - tracks.time.min()) * CLOCK_HZ
    people, whose = np.unique(tracks.person, return_inverse=True)
    begin = np.searchsorted(whose, np.arange(len(people)), side="left")
    end = np.searchsorted(whose, np.arange(len(people)), side="right") - 1
    first, last = np.ceil(clock[begin] - 1e-9), np.floor(clock[end] + 1e-9)
    count = np.where(end > begin, np.maximum(last - first + 1, 0), 0)
    if count.sum() > MOST_INSTANTS or clock.max() > MOST_INSTANTS or np.abs(tracks.position).max() > FARTHEST_M:
        return {}
    count = count.astype(np.int64)
    column = np.repeat(np.arange(len(people)), count)
    instant = np.arange(len(column)) - np.repeat(np.cumsum(count) - count, count) + first[column]
    position, velocity = _on_the_clock(tracks, clock, whose, begin, end, column, instant)
    if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
        return {}
    a, b, together = _meetings(column, instant, position, velocity, len(people))
    common = np.minimum(last[a], last[b]) - np.maximum(first[a], first[b]) + 1
    speed = np.bincount(column, exact.hypot(*velocity.T), len(people)) / np.maximum(count, 1)
    long = (common - 1 >= LEAST_TIME_S * CLOCK_HZ) & (common >= LEAST_SHARE_OF_TRACK * np.minimum(count[a], count[b]))
    moving = np.minimum(speed[a], speed[b]) >= LEAST_SPEED_MPS
    pair = long & moving & (together >= LEAST_SHARE_TOGETHER * common)
    return _connected(people, a[pair], b[pair])


def _on_the_clock(
    tracks: Tracks,
    clock: FloatArray,
    whose: IntArray,
    begin: IntArray,
    end: IntArray,
    column: IntArray,
    instant: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Positions (m) and velocities (m/s) of people at instants, linear between their annotations."""
    apart = clock.max() + 1.0
    piece = np.searchsorted(whose * apart + clock, column * apart + instant, side="right") - 1
    piece = np.clip(piece, begin[column], np.maximum(end[column] - 1, begin[column]))
    rate = (tracks.position[piece + 1] - tracks.position[piece]) / (clock[piece + 1] - clock[piece])[:, None]
    return tracks.position[piece] + rate * (instant - clock[piece])[:, None], rate * CLOCK_HZ


def _meetings(
    column: IntArray, instant: FloatArray, position: FloatArray, velocity: FloatArray, people: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Columns a < b of people who were ever together, and at how many instants. Instants are kept apart in one search
    tree by a third coordinate."""
    from scipy.spatial import cKDTree

    tree = cKDTree(np.column_stack([position, instant * 2 * TOGETHER_WITHIN_M]))
    i, j = tree.query_pairs(1.001 * TOGETHER_WITHIN_M, output_type="ndarray").T
    near = exact.hypot(*(position[i] - position[j]).T) <= TOGETHER_WITHIN_M
    alike = near & (exact.hypot(*(velocity[i] - velocity[j]).T) <= TOGETHER_VELOCITY_DIFFERENCE_MPS)
    i, j = column[i[alike]], column[j[alike]]
    pairs, together = np.unique(np.minimum(i, j) * people + np.maximum(i, j), return_counts=True)
    return pairs // people, pairs % people, together


def _connected(people: IntArray, a: IntArray, b: IntArray) -> dict[int, int]:
    label = np.arange(len(people))
    for i, j in zip(a, b, strict=True):
        label[label == max(label[i], label[j])] = min(label[i], label[j])
    members = np.unique(np.concatenate([a, b])).astype(np.int64)
    order = {old: new for new, old in enumerate(dict.fromkeys(label[members].tolist()))}
    return {int(people[column]): order[int(label[column])] for column in members}


WALKING_MPS, WALKING_SPREAD_MPS = 1.34, 0.26
"""Mean and standard deviation of free walking speed (Weidmann 1993)."""
TOO_FAST_MPS = WALKING_MPS + 2 * WALKING_SPREAD_MPS
TOO_SLOW_MPS = 0.4
JUMP_MPS = 5.0
"""Nobody walks this fast: a piece above it is a jump of the annotation."""
ABSURD_MEAN_MPS = 5.0
"""No crowd moves this fast on average: the unit or the clock is wrong."""
ABSURD_JUMP_MPS = 50.0
ABSURD_DURATION_S = 7 * 86_400.0
ABSURD_EXTENT_M = 20_000.0
TRACKLET = 20
"""Annotations of everybody in the texts of TrajNet, which were cut for predicting 12 of 20."""
ETH_RATE_HZ, ETH_WRONG_RATE_HZ = 15.0 / 6.0, 25.0 / 6.0


@dataclass(frozen=True)
class Pieces:
    """The straight pieces between successive annotations of one person."""

    person: IntArray  # (P,)
    length: FloatArray  # (P,) m
    span: FloatArray  # (P,) s

    @classmethod
    def of(cls, tracks: Tracks) -> Pieces:
        """Cut the tracks up."""
        same = np.diff(tracks.person) == 0
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.hypot(*np.diff(tracks.position, axis=0).T)[same]
        return cls(tracks.person[1:][same], length, np.diff(tracks.time)[same])

    @property
    def speed(self) -> FloatArray:
        """(P,) m/s."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.length / self.span)

    @property
    def mean_speeds(self) -> FloatArray:
        """(N,) length walked ÷ time of each person with two or more annotations, m/s."""
        _, which = np.unique(self.person, return_inverse=True)
        return np.asarray(np.bincount(which, self.length) / np.bincount(which, self.span))


def describe_tracks(tracks: Tracks, known: Dataset | None = None, fps: float | None = None) -> dict[str, Any]:
    """Figures about recorded people, and warnings.

    ``mean_speed_mps``: mean over people of length walked ÷ time present. ``mean_density``: time-averaged number of
    people present ÷ area of the box around all annotations, people/m². ``groups``: stated by the recording;
    ``groups_detected``: found by :mod:`~sidestep.datasets.sanity`. ``gaps``: pieces longer than 1.5 usual
    intervals; ``jumps``: pieces faster than 5 m/s. ``known`` is what the catalogue says about the file and ``fps`` the
    rate with which it was read, if one was given. ``absurd``: what cannot be people who walk.
    """
    pieces = Pieces.of(tracks)
    walked, duration = float(pieces.span.sum()), float(np.ptp(tracks.time))
    with np.errstate(over="ignore", invalid="ignore"):
        area = float(np.prod(np.ptp(tracks.position, axis=0)))
    detected = detect_groups(tracks)
    figures = {
        "people": len(tracks.people),
        "annotations": len(tracks.person),
        "duration_s": duration,
        "rate_hz": tracks.rate_hz,
        "mean_speed_mps": float(pieces.mean_speeds.mean()) if walked else None,
        "mean_density": walked / duration / area if duration and area else None,
        "groups": len(set(tracks.group.values()) - {-1}),
        "people_in_groups": sum(number >= 0 for number in tracks.group.values()),
        "groups_detected": len(set(detected.values())),
        "people_in_groups_detected": len(detected),
        "gaps": int(np.sum(pieces.span > 1.5 / tracks.rate_hz)),
        "jumps": int(np.sum(pieces.speed > JUMP_MPS)),
        "tracklets": tracklets(tracks),
        "coordinates": tracks.frame,
        "notes": list(known.notes) if known is not None else [],
        "source": tracks.source,
        "licence": tracks.licence,
    }
    warnings = _warnings(tracks, pieces, figures, known, fps)
    return figures | {"warnings": warnings, "absurd": absurdities(tracks, pieces)}


def tracklets(tracks: Tracks) -> int:
    """How many people are tracklets as TrajNet's texts have them: all or nearly all with 20 annotations each."""
    counts = np.unique(tracks.person, return_counts=True)[1]
    whole = int(np.sum(counts == TRACKLET))
    return whole if whole >= 5 and whole >= 0.8 * len(counts) else 0


def absurdities(tracks: Tracks, pieces: Pieces | None = None) -> list[str]:
    """What cannot be people who walk, each with the likely reason; empty for a recording that may be one."""
    pieces = Pieces.of(tracks) if pieces is None else pieces
    found = []
    with np.errstate(over="ignore", invalid="ignore"):
        duration, extent = float(np.ptp(tracks.time)), float(np.ptp(tracks.position, axis=0).max())
        mean = float(pieces.mean_speeds.mean()) if pieces.span.sum() else 0.0
        fastest = int(np.argmax(pieces.speed)) if len(pieces.span) else -1
    if not mean <= ABSURD_MEAN_MPS:
        found.append(f"people move at {_speed(mean)} m/s on average: are the positions pixels, or is the clock wrong?")
    if fastest >= 0 and not pieces.speed[fastest] <= ABSURD_JUMP_MPS:
        found.append(
            f"person {pieces.person[fastest]} jumps at {_speed(pieces.speed[fastest])} m/s: a wrong annotation"
        )
    if not duration <= ABSURD_DURATION_S:
        found.append(f"it lasts {duration:.3g} s, more than a week: is a frame number wrong?")
    if not extent <= ABSURD_EXTENT_M:
        found.append(f"it is {extent / 1000:.3g} km across: are the positions degrees, pixels or millimetres?")
    return found


def _warnings(
    tracks: Tracks, pieces: Pieces, figures: dict[str, Any], known: Dataset | None, fps: float | None
) -> list[str]:
    """What a person should know before using the recording."""
    warnings = _clock_warnings(tracks.rate_hz, figures["mean_speed_mps"])
    if known is not None and fps is not None and abs(fps - known.fps) > 1e-6 * known.fps:
        warnings.append(
            f"read at {fps:g} frames/s, but {known.name} was recorded at {known.fps:g}: everybody moves "
            f"{fps / known.fps:.2f} times as fast as recorded"
        )
    warnings += list(known.warnings) if known is not None else []
    if figures["gaps"]:
        longest = float(pieces.span.max())
        warnings.append(f"{figures['gaps']} gaps inside tracks, the longest {longest:.2f} s, are interpolated linearly")
    if figures["jumps"]:
        worst = int(np.argmax(pieces.speed))
        warnings.append(
            f"{figures['jumps']} pieces are faster than {JUMP_MPS:g} m/s (the worst: person {pieces.person[worst]}, "
            f"{_speed(pieces.speed[worst])} m/s): wrong unit, or annotation errors?"
        )
    if figures["tracklets"]:
        warnings.append(
            f"{figures['tracklets']} of {figures['people']} people have {TRACKLET} annotations each: tracklets, as in "
            "the texts of TrajNet, not whole walks; people come and go midway. --link joins those that continue"
        )
    first = np.searchsorted(tracks.person, tracks.people, side="left")
    if np.any(np.diff(tracks.time[first]) < 0):
        warnings.append("the people's numbers are not in the order in which they appear")
    alone = tracks.people[np.unique(tracks.person, return_counts=True)[1] == 1]
    if len(alone):
        listed = ", ".join(map(str, alone[:5])) + (", …" if len(alone) > 5 else "")
        warnings.append(f"{len(alone)} people have a single annotation: {listed}")
    if not tracks.licence:
        warnings.append("the licence is not stated")
    return warnings


def _speed(value: float) -> str:
    return f"{value:.1f}" if value < 1e6 else f"{value:.3g}"


def _clock_warnings(rate_hz: float, speed: float | None) -> list[str]:
    """Whether the mean speed says that the clock, or the unit, is wrong."""
    if speed is None or TOO_SLOW_MPS <= speed <= TOO_FAST_MPS:
        return []
    if speed > JUMP_MPS:
        return [f"mean speed {_speed(speed)} m/s: the positions look like pixels or another unit than metres"]
    if speed < TOO_SLOW_MPS:
        return [f"mean speed {speed:.2f} m/s: the clock looks too slow, the unit wrong, or most people stand"]
    is_eth = abs(rate_hz - ETH_WRONG_RATE_HZ) < 0.01 * ETH_WRONG_RATE_HZ
    factor = ETH_WRONG_RATE_HZ / ETH_RATE_HZ if is_eth else speed / WALKING_MPS
    warning = (
        f"mean speed {speed:.2f} m/s: people walk at about {WALKING_MPS} m/s, so the clock looks {factor:.2f} times"
    )
    warning += " too fast"
    if is_eth:
        return [
            f"{warning}; this is the known ETH clock error: the frames of this recording are 6 apart at 15 frames/s "
            f"({ETH_RATE_HZ:g} annotations/s), not at 25 ({ETH_WRONG_RATE_HZ:.2f}): read it with --rate-hz 15"
        ]
    return [
        f"{warning}; check the frames per second (ETH, for one, has frames 6 apart at 15 frames/s and is often read "
        "at 25)"
    ]
