"""LeRobot datasets: our own demonstrations, and others by a map of columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from tests.needs import reason_missing
from tests.records.logs.make import records_of


def dataset(folder: Path, columns: dict[str, Any], features: dict[str, Any], version: str = "v3.0") -> Path:
    """A dataset of two episodes of five frames at 10 Hz."""
    (folder / "meta").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    info = {"codebase_version": version, "fps": 10, "features": features}
    (folder / "meta/info.json").write_text(json.dumps(info), encoding="utf-8")
    table = {
        "episode_index": [0] * 5 + [1] * 5,
        "timestamp": pa.array([k / 10 for k in range(5)] * 2, pa.float32()),
        **columns,
    }
    pq.write_table(pa.table(table), folder / "data/chunk-000/file-000.parquet")
    return folder


STATE = [[0.1 * k, 2.0, 0.0] for k in range(5)] * 2
NAMED = {"observation.state": {"dtype": "float32", "shape": [3], "names": ["x", "y", "yaw"]}}


def test_a_state_with_names_and_people(tmp_path: Path) -> None:
    people = [[0.1 * k, 0.0, float("nan"), float("nan")] for k in range(5)] * 2
    features = NAMED | {"observation.people": {"dtype": "float32", "shape": [2, 2]}}
    folder = dataset(tmp_path / "d", {"observation.state": STATE, "observation.people": people}, features)
    first, second = records_of(folder)
    assert (first.scenario.name, second.scenario.name) == ("d-episode0", "d-episode1")
    assert (first.step_s, first.steps) == (pytest.approx(0.1), 4)
    assert first.robot_pose[:, 0] == pytest.approx(0.1 * np.arange(5))
    assert first.person_id.tolist() == [0]
    assert first.digest != second.digest


def test_our_demonstrations_are_turned_back(tmp_path: Path) -> None:
    columns = {
        "observation.location": [[1.0 * k, -2.0, 0.0] for k in range(5)] * 2,
        "observation.rotation": [[0.0, 0.0, -90.0]] * 10,
    }
    features = {key: {"dtype": "float32", "shape": [3]} for key in columns}
    record, _ = records_of(dataset(tmp_path / "d", columns, features))
    assert record.robot_pose[3] == pytest.approx([3.0, 2.0, np.pi / 2])
    assert "people" in record.scenario.notes["log"]["unknown"]


def test_columns_by_index_and_mistakes(tmp_path: Path) -> None:
    features = {"observation.state": {"dtype": "float32", "shape": [3], "names": None}}
    folder = dataset(tmp_path / "d", {"observation.state": STATE}, features)
    columns = {"x": "observation.state[0]", "y": "observation.state[1]"}
    record, _ = records_of(folder, columns=columns)
    assert record.robot_pose[2, :2] == pytest.approx([0.2, 2.0])
    with pytest.raises(BadInput, match=r"no feature has the robot's position.*observation.state"):
        records_of(folder)
    with pytest.raises(BadInput, match="there is no element 7"):
        records_of(folder, columns=columns | {"x": "observation.state[7]"})
    with pytest.raises(BadInput, match=r"no feature 'observation\.stat'; did you mean"):
        records_of(folder, columns=columns | {"x": "observation.stat[0]"})


def test_other_versions_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"not v3\.0"):
        records_of(dataset(tmp_path / "old", {"observation.state": STATE}, NAMED, "v2.1"))
    folder = dataset(tmp_path / "d", {"observation.state": STATE}, NAMED)
    file = folder / "data/chunk-000/file-000.parquet"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(BadInput, match="copy the dataset again"):
        records_of(folder)


def test_what_demos_convert_writes_is_read_back(tmp_path: Path) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    from sidestep.learning.demonstrations import DemonstrationWriter, read_demonstrations
    from sidestep.learning.lerobot import to_lerobot
    from tests.learning.test_demonstrations import make_frame

    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        for number in range(6):
            place = np.array([2.0 * number, -3.0, 0.0], np.float32)
            turned = np.array([0.0, 0.0, -30.0], np.float32)
            writer.add(0, make_frame(number, 0, done=number == 5)._replace(location=place, rotation=turned))
    with read_demonstrations(tmp_path / "demos.h5") as reader:
        to_lerobot(reader, tmp_path / "dataset")
    [record] = records_of(tmp_path / "dataset")
    assert (record.step_s, record.steps) == (pytest.approx(0.05), 5)
    assert record.robot_pose[:, 0] == pytest.approx(2.0 * np.arange(6))
    assert record.robot_pose[0, 1:] == pytest.approx([3.0, np.pi / 6])
