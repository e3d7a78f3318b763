"""What can be computed from a record: where and when the robot touched something, what its lidar saw (made again
from the record: the scanner has no noise, so the ranges are the same), and the episode as a log of lines with
times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from sidestep.kernels import layout
from sidestep.metrics import series
from sidestep.metrics.series import goal_distance, pedestrian_distance, present, speed
from sidestep.simulation.sensors import Lidar, outline_edges
from sidestep.types import LidarScan
from sidestep.types.base import IntArray
from sidestep.types.record import EpisodeRecord, Event, others

CURVES: dict[str, tuple[series.Series, str, float]] = {
    "Speed": (series.speed, "m/s", inf),
    "Closest person": (series.closest_pedestrian_distance, "m", 5.0),
    "Wall clearance": (series.obstacle_clearance, "m", 5.0),
    "Time to collision": (series.time_to_collision, "s", series.MAX_TIME_TO_COLLISION_S),
    "Distance to goal": (series.goal_distance, "m", inf),
}
"""Title → series, unit, and the value above which the curve is cut off."""


@dataclass(frozen=True)
class Contact:
    """One collision: when it began (s), where (m), and with what (``person:ID``, ``wall``, …)."""

    time: float
    x: float
    y: float
    subject: str


def contacts_of(record: EpisodeRecord) -> list[Contact]:
    """Every collision of the record, in order of time."""
    found = []
    for event in record.events:
        if event.kind == "collision_start":
            x, y = _place(record, event.time, event.subject)
            found.append(Contact(event.time, x, y, event.subject))
    return sorted(found, key=lambda contact: contact.time)


def step_at(record: EpisodeRecord, time: float) -> int:
    """The state that is nearest to ``time``."""
    return int(np.argmin(np.abs(record.time - time)))


def _place(record: EpisodeRecord, time: float, subject: str) -> tuple[float, float]:
    """A person: between the two bodies. A wall: its nearest point. Anything else: the robot's centre."""
    step = step_at(record, time)
    robot = record.robot_pose[step, :2]
    kind, _, number = subject.partition(":")
    if kind == "person" and number.isdigit():
        column = np.flatnonzero(record.person_id == int(number))
        if len(column) and record.person_present[step, column[0]]:
            person = record.person_position[step, column[0]].astype(np.float64)
            reach = record.robot.footprint.enclosing_radius
            share = reach / (reach + float(record.person_radius[column[0]]))
            robot = robot + share * (person - robot)
    elif kind == "wall" and len(record.walls):
        start, end = record.walls[:, :2].astype(np.float64), record.walls[:, 2:].astype(np.float64)
        edge = end - start
        length2 = np.maximum((edge**2).sum(axis=1), 1e-12)
        t = np.clip(((robot - start) * edge).sum(axis=1) / length2, 0.0, 1.0)
        nearest = start + t[:, None] * edge
        robot = nearest[np.argmin(((nearest - robot) ** 2).sum(axis=1))]
    return float(robot[0]), float(robot[1])


def has_lidar(record: EpisodeRecord) -> bool:
    """Whether the policy was given scans."""
    return "lidar" in record.policy.needs


def lidar_scans(record: EpisodeRecord, steps: IntArray) -> Iterator[LidarScan]:
    """The scan at each of ``steps``, of walls, people and other machines, seen from where the scanner is mounted."""
    lidar = Lidar(record.scenario.sensors.lidar, record.walls)
    robots = len(record.other_radius) - len(record.scenario.traffic)
    outlines = [user.footprint for user in others(record)[robots:]]
    people = len(record.person_id)
    agents = np.zeros((layout.AGENT_ROWS, people + robots), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, people + robots), np.int32)
    agents[layout.RADIUS] = np.concatenate([record.person_radius, record.other_radius[:robots]])
    there = present(record)
    for step in steps:
        agents[layout.PX : layout.PY + 1, :people] = np.nan_to_num(record.person_position[step]).T
        agents[layout.PX : layout.PY + 1, people:] = record.other_pose[step, :robots, :2].T
        flags[layout.ACTIVE] = np.concatenate([there[step], np.ones(robots, bool)])
        here = [k for k in range(len(outlines)) if np.isfinite(record.other_pose[step, robots + k, 0])]
        edges = outline_edges([outlines[k] for k in here], record.other_pose[step, robots:][here]) if outlines else None
        x, y, heading = record.robot_pose[step]
        yield lidar.sense(agents, flags, (float(x), float(y), float(heading)), own=-1, outlines=edges)


