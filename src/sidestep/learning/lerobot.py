"""Demonstrations as LeRobot datasets (layout v3.0: Parquet files and MP4 films) and back.

::

    meta/info.json                              features, frames per second, number of episodes
    meta/stats.json                             minimum, maximum, mean and standard deviation of every feature
    meta/tasks.parquet                          texts of the tasks
    meta/episodes/chunk-000/file-000.parquet    where each episode is, and its statistics
    data/chunk-000/file-000.parquet             all fields but pictures, one row per frame
    videos/KEY/chunk-000/file-000.mp4           pictures of many episodes, one after another

Everything but the pictures survives a round trip exactly; films are compressed with losses.

Source: https://huggingface.co/docs/lerobot/lerobot-dataset-v3
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidestep._util.reading import is_folder
from sidestep._util.writing import TEMPORARY, CannotWrite, whole_file
from sidestep.errors import BadInput, MissingExtra
from sidestep.learning.demonstration_layout import (
    BRANCHES,
    COLUMNS,
    FIELDS,
    LABELS,
    MEASUREMENTS,
    RATE_HZ,
    Array,
    DemonstrationEpisode,
    DemonstrationFrame,
    fields_with,
)
from sidestep.learning.demonstration_reader import Demonstrations
from sidestep.learning.demonstrations import DemonstrationWriter
from sidestep.records.lerobot_layout import (
    DATA_MB,
    DATA_PATH,
    FEATURES,
    VIDEO_KEY,
    VIDEO_MB,
    VIDEO_PATH,
    EpisodeTable,
    file_name,
    read_episodes,
    read_info,
    read_table,
)

CODEC: Final = "libx264"
ENCODING = {"crf": "18", "g": "2", "bf": "0", "preset": "veryfast"}
"""Every other picture is a key frame, so that single pictures are found quickly, as in LeRobot's own films."""


