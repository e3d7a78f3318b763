"""The ``meta`` folder of a LeRobot dataset (v3.0): what is in which file, and the statistics of every feature."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sidestep._util.reading import check_parquet, read_json
from sidestep.errors import BadInput

Array = NDArray[Any]
VERSION = "v3.0"
CHUNK = 1000
"""Files in a folder."""
MOST_ROWS = 10_000_000
"""Most rows of a table; a file of frames has some ten thousand."""
DATA_MB = 100
VIDEO_MB = 200
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_KEY = "observation.images.front"
VIDEO_PATH = f"videos/{VIDEO_KEY}/chunk-{{chunk_index:03d}}/file-{{file_index:03d}}.mp4"
ANY_VIDEO_PATH = VIDEO_PATH.replace(VIDEO_KEY, "{video_key}")
FEATURES = {
    "measurements": "observation.state", "lidar": "observation.lidar", "command": "observation.command",
    "location": "observation.location", "rotation": "observation.rotation", "action": "action", "pose": "pose",
    "town": "town", "scene": "scene", "trace": "trace", "weather": "weather", "done": "next.done",
}  # fmt: skip
"""Name in a LeRobot dataset of each field but the picture, which is :data:`VIDEO_KEY`."""


def file_name(template: str, number: int) -> str:
    """Path of the file with a number, counted through all folders."""
    return template.format(chunk_index=number // CHUNK, file_index=number % CHUNK)


class EpisodeTable:
    """Collects what the ``meta`` folder says while episodes are written."""

    def __init__(self, rate_hz: int, features: dict[str, Any], data_mb: float, video_mb: float) -> None:
        self._rate_hz, self._features, self._sizes = rate_hz, features, (data_mb, video_mb)
        self._rows: list[dict[str, Any]] = []
        self._statistics: list[dict[str, dict[str, Array]]] = []
        self._tasks: dict[str, int] = {}
        self.frames = 0

    def task_index(self, task: str) -> int:
        """Number of a task; a new task gets the next one."""
        return self._tasks.setdefault(task, len(self._tasks))

    def add(
        self, task: str, rows: Mapping[str, Array], pictures: Array, data_file: int, video_file: int, first_picture: int
    ) -> None:
        """An episode, with the numbers of its files and of its first picture in the film."""
        length = len(pictures)
        statistics = {name: _describe(np.atleast_2d(rows[name].T).T) for name in rows}
        statistics[VIDEO_KEY] = {
            name: value if name == "count" else value.reshape(3, 1, 1) / 255
            for name, value in _describe(pictures.reshape(-1, 3), length).items()
        }
        self._statistics.append(statistics)
        video = f"videos/{VIDEO_KEY}"
        self._rows.append(
            {
                "episode_index": len(self._rows),
                "tasks": [task],
                "length": length,
                "data/chunk_index": data_file // CHUNK,
                "data/file_index": data_file % CHUNK,
                "dataset_from_index": self.frames,
                "dataset_to_index": self.frames + length,
                f"{video}/chunk_index": video_file // CHUNK,
                f"{video}/file_index": video_file % CHUNK,
                f"{video}/from_timestamp": first_picture / self._rate_hz,
                f"{video}/to_timestamp": (first_picture + length) / self._rate_hz,
                **{
                    f"stats/{key}/{name}": value.tolist()
                    for key, each in statistics.items()
                    for name, value in each.items()
                },
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
        )
        self.frames += length

    def write(self, folder: Path) -> None:
        """Write the ``meta`` folder."""
        path = folder / file_name(EPISODES_PATH, 0)
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(self._rows), path, compression="snappy")
        pq.write_table(_task_table(self._tasks), folder / "meta/tasks.parquet", compression="snappy")
        info = {
            "codebase_version": VERSION,
            "robot_type": "car",
            "total_episodes": len(self._rows),
            "total_frames": self.frames,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK,
            "data_files_size_in_mb": self._sizes[0],
            "video_files_size_in_mb": self._sizes[1],
            "fps": self._rate_hz,
            "splits": {"train": f"0:{len(self._rows)}"},
            "data_path": DATA_PATH,
            "video_path": ANY_VIDEO_PATH,
            "features": self._features,
        }
        for name, value in (("info", info), ("stats", _united(self._statistics))):
            (folder / f"meta/{name}.json").write_text(json.dumps(value, indent=4), encoding="utf-8")


def read_description(path: Path) -> dict[str, Any]:
    """``meta/info.json`` of a dataset of version 3."""
    info = read_json(path, "LeRobot dataset (its meta/info.json)")
    if not isinstance(info, dict):
        raise BadInput(f"{path}: not the description of a LeRobot dataset; give the folder of one")
    version = info.get("codebase_version")
    if not isinstance(version, str) or not version.startswith("v3."):
        raise BadInput(f"{path}: codebase_version is {version!r:.40}, not v3.0; convert the dataset with LeRobot first")
    return info


def read_info(folder: Path) -> dict[str, Any]:
    """``meta/info.json`` of a dataset of the version and the paths that are known here."""
    path = folder / "meta/info.json"
    info = read_description(path)
    for key, wanted in (("data_path", DATA_PATH), ("video_path", ANY_VIDEO_PATH), ("chunks_size", CHUNK)):
        if info.get(key) != wanted:
            raise BadInput(
                f"{path}: {key} is {info.get(key)!r:.80}, not {wanted!r}; convert the dataset with LeRobot first"
            )
    rate_hz = info.get("fps")
    if isinstance(rate_hz, bool) or not isinstance(rate_hz, int) or rate_hz < 1:
        raise BadInput(f"{path}: fps is {rate_hz!r:.40}, not a whole number of frames per second; correct it")
    return info


def read_episodes(folder: Path) -> list[dict[str, Any]]:
    """The episodes in order: ``start`` and ``stop`` (numbers of frames), ``data_file``, ``video_file`` (numbers of
    files), ``from_timestamp`` (s in the film)."""
    video = f"videos/{VIDEO_KEY}"
    names = [
        "episode_index", "dataset_from_index", "dataset_to_index", "data/chunk_index", "data/file_index",
        f"{video}/chunk_index", f"{video}/file_index",
    ]  # fmt: skip
    schema = pa.schema([*((name, pa.int64()) for name in names), (f"{video}/from_timestamp", pa.float64())])
    paths = sorted((folder / "meta/episodes").glob("*/*.parquet"))
    if not paths:
        raise BadInput(f"{folder / 'meta/episodes'}: no Parquet files; copy the dataset again, with all its files")
    rows = [row for path in paths for row in read_table(path, schema).to_pylist()]
    rows.sort(key=lambda row: row["episode_index"])
    frames = 0
    episodes = []
    for row in rows:
        place = f"{folder / 'meta/episodes'}: episode {row['episode_index']}"
        if row["dataset_from_index"] != frames or row["dataset_to_index"] <= frames:
            raise BadInput(f"{place}: does not follow the one before it; copy the dataset again")
        if min(row[name] for name in names) < 0 or not 0 <= row[f"{video}/from_timestamp"] < 1e9:
            raise BadInput(f"{place}: has no place in a file or film; copy the dataset again")
        frames = row["dataset_to_index"]
        episodes.append(
            {
                "start": row["dataset_from_index"],
                "stop": frames,
                "data_file": row["data/chunk_index"] * CHUNK + row["data/file_index"],
                "video_file": row[f"{video}/chunk_index"] * CHUNK + row[f"{video}/file_index"],
                "from_timestamp": row[f"{video}/from_timestamp"],
            }
        )
    return episodes


def read_table(path: Path, schema: Any) -> Any:
    """The columns of ``schema`` of a Parquet file, with its types and without empty values."""
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            check_parquet(file.metadata, str(path), MOST_ROWS)
            table = file.read(columns=schema.names, use_threads=False)  # a thread may outlive an error elsewhere
        table = table.select(schema.names).cast(schema)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; copy the dataset again, with all its files") from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        text = (str(error).splitlines() or [""])[0][:160]
        raise BadInput(f"{path}: not as LeRobot has it ({text}); copy the dataset again") from None
    if any(column.null_count for column in table.columns):
        raise BadInput(f"{path}: has empty values; copy the dataset again")
    return table


def _describe(values: Array, count: int | None = None) -> dict[str, Array]:
    """Statistics of each column. Pictures are summed as whole numbers: they are many."""
    count = len(values) if count is None else count
    if values.dtype == np.uint8:
        shares = np.stack([np.bincount(column, minlength=256) for column in values.T]) / len(values)
        levels = np.arange(256.0)
        mean = shares @ levels
        deviation = np.sqrt(np.maximum(shares @ (levels * levels) - mean * mean, 0))
    else:
        values = values.astype(float)
        mean, deviation = values.mean(axis=0), values.std(axis=0)
    least, most = values.min(axis=0).astype(float), values.max(axis=0).astype(float)
    return {"min": least, "max": most, "mean": mean, "std": deviation, "count": np.array([count])}


def _united(episodes: list[dict[str, dict[str, Array]]]) -> dict[str, dict[str, Any]]:
    """Statistics of all episodes from those of each: mean square = variance + mean²."""
    united: dict[str, dict[str, Any]] = {}
    for key in episodes[0]:
        each = {name: np.stack([episode[key][name] for episode in episodes]) for name in episodes[0][key]}
        count = each["count"].sum()
        weights = each["count"].reshape(-1, *[1] * (each["mean"].ndim - 1)) / count
        mean = (weights * each["mean"]).sum(axis=0)
        spread = (weights * (each["std"] ** 2 + (each["mean"] - mean) ** 2)).sum(axis=0)
        values = {
            "min": each["min"].min(axis=0), "max": each["max"].max(axis=0), "mean": mean, "std": np.sqrt(spread),
            "count": np.array([count]),
        }  # fmt: skip
        united[key] = {name: value.tolist() for name, value in values.items()}
    return united


def _task_table(tasks: Mapping[str, int]) -> Any:
    """Texts as the index of a table of pandas, which is how LeRobot reads them."""
    columns = [
        {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"},
        {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object"},
    ]
    about = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [{**column, "metadata": None} for column in columns],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    table = pa.table({"task_index": pa.array(tasks.values(), pa.int64()), "task": pa.array(tasks.keys(), pa.string())})
    return table.replace_schema_metadata({"pandas": json.dumps(about)})
