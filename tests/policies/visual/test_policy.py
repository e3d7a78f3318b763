"""The policy at work: what it drives, when it asks, and that an episode of it is whole."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))
pytest.importorskip("onnx", reason=reason_missing("onnx"))

from sidestep import registry
from sidestep.cli.run import parse_settings
from sidestep.errors import BadInput
from sidestep.policies.visual import VisualPolicy
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.suites.files import load_suite
from sidestep.types import Observation, Outcome, RobotState, Scenario, Task, Velocity, Waypoints
from tests.policies.visual.nets import straight_ahead, write_net

IMAGE = {"width": 8, "height": 6, "rate_hz": 4}
PICTURE = {"image": ((1, 3, 6, 8), "float32")}


def task(seed: int = 0) -> Task:
    return Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.1, 60.0, 0.5, goal=(9.0, 4.0), seed=seed)


def look(time: float, robot: tuple[float, ...] = (0.0, 0.0, 0.0), grey: int = 0, goal: Any = None) -> Observation:
    return Observation(time, RobotState(*robot, 0.0, 0.0, 0.0), goal, rgb=np.full((6, 8, 3), grey, np.uint8))


def own(path: Path, output: dict[str, Any], outputs: dict[str, Any], **more: Any) -> VisualPolicy:
    settings = {key: more.pop(key) for key in ("goal_protocol", "controller") if key in more}
    inputs, gain = PICTURE | more.pop("inputs", {}), more.pop("gain", None)
    file = write_net(path / "net.onnx", inputs, outputs, gain)
    policy = VisualPolicy(spec={"image": IMAGE, "output": output} | more, file=file, **settings)
    policy.reset(task())
    return policy


def points_of(command: Any) -> Any:
    assert isinstance(command, Waypoints)
    return command.points


def test_waypoints_follow_what_is_seen(tmp_path: Path) -> None:
    """The network adds the mean brightness to every number."""
    policy = own(tmp_path, {"kind": "waypoints", "points": 2}, {"waypoints": [[[1, 0], [2, 0]]]}, gain={"image": 2.0})
    assert points_of(policy.act(look(0.0, grey=51))) == pytest.approx(np.array([[1.4, 0.4], [2.4, 0.4]]))


def test_points_keep_their_place_between_decisions(tmp_path: Path) -> None:
    policy = own(tmp_path, {"kind": "waypoints", "points": 2}, {"waypoints": [[[1, 0], [2, 0]]]}, gain={"image": 2.0})
    policy.act(look(0.0))
    later = points_of(policy.act(look(0.1, (0.25, 0.0, np.pi / 2), grey=255)))  # not asked: 0.25 s are not over
    assert later == pytest.approx(np.array([[0.0, -0.75], [0.0, -1.75]]), abs=1e-9)
    assert len(points_of(policy.act(look(0.2, (1.5, 0.0, 0.0))))) == 1
    fresh = points_of(policy.act(look(0.3, (1.5, 0.0, 0.0), grey=51)))
    assert fresh[0] == pytest.approx([1.4, 0.4])


def test_it_asks_at_its_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = own(tmp_path, {"kind": "waypoints", "points": 2}, {"waypoints": [[[1, 0], [2, 0]]]})
    asked: list[float] = []
    decide = policy._runner.decide
    monkeypatch.setattr(policy._runner, "decide", lambda *args: asked.append(now) or decide(*args))
    for step in range(21):
        now = step * 0.1
        policy.act(look(now))
    assert asked == pytest.approx([0.0, 0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 1.8, 2.0])


def test_it_stands_when_the_points_are_used_up(tmp_path: Path) -> None:
    policy = own(tmp_path, {"kind": "waypoints", "points": 2}, {"waypoints": [[[1, 0], [2, 0]]]})
    policy.act(look(0.0))
    assert policy.act(look(0.1, (2.1, 0.0, 0.0))) == Velocity(0.0, 0.0)


def test_axes_steps_and_units(tmp_path: Path) -> None:
    output = {
        "kind": "waypoints", "points": 2, "columns": [1, 2], "axes": "right_ahead", "deltas": True,
        "length": {"metres": 2, "per": "step"},
    }  # fmt: skip
    policy = own(tmp_path, output, {"waypoints": [[[9, -1, 1], [9, 0, 1]]]})
    # 2 · 1.2 m/s ÷ 4 Hz = 0.6 m; first 1 to the left and ahead, then on ahead
    assert points_of(policy.act(look(0.0))) == pytest.approx(np.array([[0.6, 0.6], [1.2, 0.6]]))


def test_the_best_class_is_driven(tmp_path: Path) -> None:
    anchors = [[[1, 0]], [[0.5, 0.5]], [[0.5, -0.5]]]
    policy = own(tmp_path, {"kind": "classes", "points": 1, "anchors": anchors}, {"scores": [[0.1, 0.2, 0.9]]})
    assert points_of(policy.act(look(0.0))).tolist() == [[0.5, -0.5]]


def test_velocities_are_held(tmp_path: Path) -> None:
    output = {"kind": "velocities", "output": "twist", "speed_mps": 2.0, "turn_rate": -1.0}
    policy = own(tmp_path, output, {"twist": [[0.25, 0.5]]})
    assert policy.act(look(0.0)) == Velocity(0.5, -0.5)
    assert policy.act(look(0.1)) == Velocity(0.5, -0.5)


def test_nothing_is_decided_before_the_first_picture(tmp_path: Path) -> None:
    policy = own(tmp_path, {"kind": "waypoints", "points": 1}, {"waypoints": [[[1, 0]]]})
    assert policy.act(Observation(0.0, RobotState(0, 0, 0, 0, 0, 0))) == Velocity(0.0, 0.0)


POINT_GOAL: dict[str, Any] = {
    "goal": {"kind": "point", "input": "goal"}, "inputs": {"goal": ((1, 2), "float32")}, "gain": {"goal": 1.0},
}  # fmt: skip
"""Of a network that returns the mean of the goal's coordinates."""
MEAN_OF_GOAL = ({"kind": "waypoints", "points": 1}, {"waypoints": [[[0, 0]]]})


