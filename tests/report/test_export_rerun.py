"""What Rerun's own reader finds in an exported recording is what the record holds."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.errors import MissingExtra
from sidestep.records.exports.rerun_file import TIMELINE, export_rerun
from sidestep.types.record import EpisodeRecord, PolicyInfo
from tests.needs import skip_without_package
from tests.report.episodes import eventful, planned

needs_reader = skip_without_package("rerun")


@needs_reader
def test_the_recording_holds_the_record(record: EpisodeRecord, tmp_path: Path) -> None:
    from rerun.chunk import RrdReader

    path = tmp_path / "episode.rrd"
    export_rerun(record, path)
    chunks = list(RrdReader(path).stream().to_chunks())
    moving = {chunk.entity_path: chunk for chunk in chunks if not chunk.is_static}
    still = {chunk.entity_path for chunk in chunks if chunk.is_static}
    states = record.steps + 1
    assert {"/world/walls", "/world/goal", "/world/robot", "/world"} <= still
    assert {name: chunk.num_rows for name, chunk in moving.items()} == {
        "/world/robot": states,
        "/world/people": states,
        "/events": 4,
        **{
            f"/curves/{name}": states
            for name in ("speed", "closest_person", "wall_clearance", "time_to_collision", "distance_to_goal")
        },
    }
    batch = moving["/world/robot"].to_record_batch()
    place = np.array([row[0] for row in batch.column("Transform3D:translation").to_pylist()])
    assert place[:, :2] == pytest.approx(record.robot_pose[:, :2], abs=1e-5)
    people = moving["/world/people"].to_record_batch().column("Capsules3D:translations").to_pylist()
    assert [len(row) for row in people] == record.person_present.sum(axis=1).tolist()
    assert np.array(people[30])[:, :2] == pytest.approx(record.person_position[30], abs=1e-5)
    speed = moving["/curves/speed"].to_record_batch()
    seconds = np.array([value.total_seconds() for value in speed.column(TIMELINE).to_pylist()])
    assert seconds == pytest.approx(record.time, abs=1e-6)


def columns(record: EpisodeRecord, path: Path, entity: str) -> Any:
    from rerun.chunk import RrdReader

    export_rerun(record, path)
    chunks = [c for c in RrdReader(path).stream().to_chunks() if c.entity_path == entity and not c.is_static]
    assert len(chunks) == 1
    return chunks[0].to_record_batch()


@needs_reader
def test_plans_and_forecasts_are_lines(tmp_path: Path) -> None:
    record = planned()
    plans = columns(record, tmp_path / "a.rrd", "/world/plan").column("LineStrips3D:strips").to_pylist()
    assert len(plans) == len(record.plans)
    line = np.array(plans[4][0])
    assert line[0, :2] == pytest.approx(record.robot_pose[record.plans.step[4], :2], abs=1e-5)
    assert line[1:, :2] == pytest.approx(record.plans.robot[4], abs=1e-5)
    batch = columns(record, tmp_path / "b.rrd", "/world/forecasts").column("LineStrips3D:strips").to_pylist()
    who, where = record.plans.forecasts_at(int(record.plans.step[4]))
    assert len(batch[4]) == len(who)
    assert np.array(batch[4][0])[1:, :2] == pytest.approx(where[0], abs=1e-5)


@needs_reader
def test_gestures_are_labels_and_the_scanner_is_mounted(tmp_path: Path) -> None:
    record = replace(eventful(), policy=PolicyInfo("scanner", needs=("lidar",)))
    labels = columns(record, tmp_path / "a.rrd", "/world/people").column("Capsules3D:labels").to_pylist()
    assert labels[30] == ["0 stop", "1", "2", "3", "4"]
    hits = columns(record, tmp_path / "b.rrd", "/world/robot/lidar").column("Points3D:positions").to_pylist()
    x, y, heading = record.robot_pose[45]
    seen = np.array(hits[45])[:, :2]
    turned = np.column_stack([seen @ [np.cos(heading), -np.sin(heading)], seen @ [np.sin(heading), np.cos(heading)]])
    away = (
        np.linalg.norm(turned - (record.person_position[45] - (x, y))[:, None], axis=2) - record.person_radius[:, None]
    )
    assert np.abs(away).min() < 0.01


def test_without_the_extra_the_error_names_it(
    record: EpisodeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[export\]"):
        export_rerun(record, tmp_path / "x.rrd")
    assert list(tmp_path.iterdir()) == []
