"""Runs the network or networks of an interface on named inputs, and finds out before anything runs whether a file has
the interface that it is said to have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.errors import BadInput, did_you_mean
from sidestep.policies.visual.inputs import TEXT, declared_inputs
from sidestep.policies.visual.model_files import Network, TensorInfo
from sidestep.policies.visual.outputs import (
    denoised,
    read_points,
    read_sample,
    read_velocity,
    wanted_outputs,
    without_batch_axes,
)
from sidestep.policies.visual.spec import DiffusionOutput, State, VelocityOutput, VisualSpec
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
        outputs = network.run({name: feeds[self.spec_name(name)] for name in network.inputs})
        return {self.spec_name(name): value for name, value in outputs.items()}

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
            found = self._run(self.main, feeds)[output.output]
            return without_batch_axes(found, size, f"{self.main.file}: output {output.output!r}")[..., :2]

        return denoised(rng.standard_normal(size), predict, output, rng)


def timestep(output: DiffusionOutput, step: float) -> Any:
    """The tensor of the step."""
    shape = {"scalar": (), "one": (1,), "samples": (output.samples,)}[output.timestep_shape]
    return np.full(shape, step, output.timestep_dtype)


Declared = dict[str, tuple[tuple[int, ...], str]]

_checked: set[tuple[str, ...]] = set()


def check_interface(runner: Runner) -> None:
    """Raise ``BadInput`` that names file, input or output, what was expected and what was found.

    Names, ranks, fixed lengths and dtypes are compared; then the network is run once on zeros, as files may leave
    lengths open. What has passed once is not tried again.
    """
    spec, encoder = runner.spec, runner.encoder
    if spec.encoder is not None and encoder is None:
        raise BadInput(f"interface {spec.name!r} has an encoder in a file of its own; name it with encoder_file")
    if spec.encoder is None and encoder is not None:
        raise BadInput(f"interface {spec.name!r} has no encoder; leave encoder_file out")
    declared = declared_inputs(spec)
    for_main = declared | _loop_inputs(runner)
    _check_names(runner, set(for_main))
    networks = [(runner.main, for_main)] if encoder is None else [(encoder, declared), (runner.main, for_main)]
    fed = set(spec.encoder.feeds.values()) if spec.encoder is not None else set()
    for network, known in networks:
        _check_inputs(runner, network, known, fed if network is runner.main else set())
    used = {runner.spec_name(name) for network, _ in networks for name in network.inputs}
    for name in for_main:
        if name not in used:
            files = " and ".join(network.file for network, _ in networks)
            raise _missing(files, "input", runner.file_name(name), f"interface {spec.name!r} feeds", used)
    _check_outputs(runner)
    _try_once(runner, declared)


_RENAME = "; if it only has another name, set names={name in the interface: name in the file}"


def _missing(file: str, kind: str, name: str, use: str, known: Iterable[str]) -> BadInput:
    return BadInput(f"{file}: no {kind} {name!r}, which {use}{did_you_mean(name, known)}{_RENAME}")


def _check_names(runner: Runner, inputs: set[str]) -> None:
    spec = runner.spec
    known = inputs | set(wanted_outputs(spec.output))
    known |= {each.output for each in spec.extra.values() if isinstance(each, State)}
    if spec.encoder is not None:
        known |= {name for pair in spec.encoder.feeds.items() for name in pair}
    for name in runner.renamed:
        if name not in known:
            raise BadInput(f"names: interface {spec.name!r} has nothing called {name!r}{did_you_mean(name, known)}")


def _loop_inputs(runner: Runner) -> Declared:
    output = runner.spec.output
    if not isinstance(output, DiffusionOutput):
        return {}
    info = runner.main.inputs.get(runner.file_name(output.sample), TensorInfo())
    return {
        output.sample: ((output.samples, output.points, 2), info.dtype or "float32"),
        output.timestep: (timestep(output, 0.0).shape, output.timestep_dtype),
    }


def _check_inputs(runner: Runner, network: Network, known: Declared, fed: set[str]) -> None:
    for name, info in network.inputs.items():
        ours = runner.spec_name(name)
        if ours in fed:
            continue
        if ours not in known:
            raise BadInput(
                f"{network.file}: the network wants an input {name!r} {info}, which interface {runner.spec.name!r} "
                f"does not feed{did_you_mean(name, known)}{_RENAME}"
            )
        shape, dtype = known[ours]
        _compare(f"{network.file}: input {name!r}", shape, dtype, info)


def _compare(where: str, shape: tuple[int, ...], dtype: str, info: TensorInfo) -> None:
    both = f": expected {TensorInfo(shape, dtype)}, found {info}"
    if info.dtype is not None and info.dtype != dtype:
        raise BadInput(f"{where}: dtype {dtype} in the interface, {info.dtype} in the network{both}")
    if info.shape is None:
        return
    if len(shape) != len(info.shape):
        raise BadInput(f"{where}: {len(shape)} dimensions in the interface, {len(info.shape)} in the network{both}")
    for axis, (ours, theirs) in enumerate(zip(shape, info.shape, strict=True)):
        if theirs is not None and ours != theirs:
            raise BadInput(f"{where}: length {ours} along axis {axis} in the interface, {theirs} in the network{both}")


def _check_outputs(runner: Runner) -> None:
    spec = runner.spec
    of_main = {runner.spec_name(name) for name in runner.main.outputs}
    of_encoder = set() if runner.encoder is None else {runner.spec_name(name) for name in runner.encoder.outputs}
    wanted: list[tuple[str, set[str], Network]] = [(name, of_main, runner.main) for name in wanted_outputs(spec.output)]
    wanted += [
        (each.output, of_main | of_encoder, runner.main) for each in spec.extra.values() if isinstance(each, State)
    ]
    if spec.encoder is not None and runner.encoder is not None:
        wanted += [(name, of_encoder, runner.encoder) for name in spec.encoder.feeds]
        for name in spec.encoder.feeds.values():
            if runner.file_name(name) not in runner.main.inputs:
                raise _missing(
                    runner.main.file, "input", runner.file_name(name), "the encoder feeds", runner.main.inputs
                )
    for name, known, network in wanted:
        if name not in known:
            raise _missing(network.file, "output", runner.file_name(name), f"interface {spec.name!r} reads", known)


def _try_once(runner: Runner, declared: Declared) -> None:
    spec, encoder = runner.spec, runner.encoder
    names = tuple(runner.file_name(name) for name in sorted(declared))
    key = (runner.main.sha256, "" if encoder is None else encoder.sha256, spec.model_dump_json(), *names)
    if key in _checked:
        return
    zeros: dict[str, Any] = {
        name: np.array([spec.goal.text], object) if dtype == TEXT else np.zeros(shape, dtype)
        for name, (shape, dtype) in declared.items()
    }
    try:
        outputs = runner.decide(zeros, np.random.default_rng(0), 1.0).outputs
    except BadInput:
        raise
    except Exception as error:  # whatever the runtime raises: the file and the interface do not fit
        line = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise BadInput(f"{runner.main.file}: does not run with the inputs of interface {spec.name!r}: {line}") from None
    for name, extra in spec.extra.items():
        if isinstance(extra, State):
            size = int(np.prod(extra.shape[2:] if extra.shift else extra.shape))
            found = np.asarray(outputs[extra.output])
            if found.size != size:
                raise BadInput(
                    f"{runner.main.file}: output {extra.output!r} has shape {found.shape}; state {name!r} takes {size} "
                    "numbers from it"
                )
    _checked.add(key)
