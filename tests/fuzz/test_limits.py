"""Defects that fuzzing found, and files that say to hold far more than they may."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.cli.evaluate import _begin_of
from sidestep.datasets.eth_ucy import read_groups
from sidestep.errors import BadInput, did_you_mean
from sidestep.gym.sb3_file import load_sb3
from sidestep.leaderboard.held_out import read_commitment
from sidestep.leaderboard.unpack import unpacked
from sidestep.policies.cadrl.network import SHIPPED, load_weights
from sidestep.prediction.data.recorded import load_ind
from sidestep.prediction.forecasts import read_forecast
from sidestep.records.lerobot_layout import read_table
from sidestep.records.logs.ros_messages import bag_files, open_bag
from sidestep.render.films.film import read_about
from sidestep.render.scene.scanned import load_environment
from sidestep.runs.folder import _who_runs, load_results, open_results
from sidestep.runs.remote.messages import read_command
from sidestep.runs.remote.wire import Address, Garbled
from sidestep.scenes.load import resolve_scene
from sidestep.studies.ratings.table import read_ratings
from sidestep.suites.protocol import load_protocol
from tests.fuzz import result_readers
from tests.fuzz.guard import within
from tests.fuzz.target import case, check
from tests.fuzz.targets import TARGETS
from tests.needs import reason_missing
from tests.prediction.data.test_recorded import write_ind
from tests.records.logs.make import records_of


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


def _replaced(name: str, shape: tuple[int, ...], **options: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, shape, np.float64, **options)

    return change


def _explosive(file: h5py.File) -> None:
    """A chunk of 1 MB that is stated to hold 896 bytes and unpacks to 1 GB."""
    del file["paths"]
    paths = file.create_dataset("paths", (14, 1, 4, 2), np.float64, chunks=(14, 1, 4, 2), compression="gzip")
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(1000)) + packer.flush()
    paths.id.write_direct_chunk((0, 0, 0, 0), packed)


def _elsewhere(file: h5py.File) -> None:
    del file["paths"]
    file["paths"] = h5py.ExternalLink("other.h5", "/paths")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_replaced("frame", (2**40,), chunks=(1 << 20,)), r"1,099,511,627,776 rows, but the data set has 180 frames"),
        (_replaced("horizons_s", (2**33,), chunks=(1 << 20,)), r"8,589,934,592 horizons, at most 1000 are read"),
        (_replaced("paths", (14, 2_000_000, 4, 2), chunks=(1, 1024, 4, 2)), "paths has more than|states|weights has"),
        (_explosive, "a chunk unpacks to more than the 896 bytes of a chunk"),
        (_elsewhere, "paths holds no numbers .it is a broken link, or one to elsewhere"),
        (lambda file: file.attrs.create("kind", np.zeros(2**12)), "kind is ''; it must be"),
    ],
)
def test_forecasts_that_explode(change: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    path.write_bytes(result_readers.forecast_file(tmp_path))
    with h5py.File(path, "r+") as file:
        change(file)
    assert path.stat().st_size < 3_000_000
    with pytest.raises(BadInput, match=told), within(20.0, 900_000_000):
        read_forecast(path, result_readers._samples())


def test_forecasts_over_which_hdf5_takes_minutes(tmp_path: Path) -> None:
    """The library looks for a text in a heap whose free space has no size."""
    target = TARGETS["forecasts"]
    prepared = target.prepare(tmp_path)
    with within(60.0):
        assert "the HDF5 library cannot read it" in check(target, prepared, case(target, prepared, 5))


def _results(folder: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
    path = folder / "results.parquet"
    path.write_bytes(result_readers.results_file(folder))
    pq.write_table(change(pq.read_table(path)), path)
    return path


def _with(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.column_names.index(name), name, values(len(table)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.replace_schema_metadata({"sidestep.dialect": b"\xff\xfe"}), "its dialect .* is not a name"),
        (lambda t: t.replace_schema_metadata({"sidestep.dialect": "a" * 10**6}), "its dialect .* is not a name"),
        (_with("seed", lambda n: pa.array(["x"] * n)), "column 'seed' holds string, expected int64"),
        (_with("policy", lambda n: pa.nulls(n, pa.string())), "column 'policy' has empty cells"),
        (_with("value", lambda n: pa.nulls(n, pa.float64())), "has neither a value nor a reason"),
        (_with("outcome", lambda n: pa.array(["won"] * n)), "'won' is no outcome"),
        (_with("error", lambda n: pa.array(["e" * 10**6] * n)), "'error' has texts of more than 100,000 bytes"),
        (lambda t: t.take(pa.array(np.zeros(1_000_000, np.int64))), "rows, too many for its"),
        (lambda t: t.append_column("seed", t.column("seed")), "cannot be read|two columns 'seed'"),
    ],
)
def test_tables_of_results(change: Any, told: str, tmp_path: Path) -> None:
    path = _results(tmp_path, change)
    with pytest.raises(BadInput, match=told) as error, within(10.0, 900_000_000):
        load_results(path)
    assert len(str(error.value).replace(str(tmp_path), "")) < 600


def test_texts_of_results_that_explode(tmp_path: Path) -> None:
    """A text of 90 kB in each of 100,000 rows is a small file."""
    rows = 100_000
    texts = pa.array(["t" * 90_000])
    change = _with("traceback", lambda n: pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), texts))
    path = _results(tmp_path, lambda table: change(pa.concat_tables([table] * (rows // len(table)))))
    with within(60.0, 900_000_000):
        assert len(load_results(path)[0]) == 1
        with pytest.raises(BadInput, match="its texts take"), open_results(path) as table:
            table.read()


def test_owners_of_a_run_that_are_none(tmp_path: Path) -> None:
    for text in ('{"pid": 1e999, "started": "2026-01-01", "host": ""}', "[" * 100_000, '{"pid": 1}', "\0"):
        (tmp_path / "running.json").write_text(text)
        assert "it has just begun" in _who_runs(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"suite": "\ud800"}, {"suite": ""}, {"count": True}, {"count": 10**9}, {"commitment": " ab" * 32}, {"count": -1}],
)
def test_commitments_that_are_none(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(json.loads(result_readers.COMMITMENT) | change))
    with pytest.raises(BadInput, match="not a commitment to seeds"):
        read_commitment(path, result_readers.SECRET.strip())


def test_a_protocol_of_years(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_bytes(result_readers.PROTOCOL.replace(b"asked.yaml", b"protocol").replace(b"_s: 40", b"_s: 1.0e+17"))
    with pytest.raises(BadInput, match=r"lab\.yaml: scenarios\.frontal: .*time_limit_s is more than 1,000,000 steps"):
        load_protocol(path)


@pytest.mark.parametrize("text", ["0 1 2", "1e17 0 0 0", "\u00b2 1 2 3", "1 2 3 4 5"])
def test_beginnings_of_an_evaluation(text: str, tmp_path: Path) -> None:
    (tmp_path / "begin.txt").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="not four whole numbers"):
        _begin_of(tmp_path)


def test_groups_of_a_log_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,x,y,group\n" + "".join(f"{k / 10},{k},0,\u00b2\n" for k in range(5)), encoding="utf-8")
    assert len(records_of(path, format_name="csv")) == 1


def test_chunks_of_a_bag_that_explode(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A chunk of 4 MB, as LZ4 packs 1 GB of zeros, that states 100 bytes; and one that states 1 TB."""
    pytest.importorskip("mcap_ros2", reason=reason_missing("mcap_ros2"))
    import lz4.frame

    packer = lz4.frame.LZ4FrameCompressor()
    zeros = bytes(1 << 24)
    packed = packer.begin() + b"".join(packer.compress(zeros) for _ in range(64)) + packer.flush()
    for stated, told in (
        (100, "unpacks to more than the 100 bytes"),
        (10**12, "a chunk states 1,000,000,000,000 bytes"),
    ):
        chunk = struct.pack("<QQQII", 0, 0, stated, 0, 3) + b"lz4" + struct.pack("<Q", len(packed)) + packed
        path = tmp_path / "a.mcap"
        path.write_bytes(b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, len(chunk)) + chunk)
        with pytest.raises(BadInput, match=told), within(20.0, 900_000_000):
            open_bag(path)
    assert capfd.readouterr() == ("", "")


