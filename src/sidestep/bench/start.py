"""Seconds from starting Python to the end of the first step of ``sidestep/Crossing-v0``, in a new process.

``warm``: the kernels are in the cache; ``cold``: the cache folder is empty, so everything is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

from sidestep.bench.measure import Case, Effort, Figure, Note
from sidestep.errors import SidestepError

PROGRAM = """
import gymnasium, sidestep.gym
sidestep.gym.register()
environment = gymnasium.make("sidestep/Crossing-v0")
environment.reset(seed=0)
environment.step(environment.action_space.sample())
print("stepped", flush=True)
"""
COLD_REPEATS = 3


def cases() -> list[Case]:
    """Warm and cold."""
    return [Case("start/warm", measure_warm, quick=True), Case("start/cold", measure_cold)]


def measure_warm(effort: Effort, note: Note) -> Figure:
    """With kernels that an earlier start has left in the cache."""
    seconds_to_first_step(dict(os.environ))
    seconds = [seconds_to_first_step(dict(os.environ)) for _ in range(effort.repeats)]
    return Figure("start/warm", "s", seconds)


def measure_cold(effort: Effort, note: Note) -> Figure:
    """With a new, empty cache folder each time, at most ``COLD_REPEATS`` times."""
    seconds = []
    for _ in range(1 if effort.quick else min(effort.repeats, COLD_REPEATS)):
        with TemporaryDirectory() as folder:
            seconds.append(seconds_to_first_step({**os.environ, "SIDESTEP_CACHE": folder}))
    return Figure("start/cold", "s", seconds)


def seconds_to_first_step(environment: dict[str, str]) -> float:
    """Start a Python process with these environment variables and wait until it has stepped."""
    begin = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        stepped = any(line == "stepped\n" for line in iter(process.stdout.readline, ""))
        seconds = perf_counter() - begin
        _, errors = process.communicate()
    if not stepped:
        raise SidestepError(f"a new process could not step an environment:\n{errors[-2000:]}")
    return seconds
