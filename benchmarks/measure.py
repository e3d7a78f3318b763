"""What a figure is: the median over repeats of the work done per second of a timed block. Works that are compared
(ours and a peer's) take turns, so that a machine that slows down slows both. A peer is another simulator that does
the same work in the same run; what it cannot do in compiled code (new goals, preferred velocities) is done between
its timed runs, so its figure is if anything too good. A peer that is not installed is left out, with a note.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Protocol, TypeVar

from sidestep.errors import SidestepError

Notify = Callable[[str], None]
"""Tells the user something about the present figure, such as that its peer is not installed."""


class Work(Protocol):
    """Something whose speed is measured."""

    def prepare(self) -> None:
        """What has to happen between two runs and is not timed; by default nothing."""
        return

    def run(self) -> float:
        """The timed part, at most a fraction of a second long; returns how many units of work were done."""


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    repeats: int = 5
    block_s: float = 0.2
    """s of timed work in one repeat, at least."""
    warm_up_s: float = 0.1
    """s of timed work before the first repeat, at least; compilation falls into it."""
    quick: bool = False
    """Fewer repeats of what takes seconds."""


@dataclass(frozen=True)
class Figure:
    """The repeats of one measurement, and of its peer's where there is one."""

    id: str
    unit: str
    values: Sequence[float]
    peer: str | None = None
    peer_values: Sequence[float] = ()

    def to_dict(self) -> dict[str, Any]:
        """As ``sidestep bench --json`` prints it. ``spread`` = (largest - least) / median of the repeats."""
        value = median(self.values)
        peer = None
        if self.peer is not None:
            theirs = median(self.peer_values)
            peer = {"name": self.peer, "value": theirs, "ratio": value / theirs}
        return {
            "id": self.id,
            "value": value,
            "unit": self.unit,
            "repeats": len(self.values),
            "spread": (max(self.values) - min(self.values)) / value,
            "peer": peer,
        }


@dataclass(frozen=True)
class Case:
    """One figure that can be measured."""

    id: str
    measure: Callable[[Effort, Notify], Figure]
    quick: bool = False
    """Whether it is part of the quick run."""
    missing: Callable[[], str | None] = lambda: None
    """Why it cannot be measured here and how to install what it needs; None if it can be."""


def rate(work: Work, block_s: float) -> float:
    """Units per second over runs, at least one, that together take at least ``block_s`` seconds."""
    units, seconds = 0.0, 0.0
    while units == 0.0 or seconds < block_s:
        work.prepare()
        begin = perf_counter()
        units += work.run()
        seconds += perf_counter() - begin
    return units / seconds


def rates(works: Sequence[Work], effort: Effort) -> list[list[float]]:
    """``effort.repeats`` rates of each work; the works take turns."""
    for work in works:
        rate(work, effort.warm_up_s)
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(effort.repeats):
        for values, work in zip(taken, works, strict=True):
            values.append(rate(work, effort.block_s))
    return taken


Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Peer:
    """Another simulator, ready to be measured."""

    name: str
    """Of its distribution."""
    work: Work


def find_peer(make: Callable[[Setting], Peer] | None, setting: Setting, note: Notify) -> Peer | None:
    """The peer that ``make`` sets up, tried once; None, and a note why, when it is missing or fails."""
    if make is None:
        return None
    try:
        peer = make(setting)
        peer.work.prepare()
        peer.work.run()
    except ImportError as error:
        note(f"no peer: {error} (pip install 'sidestep[bench]')")
        return None
    except Exception as error:  # foreign code: whatever it raises costs the comparison, not our figures
        note(f"no peer: it failed with {type(error).__name__}: {error}")
        return None
    return peer


def measure_work(id: str, unit: str, work: Work, effort: Effort, peer: Peer | None = None) -> Figure:
    """The figure of ``work``, and of its peer where there is one; the two take turns."""
    if peer is None:
        return Figure(id, unit, rates([work], effort)[0])
    ours, theirs = rates([work, peer.work], effort)
    return Figure(id, unit, ours, peer.name, theirs)


def measure_warm_start(id: str, program: str, effort: Effort) -> Figure:
    """Seconds from starting Python to the end of ``program``, with kernels that an earlier start left in the cache."""
    seconds_to_run(program, os.environ.copy())
    return Figure(id, "s", [seconds_to_run(program, os.environ.copy()) for _ in range(effort.repeats)])


def measure_cold_start(id: str, program: str, effort: Effort, most: int) -> Figure:
    """The same with a new, empty cache folder each time, at most ``most`` times."""
    seconds = []
    for _ in range(1 if effort.quick else min(effort.repeats, most)):
        with TemporaryDirectory() as folder:
            seconds.append(seconds_to_run(program, {**os.environ, "SIDESTEP_CACHE": folder}))
    return Figure(id, "s", seconds)


def seconds_to_run(program: str, environment: dict[str, str]) -> float:
    """Start a Python process with these environment variables and wait until ``program`` prints ``done``."""
    begin = perf_counter()
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        done = any(line == "done\n" for line in iter(process.stdout.readline, ""))
        seconds = perf_counter() - begin
        _, errors = process.communicate()
    if not done:
        raise SidestepError(f"a new process failed before its first step or frame:\n{errors[-2000:]}")
    return seconds
