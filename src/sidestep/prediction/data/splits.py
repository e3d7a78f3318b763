"""Training, validation and test: whole clips, drawn so that every kind of track has its share in each split.

The paper splits by track. Tracks of one clip see the same vehicle at the same time, so here a clip is in one split
only, and test tracks come from four times as many clips as would do, since intervals come from resampling clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, IntArray
from sidestep.types.interactions import PASSES, PLACES, SPLITS, Interactions

TEST_TRACKS = 1500
MORE_CLIPS, MOST_CLIPS = 4, 0.25
"""Test tracks are drawn from clips that hold four times as many, but at most from a quarter of all tracks."""
VALIDATION_SHARE = 0.05
LEAST_S = 5.0
"""Shortest track for training and validation: one second of history, four ahead."""
LABELLED_SHARE = 0.1
"""Share of the tracks for training and validation whose head and body are known."""
NEAR_M = 10.0
"""A track is near if the pedestrian comes nearer than this to the middle of the vehicle."""


def strata(data: Interactions) -> IntArray:
    """(N,) the kind of each track: crossing × in front or behind × place × near or far."""
    away = exact.norm(data.position - data.ego[:, :2])
    near = np.array(
        [away[a:b].min() < NEAR_M for a, b in zip(data.start.tolist(), data.stop.tolist(), strict=True)], bool
    )
    place = np.array([PLACES.index(clip.place) for clip in data.clips], np.int64)[data.clip]
    kinds: IntArray = ((place * len(PASSES) + data.passes) * 2 + data.crossing) * 2 + near
    return kinds


def long_enough(data: Interactions) -> BoolArray:
    """(N,) whether a track is long enough for training."""
    found: BoolArray = data.stop - data.start >= round(LEAST_S / data.step_s) + 1
    return found


def split_clips(
    data: Interactions, seed: int = 0, test_tracks: int = TEST_TRACKS, validation_share: float = VALIDATION_SHARE
) -> Interactions:
    """``data`` with splits: ``test_tracks`` tracks of any length; of the other clips the tracks of 5 s and more,
    ``validation_share`` of them for validation. Tracks that belong to no split are left out."""
    rng = np.random.default_rng([seed, 1])
    kinds, every = strata(data), np.arange(len(data))
    pool = max(min(MORE_CLIPS * test_tracks, int(MOST_CLIPS * len(data))), test_tracks)
    of_test = np.isin(data.clip, _draw_clips(data.clip, kinds, every, pool, rng))
    test = _draw_tracks(np.nonzero(of_test)[0], kinds, test_tracks, rng)
    left = np.nonzero(~of_test & long_enough(data))[0]
    if not len(left):
        raise BadInput(
            f"{len(data)} tracks in {len(data.clips)} clips are too few for {test_tracks} test tracks and "
            "others to train; give fewer with --test-tracks"
        )
    wanted = round(validation_share * len(left))
    checked = left[np.isin(data.clip[left], _draw_clips(data.clip, kinds, left, wanted, rng))]
    split = np.full(len(data), 255, np.uint8)
    for name, tracks in (("train", left), ("validation", checked), ("test", test)):
        split[tracks] = SPLITS.index(name)
    kept = split != 255
    return replace(data.choose(kept), split=split[kept])


def _draw_clips(clip: IntArray, kinds: IntArray, tracks: IntArray, wanted: int, rng: np.random.Generator) -> IntArray:
    """Clips that together have at least ``wanted`` of ``tracks``, each kind about as often as among all: one after the
    other the clip that brings the numbers nearest to the wanted ones."""
    names, rows = np.unique(clip[tracks], return_inverse=True)
    kind_names, columns = np.unique(kinds[tracks], return_inverse=True)
    counts = np.zeros((len(names), len(kind_names)))
    np.add.at(counts, (rows, columns), 1.0)
    target = wanted * counts.sum(axis=0) / max(len(tracks), 1)
    order = rng.permutation(len(names))
    chosen: list[int] = []
    so_far = np.zeros(len(kind_names))
    free = np.ones(len(names), bool)
    while so_far.sum() < wanted and free.any():
        miss = np.abs(so_far + counts[order] - target).sum(axis=1)
        best = int(order[np.argmin(np.where(free[order], miss, np.inf))])
        free[best] = False
        so_far += counts[best]
        chosen.append(best)
    found: IntArray = names[chosen]
    return found


def _draw_tracks(tracks: IntArray, kinds: IntArray, wanted: int, rng: np.random.Generator) -> IntArray:
    """``wanted`` of ``tracks``, kinds in the proportion in which they are there (largest remainders)."""
    names, counts = np.unique(kinds[tracks], return_counts=True)
    exactly = min(wanted, len(tracks)) * counts / max(len(tracks), 1)
    share = np.floor(exactly + 1e-9).astype(np.int64)
    rest = min(wanted, len(tracks)) - int(share.sum())
    share[np.argsort(share - exactly, kind="stable")[:rest]] += 1
    parts = [rng.permutation(tracks[kinds[tracks] == name])[:count] for name, count in zip(names, share, strict=True)]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))


def keep_labels(data: Interactions, seed: int = 0, share: float = LABELLED_SHARE) -> Interactions:
    """``data`` with head and body known for all test tracks and for ``share`` of the others, drawn kind by kind; NaN
    for the rest."""
    rng = np.random.default_rng([seed, 2])
    known = np.isfinite(data.body)
    has = np.array([known[a:b].any() for a, b in zip(data.start.tolist(), data.stop.tolist(), strict=True)], bool)
    others = np.nonzero(has & (data.split != SPLITS.index("test")))[0]
    labelled = has & (data.split == SPLITS.index("test"))
    labelled[_draw_tracks(others, strata(data), round(share * len(others)), rng)] = True
    body, head = data.body.copy(), data.head.copy()
    for track in np.nonzero(~labelled)[0]:
        rows = slice(int(data.start[track]), int(data.stop[track]))
        body[rows] = head[rows] = np.nan
    return replace(data, body=body, head=head, labelled=labelled)


def describe_data(data: Interactions) -> dict[str, Any]:
    """Counts per split, for ``predict info``."""
    return {
        "tracks": len(data),
        "digest": data.digest,
        "clips": len(np.unique(data.clip)),
        "maps": len(data.grounds),
        "step_s": data.step_s,
        "origins": sorted({data.clips[number].origin for number in np.unique(data.clip)}),
        "drivers": sorted({data.clips[number].driver for number in np.unique(data.clip)} - {""}),
        "splits": {name: _counts(data.of_split(name)) for name in SPLITS},
    }


def _counts(data: Interactions) -> dict[str, Any]:
    lengths = (data.stop - data.start - 1) * data.step_s
    places = [data.clips[number].place for number in data.clip.tolist()]
    return {
        "tracks": len(data),
        "clips": len(np.unique(data.clip)),
        "labelled": int(data.labelled.sum()),
        "crossing": int(data.crossing.sum()),
        "passes": {name: int((data.passes == k).sum()) for k, name in enumerate(PASSES)},
        "places": {name: places.count(name) for name in PLACES if name in places},
        "length_s": _spread(lengths.tolist()),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {
        "least": min(values),
        "median": float(np.median(values)),
        "mean": float(np.mean(values)),
        "most": max(values),
    }
