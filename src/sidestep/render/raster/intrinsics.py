"""Instructions for kernels that Python has no word for: numbers by their bits, and table look-ups in vector loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _bitcast(source: Any, target: Any, word: Any) -> Callable[..., Any]:
    def typed(typing_context: Any, number: Any) -> Any:
        return target(source), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], word)

    return typed


to_bits: Any = intrinsic(_bitcast(types.float32, types.uint32, ir.IntType(32)))
to_float: Any = intrinsic(_bitcast(types.uint32, types.float32, ir.FloatType()))
"""A float32 as the uint32 with the same bits, and back."""


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where element ``arguments[1]`` of the array ``arguments[0]``, taken as flat, lies in memory."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _promise(builder: Any, kind: str) -> tuple[str, Any]:
    """Metadata for the compiler: what ``peek`` reads, ``poke`` does not write. Only with this are loops that
    look things up in tables turned into vector instructions."""
    module = builder.module
    domain = module.add_metadata(["sidestep.raster"])
    scope = module.add_metadata(["tables", domain])
    return kind, module.add_metadata([scope])


def _peek(typing_context: Any, table: Any, index: Any) -> Any:
    """``table.flat[index]`` of a table that the kernel does not write."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature, arguments))
        loaded.set_metadata(*_promise(builder, "alias.scope"))
        return loaded

    return table.dtype(table, types.uint64), generate


def _poke(typing_context: Any, row: Any, index: Any, value: Any) -> Any:
    """``row.flat[index] = value`` in a row that is none of the tables."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[2], _pointer(context, builder, signature, arguments))
        stored.set_metadata(*_promise(builder, "noalias"))
        return context.get_dummy_value()

    return types.void(row, types.uint64, row.dtype), generate


def _poke_word(typing_context: Any, row: Any, index: Any, value: Any) -> Any:
    """The four bytes of ``value`` into ``row`` (bytes, flat) from ``index`` on, aligned or not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        stored = builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(32).as_pointer()))
        stored.align = 1
        stored.set_metadata(*_promise(builder, "noalias"))
        return context.get_dummy_value()

    return types.void(row, types.uint64, types.int32), generate


poke_word: Any = intrinsic(_poke_word)
peek: Any = intrinsic(_peek)
poke: Any = intrinsic(_poke)
