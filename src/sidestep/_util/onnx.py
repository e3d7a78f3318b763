"""ONNX Runtime, which runs networks without torch: the one place that imports it."""

from __future__ import annotations

import os
from typing import Any, Literal

from sidestep.errors import BadInput, MissingExtra


def import_onnx_runtime() -> Any:
    """ONNX Runtime, told beforehand not to report to its maker: its wheels do so from their import on, with a number
    that they keep in the user's cache folder. Whoever has set the variable has decided otherwise."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("running an ONNX network", "onnx") from None
    if os.environ["ORT_DISABLE_TELEMETRY"] == "1" and hasattr(onnxruntime, "disable_telemetry_events"):
        onnxruntime.disable_telemetry_events()  # on Windows the variable alone is not enough
    return onnxruntime


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
