"""Older record files, brought up to the present layout one version at a time.

Only the layout changes. A record keeps the version of its file in ``format_version``, because its digest is that of its
format: a newer one covers what an older file never promised.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from sidestep.errors import RecordError
from sidestep.types.record import FORMAT_VERSION

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


def version_of(metadata: Metadata, path: Path) -> int:
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
