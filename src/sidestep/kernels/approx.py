"""Elementary functions whose bits are the same on every machine, and sums that do not depend on their order.

``exp``, ``sin``, ``cos``, ``tan`` and ``atan2`` from a mathematics library differ in the last bit between
systems and stop LLVM from vectorising a loop. The functions here use ``+ - * /``, comparisons and bit
patterns only, all of which IEEE 754 defines to the bit, and contain no branches, so that a loop over them
runs in vector registers.

Names end in the width of their argument: ``exp32`` takes and returns float32, ``cos64`` float64. Pass exactly
that type: numba compiles another, slower version for any other.

====================  =====================================  ===============================================
function              largest error                          holds for
====================  =====================================  ===============================================
``exp32``             1 ulp                                  all x; 0 below -87.3 instead of a subnormal
``exp32_bounded``     1 ulp                                  -87.3 <= x <= 88.7, undefined elsewhere
``atan2_32``          3e-7 absolute, 2 ulp for abs(y) < x    all x, y; signed zeros as in C99
``sincos64``, ``cos64``  2.3e-16 absolute                      abs(x) <= 1e6 rad
``tan64``             3e-16 relative to 1 + tan²             abs(x) <= 1e6 rad
``atan2_64``          6e-16 absolute                         all x, y; signed zeros as in C99
``wrap_angle``        6e-16 absolute                         abs(x) <= 1e6 rad
====================  =====================================  ===============================================

NaN gives NaN everywhere, and so does an infinite argument of sine, cosine, tangent and ``wrap_angle``.

Method: an argument is brought to a small interval with a constant split into parts whose products with a
small integer are exact (Cody and Waite, *Software Manual for the Elementary Functions*, 1980); there, sine
and cosine are Taylor polynomials and ``exp`` and ``atan`` minimax polynomials, fitted by Remez exchange in
60-digit arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined
from sidestep.kernels.layout import FloatArray, float32, float64, int32, int64, uint64

_f = float32

# Adding 1.5 · 2^(mantissa bits) rounds to the nearest integer and leaves it in the low bits of the sum.
_ROUND32 = _f(1.5 * 2**23)
_ROUND64 = 1.5 * 2**52

_ZERO32, _ONE32 = _f(0.0), _f(1.0)
_SIGN32, _MAGNITUDE32 = int32(-(2**31)), int32(2**31 - 1)
_SIGN64, _MAGNITUDE64 = int64(-(2**63)), int64(2**63 - 1)

# π in parts: the float nearest to it and the rest
PI = math.pi
_PI_REST = 1.2246467991473532e-16
PI32 = _f(math.pi)
_PI_REST32 = _f(math.pi - float(PI32))
_HALF_PI32 = _f(math.pi / 2)
_HALF_PI_REST32 = _f(math.pi / 2 - float(_HALF_PI32))

# π/2 in parts of 33 + 33 + 53 bits, exact times an integer below 2^20
_QUARTER_A, _QUARTER_B, _QUARTER_C = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
_PER_QUARTER = 2.0 / math.pi

# ln 2 in parts of 15 + 24 bits
_LN2_A32, _LN2_B32 = _f(0.693145751953125), _f(1.428606765330187e-06)
_PER_LN2_32 = _f(1.4426950408889634)
_EXP_LOW32, _EXP_HIGH32 = _f(-87.33654), _f(88.72283)

_S3, _S5, _S7, _S9 = -1 / 6, 1 / 120, -1 / 5040, 1 / math.factorial(9)
_S11, _S13, _S15, _S17 = (sign / math.factorial(n) for sign, n in ((-1, 11), (1, 13), (-1, 15), (1, 17)))
_C4, _C6, _C8, _C10 = 1 / 24, -1 / 720, 1 / math.factorial(8), -1 / math.factorial(10)
_C12, _C14, _C16 = 1 / math.factorial(12), -1 / math.factorial(14), 1 / math.factorial(16)

# exp(r) = 1 + r + r² (E2 + E3 r + …) on abs(r) <= ln(2)/2, relative error 3.1e-9
_E2, _E3, _E4 = _f(0.49999993413223169), _f(0.16666520114668775), _f(0.041668394117234199)
_E5, _E6 = _f(0.0083687799649234256), _f(0.001381447104093373)

# atan(t) = t + t z (A3 + A5 z + …), z = t², on 0 <= t <= 1, relative error 1.5e-8
_A3_32, _A5_32, _A7_32 = _f(-0.3333316695210143), _f(0.19994136934770748), _f(-0.14214207143806845)
_A9_32, _A11_32, _A13_32 = _f(0.10678932692946773), _f(-0.075805618320692374), _f(0.043553342031485961)
_A15_32, _A17_32 = _f(-0.016581058822925466), _f(0.0029745581123303532)

# the same on abs(t) <= tan(π/8), relative error 1.3e-18
_TAN_EIGHTH = math.sqrt(2.0) - 1.0
_A3, _A5, _A7, _A9 = (
    -0.33333333333333198983,
    0.1999999999995404332,
    -0.14285714280244376301,
    0.11111110785920228198,
)
_A11, _A13, _A15 = -0.090908978298991290442, 0.076920615158270435631, -0.066631189552977361362
_A17, _A19, _A21 = 0.058479981868955555563, -0.050397957708605204325, 0.038077024182330048424
_A23 = -0.017920825340216135581

# Sums in steps of 2^-26: the low bits of (value + 1.5 · 2^26) count the steps.
_SUM_ROUND = 1.5 * 2**26
_SUM_BITS = np.float64(_SUM_ROUND).view(np.int64)
_SUM_STEP = 1.0 / 2**26
SUM_LIMIT = float(2**24)


@inlined
def bits32(x: float) -> Any:
    """The bit pattern of a float32 as int32."""
    return np.float32(x).view(np.int32)


@inlined
def bits64(x: float) -> Any:
    """The bit pattern of a float64 as int64."""
    return np.float64(x).view(np.int64)


@inlined
def _from_bits32(bits: int) -> Any:
    return np.int32(bits).view(np.float32)


@inlined
def from_bits64(bits: int) -> Any:
    return np.int64(bits).view(np.float64)


@inlined
def exp32_bounded(x: float) -> float:
    """``exp(x)`` = 2^n exp(r) with n = round(x / ln 2), for callers who know that -87.3 <= x <= 88.7."""
    shifted = x * _PER_LN2_32 + _ROUND32
    n = shifted - _ROUND32
    r = (x - n * _LN2_A32) - n * _LN2_B32
    square = r * r
    q = ((_E6 * square) + (_E5 * r + _E4)) * square + (_E3 * r + _E2)  # pairs: a shorter chain than Horner's rule
    p = (q * square + r) + _ONE32
    power: float = _from_bits32(bits32(p) + int32(bits32(shifted) << int32(23)))
    return power


@inlined
def exp32(x: float) -> float:
    """``exp(x)``; 0 below the smallest normal float32, infinity above the largest."""
    inside = x if x > _EXP_LOW32 else _EXP_LOW32
    inside = inside if inside < _EXP_HIGH32 else _EXP_HIGH32
    y = exp32_bounded(inside)
    y = _ZERO32 if x < _EXP_LOW32 else y
    y = _f(np.inf) if x > _EXP_HIGH32 else y
    return y if x == x else x


@inlined
def atan2_32(y: float, x: float) -> float:
    """Angle of (x, y) in [-π, π], float32; for the null vector 0 or ±π, by the signs of its zeros."""
    x_bits, y_bits = bits32(x), bits32(y)
    ax, ay = _from_bits32(x_bits & _MAGNITUDE32), _from_bits32(y_bits & _MAGNITUDE32)
    flat = ay < ax
    low = ay if flat else ax
    high = ax if flat else ay
    t = low / (high if high != _ZERO32 else _ONE32)
    t = _ONE32 if low == high and high != _ZERO32 else t  # inf / inf
    z = t * t
    square = z * z
    q_low = (_A9_32 * z + _A7_32) * square + (_A5_32 * z + _A3_32)
    q_high = (_A17_32 * z + _A15_32) * square + (_A13_32 * z + _A11_32)
    a = t + (t * z) * (q_high * (square * square) + q_low)
    steep = (_HALF_PI32 - a) + _HALF_PI_REST32
    a = steep if ay > ax else a
    a = (PI32 - a) + _PI_REST32 if x_bits < int32(0) else a
    angle: float = _from_bits32(bits32(a) | (y_bits & _SIGN32))
    return angle


@inlined
def sincos64(x: float) -> tuple[float, float]:
    """``(sin x, cos x)``, float64."""
    shifted = x * _PER_QUARTER + _ROUND64
    k = shifted - _ROUND64
    r = ((x - k * _QUARTER_A) - k * _QUARTER_B) - k * _QUARTER_C
    z = r * r
    s = (((((_S17 * z + _S15) * z + _S13) * z + _S11) * z + _S9) * z + _S7) * z + _S5
    s = r + r * (z * (s * z + _S3))
    c = (((((_C16 * z + _C14) * z + _C12) * z + _C10) * z + _C8) * z + _C6) * z + _C4
    c = (1.0 - 0.5 * z) + (z * z) * c
    quarter = bits64(shifted)
    swap = (quarter & 1) != 0
    sine = c if swap else s
    cosine = s if swap else c
    sine = -sine if (quarter & 2) != 0 else sine
    cosine = -cosine if ((quarter + 1) & 2) != 0 else cosine
    return sine, cosine


@inlined
def cos64(x: float) -> float:
    """``cos x``, float64."""
    return sincos64(x)[1]


@inlined
def tan64(x: float) -> float:
    """``tan x``, float64."""
    sine, cosine = sincos64(x)
    return sine / cosine


@inlined
def atan2_64(y: float, x: float) -> float:
    """Angle of (x, y) in [-π, π], float64; for the null vector 0 or ±π, by the signs of its zeros.

    Above tan(π/8) the identity atan(t) = π/4 + atan((t - 1) / (t + 1)) keeps the polynomial short.
    """
    x_bits, y_bits = bits64(x), bits64(y)
    ax, ay = from_bits64(x_bits & _MAGNITUDE64), from_bits64(y_bits & _MAGNITUDE64)
    low = ay if ay < ax else ax
    high = ax if ay < ax else ay
    t = low / (high if high != 0.0 else 1.0)
    t = float64(1.0) if low == high and high != 0.0 else t  # inf / inf
    upper = t > _TAN_EIGHTH
    u = (t - 1.0) / (t + 1.0) if upper else t
    z = u * u
    q = ((((_A23 * z + _A21) * z + _A19) * z + _A17) * z + _A15) * z + _A13
    q = ((((q * z + _A11) * z + _A9) * z + _A7) * z + _A5) * z + _A3
    a = u + u * (z * q)
    a = PI / 4 + (a + _PI_REST / 4) if upper else a
    a = PI / 2 - (a - _PI_REST / 2) if ay > ax else a
    a = PI - (a - _PI_REST) if x_bits < 0 else a
    angle: float = from_bits64(bits64(a) | (y_bits & _SIGN64))
    return angle


@inlined
def wrap_angle(x: float) -> float:
    """``x`` modulo 2π in (-π, π], float64; an angle in that range is returned as it is."""
    turns = (x * (_PER_QUARTER * 0.25) + _ROUND64) - _ROUND64
    k = turns * 4.0
    r = ((x - k * _QUARTER_A) - k * _QUARTER_B) - k * _QUARTER_C
    r = r + 2.0 * PI if r <= -PI else r
    return r - 2.0 * PI if r > PI else r


@inlined
def order_free_steps(values: FloatArray, first: int, count: int) -> int:
    """Sum of ``count`` float32 ``values`` from index ``first`` (uint64) on, in steps of 2^-26 (1.5e-8).

    The rounded values are counted as integers, and integer addition has no order: the result (int64, in
    steps) is the same for any vector width, for any order of the values, and with any number of zeros among
    them. Every value has to be below ``SUM_LIMIT`` in magnitude.
    """
    steps = int64(0)
    for k in range(uint64(count)):
        steps += bits64(float64(values[first + k]) + _SUM_ROUND) - _SUM_BITS
    return steps


@inlined
def from_steps(steps: int) -> float:
    """The float32 nearest to a sum of ``order_free_steps``."""
    return float32(float64(steps) * _SUM_STEP)