@pytest.mark.parametrize("asked", [{}, {"goal_protocol": "true"}, {"goal_protocol": True}])
def test_a_network_of_ones_own_gets_the_real_goal(tmp_path: Path, asked: dict[str, Any]) -> None:
    policy = own(tmp_path, *MEAN_OF_GOAL, **POINT_GOAL, **asked)
    assert policy.needs == {"rgb", "goal"}
    assert policy.settings["goal_protocol"] == "true"
    assert points_of(policy.act(look(0.0, goal=(9.0, 4.0)))).tolist() == [[6.5, 6.5]]


def test_the_goals_of_the_paper_are_random_and_hide_the_real_one(tmp_path: Path) -> None:
    paper = own(tmp_path, *MEAN_OF_GOAL, **POINT_GOAL, goal_protocol="paper")
    assert paper.needs == VisualPolicy.needs == {"rgb"}
    first = points_of(paper.act(look(0.0)))
    assert 0.0 <= first[0, 0] <= 12.5
    paper.reset(task(seed=1))
    assert not np.array_equal(points_of(paper.act(look(0.0))), first)
    paper.reset(task(seed=0))
    assert np.array_equal(points_of(paper.act(look(0.0))), first)


def test_without_a_point_goal_there_is_no_real_goal_to_give(tmp_path: Path) -> None:
    policy = own(tmp_path, *MEAN_OF_GOAL)
    assert policy.needs == {"rgb"}
    assert policy.settings["goal_protocol"] == "paper"


def test_a_bundled_interface_gets_the_goals_of_the_paper_unless_told(forward: dict[str, Any]) -> None:
    assert VisualPolicy(**forward).settings["goal_protocol"] == "paper"
    command_line = parse_settings(["visual.goal_protocol=true"], ["visual"])["visual"]
    told = VisualPolicy(**forward, **command_line)
    assert told.settings["goal_protocol"] == "true"
    assert told.needs == {"rgb", "goal"}
    with pytest.raises(BadInput, match=r"visual\.goal_protocol"):
        VisualPolicy(**forward, goal_protocol=False)