def to_lerobot(
    reader: Demonstrations,
    folder: Path | str,
    *,
    rate_hz: int = RATE_HZ,
    data_mb: float = DATA_MB,
    video_mb: float = VIDEO_MB,
) -> None:
    """Write all demonstrations as a LeRobot dataset. ``rate_hz`` is the number of frames per second; files are split
    where they would become larger than ``data_mb`` and ``video_mb``. The folder is complete or not there."""
    folder = Path(folder)
    if not len(reader):
        raise BadInput(f"{reader.path}: has no frames to convert; record some first")
    if rate_hz != int(rate_hz) or rate_hz < 1:
        raise BadInput(f"rate_hz: LeRobot needs a whole number of frames per second, not {rate_hz:g}")
    if folder.exists() and not (is_folder(folder) and not any(folder.iterdir())):
        raise BadInput(f"{folder}: already exists; choose the name of a new folder")
    _check_encoder()
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}{TEMPORARY}")
    try:
        temporary.mkdir(parents=True)
        _write_dataset(reader, temporary, int(rate_hz), data_mb, video_mb)
        os.replace(temporary, folder)
    except OSError as error:
        raise CannotWrite(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def from_lerobot(folder: Path | str, path: Path | str, *, overwrite: bool = False) -> None:
    """Write the demonstrations of a LeRobot dataset that :func:`to_lerobot` made into an HDF5 file."""
    folder, path = Path(folder), Path(path)
    if path.exists() and not overwrite:
        raise BadInput(f"{path}: already exists; choose another name or overwrite it")
    info = read_info(folder)
    measurements = _check_features(info["features"], folder)
    inputs, weathers = _check_inputs(info["features"]["observation.state"].get("info"), folder)
    episodes = read_episodes(folder)
    tables, films = _Tables(folder, measurements), _Films(folder, info["fps"])
    how: dict[str, Any] = {"measurements": measurements, "inputs": inputs, "weathers": weathers}
    with whole_file(path) as temporary, DemonstrationWriter(temporary, **how) as writer:
        for number, episode in enumerate(episodes):
            columns = tables.read(episode)
            branches = columns.pop("branch")
            for row, picture in enumerate(films.read(episode)):
                image = picture if inputs == 1 else picture[..., ::-1]
                frame = DemonstrationFrame(image=image, **{name: column[row] for name, column in columns.items()})
                try:
                    writer.add(int(branches[row]), frame)
                except BadInput as error:
                    reason = str(error).removeprefix(f"{temporary}: ")
                    raise BadInput(f"{folder}: episode {number}, frame {row}: {reason}") from None


def _write_dataset(reader: Demonstrations, folder: Path, rate_hz: int, data_mb: float, video_mb: float) -> None:
    schema = _schema(reader.measurements)
    features = _describe_features(reader.measurements, rate_hz)
    features["observation.state"]["info"] = {"inputs": reader.inputs, "weathers": list(reader.weathers)}
    table = EpisodeTable(rate_hz, features, data_mb, video_mb)
    data, film = _Parts(folder, DATA_PATH, data_mb), _Parts(folder, VIDEO_PATH, video_mb)
    parquet: Any = None
    video: _Film | None = None
    try:
        for number, episode in enumerate(reader.episodes):
            columns = _columns(reader, episode)
            length = episode.stop - episode.start
            if data.begins_file(data.path.stat().st_size):
                if parquet is not None:
                    parquet.close()
                parquet = pq.ParquetWriter(data.path, schema, compression="snappy")
            if film.begins_file(video.bytes if video is not None else 0):
                if video is not None:
                    video.close()
                video = _Film(film.path, rate_hz)
            assert video is not None
            rows = {
                **columns,
                "timestamp": (np.arange(length) / rate_hz).astype(np.float32),
                "frame_index": np.arange(length),
                "episode_index": np.full(length, number),
                "index": np.arange(table.frames, table.frames + length),
                "task_index": np.full(length, table.task_index(BRANCHES[episode.branch])),
            }
            parquet.write_table(pa.table([_arrow(rows[field.name], field.type) for field in schema], schema=schema))
            first = video.frames
            pictures = reader.pictures(episode.branch, episode.start, episode.stop)
            video.add(pictures)
            table.add(BRANCHES[episode.branch], rows, pictures, data.number, film.number, first)
    finally:
        for each in (parquet, video):
            if each is not None:
                each.close()
    table.write(folder)


def _columns(reader: Demonstrations, episode: DemonstrationEpisode) -> dict[str, Array]:
    branch, start, stop = episode[:3]
    columns = {key: reader.column(branch, name, start, stop) for name, key in FEATURES.items()}
    return {**columns, "branch": np.full(stop - start, branch)}


def _describe_features(measurements: int, rate_hz: int) -> dict[str, Any]:
    """``features`` of ``meta/info.json``."""
    height, width, channels = FIELDS["img_t"].shape
    names: dict[str, Any] = {
        "observation.state": ["speed", "route_distance", "goal_angle", "remaining", "lane_0", "lane_1", "lane_2"],
        "observation.command": ["lateral", "longitudinal"],
        "observation.location": ["x", "y", "z"],
        "observation.rotation": ["pitch", "roll", "yaw"],
        "action": ["steer", "throttle", "brake"],
    }
    video = {
        "video.height": height, "video.width": width, "video.codec": "h264", "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False, "video.fps": rate_hz, "video.channels": channels, "has_audio": False,
    }  # fmt: skip
    features: dict[str, Any] = {
        VIDEO_KEY: {
            "dtype": "video",
            "shape": [height, width, channels],
            "names": ["height", "width", "channels"],
            "info": video,
        }
    }
    for field in _schema(measurements):
        size = field.type.list_size if pa.types.is_fixed_size_list(field.type) else 1
        item = field.type.value_type if size > 1 else field.type
        dtype = {"float": "float32"}.get(str(item), str(item))
        known = names.get(field.name)
        features[field.name] = {"dtype": dtype, "shape": [size], "names": known[:size] if known else None}
    return features


def _schema(measurements: int) -> Any:
    """Schema of the Parquet files with the frames."""
    fields = fields_with(measurements)
    types = {"f4": pa.float32(), "i8": pa.int64(), "?": pa.bool_()}
    numbers = ("frame_index", "episode_index", "index", "task_index", "branch")
    columns = [pa.field("timestamp", pa.float32()), *(pa.field(name, pa.int64()) for name in numbers)]
    for name, key in FEATURES.items():
        field = fields[COLUMNS[name]]
        plain = types[field.dtype]
        columns.append(pa.field(key, pa.list_(plain, field.shape[0]) if field.shape else plain))
    return pa.schema(columns)


def _arrow(values: Array, kind: Any) -> Any:
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind.value_type), kind.list_size)
    return pa.array(values, kind)


