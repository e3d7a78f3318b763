"""Collisions: how many, who ran into whom and how hard, from the record's events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sidestep.errors import RecordError
from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.series import present
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types import decide
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord, Event
from sidestep.types.result import MetricResult

_TIME_TOLERANCE_S = 1e-9
_ALWAYS = "Always."


def separate_collisions(record: EpisodeRecord, *subjects: str) -> list[Event]:
    """The first contacts of all collisions with subjects of these kinds (``person``, ``wall``, …).

    Touching the same subject again less than ``rules.collision_cooldown_s`` after the last contact with it
    ended (or, when no end was recorded, began) is the same collision.
    """
    return decide.separate_collisions(record.events, record.scenario.rules.collision_cooldown_s, subjects)


def make_collision_count(*subjects: str) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that counts separate collisions with subjects of these kinds."""

    def collision_count(record: EpisodeRecord) -> MetricResult:
        return MetricResult(float(len(separate_collisions(record, *subjects))), "count")

    collision_count.__doc__ = f"Number of separate collisions with: {', '.join(subjects)}."
    return collision_count


def contact(record: EpisodeRecord, event: Event) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Velocities of robot and person (m/s) in the last state before their contact, and the unit vector from
    one to the other; in the next state when the person came into the world in between."""
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


def _robot_ran_into_person(record: EpisodeRecord, event: Event) -> bool:
    robot, person, direction = contact(record, event)
    return bool(robot @ direction >= -(person @ direction))


def robot_on_person_collisions(record: EpisodeRecord) -> MetricResult:
    """Collisions in which the robot approached at least as fast as the person."""
    blamed = [_robot_ran_into_person(record, event) for event in separate_collisions(record, "person")]
    return MetricResult(float(sum(blamed)), "count")


def person_on_robot_collisions(record: EpisodeRecord) -> MetricResult:
    """Collisions in which the person approached faster than the robot."""
    blamed = [_robot_ran_into_person(record, event) for event in separate_collisions(record, "person")]
    return MetricResult(float(len(blamed) - sum(blamed)), "count")


def collision_intensity(record: EpisodeRecord) -> MetricResult:
    """The largest relative speed at contact with a person."""
    speeds = []
    for event in separate_collisions(record, "person"):
        robot, person, _ = contact(record, event)
        speeds.append(float(np.hypot(*(robot - person))))
    if not speeds:
        return MetricResult.invalid("m/s", "no collision with a person")
    return MetricResult(max(speeds), "m/s")


def _count(name: str, what: str, source: str, subjects: tuple[str, ...]) -> Metric:
    return Metric(
        name=name,
        unit="count",
        direction="lower",
        definition=f"Number of separate collisions with {what}. A new touch of the same one within "
        "rules.collision_cooldown_s of the last contact belongs to the same collision.",
        source=source,
        distance="surface",
        validity=_ALWAYS,
        function=make_collision_count(*subjects),
    )


PEDESTRIAN_COLLISIONS = Metric(
    name="pedestrian_collisions",
    unit="count",
    direction="lower",
    definition="Number of separate collisions with people. A new touch of the same person within "
    "rules.collision_cooldown_s of the last contact belongs to the same collision.",
    source=f"{SOCNAVBENCH}, total pedestrian collisions; {FRANCIS}, HC",
    distance="surface",
    validity=_ALWAYS,
    function=make_collision_count("person"),
    dialects={socnavbench_code.NAME: socnavbench_code.pedestrian_collisions},
)
WALL_COLLISIONS = _count("wall_collisions", "walls", f"{FRANCIS}, WC", ("wall",))
VEHICLE_COLLISIONS = _count("vehicle_collisions", "vehicles and other robots", f"{FRANCIS}, AC", ("vehicle", "robot"))
COLLISIONS = _count(
    "collisions",
    "anything: people, walls, vehicles, robots",
    f"{FRANCIS}, C",
    ("person", "wall", "vehicle", "robot"),
)

_BLAME = (
    "At the last state before contact, with u the unit vector from the robot's centre to the person's, the "
    "robot "
    "approaches at v_robot·u and the person at -v_person·u. "
)
ROBOT_ON_PERSON_COLLISIONS = Metric(
    name="robot_on_person_collisions",
    unit="count",
    direction="lower",
    definition=_BLAME + "Counts the collisions in which the robot approached at least as fast as the person.",
    source=f"{SEAN}, Robot on Person Collision, with velocities in place of a physics engine as in {HUNAVSIM}",
    distance="surface",
    validity=_ALWAYS,
    function=robot_on_person_collisions,
)
PERSON_ON_ROBOT_COLLISIONS = Metric(
    name="person_on_robot_collisions",
    unit="count",
    direction="lower",
    definition=_BLAME + "Counts the collisions in which the person approached faster than the robot.",
    source=f"{SEAN}, Person on Robot Collision, with velocities in place of a physics engine as in {HUNAVSIM}",
    distance="surface",
    validity=_ALWAYS,
    function=person_on_robot_collisions,
)
COLLISION_INTENSITY = Metric(
    name="collision_intensity",
    unit="m/s",
    direction="lower",
    definition="The largest |v_robot - v_person| in the last state before contact over the episode's "
    "collisions with people.",
    source=SIDESTEP,
    distance="surface",
    validity="Episodes with a collision with a person.",
    function=collision_intensity,
)
