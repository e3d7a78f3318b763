"""What ``kernels/jit.py`` uses of numba beyond its documented interface, each with what to do when it changes."""

from __future__ import annotations

import inspect
import operator
import re
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import cgutils, config
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.types import float64, int32, int64
from numba.core.types.functions import BaseFunction

from sidestep.kernels import deferred, jit

VERSION = f"numba {numba.__version__}"
ALLOWED = {"kernels/jit.py", "kernels/deferred.py", "render/raster/intrinsics.py", "cli/doctor.py"}
"""The last shows its version only."""


class Pair(NamedTuple):
    """Two arrays of different types, as the state of a world has them."""

    whole: Any
    real: Any


@jit.kernel
def add_up(pair: Pair, factor: int) -> float:
    return float(pair.whole[0] * factor + pair.real[0])


@jit.kernel
def count_twice(counters: Any) -> int:
    jit.pause()
    jit.atomic_add(counters, 0, 2)
    jit.atomic_exchange(counters, 1, 7)
    return int(jit.atomic_read(counters, 0) + jit.atomic_read(counters, 1))


def test_numba_is_bounded_above() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    bound = re.search(r'"numba>=[\d.]+,<(\d+)\.(\d+)"', text)
    assert bound, "pyproject.toml: numba needs an upper bound, because kernels/jit.py uses its internals"
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    assert version < (int(bound[1]), int(bound[2])), f"{VERSION}: outside the bound; run these tests, then raise it"


def test_numba_is_used_in_one_place() -> None:
    users = {
        path.relative_to(jit.PACKAGE).as_posix()
        for path in jit.PACKAGE.rglob("*.py")
        if re.search(r"^\s*(from|import) (numba|llvmlite)\b", path.read_text(encoding="utf-8"), re.M)
    }
    assert users <= ALLOWED, (
        f"{sorted(users - ALLOWED)}: what needs numba or llvmlite belongs into kernels/jit.py or deferred.py"
    )


def test_the_cache_folder_is_read_when_a_kernel_is_decorated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hasattr(config, "CACHE_DIR"), (
        f"{VERSION}: numba.core.config.CACHE_DIR is gone. kernel() in kernels/jit.py sets it while "
        "numba.njit(cache=True) runs; find the setting of the cache folder (environment: NUMBA_CACHE_DIR)"
    )
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    path = Path(jit.kernel(_double).stats.cache_path)  # type: ignore[attr-defined]
    assert path.is_relative_to(tmp_path), (
        f"{VERSION}: a kernel is cached in {path}, not in jit.CACHE_FOLDER. kernel() in kernels/jit.py relies on numba "
        "reading config.CACHE_DIR while the decorator runs"
    )


def _double(x: int) -> int:
    return 2 * x


def test_saving_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = list(inspect.signature(FunctionCache.save_overload).parameters)
    assert parameters == ["self", "sig", "data"], (
        f"{VERSION}: FunctionCache.save_overload takes {parameters}. _save_one_at_a_time in kernels/jit.py wraps it "
        "in a file lock; fit the wrapper to the new signature"
    )
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    dispatcher: Any = jit.kernel(_double)
    assert dispatcher._cache.save_overload.__module__ == jit.__name__, (
        f"{VERSION}: dispatcher._cache cannot be wrapped any more; without the lock of _save_one_at_a_time "
        "(kernels/jit.py) processes that compile at once may mix up machine code"
    )
    assert dispatcher(4) == 8
    assert (tmp_path / "saving.lock").exists(), f"{VERSION}: machine code was saved without the lock of kernels/jit.py"
    assert list(tmp_path.rglob("test_numba._double-*.nbi")), (
        f"{VERSION}: cache files are not named module.function-*.nbi any more; see is_compiled in kernels/jit.py"
    )


@pytest.mark.parametrize("option", ["_nrt", "forceinline", "nogil", "fastmath", "error_model", "boundscheck"])
def test_options_are_known(option: str) -> None:
    assert hasattr(cpu_target.options, option), (
        f"{VERSION}: the option {option!r} is gone. kernel() and inlined() in kernels/jit.py set it; without "
        "_nrt=False steps among few people take several times as long"
    )


def test_no_references_are_counted() -> None:
    add_up(Pair(np.ones(1, np.int64), np.ones(1)), 1)
    code = next(iter(add_up.inspect_llvm().values()))  # type: ignore[attr-defined]
    assert "NRT_incref" not in code, f"{VERSION}: _nrt=False (kernels/jit.py) no longer switches reference counts off"


