"""What a reader makes of a log: the drive of one robot among people, at the times at which it was logged.

A :class:`LoggedDrive` holds what the log says and None for what it does not say; nothing is resampled or judged here.
Readers are registered by name (``sidestep.registry.LOGS``) and follow :class:`LogReader`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.scene import SceneSpec

MOST_ROWS = 20_000_000
"""Positions of people and the robot that are read of one log."""


@dataclass(frozen=True, eq=False)
class Track:
    """Where one body was: K samples, times rising."""

    time: FloatArray  # (K,) float64, s
    position: FloatArray  # (K, 2) float64, m
    heading: FloatArray | None = None  # (K,) rad; None: not logged
    velocity: FloatArray | None = None  # (K, 3) vx, vy (m/s, world frame), turn rate (rad/s); None: not logged
    radius: float | None = None  # m; None: not logged
    group: int = -1  # number of the walking group; -1: none is known


@dataclass(frozen=True, eq=False)
class LoggedDrive:
    """One drive of one robot. Fields that the log does not have are None."""

    robot: Track
    people: Mapping[int, Track] | None = None
    """Person's number → track. Empty: nobody was there; None: the log does not cover people."""
    name: str = ""
    """Distinguishes the drives of one log."""
    window: tuple[float, float] | None = None
    """Part of the log's time that the drive takes; None: all of it."""
    goal: tuple[float, float] | None = None
    command_time: FloatArray | None = None  # (C,) s
    command: FloatArray | None = None  # (C, 2) forward speed (m/s) and turn rate (rad/s)
    scene: SceneSpec | None = None
    said: tuple[str, ...] = ()
    """What was guessed, left out or repaired, one sentence each."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of the user for a log. No reader ignores an option silently: see ``refuse``."""

    topics: Mapping[str, str] = field(default_factory=dict)
    """Topics of ROS bags: ``robot``, ``people``, ``goal``, ``command``, ``map`` → topic."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of tables: ``time``, ``id``, ``x``, ``y``, ``heading``, ``kind`` … → column."""
    robot: str | None = None
    """Which track is the robot; ``all``: each in turn."""
    rate_hz: float | None = None
    """Frame numbers per second, for formats that count frames."""
    time_unit: str | None = None
    """``s``, ``ms``, ``us`` or ``ns``; None: guessed."""

    def refuse(self, path: Path, format_name: str, *names: str) -> None:
        """BadInput if an option is given that the format has no use for."""
        words = {"topics": "--map", "columns": "--columns", "robot": "--robot", "rate_hz": "--rate-hz"}
        words["time_unit"] = "--time-unit"
        for name in names:
            if vars(self)[name]:
                raise BadInput(f"{path}: {words[name]} does not apply to the format {format_name!r}; leave it out")


@runtime_checkable
class LogReader(Protocol):
    """Reads one format of logs."""

    name: str
    summary: str

    def matches(self, path: Path) -> bool:
        """Whether the file or folder looks like this format."""

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """The drives in it."""


def make_track(
    time: FloatArray,
    position: FloatArray,
    heading: FloatArray | None = None,
    velocity: FloatArray | None = None,
    radius: float | None = None,
    group: int = -1,
) -> tuple[Track, dict[str, int]]:
    """A track of samples in any order, and what was repaired: how many samples were ``not a number`` (left out),
    ``repeated`` (of several at one time the first stays) and ``out of order`` (sorted)."""
    known = np.isfinite(time) & np.isfinite(position).all(axis=1)
    if heading is not None:
        known &= np.isfinite(heading)
    time = time[known]
    order = np.argsort(time, kind="stable")
    rising = time[order]
    first = np.ones(len(rising), bool)
    first[1:] = np.diff(rising) > 0
    chosen = np.flatnonzero(known)[order][first]
    mended = {
        "not a number": int(len(known) - known.sum()),
        "repeated": int(len(rising) - first.sum()),
        "out of order": int(np.count_nonzero(np.diff(time) < 0)),
    }
    return (
        Track(
            rising[first],
            position[chosen],
            None if heading is None else heading[chosen],
            None if velocity is None else np.nan_to_num(velocity[chosen]),
            radius,
            group,
        ),
        mended,
    )


def describe_repairs(mended: Mapping[str, int]) -> list[str]:
    """A sentence about what ``make_track`` repaired in all tracks of a log; empty if nothing."""
    what = {"not a number": "left out", "repeated": "left out", "out of order": "sorted"}
    repairs = [f"{count:,} {name} ({what[name]})" for name, count in mended.items() if count]
    return [f"repaired samples: {', '.join(repairs)}"] if repairs else []


def add_counts(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add the counts of one track to those of all."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def number_people(names: Collection[str]) -> dict[str, int]:
    """Name → number: the name itself if all are whole numbers, else the place in the sorted names, from 1."""
    if all(name.lstrip("-").isdigit() and len(name) < 18 for name in names) and len({*map(int, names)}) == len(names):
        return {name: int(name) for name in names}
    return {name: place for place, name in enumerate(sorted(names), start=1)}


def scaled(drive: LoggedDrive, factor: float) -> LoggedDrive:
    """The drive with all lengths times ``factor``. The scene must be in metres already."""
    if factor == 1.0:
        return drive
    if not (np.isfinite(factor) and factor > 0):
        raise BadInput(f"--scale {factor:g}: must be a positive number of metres per unit of the log")

    def resized(track: Track) -> Track:
        velocity = None if track.velocity is None else track.velocity * np.array([factor, factor, 1.0])
        radius = None if track.radius is None else track.radius * factor
        return replace(track, position=track.position * factor, velocity=velocity, radius=radius)

    return replace(
        drive,
        robot=resized(drive.robot),
        people=None if drive.people is None else {number: resized(track) for number, track in drive.people.items()},
        goal=None if drive.goal is None else (drive.goal[0] * factor, drive.goal[1] * factor),
        command=None if drive.command is None else drive.command * np.array([factor, 1.0]),
    )
