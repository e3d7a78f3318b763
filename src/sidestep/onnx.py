"""ONNX Runtime, which runs networks without torch: the one place that imports it."""

from __future__ import annotations

import os
from typing import Any

from sidestep.errors import MissingExtra


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