def test_compiled_code_can_be_called_without_a_look_at_types() -> None:
    parameters = list(inspect.signature(Dispatcher.compile).parameters)
    assert parameters == ["self", "sig"], f"{VERSION}: Dispatcher.compile takes {parameters}; see compile_for in jit.py"
    pair = Pair(np.array([3], np.int64), np.array([0.5]))
    code = jit.compile_for(add_up, pair, 2)
    assert code is not None, (
        f"{VERSION}: Dispatcher.compile no longer returns the compiled function, which compile_for in kernels/jit.py "
        "hands out; take it from dispatcher.overloads[types].entry_point"
    )
    assert code(pair, 2) == add_up(pair, 2) == 6.5
    assert len(add_up.signatures) == 1  # type: ignore[attr-defined]


def test_atomic_counters() -> None:
    assert hasattr(cgutils, "get_or_insert_function"), f"{VERSION}: see _pause in kernels/jit.py"
    counters = np.zeros(2, np.int64)
    assert count_twice(counters) == 2 + 7, f"{VERSION}: see _make_atomic and _read in kernels/jit.py"
    assert counters.tolist() == [2, 7]


@jit.kernel(is_part=True)
def half(x: float) -> float:
    return x / 2.0


@jit.kernel
def quarter(x: float) -> float:
    return half(half(x))


def test_what_deferring_uses_of_numba_is_there() -> None:
    for owner, names in (
        (deferred.Library, ("_optimize_functions", "_optimize_final_module", "_finalize_final_module")),
        (deferred.Library, ("_finalize_dynamic_globals", "_get_module_for_linking", "serialize_using_object_code")),
        (deferred.Pipeline, ("_compile_core",)),
        (deferred.FunctionCompiler, ("_customize_flags", "fold_argument_types", "compile")),
        (deferred.CompileResults, ("get_filename_base", "rebuild")),
        (deferred.Cache, ("_impl_class", "_index_key", "load_overload", "save_overload")),
        (Dispatcher, ("get_call_template", "get_overload")),
        (BaseFunction, ("get_call_type",)),
        (deferred.numba_errors, ("_termcolor_inst",)),
    ):
        for name in names:
            assert hasattr(owner, name), f"{VERSION}: {owner!r} has no {name} any more; see kernels/deferred.py"


def test_kernels_that_others_call_are_neither_optimised_nor_run_alone() -> None:
    assert quarter(8.0) == 2.0
    assert quarter.signatures == [(float64,)]  # type: ignore[attr-defined]
    assert half.signatures == [], "called by kernels only: no machine code of its own"  # type: ignore[attr-defined]
    ((_, result),) = half.deferred.results.values()  # type: ignore[attr-defined]
    assert isinstance(result.library, deferred.DeferredLibrary)
    code = quarter.inspect_asm()[(float64,)]  # type: ignore[attr-defined]
    assert not re.search(r"^_ZN5tests\S*half\S*:$|call\S*\s.*half", code, re.MULTILINE), "not inlined"
    assert half(8.0) == 4.0  # from Python as well


def test_parts_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process left on disk gives the same results, and is not translated again."""
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    first: Any = jit.kernel(is_part=True)(_double)
    assert not jit.is_kept(first, 1.5)
    jit.keep_part(first, 1.5)
    assert jit.is_kept(first, 1.5)
    second: Any = jit.kernel(is_part=True)(_double)
    monkeypatch.setattr(second.deferred.compiler, "compile", None)
    jit.keep_part(second, 1.5)
    assert second.deferred.results

    @jit.kernel
    def four_times(x: float) -> float:
        return second(x) * 2.0  # type: ignore[no-any-return]

    assert four_times(1.5) == 6.0


def test_remembered_types_are_those_that_numba_finds() -> None:
    context = cpu_target.typing_context
    multiply = context.resolve_value_type(operator.mul)
    for types in ((float64, float64), (int64, float64), (int32, int64)):
        expected = deferred.resolve_call(multiply, context, types, {})
        for _ in range(2):
            assert deferred.resolve_call_once(multiply, context, types, {}) == expected
    assert BaseFunction.get_call_type is deferred.resolve_call, "changed outside of a compilation"
