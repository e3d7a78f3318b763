"""ROS 2 bags as logs: which topics tell of the robot, of people, of goals, commands and walls, and what they tell.

Topics are given by ``--map robot=/odom,people=/people`` or guessed from their kinds and names. Poses are brought into
one frame by ``/tf`` (``map`` where there is one). Times are those of headers; of messages without headers they are the
log's, shifted by the usual difference between the two. Each new goal begins a new drive.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep._util.reading import is_file
from sidestep.errors import BadInput, did_you_mean
from sidestep.records.logs.drive import (
    MOST_ROWS,
    LoggedDrive,
    ReadOptions,
    Track,
    add_counts,
    describe_repairs,
    make_track,
    number_people,
)
from sidestep.records.logs.ros_frames import Frames, clean_frame, has_direction, stamp_of, yaw_of
from sidestep.records.logs.ros_map import edges_of_markers, scene_of_edges, scene_of_grid
from sidestep.records.logs.ros_messages import MCAP_MAGIC, SQLITE_MAGIC, Bag, Logged, bag_files, open_bag
from sidestep.records.logs.ros_people import PEOPLE, Sighting
from sidestep.types.base import FloatArray
from sidestep.types.scene import SceneSpec

ODOMETRY, POSE, TWIST = "nav_msgs/Odometry", "geometry_msgs/PoseStamped", "geometry_msgs/Twist"
POSE_COVARIANCE, TWIST_STAMPED = "geometry_msgs/PoseWithCovarianceStamped", "geometry_msgs/TwistStamped"
TF, GRID, MARKERS = "tf2_msgs/TFMessage", "nav_msgs/OccupancyGrid", "visualization_msgs/MarkerArray"
KINDS: dict[str, tuple[str, ...]] = {
    "robot": (ODOMETRY, POSE_COVARIANCE, POSE, TF),
    "people": tuple(PEOPLE),
    "goal": (POSE,),
    "command": (TWIST, TWIST_STAMPED),
    "map": (GRID, MARKERS),
}
"""What a topic may be for → kinds of its messages, the first preferred."""
NAMES: dict[str, tuple[str, ...]] = {
    "robot": ("odom", "robot_pose", "amcl_pose", "tracked_pose", "base_pose"),
    "people": ("people", "person", "pedestrian", "human", "agent", "tracked", "track", "object"),
    "goal": ("goal_pose", "goal"),
    "command": ("cmd_vel",),
    "map": ("map", "walls"),
}
"""Parts of topics' names that make them a guess, the first preferred."""
ANY_NAME = frozenset({ODOMETRY, *PEOPLE, GRID} - {MARKERS})
"""Kinds that are a guess whatever the topic is called."""
BASES = ("base_link", "base_footprint", "base")
"""Frames of the robot in ``/tf``."""


@dataclass
class Samples:
    """Poses of one body as they come."""

    rows: array[float] = field(default_factory=lambda: array("d"))
    frame: str = ""
    radius: float | None = None
    has_heading: bool = True
    has_velocity: bool = False
    velocity_in_body: bool = False
    """Whether velocities are in the frame of the body, as those of odometry, or in that of the message."""

    def add(
        self, times: tuple[float, float], x: float, y: float, heading: float, velocity: tuple[float, float, float]
    ) -> None:
        """One more; ``times`` are the header's and the log's."""
        self.rows.extend((*times, x, y, heading, *velocity))

    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Times (K,), poses (K, 3), velocities (K, 3). Times are the log's where no header has any."""
        table = np.array(self.rows).reshape(-1, 8)
        return table[:, 0] if table[:, 0].any() else table[:, 1], table[:, 2:5], table[:, 5:]


