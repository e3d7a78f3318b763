"""Small logs that tests write themselves."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sidestep.records.exports.mcap_file import blank
from sidestep.records.logs.drive import ReadOptions
from sidestep.records.logs.ros_messages import definition
from sidestep.runs.from_logs import read_logs
from sidestep.runs.from_logs.record import BuildOptions
from sidestep.types.record import EpisodeRecord

Message = tuple[str, str, float, dict[str, Any]]
"""Topic, kind, time in seconds, contents."""


def records_of(path: Path, *, format_name: str | None = None, said: list[str] | None = None, **options: Any) -> Any:
    """The records of one log. Options of ``ReadOptions`` and ``BuildOptions`` by name."""
    names = ReadOptions.__dataclass_fields__
    read = ReadOptions(**{key: value for key, value in options.items() if key in names})
    build = BuildOptions("logged", **{key: value for key, value in options.items() if key not in names})
    tell = (said if said is not None else []).append
    found: list[EpisodeRecord] = list(read_logs([path], format_name, read, build, tell))
    return found


def header(time: float, frame: str = "map") -> dict[str, Any]:
    """A header with a stamp."""
    nanoseconds = round(time * 1e9)
    return {"stamp": {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}, "frame_id": frame}


def filled(kind: str, **more: Any) -> dict[str, Any]:
    """A message that is blank but for some fields."""
    from sidestep.records.logs.ros_messages import definitions

    fields = {line.split()[1]: line.split()[0] for line in definitions()[kind].splitlines()}
    return {name: more.get(name, _blank(of)) for name, of in fields.items()}


def _blank(kind: str) -> Any:
    from sidestep.records.logs.ros_messages import definitions

    name, _, count = kind.partition("[")
    if count:
        return [_blank(name)] * int(count.rstrip("]") or 0)
    return filled(name) if name in definitions() else blank(name)


def odometry(time: float, x: float, y: float, speed: float = 0.0, frame: str = "map") -> Message:
    """``/odom`` of a robot that looks along +x."""
    pose = {"position": {"x": x, "y": y, "z": 0.0}, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
    twist = filled("geometry_msgs/Twist", linear={"x": speed, "y": 0.0, "z": 0.0})
    contents = {
        "header": header(time, frame),
        "child_frame_id": "base_link",
        "pose": {"pose": pose, "covariance": [0.0] * 36},
        "twist": {"twist": twist, "covariance": [0.0] * 36},
    }
    return "/odom", "nav_msgs/Odometry", time, contents


def write_mcap(path: Path, messages: Iterable[Message]) -> Path:
    """An MCAP file with the definitions of its messages."""
    from mcap_ros2.writer import Writer

    with path.open("wb") as file, Writer(file) as writer:
        schemas: dict[str, Any] = {}
        for topic, kind, time, contents in messages:
            if kind not in schemas:
                schemas[kind] = writer.register_msgdef(kind.replace("/", "/msg/"), definition(kind))
            stamp = round(time * 1e9)
            writer.write_message(topic, schemas[kind], contents, stamp, stamp)
    return path


def write_db3(folder: Path, messages: Iterable[Message], *, with_definitions: bool = False) -> Path:
    """A sqlite3 bag as rosbag2 writes it, converted from an MCAP file."""
    from mcap.reader import make_reader

    folder.mkdir()
    mcap = write_mcap(folder / "temporary", messages)
    with sqlite3.connect(folder / "bag_0.db3") as bag:
        bag.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
        bag.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
        if with_definitions:
            bag.execute(
                "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT, "
                "encoded_message_definition TEXT)"
            )
        numbers: dict[str, int] = {}
        with mcap.open("rb") as file:
            for schema, channel, message in make_reader(file).iter_messages():
                assert schema is not None
                if channel.topic not in numbers:
                    numbers[channel.topic] = len(numbers) + 1
                    row = (numbers[channel.topic], channel.topic, schema.name)
                    bag.execute("INSERT INTO topics VALUES(?, ?, ?, 'cdr')", row)
                    if with_definitions:
                        text = (schema.name, schema.data.decode())
                        bag.execute("INSERT INTO message_definitions VALUES(NULL, ?, 'ros2msg', ?)", text)
                data = (numbers[channel.topic], message.log_time, message.data)
                bag.execute("INSERT INTO messages VALUES(NULL, ?, ?, ?)", data)
    mcap.unlink()
    listed = {"rosbag2_bagfile_information": {"version": 5, "relative_file_paths": ["bag_0.db3"]}}
    (folder / "metadata.yaml").write_text(json.dumps(listed), encoding="utf-8")
    return folder
