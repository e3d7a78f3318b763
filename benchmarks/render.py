"""Pictures per second: 50 people who walk in the floor plan ``crosswalk_street``, RGB + depth + instance, sun and
shadows; films; environments with cameras; the first frame of a process. Where everyone is in each frame is known
before the timed part; skinning, culling, shadows and drawing are in it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from math import pi, radians
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

from benchmarks.measure import (
    Case,
    Effort,
    Figure,
    Notify,
    Work,
    measure_cold_start,
    measure_warm_start,
    measure_work,
)
from sidestep.errors import SidestepError
from sidestep.records import save_record
from sidestep.registry import make_policy
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.packing import PackedInstances
from sidestep.render.people.gait_kernels import STRIDE
from sidestep.render.people.pose import PeopleState
from sidestep.render.renderer import BatchRenderer, Renderer
from sidestep.render.world_view import WorldView
from sidestep.scenes.plans import load_plan
from sidestep.simulation import run_episode
from sidestep.types.scenario import Scenario

STREET = "crosswalk_street"
HALF_LENGTH = 18.0  # m of the street either side of its middle that people walk along
HALF_ROAD, INNER, OUTER = 3.0, 4.8, 6.5  # m from the middle: on the road, and on the sidewalks


class BusyStreet:
    """A street with ``count`` people on its sidewalks and its road who walk to and fro along it."""

    def __init__(self, count: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._columns = np.arange(count)
        self._view = WorldView(load_plan(STREET), (), "busy street", self._columns)
        self._x = rng.uniform(-HALF_LENGTH, HALF_LENGTH, count)
        sidewalk = rng.uniform(INNER, OUTER, count) * rng.choice([-1, 1], count)
        self._y = np.where(rng.random(count) < 0.15, rng.uniform(-HALF_ROAD, HALF_ROAD, count), sidewalk)
        self._heading = np.where(rng.random(count) < 0.5, 0.0, pi)
        self._speed = rng.uniform(0.9, 1.5, count)
        self._phase = rng.random(count)
        self.scene = self._view.scene

    def at(self, time_s: float) -> PackedInstances:
        """Everyone at a time."""
        distance = self._speed * time_s
        x = self._x + np.where(self._heading == 0.0, distance, -distance)
        x = (x + HALF_LENGTH) % (2 * HALF_LENGTH) - HALF_LENGTH
        phase = self._phase + distance / (STRIDE * np.sqrt(self._speed))
        looks, position = self._view.looks, np.stack([x, self._y], axis=1)
        state = PeopleState(position, self._heading, self._speed, phase, looks.model, looks.scale)
        return self._view.instances(self._columns, state, ())


FILM_S = 60.0
FILM_SIZE = "640x480"
FILM_REPEATS = 3


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
        "scene": STREET,
        "robots": [{"spec": robot, "start": [-18, -5.6, 0], "goal": [19, -5.6]}],
        "crowd": [{"model": "orca", "at_end": "loop", "placement": people}],
        "rules": {"step_s": 0.05, "time_limit_s": FILM_S, "ends_on": ["success", "timeout", "policy_error"]},
    }
    return Scenario.parse(document, "bench")


def measure_film(effort: Effort, note: Notify) -> Figure:
    """Seconds of ``sidestep replay --video`` for 60 s at 20 frames/s, kernels compiled."""
    record = run_episode(long_walk(), make_policy("straight", {}))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "walk.parquet"
        save_record(record, path)
        film = ["replay", str(path), "--video", str(path.with_suffix(".mp4")), "--camera", "first", "--size", FILM_SIZE]
        seconds = [seconds_of(film) for _ in range(1 if effort.quick else min(effort.repeats, FILM_REPEATS))]
    return Figure(f"video60/{FILM_SIZE}", "s", seconds)


def seconds_of(arguments: list[str]) -> float:
    """Wall clock of one command."""
    begin = perf_counter()
    done = subprocess.run([sys.executable, "-m", "sidestep", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SidestepError(f"the film was not made:\n{done.stderr[-2000:]}")
    return perf_counter() - begin


CAMERA_ENVIRONMENT = "sidestep.gym:sidestep/Plaza-v0"
CAMERA_ENVIRONMENTS, CAMERA_SIZE = 10, 96
CAMERA_ID = f"gym_camera{CAMERA_ENVIRONMENTS}/{CAMERA_SIZE}x{CAMERA_SIZE}"


def measure_camera_environments(effort: Effort, note: Notify) -> Figure:
    """Steps of all together, with colour and depth of each; twelve people on a square with four columns."""
    return measure_work(CAMERA_ID, "env-steps/s", CameraEnvironments(), effort)


class CameraEnvironments(Work):
    """A run is one step of all environments."""

    def __init__(self) -> None:
        self._environments: Any = gymnasium.make_vec(
            CAMERA_ENVIRONMENT,
            num_envs=CAMERA_ENVIRONMENTS,
            pool=2 * CAMERA_ENVIRONMENTS,
            sensors=("rgb", "depth"),
            camera={"width": CAMERA_SIZE, "height": CAMERA_SIZE},
            copy=False,
        )
        self._environments.reset(seed=0)
        self._rng = np.random.default_rng(0)

    def prepare(self) -> None:
        """Choose the actions."""
        self._actions = self._rng.uniform(-1.0, 1.0, (CAMERA_ENVIRONMENTS, 2)).astype(np.float32)

    def run(self) -> float:
        """One step of each."""
        self._environments.step(self._actions)
        return float(CAMERA_ENVIRONMENTS)


PEOPLE = 50
SIZES = ((96, 96), (256, 256), (512, 288), (640, 480), (1500, 650))
QUICK_SIZES = ((96, 96),)
FIELD_OF_VIEW = radians(80.0)
THREADS = 2
BATCH = 10
FRAMES = 40  # moments of the walk, 0.05 s apart
WANT = ("rgb", "depth", "instance")
FIRST_FRAME = """
from benchmarks.render import Street
Street(640, 480, 1).run()
print("done", flush=True)
"""
COMMAND = """
import subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    picture = folder + "/picture.png"
    subprocess.run([sys.executable, "-m", "sidestep", "render", "core", "plaza", "--out", picture], check=True,
                   stdout=subprocess.DEVNULL)
