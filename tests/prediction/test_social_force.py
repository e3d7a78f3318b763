"""The social force roll-out: by hand, symmetries, and the same for data sets and single scenes."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from sidestep.prediction.data import make_samples
from sidestep.prediction.data.features import moments_of
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.predictors.constant_velocity import ConstantVelocity
from sidestep.prediction.predictors.social_force import SocialForce
from sidestep.types.forecast import Ego, TrackHistory
from sidestep.types.observation import RobotState
from tests.prediction.data.walkers import walkers

HORIZONS = np.array([1.0, 2.0, 4.0])


def people(*rows: tuple[float, float, float, float]) -> TrackHistory:
    given = np.array(rows, np.float64)
    return TrackHistory(np.arange(len(rows)), given[None, :, :2], given[None, :, 2:], 0.1)


def test_alone_a_person_goes_straight_on() -> None:
    forecast = SocialForce().predict(people((1.0, 2.0, 0.5, -1.0)), HORIZONS)
    np.testing.assert_allclose(forecast.mean()[0], [[1.5, 1.0], [2.0, 0.0], [3.0, -2.0]], atol=1e-9)
    same = ConstantVelocity().predict(people((1.0, 2.0, 0.5, -1.0)), HORIZONS)
    np.testing.assert_allclose(forecast.covariances, same.covariances)


def test_one_step_by_hand() -> None:
    """Two people 0.6 m apart, 0.1 m between their bodies; the pushes act along the line between them."""
    forecast = SocialForce().predict(people((0.0, 0.0, 0.0, 1.0), (0.6, 0.0, 0.0, 1.0)), np.array([0.1]))
    push = 25.0 * exp(-0.1 / 0.08)
    vx, vy = -0.1 * push, 1.0
    scale = min(1.0, 1.3 / np.hypot(vx, vy))
    np.testing.assert_allclose(forecast.mean()[:, 0, 0], [0.1 * vx * scale, 0.6 - 0.1 * vx * scale], rtol=1e-9)
    np.testing.assert_allclose(forecast.mean()[:, 0, 1], 0.1 * vy * scale, rtol=1e-9)


def test_the_vehicle_pushes_away_from_its_side() -> None:
    """A vehicle of 4 m × 2 m that drives along x; the person is 0.5 m from its side (0.25 m radius, 1 m half width)."""
    state = RobotState(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    ego = Ego(state, 2.3, body=(4.0, 2.0, 0.0))
    forecast = SocialForce().predict(people((0.5, 1.75, 0.2, 0.0)), np.array([0.1]), None, ego)
    speed = min(0.1 * 5.0 * exp(-1.0), float(np.sqrt((1.3 * 0.2) ** 2)))
    moved = forecast.mean()[0, 0] - [0.5, 1.75]
    assert moved[1] > 0.0
    vx, vy = 0.2, speed
    scale = min(1.0, 1.3 * 0.2 / np.hypot(vx, vy))
    np.testing.assert_allclose(moved, [0.1 * vx * scale, 0.1 * vy * scale], rtol=1e-9)


def test_people_who_meet_head_on_keep_apart() -> None:
    forecast = SocialForce().predict(people((0.0, 0.0, 1.3, 0.0), (6.0, 0.1, -1.3, 0.0)), np.linspace(0.1, 4.0, 40))
    gap = np.linalg.norm(forecast.mean()[0] - forecast.mean()[1], axis=1)
    assert gap.min() > 0.4


def test_moments_are_rolled_out_as_scenes_are() -> None:
    data = walkers(6, seed=2)
    ego = np.tile(data.ego[: len(data.ego) // 6], (6, 1))
    together = replace(data, clip=np.zeros(6), person=np.arange(6), ego=ego)
    samples = make_samples(together, every=20)
    fast = forecast_samples(SocialForce(), samples)

    class Slow:
        needs = SocialForce.needs
        history_s = SocialForce.history_s
        predict = staticmethod(SocialForce().predict)

    slow = forecast_samples(Slow(), samples)
    np.testing.assert_allclose(fast.mean(), slow.mean(), atol=1e-6)
    assert moments_of(samples).crowd.shape[1] == 6


@pytest.mark.parametrize("count", [0, 1])
def test_few_people(count: int) -> None:
    history = TrackHistory(np.arange(count), np.zeros((1, count, 2)), np.zeros((1, count, 2)), 0.1)
    assert SocialForce().predict(history, HORIZONS).paths.shape == (count, 1, 3, 2)
