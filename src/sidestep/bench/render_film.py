"""How long it takes to film an episode of 60 s: the command, from its start to the whole file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from sidestep.bench.measure import Effort, Figure, Note
from sidestep.errors import SidestepError
from sidestep.records import save_record
from sidestep.registry import make_policy
from sidestep.simulation import run_episode
from sidestep.types.scenario import Scenario

FILM_S = 60.0
SIZE = "640x480"
PEOPLE = 50
REPEATS = 3


def long_walk() -> Scenario:
    """A slow robot drives down a sidewalk for a minute, among people on both sides of the street."""
    robot = {
        "name": "pioneer_3dx",
        "dynamics": "holonomic",
        "footprint": {"radius": 0.2},
        "limits": {"max_speed": 0.5},
        "height": 0.237,
        "camera_height": 1.0,
    }
    people = {"kind": "random", "count": PEOPLE, "area": [-19, -6.8, 19, 6.8]}
    document = {
        "name": "long walk",
        "scene": "crosswalk_street",
        "robots": [{"spec": robot, "start": [-18, -5.6, 0], "goal": [19, -5.6]}],
        "crowd": [{"model": "orca", "at_end": "loop", "placement": people}],
        "rules": {"step_s": 0.05, "time_limit_s": FILM_S, "ends_on": ["success", "timeout", "policy_error"]},
    }
    return Scenario.parse(document, "bench")


def measure_film(effort: Effort, note: Note) -> Figure:
    """Seconds of ``sidestep replay --video`` for 60 s at 20 frames/s, kernels compiled."""
    record = run_episode(long_walk(), make_policy("straight", {}))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "walk.parquet"
        save_record(record, path)
        film = ["replay", str(path), "--video", str(path.with_suffix(".mp4")), "--camera", "first", "--size", SIZE]
        seconds = [seconds_of(film) for _ in range(1 if effort.quick else min(effort.repeats, REPEATS))]
    return Figure(f"video60/{SIZE}", "s", seconds)


def seconds_of(arguments: list[str]) -> float:
    """Wall clock of one command."""
    begin = perf_counter()
    done = subprocess.run([sys.executable, "-m", "sidestep", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SidestepError(f"the film was not made:\n{done.stderr[-2000:]}")
    return perf_counter() - begin
