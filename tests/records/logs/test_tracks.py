"""Recordings of pedestrians, one of whom is the robot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from tests.records.logs.make import records_of


def trajnet(path: Path, scenes: bool = True) -> Path:
    """Two people at 2.5 annotations per second, frames 10 apart; a scene of each, the second shorter."""
    rows = [
        {"scene": {"id": 0, "p": 1, "s": 0, "e": 50, "fps": 2.5}},
        {"scene": {"id": 3, "p": 2, "s": 20, "e": 40, "fps": 2.5}},
    ]
    tracks = [{"track": {"f": 10 * k, "p": p, "x": 0.4 * k, "y": float(p)}} for k in range(6) for p in (1, 2)]
    forecast = {"track": {"f": 60, "p": 1, "x": 99.0, "y": 0.0, "prediction_number": 0}}
    lines = [*(rows if scenes else []), *tracks, forecast]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_scenes_are_drives_of_their_primary_pedestrian(tmp_path: Path) -> None:
    first, second = records_of(trajnet(tmp_path / "a.ndjson"))
    assert (first.scenario.name, second.scenario.name) == ("a-scene0", "a-scene3")
    assert (first.step_s, first.steps, second.steps) == (pytest.approx(0.4), 5, 2)
    assert first.robot_pose[:, 0] == pytest.approx(0.4 * np.arange(6))
    assert first.robot_velocity[1:, 0] == pytest.approx(1.0)
    assert second.robot_pose[0, :2] == pytest.approx([0.8, 2.0])
    assert (first.person_id.tolist(), second.person_id.tolist()) == ([2], [1])
    assert first.robot.dynamics == "holonomic"


def test_a_chosen_track_is_the_whole_of_it(tmp_path: Path) -> None:
    [record] = records_of(trajnet(tmp_path / "a.ndjson"), robot="2")
    assert (record.scenario.name, record.steps) == ("a-track2", 5)
    with pytest.raises(BadInput, match=r"no track '9'.*the longest are \[1, 2\]"):
        records_of(trajnet(tmp_path / "a.ndjson"), robot="9")


def test_eth_needs_a_track(tmp_path: Path) -> None:
    rows = [f"{6 * k} {p} {0.4 * k} 0 {p} 1 0 0" for k in range(5) for p in (3, 4)]
    (tmp_path / "obsmat.txt").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(BadInput, match=r"choose the track.*\[3, 4\]"):
        records_of(tmp_path / "obsmat.txt", rate_hz=15.0)
    [record] = records_of(tmp_path / "obsmat.txt", rate_hz=15.0, robot="4")
    assert (record.step_s, record.person_id.tolist()) == (pytest.approx(0.4), [3])
    assert len(records_of(tmp_path / "obsmat.txt", rate_hz=15.0, robot="all")) == 2


def test_groups_are_kept(tmp_path: Path) -> None:
    text = "# rate_hz: 10\n# group: 2 3\n" + "\n".join(f"{k} {p} {k} {p}" for k in range(4) for p in (1, 2, 3))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    [record] = records_of(tmp_path / "a.txt", robot="1")
    assert record.person_group[0].tolist() == [0, 0]
    assert "groups" not in record.scenario.notes["log"]["unknown"]
