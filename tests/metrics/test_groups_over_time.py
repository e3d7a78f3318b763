"""Groups that form and dissolve: what is scored from the record is what the referee saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.kernels.layout import GROUP_GAP_M
from sidestep.metrics.personal_space import closest_group_distance
from sidestep.metrics.series import present
from sidestep.policies.trivial import Straight
from sidestep.records import load_record, save_record
from sidestep.simulation import run_episode
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord
from tests.simulation.crowd.events.playing import ROBOT_RADIUS, STEP, Scripted, scenario, straight

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


def groups_crossed(record: EpisodeRecord, within_m: float = GROUP_GAP_M) -> list[tuple[int, int]]:
    """(state, group) of every group that the robot passed through, once each: in the step that led to the state, its
    reference point crossed the line between two members, as they stand and belong together in that state, who are at
    most ``within_m`` apart. The referee's rule, from the record alone.

    After a reset the step begins where the robot was put: its position after the step, less its velocity times step_s.
    """
    resets = {round(event.time / record.step_s) for event in record.events if event.kind == "reset"}
    found: list[tuple[int, int]] = []
    for state in range(1, len(record.time)):
        end = record.robot_pose[state, :2]
        start = record.robot_pose[state - 1, :2]
        if state - 1 in resets:
            start = end - record.robot_velocity[state, :2] * record.step_s
        group = np.where(present(record)[state], record.person_group[state], -1)
        seen = {number for _, number in found}
        for number in np.unique(group[group >= 0]).tolist():
            members = record.person_position[state, group == number].astype(np.float64)
            if number not in seen and _passes_between(start, end, members, within_m):
                found.append((state, int(number)))
    return found


def _passes_between(start: Any, end: Any, members: Any, within_m: float) -> bool:
    """Whether the line from ``start`` to ``end`` crosses the line between two ``members`` (K, 2); standing on the line
    at the start is no crossing, for the step before crossed it."""
    first, second = np.triu_indices(len(members), k=1)
    a, b = members[first], members[second]
    near = ((a - b) ** 2).sum(axis=1) <= within_m**2
    before, after = _side(a, b, start), _side(a, b, end)
    crosses = (before != 0.0) & (before * after <= 0.0) & (_side(start, end, a) * _side(start, end, b) <= 0.0)
    return bool((near & crosses).any())


def _side(start: Any, end: Any, point: Any) -> Any:
    """On which side of the line from ``start`` to ``end`` a point is: the sign of the cross product, 0 on it."""
    along, to = end - start, point - start
    return np.asarray(along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0])


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
