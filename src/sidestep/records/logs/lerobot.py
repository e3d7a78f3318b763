"""LeRobot datasets (v3.0) as logs: each episode is a drive.

The robot's pose is looked for in the names of features: ``observation.location`` and ``observation.rotation`` as in our
demonstrations (y and angles to the right, degrees), else columns given by ``--columns x=KEY.NAME`` or
``x=KEY[INDEX]``, else ``observation.state`` with names ``x`` and ``y``. People are a feature of x and y in turn
(``observation.people``, ``observation.pedestrians``); NaN stands for nobody. Pictures are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidestep._util.reading import check_parquet, is_file
from sidestep.errors import BadInput, did_you_mean
from sidestep.records.lerobot_layout import FEATURES, read_description
from sidestep.records.logs.drive import (
    MOST_ROWS,
    LoggedDrive,
    ReadOptions,
    Track,
    add_counts,
    describe_repairs,
    make_track,
)
from sidestep.types.base import FloatArray

QUANTITIES = ("x", "y", "heading", "vx", "vy", "omega", "v", "goal_x", "goal_y")
SPELLINGS: dict[str, tuple[str, ...]] = {
    "x": ("x", "px", "pos_x", "position_x"),
    "y": ("y", "py", "pos_y", "position_y"),
    "heading": ("heading", "yaw", "theta"),
    "vx": ("vx",),
    "vy": ("vy",),
    "omega": ("omega", "yaw_rate"),
    "goal_x": ("goal_x",),
    "goal_y": ("goal_y",),
}
STATE = "observation.state"
PEOPLE = ("observation.people", "observation.pedestrians")
OURS = (FEATURES["location"], FEATURES["rotation"])
ELEMENT = re.compile(r"(.+?)(?:\[(\d+)\])?")


@dataclass(frozen=True)
class LerobotLog:
    """Reads LeRobot datasets."""

    name: str = "lerobot"
    summary: str = "LeRobot dataset v3.0 (folder with meta/info.json); --columns x=observation.state[0],y=…,heading=…"

    def matches(self, path: Path) -> bool:
        """Whether it is a folder with the description of a dataset."""
        return is_file(path / "meta/info.json")

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """One drive per episode."""
        options.refuse(path, self.name, "topics", "rate_hz", "time_unit", "robot")
        features = _features(path)
        is_ours = not options.columns and set(OURS) <= features.keys()
        places = {} if is_ours else find_columns(path, features, options.columns)
        people = next((key for key in PEOPLE if key in features), None)
        keys = [*dict.fromkeys([*(OURS if is_ours else ()), *(key for key, _ in places.values())])]
        columns = "columns: " + ", ".join(f"{what}={key}[{k}]" for what, (key, k) in places.items())
        said = [f"pose from {' and '.join(OURS)}" if is_ours else columns]
        for number, rows in _episodes(path, [*keys, *([people] if people else [])]):
            mended: dict[str, int] = {}
            values = _from_ours(rows) if is_ours else {what: rows[key][:, k] for what, (key, k) in places.items()}
            robot = _robot(rows["timestamp"][:, 0], values, mended)
            walkers = _people(rows["timestamp"][:, 0], rows[people], mended) if people else None
            goal = (float(values["goal_x"][-1]), float(values["goal_y"][-1])) if "goal_x" in values else None
            notes = (*said, *describe_repairs(mended))
            yield LoggedDrive(robot=robot, people=walkers, goal=goal, name=f"episode{number}", said=notes)


def _features(path: Path) -> dict[str, Any]:
    where = path / "meta/info.json"
    features = read_description(where).get("features")
    if not isinstance(features, dict) or not all(isinstance(each, dict) for each in features.values()):
        raise BadInput(f"{where}: has no features; copy the dataset again")
    return features


def find_columns(path: Path, features: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Quantity → feature and element: as given, else by the names of the elements of the state."""
    found: dict[str, tuple[str, int]] = {}
    names = [str(name).lower() for name in _names(features.get(STATE, {}))]
    for what, spellings in SPELLINGS.items():
        spelling = next((each for each in spellings if each in names), None)
        if spelling is not None:
            found[what] = (STATE, names.index(spelling))
    for what, text in given.items():
        if what not in QUANTITIES:
            raise BadInput(f"--columns {what}=…: no such quantity{did_you_mean(what, QUANTITIES)}")
        found[what] = _element(path, features, text)
    if not {"x", "y"} <= found.keys():
        listed = ", ".join(f"{key} {_names(each) or each.get('shape')}" for key, each in features.items())[:400]
        raise BadInput(
            f"{path}: no feature has the robot's position; give --columns x=KEY[INDEX],y=KEY[INDEX]; features: {listed}"
        )
    return found


