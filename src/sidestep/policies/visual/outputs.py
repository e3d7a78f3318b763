"""What a network says, in metres in the robot's frame (x ahead, y left), and trajectories out of noise, by asking a
network several times. DDPM (Ho, Jain, Abbeel 2020) with the squared cosine schedule (Nichol, Dhariwal 2021), as
diffusion policies use it: ``ᾱ(u) = cos²((u + 0.008) / 1.008 · π/2)``, ``β_t = min(1 − ᾱ((t+1)/T) / ᾱ(t/T),
0.999)``; ``x₀ = (x_t − sqrt(1 − ᾱ_t) ε) / sqrt(ᾱ_t)``, clipped; ``x_{t−1} = (sqrt(ᾱ_{t−1}) β_t x₀ + sqrt(α_t) (1 −
ᾱ_{t−1}) x_t) / (1 − ᾱ_t) + σ_t z``, ``σ_t² = β_t (1 − ᾱ_{t−1}) / (1 − ᾱ_t)``, nothing added in the last step. Flow
matching: ``x ← x + v(x, k/T) / T`` for k = 0 … T−1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi
from typing import Any

import numpy as np

from sidestep._util.exact import cos
from sidestep.errors import BadInput
from sidestep.policies.visual.spec import (
    ClassOutput,
    DiffusionOutput,
    Points,
    VelocityOutput,
    WaypointOutput,
    from_axes,
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
    return from_axes(points * unit_m, spec.axes)


def read_points(
    output: WaypointOutput | ClassOutput, outputs: Mapping[str, Any], unit_m: float, where: str
) -> FloatArray:
    """The trajectory that the network has chosen, (K, 2)."""
    if isinstance(output, WaypointOutput):
        numbers = without_batch_axes(
            outputs[output.output], (output.points, _width(output)), f"{where}: output {output.output!r}"
        )
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
    numbers = without_batch_axes(outputs[output.output], size, f"{where}: output {output.output!r}")
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


def without_batch_axes(values: Any, size: tuple[int, ...], where: str) -> FloatArray:
    """``values`` without leading axes of length 1, or an error unless it is of ``size`` (the last: at least)."""
    array = np.asarray(values, np.float64)
    trimmed = array
    while trimmed.ndim > len(size) and trimmed.shape[0] == 1:
        trimmed = trimmed[0]
    if trimmed.ndim != len(size) or trimmed.shape[:-1] != size[:-1] or trimmed.shape[-1] < size[-1]:
        wanted = ", ".join(["1", *map(str, size[:-1]), f"{size[-1]} or more"])
        raise BadInput(f"{where}: expected shape ({wanted}), found {array.shape}")
    return trimmed


MOST_BETA = 0.999
LEAST_VARIANCE = 1e-20

Predict = Callable[[FloatArray, float], FloatArray]
"""What the network says of a noisy sample (N, K, 2) at a step (DDPM) or a time in [0, 1) (flow)."""


def squared_cosine_betas(steps: int) -> FloatArray:
    """β of each step, (steps,), first the one with the least noise."""

    def kept(u: float) -> float:
        root: float = cos((u + 0.008) / 1.008 * pi / 2)
        return root * root

    return np.array([min(1.0 - kept((t + 1) / steps) / kept(t / steps), MOST_BETA) for t in range(steps)])


def denoised(noise: FloatArray, predict: Predict, spec: DiffusionOutput, rng: np.random.Generator) -> FloatArray:
    """(N, K, 2): what becomes of ``noise``."""
    if spec.predicts == "velocity":
        return _flowed(noise, predict, spec.steps)
    betas = squared_cosine_betas(spec.steps)
    kept = np.cumprod(1.0 - betas)
    x = noise
    for t in range(spec.steps - 1, -1, -1):
        before = float(kept[t - 1]) if t > 0 else 1.0
        answer = predict(x, float(t))
        x0 = answer if spec.predicts == "sample" else (x - np.sqrt(1.0 - kept[t]) * answer) / np.sqrt(kept[t])
        if spec.clip is not None:
            x0 = np.clip(x0, -spec.clip, spec.clip)
        mean = (np.sqrt(before) * betas[t] * x0 + np.sqrt(1.0 - betas[t]) * (1.0 - before) * x) / (1.0 - kept[t])
        if t > 0:
            variance = max(float(betas[t] * (1.0 - before) / (1.0 - kept[t])), LEAST_VARIANCE)
            mean = mean + np.sqrt(variance) * rng.standard_normal(x.shape)
        x = mean
    return x


def _flowed(noise: FloatArray, predict: Predict, steps: int) -> FloatArray:
    x = noise
    for k in range(steps):
        x = x + predict(x, k / steps) / steps
    return x
