"""Elementary functions and random draws whose bits are the same on every machine.

NumPy's and libm's ``sin``, ``exp``, ``hypot`` and their like differ in the last bit between processors, BLAS sums in
an order of its own, and compilers may fuse ``a * b + c``. Whatever defines a scenario or a record uses this module
instead. It needs only ``+ - * /``, ``sqrt``, comparisons and powers of two, which IEEE 754 defines to the bit.

Every function takes a number or an array and returns a ``float`` or a float64 array. The values of numbers and arrays
have the same bits; :func:`sincos`, :func:`arctan2` and :func:`wrap_angle` have those of ``kernels.approx`` for angles
up to 1e6 rad. Sine, cosine, tangent and ``wrap_angle`` of an infinite angle are NaN.

==================================  ============================================
function                            largest error
==================================  ============================================
``sin``, ``cos``                    2.3e-16 absolute for abs(x) <= 1e6 rad, above 4e-17 abs(x), in -1 … 1
``tan``                             3e-16 relative to 1 + tan² for abs(x) <= 1e6 rad
``arctan2``, ``arcsin``, ``arccos``  1e-15 absolute
``exp``, ``log``                    2 ulp
``hypot``, ``norm``                 2 ulp for lengths of 1e-150 … 1e150; 0 or infinity far beyond
==================================  ============================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Size = int | tuple[int, ...] | None

_ROUND = 1.5 * 2.0**52
_FAR = 1e6
_QUARTER_A, _QUARTER_B, _QUARTER_C = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
_PER_QUARTER = 2.0 / math.pi
_PI_REST = 1.2246467991473532e-16
_TAN_EIGHTH = math.sqrt(2.0) - 1.0
SQRT_HALF = math.sqrt(0.5)
_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8, 0, -1))
_COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(8, 1, -1))
_ATAN = (
    -0.017920825340216135581, 0.038077024182330048424, -0.050397957708605204325, 0.058479981868955555563,
    -0.066631189552977361362, 0.076920615158270435631, -0.090908978298991290442, 0.11111110785920228198,
    -0.14285714280244376301, 0.1999999999995404332, -0.33333333333333198983,
)  # fmt: skip
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_PER_LN2 = 1.4426950408889634
_EXP = tuple(1 / math.factorial(k) for k in range(14, -1, -1))
LOG = tuple(2.0 / (2 * k + 1) for k in range(11, -1, -1))


_SMALLEST_NORMAL = 2.0**-1022
_loops: Any = None


def use_loops(loops: Any) -> None:
    """Compute arrays with ``sidestep.kernels.elementary`` from now on: the same bits, faster."""
    global _loops
    _loops = loops


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Horner's scheme, highest power first."""
    value = coefficients[0] * x + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


_NUMBER = (float, int, np.generic)


def _is_number(x: Any, y: Any = 0.0) -> bool:
    return isinstance(x, _NUMBER) and isinstance(y, _NUMBER)


def _array(x: Any) -> FloatArray:
    return np.asarray(x, np.float64)


def _angle(x: Any, number: bool) -> Any:
    """The angle as a ``float`` or an array; one beyond ``_FAR`` without whole turns, which ``fmod`` takes off
    exactly."""
    if number:
        x = float(x)
        return x if -_FAR <= x <= _FAR else math.fmod(x, 2.0 * math.pi) if math.isfinite(x) else math.nan
    x = _array(x)
    near = np.abs(x) <= _FAR
    if near.all():
        return x
    return np.where(near, x, np.fmod(np.where(np.isfinite(x), x, np.nan), 2.0 * math.pi))


def sincos(x: Any) -> tuple[Any, Any]:
    """``(sin x, cos x)``."""
    number = _is_number(x)
    x = _angle(x, number)
    if _loops is not None and not number and np.isfinite(x).all():
        sine, cosine = _loops.sincos(x)
        return sine, cosine
    k = (x * _PER_QUARTER + _ROUND) - _ROUND
    r = ((x - k * _QUARTER_A) - k * _QUARTER_B) - k * _QUARTER_C
    z = r * r
    s = r + r * (z * _polynomial(_SINE, z))
    c = (1.0 - 0.5 * z) + (z * z) * _polynomial(_COSINE, z)
    if number:
        return ((s, c), (c, -s), (-s, -c), (-c, s))[int(k) & 3 if k == k else 0]
    quarter = np.where(k == k, k, 0.0).astype(np.int64) & 3
    swap = (quarter & 1) != 0
    sine, cosine = np.where(swap, c, s), np.where(swap, s, c)
    return np.where(quarter >= 2, -sine, sine), np.where((quarter == 1) | (quarter == 2), -cosine, cosine)


def sin(x: Any) -> Any:
    """Sine of an angle in radians."""
    return sincos(x)[0]


def cos(x: Any) -> Any:
    """Cosine of an angle in radians."""
    return sincos(x)[1]