def _check_features(features: Any, folder: Path) -> int:
    """Raise unless a dataset has all that demonstrations need; returns the number of measurements."""
    place = f"{folder / 'meta/info.json'}: features"
    for key in (VIDEO_KEY, "branch", *FEATURES.values()):
        if not isinstance(features, dict) or not isinstance(features.get(key), dict):
            raise BadInput(f"{place}: no {key!r}; only datasets of demonstrations that Sidestep wrote can be converted")
    shape = features["observation.state"].get("shape")
    measurements = shape[0] if isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], int) else 0
    if measurements not in MEASUREMENTS:
        raise BadInput(
            f"{place}: observation.state has shape {shape!r:.60}, not [3], [4] or [7]; write the dataset again"
        )
    wanted = _describe_features(measurements, 1)
    for key in (VIDEO_KEY, "branch", *FEATURES.values()):
        for word in ("dtype", "shape"):
            if features[key].get(word) != wanted[key][word]:
                found = f"{features[key].get(word)!r:.80}"
                raise BadInput(f"{place}: {key}: {word} is {found}, not {wanted[key][word]!r}; write the dataset again")
    return measurements


def _check_inputs(info: Any, folder: Path) -> tuple[int, tuple[str, ...]]:
    """Version of the inputs and names of the weathers; datasets that are older than the versions have neither."""
    if info is None:
        return 1, ()
    place = f"{folder / 'meta/info.json'}: features: observation.state: info"
    inputs, weathers = (info.get("inputs"), info.get("weathers", [])) if isinstance(info, dict) else (None, [])
    if inputs not in (1, 2):
        raise BadInput(f"{place}: inputs is {inputs!r:.40}, not 1 or 2; write the dataset again")
    if not isinstance(weathers, list) or not all(isinstance(name, str) for name in weathers):
        raise BadInput(f"{place}: weathers is {weathers!r:.40}, not a list of names; write the dataset again")
    return int(inputs), tuple(weathers)


class _Parts:
    """Files that are filled with one episode after another up to a size."""

    def __init__(self, folder: Path, template: str, most_mb: float) -> None:
        self._folder, self._template, self._most = folder, template, most_mb * 2**20
        self._episodes = 0
        self.number = -1
        self.path = folder

    def begins_file(self, size: int) -> bool:
        """Whether the next episode begins a new file, which is then ``path``; ``size`` is that of the present file. The
        episode is taken to be as large as the average one in the file."""
        episodes, self._episodes = self._episodes, self._episodes + 1
        if episodes and size + size / episodes < self._most:
            return False
        self._episodes, self.number = 1, self.number + 1
        self.path = self._folder / file_name(self._template, self.number)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return True


class _Film:
    """An MP4 file that is being written."""

    def __init__(self, path: Path, rate_hz: int) -> None:
        import av

        height, width, _ = FIELDS["img_t"].shape
        self.frames = self.bytes = 0
        self._time_base = Fraction(1, rate_hz)
        self._container = av.open(str(path), "w", format="mp4")
        self._stream = self._container.add_stream(CODEC, rate=rate_hz, options=ENCODING)
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"

    def add(self, pictures: Array) -> None:
        """The pictures of an episode."""
        import av

        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            frame.pts, frame.time_base = self.frames, self._time_base
            packets = self._stream.encode(frame)
            self._container.mux(packets)
            self.frames += 1
            self.bytes += sum(packet.size for packet in packets)

    def close(self) -> None:
        """Finish the file."""
        self._container.mux(self._stream.encode())
        self._container.close()