@dataclass
class Heard:
    """The contents of the topics of a bag."""

    robot: Samples = field(default_factory=Samples)
    people: dict[str, Samples] = field(default_factory=dict)
    goals: list[tuple[float, float, float, str]] = field(default_factory=list)  # time, x, y, frame
    command: array[float] = field(default_factory=lambda: array("d"))  # time, v, omega
    frames: Frames = field(default_factory=Frames)
    scene: SceneSpec | None = None
    offsets: array[float] = field(default_factory=lambda: array("d"))  # header's time less the log's
    sightings: int = 0


@dataclass(frozen=True)
class RosbagLog:
    """Reads ROS 2 bags."""

    name: str = "rosbag"
    summary: str = "ROS 2 bag: .mcap, .db3, or a folder of them; topics by --map robot=/odom,people=/people,…"

    def matches(self, path: Path) -> bool:
        """Whether it begins as an MCAP or sqlite3 file, or is a folder with such files."""
        if not is_file(path):
            return path.is_dir() and any(each.suffix in (".mcap", ".db3") for each in path.iterdir())
        with path.open("rb") as file:
            return file.read(16).startswith((MCAP_MAGIC, SQLITE_MAGIC))

    def read(self, path: Path, options: ReadOptions) -> Iterator[LoggedDrive]:
        """One drive per goal; one in all where there are none."""
        options.refuse(path, self.name, "columns", "rate_hz", "time_unit", "robot")
        files = bag_files(path)
        if not files:
            raise BadInput(f"{path}: no .mcap or .db3 file in this folder; give the folder of a bag")
        bags = [open_bag(file) for file in files]
        topics = {topic: kind for bag in bags for topic, kind in bag.topics.items()}
        chosen = choose_topics(path, topics, options.topics)
        heard = listen(path, bags, chosen, topics)
        said = ["topics: " + ", ".join(f"{what}={topic}" for what, topic in chosen.items())]
        yield from _drives(path, heard, chosen, said)


