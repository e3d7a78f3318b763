"""Defects that fuzzing found, and files that say to hold far more than they may."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput, did_you_mean
from sidestep.gym.sb3_file import load_sb3
from sidestep.policies.cadrl.network import SHIPPED, load_weights
from sidestep.prediction.data.recorded import load_ind
from sidestep.records.lerobot_layout import read_table
from sidestep.runs.remote.messages import read_command
from sidestep.runs.remote.wire import Address, Garbled
from sidestep.scenes.load import resolve_scene
from sidestep.studies.ratings.table import read_ratings
from tests.fuzz.guard import within
from tests.fuzz.target import case, check
from tests.fuzz.targets import TARGETS
from tests.prediction.data.test_recorded import write_ind


@pytest.mark.parametrize("kind", [["velocity"], {"a": 1}, None, 3])
def test_a_command_that_is_no_name(kind: Any) -> None:
    with pytest.raises(Garbled, match="unknown command"):
        read_command({"type": "act", "command": kind, "values": [1.0, 0.0]})


@pytest.mark.parametrize("text", ["x" * 5000, "unix:" + "y" * 5000, "host:" + "9" * 6000])
def test_addresses_that_are_too_long_are_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"address is|Unix socket") as error:
        Address.parse(text)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scene": ["abc"]}, "scene: expected keys and values"),
        ({"scene": {"crs": "local"}, "features": [{"geometry": {}, "properties": [1]}]}, "properties: expected keys"),
        (
            {"features": [{"properties": {"kind": "obstacle"}, "geometry": {"type": "Polygon", "coordinates": 5}}]},
            "must be lists of lists",
        ),
        (
            {"features": [{"properties": {"width": 1}, "geometry": {"type": "MultiLineString", "coordinates": 5}}]},
            "must be lists of lists",
        ),
    ],
)
def test_geojson_of_other_kinds_of_values(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "scene": {"crs": "local"}, "features": []} | change))
    with pytest.raises(BadInput, match=told):
        resolve_scene(str(path))


@pytest.mark.parametrize("name", ["street:zebra-" + "9" * 5000, "street:" + "(" * 3000, "x" * 3000 + ".y", "a" * 200])
def test_long_names_of_scenes(name: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve_scene(name)
    assert len(str(error.value)) < 1000


def test_known_names_are_cut() -> None:
    assert len(did_you_mean("speed", ["[" * 9000, "width"])) < 200


def test_areas_that_geos_cannot_cut_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shapely

    from sidestep.scenes import places

    def fail(path: Path) -> None:
        raise shapely.errors.GEOSException("TopologyException: unable to assign free hole to a shell")

    monkeypatch.setattr(places, "read_osm", fail)
    path = tmp_path / "part.osm"
    path.write_text("<osm/>")
    with pytest.raises(BadInput, match=r"part\.osm: its areas cannot be cut out of each other \(Topology"):
        resolve_scene(str(path))


def test_a_vehicle_that_is_there_for_years(tmp_path: Path) -> None:
    write_ind(tmp_path)
    path = tmp_path / "07_tracks.csv"
    path.write_text(path.read_text().replace("7,0,99,", "7,0,4000000000000,"))
    with pytest.raises(BadInput, match=r"vehicle 0 is there from 0 to 1\.6e.11 s, longer than 7200 s"):
        load_ind(tmp_path)


def packed(**arrays: Any) -> bytes:
    """An archive with the bundled weights and some arrays changed; bytes are stored as they are."""
    content = io.BytesIO()
    with np.load(SHIPPED) as weights, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {**{name: weights[name] for name in weights.files}, **arrays}.items():
            member = io.BytesIO()
            if not isinstance(array, bytes):
                np.save(member, array)
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else member.getvalue())
    return content.getvalue()


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"norm": np.array(["x"])}, "norm is not one number"),
        ({"format": np.array(1.0)}, "format is not one number"),
        ({"format": b"text"}, "format is not one number"),
        ({"norm": b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4', "}, "not a file of weights"),
        ({"norm": np.zeros(3_000_000)}, "unpacks to more than 10 MB"),
        ({"extra": np.zeros(3)}, ""),
    ],
)
def test_weights_that_are_none(arrays: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    path.write_bytes(packed(**arrays))
    if told:
        with pytest.raises(BadInput, match=told), within(5.0, 300_000_000):
            load_weights(path)
    else:
        assert load_weights(path).about["format"] == 1


def test_a_damaged_archive_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("data", "{}")
    damaged = bytearray(content.getvalue())
    at = damaged.rindex(b"PK\x01\x02") + 42  # where the member begins, in the central directory
    damaged[at : at + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(damaged))
    with pytest.raises(BadInput, match=r"m\.zip: not a Stable-Baselines3 file"):
        load_sb3(str(path))


def test_parquet_tables_that_explode(tmp_path: Path) -> None:
    """40 million equal values are some kB in a file."""
    path = tmp_path / "r.parquet"
    column = pa.array(np.zeros(3_000_000, np.int8))
    pq.write_table(pa.table({"rating": column}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(BadInput, match=r"3,000,000 rows, at most 2,000,000 are read"):
        read_ratings(path)
    pq.write_table(pa.table({f"c{k}": column for k in range(40)}), path)
    with pytest.raises(BadInput, match=r"more than 100,000,000 values"):
        read_table(path, pa.schema([("c0", pa.int64())]))


def test_parquet_metadata_that_contradict_each_other_do_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow does not raise but ends the process when asked for such a column chunk."""
    path = tmp_path / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True)
    target = TARGETS["lerobot_episodes"]
    prepared = target.prepare(tmp_path)
    for number in (1_002_403, 1_009_465):
        assert "histogram size mismatch" in check(target, prepared, case(target, prepared, number))
