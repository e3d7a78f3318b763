"""People in messages of trackers and simulators: one function per kind of message, message → sightings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sidestep.records.logs.ros_frames import has_direction, stamp_of, yaw_of

PEDESTRIAN = 4
"""Classification of pedestrians in ``derived_object_msgs/Object``."""
UNKNOWN_KINDS = frozenset({0, 1, 2})
SOLID_MARKERS = frozenset({1, 2, 3, 10})
"""Cube, sphere, cylinder and mesh; arrows, lines and texts only decorate a person."""
DELETED = frozenset({2, 3})
THINNEST_M = 0.05
"""Markers narrower than this are points, not bodies."""


class Sighting(NamedTuple):
    """One person in one message."""

    name: str
    x: float
    y: float
    heading: float | None
    velocity: tuple[float, float] | None
    """Velocity in the frame of the message."""
    radius: float | None
    frame: str
    stamp: float
    """s; 0: the message has none."""


def of_people(message: Any) -> Iterator[Sighting]:
    """``people_msgs/People``."""
    frame, stamp = message.header.frame_id, stamp_of(message.header)
    for person in message.people:
        at, velocity = person.position, (person.velocity.x, person.velocity.y)
        yield Sighting(person.name, at.x, at.y, None, velocity, None, frame, stamp)


def of_tracked_persons(message: Any) -> Iterator[Sighting]:
    """``spencer_tracking_msgs/TrackedPersons`` and ``pedsim_msgs/TrackedPersons``."""
    frame, stamp = message.header.frame_id, stamp_of(message.header)
    for track in message.tracks:
        pose, twist = track.pose.pose, track.twist.twist.linear
        heading = yaw_of(pose.orientation) if has_direction(pose.orientation) else None
        at = pose.position
        yield Sighting(str(track.track_id), at.x, at.y, heading, (twist.x, twist.y), None, frame, stamp)


def of_objects(message: Any) -> Iterator[Sighting]:
    """``derived_object_msgs/ObjectArray``: objects that are classified as pedestrians, or not at all."""
    for each in message.objects:
        if each.classification != PEDESTRIAN and (each.object_classified or each.classification not in UNKNOWN_KINDS):
            continue
        header = each.header if each.header.frame_id else message.header
        at, twist = each.pose.position, each.twist.linear
        heading = yaw_of(each.pose.orientation) if has_direction(each.pose.orientation) else None
        frame, stamp = header.frame_id, stamp_of(header)
        yield Sighting(str(each.id), at.x, at.y, heading, (twist.x, twist.y), None, frame, stamp)


def of_markers(message: Any) -> Iterator[Sighting]:
    """``visualization_msgs/MarkerArray``: solid bodies; the number of a marker is the person's."""
    for marker in message.markers:
        if marker.action in DELETED or marker.type not in SOLID_MARKERS:
            continue
        at, turned = marker.pose.position, marker.pose.orientation
        across = (marker.scale.x + marker.scale.y) / 2
        yield Sighting(
            f"{marker.ns}/{marker.id}", at.x, at.y, yaw_of(turned) if has_direction(turned) else None, None,
            across / 2 if across >= THINNEST_M and marker.type != 10 else None, marker.header.frame_id,
            stamp_of(marker.header),
        )  # fmt: skip


PEOPLE: dict[str, Callable[[Any], Iterator[Sighting]]] = {
    "people_msgs/People": of_people,
    "spencer_tracking_msgs/TrackedPersons": of_tracked_persons,
    "pedsim_msgs/TrackedPersons": of_tracked_persons,
    "derived_object_msgs/ObjectArray": of_objects,
    "visualization_msgs/MarkerArray": of_markers,
}
"""Kind of message → its people. The first kinds are guessed first."""