def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    sine, cosine = sincos(x)
    return sine / cosine


def arctan2(y: Any, x: Any) -> Any:
    """Angle of (x, y) in [-π, π]; for the null vector 0 or ±π, by the signs of its zeros."""
    if _is_number(y, x):
        return _arctan2(float(y), float(x))
    y, x = np.broadcast_arrays(_array(y), _array(x))
    if _loops is not None and np.isfinite(x).all() and np.isfinite(y).all():
        return _loops.arctan2(y, x)
    ax, ay = np.abs(x), np.abs(y)
    low, high = np.where(ay < ax, ay, ax), np.where(ay < ax, ax, ay)
    with np.errstate(invalid="ignore"):
        t = low / np.where(high != 0.0, high, 1.0)
    t = np.where((low == high) & (high != 0.0), 1.0, t)  # inf / inf
    upper = t > _TAN_EIGHTH
    u = np.where(upper, (t - 1.0) / (t + 1.0), t)
    z = u * u
    a = u + u * (z * _polynomial(_ATAN, z))
    a = np.where(upper, math.pi / 4 + (a + _PI_REST / 4), a)
    a = np.where(ay > ax, math.pi / 2 - (a - _PI_REST / 2), a)
    a = np.where(np.signbit(x), math.pi - (a - _PI_REST), a)
    return np.copysign(a, y)


def _arctan2(y: float, x: float) -> float:
    """The same for numbers, several times as fast."""
    ax, ay = abs(x), abs(y)
    low, high = (ay, ax) if ay < ax else (ax, ay)
    t = 1.0 if low == high != 0.0 else low / (high if high != 0.0 else 1.0)
    upper = t > _TAN_EIGHTH
    u = (t - 1.0) / (t + 1.0) if upper else t
    z = u * u
    a = u + u * (z * _polynomial(_ATAN, z))
    a = math.pi / 4 + (a + _PI_REST / 4) if upper else a
    a = math.pi / 2 - (a - _PI_REST / 2) if ay > ax else a
    a = math.pi - (a - _PI_REST) if math.copysign(1.0, x) < 0.0 else a
    return math.copysign(a, y)


def arctan(x: Any) -> Any:
    """Angle in [-π/2, π/2] with the tangent ``x``."""
    return arctan2(x, 1.0)


def arcsin(x: Any) -> Any:
    """Angle in [-π/2, π/2] with the sine ``x``."""
    return arctan2(x, _other_leg(x))


def arccos(x: Any) -> Any:
    """Angle in [0, π] with the cosine ``x``."""
    return arctan2(_other_leg(x), x)


def _other_leg(x: Any) -> Any:
    """√(1 - x²), NaN beyond ±1."""
    if _is_number(x):
        x = float(x)
        return math.sqrt((1.0 - x) * (1.0 + x)) if -1.0 <= x <= 1.0 else math.nan
    x = _array(x)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.sqrt((1.0 - x) * (1.0 + x))


def wrap_angle(x: Any) -> Any:
    """``x`` modulo 2π in (-π, π]; an angle in that range is returned as it is."""
    number = _is_number(x)
    x = _angle(x, number)
    k = ((x * (_PER_QUARTER * 0.25) + _ROUND) - _ROUND) * 4.0
    r = ((x - k * _QUARTER_A) - k * _QUARTER_B) - k * _QUARTER_C
    if number:
        r = r + 2.0 * math.pi if r <= -math.pi else r
        return r - 2.0 * math.pi if r > math.pi else r
    r = np.where(r <= -math.pi, r + 2.0 * math.pi, r)
    return np.where(r > math.pi, r - 2.0 * math.pi, r)


def _sqrt(x: Any) -> Any:
    return math.sqrt(x) if _is_number(x) and x >= 0.0 else np.sqrt(x)


def hypot(x: Any, y: Any) -> Any:
    """Length of the vector (x, y)."""
    if _is_number(x, y):
        x, y = float(x), float(y)
        return math.sqrt(x * x + y * y)
    x, y = _array(x), _array(y)
    return np.sqrt(x * x + y * y)


def square(x: Any) -> Any:
    """``x * x``; Python's ``x ** 2`` is libm's ``pow``."""
    return x * x


def total(values: Iterable[float]) -> Any:
    """The sum of numbers, added from the first to the last. Python's ``sum`` does so up to version 3.11; from 3.12 on
    it makes up for rounding errors, so that the last bits differ."""
    found: Any = 0.0
    for value in values:
        found = found + value
    return found


def norm(vectors: Any) -> Any:
    """Length of vectors along the last axis, summed from the first component to the last."""
    vectors = _array(vectors)
    total = vectors[..., 0] * vectors[..., 0]
    for k in range(1, vectors.shape[-1]):
        total = total + vectors[..., k] * vectors[..., k]
    lengths = np.sqrt(total)
    return float(lengths) if lengths.ndim == 0 else lengths


