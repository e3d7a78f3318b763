"""Compiling the renderer before it is needed: once per machine and version, in a process of its own, so that the
simulator can be compiled and run at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from sidestep._util.progress import compile_progress
from sidestep.kernels.jit import CACHE_FOLDER, is_compiled

LAST_ALONE, LAST = "frame.draw_frame", "frame.draw_bands"
"""The kernels that are compiled last for one thread and for several."""
SECONDS = 15.0
BESIDE = "SIDESTEP_COMPILES_RENDERER"
"""Set for a process that compiles on behalf of another one, which reports the progress itself."""


def needs_compiling(threads: int) -> bool:
    """Whether the first picture drawn by ``threads`` threads would have to wait for the compiler."""
    return not is_compiled(LAST_ALONE if threads == 1 else LAST)


@cache
def announce_compiling(threads: int) -> None:
    """Say on stderr, once, that the renderer is compiled now, if so."""
    if needs_compiling(threads) and BESIDE not in os.environ:
        with compile_progress("the renderer", seconds=SECONDS) as progress:
            progress("at the first picture", 0.0)


@contextmanager
def compile_beside(module: str) -> Iterator[None]:
    """Compile the renderer in another process while the block runs, and wait for it at the end. ``module`` has the
    function ``compile_renderer`` that does so."""
    if CACHE_FOLDER is None or not needs_compiling(threads=2):
        yield
        return
    code = f"from {module} import compile_renderer as compile; compile()"
    environment = {**os.environ, BESIDE: "1"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, env=environment)
    try:
        yield
        with compile_progress("the renderer", seconds=SECONDS) as progress:
            if process.poll() is None:
                progress("in processes of its own", 0.3)
            process.wait()
    finally:
        process.terminate()
