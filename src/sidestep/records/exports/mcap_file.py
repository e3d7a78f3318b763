"""A record as an MCAP file of ROS 2 messages, for Foxglove, RViz and ``ros2 bag``. Topics: ``/tf``, ``/tf_static``,
``/odom``, ``/goal_pose``, ``/people``, ``/walls``, ``/events``; where there are other robots or vehicles,
``/vehicles``; where the policy had a lidar, ``/scan``; where it published them, ``/plan`` and ``/forecasts``; where
people are directed, ``/gestures``. Frames: ``map`` = ``odom`` = the record's world, ``base_link`` = the robot,
``laser`` = its scanner. Time 0 is the start of the episode. Needs the extra ``export``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import atan2, cos, isnan, sin
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.reading import read_mapping
from sidestep._util.writing import whole_file
from sidestep.errors import MissingExtra
from sidestep.metrics.series import present
from sidestep.records.exports.episode_log import episode_log, has_lidar, lidar_scans
from sidestep.render.top_view import palette
from sidestep.types.base import BoolArray
from sidestep.types.events import GESTURE_NAMES
from sidestep.types.record import EpisodeRecord, others

DATA = Path(__file__).parent / "ros_messages.yaml"


@cache
def fields() -> dict[str, str]:
    """Message → its fields, one on each line."""
    return {name: str(text).rstrip() for name, text in read_mapping(DATA).items()}


def definition(name: str) -> str:
    """The fields of a message, then those of every message within it, as MCAP's ``ros2msg`` encoding wants them."""
    wanted = [name]
    for each in wanted:
        types = (line.split()[0].partition("[")[0] for line in fields()[each].splitlines())
        wanted += [kind for kind in types if kind in fields() and kind not in wanted]
    parts = [fields()[name], *(f"MSG: {each}\n{fields()[each]}" for each in wanted[1:])]
    return f"\n{'=' * 80}\n".join(parts) + "\n"


def blank(kind: str) -> Any:
    """A message, or a field of a simple type, in which everything is zero, empty or false."""
    name, _, count = kind.partition("[")
    if count:
        return b"" if name == "uint8" else [blank(name)] * int(count.rstrip("]") or 0)
    if name in fields():
        return {field: blank(of) for of, field in (line.split() for line in fields()[name].splitlines())}
    return {"string": "", "bool": False}.get(name, 0.0 if name.startswith("float") else 0)


def full_name(name: str) -> str:
    """``nav_msgs/Odometry`` as ROS 2 names it: ``nav_msgs/msg/Odometry``."""
    return name.replace("/", "/msg/")


Message = dict[str, Any]
PERSON_HEIGHT_M = 1.7
CUBE, CYLINDER, LINE_STRIP, LINE_LIST, TEXT = 1, 3, 4, 5, 9
ADD, DELETE = 0, 2
TYPES = {
    "/tf": "tf2_msgs/TFMessage",
    "/tf_static": "tf2_msgs/TFMessage",
    "/odom": "nav_msgs/Odometry",
    "/goal_pose": "geometry_msgs/PoseStamped",
    "/people": "visualization_msgs/MarkerArray",
    "/vehicles": "visualization_msgs/MarkerArray",
    "/walls": "visualization_msgs/MarkerArray",
    "/scan": "sensor_msgs/LaserScan",
    "/plan": "nav_msgs/Path",
    "/forecasts": "visualization_msgs/MarkerArray",
    "/gestures": "visualization_msgs/MarkerArray",
    "/events": "std_msgs/String",
}


def export_mcap(record: EpisodeRecord, path: Path) -> None:
    """Write ``record`` to ``path``, every state of it."""
    try:
        from mcap_ros2.writer import Writer
    except ImportError:
        raise MissingExtra("writing an MCAP file", "export") from None
    with whole_file(path) as temporary, temporary.open("wb") as file, Writer(file) as writer:
        schemas = {kind: writer.register_msgdef(full_name(kind), definition(kind)) for kind in TYPES.values()}
        for time, topic, message in messages(record):
            stamp = _nanoseconds(time)
            writer.write_message(topic, schemas[TYPES[topic]], message, stamp, stamp)


