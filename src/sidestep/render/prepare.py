"""Compiling the renderer before it is needed: once per machine and version, in a process of its own, so that the
simulator can be compiled and run at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from sidestep.kernels.jit import CACHE_FOLDER, is_compiled
from sidestep.progress import compile_progress

LAST = "frame.draw_bands"
SECONDS = 15.0
BESIDE = "SIDESTEP_COMPILES_RENDERER"
"""Set for the process that compiles for another one, which tells of it."""


def needs_compiling() -> bool:
    """Whether a first picture would have to wait for the compiler."""
    return not is_compiled(LAST)


@cache
def announce_compiling() -> None:
    """Say on stderr, once, that the renderer is compiled now, if so."""
    if needs_compiling() and BESIDE not in os.environ:
        with compile_progress("the renderer", seconds=SECONDS) as progress:
            progress("at the first picture", 0.0)


@contextmanager
def compile_beside() -> Iterator[None]:
    """Compile the renderer in another process while the block runs, and wait for it at the end."""
    if CACHE_FOLDER is None or not needs_compiling():
        yield
        return
    code = f"from {__name__} import compile_renderer as compile; compile()"
    environment = {**os.environ, BESIDE: "1"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, env=environment)
    try:
        yield
        with compile_progress("the renderer", seconds=SECONDS) as progress:
            if process.poll() is None:
                progress("it began with the simulator", 0.5)
            process.wait()
    finally:
        process.terminate()


def compile_renderer() -> None:
    """Draw a small picture of a person on a street, with all that a camera sees."""
    from sidestep.render.camera_model import CameraModel, CameraPose
    from sidestep.render.people.pose import PeopleState
    from sidestep.render.renderer import make_renderer
    from sidestep.render.world_view import WorldView
    from sidestep.scenes.plans import load_plan

    view = WorldView(load_plan("crosswalk_street"), (), "compiling", np.arange(1))
    place, zero = np.array([[3.0, 5.0]]), np.zeros(1)
    state = PeopleState(place, zero, zero + 1.0, zero, view.looks.model, view.looks.scale)
    renderer = make_renderer("cpu", view.scene, CameraModel(64, 48, 1.4))
    renderer.render(CameraPose(0.0, 5.0, 1.2, 0.0, 0.0), view.instances(np.arange(1), state, ()))
