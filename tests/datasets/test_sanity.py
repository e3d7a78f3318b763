"""The sanity report and the detection of walking groups, on crowds worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.datasets.sanity import describe_tracks, detect_groups
from sidestep.datasets.sources import DATASETS
from sidestep.types.tracks import Tracks


def walkers(*people: tuple[float, float, float], rate_hz: float = 2.5, count: int = 26, **about: object) -> Tracks:
    """People along x: start x, y, speed; annotated ``count`` times."""
    time = np.tile(np.arange(count) / rate_hz, len(people))
    person = np.repeat(np.arange(1, len(people) + 1), count)
    start = np.repeat(np.array(people, dtype=float), count, axis=0)
    position = np.stack([start[:, 0] + start[:, 2] * time, start[:, 1]], axis=1)
    return Tracks(person, time, position, rate_hz, **about)  # type: ignore[arg-type]


def test_figures_by_hand() -> None:
    """10 s at 1 and 2 m/s in a box of 20 m × 1 m: mean speed 1.5 m/s, 2 people on 20 m²."""
    tracks = walkers((0, 0, 1.0), (0, 1, 2.0), licence="CC0")
    about = describe_tracks(tracks)
    assert (about["people"], about["annotations"], about["duration_s"]) == (2, 52, 10.0)
    assert about["mean_speed_mps"] == pytest.approx(1.5)
    assert about["mean_density"] == pytest.approx(0.1)
    assert about["warnings"] == []


def test_the_mean_speed_counts_people_not_time() -> None:
    """One walks 1 m in 1 s, one stands for 99 s: 0.5 m/s."""
    tracks = Tracks(
        np.array([1, 1, 2, 2]), np.array([0, 1, 0, 99.0]), np.array([[0, 0], [1, 0], [5, 5], [5, 5.0]]), 1.0
    )
    assert describe_tracks(tracks)["mean_speed_mps"] == pytest.approx(0.5)


def test_one_annotation_has_no_speed() -> None:
    about = describe_tracks(Tracks(np.array([3]), np.zeros(1), np.zeros((1, 2)), 2.5))
    assert about["mean_speed_mps"] is about["mean_density"] is None
    assert about["duration_s"] == 0.0
    assert about["warnings"] == ["1 people have a single annotation: 3", "the licence is not stated"]


def test_the_eth_clock_error_is_named() -> None:
    """1.43 m/s annotated 2.5 times a second, read as 25 ÷ 6 times: 2.38 m/s."""
    right = walkers((0, 0, 1.43), (0, 9, 1.43), licence="x")
    assert describe_tracks(right)["warnings"] == []
    wrong = Tracks(right.person, right.time * 15 / 25, right.position, 25 / 6, licence="x")
    (warning,) = describe_tracks(wrong)["warnings"]
    assert "mean speed 2.38 m/s" in warning
    assert "the clock looks 1.67 times too fast" in warning
    assert "6 apart at 15 frames/s" in warning
    assert "--rate-hz 15" in warning


@pytest.mark.parametrize(("speed", "words"), [(2.68, "2.00 times too fast"), (120.0, "pixels"), (0.1, "too slow")])
def test_other_clocks(speed: float, words: str) -> None:
    assert any(words in warning for warning in describe_tracks(walkers((0, 0, speed)))["warnings"])


@pytest.mark.parametrize("speed", [0.5, 1.0, 1.8])
def test_walking_speeds_are_no_clock_error(speed: float) -> None:
    assert describe_tracks(walkers((0, 0, speed), licence="x"))["warnings"] == []


def test_gaps_jumps_and_order() -> None:
    time = np.array([5.0, 5.4, 5.8, 7.8, 0.0, 0.4])
    position = np.array([[0, 0], [0.4, 0], [0.8, 0], [2.8, 0], [0, 5], [4, 5.0]])
    about = describe_tracks(Tracks(np.array([1, 1, 1, 1, 2, 2]), time, position, 2.5, licence="x"))
    assert (about["gaps"], about["jumps"]) == (1, 1)
    text = " | ".join(about["warnings"])
    assert "1 gaps inside tracks, the longest 2.00 s, are interpolated" in text
    assert "person 2, 10.0 m/s" in text
    assert "not in the order" in text


def test_what_the_catalogue_knows() -> None:
    tracks = walkers((0, 0, 1.3), licence="x")
    assert "17 %" in describe_tracks(tracks, DATASETS["socnavbench-zara01"])["warnings"][0]
    hotel = DATASETS["socnavbench-hotel"]
    assert describe_tracks(tracks, hotel)["warnings"] == []
    assert describe_tracks(tracks, hotel, fps=25.0)["warnings"] == []
    assert "0.60 times as fast as recorded" in describe_tracks(tracks, hotel, fps=15.0)["warnings"][0]
    assert any("15 frames/s" in note for note in describe_tracks(tracks, hotel)["notes"])


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        ([(0, 0, 1.3), (0.2, 0.8, 1.3)], {1: 0, 2: 0}),
        ([(0, 0, 1.3), (0, 1.6, 1.3), (0, 3.2, 1.3)], {1: 0, 2: 0, 3: 0}),
        ([(0, 0, 1.3), (0, 5, 1.2), (0, 0.7, 1.3), (0, 5.9, 1.2)], {1: 0, 3: 0, 2: 1, 4: 1}),
        ([(0, 0, 1.3), (0, 2.0, 1.3)], {}),
        ([(0, 0, 1.3), (13, 0.8, -1.3)], {}),
        ([(0, 0, 0.0), (0, 0.8, 0.0)], {}),
        ([(0, 0, 1.3)], {}),
    ],
)
def test_walking_groups(people: list[tuple[float, float, float]], expected: dict[int, int]) -> None:
    """Beside each other, in a chain, two pairs; too far, opposite, standing, alone."""
    assert detect_groups(walkers(*people)) == expected


def test_a_short_meeting_is_no_group() -> None:
    assert detect_groups(walkers((0, 0, 1.3), (0, 0.8, 1.3), count=5)) == {}
    assert detect_groups(walkers((0, 0, 1.3), (0, 0.8, 1.3), count=6)) == {1: 0, 2: 0}