def messages(record: EpisodeRecord) -> Iterator[tuple[float, str, Message]]:
    """(time in s, topic, message), in order of time."""
    yield 0.0, "/tf_static", {"transforms": list(_fixed_frames(record))}
    yield 0.0, "/goal_pose", {"header": _header(0.0, "map"), "pose": _pose((*record.scenario.ego.goal, 0.0))}
    yield 0.0, "/walls", {"markers": [_walls(record)]}
    steps = np.arange(record.steps + 1)
    scans = lidar_scans(record, steps) if has_lidar(record) else None
    lines = episode_log(record)
    there = present(record)
    published = set(record.plans.step.tolist())
    for step in steps:
        time = float(record.time[step])
        while lines and lines[0].time <= time + 1e-9:
            line = lines.pop(0)
            yield time, "/events", {"data": f"{line.time:.3f} s: {line.text}"}
        pose = tuple(float(value) for value in record.robot_pose[step])
        yield time, "/tf", {"transforms": [_transform(time, "odom", "base_link", pose)]}
        yield time, "/odom", _odometry(time, pose, record.robot_velocity[step].tolist())
        yield time, "/people", {"markers": _people(record, int(step), time, there)}
        if len(record.other_radius):
            yield time, "/vehicles", {"markers": _vehicles(record, int(step), time)}
        if record.person_gesture.size:
            yield time, "/gestures", {"markers": _gestures(record, int(step), time, there)}
        if step in published:
            yield from _intentions(record, int(step), time)
        if scans is not None:
            yield time, "/scan", _scan(time, next(scans), record.step_s)


def _fixed_frames(record: EpisodeRecord) -> Iterator[Message]:
    yield _transform(0.0, "map", "odom", (0.0, 0.0, 0.0))
    if has_lidar(record):
        yield _transform(0.0, "base_link", "laser", (*record.scenario.sensors.lidar.mount, 0.0))


def _nanoseconds(time: float) -> int:
    return round(time * 1e9)