def rotate(points: Any, angle: float) -> FloatArray:
    """Points (…, 2) turned counter-clockwise by ``angle``, without a matrix product."""
    points = _array(points)
    s, c = sincos(float(angle))
    x, y = points[..., 0], points[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def matmul(rows: Any, matrix: Any) -> FloatArray:
    """Row vectors (…, N) times a matrix (N, M), summed from the first product to the last; for small N."""
    rows, matrix = _array(rows), _array(matrix)
    total: FloatArray = rows[..., :1] * matrix[0]
    for k in range(1, len(matrix)):
        total = total + rows[..., k, None] * matrix[k]
    return total


def exp(x: Any) -> Any:
    """e to the power ``x``; 0 below -745, infinity above 709.78."""
    if _is_number(x):
        return _exp_number(float(x))
    x = _array(x)
    bounded = np.clip(x, -746.0, 710.0)
    n = np.rint(bounded * _PER_LN2)
    r = (bounded - n * LN2_HIGH) - n * LN2_LOW
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        whole = np.where(np.isfinite(n), n, 0.0).astype(np.int32)
        return np.ldexp(_polynomial(_EXP, r), whole)


def _exp_number(x: float) -> float:
    if x != x:
        return x
    bounded = min(max(x, -746.0), 710.0)
    n = round(bounded * _PER_LN2)
    r = (bounded - n * LN2_HIGH) - n * LN2_LOW
    try:
        return math.ldexp(_polynomial(_EXP, r), n)
    except OverflowError:
        return math.inf


def log(x: Any) -> Any:
    """Natural logarithm; -infinity at 0, NaN below."""
    if _is_number(x):
        return _log_number(float(x))
    x = _array(x)
    if _loops is not None and ((x >= _SMALLEST_NORMAL) & (x < np.inf)).all():
        return _loops.log(x)
    m, n = np.frexp(x)
    low = m < SQRT_HALF
    m, n = np.where(low, 2.0 * m, m), np.where(low, n - 1, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        s = (m - 1.0) / (m + 1.0)
        value = n * LN2_HIGH + (s * _polynomial(LOG, s * s) + n * LN2_LOW)
    value = np.where(x == 0.0, -np.inf, np.where(x < 0.0, np.nan, value))
    return np.where(np.isinf(x) & (x > 0), np.inf, value)


def _log_number(x: float) -> float:
    if not 0.0 < x < math.inf:
        return -math.inf if x == 0.0 else math.inf if x > 0.0 else math.nan
    m, n = math.frexp(x)
    if m < SQRT_HALF:
        m, n = 2.0 * m, n - 1
    s = (m - 1.0) / (m + 1.0)
    value: float = n * LN2_HIGH + (s * _polynomial(LOG, s * s) + n * LN2_LOW)
    return value


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Linear interpolation as ``numpy.interp``: ``xp`` increases, values beyond its ends are those of the ends. ``fp``
    is (K,), or (K, C) for C columns at once."""
    number, shape = _is_number(x), np.shape(x)
    xp, fp = _array(xp), _array(fp)
    columns = fp.shape[1:]
    x = np.atleast_1d(_array(x)).reshape(-1, *(1 for _ in columns))
    if len(xp) == 1:
        values = np.full((len(x), *columns), fp[0])
    else:
        k = np.clip(np.searchsorted(xp, x.ravel(), side="right") - 1, 0, len(xp) - 2)
        before, span = xp[k].reshape(x.shape), (xp[k + 1] - xp[k]).reshape(x.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = fp[k] + (x - before) / span * (fp[k + 1] - fp[k])
        values = np.where(x >= xp[-1], fp[-1], np.where(x <= xp[0], fp[0], np.where(x == before, fp[k], values)))
    if number:
        return values[0] if columns else float(values[0])
    return values.reshape(shape + columns)


def uniform(rng: np.random.Generator, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Any:
    """Uniform draws; the same numbers as ``rng.uniform``, with no fused multiplication."""
    if size is None and not _is_number(low, high):
        size = np.broadcast(low, high).shape
    return low + (high - low) * rng.random(size)


def normal(rng: np.random.Generator, mean: Any = 0.0, sd: Any = 1.0, size: Size = None) -> Any:
    """Normal draws, two uniform numbers each (G. E. P. Box and M. E. Muller, Ann. Math. Stat. 29(2), 1958)."""
    if size is None and not _is_number(mean, sd):
        size = np.broadcast(mean, sd).shape
    first, second = rng.random(size), rng.random(size)
    return mean + sd * (_sqrt(-2.0 * log(1.0 - first)) * cos(2.0 * math.pi * second))


def exponential(rng: np.random.Generator, scale: Any = 1.0, size: Size = None) -> Any:
    """Exponential draws of mean ``scale``."""
    if size is None and not _is_number(scale):
        size = np.shape(scale)
        scale = _array(scale)
    return -scale * log(1.0 - rng.random(size))
