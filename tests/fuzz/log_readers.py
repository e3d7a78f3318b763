"""Readers of logs of robots and of films, as functions of a path, with valid inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.target import Prepared, from_file

# logs


def log(path: Path, format_name: str, **options: Any) -> None:
    """The records of a log."""
    from tests.records.logs.make import records_of

    records_of(path, format_name=format_name, **options)


CSV_LOG = ("time,id,x,y,heading,group,kind\n" + "".join(
    f"{k / 10},{who},{k},{who},0.1,{who},{'person' if who else 'robot'}\n" for k in range(5) for who in (0, 1)
)).encode()  # fmt: skip
COLUMN_MAP = b"time: t\nx: px\ny: py\nid: who\n"


def column_map(path: Path) -> None:
    """A map of columns in a file."""
    from sidestep.records.logs.csv_log import load_columns

    load_columns({"file": str(path)}, path)


def trajnet_log(folder: Path) -> bytes:
    """Two people in two scenes."""
    from tests.records.logs.test_tracks import trajnet

    return trajnet(folder / "seed.ndjson").read_bytes()


def lerobot_log(folder: Path, name: str) -> Prepared:
    """A file of a LeRobot dataset with people."""
    from tests.records.logs.test_lerobot import NAMED, STATE, dataset

    people = [[0.1 * k, 0.0, float("nan"), float("nan")] for k in range(5)] * 2
    features = NAMED | {"observation.people": {"dtype": "float32", "shape": [2, 2]}}
    whole = dataset(folder / "d", {"observation.state": STATE, "observation.people": people}, features)
    return from_file((whole / name).read_bytes(), f"d/{name}", lambda path: log(whole, "lerobot"))(folder)


def _messages() -> list[Any]:
    from tests.records.logs.make import odometry
    from tests.records.logs.test_rosbag import people

    return [message for k in range(4) for message in (odometry(k / 10, k / 10, 0.0, 1.0), people(k / 10, 3.0))]


def mcap(folder: Path, summary: bool = True) -> bytes:
    """A bag in one MCAP file, on request without a summary at its end."""
    from tests.records.logs.make import write_mcap

    content = write_mcap(folder / "seed.mcap", _messages()).read_bytes()
    if summary:
        return content
    end = content.rindex(b"\x0f\x04\0\0\0\0\0\0\0") + 13  # of the record that ends the data
    return content[:end] + b"\x02" + (20).to_bytes(8, "little") + bytes(20) + content[:8]


def db3_bag(folder: Path, name: str) -> Prepared:
    """A sqlite3 bag, of which ``name`` is damaged."""
    from tests.records.logs.make import write_db3

    bag = write_db3(folder / "bag", _messages(), with_definitions=True)
    return from_file((bag / name).read_bytes(), f"bag/{name}", lambda path: log(bag, "rosbag"))(folder)


def detected_log(path: Path) -> None:
    """The format of a log."""
    from sidestep.runs.from_logs.import_run import detect_format

    detect_format(path)


# films


def film(path: Path) -> None:
    """A film of a study, and the text in it."""
    from sidestep.render.films.film import read_about
    from sidestep.studies.films import _read_film

    read_about(path)
    _read_film.__wrapped__(path, 0, 0)


def film_text(path: Path) -> None:
    """The text in a film."""
    from sidestep.render.films.film import read_about

    read_about(path)


def demonstration_film(path: Path) -> None:
    """A film of a LeRobot dataset."""
    from sidestep.learning.lerobot import _decode

    for _ in _decode(path):
        pass


def films(folder: Path, width: int, height: int) -> bytes:
    """Three pictures as MP4."""
    from sidestep.render.films.film import _write_mp4

    pictures = (np.full((height, width, 3), 40 * k, np.uint8) for k in range(3))
    _write_mp4(pictures, folder / "seed.mp4", 10, (width, height), "about")
    return (folder / "seed.mp4").read_bytes()


def gif(folder: Path) -> bytes:
    """The same as GIF."""
    from sidestep.render.films.film import _write_gif

    _write_gif((np.full((8, 8, 3), 40 * k, np.uint8) for k in range(3)), folder / "seed.gif", 10, "about")
    return (folder / "seed.gif").read_bytes()
