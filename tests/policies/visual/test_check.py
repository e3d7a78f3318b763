"""A file that does not have the interface that it is said to have is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))
pytest.importorskip("onnx", reason=reason_missing("onnx"))

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.visual import VisualPolicy, runner
from sidestep.policies.visual.model_files import load_spec
from tests.policies.visual.nets import Shapes, net_for, save, straight_ahead, write_net

INPUTS: Shapes = {"obs_img": ((1, 18, 64, 85), "float32"), "goal_img": ((1, 3, 64, 85), "float32")}


def vint(path: Path, outputs: dict[str, Any] | None = None, **changes: Any) -> str:
    inputs = {name: shape for name, shape in (INPUTS | changes).items() if shape is not None}
    return write_net(path / "net.onnx", inputs, outputs or {"action_pred": straight_ahead(5, 1.0, 4)})


def refused(**settings: Any) -> str:
    with pytest.raises(BadInput) as caught:
        VisualPolicy(**settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (((1, 12, 64, 85), "float32"), ["obs_img", "length 18 along axis 1", "12 in the network"]),
        (((1, 6, 3, 64, 85), "float32"), ["obs_img", "4 dimensions", "5 in the network"]),
        (((1, 18, 64, 85), "uint8"), ["obs_img", "dtype float32", "uint8 in the network"]),
    ],
)
def test_wrong_inputs(shape: Any, words: list[str], tmp_path: Path) -> None:
    said = refused(model="vint", file=vint(tmp_path, obs_img=shape))
    for word in ["net.onnx", *words, "expected (1, 18, 64, 85) float32"]:
        assert word in said


def test_inputs_that_are_missing_too_many_or_called_otherwise(tmp_path: Path) -> None:
    assert "no input 'goal_img'" in refused(model="vint", file=vint(tmp_path, goal_img=None))
    more = vint(tmp_path, depth_img=((1, 1), "float32"))
    assert "wants an input 'depth_img' (1, 1) float32" in refused(model="vint", file=more)
    renamed = vint(tmp_path, obs_img=None, observation=INPUTS["obs_img"])
    assert "names={" in refused(model="vint", file=renamed)
    VisualPolicy(model="vint", file=renamed, names={"obs_img": "observation"})
    wrong = refused(model="vint", file=renamed, names={"obs_image": "observation"})
    assert "did you mean 'obs_img'" in wrong


def test_open_lengths_are_tried(tmp_path: Path) -> None:
    policy = VisualPolicy(model="vint", file=vint(tmp_path, obs_img=(("batch", None, None, None), "float32")))
    assert policy._runner.main.sha256 in {tried for tried, *_ in runner._checked}


def test_wrong_outputs(tmp_path: Path) -> None:
    assert "no output 'action_pred'" in refused(model="vint", file=vint(tmp_path, {"actions": np.zeros((1, 5, 4))}))
    few = refused(model="vint", file=vint(tmp_path, {"action_pred": np.zeros((1, 4, 4))}))
    assert "output 'action_pred': expected shape (1, 5, 2 or more), found (1, 4, 4)" in few
    flat = refused(model="vint", file=vint(tmp_path, {"action_pred": np.zeros((1, 20))}))
    assert "found (1, 20)" in flat


def test_a_network_that_cannot_run_on_the_shapes(tmp_path: Path) -> None:
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node("Reshape", ["obs_img", "size"], ["action_pred"]),
        helper.make_node("Identity", ["goal_img"], ["unused"]),
    ]
    size = numpy_helper.from_array(np.array([1, 5, 4], np.int64), "size")
    open_ended: Shapes = dict.fromkeys(INPUTS, ((None,) * 4, "float32"))
    save(tmp_path / "net.onnx", nodes, open_ended, {"action_pred": (1, 5, 4), "unused": (None,) * 4}, [size])
    assert "does not run with the inputs of interface 'vint'" in refused(model="vint", file=str(tmp_path / "net.onnx"))


def test_encoders_come_in_pairs(tmp_path: Path) -> None:
    files = net_for(load_spec("nomad"), tmp_path)
    assert "name it with encoder_file" in refused(model="nomad", file=files["file"])
    assert "has no encoder" in refused(model="vint", file=vint(tmp_path), encoder_file=files["encoder_file"])
    swapped = {"file": files["encoder_file"], "encoder_file": files["file"]}
    assert "does not feed" in refused(model="nomad", **swapped)


def test_files_that_are_not_networks(tmp_path: Path) -> None:
    assert "cannot be read" in refused(model="vint", file=str(tmp_path / "none.onnx"))
    (tmp_path / "text.onnx").write_text("hello")
    assert "not a network that onnxruntime can load" in refused(model="vint", file=str(tmp_path / "text.onnx"))
    (tmp_path / "weights.pth").write_bytes(b"\x80\x02}q\x00.")
    assert "Pickled weights are not read" in refused(model="vint", file=str(tmp_path / "weights.pth"))
    torchscript = refused(model="vint", file=str(tmp_path / "weights.pth"), format="torchscript")
    assert "not a TorchScript archive" in torchscript


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    file = vint(tmp_path)
    assert "name one interface" in refused()
    assert "did you mean 'vint'" in refused(model="vnt", file=file)
    assert "comes without weights" in refused(model="vint")
    assert "picture of the goal" in refused(model="vint", file=file, goal_protocol="true")
    assert "goal mask" in refused(model="vint", file=file, goal_protocol="hidden")
    assert "did you mean 'paper'" in refused(model="vint", file=file, goal_protocol="papers")
    assert "takes no instruction" in refused(model="vint", file=file, text="left")
    assert "controller" in refused(model="vint", file=file, controller="pid")
    with pytest.raises(BadInput, match="does not take these settings"):
        registry.make_policy("visual", {"modell": "vint"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": {"width": 8, "height": 8, "rate": 5}}, "did you mean 'rate_hz'"),
        ({"image": {"width": 8, "height": 8, "rate_hz": 5, "mean": [0, 0]}}, "one per channel"),
        ({"image": {"width": 8, "height": 8, "rate_hz": 5, "crop": [9, 8]}}, "larger than the camera"),
        ({"output": {"kind": "waypoints", "points": 3, "track": 3}}, "0 to 2"),
        ({"output": {"kind": "waypoint", "points": 3}}, "waypoint"),
        ({"output": {"kind": "classes", "points": 1}}, "either an output that holds the trajectories or anchors"),
        ({"output": {"kind": "classes", "points": 2, "anchors": [[[1, 0]]]}}, "must have 2 points"),
        ({"goal": {"kind": "point"}}, "needs the name of its input"),
        ({"goal": {"kind": "image"}}, "needs the name of its input"),
        ({"extra": {"a": {"kind": "constant", "value": [1, 2], "shape": [3]}}}, "does not make a tensor"),
        ({"extra": {"a": {"kind": "noise", "shpe": [3]}}}, "did you mean 'shape'"),
    ],
)
def test_bad_interfaces(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    good = {"image": {"width": 8, "height": 8, "rate_hz": 5}, "output": {"kind": "waypoints", "points": 3}}
    assert words in refused(spec=good | change, file="unread.onnx")


def test_an_interface_in_a_file_of_its_own(tmp_path: Path) -> None:
    import yaml

    own = tmp_path / "own.yaml"
    net = write_net(tmp_path / "n.onnx", {"image": ((1, 3, 8, 8), "float32")}, {"waypoints": straight_ahead(3, 1.0)})
    document = {"image": {"width": 8, "height": 8, "rate_hz": 5}, "output": {"kind": "waypoints", "points": 3}}
    own.write_text(yaml.safe_dump(document | {"file": net}))
    assert VisualPolicy(spec=str(own)).settings["interface"] == "own"
    own.write_text("image: [")
    assert "not valid YAML" in refused(spec=str(own))
    own.write_text("- a")
    assert "expected keys such as" in refused(spec=str(own))
    assert "no such model interface" in refused(spec=str(tmp_path / "no.yaml"))
