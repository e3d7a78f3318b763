"""Fitting synthetic crowds, and how close they come to the recordings."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation.crowd.synthetic import load_statistics, statistics_names
from tests.needs import skip_without_recording
from tools.compare_synthetic import compare, look_at, window_closeness
from tools.fit_synthetic import find_parties, fit_window
from tools.synthetic_windows import STEP_S, WINDOWS, load_recording, see_positions

needs_data = skip_without_recording("socnavbench-eth")
GATES = ((0.0, 0.0, 1.0, 1.0), (9.0, 0.0, 10.0, 1.0))
MOST_NUMBERS = 300
"""A fitted file holds at most so many numbers; the shortest window has some thousand annotated positions."""


def walk(speed: float, aside: float = 0.0, looks: int = 10) -> np.ndarray:
    """Positions (T, 2) of somebody who walks along x."""
    return np.stack([speed * STEP_S * np.arange(looks), np.full(looks, aside)], axis=1)


def test_a_fit_for_every_window_and_no_other():
    assert {window.name for window in WINDOWS} == set(statistics_names())


@pytest.mark.parametrize("name", statistics_names())
def test_fitted_files_hold_statistics_not_trajectories(name):
    fit = load_statistics(name)
    assert _numbers(fit.model_dump()) < MOST_NUMBERS
    boxes = np.array([*fit.gates, *(place.box for place in fit.standing.places)])
    assert (boxes * 2 == np.round(boxes * 2)).all(), "places are known to half a metre only"
    assert sum(flow.share for flow in fit.flows) == pytest.approx(1.0, abs=0.02)
    assert sum(fit.party_sizes) == pytest.approx(1.0, abs=0.01)


def test_parties_are_found_from_tracks():
    alone = walk(1.3, aside=5.0)
    position = np.stack([walk(1.2), walk(1.2, aside=0.7), alone, walk(-1.2, aside=0.3)], axis=1)
    seen = see_positions(position)
    party = find_parties(seen.position, seen.velocity, STEP_S)
    assert party[0] == party[1]
    assert len({int(party[0]), int(party[2]), int(party[3])}) == 3


def test_distances_between_hand_made_crowds():
    slow = look_at(see_positions(np.stack([walk(1.0), walk(1.0, aside=2.0)], axis=1)), GATES)
    fast = look_at(see_positions(np.stack([walk(1.5), walk(1.5, aside=3.0)], axis=1)), GATES)
    found = compare(slow, fast)
    assert found.speed_w1 == pytest.approx(0.5)
    assert found.speed_ks == 1.0
    assert found.nearest_w1 == pytest.approx(1.0)
    assert found.count_error == 0.0
    assert found.direction_js == pytest.approx(0.0)
    back = look_at(see_positions(np.stack([walk(-1.0), walk(-1.0, aside=2.0)], axis=1)), GATES)
    assert compare(slow, back).direction_js == pytest.approx(1.0)
    assert compare(slow, slow).routes_js == 0.0


def test_without_recordings_fitting_says_what_it_needs(monkeypatch):
    monkeypatch.delenv("SIDESTEP_DATA", raising=False)
    load_recording.cache_clear()
    with pytest.raises(BadInput, match="set SIDESTEP_DATA"):
        load_recording("eth")


@needs_data
@pytest.mark.parametrize("window", WINDOWS[:6:5], ids=lambda window: window.name)
def test_the_fit_is_reproducible(window):
    assert fit_window(window) == load_statistics(window.name)


@needs_data
@pytest.mark.parametrize("window", WINDOWS[1::2], ids=lambda window: window.name)
def test_synthetic_crowds_are_close(window):
    found = window_closeness(window, range(2))
    assert found.speed_w1 < 0.25
    assert found.nearest_w1 < 0.7
    assert found.direction_js < 0.15
    assert found.routes_js < 0.5
    assert found.count_error < 0.55 * max(found.count_mean, 4.0)
    assert found.count_mean_synthetic == pytest.approx(found.count_mean, rel=0.35)


def _numbers(data: object) -> int:
    if isinstance(data, dict):
        return sum(_numbers(value) for value in data.values())
    if isinstance(data, list | tuple):
        return sum(_numbers(value) for value in data)
    return int(isinstance(data, int | float))
