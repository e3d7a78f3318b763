"""Groups that form and dissolve: what is scored from the record is what the referee saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.metrics.personal_space import closest_group_distance, groups_crossed
from sidestep.policies.trivial import Straight
from sidestep.records import load_record, save_record
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord
from tests.crowd.events.playing import ROBOT_RADIUS, STEP, Scripted, scenario, straight

JOINING = {"kind": "joining", "at": [6, 0], "start": [6, 4], "people": 2, "speed": 1.5}
LEAVING = {"kind": "leaving", "at": [6, 0], "to": [6, 6], "people": 3, "speed": 1.0}


def drive(event: dict[str, Any], y: float, speed: float, start_x: float = 0.0) -> EpisodeRecord:
    """A disc that drives along y = const, whoever is there."""
    limits = {"max_speed": 3.0}
    spec = {"name": "disc", "dynamics": "holonomic", "footprint": {"radius": ROBOT_RADIUS}, "limits": limits}
    robot = {"spec": spec, "start": [start_x, y, 0], "goal": [40, y]}
    rules = {"step_s": STEP, "time_limit_s": 20, "ends_on": [], "avoid_groups": True}
    return run_episode(scenario(event, robots=[robot], rules=rules), Scripted(straight(speed)))


def as_refereed(record: EpisodeRecord) -> list[tuple[int, int]]:
    """State and group of every intrusion that the referee noted."""
    events = [event for event in record.events if event.kind == "group_intrusion"]
    return [(round(event.time / record.step_s), int(event.subject.removeprefix("group:"))) for event in events]


def at_time_0(record: EpisodeRecord) -> EpisodeRecord:
    """As records of format 1 kept it."""
    return replace(record, person_group=record.person_group[0])


@pytest.mark.parametrize("event", [JOINING, LEAVING], ids=lambda event: event["kind"])
def test_intrusions_from_the_record_are_those_of_the_referee(event: dict[str, Any], tmp_path: Path) -> None:
    """Past the middle of the group and past where somebody joins or leaves it, soon and late."""
    found, wrong_with_first_groups = 0, 0
    for y in (-0.4, 0.2, 0.5, 1.0, 1.6):
        for speed, start_x in ((0.6, 0.0), (1.5, 0.0), (3.0, 4.3)):
            save_record(drive(event, y, speed, start_x), tmp_path / "a.parquet")
            record = load_record(tmp_path / "a.parquet")
            assert (record.person_group != record.person_group[0]).any()
            assert groups_crossed(record) == as_refereed(record)
            found += len(as_refereed(record))
            wrong_with_first_groups += groups_crossed(at_time_0(record)) != as_refereed(record)
    assert found > 1
    assert wrong_with_first_groups > 0


@pytest.mark.parametrize(
    ("suite", "pattern"), [("catalogue", "join"), ("catalogue", "leav"), ("sidewalk-reactive", "conversing")]
)
def test_intrusions_in_the_bundled_suites(suite: str, pattern: str) -> None:
    chosen = [each for each in load_suite(suite).scenarios() if pattern in each.name and each.rules.avoid_groups][:3]
    assert chosen
    for each in chosen:
        on = each.rules.model_copy(update={"ends_on": ()})
        record = run_episode(each.model_copy(update={"rules": on}), Straight())
        assert groups_crossed(record) == as_refereed(record)


def test_the_space_of_a_group_follows_its_members() -> None:
    """Beside the place that somebody is about to take: far from the group of two at first, near it when all three are
    in it. One who leaves is no longer part of it."""
    record = drive(JOINING, 3.0, 0.0, start_x=4.0)
    distance, first = closest_group_distance(record), closest_group_distance(at_time_0(record))
    joined = int(np.argmax(record.person_group[:, 0] >= 0))
    assert 0 < joined < record.steps
    np.testing.assert_array_equal(distance[:joined], first[:joined])
    assert distance[joined] < first[joined] - 0.3
    record = drive(LEAVING, 3.0, 0.0, start_x=4.0)
    distance = closest_group_distance(record)
    left = int(np.flatnonzero(record.person_group[:, 0] >= 0)[-1]) + 1
    assert 0 < left < record.steps
    assert distance[left] > distance[left - 1] + 0.3
