"""Counters that several threads share, for kernels that divide work among them."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _make_atomic(operation: str) -> Any:
    """``f(counters, place, value)``: change ``counters[place]`` in one indivisible operation that orders memory, and
    return what it was."""

    @intrinsic
    def change(typing_context, counters, place, value):
        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.atomic_rmw(operation, builder.gep(array.data, [arguments[1]]), arguments[2], "seq_cst")

        return types.int64(counters, types.int64, types.int64), generate

    return change


atomic_add, atomic_exchange = _make_atomic("add"), _make_atomic("xchg")


def _read(typing_context, counters, place):
    """``counters[place]`` as other threads left it."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(builder.gep(array.data, [arguments[1]]), "acquire", 8)

    return types.int64(counters, types.int64), generate


def _pause(typing_context):
    """Tell the processor that this thread waits, where there is an instruction for it."""

    def generate(context, builder, signature, arguments):
        if platform.machine().lower() in ("x86_64", "amd64"):
            wait = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, wait, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


atomic_read: Any = intrinsic(_read)
pause: Any = intrinsic(_pause)
