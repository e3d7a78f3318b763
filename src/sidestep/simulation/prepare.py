"""Compiling the kernels before they are needed: once per machine and version, on two cores."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.bodies import BEFORE_ROWS
from sidestep.kernels.jit import CACHE_FOLDER, is_compiled
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_world
from sidestep.kernels.people import move_people
from sidestep.kernels.world import move_robot, new_worlds, sweep_contacts, world_of

Report = Callable[[str, int, int], None]

LARGEST = ("orca.orca_world", "world.move_robot")


def needs_compiling() -> bool:
    """Whether a first episode would have to wait for the compiler."""
    return not all(is_compiled(name) for name in LARGEST)


def compile_kernels(report: Report = lambda what, done, of: None) -> None:
    """Compile the parts that every world step is made of. ``report`` is called with what comes next, how many parts are
    done, and of how many. A second process takes a share of them; the cache brings both together. Social forces,
    sensors and the step itself are compiled when first used."""
    shared = CACHE_FOLDER is not None and needs_compiling()
    code = f"from {__name__} import compile_motion as compile; compile()"
    beside = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL) if shared else None
    report("ORCA", 0, 2)
    compile_orca()
    report("robots and contacts", 1, 2)
    if beside is None or beside.wait() != 0:
        compile_motion()
    report("the world step comes last", 2, 2)


def compile_orca() -> None:
    """The ORCA crowd."""
    world = _world()
    orca_world(world.agents, world.flags, 2, _walls(), OrcaParameters().as_array(), make_orca_scratch(3))


def compile_motion() -> None:
    """How people and robots move and touch."""
    world, walls = _world(), _walls()
    move_people(world.agents, world.flags, 2, walls, layout.float32(0.1))
    sweep_contacts(world, np.zeros((BEFORE_ROWS, 3), np.float32), 0.1)
    move_robot(world, 0, walls, 0.1)


def _world() -> layout.WorldArrays:
    """Two people and a robot side by side."""
    worlds = new_worlds(1, 2, 1, route=1, waypoints=1, rules=1, parameters=(1, 1, 1), marks=1, notes=1)
    worlds.agents[0, layout.PX] = [0.0, 1.0, 2.0]
    worlds.agents[0, layout.RADIUS] = 0.3
    worlds.agents[0, layout.MAX_SPEED] = 1.0
    worlds.flags[0, layout.ACTIVE] = 1
    worlds.limits[:] = 1.0
    python_function: Any = world_of
    world: layout.WorldArrays = python_function.py_func(worlds, 0)
    return world


def _walls() -> layout.Walls:
    """One square block far from everybody, in a grid of one cell."""
    points = np.array([[-9, -9], [-8, -9], [-8, -8], [-9, -8]], np.float32)
    following = np.array([1, 2, 3, 0], np.int32)
    dirs = points[following] - points
    return layout.Walls(
        points, dirs, following, np.array([3, 0, 1, 2], np.int32), np.ones(4, np.uint8), np.array([0, 4], np.int32),
        np.arange(4, dtype=np.int32), np.array([-50, -50, 100, 0], np.float32), np.ones(2, np.int32),
    )  # fmt: skip


def prepare_kernels() -> None:
    """Compile the kernels if this machine has not yet, here and not in every worker at once."""
    from sidestep.progress import progress_bar

    if not needs_compiling():
        return
    print("compiling the kernels, once on this machine; it takes about half a minute", file=sys.stderr, flush=True)
    with progress_bar("compiling") as move:
        compile_kernels(lambda what, done, of: move(done, of, what))
