"""The columns and metadata of a record file, version 2, and how older files are brought up to it one version at a
time.

Row k holds state k and, where there is one, the step that leads from it to state k + 1: the last row's command
columns are null. Columns of people and of other robots and vehicles are lists in the order of the metadata's
``people`` and ``other_radius``. Floats are stored bit for bit. A migration changes the layout only: a record
keeps the version of its file in ``format_version``, because its digest is that of its format.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from sidestep.errors import RecordError
from sidestep.types.record import FORMAT_VERSION

PREFIX = "sidestep."
"""Prefix of every metadata key. ``format`` and ``wall_count`` are numbers; ``scenario``, ``robot``, ``policy``,
``people`` and ``other_radius`` are JSON; ``walls`` is base64 of zlib of little-endian float32 (W, 4); the rest is plain
text."""

CHECKSUM = b"sidestep.checksum\x18\x40"
"""Precedes the checksum in the file's bytes: the key as Parquet's footer stores it, with the length of its value, 64
hexadecimal digits. SHA-256 of the whole file with zeros in their place."""
CHECKSUM_ZEROS = b"0" * 64

STATE_COLUMNS: dict[str, tuple[str, int]] = {
    "x": ("robot_pose", 0),
    "y": ("robot_pose", 1),
    "heading": ("robot_pose", 2),
    "vx": ("robot_velocity", 0),
    "vy": ("robot_velocity", 1),
    "omega": ("robot_velocity", 2),
}
"""float64 column → array of the record and its component; one value per state."""

STEP_COLUMNS: dict[str, tuple[str, int]] = {
    "command_kind": ("command", 0),
    "command_0": ("command", 1),
    "command_1": ("command", 2),
    "command_2": ("command", 3),
    "applied_0": ("applied", 0),
    "applied_1": ("applied", 1),
}
"""float64 column → array of the record and its component; one value per step, null in the last row."""

PEOPLE_COLUMNS: dict[str, tuple[str, int | None]] = {
    "people_x": ("person_position", 0),
    "people_y": ("person_position", 1),
    "people_vx": ("person_velocity", 0),
    "people_vy": ("person_velocity", 1),
    "people_heading": ("person_heading", None),
    "people_present": ("person_present", None),
    "people_group": ("person_group", None),
}
"""list<float32> (``people_present``: list<bool>, ``people_group``: list<int32>) column → array of the record and its
component."""

OPTIONAL_COLUMNS: dict[str, str] = {
    "people_delay": "person_delay",
    "people_detour": "person_detour",
    "people_gesture": "person_gesture",
    "people_head_yaw": "person_head_yaw",
}
"""list column (float32; gestures: uint8) → array of the record. Only in files of records that have it."""

PLAN_COLUMNS: tuple[str, ...] = ("plan", "forecast_people", "forecast")
"""Only in files of records with plans; null in rows of steps at which nothing was noted. ``plan``: list<float32>, x and
y of the points in turn, NaN beyond the end. ``forecast_people``: list<int32>, columns of people. ``forecast``:
list<float32>, their points one person after the other, as many each. ``plan_step_s`` is in the metadata."""

OTHER_COLUMNS: dict[str, tuple[str, int]] = {
    "other_x": ("other_pose", 0),
    "other_y": ("other_pose", 1),
    "other_heading": ("other_pose", 2),
}
"""list<float64> column → array of the record and its component."""

EVENT = pa.struct(
    [
        pa.field("order", pa.int32()),
        pa.field("time", pa.float64()),
        pa.field("kind", pa.string()),
        pa.field("subject", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("text", pa.string()),
    ]
)
"""``order`` is the event's place among all events of the episode."""

COLUMNS: tuple[str, ...] = (
    "time",
    *STATE_COLUMNS,
    *STEP_COLUMNS,
    "limited",
    "planning_time",
    *PEOPLE_COLUMNS,
    *OTHER_COLUMNS,
    "events",
)


Metadata = dict[str, str]
Migration = Callable[[pa.Table, Metadata], tuple[pa.Table, Metadata]]

PRIVILEGED_IN_1 = frozenset({"oracle", "expert"})
"""Bundled policies that saw more than others when records did not say so yet."""


def one_to_two(table: pa.Table, metadata: Metadata) -> tuple[pa.Table, Metadata]:
    """Groups were those of time 0 and stood with the people; privilege was known by name; walls were not counted."""
    people, policy = json.loads(metadata["people"]), json.loads(metadata["policy"])
    if len(table.column("people_present").combine_chunks().flatten()) != len(table) * len(people["group"]):
        raise ValueError(f"{len(people['group'])} groups of other people than the columns have")
    group = np.tile(np.array(people.pop("group"), dtype=np.int32), len(table))
    offsets = np.arange(len(table) + 1, dtype=np.int32) * len(people["id"])
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(group))
    policy["privileged"] = policy["name"] in PRIVILEGED_IN_1 or "future" in policy["needs"]
    changed = {"people": json.dumps(people), "policy": json.dumps(policy)}
    return table.append_column("people_group", lists), metadata | changed


MIGRATIONS: dict[int, Migration] = {1: one_to_two}
"""Version v → the function that turns the layout of version v into that of version v + 1."""


def version_of(metadata: Metadata, path: Path | str) -> int:
    """The version of a file's format, one that can be read."""
    text = metadata["format"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RecordError(
            f"{path}: its format version {text[:20]!r} is not a number; the file is damaged, run the episode again"
        )
    version = int(text)
    if version > FORMAT_VERSION:
        raise RecordError(
            f"{path}: written by a newer Sidestep (format {version}, this one reads up to {FORMAT_VERSION}); "
            "upgrade with: pip install --upgrade sidestep"
        )
    if any(step not in MIGRATIONS for step in range(version, FORMAT_VERSION)):
        raise RecordError(
            f"{path}: format {version} is no longer readable; run the episode again, or read it with "
            f"Sidestep {metadata.get('package_version', 'of that time')}"
        )
    return version


def migrate(table: pa.Table, metadata: Metadata, version: int) -> tuple[pa.Table, Metadata]:
    """The table and metadata of a file of ``version`` in the present layout."""
    for step in range(version, FORMAT_VERSION):
        table, metadata = MIGRATIONS[step](table, metadata)
    return table, metadata
