"""Where and when the robot touched something, for marks in pictures and on the timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.types.record import EpisodeRecord


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
