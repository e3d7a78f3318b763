"""Loops that ``sidestep._util.exact`` uses for arrays after :func:`install`: the same bits as its NumPy code, without
the overhead of dozens of array operations on a few dozen numbers. Worlds are
drawn with such arrays; in learning environments with short episodes that takes a large part of the time."""

from __future__ import annotations

import numpy as np

from sidestep._util import exact
from sidestep.kernels.approx import atan2_64, bits64, from_bits64, sincos64
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, float64, int64

_MANTISSA, _HALF = int64(2**52 - 1), int64(1022 << 52)


@kernel
def sincos_each(x: FloatArray, sine: FloatArray, cosine: FloatArray) -> None:
    """Sine and cosine of angles up to 1e6 rad."""
    for k in range(x.size):
        sine[k], cosine[k] = sincos64(x[k])


@kernel
def arctan2_each(y: FloatArray, x: FloatArray, angle: FloatArray) -> None:
    """Angles of finite vectors."""
    for k in range(x.size):
        angle[k] = atan2_64(y[k], x[k])


@kernel
def log_each(x: FloatArray, value: FloatArray) -> None:
    """Natural logarithms of finite numbers that are positive and not subnormal."""
    for k in range(x.size):
        bits = bits64(x[k])
        m, n = from_bits64((bits & _MANTISSA) | _HALF), float64((bits >> 52) - 1022)
        if m < exact.SQRT_HALF:
            m, n = 2.0 * m, n - 1.0
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        p = exact.LOG[0] * z + exact.LOG[1]
        for j in range(2, len(exact.LOG)):
            p = p * z + exact.LOG[j]
        value[k] = n * exact.LN2_HIGH + (s * p + n * exact.LN2_LOW)


class Loops:
    """What :mod:`sidestep._util.exact` calls; arrays of any shape."""

    @staticmethod
    def sincos(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``(sin x, cos x)``."""
        sine, cosine = np.empty(x.shape), np.empty(x.shape)
        sincos_each(np.ascontiguousarray(x).reshape(-1), sine.reshape(-1), cosine.reshape(-1))
        return sine, cosine

    @staticmethod
    def arctan2(y: FloatArray, x: FloatArray) -> FloatArray:
        """The angle of (x, y), of arrays of one shape."""
        angle = np.empty(x.shape)
        flat = np.ascontiguousarray(y).reshape(-1), np.ascontiguousarray(x).reshape(-1)
        arctan2_each(*flat, angle.reshape(-1))
        return angle[()]

    @staticmethod
    def log(x: FloatArray) -> FloatArray:
        """The natural logarithm."""
        value = np.empty(x.shape)
        log_each(np.ascontiguousarray(x).reshape(-1), value.reshape(-1))
        return value


def install() -> None:
    """Let ``sidestep._util.exact`` use these loops in this process."""
    exact.use_loops(Loops)
