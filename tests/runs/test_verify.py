"""Verification: equal runs are equal, and the first difference is found where it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.runs.folder import episode_path
from sidestep.runs.runner import run_benchmark
from sidestep.runs.verify import Verification, first_divergence, verify_run
from sidestep.types import Event, Outcome, PolicyInfo, Rules
from tests.records.example import example_record, example_scenario, save_as_format_1
from tests.runs.fake import fake_episode, fake_plan

pytestmark = pytest.mark.usefixtures("in_process")


def verified(tmp_path: Path, policy: str, sample: int | None = None, **changes: Any) -> Verification:
    run_benchmark(fake_plan(tmp_path, policy, **changes), tmp_path / "run", run_episode=fake_episode)
    return verify_run(tmp_path / "run", sample, run_episode=fake_episode)


def test_equal(tmp_path: Path) -> None:
    assert verified(tmp_path, "Steady").as_json() == {"checked": 6, "equal": 6, "first_difference": None}


def test_a_failing_policy_fails_the_same_way(tmp_path: Path) -> None:
    assert verified(tmp_path, "Raises").equal == 6


def test_a_sample_is_spread_over_the_run(tmp_path: Path) -> None:
    assert verified(tmp_path, "Steady", sample=2).checked == 2
    assert verify_run(tmp_path / "run", 100, run_episode=fake_episode).checked == 6


def test_the_first_difference_is_told(tmp_path: Path) -> None:
    found = verified(tmp_path, "Restless")
    assert (found.checked, found.equal) == (6, 0)
    document = found.as_json()["first_difference"]
    assert list(document) == ["scenario", "policy", "step", "quantity", "was", "is"]
    assert (document["scenario"], document["step"], document["quantity"]) == ("s0", 3, "command.0")
    assert document["was"] != document["is"]


def test_modes_on_the_wall_clock_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"async .* wall clock"):
        verified(tmp_path, "Steady", mode="async")


def changed(name: str, place: tuple[int, ...], value: float) -> Any:
    array = np.array(getattr(example_record(), name))
    array[place] = value
    return example_record(**{name: array})


@pytest.mark.parametrize(
    ("name", "place", "step", "quantity"),
    [
        ("robot_pose", (4, 2), 4, "robot_pose.heading"),
        ("robot_velocity", (2, 0), 2, "robot_velocity.vx"),
        ("command", (3, 1), 3, "command.0"),
        ("person_position", (5, 1, 1), 5, "person_position[101].y"),
        ("person_heading", (1, 2), 1, "person_heading[102]"),
        ("other_pose", (2, 0, 2), 2, "other_pose[0].heading"),
        ("walls", (3, 1), 0, "walls[1]"),
        ("person_radius", (1,), 0, "person_radius[101]"),
        ("limited", (6,), 6, "limited"),
    ],
)
def test_where_two_records_part(name: str, place: tuple[int, ...], step: int, quantity: str) -> None:
    new = changed(name, place, 77.0)
    assert new.digest != example_record().digest
    found = first_divergence(example_record(), new)
    assert found[:2] == (step, quantity)
    assert found[3] == 77.0


def test_absent_on_both_sides_is_no_difference() -> None:
    """NaN equals NaN, so that a later true difference is found."""
    assert np.isnan(example_record().person_position).any()
    assert first_divergence(example_record(), changed("robot_pose", (7, 0), 77.0))[0] == 7


def test_planning_time_is_no_difference() -> None:
    new = example_record(planning_time=np.ones(7), outcome=Outcome.FROZEN)
    assert first_divergence(example_record(), new) == (7, "outcome", "timeout", "frozen")


def test_another_event() -> None:
    events = (*example_record().events[:2], Event(0.31, "frozen"))
    step, quantity, was, now = first_divergence(example_record(), example_record(events=events))
    assert (step, quantity) == (6, "event")
    assert "timeout" in str(was)
    assert "frozen" in str(now)


def test_another_length() -> None:
    short = example_record(
        **{
            name: getattr(example_record(), name)[:-2]
            for name in (
                "time", "robot_pose", "robot_velocity", "command", "applied", "limited", "planning_time",
                "person_position", "person_velocity", "person_heading", "person_present", "person_group", "other_pose",
            )
        }
    )  # fmt: skip
    assert first_divergence(example_record(), short) == (5, "steps", 7, 5)


def test_another_scenario_or_policy_is_told() -> None:
    wider = example_record(scenario=example_scenario(rules=Rules(goal_radius_m=2.0)))
    narrow = example_record(scenario=example_scenario())
    assert first_divergence(narrow, wider)[:2] == (0, "scenario")
    assert "goal_radius_m" in str(first_divergence(narrow, wider)[3])
    seeing = example_record(policy=PolicyInfo("orca", {}, ("future", "goal", "pedestrians"), privileged=True))
    assert first_divergence(example_record(), seeing)[:2] == (0, "policy")


def test_records_of_format_1_are_compared_by_the_digest_of_their_time(tmp_path: Path) -> None:
    """It covers the course of the episode: an equal one is equal, another one is not."""
    plan = fake_plan(tmp_path, "Steady", scenarios=1, seeds=2)
    run_benchmark(plan, tmp_path / "run", run_episode=fake_episode)
    paths = [episode_path(tmp_path / "run", plan.policies[0].name, "s0", seed) for seed in (0, 1)]
    save_as_format_1(load_record(paths[0]), paths[0])
    save_as_format_1(load_record(paths[1]), paths[1])
    assert [load_record(path).format_version for path in paths] == [1, 1]
    assert verify_run(tmp_path / "run", run_episode=fake_episode).equal == 2
    moved = load_record(paths[1])
    save_as_format_1(replace(moved, robot_pose=moved.robot_pose + 0.5), paths[1])
    found = verify_run(tmp_path / "run", run_episode=fake_episode)
    assert (found.equal, found.first_difference and found.first_difference.quantity) == (1, "robot_pose.x")
