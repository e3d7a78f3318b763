"""The iLQR controller with waypoints from a network that was cloned from an expert's runs of the frontal approach.

The network is a file with the inputs ``picture`` (N, 5, 64, 64) int8 (:mod:`sidestep.policies.ilqr.picture`) and
``motion`` (N, 4) float32, and one output ``waypoints`` (N, 3, 2) float32: where the robot should be after 1, 2 and 3 s,
in its frame, as a share of the path at top speed. ``sidestep train protocol`` writes such a file.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, ClassVar

import numpy as np

from sidestep._util.onnx import open_network, read_network
from sidestep.errors import BadInput
from sidestep.kernels.dynamics import unit_vector
from sidestep.policies.grid import bilinear
from sidestep.policies.ilqr.picture import CELLS, CHANNELS, BirdsEye
from sidestep.policies.ilqr.policy import NO_WAYPOINTS, WAYPOINT_TIMES, Ilqr, IlqrSettings
from sidestep.types import Observation, Task
from sidestep.types.base import FloatArray

INPUTS = {"picture": [CHANNELS, CELLS, CELLS], "motion": [4]}
BUNDLED = "waypoints_v1.onnx"
SPARE_M = 0.02
"""A waypoint has this much room beside the robot's body, or it is left out with those after it."""
LEAST_PROGRESS = 0.25
"""Waypoints that bring the robot to the goal more slowly than this share of the top speed are left out."""


class IlqrBcSettings(IlqrSettings):
    """Settings of ``ilqr``, and which network."""

    file: str | None = None
    """An .onnx file; None: the one that comes with Sidestep."""


class IlqrBc(Ilqr):
    """iLQR toward waypoints that a network predicts while somebody comes toward the robot; otherwise as ``ilqr``."""

    name = "ilqr_bc"
    summary = "ilqr toward waypoints of a small network, cloned from an expert that yields early in frontal approaches"
    citation = "after Pirk et al., A protocol for validating social navigation policies, 2022"
    extras = ("onnx",)
    Settings: ClassVar[type[IlqrSettings]] = IlqrBcSettings

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`IlqrBcSettings`."""
        super().__init__(**settings)
        assert isinstance(self._settings, IlqrBcSettings)
        self._network = load_waypoint_network(self._settings.file)

    def _prepare(self, task: Task) -> None:
        super()._prepare(task)
        self._eye = BirdsEye(self._ground, self._goal, self._limits.speed)

    def _waypoints(self, observation: Observation) -> FloatArray:
        """The network's waypoints up to the first that lies in a wall; none if they do not lead to the goal."""
        robot = observation.robot
        if not self._eye.paint(robot, self._crowd.lines):
            return NO_WAYPOINTS
        inputs = {"picture": self._eye.picture[None], "motion": self._eye.motion(robot)[None]}
        shares = self._network.run(["waypoints"], inputs)[0][0].astype(np.float64)
        ahead, left = (self._limits.speed * WAYPOINT_TIMES * shares.T).tolist()
        c, s = unit_vector(robot.heading)
        points: list[tuple[float, float]] = []
        for a, b in zip(ahead, left, strict=True):
            x, y = robot.x + a * c - b * s, robot.y + a * s + b * c
            if not bilinear(self._ground.clearance, self._ground, x, y) > self._weights.radius + SPARE_M:
                break
            points.append((x, y))
        if not points:
            return NO_WAYPOINTS
        gained = self._to_go(robot.x, robot.y) - self._to_go(*points[-1])
        if gained < LEAST_PROGRESS * self._limits.speed * WAYPOINT_TIMES[len(points) - 1]:
            return NO_WAYPOINTS
        return np.array(points)

    def _to_go(self, x: float, y: float) -> float:
        """Distance left to the goal, m."""
        return float(bilinear(self._ground.to_go, self._ground, x, y))


def load_waypoint_network(file: str | None) -> Any:
    """A session of onnxruntime on one thread; ``BadInput`` unless the file is a network with the inputs above."""
    if file is None:
        data, where = (resources.files("sidestep.policies.ilqr") / BUNDLED).read_bytes(), BUNDLED
    else:
        data, where = read_network(file, "give an .onnx file, or leave ilqr_bc.file out")
    session = open_network(data, where)
    found = {each.name: list(each.shape[1:]) for each in session.get_inputs()}
    if found != INPUTS or [each.name for each in session.get_outputs()] != ["waypoints"]:
        raise BadInput(f"{where}: has the inputs {found}; expected {INPUTS} and the output 'waypoints'")
    return session