print("done", flush=True)
"""
"""The first picture, with an empty cache, by the command."""


def cases() -> list[Case]:
    """One per size of picture, the batch, video, and the first frame and the first command of a process."""
    made = [
        Case(
            f"render/{width}x{height}/people={PEOPLE}",
            partial(measure_render, width, height),
            (width, height) in QUICK_SIZES,
        )
        for width, height in SIZES
    ]
    made.append(Case(f"render_batch{BATCH}/96x96/people={PEOPLE}", measure_batch))
    return [
        *made,
        Case("video/640x480", measure_video, missing=_missing_encoder),
        Case("video60/640x480", measure_film, missing=_missing_encoder),
        Case("render_start/warm", lambda effort, _: measure_warm_start("render_start/warm", FIRST_FRAME, effort)),
        Case("render_start/cold", lambda effort, _: measure_cold_start("render_start/cold", FIRST_FRAME, effort, 2)),
        Case("render_start/command", lambda effort, _: measure_cold_start("render_start/command", COMMAND, effort, 2)),
        Case(CAMERA_ID, measure_camera_environments),
    ]


def _missing_encoder() -> str | None:
    return None if find_spec("av") else "needs PyAV: pip install 'sidestep[video]'"


def measure_render(width: int, height: int, effort: Effort, note: Notify) -> Figure:
    """Frames per second of one camera, two threads on each frame."""
    work = Street(width, height, THREADS)
    return measure_work(f"render/{width}x{height}/people={PEOPLE}", "frames/s", work, effort)


def measure_batch(effort: Effort, note: Notify) -> Figure:
    """Frames per second of ten environments together, one thread on each."""
    return measure_work(f"render_batch{BATCH}/96x96/people={PEOPLE}", "frames/s", Streets(BATCH, 96, 96), effort)


def measure_video(effort: Effort, note: Notify) -> Figure:
    """Frames per second drawn and encoded (H.264, in memory)."""
    return measure_work("video/640x480", "frames/s", Film(640, 480), effort)


class Street(Work):
    """A run is one frame: the camera drives along the sidewalk, the people walk."""

    def __init__(self, width: int, height: int, threads: int, seed: int = 0) -> None:
        street = BusyStreet(PEOPLE, seed)
        camera = CameraModel(width, height, FIELD_OF_VIEW)
        self.renderer = Renderer(street.scene, camera, threads=threads, reuse=True)
        self.people = [street.at(0.05 * k) for k in range(FRAMES)]
        self.poses = [CameraPose(0.05 * k - 18.0, 5.5 - 0.3 * seed, 1.2, -0.1, 0.05) for k in range(FRAMES)]
        self.count = 0

    def prepare(self) -> None:
        """The next moment."""
        self.count = (self.count + 1) % FRAMES

    def run(self) -> float:
        """One frame."""
        self.renderer.render(self.poses[self.count], self.people[self.count], WANT)
        return 1.0


class Streets(Work):
    """A run is one frame of each environment."""

    def __init__(self, environments: int, width: int, height: int) -> None:
        self._streets = [Street(width, height, 1, seed) for seed in range(environments)]
        self._batch = BatchRenderer([street.renderer for street in self._streets], threads=THREADS)

    def prepare(self) -> None:
        """The next moment."""
        for street in self._streets:
            street.prepare()
        self._poses = [street.poses[street.count] for street in self._streets]
        self._people = [street.people[street.count] for street in self._streets]

    def run(self) -> float:
        """A frame of each."""
        self._batch.render(self._poses, self._people, WANT)
        return float(len(self._streets))


class Film(Work):
    """A run is 20 frames, drawn and encoded."""

    def __init__(self, width: int, height: int) -> None:
        import av

        self._street = Street(width, height, THREADS)
        self._frame_of: Any = av.VideoFrame.from_ndarray
        self._container = av.open(BytesIO(), "w", format="mp4")
        self._stream = self._container.add_stream("libx264", rate=20, options={"preset": "veryfast"})
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"

    def run(self) -> float:
        """Twenty frames."""
        for _ in range(20):
            self._street.prepare()
            images = self._street.renderer.render(
                self._street.poses[self._street.count], self._street.people[self._street.count], ("rgb",)
            )
            for packet in self._stream.encode(self._frame_of(images.rgb, format="rgb24")):
                self._container.mux(packet)
        return 20.0
