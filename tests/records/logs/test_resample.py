"""Samples at any times become states at a constant step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.records.logs.drive import Track, make_track
from sidestep.records.logs.resample import choose_step, hold, pieces, sample


def test_linear_between_samples() -> None:
    track = Track(np.array([0.0, 1.0, 3.0]), np.array([[0.0, 0.0], [1.0, 2.0], [5.0, 2.0]]))
    states = sample(track, np.array([0.0, 0.5, 2.0, 3.0, 3.5]), 10.0)
    assert states.position[:4].tolist() == [[0, 0], [0.5, 1], [3, 2], [5, 2]]
    assert states.present.tolist() == [True, True, True, True, False]
    assert np.isnan(states.position[4]).all()


def test_velocity_is_that_of_the_step_before() -> None:
    track = Track(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]]))
    states = sample(track, np.array([0.0, 1.0, 2.0]), 10.0)
    assert states.velocity[:, :2].tolist() == [[1, 0], [1, 0], [0, 3]]
    assert states.heading == pytest.approx([0.0, 0.0, np.pi / 2])


def test_a_body_that_stands_keeps_its_heading() -> None:
    track = Track(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    assert sample(track, track.time, 10.0).heading == pytest.approx([np.pi / 2] * 3)
    still = Track(np.array([0.0, 1.0]), np.zeros((2, 2)))
    assert sample(still, still.time, 10.0).heading.tolist() == [0.0, 0.0]


@given(st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=30), st.floats(0.02, 1.0), st.floats(-4e-7, 4e-7))
def test_samples_on_the_grid_stay_as_they_are(xs: list[float], step: float, jitter: float) -> None:
    grid = np.arange(len(xs)) * step
    position = np.column_stack([xs, xs])
    states = sample(Track(grid + jitter * (np.arange(len(xs)) % 2), position), grid, 100.0)
    assert np.array_equal(states.position[:-1], position[:-1])


def test_step_pieces_and_commands() -> None:
    assert choose_step(np.array([0.0, 0.1, 0.2, 0.9])) == 0.1
    assert choose_step(np.array([0.0, 0.001, 0.002])) == 0.02
    assert pieces(np.array([0.0, 1.0, 5.0, 6.0]), 2.0) == [slice(0, 2), slice(2, 4)]
    held = hold(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0.5, 1.0, 1.9, 2.5]))
    assert np.array_equal(held[:, 0], [np.nan, 1.0, 1.0, 2.0], equal_nan=True)


def test_make_track_counts_what_it_puts_right() -> None:
    time = np.array([2.0, 1.0, 1.0, np.nan, 3.0])
    track, mended = make_track(time, np.column_stack([np.arange(5.0), np.zeros(5)]))
    assert track.time.tolist() == [1.0, 2.0, 3.0]
    assert track.position[:, 0].tolist() == [1.0, 0.0, 4.0]
    assert mended == {"not a number": 1, "repeated": 1, "out of order": 1}
