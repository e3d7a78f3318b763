from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import compact
from sidestep.prediction.data.splits import describe_data, keep_labels, long_enough, split_clips, strata
from sidestep.types.interactions import SPLITS, Interactions
from tests.prediction.data.made import same, straight_clip

FRAMES = 60


def many(clips: int = 60, each: int = 10, seed: int = 0) -> Interactions:
    """``clips`` clips with ``each`` tracks of 60 frames, every tenth of them of 30; a third crosses."""
    draw = np.random.default_rng(seed)
    tracks = clips * each
    lengths = np.where(np.arange(tracks) % 10 == 9, 30, FRAMES)
    stop = np.cumsum(lengths)
    frames = int(stop[-1])
    ego = np.zeros((frames, 3))
    position = np.repeat(draw.uniform(0.0, 20.0, (tracks, 2)), lengths, axis=0)
    crossing = draw.random(tracks) < 1 / 3
    return Interactions(
        step_s=0.1, position=position, body=np.zeros(frames), head=np.ones(frames), ego=ego,
        ego_speed=np.ones(frames), start=stop - lengths, stop=stop, person=np.arange(tracks),
        clip=np.repeat(np.arange(clips), each), begin_s=np.zeros(tracks), crossing=crossing,
        passes=np.where(crossing, draw.integers(0, 3, tracks), 0), labelled=np.ones(tracks, bool),
        split=np.zeros(tracks, np.uint8),
        clips=tuple(straight_clip(name=str(k), place=("none", "zebra")[k % 2]) for k in range(clips)),
    )  # fmt: skip


def test_no_clip_is_in_two_splits() -> None:
    data = split_clips(many(), test_tracks=100)
    clips = [set(data.of_split(name).clip.tolist()) for name in SPLITS]
    assert not clips[0] & clips[1]
    assert not clips[0] & clips[2]
    assert not clips[1] & clips[2]


def test_sizes() -> None:
    data = split_clips(many(), test_tracks=100)
    test = data.of_split("test")
    assert len(test) == 100
    rest = data.choose(data.split != 2)
    assert long_enough(rest).all()
    assert not long_enough(test).all()  # test tracks may be short
    share = len(data.of_split("validation")) / len(rest)
    assert 0.05 <= share < 0.08


def test_test_tracks_come_from_many_clips() -> None:
    """100 of 600 tracks: drawn from the clips of 150, a quarter of all, which are 15 clips of 10."""
    assert len(set(split_clips(many(), test_tracks=100).of_split("test").clip.tolist())) == 15
    assert len(set(split_clips(many(), test_tracks=30).of_split("test").clip.tolist())) >= 10


def test_kinds_keep_their_shares() -> None:
    whole = many()
    test = split_clips(whole, test_tracks=150).of_split("test")
    kinds, counts = np.unique(strata(whole), return_counts=True)
    for kind, count in zip(kinds, counts, strict=True):
        share = float((strata(test) == kind).mean())
        assert share == pytest.approx(count / len(whole), abs=0.03), kind


def test_the_seed_decides() -> None:
    data = many()
    assert same(split_clips(data, 3, 100), split_clips(data, 3, 100))
    assert not same(split_clips(data, 3, 100), split_clips(data, 4, 100))


def test_too_few_tracks() -> None:
    with pytest.raises(BadInput, match="20 tracks in 2 clips are too few for 50 test tracks"):
        split_clips(many(2), test_tracks=50)


def test_labels_are_kept_for_the_test_set_and_a_tenth_of_the_others() -> None:
    data = keep_labels(split_clips(many(), test_tracks=100))
    assert data.of_split("test").labelled.all()
    others = data.choose(data.split != 2)
    assert int(others.labelled.sum()) == round(0.1 * len(others))
    for track in range(len(data)):
        rows = slice(int(data.start[track]), int(data.stop[track]))
        assert np.isfinite(data.body[rows]).all() == bool(data.labelled[track])
        assert np.isnan(data.head[rows]).all() != bool(data.labelled[track])


def test_strata_by_hand() -> None:
    data = many(2, 2)
    data = replace(
        data, position=np.repeat([[3.0, 0.0], [30.0, 0.0], [30.0, 0.0], [3.0, 0.0]], FRAMES, axis=0),
        crossing=[True, True, False, False], passes=[1, 0, 0, 0],
    )  # fmt: skip
    assert strata(data).tolist() == [4 + 2 + 1, 2, 12, 12 + 1]


def test_compact_drops_what_no_track_has() -> None:
    whole = many(6)
    some = compact(whole.choose(whole.clip == 4))
    assert (len(some), len(some.clips), some.clips[0].name) == (10, 1, "4")
    assert len(some.position) == int((some.stop - some.start).sum())
    assert some.position[some.start].tolist() == whole.position[whole.start[whole.clip == 4]].tolist()


def test_description_counts() -> None:
    about = describe_data(split_clips(many(), test_tracks=100))
    test = about["splits"]["test"]
    assert (test["tracks"], sum(test["places"].values()), sum(test["passes"].values())) == (100, 100, 100)
    assert test["length_s"]["most"] == pytest.approx(5.9)
    assert describe_data(many(2).choose(np.zeros(0, np.int64)))["splits"]["train"]["length_s"] is None
