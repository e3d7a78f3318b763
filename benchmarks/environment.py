"""Learning environments: steps per second of ``sidestep/Crossing-v0`` (one Gymnasium environment next to ir-sim's, and
a batch of 256) and of a batch in ``sidestep/Plaza-v0`` with and without lidar and grid, bytes per environment of the
batch, and seconds from starting Python to the first step. The robot drives to its goal with some noise; what chooses
the action is not timed, resets are. ir-sim's people use its reciprocal velocity obstacles (``rvo``), headless, in
NumPy. Memory is counted by ``tracemalloc``, which sees Python objects and NumPy arrays but neither the kernels' working
memory nor compiled code. A start is ``warm`` when the kernels are in the cache, ``cold`` when everything has to be
compiled.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from math import cos, hypot, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np
import yaml

from benchmarks.measure import (
    Case,
    Effort,
    Figure,
    Notify,
    Peer,
    Work,
    find_peer,
    measure_cold_start,
    measure_warm_start,
    measure_work,
)
from sidestep.types.base import FloatArray

IRSIM_STEP_S, IRSIM_TIME_LIMIT_S = 0.25, 25.0
IRSIM_RADIUS = 0.3  # m
IRSIM_PERSON_SPEED, IRSIM_ROBOT_SPEED = 1.3, 1.0  # m/s
IRSIM_STEPS = 10


def crossing_peer(people: int) -> Peer:
    """One robot and ``people`` people."""
    return Peer("ir-sim", _IrSim(people))


def crossing_world(people: int) -> dict[str, Any]:
    """ir-sim's world file as plain data; the robot starts on the circle, midway between two people."""
    circle = max(4.0, 0.35 * people)
    angles = [2.0 * pi * (k + 0.5) / people - pi / 2 for k in range(people)]
    starts = [[circle * cos(angle), circle * sin(angle), 0.0] for angle in angles]
    size = 4.0 * circle
    body = {"kinematics": {"name": "omni"}, "shape": {"name": "circle", "radius": IRSIM_RADIUS}}
    avoidance = {"name": "rvo", "vxmax": IRSIM_PERSON_SPEED, "vymax": IRSIM_PERSON_SPEED, "mode": "rvo"}
    return {
        "world": {"width": size, "height": size, "offset": [-size / 2, -size / 2], "step_time": IRSIM_STEP_S},
        "robot": [
            {
                **body,
                "state": [0.0, -circle, 0.0],
                "goal": [0.0, circle, 0.0],
                "vel_max": [IRSIM_ROBOT_SPEED, IRSIM_ROBOT_SPEED],
            }
        ],
        "obstacle": [
            {
                **body,
                "number": people,
                "distribution": {"name": "manual"},
                "state": starts,
                "goal": [[-x, -y, 0.0] for x, y, _ in starts],
                "vel_max": [IRSIM_PERSON_SPEED, IRSIM_PERSON_SPEED],
                "behavior": avoidance,
            }
        ],
    }


class _IrSim(Work):
    def __init__(self, people: int) -> None:
        with redirect_stdout(sys.stderr):  # it prints which window systems it did not find
            import irsim

        with TemporaryDirectory() as folder:
            world = Path(folder) / "world.yaml"
            world.write_text(yaml.safe_dump(crossing_world(people)), encoding="utf-8")
            self._environment: Any = irsim.make(str(world), headless=True, log_level="CRITICAL")
        self._steps = 0

    def run(self) -> float:
        """Environment steps; the robot drives straight to its goal."""
        for _ in range(IRSIM_STEPS):
            robot = self._environment.robot
            dx, dy = (robot.goal[:2, 0] - robot.state[:2, 0]).tolist()
            scale = IRSIM_ROBOT_SPEED / max(hypot(dx, dy), 1e-9)
            self._environment.step(np.array([[dx * scale], [dy * scale]]))
            self._steps += 1
            if self._environment.done() or robot.collision or self._steps * IRSIM_STEP_S >= IRSIM_TIME_LIMIT_S:
                self._environment.reset()
                self._steps = 0
        return float(IRSIM_STEPS)


ENVIRONMENT = "sidestep.gym:sidestep/Crossing-v0"
BATCH = 256
PEOPLE = (5, 10, 20, 50)
QUICK_PEOPLE = {"env": (5, 20), "batch256": (5,)}
PEERS: dict[int, Callable[[int], Peer]] = {20: crossing_peer}  # of one environment
NOISE = 0.3  # of the action, standard deviation
NOISES = 4096


WALLED = "sidestep.gym:sidestep/Plaza-v0"
WALLED_PEOPLE = 20
WALLED_SENSORS: dict[str, tuple[str, ...]] = {"none": (), "lidar180": ("lidar",), "grid64": ("grid",)}
"""With 180 rays all round, and with 64 × 64 cells: the defaults."""


def cases() -> list[Case]:
    """One per number of people, for one environment and for the batch; then the batch among walls."""
    return [
        *(
            Case(f"{kind}/people={people}", partial(measure, people), quick=people in QUICK_PEOPLE[kind])
            for kind, measure in (("env", measure_environment), ("batch256", measure_batch))
            for people in PEOPLE
        ),
        *(
            Case(f"walls256/sensors={name}", partial(measure_walls, name), quick=name == "lidar180")
            for name in WALLED_SENSORS
        ),
    ]


