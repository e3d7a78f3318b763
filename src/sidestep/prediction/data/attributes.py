"""Orientations of head and body from annotations, as those of JAAD and PIE, added to the tracks of a data set.

A CSV file with the columns ``clip`` (name of the clip), ``person`` (number of the pedestrian in it), ``frame``,
``body_deg`` and ``head_deg`` (degrees counter-clockwise from +x; empty: not annotated), and optionally ``looking``
(1: looks at the vehicle, 0: does not). Where ``looking`` is 1 and ``head_deg`` is empty, the head points at the middle
of the vehicle. Frame k is at k / ``rate_hz`` seconds of the clip's time.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, did_you_mean
from sidestep.prediction.data.recorded_csv import Columns, read_columns
from sidestep.types.base import FloatArray
from sidestep.types.interactions import Interactions


def add_attributes(data: Interactions, path: Path, rate_hz: float = 10.0) -> Interactions:
    """``data`` with the annotations in ``path``: each frame of a track takes the nearest annotation within half a
    frame of the slower clock. Tracks of annotated pedestrians count as labelled."""
    if not rate_hz > 0.0:
        raise BadInput(f"{path}: rate_hz is {rate_hz}; give the annotated frames per second")
    table = read_columns(
        path,
        {"clip": "text", "person": "whole", "frame": "whole", "body_deg": "gaps", "head_deg": "gaps"},
        {"looking": "gaps"},
    )
    looking = table["looking"] if "looking" in table.values else np.full(len(table), np.nan)
    table.refuse(~(np.isnan(looking) | np.isin(looking, (0.0, 1.0))), "column looking: must be 0, 1 or empty")
    tracks = _tracks_of(data, table)
    body, head, labelled = data.body.copy(), data.head.copy(), data.labelled.copy()
    within = 0.5 * max(data.step_s, 1.0 / rate_hz) + 1e-9
    for (clip, person), numbers in tracks.items():
        rows = np.nonzero((table["clip"] == clip) & (table["person"] == person))[0]
        rows = rows[np.argsort(table["frame"][rows], kind="stable")]
        moments = table["frame"][rows] / rate_hz
        for track in numbers:
            frames = np.arange(int(data.start[track]), int(data.stop[track]))
            time = data.begin_s[track] + data.step_s * np.arange(len(frames))
            nearest = _nearest(moments, time)
            near = np.abs(moments[nearest] - time) <= within
            frames, chosen = frames[near], rows[nearest[near]]
            away = data.ego[frames, :2] - data.position[frames]
            at_vehicle = np.where(looking[chosen] == 1.0, exact.arctan2(away[:, 1], away[:, 0]), np.nan)
            given = np.deg2rad(table["head_deg"][chosen])
            body[frames] = np.deg2rad(table["body_deg"][chosen])
            head[frames] = np.where(np.isnan(given), at_vehicle, given)
            labelled[track] |= bool(np.isfinite(body[frames]).any() or np.isfinite(head[frames]).any())
    return replace(data, body=body, head=head, labelled=labelled)


def _nearest(moments: FloatArray, time: FloatArray) -> FloatArray:
    after = np.clip(np.searchsorted(moments, time), 1, max(len(moments) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(moments) - 1)
    return np.where(time - moments[before] <= moments[after] - time, before, after)


def _tracks_of(data: Interactions, table: Columns) -> dict[tuple[str, int], list[int]]:
    """The tracks of every annotated pedestrian; ``BadInput`` names the first line of one that is not there."""
    names = [clip.name for clip in data.clips]
    known: dict[tuple[str, int], list[int]] = {}
    for track, (clip, person) in enumerate(zip(data.clip.tolist(), data.person.tolist(), strict=True)):
        known.setdefault((names[clip], person), []).append(track)
    found = {}
    for row, key in enumerate(zip(table["clip"].tolist(), table["person"].tolist(), strict=True)):
        if key in found:
            continue
        if key[0] not in names:
            raise BadInput(f"{table.path}:{table.line[row]}: there is no clip {key[0]!r}{did_you_mean(key[0], names)}")
        if key not in known:
            raise BadInput(f"{table.path}:{table.line[row]}: clip {key[0]} has no track of person {key[1]}")
        found[key] = known[key]
    return found