class _Tables:
    """Frames of a dataset, without their pictures."""

    def __init__(self, folder: Path, measurements: int) -> None:
        self._folder, self._schema = folder, _schema(measurements)
        self._path: Path | None = None
        self._table: Any = None

    def read(self, episode: dict[str, Any]) -> dict[str, Any]:
        """Columns of an episode by the names of :class:`DemonstrationFrame`, and ``branch``."""
        path = self._folder / file_name(DATA_PATH, episode["data_file"])
        if path != self._path:
            self._table, self._path = read_table(path, self._schema), path
        index = self._table["index"].to_numpy()
        rows = np.flatnonzero((index >= episode["start"]) & (index < episode["stop"]))
        place = f"{path}: frames {episode['start']} to {episode['stop'] - 1}"
        if not np.array_equal(index[rows], np.arange(episode["start"], episode["stop"])):
            raise BadInput(f"{place}: not complete; copy the dataset again")
        part = self._table.take(rows)
        columns: dict[str, Any] = {"branch": part["branch"].to_numpy()}
        if not np.isin(columns["branch"], list(BRANCHES)).all():
            raise BadInput(f"{place}: branch: not one of {', '.join(map(str, BRANCHES))}; write the dataset again")
        for name, key in FEATURES.items():
            values = part[key].combine_chunks()
            if pa.types.is_fixed_size_list(values.type):
                columns[name] = values.flatten().to_numpy().reshape(len(rows), values.type.list_size)
            else:
                columns[name] = values.to_numpy(zero_copy_only=False)
        for name in LABELS:
            columns[name] = columns[name].tolist()
        columns["done"] = columns["done"].tolist()
        return columns


class _Films:
    """Pictures of a dataset. Episodes are in order, so each film is decoded once."""

    def __init__(self, folder: Path, rate_hz: int) -> None:
        _check_encoder()
        self._folder, self._rate_hz = folder, rate_hz
        self._path: Path | None = None
        self._pictures: Iterator[Array] = iter(())
        self._next = 0

    def read(self, episode: dict[str, Any]) -> Iterator[Array]:
        """The pictures of an episode."""
        path = self._folder / file_name(VIDEO_PATH, episode["video_file"])
        first = round(episode["from_timestamp"] * self._rate_hz)
        if path != self._path or first < self._next:
            self._pictures, self._path, self._next = _decode(path), path, 0
        for _ in range(episode["stop"] - episode["start"] + first - self._next):
            picture = next(self._pictures, None)
            if picture is None:
                raise BadInput(f"{path}: ends after {self._next} pictures; copy the dataset again")
            self._next += 1
            if self._next > first:
                yield picture


def _decode(path: Path) -> Iterator[Array]:
    import av

    try:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                if (frame.height, frame.width) != FIELDS["img_t"].shape[:2]:
                    raise BadInput(f"{path}: has pictures of {frame.width} × {frame.height}, not 200 × 88")
                picture: Array = frame.to_ndarray(format="rgb24")
                yield picture
    except (av.FFmpegError, OSError, IndexError, ValueError, EOFError, MemoryError) as error:
        raise BadInput(f"{path}: not a film that can be read ({error!s:.120}); copy the dataset again") from None


def _check_encoder() -> None:
    try:
        import av
    except ImportError:
        raise MissingExtra("converting to and from LeRobot", "video") from None
    try:
        av.Codec(CODEC, "w")
    except ValueError:
        raise BadInput(
            f"the PyAV of this machine has no H.264 encoder ({CODEC}); install the one from PyPI "
            "(pip install --force-reinstall av)"
        ) from None
