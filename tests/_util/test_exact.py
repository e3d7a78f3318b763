"""Elementary functions whose bits are the same on every machine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidestep._util import exact
from sidestep.kernels import approx

X = np.concatenate([np.random.default_rng(1).uniform(-700, 700, 2000), np.linspace(-9, 9, 3001), [0.0, -0.0]])
Y = np.random.default_rng(2).normal(0, 3, len(X))


@pytest.mark.parametrize(
    ("name", "x", "tolerance"),
    [
        ("sin", X, 3e-16), ("cos", X, 3e-16), ("exp", X / 10, 5e-16), ("log", np.exp(X / 2), 5e-16),
        ("arcsin", np.sin(X), 1e-15), ("arccos", np.cos(X), 1e-15), ("arctan", X, 1e-15),
    ],
)  # fmt: skip
def test_values_are_those_of_numpy(name, x, tolerance):
    expected = getattr(np, name)(x)
    error = np.abs(getattr(exact, name)(x) - expected) / np.maximum(np.abs(expected), 1.0)
    assert error.max() < tolerance


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "log", "arctan", "wrap_angle"])
def test_numbers_and_arrays_have_the_same_bits(name):
    x = np.abs(X[:300]) + 0.1 if name == "log" else X[:300]
    function = getattr(exact, name)
    assert function(x).tolist() == [function(float(value)) for value in x]
    assert isinstance(function(0.5), float)


def test_the_kernels_have_the_same_bits():
    assert exact.sin(X).tolist() == [approx.sincos64(x)[0] for x in X]
    assert exact.cos(X).tolist() == [approx.cos64(x) for x in X]
    assert exact.arctan2(Y, X).tolist() == [approx.atan2_64(y, x) for y, x in zip(Y, X, strict=True)]
    assert exact.wrap_angle(X).tolist() == [approx.wrap_angle(x) for x in X]


def test_arctan2_of_zeros_and_infinities():
    for y in (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf):
        for x in (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf):
            assert exact.arctan2(y, x) == pytest.approx(math.atan2(y, x), abs=1e-15)
            assert math.copysign(1, exact.arctan2(y, x)) == math.copysign(1, math.atan2(y, x))


def test_limits_of_exp_and_log():
    assert exact.exp(-1000.0) == 0.0
    assert exact.exp(1000.0) == math.inf
    assert exact.exp(0.0) == 1.0
    assert exact.log(0.0) == -math.inf
    assert exact.log(1.0) == 0.0
    assert math.isnan(exact.log(-1.0))
    assert exact.log(math.inf) == math.inf


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320, 1e308, 709.7, 709.79, -744.5, -745.2, 1.0, -1.0]


@pytest.mark.parametrize("name", ["exp", "log"])
def test_numbers_and_arrays_agree_at_the_limits(name):
    function = getattr(exact, name)
    np.testing.assert_array_equal(function(np.array(SPECIAL)), [function(x) for x in SPECIAL])


def test_angles_of_numbers_and_arrays_agree_at_the_limits():
    y, x = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    np.testing.assert_array_equal(
        exact.arctan2(y, x), [exact.arctan2(float(b), float(a)) for b, a in zip(y, x, strict=True)]
    )


ANGLES = [*SPECIAL, 1e6, -1e6, 1.1e6, 1e9, -1e15, 1e16, 9.3e18, 1e22, -1e300]


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "wrap_angle", "arcsin", "arccos"])
@pytest.mark.filterwarnings("error")
def test_angles_agree_at_the_limits(name):
    """Of numbers, arrays and arrays without an axis, as bits (-0 is not 0)."""
    function = getattr(exact, name)
    numbers = np.array([function(x) for x in ANGLES])
    arrays = function(np.array(ANGLES))
    np.testing.assert_array_equal(arrays, numbers)
    np.testing.assert_array_equal(np.signbit(arrays)[arrays == 0.0], np.signbit(numbers)[numbers == 0.0])
    np.testing.assert_array_equal([function(np.array(x)) for x in ANGLES], numbers)


def test_angles_far_beyond_a_turn():
    """They lose digits slowly and stay sines; the polynomial alone gave 8e91 for 1e22."""
    for x in (1.1e6, 1e9, -1e12):
        assert exact.sin(x) == pytest.approx(math.sin(x), abs=1e-16 * abs(x))
        assert exact.cos(x) == pytest.approx(math.cos(x), abs=1e-16 * abs(x))
    for x in (1e16, -9.3e18, 1e22, 1e300):
        assert abs(exact.sin(x)) <= 1.0
        assert abs(exact.cos(x)) <= 1.0
        assert abs(exact.wrap_angle(x)) <= math.pi
    assert all(math.isnan(exact.sin(x)) and math.isnan(exact.wrap_angle(x)) for x in (math.inf, -math.inf, math.nan))


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "arcsin", "arccos", "arctan", "wrap_angle"])
def test_other_types_are_taken_as_float64(name):
    function, x = getattr(exact, name), np.float32(0.3)
    assert function(x) == function(float(x))
    assert function(np.array([x])).tolist() == [function(float(x))]
    assert function([float(x), 1.0]).dtype == np.float64
    assert function(np.array([1, 1])).tolist() == [function(1), function(1.0)]


def test_matrix_products_are_summed_in_order():
    rows, matrix = Y[:60].reshape(4, 5, 3), X[:6].reshape(3, 2)
    assert exact.matmul(rows, matrix) == pytest.approx(rows @ matrix, rel=1e-13)
    by_hand = [
        (row[0] * matrix[0, 1] + row[1] * matrix[1, 1]) + row[2] * matrix[2, 1] for row in rows.reshape(-1, 3).tolist()
    ]
    assert exact.matmul(rows, matrix)[..., 1].ravel().tolist() == by_hand
    assert exact.matmul([1.0, 2.0], [[1.0, 0.0], [0.0, 3.0]]).tolist() == [1.0, 6.0]


def test_lengths_and_turns():
    assert exact.hypot(3.0, 4.0) == 5.0
    assert exact.norm([[3.0, 4.0], [0.0, 2.0]]).tolist() == [5.0, 2.0]
    assert exact.rotate([[1.0, 0.0]], math.pi / 2) == pytest.approx(np.array([[0.0, 1.0]]), abs=1e-15)


def test_interp_is_numpys():
    xp, fp = np.array([0.0, 1.0, 1.5, 4.0]), np.array([2.0, -1.0, 3.0, 3.5])
    x = np.linspace(-1, 5, 400)
    assert exact.interp(x, xp, fp) == pytest.approx(np.interp(x, xp, fp), abs=1e-14)
    assert exact.interp(1.0, xp, fp) == -1.0
    assert exact.interp(np.array(1.0), xp, fp).shape == ()


def test_uniform_draws_are_numpys():
    ours = exact.uniform(np.random.default_rng(3), -2.0, 5.0, 100)
    assert ours.tolist() == np.random.default_rng(3).uniform(-2.0, 5.0, 100).tolist()


def test_distributions():
    rng = np.random.default_rng(5)
    draws = exact.normal(rng, 2.0, 3.0, 100_000)
    assert draws.mean() == pytest.approx(2.0, abs=0.04)
    assert draws.std() == pytest.approx(3.0, abs=0.04)
    assert exact.exponential(rng, 4.0, 100_000).mean() == pytest.approx(4.0, abs=0.08)
    assert isinstance(exact.normal(rng), float)


def test_every_scale_has_a_draw_of_its_own():
    draws = exact.exponential(np.random.default_rng(1), np.ones(50))
    assert len(set(draws.tolist())) == 50
    assert draws.tolist() == exact.exponential(np.random.default_rng(1), 1.0, 50).tolist()


def test_total_adds_from_the_first_to_the_last() -> None:
    """Without making up for rounding errors, as ``sum`` does from Python 3.12 on: there 0.1 is left."""
    assert exact.total([1e16, 0.1, -1e16]) == 0.0
    assert exact.total([0.1] * 3) == 0.1 + 0.1 + 0.1
    assert exact.total([]) == 0.0


@pytest.mark.parametrize("shape", [(), (3,), (4, 5)])
def test_compiled_loops_have_the_same_bits(monkeypatch, shape):
    from sidestep.kernels import elementary

    rng = np.random.default_rng(5)
    x, y = rng.uniform(-50.0, 50.0, shape), rng.uniform(-50.0, 50.0, shape)
    z = np.abs(x) * 10.0 ** rng.integers(-300, 300, shape)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, 0.5, 2.0**-1022, 1.7e308, -3.0, 1e9])

    def values():
        pairs = (exact.sincos(x), exact.sincos(special), exact.sincos(np.zeros((2, 3))[:, ::2]))
        singles = (exact.log(z), exact.log(special), exact.arctan2(y, x), exact.arctan2(special, special[::-1]))
        return [*(part for pair in pairs for part in pair), *singles]

    monkeypatch.setattr(exact, "_loops", None)
    expected = values()
    elementary.install()
    for one, other in zip(expected, values(), strict=True):
        assert type(one) is type(other)
        assert np.shape(one) == np.shape(other)
        assert np.array_equal(one, other, equal_nan=True)
        assert np.array_equal(np.signbit(one), np.signbit(other)) or np.isnan(one).any()
