"""Interactions from recordings of pedestrians and vehicles; here those in the format of inD, ``vci`` has the others.

Every vehicle that drives is one clip, with the pedestrians near it; it is resampled to 10 Hz by linear interpolation.
Its path is what it drove, prolonged straight at both ends. Recordings have no map, and head and body are not labelled;
``sidestep.prediction.data.attributes`` adds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import STEP_S, ClipFrames, ClipTracks, assemble, cut_tracks
from sidestep.prediction.data.corridor import extend
from sidestep.prediction.data.from_records import AHEAD_M, BEHIND_M
from sidestep.prediction.data.recorded_csv import Columns, Kind, read_columns
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.interactions import Clip, Interactions

LONGEST_GAP_S = 0.5
"""Longer gaps in the frames of somebody cut the track."""
LONGEST_S = 7200.0
"""Longest track of a vehicle; recordings are cut into parts of less than an hour."""
DRIVES_M = 5.0
"""A vehicle that moves less in all has no clip."""
HOP_M = 0.5
"""Least distance between two points of a path: less is noise of a vehicle that stands."""


@dataclass(frozen=True, eq=False)
class Mover:
    """A vehicle or a pedestrian: K moments."""

    number: int
    time: FloatArray  # (K,) s, rising
    position: FloatArray  # (K, 2) m
    heading: FloatArray  # (K,) rad, without jumps
    speed: FloatArray  # (K,) m/s
    length: float = 0.0
    width: float = 0.0


_TRACKS: dict[str, Kind] = {
    "trackId": "whole", "frame": "whole", "xCenter": "number", "yCenter": "number", "heading": "number",
    "xVelocity": "number", "yVelocity": "number",
}  # fmt: skip
_META: dict[str, Kind] = {"trackId": "whole", "width": "number", "length": "number", "class": "text"}
VEHICLES = ("car", "truck_bus", "van", "truck", "bus")


def load_ind(folder: Path, place: str = "none") -> Interactions:
    """All vehicles of the recordings in the format of inD in ``folder``: ``NN_tracks.csv``, ``NN_tracksMeta.csv`` and
    ``NN_recordingMeta.csv``. ``place`` is one of ``PLACES``: the facilities for people who cross."""
    files = sorted(folder.glob("*tracks.csv"))
    if not files:
        raise BadInput(f"{folder}: no *_tracks.csv in it; give the folder with the recordings")
    return assemble(clip for file in files for clip in _ind_clips(file, place))


def _ind_clips(tracks: Path, place: str) -> Iterator[ClipTracks]:
    stem = tracks.name.removesuffix("tracks.csv")
    recording = read_columns(tracks.with_name(f"{stem}recordingMeta.csv"), {"frameRate": "number"})
    recording.refuse(recording["frameRate"] <= 0.0, "column frameRate: must be positive, frames per second")
    rate = float(recording["frameRate"][0])
    meta = read_columns(tracks.with_name(f"{stem}tracksMeta.csv"), _META)
    about = {int(number): row for row, number in enumerate(meta["trackId"])}
    cars, people = [], []
    for number, rows in rows_by(read_columns(tracks, _TRACKS), "trackId"):
        if number not in about:
            raise BadInput(f"{tracks}:{rows.line[0]}: track {number} is not in {meta.path.name}")
        row = about[number]
        kind, time, position = str(meta["class"][row]), rows["frame"] / rate, points_of(rows, "xCenter", "yCenter")
        if kind == "pedestrian":
            people.append(walker_of(number, time, position))
        elif kind in VEHICLES:
            heading = np.unwrap(np.deg2rad(rows["heading"]))
            speed = rows["xVelocity"] * np.cos(heading) + rows["yVelocity"] * np.sin(heading)
            length, width = float(meta["length"][row]), float(meta["width"][row])
            if not (length > 0.0 and width > 0.0):
                raise BadInput(f"{meta.path}:{meta.line[row]}: track {number} is a {kind} without length or width")
            cars.append(Mover(number, time, position, heading, speed, length, width))
    return clips_of(f"ind/{stem.rstrip('_') or 'recording'}", cars, people, place)


def walker_of(number: int, time: FloatArray, position: FloatArray) -> Mover:
    """A pedestrian, whose heading and speed do not matter."""
    return Mover(number, time, position, np.zeros(len(time)), np.zeros(len(time)))


def points_of(rows: Columns, x: str, y: str) -> FloatArray:
    """(K, 2) two columns."""
    return np.stack([rows[x], rows[y]], axis=1)


def rows_by(table: Columns, key: str) -> Iterator[tuple[int, Columns]]:
    """The rows of each number, in the order of their frames."""
    order = np.lexsort((table["frame"], table[key]))
    table = table.choose(order)
    repeated = np.zeros(len(table), bool)
    repeated[1:] = (np.diff(table[key]) == 0) & (np.diff(table["frame"]) == 0)
    row = int(np.argmax(repeated))
    table.refuse(repeated, f"{key} {table[key][row]} is at frame {table['frame'][row]} twice; remove one of the rows")
    edges = np.nonzero(np.diff(table[key]))[0] + 1
    for rows in np.split(np.arange(len(table)), edges):
        yield int(table[key][rows[0]]), table.choose(rows)


def clips_of(name: str, cars: list[Mover], people: list[Mover], place: str) -> Iterator[ClipTracks]:
    """One clip for every vehicle that drives."""
    for car in cars:
        if car.time[-1] - car.time[0] > LONGEST_S:
            raise BadInput(
                f"{name}: vehicle {car.number} is there from {car.time[0]:g} to {car.time[-1]:g} s, longer than "
                f"{LONGEST_S:g} s; correct its frames, or cut the recording"
            )
        if float(np.ptp(car.position, axis=0).max()) < DRIVES_M or car.time[-1] - car.time[0] < STEP_S:
            continue
        time = car.time[0] + STEP_S * np.arange(int((car.time[-1] - car.time[0]) / STEP_S + 1e-6) + 1)
        x, y, heading, speed = (
            np.interp(time, car.time, values) for values in (*car.position.T, car.heading, car.speed)
        )
        ego = np.stack([x, y, heading], axis=1)
        path = extend(ego[:, :2], BEHIND_M, AHEAD_M, hop_m=HOP_M)
        near = [each for each in people if each.time[-1] >= time[0] and each.time[0] <= time[-1]]
        position = np.zeros((len(time), len(near), 2))
        present = np.zeros((len(time), len(near)), bool)
        for k, each in enumerate(near):
            for axis in (0, 1):
                position[:, k, axis] = np.interp(time, each.time, each.position[:, axis])
            present[:, k] = _is_present(time, each.time)
        unknown = np.full(present.shape, np.nan)
        clip = Clip(f"{name}/{car.number}", path, car.length, car.width, place=place, origin="recorded")
        person = np.array([each.number for each in near], np.int64)
        yield cut_tracks(
            ClipFrames(clip, None, person, position, present, unknown, unknown, ego, speed, float(time[0]))
        )


def _is_present(time: FloatArray, seen: FloatArray) -> BoolArray:
    """(T,) whether ``time`` lies between two frames that are not too far apart, or at one."""
    after = np.clip(np.searchsorted(seen, time - 1e-9), 0, len(seen) - 1)
    before = np.clip(np.searchsorted(seen, time + 1e-9, side="right") - 1, 0, len(seen) - 1)
    inside = (time >= seen[0] - 1e-9) & (time <= seen[-1] + 1e-9)
    found: BoolArray = inside & (seen[after] - seen[before] <= LONGEST_GAP_S)
    return found
