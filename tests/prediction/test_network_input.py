"""Input of learned predictors: by hand, against the plain crop of a map, and turned together with the world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.prediction.data import make_samples
from sidestep.prediction.data.features import moments_of
from sidestep.prediction.ground import crop_ground
from sidestep.prediction.predictors.network_input import (
    FEATURE_SETS,
    GroundWindows,
    channels_of,
    frame_turn,
    history_input,
    parse_features,
    turned,
)
from sidestep.types.interactions import GroundMap
from sidestep.types.moments import Moments
from tests.prediction.data.walkers import street, walkers

FULL = FEATURE_SETS[-1]


def moments(**changes: Any) -> Moments:
    """One person who walks along y at 1 m/s past a vehicle at (5, 0)."""
    past = np.stack([np.zeros(11), 0.1 * np.arange(11)], axis=1)[None]
    ego = np.tile([5.0, 0.0, 0.0], (1, 11, 1))
    given = {
        "step_s": 0.1, "horizons_s": np.array([1.0]), "past": past, "ego": ego, "ego_speed": np.zeros(1),
        "ego_size": np.array([[4.0, 2.0]]), "body": np.full((1, 11), np.pi / 2), "head": np.full((1, 11), np.nan),
        "ground": np.array([-1]),
    }  # fmt: skip
    return Moments(**{**given, **changes})


def test_feature_sets_in_any_order() -> None:
    assert parse_features("map + motion+egodist") == "motion+map+egodist"
    assert [channels_of(name) for name in FEATURE_SETS] == [2, 4, 6, 8, 2, 4, 6, 8]
    with pytest.raises(BadInput, match="motion\\+map"):
        parse_features("motion+maps")


def test_history_by_hand() -> None:
    found = history_input(moments(), FULL, np.zeros(1))
    assert found.shape == (1, 10, 8)
    np.testing.assert_allclose(found[0, :, :2], np.tile([0.0, 0.1], (10, 1)), atol=1e-7)
    np.testing.assert_allclose(found[0, -1, 2:4], [5.0, -1.0], atol=1e-6)  # the vehicle as seen from (0, 1)
    np.testing.assert_allclose(found[0, 0, 2:4], [5.0, -0.1], atol=1e-6)
    assert (found[0, :, 4:6] == 0.0).all()  # the head is not known
    np.testing.assert_allclose(found[0, :, 6:8], np.tile([0.0, 1.0], (10, 1)), atol=1e-7)


def test_a_frame_along_the_motion() -> None:
    turn = frame_turn(moments().past, "heading")
    assert turn[0] == pytest.approx(np.pi / 2)
    found = history_input(moments(), FULL, turn)
    np.testing.assert_allclose(found[0, -1], [0.1, 0.0, -1.0, -5.0, 0.0, 0.0, 1.0, 0.0], atol=1e-6)
    assert frame_turn(moments().past, "world")[0] == 0.0
    assert frame_turn(np.zeros((1, 11, 2)), "heading")[0] == 0.0  # somebody who stands


def test_other_steps_are_refused() -> None:
    with pytest.raises(BadInput, match=r"11 positions in steps of 0\.1 s; there are 11 in steps of 0\.2 s"):
        history_input(moments(step_s=0.2), FULL, np.zeros(1))
    with pytest.raises(BadInput, match="there are 6"):
        history_input(moments(past=np.zeros((1, 6, 2))), FULL, np.zeros(1))


def test_a_vehicle_that_nobody_knows_is_zero() -> None:
    found = history_input(moments(ego=np.full((1, 11, 3), np.nan)), FULL, np.zeros(1))
    assert (found[..., 2:4] == 0.0).all()


@given(st.floats(-3.0, 3.0))
def test_turning_there_and_back(angle: float) -> None:
    vectors = np.array([[[1.0, 2.0], [-3.0, 0.5]]])
    turn = np.array([angle])
    np.testing.assert_allclose(turned(turned(vectors, turn), -turn), vectors, atol=1e-9)
    cosine, sine = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(turned(np.array([[1.0, 0.0]]), turn), [[cosine, -sine]], atol=1e-9)


def test_windows_are_those_of_the_plain_crop() -> None:
    rng = np.random.default_rng(1)
    other = GroundMap(rng.integers(0, 8, (40, 70)), (3.0, -2.0), 0.25)
    ground = np.array([0, 1, 1, -1, 0])
    centre, turn = rng.uniform(-12.0, 12.0, (5, 2)), rng.uniform(-3.0, 3.0, 5)
    found = GroundWindows((street(), other), 32).cut(ground, centre, turn)
    for k, number in enumerate(ground.tolist()):
        expected = crop_ground((street(), other)[number], centre[k : k + 1], turn[k : k + 1], 32, 25.6)[0]
        same = found[k] == (expected if number >= 0 else 0)
        assert same.mean() > 0.995  # a point on an edge may fall to either side


def test_a_history_turns_with_the_world() -> None:
    samples = make_samples(walkers(2), every=15)
    plain = moments_of(samples)
    angle = np.full(len(plain), 0.7)
    world = replace(
        plain,
        past=turned(plain.past, -angle),
        ego=np.concatenate([turned(plain.ego[..., :2], -angle), plain.ego[..., 2:] + 0.7], axis=-1),
        body=plain.body + np.float32(0.7),
        head=plain.head + np.float32(0.7),
    )
    there = history_input(world, FULL, angle)
    np.testing.assert_allclose(there, history_input(plain, FULL, np.zeros(len(plain))), atol=1e-4)
