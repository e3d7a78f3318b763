"""Recordings of pedestrians as logs: one track is taken for the robot, the others are the people around it.

The files are read by the loaders of ``sidestep.datasets``. TrajNet++ names a primary pedestrian per scene; in ETH and
UCY files a track is chosen. Such a record scores a person by the metrics of a robot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidestep import registry
from sidestep._util.reading import is_file, parse_json
from sidestep.datasets import load_tracks
from sidestep.datasets.annotations import data_lines, frame_step, head_lines, read_text
from sidestep.errors import BadInput
from sidestep.records.logs.csv_log import CSV_LOG
from sidestep.records.logs.drive import LoggedDrive, ReadOptions, Track
from sidestep.types.tracks import Tracks

SUGGESTED = 8
"""Tracks that an error names."""


def by_person(tracks: Tracks) -> dict[int, Track]:
    """Person → track, groups included."""
    found = {}
    for person in tracks.people.tolist():
        rows = tracks.person == person
        found[person] = Track(tracks.time[rows], tracks.position[rows], group=tracks.group.get(person, -1))
    return found


def person_number(path: Path, wanted: str | None, tracks: dict[int, Track]) -> list[int]:
    """Numbers of the tracks that are robots."""
    if wanted == "all":
        return [number for number, track in tracks.items() if len(track.time) > 1]
    longest = sorted(tracks, key=lambda number: (-len(tracks[number].time), number))[:SUGGESTED]
    if wanted is None or not wanted.lstrip("-").isdigit() or int(wanted) not in tracks:
        what = "choose the track that is the robot" if wanted is None else f"no track {wanted!r}"
        raise BadInput(f"{path}: {what} with --robot ID, or --robot all; the longest are {longest}")
    return [int(wanted)]


def drive_of(tracks: dict[int, Track], robot: int, **more: Any) -> LoggedDrive:
    """The drive in which ``robot`` is the robot and everybody else a person."""
    people = {number: track for number, track in tracks.items() if number != robot}
    return LoggedDrive(robot=tracks[robot], people=people, **more)


@dataclass(frozen=True)
class PedestrianLog:
    """Reads recordings in formats of ``sidestep.datasets``."""

    name: str = "eth_ucy"
    summary: str = "ETH obsmat.txt, UCY .vsp, or lines `frame person x y`; --robot ID chooses the track"
    formats: tuple[str, ...] = field(default=("biwi", "ucy_vsp", "plain"))

    def matches(self, path: Path) -> bool:
        """Whether one of the formats is recognised. Tables with a header are the format ``csv``."""
        return (
            is_file(path)
            and not CSV_LOG.matches(path)
            and any(registry.load("datasets", name).matches(path) for name in self.formats)
        )

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """One drive per track that is asked for."""
        options.refuse(path, self.name, "topics", "columns", "time_unit")
        chosen = next((name for name in self.formats if registry.load("datasets", name).matches(path)), "plain")
        tracks = by_person(load_tracks(path, chosen, **rate_of(options)))
        for robot in person_number(path, options.robot, tracks):
            yield drive_of(tracks, robot, name=f"track{robot}", said=(f"robot: track {robot} of a {chosen} file",))


@dataclass(frozen=True)
class TrajnetLog:
    """Reads TrajNet++ files: each scene is a drive of its primary pedestrian."""

    name: str = "trajnet"
    summary: str = "TrajNet++ ndjson: each scene's primary pedestrian is the robot, or --robot ID"

    def matches(self, path: Path) -> bool:
        """Whether the first line is a scene or a track."""
        return is_file(path) and bool(head_lines(path, 1)) and registry.load("datasets", "trajnet").matches(path)

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """One drive per scene; with a robot's number one drive of its whole track."""
        options.refuse(path, self.name, "topics", "columns", "time_unit")
        recorded = load_tracks(path, "trajnet", **rate_of(options))
        tracks = by_person(recorded)
        scenes = list(_scenes(path))
        if options.robot is not None or not scenes:
            for robot in person_number(path, options.robot, tracks):
                yield drive_of(tracks, robot, name=f"track{robot}", said=(f"robot: track {robot}",))
            return
        fps = recorded.rate_hz * frame_step(*_frames(path))
        for number, primary, start, end in scenes:
            if primary not in tracks:
                raise BadInput(f"{path}: scene {number} is of pedestrian {primary}, who has no track rows")
            window = (start / fps - 0.5 / recorded.rate_hz, end / fps + 0.5 / recorded.rate_hz)
            said = (f"robot: pedestrian {primary} of scene {number}",)
            yield drive_of(tracks, primary, name=f"scene{number}", window=window, said=said)


def rate_of(options: ReadOptions) -> dict[str, float]:
    """The frame rate as an option of a dataset's loader, if it is given."""
    return {} if options.rate_hz is None else {"rate_hz": options.rate_hz}


def _rows(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    for number, line in zip(*reversed(data_lines(read_text(path))), strict=True):
        row = parse_json(line, f"{path}:{number}", finite=False)
        if isinstance(row, dict) and isinstance(row.get(kind), dict):
            yield row[kind]


def _scenes(path: Path) -> Iterator[tuple[int, int, float, float]]:
    """Number, primary pedestrian, first and last frame of every scene."""
    for place, scene in enumerate(_rows(path, "scene")):
        try:
            yield int(scene.get("id", place)), int(scene["p"]), float(scene["s"]), float(scene["e"])
        except (KeyError, TypeError, ValueError):
            raise BadInput(f"{path}: scene {place} needs id, p, s and e, got {scene!r:.80}") from None


def _frames(path: Path) -> tuple[Any, Any]:
    rows = [(row["f"], row["p"]) for row in _rows(path, "track") if row.get("prediction_number") is None]
    table = np.array(rows, np.float64)
    return table[:, 0], table[:, 1].astype(np.int64)


ETH_UCY = PedestrianLog()
TRAJNET_LOG = TrajnetLog()
