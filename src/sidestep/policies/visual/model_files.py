"""Files of a model: its declared interface, bundled by name or a user's own YAML file, and its network, an ONNX or
TorchScript file, as something that can be called.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sidestep._util.onnx import Device, open_network, refuse_torch
from sidestep._util.reading import parse_mapping, read_mapping
from sidestep.errors import BadInput, MissingExtra, UnknownName
from sidestep.policies.visual.spec import VisualSpec


@cache
def model_names() -> tuple[str, ...]:
    """Names of the bundled interfaces, in alphabetical order."""
    folder = resources.files(__package__) / "models"
    return tuple(sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")))


@cache
def _bundled(name: str) -> VisualSpec:
    text = (resources.files(__package__) / "models" / f"{name}.yaml").read_text(encoding="utf-8")
    return VisualSpec.parse(parse_mapping(text, f"visual model {name}"), where=f"visual model {name}")


def load_spec(reference: str) -> VisualSpec:
    """The interface called ``reference``: a bundled name, or the path of a YAML file. Networks that the YAML file names
    are looked for in the working folder, then beside it."""
    if not reference.lower().endswith((".yaml", ".yml")):
        if reference not in model_names():
            raise UnknownName("visual model", reference, model_names())
        return _bundled(reference)
    path = Path(reference)
    data = read_mapping(path, "model interface", "keys such as image, goal and output")
    spec = VisualSpec.parse({"name": path.stem, **data}, where=str(path))
    named = {"file": spec.file, "encoder_file": spec.encoder_file}
    beside = {key: path.parent / file for key, file in named.items() if file is not None and not Path(file).exists()}
    return spec.model_copy(update={key: str(file) for key, file in beside.items() if file.exists()})


def model_rows() -> list[dict[str, Any]]:
    """Name, goal, picture, rate and number of pictures of each bundled interface, for tables."""
    return [
        {
            "name": spec.name,
            "goal": spec.goal.kind,
            "picture": f"{spec.image.width}x{spec.image.height}",
            "rate_hz": spec.image.rate_hz,
            "frames": spec.image.history.frames,
            "summary": spec.summary,
        }
        for spec in map(_bundled, model_names())
    ]


_ONNX_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
    "tensor(string)": "string",
}


@dataclass(frozen=True)
class TensorInfo:
    """What a network says of an input or output. None: it does not say."""

    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return "unknown shape"
        return f"({', '.join('?' if n is None else str(n) for n in self.shape)}) {self.dtype or ''}".strip()


class Network(Protocol):
    """A network that can be run."""

    file: str
    sha256: str
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All outputs by name."""


def load_network(file: str, format_name: str, returns: tuple[str, ...], threads: int, device: Device) -> Network:
    """The network in ``file``; a file that has not changed since the last call is not loaded again."""
    path = Path(file).expanduser()
    try:
        status = path.stat()
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise BadInput(f"{file}: the network cannot be read: {error.strerror or error}") from None
    if format_name == "onnx":
        refuse_torch(head, file, "format=torchscript")
    if format_name == "torchscript" and head[:2] != b"PK":
        raise BadInput(f"{file}: is not a TorchScript archive (torch.jit.save writes one)")
    key = (str(path.resolve()), status.st_mtime_ns, status.st_size)
    return _load(format_name, file, *key, returns if format_name == "torchscript" else (), threads, device)


def _hash(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class OnnxNetwork:
    """An ONNX file in ONNX Runtime."""

    def __init__(self, file: str, path: str, threads: int, device: Device) -> None:
        self._session = open_network(path, file, threads, device)
        self.file, self.sha256 = file, _hash(path)
        self.inputs = {each.name: _onnx_info(each) for each in self._session.get_inputs()}
        self.outputs = {each.name: _onnx_info(each) for each in self._session.get_outputs()}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All outputs by name."""
        return dict(zip(self.outputs, self._session.run(None, dict(inputs)), strict=True))


def _onnx_info(argument: Any) -> TensorInfo:
    shape = tuple(n if isinstance(n, int) else None for n in argument.shape)
    return TensorInfo(shape, _ONNX_TYPES.get(argument.type, argument.type))


class TorchScriptNetwork:
    """A TorchScript archive. Loading one can run code that is in it: only when the user asks for the format."""

    def __init__(self, file: str, path: str, returns: tuple[str, ...], threads: int, device: Device) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtra("running a TorchScript network", "learn") from None
        self._torch, self._device = torch, device
        torch.set_num_threads(threads)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                module: Any = torch.jit.load(path, map_location=device)  # type: ignore[no-untyped-call]
                self._module = module.eval()
        except (RuntimeError, ValueError) as error:
            raise BadInput(f"{file}: PyTorch cannot load it as TorchScript: {_first_line(error)}") from None
        arguments = self._module.forward.schema.arguments[1:]
        self.file, self.sha256 = file, _hash(path)
        self.inputs = {argument.name: TensorInfo() for argument in arguments}
        self._returns = returns or ("output",)
        self.outputs = dict.fromkeys(self._returns, TensorInfo())

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All outputs by name: by key from a dict, else in the order of ``returns``."""
        torch = self._torch
        tensors = [torch.from_numpy(np.asarray(inputs[name])).to(self._device) for name in self.inputs]
        with torch.inference_mode():
            said = self._module(*tensors)
        if isinstance(said, dict):
            return {name: value.cpu().numpy() for name, value in said.items()}
        values = said if isinstance(said, tuple | list) else (said,)
        if len(values) != len(self._returns):
            raise BadInput(
                f"{self.file}: returns {len(values)} tensors; the interface's `returns` names {len(self._returns)}"
            )
        return {name: value.cpu().numpy() for name, value in zip(self._returns, values, strict=True)}


@lru_cache(maxsize=4)
def _load(
    format_name: str, file: str, path: str, changed: int, size: int, returns: tuple[str, ...], threads: int,
    device: Device,
) -> Network:  # fmt: skip
    if format_name == "onnx":
        return OnnxNetwork(file, path, threads, device)
    return TorchScriptNetwork(file, path, returns, threads, device)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).partition("\n")[0]