def _names(feature: Mapping[str, Any]) -> list[str]:
    names = feature.get("names")
    if isinstance(names, dict):  # some datasets name the axis
        names = next((each for each in names.values() if isinstance(each, list)), None)
    return [str(name) for name in names] if isinstance(names, list) else []


def _element(path: Path, features: Mapping[str, Any], text: str) -> tuple[str, int]:
    match = ELEMENT.fullmatch(text)
    key, index = (match[1], match[2]) if match else (text, None)
    if index is None and key not in features:
        key, _, name = text.rpartition(".")
        names = _names(features.get(key, {}))
        if name in names:
            return key, names.index(name)
        key = text
    if key not in features:
        raise BadInput(f"{path}: no feature {key!r}{did_you_mean(key, features)}")
    shape = features[key].get("shape") or [1]
    if int(index or 0) >= int(np.prod(shape)):
        raise BadInput(f"{path}: {key} has shape {shape}, so there is no element {index}")
    return key, int(index or 0)


def _episodes(path: Path, keys: list[str]) -> Iterator[tuple[int, dict[str, FloatArray]]]:
    """Number and columns (K, …) of every episode; one file is in memory at a time."""
    files = sorted((path / "data").glob("*/*.parquet"))
    if not files:
        raise BadInput(f"{path / 'data'}: no Parquet files; copy the dataset again, with all its files")
    columns = ["episode_index", "timestamp", *keys]
    waiting: dict[int, list[dict[str, FloatArray]]] = {}
    for file in files:
        try:
            with pq.ParquetFile(file, pre_buffer=False) as opened:
                check_parquet(opened.metadata, str(file), MOST_ROWS)
                table = opened.read(columns=columns, use_threads=False)
            arrays = {name: _array(table[name]) for name in columns}
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            text = (str(error).splitlines() or [""])[0][:160]
            raise BadInput(f"{file}: not as LeRobot has it ({text}); copy the dataset again") from None
        index = arrays.pop("episode_index")[:, 0].astype(np.int64)
        present = np.unique(index).tolist()
        for number in sorted(set(waiting) - set(present)):  # an episode may go on in the next file only
            yield number, _joined(waiting.pop(number))
        for number in present:
            waiting.setdefault(number, []).append({name: values[index == number] for name, values in arrays.items()})
    for number in sorted(waiting):
        yield number, _joined(waiting[number])


def _joined(parts: list[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _array(column: Any) -> FloatArray:
    """(K, C) float64 of a column of numbers or of lists of them, nested or not."""
    values = column.combine_chunks()
    count = len(values)
    while (
        pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type) or pa.types.is_large_list(values.type)
    ):
        values = values.flatten()
    flat = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
    return flat.reshape(count, -1) if count else flat.reshape(0, 1)


def _from_ours(rows: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Our own demonstrations: y and yaw to the right, yaw in degrees."""
    location, rotation = rows[OURS[0]], rows[OURS[1]]
    return {"x": location[:, 0], "y": -location[:, 1], "heading": -rotation[:, 2] * (np.pi / 180.0)}


def _robot(time: FloatArray, values: Mapping[str, FloatArray], mended: dict[str, int]) -> Track:
    velocity = None
    if {"vx", "vy"} <= values.keys():
        velocity = np.column_stack([values["vx"], values["vy"], values.get("omega", np.zeros(len(time)))])
    position = np.column_stack([values["x"], values["y"]])
    track, counts = make_track(np.round(time, 6), position, values.get("heading"), velocity)
    add_counts(mended, counts)
    return track


def _people(time: FloatArray, flat: FloatArray, mended: dict[str, int]) -> dict[int, Track]:
    """Person k is the k-th pair of numbers; a NaN is nobody."""
    tracks = {}
    for number in range(flat.shape[1] // 2):
        pair = flat[:, 2 * number : 2 * number + 2]
        here = np.isfinite(pair).all(axis=1)
        if here.any():
            tracks[number], counts = make_track(np.round(time[here], 6), pair[here])
            add_counts(mended, counts)
    return tracks


LEROBOT = LerobotLog()
