"""One decision of a network, an encoder before it and a denoising loop round it if there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.policies.visual.decode import read_points, read_sample, read_velocity, shaped
from sidestep.policies.visual.diffusion import denoised
from sidestep.policies.visual.network import Network
from sidestep.policies.visual.spec import DiffusionOutput, VelocityOutput, VisualSpec
from sidestep.types.base import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What the network wants: points to pass (K, 2) in the robot's frame (m), or speed (m/s) and turn rate (rad/s)."""

    points: FloatArray | None
    velocity: tuple[float, float] | None
    outputs: dict[str, Any]


class Runner:
    """The networks of one interface. ``names`` maps names of the interface to those in the files."""

    def __init__(self, spec: VisualSpec, main: Network, encoder: Network | None, names: Mapping[str, str]) -> None:
        self.spec, self.main, self.encoder = spec, main, encoder
        self._to_file = dict(names)
        self._to_spec = {theirs: ours for ours, theirs in names.items()}

    @property
    def renamed(self) -> tuple[str, ...]:
        """Names of the interface that the files have otherwise."""
        return tuple(self._to_file)

    def spec_name(self, name: str) -> str:
        """What the interface calls an input or output of a file."""
        return self._to_spec.get(name, name)

    def file_name(self, name: str) -> str:
        """What the file calls an input or output of the interface."""
        return self._to_file.get(name, name)

    def decide(self, inputs: Mapping[str, Any], rng: np.random.Generator, unit_m: float) -> Decision:
        """Run everything once. ``unit_m``: metres that the output's number 1 stands for."""
        spec, where = self.spec, self.main.file
        outputs: dict[str, Any] = {}
        feeds = dict(inputs)
        if self.encoder is not None and spec.encoder is not None:
            outputs |= self._run(self.encoder, feeds)
            feeds |= {theirs: outputs[ours] for ours, theirs in spec.encoder.feeds.items()}
        if isinstance(spec.output, DiffusionOutput):
            points = read_sample(self._denoise(spec.output, feeds, rng), spec.output, unit_m)
            return Decision(points, None, outputs)
        outputs |= self._run(self.main, feeds)
        if isinstance(spec.output, VelocityOutput):
            return Decision(None, read_velocity(spec.output, outputs, where), outputs)
        return Decision(read_points(spec.output, outputs, unit_m, where), None, outputs)

    def _run(self, network: Network, feeds: Mapping[str, Any]) -> dict[str, Any]:
        said = network.run({name: feeds[self.spec_name(name)] for name in network.inputs})
        return {self.spec_name(name): value for name, value in said.items()}

    def _denoise(self, output: DiffusionOutput, feeds: dict[str, Any], rng: np.random.Generator) -> FloatArray:
        """(samples, points, 2)."""
        info = self.main.inputs[self.file_name(output.sample)]
        dtype = info.dtype or "float32"
        size = (output.samples, output.points, 2)
        if self.spec.encoder is not None:
            for name in self.spec.encoder.feeds.values():
                feeds[name] = np.repeat(feeds[name], output.samples, axis=0)

        def predict(sample: FloatArray, step: float) -> FloatArray:
            feeds[output.sample] = sample.astype(dtype)
            feeds[output.timestep] = timestep(output, step)
            said = self._run(self.main, feeds)[output.output]
            return shaped(said, size, f"{self.main.file}: output {output.output!r}")[..., :2]

        return denoised(rng.standard_normal(size), predict, output, rng)


def timestep(output: DiffusionOutput, step: float) -> Any:
    """The tensor that tells the step."""
    shape = {"scalar": (), "one": (1,), "samples": (output.samples,)}[output.timestep_shape]
    return np.full(shape, step, output.timestep_dtype)
