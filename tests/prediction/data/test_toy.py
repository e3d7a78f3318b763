"""The toy example: the paper's findings come out, and by hand what makes them."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.prediction.scores import expected_distance, log_density
from sidestep.prediction.toy import (
    CROSSING,
    MODELS,
    ONE_MODE,
    SIDEWALK,
    STREET_Y,
    TRUTH,
    _expected_sensitivity,
    forecast_of,
    run_toy,
    zones,
)
from sidestep.prediction.violation import mixture_in_polygon
from sidestep.types.base import FloatArray


def in_zones(model: str) -> FloatArray:
    forecast = forecast_of(model)
    return mixture_in_polygon(forecast.paths[0, :, 0], forecast.covariances[0, :, 0], forecast.weights[0], zones())


def test_the_findings_of_the_paper_come_out() -> None:
    result = run_toy(600, 1000)
    assert len(result.findings) == 4
    assert all(result.findings.values()), result.findings
    irs = result.bootstrap.metrics["irs"].value[:, 0]
    assert irs[0] == pytest.approx(irs[1], abs=0.01)
    assert irs[0] > 0.9
    assert irs[2] < 0.6


@pytest.mark.parametrize("seed", range(4))
def test_findings_do_not_depend_on_the_draws(seed: int) -> None:
    assert all(run_toy(10, 50, seed).findings.values())


def test_expectations_are_what_many_draws_come_to() -> None:
    result = run_toy(1500, 10)
    drawn = result.draws
    for row, (model, expected) in enumerate(result.expected.items()):
        forecast = forecast_of(model)
        parts = drawn[:, None], forecast.paths, forecast.covariances, forecast.weights
        nll = -log_density(*parts)[:, 0]
        assert nll.mean() == pytest.approx(expected.nll, abs=4.0 * nll.std() / np.sqrt(1500))
        assert expected_distance(*parts).mean() == pytest.approx(expected.ade, abs=0.2)
        assert result.bootstrap.metrics["irs"].value[row, 0] == pytest.approx(expected.irs, abs=0.04)


def test_a_sensitivity_by_hand() -> None:
    """Zones that are positive with 0.9, 0.5 and 0.1, of which a tenth, half and 0.9 are false: of 1.5 each. A rate of
    0.4 takes in the first two zones: (0.1 + 0.5) / 1.5, (0.9 + 0.5) / 1.5. With the first two tied, it is on the same
    straight line; at 0.2 on the way to it."""
    positive = np.array([0.9, 0.5, 0.1])
    assert _expected_sensitivity(np.array([0.8, 0.7, 0.2]), positive, 0.4) == pytest.approx(1.4 / 1.5)
    assert _expected_sensitivity(np.array([0.8, 0.8, 0.2]), positive, 0.2) == pytest.approx(0.7 / 1.5)
    assert _expected_sensitivity(np.array([0.5, 0.5, 0.5]), positive, 0.15) == pytest.approx(0.15)


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


def test_the_findings_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the model with one mode were the truth, NLL could not prefer the truth to it, nor ADE it to the truth."""
    monkeypatch.setitem(MODELS, ONE_MODE, MODELS[TRUTH])
    found = list(run_toy(10, 50).findings.values())
    assert found == [False, False, True, False]
