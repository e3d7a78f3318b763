"""The nine published interfaces: each is read, fits a network of its shape, and makes one decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))
pytest.importorskip("onnx", reason=reason_missing("onnx"))

from sidestep.interfaces import Policy
from sidestep.policies.visual import VisualPolicy
from sidestep.policies.visual.model_files import load_spec, model_names, model_rows
from sidestep.simulation.robots import load_robot
from sidestep.types import Observation, RobotState, Task, Velocity, Waypoints
from tests.policies.visual.nets import net_for

# Table 1 of SidewalkBench: goal, width, height, frames per second
TABLE = {
    "vint": ("image", 85, 64, 4),
    "nomad": ("image", 96, 96, 4),
    "mbra": ("point", 96, 96, 5),
    "internvla_n1": ("language", 384, 384, 5),
    "mimic": ("point", 256, 256, 5),
    "s2e": ("point", 256, 256, 5),
    "citywalker": ("point", 630, 350, 5),
    "flowpilot": ("none", 512, 288, 20),
    "openpilot": ("none", 352, 128, 20),
}


def task(seed: int = 1) -> Task:
    return Task(load_robot("delivery_robot"), (0.0, 0.0, 0.0), 0.05, 60.0, 0.5, goal=(30.0, 0.0), seed=seed)


def look(policy: VisualPolicy, time: float = 0.0, x: float = 0.0, grey: int = 128, **more: Any) -> Observation:
    camera = policy.camera
    rgb = np.full((camera["height"], camera["width"], 3), grey, np.uint8)
    return Observation(time, RobotState(x, 0.0, 0.0, 1.0, 0.0, 0.0), rgb=rgb, **more)


def test_all_nine_are_there_and_say_where_they_come_from() -> None:
    assert set(model_names()) == set(TABLE)
    for row in model_rows():
        width, height = TABLE[row["name"]][1:3]
        assert (row["goal"], row["picture"], row["rate_hz"]) == (
            TABLE[row["name"]][0],
            f"{width}x{height}",
            TABLE[row["name"]][3],
        )
        assert load_spec(row["name"]).source
        assert load_spec(row["name"]).notes


@pytest.mark.parametrize("name", sorted(TABLE))
def test_each_interface_makes_a_decision(name: str, tmp_path: Path) -> None:
    spec = load_spec(name)
    policy = VisualPolicy(model=name, **net_for(spec, tmp_path))
    assert isinstance(policy, Policy)
    assert policy.needs == {"rgb"}
    wished = spec.image.wished_camera
    assert (policy.camera["width"], policy.camera["height"]) == (wished.width, wished.height)
    assert policy.camera["rate_hz"] == TABLE[name][3]
    policy.reset(task())
    command = policy.act(look(policy))
    assert isinstance(command, Waypoints)
    if name == "nomad":
        assert command.points.shape == (1, 2)
        assert np.isfinite(command.points).all()
        return
    # 0.5 per point, in the unit of the interface, at 2.5 m/s
    unit = {"vint": 2.5 / 4, "mbra": 2.5 / 5, "citywalker": 2.5}.get(name, 1.0)
    track = spec.output.track
    expected = [0.5 * (track + 1)] if track is not None else [0.5 * k for k in range(1, spec.output.points + 1)]
    assert command.points[:, 0] == pytest.approx(np.array(expected) * unit)
    assert command.points[:, 1] == pytest.approx(0.0)


def test_timed_controller_drives_the_arc_in_time(tmp_path: Path) -> None:
    policy = VisualPolicy(model="vint", controller="timed", **net_for(load_spec("vint"), tmp_path))
    policy.reset(task())
    command = policy.act(look(policy))
    # point 2 is 3 · 0.5 · 2.5 / 4 m ahead and due after 0.75 s
    assert command == Velocity(pytest.approx(1.25), 0.0)


def test_the_record_of_a_run_says_which_weights(tmp_path: Path) -> None:
    policy = VisualPolicy(model="nomad", goal_protocol="hidden", **net_for(load_spec("nomad"), tmp_path))
    assert policy.settings["interface"] == "nomad"
    assert len(policy.settings["sha256"]) == len(policy.settings["encoder_sha256"]) == 64
    assert policy.settings["goal_protocol"] == "hidden"
