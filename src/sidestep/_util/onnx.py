"""Files of networks: written by PyTorch as ONNX, and run without it by ONNX Runtime, which only this module imports."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sidestep._util.writing import atomic
from sidestep.errors import BadInput, MissingExtra


def import_onnx_runtime() -> Any:
    """ONNX Runtime with its telemetry disabled: its wheels send usage reports from their import on, with a number that
    they store in the user's cache folder. A variable that is already set stays as it is."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("running an ONNX network", "onnx") from None
    if os.environ["ORT_DISABLE_TELEMETRY"] == "1" and hasattr(onnxruntime, "disable_telemetry_events"):
        onnxruntime.disable_telemetry_events()  # on Windows the variable alone is not enough
    return onnxruntime


def is_torch(head: bytes) -> bool:
    """Whether a file that begins so is PyTorch's: an archive, or pickled weights."""
    return head[:2] == b"PK" or head[:1] == b"\x80"


def refuse_torch(head: bytes, where: str, setting: str) -> None:
    """``BadInput`` for a PyTorch file that is given as ONNX; ``setting`` says how to ask for TorchScript."""
    if is_torch(head):
        raise BadInput(
            f"{where}: is a PyTorch file, not ONNX. Export it to ONNX. If it is a TorchScript archive and you trust "
            f"where it comes from (it can hold code), set {setting}. Pickled weights are not read"
        )


def read_network(file: str, remedy: str) -> tuple[bytes, str]:
    """Content and path of a network's file; ``BadInput`` with the ``remedy`` if there is none."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadInput(f"{path}: no such file; {remedy}")
    return path.read_bytes(), str(path)


Device = Literal["cpu", "cuda"]
PROVIDERS: dict[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def open_network(network: bytes | str, where: str, threads: int = 1, device: Device = "cpu") -> Any:
    """A session of ONNX Runtime for a network, given as its bytes or as the path of its file; ``BadInput``, which
    begins with ``where``, if it cannot be loaded."""
    onnxruntime = import_onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    provider = PROVIDERS[device]
    if provider not in onnxruntime.get_available_providers():
        raise BadInput(f"device={device}: this ONNX Runtime has no {provider}; install one that has it")
    try:
        return onnxruntime.InferenceSession(network, options, providers=[provider])
    except Exception as error:  # ONNX Runtime has no common base class for its errors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"{where}: not a network that onnxruntime can load: {reason:.200}") from None


def export_network(
    network: Any,
    examples: Sequence[Any],
    path: Path,
    inputs: Sequence[str],
    outputs: Sequence[str],
    axes: Mapping[str, Mapping[int, str]],
    about: Mapping[str, str],
) -> None:
    """Write a PyTorch network as ONNX, with ``about`` in its metadata. ``examples``: tensors for its ``inputs``;
    ``axes``: name of an input or output → the axes of any length, by name."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtra("export to ONNX", "learn") from error
    import torch

    with atomic(path) as whole:
        torch.onnx.export(
            network.eval(), tuple(examples), str(whole), input_names=list(inputs), output_names=list(outputs),
            dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip
        model = onnx.load(str(whole))
        for key, text in about.items():
            entry = model.metadata_props.add()
            entry.key, entry.value = key, text
        onnx.save(model, str(whole))
