"""Poses in the plane and the frames of ROS: transforms of ``/tf`` and ``/tf_static``, interpolated over time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.types.base import FloatArray

ROOTS = ("map", "world", "odom")
"""Frames that drives are expressed in; the first that a bag has is used."""
MOST_LINKS = 50


def yaw_of(q: Any) -> float:
    """Heading of a quaternion, rad; 0 of one that is all zero."""
    sine, cosine = 2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z)
    return float(exact.arctan2(sine, cosine)) if q.w or q.x or q.y or q.z else 0.0


def has_direction(q: Any) -> bool:
    """Whether an orientation is set; messages that leave it out are all zero."""
    return bool(q.w or q.x or q.y or q.z)


def stamp_of(header: Any) -> float:
    """Time of a header, s."""
    return float(header.stamp.sec + header.stamp.nanosec / 1e9)


def clean_frame(name: str) -> str:
    """``/map`` → ``map``."""
    return name.lstrip("/")


@dataclass
class Link:
    """A frame in its parent's frame over time."""

    parent: str
    time: array[float] = field(default_factory=lambda: array("d"))
    pose: array[float] = field(default_factory=lambda: array("d"))
    is_static: bool = False


class Frames:
    """All transforms of a bag."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}

    def note(self, message: Any, is_static: bool) -> None:
        """Keep the transforms of a message of ``/tf`` or ``/tf_static``."""
        for each in message.transforms:
            child, parent = clean_frame(each.child_frame_id), clean_frame(each.header.frame_id)
            link = self.links.get(child)
            if link is None or link.parent != parent:
                link = self.links[child] = Link(parent)
            link.is_static = is_static
            move = each.transform
            link.time.append(stamp_of(each.header))
            link.pose.extend((move.translation.x, move.translation.y, yaw_of(move.rotation)))

    def chain(self, frame: str) -> Iterator[str]:
        """The frame, its parent and so on to the root."""
        for _ in range(MOST_LINKS):
            yield frame
            if frame not in self.links:
                return
            frame = self.links[frame].parent

    def root(self, frame: str) -> str:
        """The first of ``ROOTS`` above ``frame``, or the frame itself."""
        above = list(self.chain(frame))
        return next((root for root in ROOTS if root in above), frame)

    def reaches(self, frame: str, target: str) -> bool:
        """Whether there are transforms from ``frame`` up to ``target``."""
        return target in self.chain(frame)

    def lift(self, frame: str, target: str, times: FloatArray, poses: FloatArray) -> FloatArray:
        """(K, 3) poses of ``frame`` at ``times`` in the frame ``target`` above it."""
        for child in self.chain(frame):
            if child == target:
                return poses
            poses = compose(self.at(child, times), poses)
        return poses

    def at(self, child: str, times: FloatArray) -> FloatArray:
        """(K, 3) pose of a frame in its parent's frame: positions linear, headings the shorter way."""
        link = self.links[child]
        time, pose = np.array(link.time), np.array(link.pose).reshape(-1, 3)
        order = np.argsort(time, kind="stable")
        time, pose = time[order], pose[order]
        first = np.concatenate([[True], np.diff(time) > 0])
        time, pose = time[first], pose[first]
        if link.is_static or len(time) == 1:
            return np.broadcast_to(pose[-1], (len(times), 3))
        turned = np.concatenate([pose[:1, 2], pose[0, 2] + np.cumsum(exact.wrap_angle(np.diff(pose[:, 2])))])
        found = exact.interp(times, time, np.column_stack([pose[:, :2], turned]))
        return np.column_stack([found[:, :2], exact.wrap_angle(found[:, 2])])


def compose(outer: FloatArray, inner: FloatArray) -> FloatArray:
    """(K, 3) poses ``inner``, given in the frame at ``outer``, in the frame in which ``outer`` is given."""
    if not outer.any():
        return inner
    sine, cosine = exact.sincos(outer[:, 2])
    x = outer[:, 0] + cosine * inner[:, 0] - sine * inner[:, 1]
    y = outer[:, 1] + sine * inner[:, 0] + cosine * inner[:, 1]
    return np.column_stack([x, y, exact.wrap_angle(outer[:, 2] + inner[:, 2])])