def choose_topics(path: Path, topics: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What → topic: as given, else the best guess. BadInput lists the topics of the bag where one is wrong."""
    listed = "; topics: " + (", ".join(f"{topic} ({kind})" for topic, kind in sorted(topics.items()))[:1500] or "none")
    chosen: dict[str, str] = {}
    for what, topic in given.items():
        if what not in KINDS:
            raise BadInput(f"--map {what}=…: no such role{did_you_mean(what, KINDS)}")
        if topic not in topics:
            raise BadInput(f"{path}: no topic {topic!r} in it{listed}")
        if topics[topic] not in KINDS[what]:
            raise BadInput(
                f"{path}: {topic} holds {topics[topic]}, which cannot be read as {what}; possible types: "
                f"{' or '.join(KINDS[what])}{listed}"
            )
        chosen[what] = topic
    for what in KINDS:
        if what not in chosen and (guess := _guess(what, topics, set(chosen.values()))):
            chosen[what] = guess
    if "robot" not in chosen:
        raise BadInput(
            f"{path}: no topic has the robot's position ({', '.join(KINDS['robot'])}); give --map robot=TOPIC{listed}"
        )
    return {what: chosen[what] for what in KINDS if what in chosen}


def _guess(what: str, topics: Mapping[str, str], taken: set[str]) -> str | None:
    ranked = []
    for topic, kind in topics.items():
        if kind not in KINDS[what] or topic in taken:
            continue
        named = next((place for place, part in enumerate(NAMES[what]) if part in topic.lower()), None)
        if named is None and kind not in ANY_NAME and not (kind == TF and topic == "/tf"):
            continue
        place = len(NAMES[what]) if named is None else named
        ranked.append((KINDS[what].index(kind), place, len(topic), topic))
    return min(ranked)[-1] if ranked else None


def listen(path: Path, bags: list[Bag], chosen: Mapping[str, str], topics: Mapping[str, str]) -> Heard:
    """Go through the messages of the chosen topics once."""
    heard = Heard()
    roles = {topic: what for what, topic in chosen.items()}
    transforms = {topic for topic, kind in topics.items() if kind == TF}
    for bag in bags:
        wanted = [topic for topic in bag.topics if topic in roles or topic in transforms]
        for logged in bag.messages(wanted):
            if logged.topic in transforms:
                heard.frames.note(logged.message, logged.topic.endswith("_static"))
            if (what := roles.get(logged.topic)) is not None:
                HEARERS[what](heard, logged, path)
    return heard


def _hear_robot(heard: Heard, logged: Logged, path: Path) -> None:
    if logged.kind == TF:
        return  # the transforms themselves have the pose
    message, samples = logged.message, heard.robot
    pose = message.pose if logged.kind == POSE else message.pose.pose
    time = stamp_of(message.header)
    heard.offsets.append(time - logged.log_time_s)
    samples.frame = clean_frame(message.header.frame_id) or samples.frame
    velocity = (0.0, 0.0, 0.0)
    if logged.kind == ODOMETRY:
        twist = message.twist.twist
        velocity = (twist.linear.x, twist.linear.y, twist.angular.z)
        samples.has_velocity = samples.velocity_in_body = True
    samples.has_heading &= has_direction(pose.orientation)
    times = (time, logged.log_time_s)
    samples.add(times, pose.position.x, pose.position.y, yaw_of(pose.orientation), velocity)


def _hear_people(heard: Heard, logged: Logged, path: Path) -> None:
    for seen in PEOPLE[logged.kind](logged.message):
        heard.sightings += 1
        if heard.sightings > MOST_ROWS:
            raise BadInput(f"{path}: more than {MOST_ROWS:,} positions of people; split the bag")
        samples = heard.people.setdefault(seen.name, Samples(has_velocity=seen.velocity is not None))
        _add_sighting(samples, seen, logged.log_time_s)


def _add_sighting(samples: Samples, seen: Sighting, log_time_s: float) -> None:
    samples.frame = clean_frame(seen.frame) or samples.frame
    samples.radius = seen.radius if samples.radius is None else samples.radius
    samples.has_heading &= seen.heading is not None
    velocity = (*(seen.velocity or (0.0, 0.0)), 0.0)
    samples.add((seen.stamp, log_time_s), seen.x, seen.y, seen.heading or 0.0, velocity)


def _hear_goal(heard: Heard, logged: Logged, path: Path) -> None:
    message = logged.message
    at = message.pose.position
    time = stamp_of(message.header) or logged.log_time_s
    heard.goals.append((time, at.x, at.y, clean_frame(message.header.frame_id)))


def _hear_command(heard: Heard, logged: Logged, path: Path) -> None:
    twist = logged.message.twist if logged.kind == TWIST_STAMPED else logged.message
    heard.command.extend((logged.log_time_s, twist.linear.x, twist.angular.z))


def _hear_map(heard: Heard, logged: Logged, path: Path) -> None:
    if logged.kind == GRID:
        heard.scene = scene_of_grid(logged.message, str(path))
    elif heard.scene is None:
        edges = edges_of_markers(logged.message)
        heard.scene = scene_of_edges(edges) if len(edges) else SceneSpec()


HEARERS = {
    "robot": _hear_robot, "people": _hear_people, "goal": _hear_goal, "command": _hear_command, "map": _hear_map,
}  # fmt: skip


def _drives(path: Path, heard: Heard, chosen: Mapping[str, str], said: list[str]) -> Iterator[LoggedDrive]:
    robot = heard.robot if heard.robot.rows else _robot_of_frames(path, heard.frames, chosen, said)
    target = heard.frames.root(robot.frame)
    mended: dict[str, int] = {}
    said.append(f"frame: {target or 'none stated'}")
    track = _track(robot, heard.frames, target, mended, said)
    people = None
    if "people" in chosen:
        numbers = number_people(_short_names(heard.people))
        people = {
            numbers[short]: _track(samples, heard.frames, target, mended, said)
            for short, samples in zip(_short_names(heard.people), heard.people.values(), strict=True)
        }
    said += describe_repairs(mended)
    drive = LoggedDrive(robot=track, people=people, scene=heard.scene, said=tuple(dict.fromkeys(said)))
    if len(heard.command):
        table = np.array(heard.command).reshape(-1, 3)
        shift = float(np.median(heard.offsets)) if len(heard.offsets) else 0.0
        order = np.argsort(table[:, 0], kind="stable")
        drive = replace(drive, command_time=table[order, 0] + shift, command=table[order, 1:])
    yield from _by_goal(drive, _goals(heard, target))


def _robot_of_frames(path: Path, frames: Frames, chosen: Mapping[str, str], said: list[str]) -> Samples:
    """The robot as a frame of ``/tf``."""
    base = next((name for name in BASES if name in frames.links), None)
    if base is None:
        known = ", ".join(sorted(frames.links)[:30]) or "none"
        raise BadInput(f"{path}: {chosen['robot']} does not have the robot; its frames: {known}; expected {BASES[0]}")
    link = frames.links[base]
    said.append(f"robot: frame {base}")
    samples = Samples(frame=link.parent)
    for time, (x, y, heading) in zip(link.time, np.array(link.pose).reshape(-1, 3).tolist(), strict=True):
        samples.add((time, time), x, y, heading, (0.0, 0.0, 0.0))
    return samples


def _track(samples: Samples, frames: Frames, target: str, mended: dict[str, int], said: list[str]) -> Track:
    """The samples in the frame ``target``; velocities turned into it."""
    time, pose, moving = samples.columns()
    own = pose[:, 2]
    if samples.frame != target and frames.reaches(samples.frame, target):
        pose = frames.lift(samples.frame, target, time, pose)
    elif samples.frame != target and samples.frame:
        said.append(f"no transform from {samples.frame} to {target}; taken for the same frame")
    velocity = None
    if samples.has_velocity and moving.any():
        turn = pose[:, 2] if samples.velocity_in_body else pose[:, 2] - own
        sine, cosine = exact.sincos(turn)
        vx, vy = moving[:, 0], moving[:, 1]
        velocity = np.column_stack([cosine * vx - sine * vy, sine * vx + cosine * vy, moving[:, 2]])
    heading = pose[:, 2] if samples.has_heading else None
    track, counts = make_track(time, pose[:, :2], heading, velocity, samples.radius)
    add_counts(mended, counts)
    return track


def _short_names(people: Mapping[str, Any]) -> list[str]:
    """Names of markers without their namespace where all have the same."""
    spaces = {name.rpartition("/")[0] for name in people}
    return [name.rpartition("/")[2] for name in people] if len(spaces) == 1 else list(people)


def _goals(heard: Heard, target: str) -> list[tuple[float, float, float]]:
    """Time, x, y of goals, each different from the one before, in order of time."""
    found: list[tuple[float, float, float]] = []
    for time, x, y, frame in sorted(heard.goals):
        if frame and frame != target and heard.frames.reaches(frame, target):
            x, y, _ = heard.frames.lift(frame, target, np.array([time]), np.array([[x, y, 0.0]]))[0].tolist()
        if not found or (x, y) != found[-1][1:]:
            found.append((time, x, y))
    return found


def _by_goal(drive: LoggedDrive, goals: list[tuple[float, float, float]]) -> Iterator[LoggedDrive]:
    """One drive per goal, from when it was set to when the next one was."""
    if not goals:
        yield drive
        return
    ends = [time for time, _, _ in goals[1:]] + [float("inf")]
    for number, ((start, x, y), end) in enumerate(zip(goals, ends, strict=True), start=1):
        inside = np.count_nonzero((drive.robot.time >= start) & (drive.robot.time <= end))
        if inside < 2:
            continue
        name = f"goal{number}" if len(goals) > 1 else ""
        yield replace(drive, name=name, goal=(x, y), window=(start, end))


ROSBAG = RosbagLog()
