"""ir-sim: one robot among people who use its reciprocal velocity obstacles (``rvo``), headless, in NumPy.

The world is that of ``sidestep/Crossing-v0``: people on a circle walk to the opposite side, the robot crosses
it, steps of 0.25 s, resets included. ir-sim can also move people by RVO2 in C++ (its group behaviour
``orca``), which is several times faster but does not let them see the robot.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from math import cos, hypot, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from sidestep.bench.peers import Peer

STEP_S, TIME_LIMIT_S = 0.25, 25.0
RADIUS = 0.3  # m
PERSON_SPEED, ROBOT_SPEED = 1.3, 1.0  # m/s
STEPS = 10


def crossing_peer(people: int) -> Peer:
    """One robot and ``people`` people."""
    return Peer("ir-sim", _Environment(people))


def crossing_world(people: int) -> dict[str, Any]:
    """ir-sim's world file as plain data; the robot starts on the circle, midway between two people."""
    circle = max(4.0, 0.35 * people)
    angles = [2.0 * pi * (k + 0.5) / people - pi / 2 for k in range(people)]
    starts = [[circle * cos(angle), circle * sin(angle), 0.0] for angle in angles]
    size = 4.0 * circle
    body = {"kinematics": {"name": "omni"}, "shape": {"name": "circle", "radius": RADIUS}}
    avoidance = {"name": "rvo", "vxmax": PERSON_SPEED, "vymax": PERSON_SPEED, "mode": "rvo"}
    return {
        "world": {"width": size, "height": size, "offset": [-size / 2, -size / 2], "step_time": STEP_S},
        "robot": [
            {
                **body,
                "state": [0.0, -circle, 0.0],
                "goal": [0.0, circle, 0.0],
                "vel_max": [ROBOT_SPEED, ROBOT_SPEED],
            }
        ],
        "obstacle": [
            {
                **body,
                "number": people,
                "distribution": {"name": "manual"},
                "state": starts,
                "goal": [[-x, -y, 0.0] for x, y, _ in starts],
                "vel_max": [PERSON_SPEED, PERSON_SPEED],
                "behavior": avoidance,
            }
        ],
    }


class _Environment:
    def __init__(self, people: int) -> None:
        with redirect_stdout(sys.stderr):  # it prints which window systems it did not find
            import irsim

        with TemporaryDirectory() as folder:
            world = Path(folder) / "world.yaml"
            world.write_text(yaml.safe_dump(crossing_world(people)), encoding="utf-8")
            self._environment: Any = irsim.make(str(world), headless=True, log_level="CRITICAL")
        self._steps = 0

    def prepare(self) -> None:
        """Nothing."""

    def run(self) -> float:
        """Environment steps; the robot drives straight to its goal."""
        for _ in range(STEPS):
            robot = self._environment.robot
            dx, dy = (robot.goal[:2, 0] - robot.state[:2, 0]).tolist()
            scale = ROBOT_SPEED / max(hypot(dx, dy), 1e-9)
            self._environment.step(np.array([[dx * scale], [dy * scale]]))
            self._steps += 1
            if self._environment.done() or robot.collision or self._steps * STEP_S >= TIME_LIMIT_S:
                self._environment.reset()
                self._steps = 0
        return float(STEPS)