def test_names_of_the_files_of_a_bag(tmp_path: Path) -> None:
    listed = {"rosbag2_bagfile_information": {"relative_file_paths": ["a" * 5000]}}
    (tmp_path / "metadata.yaml").write_text(json.dumps(listed))
    with pytest.raises(BadInput, match=r"metadata\.yaml lists 'a+") as error:
        bag_files(tmp_path)
    assert len(str(error.value)) < 600


def test_films_that_end_too_soon_or_are_too_large(tmp_path: Path) -> None:
    picture = tmp_path / "f.gif"
    picture.write_bytes(b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + b",\0\0\0\0\xff\xff\xff\xff\0")
    assert read_about(picture) == ""
    for name, numbers in (("film", (34, 107, 423, 52_575)), ("demonstration_film", (200, 1419))):
        prepared = TARGETS[name].prepare(tmp_path)
        for number in numbers:
            assert check(TARGETS[name], prepared, case(TARGETS[name], prepared, number))


def test_faces_without_corners(tmp_path: Path) -> None:
    path = tmp_path / "m.ply"
    path.write_bytes(result_readers.PLY.replace(b"3 0 1 2", b"3 0 1 -2147483648"))
    with pytest.raises(BadInput, match="has faces without corners"):
        load_environment(path)


def test_very_many_people_in_one_group(tmp_path: Path) -> None:
    pairs = [f"{2 * k} {2 * k + 1}" for k in range(30_000)]
    joins = [f"0 {2 * k}" for k in range(1, 30_000)]
    (tmp_path / "groups.txt").write_text("\n".join([*pairs, "70000 70001", *joins]))
    with within(10.0):
        found = read_groups(tmp_path / "groups.txt")
    assert set(found.values()) == {0, 1}
    assert [person for person, group in found.items() if group == 1] == [70000, 70001]


