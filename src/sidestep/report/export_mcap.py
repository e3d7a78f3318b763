"""A record as an MCAP file of ROS 2 messages, for Foxglove, RViz and ``ros2 bag``. Topics: ``/tf``, ``/tf_static``,
``/odom``, ``/goal_pose``, ``/people``, ``/walls``, ``/events``; where there are other robots or vehicles,
``/vehicles``; where the policy had a lidar, ``/scan``; where it published them, ``/plan`` and ``/forecasts``; where
people are directed, ``/gestures``. Frames: ``map`` = ``odom`` = the record's world, ``base_link`` = the robot,
``laser`` = its scanner. Time 0 is the start of the episode. Needs the extra ``export``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, sin
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.drawing import palette
from sidestep.errors import BadInput, MissingExtra
from sidestep.metrics.series import present
from sidestep.report.episode_log import episode_log, has_lidar, lidar_scans
from sidestep.types.base import BoolArray
from sidestep.types.events import GESTURE_NAMES
from sidestep.types.record import EpisodeRecord, others
from sidestep.writing import atomic

FIELDS: dict[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/PoseStamped": "std_msgs/Header header\ngeometry_msgs/Pose pose",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "nav_msgs/Odometry": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist"
    ),
    "nav_msgs/Path": "std_msgs/Header header\ngeometry_msgs/PoseStamped[] poses",
    "sensor_msgs/LaserScan": (
        "std_msgs/Header header\nfloat32 angle_min\nfloat32 angle_max\nfloat32 angle_increment\n"
        "float32 time_increment\nfloat32 scan_time\nfloat32 range_min\nfloat32 range_max\n"
        "float32[] ranges\nfloat32[] intensities"
    ),
    "sensor_msgs/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data",
    "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v",
    "visualization_msgs/MeshFile": "string filename\nuint8[] data",
    "visualization_msgs/Marker": (
        "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
        "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\n"
        "builtin_interfaces/Duration lifetime\nbool frame_locked\n"
        "geometry_msgs/Point[] points\nstd_msgs/ColorRGBA[] colors\n"
        "string texture_resource\nsensor_msgs/CompressedImage texture\n"
        "visualization_msgs/UVCoordinate[] uv_coordinates\nstring text\n"
        "string mesh_resource\nvisualization_msgs/MeshFile mesh_file\nbool mesh_use_embedded_materials"
    ),
    "visualization_msgs/MarkerArray": "visualization_msgs/Marker[] markers",
}


def definition(name: str) -> str:
    """The fields of a message, then those of every message within it, as MCAP's ``ros2msg`` encoding wants them."""
    wanted = [name]
    for each in wanted:
        types = (line.split()[0].partition("[")[0] for line in FIELDS[each].splitlines())
        wanted += [kind for kind in types if kind in FIELDS and kind not in wanted]
    parts = [FIELDS[name], *(f"MSG: {each}\n{FIELDS[each]}" for each in wanted[1:])]
    return f"\n{'=' * 80}\n".join(parts) + "\n"


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
    try:
        with atomic(path) as temporary, temporary.open("wb") as file, Writer(file) as writer:
            schemas = {kind: writer.register_msgdef(full_name(kind), definition(kind)) for kind in TYPES.values()}
            for time, topic, message in messages(record):
                stamp = _nanoseconds(time)
                writer.write_message(topic, schemas[TYPES[topic]], message, stamp, stamp)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error


def messages(record: EpisodeRecord) -> Iterator[tuple[float, str, Message]]:
    """(time in s, topic, message), in order of time."""
    yield 0.0, "/tf_static", {"transforms": list(_fixed_frames(record))}
    yield 0.0, "/goal_pose", {"header": _header(0.0, "map"), "pose": _pose((*record.scenario.ego.goal, 0.0))}
    yield 0.0, "/walls", {"markers": [_walls(record)]}
    steps = np.arange(record.steps + 1)
    scans = lidar_scans(record, steps) if has_lidar(record) else None
    told = episode_log(record)
    there = present(record)
    published = set(record.plans.step.tolist())
    for step in steps:
        time = float(record.time[step])
        while told and told[0].time <= time + 1e-9:
            line = told.pop(0)
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
        "twist": {
            "twist": {"linear": _vector(ahead, left), "angular": _vector(z=turn)},
            "covariance": [0.0] * 36,
        },
    }


def _marker(time: float, name: str, number: int, **fields: Any) -> Message:
    blank: Message = {
        "header": _header(time, "map"),
        "ns": name,
        "id": number,
        "type": CYLINDER,
        "action": ADD,
        "pose": _pose((0.0, 0.0, 0.0)),
        "scale": _vector(),
        "color": {"r": 0.0, "g": 0.0, "b": 0.0, "a": 1.0},
        "lifetime": {"sec": 0, "nanosec": 0},
        "frame_locked": False,
        "points": [],
        "colors": [],
        "texture_resource": "",
        "texture": {"header": _header(0.0, ""), "format": "", "data": b""},
        "uv_coordinates": [],
        "text": "",
        "mesh_resource": "",
        "mesh_file": {"filename": "", "data": b""},
        "mesh_use_embedded_materials": False,
    }
    return blank | fields


def _people(record: EpisodeRecord, step: int, time: float, there: BoolArray) -> list[Message]:
    """A cylinder for everybody who is there; whoever has just left is deleted. The marker's id is the person's."""
    markers = []
    for who in np.flatnonzero(there[step]):
        x, y = record.person_position[step, who].tolist()
        across = 2 * float(record.person_radius[who])
        red, green, blue = (part / 255 for part in palette.person_colour(int(who)))
        heading = float(np.nan_to_num(record.person_heading[step, who]))
        markers.append(
            _marker(
                time,
                "people",
                int(record.person_id[who]),
                pose=_pose((x, y, heading), PERSON_HEIGHT_M / 2),
                scale=_vector(across, across, PERSON_HEIGHT_M),
                color={"r": red, "g": green, "b": blue, "a": 1.0},
            )
        )
    gone = np.flatnonzero(there[max(step - 1, 0)] & ~there[step])
    return markers + [_marker(time, "people", int(record.person_id[who]), action=DELETE) for who in gone]


def _vehicles(record: EpisodeRecord, step: int, time: float) -> list[Message]:
    """A box for every other robot and vehicle, named after it."""
    red, green, blue = (part / 255 for part in palette.OTHER_MACHINE)
    markers = []
    for k, user in enumerate(others(record)):
        centre, half = user.box
        x, y, heading = record.other_pose[step, k].tolist()
        x, y = (
            x + centre[0] * cos(heading) - centre[1] * sin(heading),
            y + centre[0] * sin(heading) + centre[1] * cos(heading),
        )
        markers.append(
            _marker(
                time,
                user.subject.partition(":")[0],
                int(user.subject.partition(":")[2]),
                type=CUBE,
                pose=_pose((x, y, heading), half[2]),
                scale=_vector(*(2 * value for value in half)),
                color={"r": red, "g": green, "b": blue, "a": 1.0},
            )
        )
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
    way = np.vstack([record.robot_pose[step, :2], plan])
    turned = [atan2(dy, dx) for dx, dy in np.diff(way, axis=0).tolist()]
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
        red, green, blue = (part / 255 for part in palette.person_colour(who))
        line = [_vector(x, y, 0.05) for x, y in np.vstack([record.person_position[step, who], points]).tolist()]
        colour = {"r": red, "g": green, "b": blue, "a": 0.6}
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
