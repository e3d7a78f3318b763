"""The one place that opens networks."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sidestep._util.onnx import open_network
from sidestep.errors import BadInput
from tests.needs import reason_missing

pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))
BUNDLED = resources.files("sidestep.policies.ilqr") / "waypoints_v1.onnx"


def test_bytes_and_files_give_the_same_answers(tmp_path: Path) -> None:
    file = tmp_path / "network.onnx"
    file.write_bytes(BUNDLED.read_bytes())
    inputs = {"picture": np.zeros((1, 5, 64, 64), np.int8), "motion": np.zeros((1, 4), np.float32)}
    first, second = (
        open_network(network, "network", threads).run(["waypoints"], inputs)[0]
        for network, threads in ((BUNDLED.read_bytes(), 1), (str(file), 2))
    )
    assert first.shape == (1, 3, 2)
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize("network", [b"", b"nothing"])
def test_what_is_no_network_is_refused_with_its_place_on_one_line(network: bytes) -> None:
    with pytest.raises(BadInput, match=r"^here: not a network that onnxruntime can load: .+") as refused:
        open_network(network, "here")
    assert "\n" not in str(refused.value)


def test_a_device_that_is_not_there_is_named() -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("only without a CUDA device")
    with pytest.raises(BadInput, match="device=cuda: this ONNX Runtime has no CUDAExecutionProvider"):
        open_network(BUNDLED.read_bytes(), "network", device="cuda")
