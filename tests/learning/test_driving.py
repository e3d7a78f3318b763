"""Training of the learned driver: it learns what demonstrations say, command by command, and drives from its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.learning.demonstrations import DemonstrationWriter
from sidestep.policies.driving.imitation import ImitationDriver
from sidestep.simulation import run_episode
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.types import Outcome
from tests.learning.test_demonstrations import make_frame
from tests.needs import reason_missing

torch = pytest.importorskip("torch", reason=reason_missing("torch"))
pytest.importorskip("onnxruntime", reason=reason_missing("onnxruntime"))

from sidestep.learning.driving import DrivingTraining, export_driving, train_driving  # noqa: E402

QUICK = DrivingTraining(epochs=12, batch=32, width=16, rate=3e-3, held_out=0.2)


def write_lessons(path: Path, episodes: int = 12, length: int = 24) -> None:
    """Steer against the distance to the route; full throttle, but brake under the command 0. Pictures mean nothing."""
    rng = np.random.default_rng(0)
    with DemonstrationWriter(path) as writer:
        for number in range(episodes):
            trace, branch = writer.next_trace, number % 3 - 1
            for k in range(length):
                aside, slower = rng.uniform(-0.5, 0.5), int(rng.integers(0, 2))
                writer.add(
                    branch,
                    make_frame(
                        k, trace, done=k == length - 1,
                        image=rng.integers(0, 255, (88, 200, 3)).astype(np.uint8),
                        lidar=rng.random(720).astype(np.float32),
                        measurements=np.array([0.5, aside, 0.0, 0.5], np.float32),
                        command=np.array([number % 4, slower]),
                        action=np.array([-aside, float(slower), 1.0 - slower], np.float32),
                    ),
                )  # fmt: skip


def answer(file: Path, aside: float, slower: int) -> list[float]:
    network = ImitationDriver(file=str(file))._network
    assert network.inputs == 2
    inputs = {
        "image": np.full((1, 88, 200, 3), 127, np.uint8), "lidar": np.full((1, 720), 0.5, np.float32),
        "measurements": np.array([[0.5, aside, 0.0, 0.5]], np.float32), "command": np.array([[0, slower]], np.int64),
    }  # fmt: skip
    found: list[float] = network.run(inputs)[0].tolist()
    return found


def test_it_learns_what_is_shown_and_drives_from_its_file(tmp_path: Path) -> None:
    lessons, file = tmp_path / "lessons.h5", tmp_path / "net.onnx"
    write_lessons(lessons)
    kept: list[int] = []
    trained = train_driving([lessons], QUICK, lambda *told: None, lambda so_far: kept.append(len(so_far.curve)))
    assert trained.curve[-1]["train"] < 0.5 * trained.curve[0]["train"]
    assert kept[0] == 1
    export_driving(trained, file, QUICK)
    left, right = answer(file, 0.4, 1), answer(file, -0.4, 1)
    assert right[0] - left[0] > 0.2  # steers back to the route
    faster, slower = answer(file, 0.0, 1), answer(file, 0.0, 0)
    assert faster[1] > slower[1] + 0.5
    assert slower[2] > faster[2] + 0.5
    scenario = INTERSECTION_SUITE.with_options({"split": "dev", "people": "none"}).scenarios()[0]
    short = scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": 1.0})})
    record = run_episode(short, ImitationDriver(file=str(file)))
    assert record.outcome is Outcome.TIMEOUT


def test_the_same_settings_give_the_same_network(tmp_path: Path) -> None:
    lessons = tmp_path / "lessons.h5"
    write_lessons(lessons, episodes=4)
    quick = DrivingTraining(epochs=1, batch=32, width=16)
    one, other = (train_driving([lessons], quick, lambda *told: None, lambda so_far: None) for _ in range(2))
    assert one.curve == other.curve
    pairs = zip(one.network.state_dict().values(), other.network.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_bad_settings_and_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="dropouts and brightness"):
        DrivingTraining(camera_dropout=1.0)
    with pytest.raises(BadInput, match="epochs and batch"):
        DrivingTraining(epochs=0)
    with pytest.raises(BadInput, match=r"nothing\.h5"):
        train_driving([tmp_path / "nothing.h5"], QUICK, lambda *told: None, lambda so_far: None)
