"""Tracklets joined to tracks.

Some files cut everybody into pieces with a new number each (TrajNet's texts: 20 annotations). A piece is continued by
another that begins one usual interval after its end, within ``NEAR_M`` of where the first was heading, at a velocity
that differs by at most ``VELOCITY_DIFFERENCE_MPS``. Of several that fit, the nearest pairs are taken first, so that
every piece has at most one successor and one predecessor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

NEAR_M = 0.5
VELOCITY_DIFFERENCE_MPS = 1.0
LATEST = 1.5
"""Usual intervals after the end within which a successor begins."""


def link_tracklets(tracks: Tracks) -> Tracks:
    """The same annotations; pieces that continue each other are one person, with the first piece's number."""
    people = tracks.people
    first = np.searchsorted(tracks.person, people, side="left")
    last = np.searchsorted(tracks.person, people, side="right") - 1
    moving = np.flatnonzero(last > first)
    if len(moving) < 2:
        return tracks
    leaving, arriving = _velocity(tracks, last[moving] - 1), _velocity(tracks, first[moving])
    a, b, apart = _candidates(tracks, first[moving], last[moving], leaving, arriving)
    successor = np.full(len(people), -1, dtype=np.int64)
    taken = np.zeros(len(people), dtype=bool)
    for k in np.argsort(apart, kind="stable"):
        one, other = moving[a[k]], moving[b[k]]
        if successor[one] < 0 and not taken[other]:
            successor[one], taken[other] = other, True
    number = people.copy()
    for start in np.flatnonzero(~taken):
        piece = successor[start]
        while piece >= 0:
            number[piece] = people[start]
            piece = successor[piece]
    renamed = dict(zip(people.tolist(), number.tolist(), strict=True))
    group = {renamed[person]: walking for person, walking in tracks.group.items() if person in renamed}
    return replace(tracks, person=number[np.searchsorted(people, tracks.person)], group=group)


def _velocity(tracks: Tracks, row: IntArray) -> FloatArray:
    """(N, 2) of the straight pieces that begin at these rows, m/s."""
    step = tracks.position[row + 1] - tracks.position[row]
    return np.asarray(step / (tracks.time[row + 1] - tracks.time[row])[:, None])


def _candidates(
    tracks: Tracks, first: IntArray, last: IntArray, leaving: FloatArray, arriving: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs (a, b) of pieces of which b may continue a, and how far b begins from where a was heading, m."""
    order = np.argsort(tracks.time[first], kind="stable")
    begins, ends = tracks.time[first][order], tracks.time[last]
    low = np.searchsorted(begins, ends + 1e-9, side="right")
    high = np.searchsorted(begins, ends + LATEST / tracks.rate_hz, side="right")
    count = np.maximum(high - low, 0)
    a = np.repeat(np.arange(len(first)), count)
    b = order[np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)]
    wait = (tracks.time[first[b]] - ends[a])[:, None]
    off = tracks.position[last[a]] + leaving[a] * wait - tracks.position[first[b]]
    turn = leaving[a] - arriving[b]
    apart = np.sqrt((off * off).sum(axis=1))
    fits = (apart <= NEAR_M) & (np.sqrt((turn * turn).sum(axis=1)) <= VELOCITY_DIFFERENCE_MPS)
    return a[fits], b[fits], apart[fits]
