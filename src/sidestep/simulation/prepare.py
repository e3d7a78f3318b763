"""Compiling the simulator before it is needed: once per machine and version, on two cores, with a progress line.

Two processes take the parts of a world step from a list, the longer ones first; each part is translated to LLVM code
that the cache keeps. Then this process puts the step together, and the other one compiles the rest of the simulator.
Social forces, sensors and policies are compiled when first used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from filelock import FileLock

from sidestep._util.progress import CompileProgress, compile_progress
from sidestep.kernels import layout
from sidestep.kernels.bodies import BEFORE_ROWS, separate_bodies
from sidestep.kernels.jit import CACHE_FOLDER, compile_for, is_compiled, is_kept, keep_part
from sidestep.kernels.orca import make_orca_scratch, orca_world
from sidestep.kernels.people import move_people
from sidestep.kernels.reactive_replay import react_people
from sidestep.kernels.referee import begin_judging, judge_world, judge_worlds
from sidestep.kernels.world import move_robot, new_worlds, step_world, step_worlds, sweep_contacts, world_of
from sidestep.simulation.referee import ground_bank
from sidestep.simulation.road_judge import road_bank

Part = tuple[str, float, Callable[..., Any], tuple[Any, ...]]
"""What it is called, the share of the work that is done when one process comes to it, a kernel, its arguments."""

STEP_PARTS = ("orca.orca_world", "referee.judge_world", "world.move_robot", "bodies.separate_bodies")
WORLD_STEP_AT, MACHINE_CODE_AT = 0.55, 0.65
ENTRIES = ("world.step_worlds", "referee.judge_worlds")


def needs_parts() -> bool:
    """Whether a world step would have to be translated as a whole."""
    return not all(is_compiled(f"part-{name}") for name in STEP_PARTS)


def needs_compiling() -> bool:
    """Whether a first episode would have to wait for the compiler."""
    return not all(is_compiled(name) for name in ENTRIES)


def compile_kernels(progress: CompileProgress, entries: bool = True) -> None:
    """Translate the parts of a world step; with ``entries``, compile what episodes call as well."""
    if CACHE_FOLDER is None:  # nothing can be shared: all is compiled when it is called
        progress("without a cache folder, again in every process", 0.0)
        return
    code = f"from {__name__} import compile_beside as compile; compile({entries})"
    beside = (
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL) if (os.cpu_count() or 1) > 1 else None
    )
    parts = world_parts()
    take_parts(parts, progress)
    for name, _, kernel, arguments in parts:  # those that the other process took
        with _claim(name):
            keep_part(kernel, *arguments)
    if entries:
        progress("the world step", WORLD_STEP_AT)
        batch, scratch = example_batch(), example_scratch()
        walls, replay = example_walls(), batch.bank.replays[0]
        keep_part(step_world, 0, example_world(), walls, replay, scratch.before, scratch.orca, scratch.force)
        progress("machine code of the world step", MACHINE_CODE_AT)
        compile_for(step_worlds, 0, 0, batch, scratch)
    if beside is not None:
        beside.wait()
    if entries:
        compile_for(judge_worlds, example_batch(), 0)


def compile_beside(entries: bool) -> None:
    """What the second process does: it takes parts from the end of the list."""
    parts = world_parts()
    take_parts(parts[::-1], lambda what, share: None)
    if entries:
        batch = example_batch()
        make_orca_scratch(3)
        compile_for(begin_judging, batch.worlds.marks[0], batch.worlds.notes[0], batch.worlds.robots[0])
        compile_for(judge_worlds, batch, 0)


def take_parts(parts: list[Part], progress: CompileProgress) -> None:
    """Translate the parts that no other process is at or has done."""
    for name, share, kernel, arguments in parts:
        claim = _claim(name)
        try:
            claim.acquire(blocking=False)
        except TimeoutError:
            continue
        with claim:
            if not is_kept(kernel, *arguments):
                progress(name, share)
                keep_part(kernel, *arguments)


def _claim(name: str) -> FileLock:
    assert CACHE_FOLDER is not None
    return FileLock(CACHE_FOLDER / f"{name.replace(' ', '-')}.lock")


def world_parts() -> list[Part]:
    """What a world step is made of, each with arguments of the types that it gets there."""
    world, walls, batch, scratch = example_world(), example_walls(), example_batch(), example_scratch()
    agents, flags, dt = world.agents, world.flags, layout.float32(0.1)
    return [
        ("people who walk by ORCA", 0.0, orca_world, (agents, flags, 2, walls, world.parameters.orca, scratch.orca)),
        ("recorded people who react", 0.25, react_people, (agents, flags, 2, batch.bank.replays[0], 0, dt)),
        ("people and walls", 0.3, move_people, (agents, flags, 2, walls, dt)),
        ("bodies", 0.35, separate_bodies, (agents, flags, 2, scratch.before, walls, dt)),
        ("the referee", 0.4, judge_world, (0, world, batch, 1)),
        ("contacts", 0.45, sweep_contacts, (world, scratch.before, 0.1)),
        ("robots", 0.5, move_robot, (world, 0, walls, 0.1)),
    ]


def example_batch() -> layout.WorldBatch:
    """One world of two people and a robot, with all arrays as in any batch."""
    worlds = new_worlds(1, 2, 1, route=1, waypoints=1, rules=1, parameters=(1, 1, 1), marks=1, notes=1)
    walls = example_walls()
    joined = layout.Walls(*walls[:7], walls.grid[None], walls.grid_shape[None])
    bank = layout.SceneBank(
        joined, np.zeros((2, 3), np.int64), np.zeros((1, 1, 2, 4), np.float32), ground_bank([None])[0],
        road_bank([None])[0],
    )  # fmt: skip
    return layout.WorldBatch(np.zeros(1, np.int64), np.ones(1, np.uint8), worlds, bank)


def example_world() -> layout.WorldArrays:
    """The world of the batch."""
    python_function: Any = world_of
    world: layout.WorldArrays = python_function.py_func(example_batch().worlds, 0)
    return world


def example_scratch() -> layout.Scratch:
    """Working memory as a world without social forces has it."""
    make_scratch: Any = make_orca_scratch
    return layout.Scratch(np.zeros((BEFORE_ROWS, 3), np.float32), make_scratch.py_func(3), None)


def example_walls() -> layout.Walls:
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
    if needs_compiling():
        with compile_progress("the simulator", seconds=14.0) as progress:
            compile_kernels(progress)


@cache
def prepare_parts() -> None:
    """Translate the parts of a world step if this machine has not yet, for kernels that contain one."""
    if needs_parts():
        with compile_progress("the simulator", seconds=9.0) as progress:
            compile_kernels(progress, entries=False)
