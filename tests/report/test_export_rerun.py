"""What Rerun's own reader finds in an exported recording is what the record holds."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import MissingExtra
from sidestep.report.export_rerun import TIMELINE, export_rerun
from sidestep.types.record import EpisodeRecord

needs_reader = pytest.mark.skipif(
    not find_spec("rerun") or not find_spec("rerun.chunk"),
    reason="the extra `export` (rerun-sdk with its chunk reader) is not installed",
)


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


def test_without_the_extra_the_error_names_it(
    record: EpisodeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[export\]"):
        export_rerun(record, tmp_path / "x.rrd")
    assert list(tmp_path.iterdir()) == []
