"""Trajectories out of noise, by asking a network several times.

DDPM (Ho, Jain, Abbeel 2020) with the squared cosine schedule (Nichol, Dhariwal 2021), as diffusion policies use it:

* ``ᾱ(u) = cos²((u + 0.008) / 1.008 · π/2)``, ``β_t = min(1 − ᾱ((t+1)/T) / ᾱ(t/T), 0.999)``;
* ``x₀ = (x_t − sqrt(1 − ᾱ_t) ε) / sqrt(ᾱ_t)``, clipped;
* ``x_{t−1} = (sqrt(ᾱ_{t−1}) β_t x₀ + sqrt(α_t) (1 − ᾱ_{t−1}) x_t) / (1 − ᾱ_t) + σ_t z``,
  ``σ_t² = β_t (1 − ᾱ_{t−1}) / (1 − ᾱ_t)``, nothing added in the last step.

Flow matching: ``x ← x + v(x, k/T) / T`` for k = 0 … T−1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np

from sidestep.exact import cos
from sidestep.policies.visual.spec import DiffusionOutput
from sidestep.types.base import FloatArray

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
        said = predict(x, float(t))
        x0 = said if spec.predicts == "sample" else (x - np.sqrt(1.0 - kept[t]) * said) / np.sqrt(kept[t])
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
