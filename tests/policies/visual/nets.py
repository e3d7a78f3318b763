"""Small ONNX networks with a given interface, made in the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sidestep.policies.visual.inputs import declared_inputs
from sidestep.policies.visual.spec import ClassOutput, DiffusionOutput, VisualSpec, WaypointOutput

TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "uint8": TensorProto.UINT8,
    "int64": TensorProto.INT64,
    "string": TensorProto.STRING,
}

Shapes = dict[str, tuple[tuple[Any, ...], str]]


def write_net(path: Path, inputs: Shapes, outputs: dict[str, Any], gain: dict[str, float] | None = None) -> str:
    """A network whose outputs are constants plus, for the inputs named in ``gain``, gain · mean of the input."""
    nodes, initial = [], []
    terms = []
    for name, weight in (gain or {}).items():
        initial.append(numpy_helper.from_array(np.float32(weight), f"{name}_gain"))
        source = name
        if inputs[name][1] != "float32":
            nodes.append(helper.make_node("Cast", [name], [f"{name}_float"], to=TensorProto.FLOAT))
            source = f"{name}_float"
        nodes.append(helper.make_node("ReduceMean", [source], [f"{name}_mean"], keepdims=0))
        nodes.append(helper.make_node("Mul", [f"{name}_mean", f"{name}_gain"], [f"{name}_term"]))
        terms.append(f"{name}_term")
    for name, value in outputs.items():
        array = np.asarray(value, np.float32)
        initial.append(numpy_helper.from_array(array, f"{name}_constant"))
        last = f"{name}_constant"
        for number, term in enumerate(terms):
            nodes.append(helper.make_node("Add", [last, term], [f"{name}_{number}"]))
            last = f"{name}_{number}"
        nodes.append(helper.make_node("Identity", [last], [name]))
    save(path, nodes, inputs, {name: np.asarray(value).shape for name, value in outputs.items()}, initial)
    return str(path)


def save(path: Path, nodes: list[Any], inputs: Shapes, outputs: dict[str, tuple[Any, ...]], initial: list[Any]) -> None:
    """The graph as a file."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, TYPES[dtype], shape) for name, (shape, dtype) in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initial,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def straight_ahead(count: int, step: float, width: int = 2) -> np.ndarray:
    """(1, count, width): points straight ahead, ``step`` apart."""
    points = np.zeros((1, count, width), np.float32)
    points[0, :, 0] = step * np.arange(1, count + 1)
    return points


def net_for(spec: VisualSpec, folder: Path) -> dict[str, str]:
    """Files with the interface of ``spec``, as settings; whatever they see, they want to go straight ahead."""
    output = spec.output
    inputs = declared_inputs(spec)
    file = folder / f"{spec.name}.onnx"
    ahead = 1 if output.axes == "right_ahead" else 0
    if isinstance(output, DiffusionOutput):
        write_net(folder / "encoder.onnx", inputs, {"obsgoal_cond": np.zeros((1, 16))})
        loop: Shapes = {
            "sample": ((None, output.points, 2), "float32"),
            "timestep": ((1,), "int64"),
            "global_cond": ((None, 16), "float32"),
        }
        zero = numpy_helper.from_array(np.float32(0.0), "zero")
        nodes = [helper.make_node("Mul", ["sample", "zero"], ["noise_pred"])]
        save(file, nodes, loop, {"noise_pred": (None, output.points, 2)}, [zero])
        return {"file": str(file), "encoder_file": str(folder / "encoder.onnx")}
    points = straight_ahead(output.points, 0.5, 4)
    if ahead:
        points[..., [0, 1]] = points[..., [1, 0]]
    if isinstance(output, WaypointOutput):
        write_net(file, inputs, {output.output: points})
    else:
        assert isinstance(output, ClassOutput)
        assert output.output is not None
        trajectories = np.stack([points[0] * 0.0, points[0], -points[0]])[None]
        write_net(file, inputs, {output.scores: np.array([[0.1, 0.7, 0.2]]), output.output: trajectories})
    return {"file": str(file)}