@pytest.mark.parametrize("is_large", [False, True])
def test_packs_with_a_list_of_members_of_any_length(is_large: bool, tmp_path: Path) -> None:
    """``zipfile`` reads the list whole before it tells how many members there are."""
    path = tmp_path / "a.pack"
    size = 3_000_000_000
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0, 0, 0xFFFFFFFF if is_large else size, 0, 0)
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, 0)
    place = struct.pack("<4sIQI", b"PK\6\7", 0, 4, 1)
    path.write_bytes(b"PK\3\4" + (large + place if is_large else b"") + end)
    with pytest.raises(BadInput, match="a list of members of 3,000,000,000 bytes"), within(5.0, 300_000_000):
        unpacked(path).__enter__()


@pytest.mark.parametrize(
    ("name", "number", "told"),
    [
        ("results", 50_976, "cannot be read"),  # a text by its place in a list, beyond the end of the list
        ("private_key", 60_533, "not an unencrypted Ed25519 private key"),  # an error of OpenSSL without a name
        ("column_map", 60_187, "no such quantity"),
    ],
)
def test_damage_that_long_runs_found(name: str, number: int, told: str, tmp_path: Path) -> None:
    prepared = TARGETS[name].prepare(tmp_path)
    assert told in (found := check(TARGETS[name], prepared, case(TARGETS[name], prepared, number))) or not found
    assert len(found.replace(str(tmp_path), "")) < 600
