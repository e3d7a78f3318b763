"""The elementary functions keep their documented errors, and sums do not depend on their order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from sidestep.kernels import approx

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 1e-30, -1e30, np.inf, -np.inf])


@functools.cache
def over(function: Any) -> Callable[..., Any]:
    """A function of one array that applies ``function`` to each element."""

    @numba.njit(error_model="numpy")
    def apply(x: Any) -> Any:
        result = np.empty_like(x)
        for k in range(x.size):
            result[k] = function(x[k])
        return result

    return apply  # type: ignore[no-any-return]


@numba.njit(error_model="numpy")
def sin64(x: Any) -> Any:
    return approx.sincos64(x)[0]


@functools.cache
def over_pairs(function: Any) -> Callable[..., Any]:
    @numba.njit(error_model="numpy")
    def apply(y: Any, x: Any) -> Any:
        result = np.empty_like(x)
        for k in range(x.size):
            result[k] = function(y[k], x[k])
        return result

    return apply  # type: ignore[no-any-return]


def angle_error(a: Any, b: Any) -> float:
    difference = np.asarray(a - b, np.float64)
    return float(np.max(np.abs(difference - 2 * np.pi * np.round(difference / (2 * np.pi)))))


@pytest.fixture(scope="module")
def vectors() -> tuple[Any, Any]:
    """Vectors in every direction, of lengths between 1e-15 and 1e15."""
    angle = np.linspace(-np.pi, np.pi, 400_001)
    length = 10.0 ** np.random.default_rng(3).uniform(-15, 15, angle.size)
    return length * np.sin(angle), length * np.cos(angle)


def test_exp32_is_within_one_ulp() -> None:
    x = np.linspace(-87.33, 88.72, 1_000_001).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    y = over(approx.exp32)(x)
    assert np.max(np.abs(y - exact) / np.spacing(exact.astype(np.float32))) <= 1.0
    np.testing.assert_array_equal(over(approx.exp32_bounded)(x), y)


def test_exp32_at_the_ends() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, 89.0, 1e30, -87.4, -1e30], np.float32)
    np.testing.assert_array_equal(over(approx.exp32)(x), [1, 1, np.inf, 0, np.inf, np.inf, 0, 0])
    assert np.isnan(over(approx.exp32)(np.array([np.nan], np.float32)))[0]
    assert over(approx.exp32)(np.array([-87.33], np.float32))[0] > 0
    assert np.isfinite(over(approx.exp32)(np.array([88.72], np.float32)))[0]


@pytest.mark.parametrize("limit", [4.0, 1e4, 1e6])
def test_float64_trigonometry(limit: float) -> None:
    x = np.linspace(-limit, limit, 300_001)
    exact = x.astype(np.longdouble)
    assert np.max(np.abs(over(sin64)(x) - np.sin(exact))) <= 2.3e-16
    assert np.max(np.abs(over(approx.cos64)(x) - np.cos(exact))) <= 2.3e-16
    tangent = np.tan(exact)
    assert np.max(np.abs(over(approx.tan64)(x) - tangent) / (1 + tangent**2)) <= 3e-16
    wrapped = over(approx.wrap_angle)(x)
    assert angle_error(wrapped, np.arctan2(np.sin(exact), np.cos(exact))) <= 6e-16
    assert np.all((wrapped > -np.pi) & (wrapped <= np.pi))


def test_sine_and_cosine_at_zero_and_infinity() -> None:
    zero = np.array([0.0, -0.0])
    np.testing.assert_array_equal(over(approx.cos64)(zero), [1.0, 1.0])
    np.testing.assert_array_equal(over(sin64)(zero), [0.0, 0.0])
    for bad in (np.inf, -np.inf, np.nan):
        assert np.isnan(over(sin64)(np.array([bad])))[0]
        assert np.isnan(over(approx.cos64)(np.array([bad])))[0]


def test_wrap_angle_keeps_angles_in_range_and_maps_minus_pi_to_pi() -> None:
    wrap = over(approx.wrap_angle)
    inside = np.random.default_rng(1).uniform(-np.pi, np.pi, 100_000)
    np.testing.assert_array_equal(wrap(inside), inside)
    edges = np.array([np.pi, -np.pi, np.nextafter(np.pi, 0), np.nextafter(-np.pi, 0)])
    np.testing.assert_array_equal(wrap(edges), [np.pi, np.pi, edges[2], edges[3]])


def test_atan2_32(vectors: tuple[Any, Any]) -> None:
    y, x = (v.astype(np.float32) for v in vectors)
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    error = np.abs(over_pairs(approx.atan2_32)(y, x) - exact)
    assert np.max(error) <= 3e-7
    ahead = (np.abs(y) < x) & (y != 0)
    assert np.max((error / np.spacing(np.abs(exact).astype(np.float32)))[ahead]) <= 2.0


def test_atan2_64(vectors: tuple[Any, Any]) -> None:
    y, x = vectors
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert np.max(np.abs(over_pairs(approx.atan2_64)(y, x) - exact)) <= 6e-16


@pytest.mark.parametrize(("function", "kind"), [(approx.atan2_32, np.float32), (approx.atan2_64, np.float64)])
def test_atan2_of_zeros_and_infinities(function: Any, kind: type) -> None:
    y, x = (v.ravel().astype(kind) for v in np.meshgrid(SPECIAL, SPECIAL))
    result, expected = over_pairs(function)(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(result, expected, rtol=2 * float(np.finfo(kind).eps), atol=0)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    for pair in ((np.nan, 1.0), (1.0, np.nan)):
        assert np.isnan(over_pairs(function)(*(np.array([v], kind) for v in pair)))[0]


@numba.njit
def total(values: Any) -> Any:
    return approx.from_steps(approx.order_free_steps(values, np.uint64(0), values.size))


def test_order_free_sum_is_exact_for_representable_steps_and_has_no_order() -> None:
    rng = np.random.default_rng(7)
    values = (rng.normal(size=1003) * 10.0 ** rng.uniform(-6, 3, 1003)).astype(np.float32)
    expected = total(values)
    assert abs(float(expected) - np.sum(values.astype(np.float64))) < 1003 * 2.0**-27 + np.spacing(
        np.float32(abs(expected))
    )
    for _ in range(5):
        rng.shuffle(values)
        assert total(values) == expected
    assert total(np.concatenate((np.zeros(5, np.float32), values[::-1], np.zeros(70, np.float32)))) == expected
    assert total(np.array([2.0**23, 0.25, -(2.0**23)], np.float32)) == np.float32(0.25)
    assert total(np.zeros(0, np.float32)) == 0.0