def _header(time: float, frame: str) -> Message:
    seconds, rest = divmod(_nanoseconds(time), 10**9)
    return {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": frame}


def _vector(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Message:
    return {"x": x, "y": y, "z": z}


def _turned(heading: float) -> Message:
    return {"x": 0.0, "y": 0.0, "z": sin(heading / 2), "w": cos(heading / 2)}


def _pose(pose: tuple[float, ...], height: float = 0.0) -> Message:
    return {"position": _vector(pose[0], pose[1], height), "orientation": _turned(pose[2])}


def _transform(time: float, parent: str, child: str, pose: tuple[float, ...]) -> Message:
    transform = {"translation": _vector(pose[0], pose[1]), "rotation": _turned(pose[2])}
    return {"header": _header(time, parent), "child_frame_id": child, "transform": transform}


def _odometry(time: float, pose: tuple[float, ...], velocity: list[float]) -> Message:
    """The twist is in the robot's own frame, as ROS has it."""
    vx, vy, turn = velocity
    ahead, left = cos(pose[2]) * vx + sin(pose[2]) * vy, cos(pose[2]) * vy - sin(pose[2]) * vx
    return {
        "header": _header(time, "odom"),
        "child_frame_id": "base_link",
        "pose": {"pose": _pose(pose), "covariance": [0.0] * 36},
        "twist": {"twist": {"linear": _vector(ahead, left), "angular": _vector(z=turn)}, "covariance": [0.0] * 36},
    }


@cache
def _blank_marker() -> Message:
    marker: Message = blank("visualization_msgs/Marker")
    marker["pose"]["orientation"]["w"] = marker["color"]["a"] = 1.0
    return marker | {"type": CYLINDER, "action": ADD}


def _marker(time: float, name: str, number: int, **more: Any) -> Message:
    return _blank_marker() | {"header": _header(time, "map"), "ns": name, "id": number} | more


def _colour(colour: palette.Colour, alpha: float = 1.0) -> Message:
    red, green, blue = (part / 255 for part in colour)
    return {"r": red, "g": green, "b": blue, "a": alpha}


def _people(record: EpisodeRecord, step: int, time: float, there: BoolArray) -> list[Message]:
    """A cylinder for each active person; the cylinder of a person who has just left is deleted. The marker's id is the
    person's."""
    markers = []
    for who in np.flatnonzero(there[step]):
        x, y = record.person_position[step, who].tolist()
        across = 2 * float(record.person_radius[who])
        pose = _pose((x, y, float(np.nan_to_num(record.person_heading[step, who]))), PERSON_HEIGHT_M / 2)
        scale, colour = _vector(across, across, PERSON_HEIGHT_M), _colour(palette.person_colour(int(who)))
        markers.append(_marker(time, "people", int(record.person_id[who]), pose=pose, scale=scale, color=colour))
    gone = np.flatnonzero(there[max(step - 1, 0)] & ~there[step])
    return markers + [_marker(time, "people", int(record.person_id[who]), action=DELETE) for who in gone]


def _vehicles(record: EpisodeRecord, step: int, time: float) -> list[Message]:
    """A box for every other robot and vehicle, named after it."""
    markers = []
    for k, user in enumerate(others(record)):
        centre, half = user.box
        x, y, heading = record.other_pose[step, k].tolist()
        if isnan(x):  # has left
            continue
        x, y = (
            x + centre[0] * cos(heading) - centre[1] * sin(heading),
            y + centre[0] * sin(heading) + centre[1] * cos(heading),
        )
        kind, _, number = user.subject.partition(":")
        pose, scale = _pose((x, y, heading), half[2]), _vector(*(2 * value for value in half))
        colour = _colour(palette.OTHER_MACHINE)
        markers.append(_marker(time, kind, int(number), type=CUBE, pose=pose, scale=scale, color=colour))
    return markers


def _gestures(record: EpisodeRecord, step: int, time: float, there: BoolArray) -> list[Message]:
    """A word above everybody who makes a gesture; deleted when it is over."""
    codes = np.where(there, record.person_gesture, 0)
    markers = []
    for who in np.flatnonzero(codes[step]):
        x, y = record.person_position[step, who].tolist()
        word = GESTURE_NAMES[codes[step, who]]
        pose = _pose((x, y, 0.0), PERSON_HEIGHT_M + 0.3)
        ink = {"r": 0.1, "g": 0.1, "b": 0.1, "a": 1.0}
        name = int(record.person_id[who])
        markers.append(
            _marker(time, "gestures", name, type=TEXT, text=word, pose=pose, scale=_vector(z=0.3), color=ink)
        )
    over = np.flatnonzero((codes[max(step - 1, 0)] > 0) & (codes[step] == 0))
    return markers + [_marker(time, "gestures", int(record.person_id[who]), action=DELETE) for who in over]


def _intentions(record: EpisodeRecord, step: int, time: float) -> Iterator[tuple[float, str, Message]]:
    """The plan and the forecasts as published at ``step``; the marker of a forecast is numbered by its place."""
    plan = record.plans.plan_at(step).astype(np.float64)
    path = np.vstack([record.robot_pose[step, :2], plan])
    turned = [atan2(dy, dx) for dx, dy in np.diff(path, axis=0).tolist()]
    poses = [_pose((x, y, heading)) for (x, y), heading in zip(plan.tolist(), turned, strict=True)]
    stamped = [
        {"header": _header(time + (k + 1) * record.plans.step_s, "map"), "pose": pose} for k, pose in enumerate(poses)
    ]
    yield time, "/plan", {"header": _header(time, "map"), "poses": stamped}
    if not len(record.plans.forecast_step):
        return
    people, expected = record.plans.forecasts_at(step)
    markers = []
    for place, (who, points) in enumerate(zip(people.tolist(), expected, strict=True)):
        line = [_vector(x, y, 0.05) for x, y in np.vstack([record.person_position[step, who], points]).tolist()]
        colour = _colour(palette.person_colour(who), 0.6)
        markers.append(
            _marker(time, "forecasts", place, type=LINE_STRIP, scale=_vector(x=0.05), color=colour, points=line)
        )
    before = len(record.plans.forecasts_at(step - 1)[0]) if step else 0
    markers += [_marker(time, "forecasts", place, action=DELETE) for place in range(len(people), before)]
    yield time, "/forecasts", {"markers": markers}


def _walls(record: EpisodeRecord) -> Message:
    ends = record.walls.reshape(-1, 2).tolist()
    grey = {"r": 0.45, "g": 0.49, "b": 0.56, "a": 1.0}
    points = [_vector(x, y) for x, y in ends]
    return _marker(0.0, "walls", 0, type=LINE_LIST, scale=_vector(x=0.05), color=grey, points=points)


def _scan(time: float, scan: Any, period: float) -> Message:
    count = len(scan.ranges)
    return {
        "header": _header(time, "laser"),
        "angle_min": scan.angle_min,
        "angle_max": scan.angle_min + (count - 1) * scan.angle_increment,
        "angle_increment": scan.angle_increment,
        "time_increment": 0.0,
        "scan_time": period,
        "range_min": 0.0,
        "range_max": scan.max_range,
        "ranges": scan.ranges.tolist(),
        "intensities": [],
    }
