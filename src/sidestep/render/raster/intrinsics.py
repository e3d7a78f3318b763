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


def _promise(builder, kind):
    """Metadata that tells the compiler: what ``peek`` reads, ``poke`` does not write. Only with this are loops that
    look things up in tables turned into vector instructions."""
    module = builder.module
    domain = module.add_metadata(["sidestep.raster"])
    scope = module.add_metadata(["tables", domain])
    return kind, module.add_metadata([scope])


def _peek(typing_context, table, place):
    """``table.flat[place]`` of a table that the kernel does not write."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        loaded = builder.load(builder.gep(array.data, [arguments[1]]))
        loaded.set_metadata(*_promise(builder, "alias.scope"))
        return loaded

    return table.dtype(table, types.uint64), generate


def _poke(typing_context, row, place, value):
    """``row.flat[place] = value`` in a row that is none of the tables."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        stored = builder.store(arguments[2], builder.gep(array.data, [arguments[1]]))
        stored.set_metadata(*_promise(builder, "noalias"))
        return context.get_dummy_value()

    return types.void(row, types.uint64, row.dtype), generate


def _poke_word(typing_context, row, place, value):
    """The four bytes of ``value`` into ``row`` (bytes, flat) from ``place`` on, wherever that is."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        spot = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(32).as_pointer())
        stored = builder.store(arguments[2], spot)
        stored.align = 1
        stored.set_metadata(*_promise(builder, "noalias"))
        return context.get_dummy_value()

    return types.void(row, types.uint64, types.int32), generate


poke_word: Any = intrinsic(_poke_word)
peek: Any = intrinsic(_peek)
poke: Any = intrinsic(_poke)
