"""Collisions: number, cause and relative speed, from the record's events."""

from __future__ import annotations

import numpy as np

from sidestep.errors import RecordError
from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.definition import Value, metric
from sidestep.metrics.series import present
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, SEAN, SOCNAVBENCH
from sidestep.types import decide
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord, Event

_TIME_TOLERANCE_S = 1e-9


def separate_collisions(record: EpisodeRecord, *subjects: str) -> list[Event]:
    """The first contacts of all collisions with subjects of these kinds (``person``, ``wall``, …).

    Touching the same subject again less than ``rules.collision_cooldown_s`` after the last contact with it
    ended (or, when no end was recorded, began) is the same collision.
    """
    return decide.separate_collisions(record.events, record.scenario.rules.collision_cooldown_s, subjects)


def contact(record: EpisodeRecord, event: Event) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Velocities of robot and person (m/s) in the last state before their contact, and the unit vector from
    one to the other. If the person entered the world after that state, the next state is used."""
    column = np.flatnonzero(record.person_id == int(event.subject.partition(":")[2]))
    state = max(0, int(np.searchsorted(record.time, event.time + _TIME_TOLERANCE_S, side="right")) - 1)
    there = present(record)
    states = [k for k in (state, min(state + 1, record.steps)) if len(column) and there[k, column[0]]]
    if not states:
        raise RecordError(f"the record has a collision with {event.subject} at {event.time:g} s, who is not there then")
    k, person = states[0], column[0]
    offset = record.person_position[k, person].astype(np.float64) - record.robot_pose[k, :2]
    distance = float(np.hypot(*offset))
    direction = offset / distance if distance > 0 else offset
    return record.robot_velocity[k, :2], record.person_velocity[k, person].astype(np.float64), direction


def _count(name: str, what: str, source: str, *subjects: str) -> Metric:
    one = "person" if subjects == ("person",) else "one"

    @metric(
        "count",
        "lower",
        source=source,
        distance="surface",
        dialects={socnavbench_code.NAME: socnavbench_code.pedestrian_collisions} if one == "person" else None,
        name=name,
        definition=f"Number of separate collisions with {what}. A new touch of the same {one} within "
        "rules.collision_cooldown_s of the last contact belongs to the same collision.",
    )
    def count(record: EpisodeRecord) -> Value:
        return len(separate_collisions(record, *subjects))

    return count


pedestrian_collisions = _count(
    "pedestrian_collisions", "people", f"{SOCNAVBENCH}, total pedestrian collisions; {FRANCIS}, HC", "person"
)
wall_collisions = _count("wall_collisions", "walls", f"{FRANCIS}, WC", "wall")
vehicle_collisions = _count("vehicle_collisions", "vehicles and other robots", f"{FRANCIS}, AC", "vehicle", "robot")
collisions = _count(
    "collisions", "anything: people, walls, vehicles, robots", f"{FRANCIS}, C", "person", "wall", "vehicle", "robot"
)

_BLAME = (
    "At the last state before contact, with u the unit vector from the robot's centre to the person's, the robot "
    "approaches at v_robot·u and the person at -v_person·u. Counts the collisions in which the"
)
_VELOCITIES = f"with velocities in place of a physics engine as in {HUNAVSIM}"


def _robot_ran_into_person(record: EpisodeRecord) -> list[bool]:
    """For each collision with a person, whether the robot approached at least as fast as the person."""
    contacts = [contact(record, event) for event in separate_collisions(record, "person")]
    return [bool(robot @ direction >= -(person @ direction)) for robot, person, direction in contacts]


@metric("count", "lower", source=f"{SEAN}, Robot on Person Collision, {_VELOCITIES}", distance="surface")
def robot_on_person_collisions(record: EpisodeRecord) -> Value:
    """{_BLAME} robot approached at least as fast as the person."""
    return sum(_robot_ran_into_person(record))


@metric("count", "lower", source=f"{SEAN}, Person on Robot Collision, {_VELOCITIES}", distance="surface")
def person_on_robot_collisions(record: EpisodeRecord) -> Value:
    """{_BLAME} person approached faster than the robot."""
    return _robot_ran_into_person(record).count(False)


@metric("m/s", "lower", validity="Episodes with a collision with a person.", distance="surface")
def collision_intensity(record: EpisodeRecord) -> Value:
    """The largest |v_robot - v_person| in the last state before contact over the episode's collisions with people."""
    contacts = [contact(record, event) for event in separate_collisions(record, "person")]
    speeds = [float(np.hypot(*(robot - person))) for robot, person, _ in contacts]
    return max(speeds, default="no collision with a person")
