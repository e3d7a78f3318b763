"""A driver that was learned from demonstrations: a network over camera, lidar and measurements with a head for every
high-level command, run by onnxruntime, or by PyTorch as TorchScript.

The network is a file with inputs ``image`` (N, 88, 200, 3) uint8, ``lidar`` (N, 720) float32, ``measurements`` (N, 4)
float32 and ``command`` (N, 2) int64, or some of them, in IntersectNav's frame (positive to the right), and one output
``action`` (N, 3): steer, throttle, brake. ``sidestep train intersection`` writes such a file.

A network gets the inputs that it was trained on (:mod:`sidestep.policies.driving.measurements`): version 2 has BGR
pictures and the published measurements and commands, version 1 RGB pictures and what demonstrations held before.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from sidestep._util.onnx import open_network, read_network, refuse_torch
from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.policies.driving.measurements import published_measurements
from sidestep.policies.driving.pid import CITATION
from sidestep.types import Command, Drive, LidarScan, Observation, Task
from sidestep.types.base import FloatArray, Model

INPUTS = {"image": [88, 200, 3], "lidar": [720], "measurements": [4], "command": [2]}
LIDAR_RANGE_M = 40.0
BUNDLED = "imitation_v1.onnx"
THROTTLE_OR_BRAKE = 0.05
OLD_METADATA = "steer_weight"
"""Networks that were trained before versions of inputs existed have this key in their metadata, and no ``inputs``."""


class ImitationSettings(Model):
    """Settings of the policy: which network it runs."""

    file: str | None = None
    """An .onnx file, or a TorchScript file with ``format: torchscript``; None: the network that comes with Sidestep,
    trained on the development split."""
    format: Literal["onnx", "torchscript"] = "onnx"
    """A TorchScript file can hold code, which runs when it is loaded: only those that you trust."""
    inputs: Literal[1, 2] | None = None
    """Version of the inputs that the network was trained on; None: what its metadata says, else 2 (as published)."""


class DrivingNetwork(Protocol):
    """A network that can be run."""

    inputs: int
    """Version of the inputs."""
    names: tuple[str, ...]
    """Names of the inputs, in the network's order."""

    def run(self, inputs: dict[str, Any]) -> Any:
        """(N, 3) actions."""


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
        self._network = load_driving_network(self._settings.file, self._settings.format, self._settings.inputs)
        if self._network.inputs != 2:
            self.sensor_settings = {"measurements": {"inputs": self._network.inputs}}

    def reset(self, task: Task) -> None:
        """The network has no memory."""

    def act(self, observation: Observation) -> Command:
        """One pass of the network."""
        inputs = network_inputs(observation, self._network.inputs)
        steer, throttle, brake = self._network.run({name: inputs[name] for name in self._network.names})[0].tolist()
        if brake > THROTTLE_OR_BRAKE and brake > throttle:
            throttle = 0.0
        return Drive(-steer, throttle, brake if brake > THROTTLE_OR_BRAKE else 0.0)


def network_inputs(observation: Observation, version: int) -> dict[str, Any]:
    """What a network of that version gets, with a leading axis of one."""
    assert observation.lidar is not None
    assert observation.extra is not None
    picture = np.asarray(observation.rgb, np.uint8)
    return {
        "image": np.ascontiguousarray(picture if version == 1 else picture[..., ::-1])[None],
        "lidar": front_ranges(observation.lidar)[None],
        "measurements": published_measurements(observation.extra["measurements"], version)[None],
        "command": np.asarray(observation.extra["high_level_command"], np.int64)[None],
    }


def front_ranges(scan: LidarScan) -> FloatArray:
    """(720,) the front half of a scan from left to right over 40 m, at most 1: the nearest ray of each direction, 1
    where there is none."""
    angle = np.pi / 2 - np.pi / 719 * np.arange(720)
    turn = 2 * np.pi / scan.angle_increment
    k = np.rint(((angle - scan.angle_min) / scan.angle_increment) % turn).astype(int)
    known = k < len(scan.ranges)
    ranges = np.where(known, scan.ranges[np.where(known, k, 0)] / np.float32(LIDAR_RANGE_M), np.float32(1.0))
    return np.minimum(ranges, np.float32(1.0)).astype(np.float32)


class _OnnxDriver:
    """An ONNX file in onnxruntime, on one thread."""

    def __init__(self, data: bytes, where: str, inputs: int | None) -> None:
        self._session = open_network(data, where)
        found = {each.name: list(each.shape[1:]) for each in self._session.get_inputs()}
        outputs = [each.name for each in self._session.get_outputs()]
        if not found or not found.items() <= INPUTS.items() or outputs != ["action"]:
            raise BadInput(
                f"{where}: has the inputs {found}; expected {INPUTS} or some of them, and the output 'action'"
            )
        self.names = tuple(found)
        said = self._session.get_modelmeta().custom_metadata_map
        known = said.get("inputs", "1" if OLD_METADATA in said else "2")
        if known not in ("1", "2"):
            raise BadInput(f"{where}: was trained on version {known:.20} of the inputs; this Sidestep knows 1 and 2")
        self.inputs = int(known) if inputs is None else inputs

    def run(self, inputs: dict[str, Any]) -> Any:
        """(N, 3) actions."""
        return self._session.run(["action"], inputs)[0]


class _TorchScriptDriver:
    """A TorchScript archive in PyTorch, on one thread."""

    def __init__(self, file: str, inputs: int | None) -> None:
        from sidestep.policies.visual.model_files import load_network

        self._network = load_network(file, "torchscript", ("action",), 1, "cpu")
        self.names = tuple(self._network.inputs)
        if not self.names or not set(self.names) <= set(INPUTS):
            raise BadInput(
                f"{file}: its forward takes ({', '.join(self.names)}); name its arguments {', '.join(INPUTS)}, or some "
                "of them"
            )
        self.inputs = 2 if inputs is None else inputs
        try:
            found = self.run({name: np.zeros((1, *INPUTS[name]), DTYPES[name]) for name in self.names})
        except RuntimeError as error:
            line = (str(error).strip() or "RuntimeError").splitlines()[-1]
            raise BadInput(f"{file}: does not run with {', '.join(self.names)}: {line:.200}") from None
        if np.shape(found) != (1, 3):
            raise BadInput(f"{file}: gives numbers of shape {np.shape(found)}; expected (N, 3): steer, throttle, brake")

    def run(self, inputs: dict[str, Any]) -> Any:
        """(N, 3) actions."""
        return self._network.run({name: np.array(value) for name, value in inputs.items()})["action"]


DTYPES = {"image": np.uint8, "lidar": np.float32, "measurements": np.float32, "command": np.int64}


def load_driving_network(
    file: str | None, form: Literal["onnx", "torchscript"] = "onnx", inputs: int | None = None
) -> DrivingNetwork:
    """The network; ``BadInput`` unless the file is one with the inputs above."""
    if file is None:
        source = resources.files("sidestep.policies.driving") / BUNDLED
        if not source.is_file():
            raise BadInput("no network comes with this version; train one with `sidestep train intersection`")
        return _OnnxDriver(source.read_bytes(), BUNDLED, inputs)
    data, where = read_network(file, "give an .onnx file, or leave imitation.file out")
    if form == "torchscript":
        return _TorchScriptDriver(where, inputs)
    refuse_torch(data, where, "imitation.format=torchscript")
    return _OnnxDriver(data, where, inputs)
