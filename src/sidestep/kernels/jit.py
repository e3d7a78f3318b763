"""How a kernel is compiled and where its machine code is cached. ``@kernel`` is ``numba.njit`` with the options that
every kernel shares. Three traps of numba's cache are closed here: a caller is not recompiled when a callee in another
file changes, so the cache folder is named after a hash of all kernel sources; with no writable cache folder numba
raises at import, so the user's cache folder is tried, then a private temporary folder, then compilation without a
cache; two processes that save different signatures of one kernel at once can give both the same file name, so saving
is locked. The intrinsics at the end are atomic counters for kernels that share work among threads.

Numba's internals are used in this file only; ``tests/kernels/test_numba.py`` checks each of them.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
import platformdirs
from filelock import FileLock
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core import config as _numba_config
from numba.extending import intrinsic

from sidestep.kernels.deferred import Deferred, DeferredCache, EntryPipeline

numba_config: Any = _numba_config
njit: Any = numba.njit
typeof: Any = numba.typeof
insert_function: Any = cgutils.get_or_insert_function

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
}
"""Options of every kernel. ``_nrt`` (numba's reference counting of arrays) is always set besides: a function that does
not set it takes its caller's, and one that was compiled without it must never be called, from the cache, by one
with it."""


PACKAGE = Path(__file__).resolve().parents[1]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel_sources() -> list[Path]:
    """Every file whose text may be frozen into machine code: all of the folders that hold kernels, for the constants
    beside them, and ``exact``, whose results are such constants."""
    files = sorted(PACKAGE.rglob("*.py"))
    folders = {path.parent for path in files if b"kernels.jit import" in path.read_bytes()}
    return [path for path in files if path.parent in folders or path == PACKAGE / "_util" / "exact.py"]


def source_hash() -> str:
    """Hash of the kernels' sources and of numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in kernel_sources():
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


GIVEN = os.environ.get("SIDESTEP_CACHE_READ_ONLY")
"""In the process of a guest, which may use the compiled kernels of the run and must not leave any: their folder."""


def _is_private_and_writable(folder: Path) -> bool:
    """Whether ``folder`` can be made and written (or is there, where nothing is written), and, where the system knows
    owners, is ours alone to write.

    Cached machine code is executed, so a folder that another user could write to is never used.
    """
    try:
        if GIVEN is None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        if hasattr(os, "getuid"):
            info = folder.stat()
            return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    except OSError:
        return False
    return True


def find_cache_folder() -> Path | None:
    """The first usable of: ``SIDESTEP_CACHE``, the user's cache folder, a temporary folder; or None."""
    if GIVEN is not None:
        return Path(GIVEN) if GIVEN and _is_private_and_writable(Path(GIVEN)) else None
    name = f"kernels-{source_hash()}"
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    candidates = [Path(tempfile.gettempdir()) / f"sidestep-{owner}" / name]
    with suppress(RuntimeError, OSError):  # no home directory at all
        candidates.insert(0, Path(platformdirs.user_cache_dir("sidestep", appauthor=False)) / name)
    if "SIDESTEP_CACHE" in os.environ:
        candidates.insert(0, Path(os.environ["SIDESTEP_CACHE"]) / name)
    return next((folder for folder in candidates if _is_private_and_writable(folder)), None)


CACHE_FOLDER: Path | None = find_cache_folder()


def is_compiled(name: str) -> bool:
    """Whether the cache holds machine code of the kernel ``name`` (``module.function``)."""
    return CACHE_FOLDER is not None and any(CACHE_FOLDER.rglob(f"{name}-*.nbi"))


@overload
def kernel(function: Kernel) -> Kernel: ...
@overload
def kernel(*, allocates: bool = False, is_part: bool = False, **options: Any) -> Callable[[Kernel], Kernel]: ...
def kernel(function: Any = None, *, allocates: bool = False, is_part: bool = False, **options: Any) -> Any:
    """Compile ``function`` on first call, cached on disk where a cache folder can be written.

    Kernels make no arrays and so count no references, which takes longer than a step among few people. One that has to
    make arrays says ``allocates=True``; it must not call kernels that return views. ``is_part=True`` keeps the LLVM
    code on disk as well, for processes that compile kernels which call this one.
    """
    if function is None:
        return lambda inner: _compile(inner, {**OPTIONS, "_nrt": allocates, **options}, is_part)
    return _compile(function, {**OPTIONS, "_nrt": allocates, **options}, is_part)


def _compile(function: Any, options: dict[str, Any], is_part: bool) -> Any:
    if CACHE_FOLDER is None:
        dispatcher = njit(pipeline_class=EntryPipeline, **options)(function)
        Deferred(dispatcher)
        return dispatcher
    previous = numba_config.CACHE_DIR  # read once by numba when the decorator runs, so restore it at once
    numba_config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        dispatcher = njit(cache=True, pipeline_class=EntryPipeline, **options)(function)
        parts = DeferredCache(function) if is_part else None
    finally:
        numba_config.CACHE_DIR = previous
    for cache in (dispatcher._cache, parts):
        if cache is not None:
            _save_one_at_a_time(cache, CACHE_FOLDER / "saving.lock")
    Deferred(dispatcher, parts)
    return dispatcher


def _save_one_at_a_time(cache: Any, lock: Path) -> None:
    """Let ``cache`` read its index, choose a file name and write both files under ``lock``."""
    save = cache.save_overload
    if GIVEN is not None:
        cache.save_overload = lambda signature, data: None
        return

    def save_overload(signature: Any, data: Any) -> None:
        with FileLock(lock):
            save(signature, data)

    cache.save_overload = save_overload


def inlined(function: Kernel) -> Kernel:
    """A small function that LLVM shall inline into the kernels that call it."""
    options: dict[str, Any] = {**OPTIONS, "_nrt": False, "forceinline": True}
    entry: Any = njit(pipeline_class=EntryPipeline, **options)(function)
    Deferred(entry)
    compiled: Kernel = entry
    return compiled


def compile_for(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of these types. A call of it does not look at types again, which for
    named tuples of many arrays takes longer than a step among few people: later arguments must have the same types."""
    dispatcher: Any = function
    code: Callable[..., Any] = dispatcher.compile(tuple(typeof(argument) for argument in arguments))
    return code


def keep_part(function: Callable[..., Any], *arguments: Any) -> None:
    """Translate a part to LLVM code for arguments of these types, or read what another process has translated."""
    dispatcher: Any = function
    dispatcher.deferred.translate(tuple(typeof(argument) for argument in arguments))


def is_kept(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether :func:`keep_part` would find the LLVM code on disk."""
    dispatcher: Any = function
    return bool(dispatcher.deferred.is_kept(tuple(typeof(argument) for argument in arguments)))


def _make_atomic(operation: str) -> Any:
    """``f(counters, place, value)``: change ``counters[place]`` in one indivisible operation that orders memory, and
    return what it was."""

    @intrinsic
    def change(typing_context: Any, counters: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.atomic_rmw(operation, builder.gep(array.data, [arguments[1]]), arguments[2], "seq_cst")

        return types.int64(counters, types.int64, types.int64), generate

    return change


atomic_add: Any = _make_atomic("add")
atomic_exchange: Any = _make_atomic("xchg")


@intrinsic
def _read(typing_context: Any, counters: Any, place: Any) -> Any:
    """``counters[place]`` as other threads left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(builder.gep(array.data, [arguments[1]]), "acquire", 8)

    return types.int64(counters, types.int64), generate


@intrinsic
def _pause(typing_context: Any) -> Any:
    """Tell the processor that this thread waits, where there is an instruction for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            wait = ir.FunctionType(ir.VoidType(), [])
            builder.call(insert_function(builder.module, wait, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


atomic_read: Any = _read
pause: Any = _pause
