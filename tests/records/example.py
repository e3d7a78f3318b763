"""A small record with everything in it: people who come and go, events out of order, another machine, NaN and
-0.0."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sidestep.records import save_record
from sidestep.types import (
    EpisodeRecord,
    Event,
    Footprint,
    Outcome,
    PolicyInfo,
    RobotLimits,
    RobotPlacement,
    RobotSpec,
    Scenario,
)


def example_scenario(name: str = "corner", **fields: Any) -> Scenario:
    """A scenario without people or walls."""
    return Scenario(name=name, suite="test", robots=(RobotPlacement(start=(0, 0, 0), goal=(3, 0)),), **fields)


def example_record(steps: int = 7, people: int = 3, others: int = 1, **changes: Any) -> EpisodeRecord:
    """A record of ``steps`` steps, the same for the same arguments."""
    draw = np.random.default_rng(20)
    states = steps + 1
    present = draw.random((states, people)) < 0.7
    position = draw.normal(size=(states, people, 2)).astype(np.float32)
    position[~present] = np.nan
    velocity = np.where(present[..., None], draw.normal(size=(states, people, 2)), np.nan).astype(np.float32)
    heading = np.where(present, draw.normal(size=(states, people)), np.nan).astype(np.float32)
    planning = draw.random(steps)
    planning[1::2] = np.nan
    pose = draw.normal(size=(states, 3))
    pose[0] = (0.0, -0.0, 0.1 + 0.2)
    fields: dict[str, Any] = {
        "scenario": example_scenario(notes={"why": "Prüfung", "list": [1, 2.5, None]}),
        "robot": RobotSpec(
            name="disc",
            dynamics="unicycle",
            footprint=Footprint(radius=0.3),
            limits=RobotLimits(max_speed=1.0),
        ),
        "policy": PolicyInfo("orca", {"horizon": 3.0, "name": "x"}, ("goal", "pedestrians"), "sidestep 0.1.0"),
        "seed": 12,
        "outcome": Outcome.TIMEOUT,
        "source": "generated",
        "mode": "sync",
        "time": np.arange(states) * 0.05,
        "robot_pose": pose,
        "robot_velocity": draw.normal(size=(states, 3)),
        "command": draw.normal(size=(steps, 4)),
        "applied": draw.normal(size=(steps, 2)),
        "limited": draw.integers(0, 32, steps).astype(np.uint8),
        "planning_time": planning,
        "shortest_path_m": 0.1 + 0.2,
        "person_id": np.arange(people) + 100,
        "person_radius": np.full(people, 0.1 + 0.2, np.float32),
        "person_group": np.full(people, -1),
        "person_model": ("orca",) * people,
        "person_position": position,
        "person_velocity": velocity,
        "person_heading": heading,
        "person_present": present,
        "walls": draw.normal(size=(5, 4)),
        "events": (
            Event(0.12, "collision_start", "person:101", -0.01, "text"),
            Event(0.07, "limit_start", "speed"),
            Event(0.35, "timeout"),
        ),
        "other_pose": draw.normal(size=(states, others, 3)),
        "other_radius": np.full(others, 0.4),
        "error": "",
        "package_version": "0.1.0",
    }
    return EpisodeRecord(**(fields | changes))


def save_as_format_1(record: EpisodeRecord, path: Path) -> None:
    """The file that format 1 made of the record: groups beside the people, no checksum, another digest."""
    old = replace(record, format_version=1)
    save_record(record, path)
    table = pq.read_table(path)
    metadata = {key.decode(): text.decode() for key, text in table.schema.metadata.items()}
    people = json.loads(metadata["sidestep.people"]) | {"group": record.person_group[0].tolist()}
    for key in ("sidestep.checksum", "sidestep.wall_count"):
        metadata.pop(key, None)
    metadata |= {"sidestep.format": "1", "sidestep.people": json.dumps(people), "sidestep.digest": old.digest}
    pq.write_table(table.drop_columns(["people_group"]).replace_schema_metadata(metadata), path)
