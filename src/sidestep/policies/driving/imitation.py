"""A driver that was learned from demonstrations: a network over camera, lidar and measurements with a head for every
high-level command, run by onnxruntime.

The network is a file with inputs ``image`` (N, 88, 200, 3) uint8, ``lidar`` (N, 720) float32, ``measurements`` (N, 4)
float32 and ``command`` (N, 2) int64, in IntersectNav's frame (positive to the right), and one output ``action`` (N, 3):
steer, throttle, brake. ``sidestep train intersection`` writes such a file.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.onnx import open_network
from sidestep.policies.driving.pid import CITATION
from sidestep.types import Command, Drive, LidarScan, Observation, Task
from sidestep.types.base import FloatArray, Model

INPUTS = {"image": [88, 200, 3], "lidar": [720], "measurements": [4], "command": [2]}
LIDAR_RANGE_M = 40.0
TO_THE_RIGHT = np.array([1.0, -1.0, -1.0, 1.0], np.float32)
"""Signs of the measurements in the published frame."""
BUNDLED = "imitation_v1.onnx"
THROTTLE_OR_BRAKE = 0.05


class ImitationSettings(Model):
    """Which network."""

    file: str | None = None
    """An .onnx file; None: the one that comes with Sidestep, trained on the development split."""


class ImitationDriver(Policy):
    """Multi-task conditional imitation learning: camera, lidar and measurements to steer, throttle and brake."""

    name = "imitation"
    summary = "a network with a head for every high-level command, trained on demonstrations of the driver pid"
    citation = CITATION
    needs: ClassVar[frozenset[str]] = frozenset({"rgb", "lidar", "measurements", "high_level_command"})
    extras = ("onnx",)
    camera = "car_front_fast"

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`ImitationSettings`."""
        self._settings = ImitationSettings.parse(settings, f"policy {self.name}")
        self.settings = self._settings.model_dump()
        self._network = load_network(self._settings.file)

    def reset(self, task: Task) -> None:
        """The network has no memory."""

    def act(self, observation: Observation) -> Command:
        """One pass of the network."""
        assert observation.lidar is not None
        assert observation.extra is not None
        ranges = front_ranges(observation.lidar)
        inputs = {
            "image": np.ascontiguousarray(observation.rgb, np.uint8)[None],
            "lidar": ranges[None],
            "measurements": (observation.extra["measurements"] * TO_THE_RIGHT).astype(np.float32)[None],
            "command": np.asarray(observation.extra["high_level_command"], np.int64)[None],
        }
        steer, throttle, brake = self._network.run(["action"], inputs)[0][0].tolist()
        if brake > THROTTLE_OR_BRAKE and brake > throttle:
            throttle = 0.0
        return Drive(-steer, throttle, brake if brake > THROTTLE_OR_BRAKE else 0.0)


def front_ranges(scan: LidarScan) -> FloatArray:
    """(720,) the front half of a scan from left to right over 40 m, at most 1: the nearest ray of each direction, 1
    where there is none."""
    angle = np.pi / 2 - np.pi / 719 * np.arange(720)
    turn = 2 * np.pi / scan.angle_increment
    k = np.rint(((angle - scan.angle_min) / scan.angle_increment) % turn).astype(int)
    known = k < len(scan.ranges)
    ranges = np.where(known, scan.ranges[np.where(known, k, 0)] / np.float32(LIDAR_RANGE_M), np.float32(1.0))
    return np.minimum(ranges, np.float32(1.0)).astype(np.float32)


def load_network(file: str | None) -> Any:
    """A session of onnxruntime on one thread; ``BadInput`` unless the file is a network with the inputs above."""
    if file is None:
        source = resources.files("sidestep.policies.driving") / BUNDLED
        if not source.is_file():
            raise BadInput("no network comes with this version; train one with `sidestep train intersection`")
        data, where = source.read_bytes(), BUNDLED
    else:
        path = Path(file).expanduser()
        if not path.is_file():
            raise BadInput(f"{path}: no such file; give an .onnx file, or leave imitation.file out")
        data, where = path.read_bytes(), str(path)
    session = open_network(data, where)
    found = {each.name: list(each.shape[1:]) for each in session.get_inputs()}
    if found != INPUTS or [each.name for each in session.get_outputs()] != ["action"]:
        raise BadInput(f"{where}: has the inputs {found}; expected {INPUTS} and the output 'action'")
    return session
