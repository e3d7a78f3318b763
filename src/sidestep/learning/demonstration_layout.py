"""Demonstrations of driving through intersections as HDF5 files in the published layout of IntersectNav.

A file has a group per task: ``branch-1`` (turn left), ``branch0`` (go straight), ``branch1`` (turn right); a group has
a dataset per field (:data:`FIELDS`) with one row per frame. Frames of an episode follow each other.

Where IntersectNav's readme and its program disagree, the program's layout is written and both are read:

=============  ====================  ==================
in the file    program (written)     readme
=============  ====================  ==================
group          ``branch-1``          ``branch -1``
``mea_t``      4 values (later 7)    3 values
``rot_t``      pitch, roll, yaw      pitch, yaw, roll
=============  ====================  ==================

As in the program's files pictures are BGR, and measurements and commands are version 2 of
:mod:`sidestep.policies.driving.measurements`. Files that Sidestep wrote before hold version 1 and RGB pictures.

Source: Z. Zhu and H. Zhao, "Multi-Task Conditional Imitation Learning for Autonomous Navigation at Crowded
Intersections", arXiv:2202.10124, and the repository of the IntersectNav benchmark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]

BRANCHES = {-1: "turn left", 0: "go straight", 1: "turn right"}
"""The task of each branch."""
MEASUREMENTS = {3: "as in the readme", 4: "as in the program", 7: "as in the program for CARLA 0.9.12"}
"""Numbers of values that ``mea_t`` can have."""
ROTATION = "pitch, roll, yaw"
"""Order of ``rot_t`` as written; stored as its attribute ``order``."""
ROTATION_README = "pitch, yaw, roll"
CHANNELS = "BGR"
"""Order of the colours of ``img_t`` as written; stored as its attribute ``channels``."""
INPUTS = 2
"""Version of the inputs as written; stored as the attribute ``inputs`` of ``mea_t``."""
RATE_HZ = 20
"""Frames per second of the published files (CARLA 0.9.7)."""
BATCH = 64
"""Maximum number of frames that are written together, which a killed program can lose."""
MOST_FRAMES = 20_000_000
"""Maximum number of frames of a branch that is read: about a terabyte of pictures."""


class Field(NamedTuple):
    """How a field is stored."""

    shape: tuple[int, ...]
    """Shape of the field in one frame."""
    dtype: str
    kinds: str
    """Kinds of numbers that are accepted on reading, as in ``numpy.dtype.kind``."""
    chunk: int
    """Frames in a block of the file."""


FIELDS: dict[str, Field] = {
    "img_t": Field((88, 200, 3), "u1", "u", 1),
    "lid_t": Field((720,), "f4", "f", 64),
    "mea_t": Field((4,), "f4", "f", 256),
    "com_t": Field((2,), "i8", "iu", 256),
    "loc_t": Field((3,), "f4", "f", 256),
    "rot_t": Field((3,), "f4", "f", 256),
    "a_t": Field((3,), "f4", "f", 256),
    "pose": Field((), "i8", "iu", 512),
    "town": Field((), "i8", "iu", 512),
    "scene": Field((), "i8", "iu", 512),
    "weather": Field((), "i8", "iu", 512),
    "done": Field((), "?", "biu", 512),
    "trace": Field((), "i8", "iu", 512),
}
"""``trace`` is written last: in an interrupted file, frames without a trace number are not complete."""
NOT_WRITTEN = -1
"""Value of ``trace`` where nothing was written."""


class DemonstrationFrame(NamedTuple):
    """One frame: the inputs of the driver and its action."""

    image: Array
    """``img_t``: BGR picture of the front camera, (88, 200, 3) uint8; RGB in files with version 1 of the inputs."""
    lidar: Array
    """``lid_t``: (720,) ranges of the front half divided by 40 m, at most 1; 0.25° apart."""
    measurements: Array
    """``mea_t``: (4,) speed / 30 km/h, distance to the route in m, positive to its right, angle from the goal to the
    heading / 1.57 rad, remaining share of the distance to the goal. Files by others can have 3 or 7 values."""
    command: Array
    """``com_t``: (2,) lateral (0 follow lane, 1 left, 2 right, 3 straight) and longitudinal (0 slower, 1 keep,
    2 faster)."""
    location: Array
    """``loc_t``: (3,) x, y, z in m."""
    rotation: Array
    """``rot_t``: (3,) pitch, roll, yaw in degrees."""
    action: Array
    """``a_t``: (3,) steer in [-1, 1], throttle and brake in [0, 1]."""
    pose: int
    """Index of the start waypoint of the route."""
    town: int
    scene: int
    trace: int
    """Number of the episode, at least 0."""
    weather: int
    """Index in the list of weathers that the file names, else in the program's own list."""
    done: bool
    """Whether this is the last frame of the episode."""


COLUMNS: dict[str, str] = {
    "image": "img_t", "lidar": "lid_t", "measurements": "mea_t", "command": "com_t", "location": "loc_t",
    "rotation": "rot_t", "action": "a_t", "pose": "pose", "town": "town", "scene": "scene", "trace": "trace",
    "weather": "weather", "done": "done",
}  # fmt: skip
"""Dataset of each field of :class:`DemonstrationFrame`."""
LABELS = ("pose", "town", "scene", "trace", "weather")
"""Fields that are constant within an episode."""


class DemonstrationEpisode(NamedTuple):
    """Frames ``start`` to ``stop`` (exclusive) of a branch."""

    branch: int
    start: int
    stop: int
    pose: int
    town: int
    scene: int
    trace: int
    weather: int
    finished: bool
    """False if the last frame is not ``done``: the program was stopped during the episode."""


def group_name(branch: int) -> str:
    """Name of the group of a branch, as written."""
    return f"branch{branch}"


def fields_with(measurements: int) -> dict[str, Field]:
    """:data:`FIELDS` with that many values in ``mea_t``."""
    return {**FIELDS, "mea_t": FIELDS["mea_t"]._replace(shape=(measurements,))}


def by_dataset(frame: DemonstrationFrame) -> dict[str, Any]:
    """The values of a frame by the names of the datasets."""
    return {COLUMNS[name]: value for name, value in frame._asdict().items()}


def shown_shape(shape: tuple[int, ...]) -> str:
    """The shape as a text: ``(88, 200, 3)``."""
    return f"({', '.join(map(str, shape))})"