def measure_walls(name: str, effort: Effort, note: Notify) -> Figure:
    """Steps per second of all environments of a batch among walls, with certain sensors."""
    work = Batch(WALLED_PEOPLE, environment=WALLED, sensors=WALLED_SENSORS[name])
    return measure_work(f"walls256/sensors={name}", "env-steps/s", work, effort)


def measure_environment(people: int, effort: Effort, note: Notify) -> Figure:
    """Steps per second of one environment, next to ir-sim's."""
    peer = find_peer(PEERS.get(people), people, note)
    return measure_work(f"env/people={people}", "env-steps/s", OneEnvironment(people), effort, peer)


def measure_batch(people: int, effort: Effort, note: Notify) -> Figure:
    """Steps per second of all environments of a batch together."""
    return measure_work(f"batch256/people={people}", "env-steps/s", Batch(people), effort)


def make_environment(people: int) -> Any:
    """One environment, with the wrappers that Gymnasium puts round it."""
    return gymnasium.make(ENVIRONMENT, people=people)


def make_batch(
    people: int, environments: int = BATCH, environment: str = ENVIRONMENT, sensors: tuple[str, ...] = ()
) -> Any:
    """The native vector environment with as many threads as there are cores; its arrays are not copied."""
    return gymnasium.make_vec(environment, num_envs=environments, people=people, copy=False, sensors=sensors)


def _noises(size: tuple[int, ...]) -> FloatArray:
    return np.random.default_rng(0).normal(0.0, NOISE, size).astype(np.float32)


def _action(goals: FloatArray, noise: FloatArray) -> FloatArray:
    """Full speed toward ``goals`` (…, 2), plus noise, within [-1, 1]."""
    lengths = np.maximum(np.sqrt((goals * goals).sum(axis=-1, keepdims=True)), 1e-9)
    action: FloatArray = np.clip(goals / lengths + noise, -1.0, 1.0).astype(np.float32)
    return action


class OneEnvironment(Work):
    """A run is one step, and a reset when the episode is over."""

    def __init__(self, people: int) -> None:
        self._environment = make_environment(people)
        self._observation, _ = self._environment.reset(seed=0)
        self._noise, self._count = _noises((NOISES, 2)), 0

    def prepare(self) -> None:
        """Choose the action."""
        self._count = (self._count + 1) % NOISES
        self._action = _action(self._observation["robot"][:2], self._noise[self._count])

    def run(self) -> float:
        """One step."""
        self._observation, _, terminated, truncated, _ = self._environment.step(self._action)
        if terminated or truncated:
            self._observation, _ = self._environment.reset()
        return 1.0


class Batch(Work):
    """A run is one step of all environments; those whose episode is over are reset in the same step."""

    def __init__(self, people: int, environment: str = ENVIRONMENT, sensors: tuple[str, ...] = ()) -> None:
        self._environments = make_batch(people, environment=environment, sensors=sensors)
        self._observations, _ = self._environments.reset(seed=0)
        self._noise, self._count = _noises((NOISES + BATCH, 2)), 0

    def prepare(self) -> None:
        """Choose the actions."""
        self._count = (self._count + 1) % NOISES
        noise = self._noise[self._count : self._count + BATCH]
        self._actions = _action(self._observations["robot"][:, :2], noise)

    def run(self) -> float:
        """One step of each."""
        self._observations, *_ = self._environments.step(self._actions)
        return float(BATCH)


PROGRAM = """
import gymnasium
environment = gymnasium.make("sidestep.gym:sidestep/Crossing-v0")
environment.reset(seed=0)
environment.step(environment.action_space.sample())
print("done", flush=True)
"""
COLD_REPEATS = 3


def start_cases() -> list[Case]:
    """Warm and cold."""
    return [
        Case("start/warm", lambda effort, _: measure_warm_start("start/warm", PROGRAM, effort), quick=True),
        Case("start/cold", lambda effort, _: measure_cold_start("start/cold", PROGRAM, effort, COLD_REPEATS)),
    ]


MEMORY_PEOPLE = 50
MEMORY_ID = f"memory/batch256/people={MEMORY_PEOPLE}"


def memory_cases() -> list[Case]:
    """The one figure."""
    return [Case(MEMORY_ID, measure_memory)]


def measure_memory(effort: Effort, note: Notify) -> Figure:
    """Bytes per environment. It is a count, hence taken once."""
    return Figure(MEMORY_ID, "bytes", [bytes_per_environment(MEMORY_PEOPLE, BATCH)])


def bytes_per_environment(people: int, environments: int) -> float:
    """Growth of traced memory over the making, the reset and one step of a batch, per environment."""
    _open_batch(people, 2)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        batch = _open_batch(people, environments)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del batch
    return (after - before) / environments


def _open_batch(people: int, environments: int) -> object:
    batch = make_batch(people, environments)
    batch.reset(seed=0)
    batch.step(batch.action_space.sample())
    return batch