def test_a_network_that_answers_nonsense_fails_its_episode(tmp_path: Path) -> None:
    policy = own(tmp_path, {"kind": "waypoints", "points": 1}, {"waypoints": [[[np.nan, 0]]]})
    with pytest.raises(ValueError, match="not finite"):
        policy.act(look(0.0))


def scenario(name: str, **camera: Any) -> Scenario:
    """A scenario of the suite core without people, its camera small."""
    found = next(each for each in load_suite("core").scenarios() if each.name == name)
    small = found.sensors.camera.model_copy(update={"width": 96, "height": 96, "shadows": False} | camera)
    sensors = found.sensors.model_copy(update={"camera": small})
    rules = found.rules.model_copy(update={"time_limit_s": 4.0})
    return found.model_copy(update={"sensors": sensors, "crowd": (), "rules": rules})


@pytest.fixture
def forward(tmp_path: Path) -> dict[str, Any]:
    """Settings of a network of 96 × 96 pictures that goes straight ahead."""
    inputs = {"obs_img": ((1, 18, 96, 96), "float32"), "goal_pose": ((1, 4), "float32")}
    file = write_net(tmp_path / "forward.onnx", inputs, {"action_pred": straight_ahead(8, 4.0, 4)}, {"obs_img": 0.0})
    return {"model": "mbra", "file": file}


def test_an_episode_goes_straight(forward: dict[str, Any]) -> None:
    first, again = (
        run_episode(scenario("corridor-counterflow"), registry.make_policy("visual", forward)) for _ in range(2)
    )
    assert first.outcome is Outcome.TIMEOUT, first.error
    pose = first.robot_pose
    assert pose[-1, 0] - pose[0, 0] == pytest.approx(4.0 * 1.2, abs=0.3)
    assert np.abs(pose[:, 1] - pose[0, 1]).max() < 1e-6
    assert first.digest == again.digest
    assert first.policy.settings["sha256"]


def test_thinking_time_is_charged_in_mode_latency(forward: dict[str, Any]) -> None:
    late = run_episode(
        scenario("corridor-counterflow"), registry.make_policy("visual", forward), mode="latency", latency_s=1.0
    )
    x = late.robot_pose[:, 0]
    assert late.outcome is Outcome.TIMEOUT, late.error
    assert x[19] == x[0]
    assert x[-1] - x[0] == pytest.approx(3.0 * 1.2, abs=0.3)
    measured = run_episode(scenario("corridor-counterflow"), registry.make_policy("visual", forward), mode="latency")
    assert measured.outcome is Outcome.TIMEOUT, measured.error
    assert measured.robot_pose[-1, 0] > x[-1]


def test_torchscript_only_when_asked_for(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason=reason_missing("torch"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.trace(_brightness(torch), torch.zeros(1, 3, 6, 8)), str(tmp_path / "net.pt"))
    document = {
        "image": IMAGE | {"input": "image"}, "output": {"kind": "waypoints", "points": 2}, "returns": ["waypoints"],
    }  # fmt: skip
    with pytest.raises(BadInput, match="set format=torchscript"):
        VisualPolicy(spec=document, file=str(tmp_path / "net.pt"))
    policy = VisualPolicy(spec=document, file=str(tmp_path / "net.pt"), format="torchscript")
    policy.reset(task())
    assert points_of(policy.act(look(0.0, grey=51))) == pytest.approx(np.full((2, 2), 0.2))
    with pytest.raises(BadInput, match="wants an input 'image'"):
        VisualPolicy(
            spec=document | {"image": IMAGE | {"input": "picture"}},
            file=str(tmp_path / "net.pt"),
            format="torchscript",
        )


def _brightness(torch: Any) -> Any:
    class Brightness(torch.nn.Module):
        def forward(self, image: Any) -> Any:
            return image.mean() * torch.ones(1, 2, 2)

    return Brightness()
