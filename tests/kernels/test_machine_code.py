"""What kernels become: no fused multiplications, which round once instead of twice, and nothing of the C library's
mathematics, whose last bits differ between systems."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest

from sidestep.kernels import approx
from sidestep.kernels.jit import CACHE_FOLDER, OPTIONS
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite

FUSED = re.compile(r"\tv?f(n?m(add|sub)|ml[as])\w*")
KNOWN = re.compile(r"mem(set|cpy|move|cmp)|_*Py\w*|NRT_\w+|numba_\w+|_ZN.*|\.numba\..*|_GLOBAL_OFFSET_TABLE_")


def sum_of_products(x: Any, y: Any) -> float:
    """A loop in which a compiler that may fuse does."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i] + approx.cos64(x[i]) * approx.atan2_64(y[i], x[i])
    return total


def assembly(**options: Any) -> str:
    dispatcher = numba.njit(**{**OPTIONS, **options})(sum_of_products)
    array = numba.types.Array(numba.float64, 1, "C")
    dispatcher.compile((array, array))
    return str(next(iter(dispatcher.inspect_asm().values())))


def test_nothing_is_fused() -> None:
    features = llvmlite.binding.get_host_cpu_features()
    if not (features.get("fma") or features.get("neon")):
        pytest.skip("only on processors that can fuse")
    assert not FUSED.search(assembly())
    assert FUSED.search(assembly(fastmath={"contract"}))  # it would, if it might


def undefined_symbols(code: bytes) -> Iterator[str]:
    """Names that an ELF file wants from others."""
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    for section in sections:
        if section[1] == 2:  # symbols, their names in the section that it links to
            names = sections[section[6]][4]
            for k in range(section[5] // 24):
                name, _, _, defined, _, _ = struct.unpack_from("<IBBHQQ", code, section[4] + 24 * k)
                if name and not defined:
                    yield code[names + name : code.index(b"\0", names + name)].decode()


def test_kernels_call_no_mathematics_of_the_system() -> None:
    """Of all kernels that are compiled so far on this machine, at least those of an episode."""
    run_episode(next(iter(load_suite("core").scenarios())), Stop(), seed=0)
    files = sorted(CACHE_FOLDER.rglob("*.nbc")) if CACHE_FOLDER else []
    codes = {path.name: data[start:] for path in files if (start := (data := path.read_bytes()).find(b"\x7fELF")) >= 0}
    if not codes:
        pytest.skip("only where compiled kernels are kept, as ELF files")
    wanted = {(name, symbol) for name, code in codes.items() for symbol in undefined_symbols(code)}
    assert {pair for pair in wanted if not KNOWN.fullmatch(pair[1])} == set()


def test_a_call_would_be_found() -> None:
    arc: Any = numba.njit(lambda x: np.arctan(x))
    arc.compile((numba.float64,))
    code = arc.overloads[numba.float64,].library._compiled_object
    found = set(undefined_symbols(bytes(code))) if code[:4] == b"\x7fELF" else {"atan"}
    assert "atan" in found