PLAIN = {
    "goal_reached": "reaches the goal",
    "timeout": "the time is over",
    "frozen": "has stood still for too long",
    "off_route": "has left the route",
    "lane_invasion": "has left its lane too often",
    "exited": "leaves the area as it should",
    "wrong_exit": "leaves the area wrongly",
    "policy_error": "the policy fails",
    "trigger": "an event begins",
    "group_intrusion": "passes through",
    "disobeyed": "goes on despite a stop gesture",
    "stopped": "stops for a stop gesture",
    "reset": "is put back on the route",
}


def is_invasion(event: Event) -> bool:
    """Whether a wheel crossed what it must not, or the car was in no lane of its direction for a second."""
    return event.kind == "lane_crossing" and event.subject != "broken"


@dataclass(frozen=True)
class LogLine:
    """Something that happened ``time`` s into the episode."""

    time: float
    kind: str
    text: str


def episode_log(record: EpisodeRecord) -> list[LogLine]:
    """All lines in order of time; the first is the start, the last the outcome."""
    events = sorted(record.events, key=lambda event: event.time)
    lines = [LogLine(0.0, "start", _start(record))]
    for place, event in enumerate(events):
        lines += [LogLine(event.time, event.kind, text) for text in _describe(record, event, events[place + 1 :])]
    path = float(np.hypot(*np.diff(record.robot_pose[:, :2], axis=0).T).sum())
    end = f"ends: {record.outcome.value.replace('_', ' ')} after {record.duration:.2f} s and {path:.2f} m"
    return [*lines, LogLine(record.duration, "end", end)]


def _start(record: EpisodeRecord) -> str:
    x, y, _ = record.robot_pose[0]
    goal_x, goal_y = record.scenario.ego.goal
    return (
        f"{record.policy.name} in {record.scenario.name}, seed {record.seed}, people {record.source}: from "
        f"({x:.2f}, {y:.2f}) to ({goal_x:.2f}, {goal_y:.2f}), {goal_distance(record)[0]:.2f} m, within "
        f"{record.scenario.rules.time_limit_s:g} s; {int(present(record)[0].sum())} people there"
    )


def _describe(record: EpisodeRecord, event: Event, later: list[Event]) -> Iterator[str]:
    """The line of an event; none for the end of a contact or limit, which the line of its start contains."""
    if event.kind == "collision_start":
        yield _contact(record, event, _end_of(event, later, "collision_end"))
    elif event.kind == "limit_start":
        until = _end_of(event, later, "limit_end")
        limit = event.subject.replace("_", " ")
        yield f"limit of {limit} cuts the command " + ("to the end" if until == inf else f"until {until:.2f} s")
    elif is_invasion(event):
        lines = {
            "off_lane": "a second in no lane of its direction",
            "kerb": "a wheel crosses the kerb",
            "beyond_kerb": "a quarter of a second with a wheel beyond the kerb",
        }
        yield lines.get(event.subject, f"a wheel crosses a {event.subject.replace('_', ' ')} line")
    elif event.kind == "disobeyed" and event.text:
        yield f"does not give way: {event.subject.replace(':', ' ')}: {event.text}"
    elif event.kind in PLAIN:
        text = event.text.replace("_", " ") if event.kind == "trigger" else event.text
        parts = (PLAIN[event.kind], event.subject.replace(":", " "), text)
        yield ": ".join(part for part in parts if part)


def _end_of(event: Event, later: list[Event], kind: str) -> float:
    return next((each.time for each in later if each.kind == kind and each.subject == event.subject), inf)


def _contact(record: EpisodeRecord, event: Event, until: float) -> str:
    step = step_at(record, event.time)
    lasts = "to the end" if until == inf else f"for {until - event.time:.2f} s"
    text = f"touches {event.subject.replace(':', ' ')} at {speed(record)[step]:.2f} m/s, {lasts}"
    kind, _, number = event.subject.partition(":")
    if kind != "person" or not number.isdigit() or int(number) not in record.person_id:
        return text
    column = int(np.flatnonzero(record.person_id == int(number))[0])
    during = (record.time >= event.time - record.step_s / 2) & (record.time <= until + record.step_s / 2)
    gaps = pedestrian_distance(record)[:, column]
    gaps = gaps[during & np.isfinite(gaps)]
    if not len(gaps):
        return text
    nearest = float(gaps.min())
    gap = f"overlapping by up to {-nearest:.3f} m" if nearest < 0 else f"surfaces {nearest:.3f} m apart at the nearest"
    return f"{text}, {gap}"
