"""Demonstrations as LeRobot datasets: the layout, the round trip, and datasets that cannot be converted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidestep.errors import BadInput
from sidestep.learning.demonstrations import DemonstrationWriter, read_demonstrations
from sidestep.learning.lerobot import from_lerobot, to_lerobot
from tests.learning.test_demonstrations import make_foreign, make_frame
from tests.needs import reason_missing

pd = pytest.importorskip("pandas", reason=reason_missing("pandas"))
av = pytest.importorskip("av", reason=reason_missing("av"))

KEY = "observation.images.front"
EPISODES = ((-1, 7), (1, 5), (1, 1), (-1, 3))


def scenery(number: int) -> np.ndarray[Any, Any]:
    """A smooth picture that moves."""
    x, y = np.meshgrid(np.arange(200), np.arange(88))
    channels = [128 + 100 * np.sin((x + 3 * number) / 25 + k) * np.cos(y / 20 + k) for k in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    path = tmp_path / "demos.h5"
    draw = np.random.default_rng(1)
    with DemonstrationWriter(path) as writer:
        for trace, (branch, length) in enumerate(EPISODES):
            for number in range(length):
                frame = make_frame(number, trace, done=number == length - 1 and trace != 2, scene=trace % 2)
                lidar = draw.random(720, np.float32)
                writer.add(branch, frame._replace(image=scenery(10 * trace + number), lidar=lidar))
    return path


@pytest.fixture
def dataset(demos: Path, tmp_path: Path) -> Path:
    with read_demonstrations(demos) as reader:
        to_lerobot(reader, tmp_path / "dataset")
    return tmp_path / "dataset"


def test_a_round_trip_is_exact_but_for_the_pictures(demos: Path, dataset: Path, tmp_path: Path) -> None:
    from_lerobot(dataset, tmp_path / "again.h5")
    with read_demonstrations(demos) as one, read_demonstrations(tmp_path / "again.h5") as two:
        assert one.episodes == two.episodes
        assert one.frames == two.frames
        squares = []
        for number in range(len(one)):
            before, after = one[number]._asdict(), two[number]._asdict()
            squares.append(np.mean((before.pop("image").astype(float) - after.pop("image").astype(float)) ** 2))
            for name, value in before.items():
                np.testing.assert_array_equal(value, after[name], err_msg=name)
        signal_to_noise_db = 10 * np.log10(255**2 / np.mean(squares))
        assert signal_to_noise_db > 38


def test_the_folder_is_laid_out_as_lerobot_has_it(dataset: Path) -> None:
    files = {path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file()}
    assert files == {
        "meta/info.json", "meta/stats.json", "meta/tasks.parquet", "meta/episodes/chunk-000/file-000.parquet",
        "data/chunk-000/file-000.parquet", f"videos/{KEY}/chunk-000/file-000.mp4",
    }  # fmt: skip
    info = json.loads((dataset / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_episodes"], info["total_frames"]) == ("v3.0", 20, 4, 16)
    assert info["splits"] == {"train": "0:4"}
    assert info["total_tasks"] == 2
    assert info["features"]["action"] == {"dtype": "float32", "shape": [3], "names": ["steer", "throttle", "brake"]}
    assert info["features"]["next.done"] == {"dtype": "bool", "shape": [1], "names": None}
    assert info["features"][KEY]["shape"] == [88, 200, 3]
    assert info["features"]["index"]["dtype"] == "int64"

    tasks = pd.read_parquet(dataset / "meta/tasks.parquet")
    assert tasks.index.name == "task"
    assert tasks["task_index"].to_dict() == {"turn left": 0, "turn right": 1}

    frames = pq.read_table(dataset / "data/chunk-000/file-000.parquet")
    assert set(frames.column_names) == set(info["features"]) - {KEY}
    assert frames["index"].to_pylist() == list(range(16))
    assert frames["episode_index"].to_pylist() == [0] * 7 + [1] * 3 + [2] * 5 + [3]
    assert frames["frame_index"].to_pylist()[7:10] == [0, 1, 2]
    assert frames["timestamp"].to_pylist()[7:10] == pytest.approx([0, 0.05, 0.1])
    assert frames["task_index"].to_pylist() == [0] * 10 + [1] * 6
    assert frames["observation.lidar"].type == pa.list_(pa.float32(), 720)


def test_episodes_say_where_they_are(dataset: Path) -> None:
    table = pq.read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [row["length"] for row in table] == [7, 3, 5, 1]
    assert [row["tasks"] for row in table] == [["turn left"], ["turn left"], ["turn right"], ["turn right"]]
    assert [(row["dataset_from_index"], row["dataset_to_index"]) for row in table] == [
        (0, 7),
        (7, 10),
        (10, 15),
        (15, 16),
    ]
    assert [row[f"videos/{KEY}/from_timestamp"] for row in table] == pytest.approx([0, 0.35, 0.5, 0.75])
    assert [row[f"videos/{KEY}/to_timestamp"] for row in table] == pytest.approx([0.35, 0.5, 0.75, 0.8])
    assert table[1]["stats/action/max"] == [0.25, 0.5, 1.0]
    assert table[1]["stats/action/mean"] == pytest.approx([0.25, 0.5, 1 / 3])
    assert table[1]["stats/action/count"] == [3]
    with av.open(str(dataset / f"videos/{KEY}/chunk-000/file-000.mp4")) as film:
        times = [frame.time for frame in film.decode(video=0)]
    assert times == pytest.approx([number / 20 for number in range(16)], abs=1e-6)


def test_the_statistics_are_those_of_all_frames(demos: Path, dataset: Path) -> None:
    stats = json.loads((dataset / "meta/stats.json").read_text())
    with read_demonstrations(demos) as reader:
        lidar = np.concatenate([reader.column(branch, "lidar") for branch in (-1, 0, 1)]).astype(float)
        pictures = np.concatenate([reader.pictures(branch) for branch in (-1, 0, 1)]) / 255
    np.testing.assert_allclose(stats["observation.lidar"]["mean"], lidar.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(stats["observation.lidar"]["std"], lidar.std(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(stats["observation.lidar"]["max"], lidar.max(axis=0))
    assert stats["observation.lidar"]["count"] == [16]
    assert stats["frame_index"]["max"] == [6.0]
    assert np.shape(stats[KEY]["mean"]) == (3, 1, 1)
    np.testing.assert_allclose(np.ravel(stats[KEY]["mean"]), pictures.mean(axis=(0, 1, 2)), rtol=1e-9)
    np.testing.assert_allclose(np.ravel(stats[KEY]["std"]), pictures.std(axis=(0, 1, 2)), rtol=1e-9)
    np.testing.assert_allclose(np.ravel(stats[KEY]["min"]), pictures.min(axis=(0, 1, 2)))


def test_large_datasets_are_split_into_files(demos: Path, tmp_path: Path) -> None:
    with read_demonstrations(demos) as reader:
        to_lerobot(reader, tmp_path / "dataset", rate_hz=30, data_mb=0.001, video_mb=0.0001)
        expected = list(reader.episodes)
    assert len(list((tmp_path / "dataset/data/chunk-000").iterdir())) == 4
    assert len(list((tmp_path / f"dataset/videos/{KEY}/chunk-000").iterdir())) >= 2, "the encoder is some pictures late"
    table = pq.read_table(tmp_path / "dataset/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [row["data/file_index"] for row in table] == [0, 1, 2, 3]
    assert [row[f"videos/{KEY}/file_index"] for row in table[:2]] == [0, 1]
    assert [row[f"videos/{KEY}/from_timestamp"] for row in table[:2]] == [0, 0]
    from_lerobot(tmp_path / "dataset", tmp_path / "again.h5")
    with read_demonstrations(tmp_path / "again.h5") as reader:
        assert list(reader.episodes) == expected


def test_published_files_are_converted_with_their_measurements(tmp_path: Path) -> None:
    make_foreign(tmp_path / "theirs.h5", measurements=3)
    with read_demonstrations(tmp_path / "theirs.h5") as reader:
        to_lerobot(reader, tmp_path / "dataset")
    from_lerobot(tmp_path / "dataset", tmp_path / "ours.h5")
    with read_demonstrations(tmp_path / "theirs.h5") as one, read_demonstrations(tmp_path / "ours.h5") as two:
        assert two.measurements == 3
        assert one.episodes == two.episodes
        np.testing.assert_array_equal(one.column(1, "rotation"), two.column(1, "rotation"))


def test_nothing_is_overwritten(demos: Path, dataset: Path, tmp_path: Path) -> None:
    before = demos.read_bytes()
    with read_demonstrations(demos) as reader:
        with pytest.raises(BadInput, match="dataset: already exists; choose the name of a new folder"):
            to_lerobot(reader, dataset)
        with pytest.raises(BadInput, match=r"whole number of frames per second, not 12\.5"):
            to_lerobot(reader, tmp_path / "other", rate_hz=12.5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"demos\.h5: already exists"):
        from_lerobot(dataset, demos)
    assert demos.read_bytes() == before
    from_lerobot(dataset, demos, overwrite=True)
    with read_demonstrations(demos) as reader:
        assert len(reader) == 16
    DemonstrationWriter(tmp_path / "empty.h5").close()
    with read_demonstrations(tmp_path / "empty.h5") as reader, pytest.raises(BadInput, match="no frames to convert"):
        to_lerobot(reader, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def change_info(dataset: Path, **changes: Any) -> None:
    path = dataset / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"codebase_version": "v2.1"},
            r"info\.json: codebase_version is 'v2.1', not v3.0; convert the dataset with LeRobot",
        ),
        ({"data_path": "../{chunk_index}"}, r"info\.json: data_path is '\.\./"),
        ({"fps": 0}, r"info\.json: fps is 0"),
        ({"features": {}}, r"info\.json: features: no 'observation.images.front'; only datasets of demonstrations"),
    ],
)
def test_foreign_datasets_are_refused(dataset: Path, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    change_info(dataset, **changes)
    with pytest.raises(BadInput, match=message):
        from_lerobot(dataset, tmp_path / "again.h5")
    assert not (tmp_path / "again.h5").exists()


def test_features_of_another_shape_are_refused(dataset: Path, tmp_path: Path) -> None:
    features = json.loads((dataset / "meta/info.json").read_text())["features"]
    change_info(dataset, features={**features, "action": {**features["action"], "shape": [2]}})
    with pytest.raises(BadInput, match=r"features: action: shape is \[2\], not \[3\]"):
        from_lerobot(dataset, tmp_path / "again.h5")
    change_info(dataset, features={**features, "observation.state": {"dtype": "float32", "shape": [5]}})
    with pytest.raises(BadInput, match=r"observation.state has shape \[5\], not \[3\], \[4\] or \[7\]"):
        from_lerobot(dataset, tmp_path / "again.h5")


def test_incomplete_datasets_are_refused(dataset: Path, tmp_path: Path) -> None:
    data = dataset / "data/chunk-000/file-000.parquet"
    film = dataset / f"videos/{KEY}/chunk-000/file-000.mp4"
    table, picture_data = pq.read_table(data), film.read_bytes()

    def refused(message: str) -> None:
        with pytest.raises(BadInput, match=message):
            from_lerobot(dataset, tmp_path / "again.h5")
        assert {path.name for path in tmp_path.iterdir()} == {"demos.h5", "dataset"}

    pq.write_table(table.slice(0, 9), data)
    refused(r"file-000\.parquet: frames 7 to 9: not complete; copy the dataset again")
    pq.write_table(table.drop_columns(["action"]), data)
    refused(r"file-000\.parquet: not as LeRobot has it")
    at = table.column_names.index("branch")
    pq.write_table(table.set_column(at, "branch", pa.array([2] * 16)), data)
    refused("frames 0 to 6: branch: not one of -1, 0, 1")
    at = table.column_names.index("observation.location")
    nans = pa.FixedSizeListArray.from_arrays(pa.array(np.full(48, np.nan, np.float32)), 3)
    pq.write_table(table.set_column(at, "observation.location", nans), data)
    refused("dataset: episode 0, frame 0: branch -1, frame 0: loc_t has values that are not finite")
    data.write_bytes(b"no Parquet")
    refused(r"file-000\.parquet: not as LeRobot has it")
    pq.write_table(table, data)
    film.write_bytes(picture_data[: len(picture_data) // 2])
    refused(r"file-000\.mp4: (not a film|ends after)")
    film.unlink()
    refused(r"file-000\.mp4: not a film that can be read")
    shutil.rmtree(dataset / "meta/episodes")
    refused("meta/episodes: no Parquet files")
    shutil.rmtree(dataset / "meta")
    refused("no such LeRobot dataset")
