"""The toy example: the paper's findings come out, and by hand what makes them."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.interactions.toy import CROSSING, MODELS, SIDEWALK, STREET_Y, TRUTH, forecast_of, run_toy, zones
from sidestep.policies.driving.violation import mixture_in_polygon
from sidestep.types.base import FloatArray


def in_zones(model: str) -> FloatArray:
    forecast = forecast_of(model)
    return mixture_in_polygon(forecast.paths[0, :, 0], forecast.covariances[0, :, 0], forecast.weights[0], zones())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_findings_of_the_paper_come_out(seed: int) -> None:
    result = run_toy(600, 1000, seed)
    assert len(result.findings) == 4
    assert all(result.findings.values()), result.findings
    irs = result.bootstrap.metrics["irs"].value[:, 0]
    assert irs[0] == pytest.approx(irs[1], abs=0.01)
    assert irs[0] > 0.9
    assert irs[2] < 0.6


def test_zones_lie_on_the_street() -> None:
    corners = zones()
    assert corners[..., 1].min() > STREET_Y[0]
    assert corners[..., 1].max() < STREET_Y[1]
    assert np.ptp(corners[0], axis=0).tolist() == pytest.approx([7.5, 3.0])


def test_errors_on_the_sidewalk_do_not_reach_the_street() -> None:
    assert np.abs(in_zones(TRUTH) - in_zones(SIDEWALK)).max() < 1e-3
    assert np.abs(in_zones(TRUTH) - in_zones(CROSSING)).max() > 0.2


def test_weights_sum_to_one_and_the_truth_has_three_modes() -> None:
    assert len(MODELS[TRUTH]) == 3
    for model in MODELS:
        assert forecast_of(model).weights.sum() == pytest.approx(1.0)


def test_the_findings_can_fail() -> None:
    """With few draws, intervals are too long to tell all models apart."""
    assert not all(run_toy(10, 200, 3).findings.values())
