"""Numbers by their bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _to_bits(typing_context, number):
    """A float32 as the uint32 with the same bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), generate


def _to_float(typing_context, bits):
    """A uint32 as the float32 with the same bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


to_bits: Any = intrinsic(_to_bits)
to_float: Any = intrinsic(_to_float)
