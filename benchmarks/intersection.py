"""The intersection suite: how long its 41 routes with five seeds take, how fast a car with a camera drives, and how
fast demonstrations are written."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.measure import Case, Effort, Figure, Notify
from sidestep.policies.driving.pid import PidDriver
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.simulation.session import Session
from sidestep.suites.files import choose_options, load_suite
from sidestep.suites.intersection import INTERSECTION_SUITE

SEEDS = 5
STEPS = 150
CAMERA_ID = "intersection/camera/200x88"
NEEDS = ("rgb", "lidar", "measurements", "high_level_command", "route", "pedestrians", "vehicles")


def cases() -> list[Case]:
    """Runs without cameras, steps with one, frames of demonstrations."""
    return [
        Case("intersection/run/workers=2", measure_run),
        Case(CAMERA_ID, partial(measure_camera, CAMERA_ID, "ClearNoon"), quick=True),
        Case(f"{CAMERA_ID}/rain", partial(measure_camera, f"{CAMERA_ID}/rain", "HardRainNoon")),
        Case("demonstrations/write", measure_writing, quick=True),
    ]


def measure_run(effort: Effort, note: Notify) -> Figure:
    """Seconds for 41 routes × 5 seeds among people with the driver ``pid`` and two workers, kernels compiled."""
    suite = choose_options(load_suite("intersection"), {"split": "all"})

    def once(pattern: str, seeds: int) -> float:
        with TemporaryDirectory() as folder:
            plan = make_plan(suite, ["pid"], scenario_glob=pattern, repeats=seeds)
            begin = perf_counter()
            run_benchmark(plan, Path(folder, "run"), 2)
            return perf_counter() - begin

    once("scene0*", 1)
    repeats = 1 if effort.quick else min(effort.repeats, 3)
    return Figure("intersection/run/workers=2", "s", [once("*", SEEDS) for _ in range(repeats)])


def measure_camera(id: str, weather: str, effort: Effort, note: Notify) -> Figure:
    """Steps per second of processor time with camera, lidar, measurements and people: what one core does."""
    session = Session(INTERSECTION_SUITE.with_options({"split": "dev", "weather": weather}).scenarios()[2], needs=NEEDS)
    rates = []
    for repeat in range(1 + effort.repeats):
        driver, observation = PidDriver(), session.reset(repeat)
        driver.reset(session.task)
        begin = process_time()
        for _ in range(STEPS):
            observation, *_ = session.step(driver.act(observation))
        rates.append(STEPS / (process_time() - begin))
    return Figure(id, "steps/s of one core", rates[1:])  # the first compiles


def measure_writing(effort: Effort, note: Notify) -> Figure:
    """Frames per second that go into an HDF5 file, with pictures that hardly compress."""
    from sidestep.learning.demonstrations import frames_per_second

    return Figure(
        "demonstrations/write", "frames/s", [frames_per_second(effort.block_s) for _ in range(effort.repeats)]
    )
