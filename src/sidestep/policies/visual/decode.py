"""What a network says, in metres in the robot's frame (x ahead, y left)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.policies.visual.spec import (
    ClassOutput,
    DiffusionOutput,
    Points,
    VelocityOutput,
    WaypointOutput,
)
from sidestep.types.base import FloatArray


def wanted_outputs(output: WaypointOutput | ClassOutput | VelocityOutput | DiffusionOutput) -> tuple[str, ...]:
    """Names of the outputs that are read."""
    if isinstance(output, ClassOutput):
        return (output.scores,) if output.output is None else (output.scores, output.output)
    return (output.output,)


def in_metres(numbers: FloatArray, spec: Points, unit_m: float) -> FloatArray:
    """Points (K, 2) in the robot's frame of a network's (K, D)."""
    points = np.asarray(numbers, np.float64)[:, list(spec.columns)]
    if spec.deltas:
        points = np.cumsum(points, axis=0)
    return exact.matmul(points * unit_m, spec.to_ahead_left())


def read_points(
    output: WaypointOutput | ClassOutput, outputs: Mapping[str, Any], unit_m: float, where: str
) -> FloatArray:
    """The trajectory that the network has chosen, (K, 2)."""
    if isinstance(output, WaypointOutput):
        numbers = shaped(outputs[output.output], (output.points, _width(output)), f"{where}: output {output.output!r}")
        return in_metres(numbers, output, unit_m)
    scores = np.asarray(outputs[output.scores], np.float64).reshape(-1)
    classes = len(scores)
    if output.anchors is not None:
        if classes != len(output.anchors):
            raise BadInput(
                f"{where}: output {output.scores!r} has {classes} scores, the interface {len(output.anchors)} anchors"
            )
        return in_metres(np.array(output.anchors[int(np.argmax(scores))]), output, unit_m)
    assert output.output is not None
    size = (classes, output.points, _width(output))
    numbers = shaped(outputs[output.output], size, f"{where}: output {output.output!r}")
    return in_metres(numbers[int(np.argmax(scores))], output, unit_m)


def read_velocity(output: VelocityOutput, outputs: Mapping[str, Any], where: str) -> tuple[float, float]:
    """(m/s, rad/s)."""
    numbers = np.asarray(outputs[output.output], np.float64)
    rows = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim else numbers.reshape(1, 1)
    if len(rows) <= output.step or rows.shape[1] <= max(output.columns):
        raise BadInput(
            f"{where}: output {output.output!r} has shape {numbers.shape}; step {output.step} and columns "
            f"{output.columns} are not in it"
        )
    v, omega = rows[output.step, list(output.columns)].tolist()
    return v * output.speed_mps, omega * output.turn_rate


def read_sample(sample: FloatArray, output: DiffusionOutput, unit_m: float) -> FloatArray:
    """The trajectory (K, 2) of denoised samples (N, K, D)."""
    numbers = sample.mean(axis=0) if output.choose == "mean" else sample[0]
    if output.low is not None and output.high is not None:
        low, high = np.array(output.low), np.array(output.high)
        numbers = low + (numbers + 1.0) / 2.0 * (high - low)
    return in_metres(numbers, output, unit_m)


def _width(output: Points) -> int:
    return max(output.columns) + 1


def shaped(values: Any, size: tuple[int, ...], where: str) -> FloatArray:
    """``values`` without leading axes of length 1, or an error unless it is of ``size`` (the last: at least)."""
    array = np.asarray(values, np.float64)
    trimmed = array
    while trimmed.ndim > len(size) and trimmed.shape[0] == 1:
        trimmed = trimmed[0]
    if trimmed.ndim != len(size) or trimmed.shape[:-1] != size[:-1] or trimmed.shape[-1] < size[-1]:
        wanted = ", ".join(["1", *map(str, size[:-1]), f"{size[-1]} or more"])
        raise BadInput(f"{where}: expected shape ({wanted}), found {array.shape}")
    return trimmed
