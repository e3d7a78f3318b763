"""Round-trip time of an observation sent to a policy in another process: ``python examples/remote/round_trip.py [PEOPLE]``.

A policy that answers at once runs in a process of its own; the same observation is sent 2000 times. The time includes
everything that a remote policy adds to a step: writing, sending and reading on both sides.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.runs.remote.client import Velocity, serve_policy
from sidestep.runs.remote.session import Session, greet
from sidestep.runs.remote.wire import Address
from sidestep.simulation.robots import load_robot
from sidestep.types import Observation, Pedestrians, RobotState, Task

QUESTIONS = 2000


class Idle:
    """Answers at once."""

    name = "idle"
    needs = frozenset({"goal", "pedestrians"})

    def reset(self, task: Any) -> None:
        """Nothing to prepare."""

    def act(self, observation: Any) -> Velocity:
        return Velocity(0.0, 0.0)


def measure(address: str, people: int) -> tuple[float, float]:
    """Median and 99th percentile of the round trip, ms."""
    rng = np.random.default_rng(0)
    crowd = Pedestrians(
        id=np.arange(people),
        position=rng.normal(size=(people, 2)).astype(np.float32),
        velocity=rng.normal(size=(people, 2)).astype(np.float32),
        heading=np.zeros(people, np.float32),
        radius=np.full(people, 0.2, np.float32),
        group=np.full(people, -1, np.int32),
    )
    observation = Observation(0.0, RobotState(0, 0, 0, 0, 0, 0), goal=(1.0, 0.0), pedestrians=crowd)
    session: Session = greet(Address.parse(address))
    session.begin(Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.05, 10.0, 0.3), {})
    taken = []
    for _ in range(QUESTIONS):
        start = time.perf_counter()
        session.act(observation, 10.0)
        taken.append(1e3 * (time.perf_counter() - start))
    session.close()
    return float(np.median(taken)), float(np.percentile(taken, 99))


def main(people: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for address in ("127.0.0.1:0", f"unix:{Path(folder) / 'policy'}"):
            command = [sys.executable, __file__, "--serve", address]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                median, high = measure(server.stdout.readline().strip(), people)
                server.kill()
            kind = "Unix socket" if address.startswith("unix") else "TCP on loopback"
            print(f"{kind}, {people} people: {median:.3f} ms, 99 % below {high:.3f} ms")


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve_policy(Idle, sys.argv[-1], ready=lambda address: print(address, flush=True))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
