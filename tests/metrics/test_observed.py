"""What policies observed, and who is in one race with whom: the cheapest policy that would break it gains nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from sidestep.interfaces import Policy
from sidestep.metrics.observed import (
    classes_of,
    describe_observed,
    in_one_race,
    observation_class,
    observed_in,
    parse_observed,
    race_note,
    races,
)
from sidestep.simulation import run_episode
from sidestep.types import Command, Observation, Scenario, Task, Velocity
from sidestep.types.record import EpisodeRecord, PolicyInfo
from tests.records.example import example_record

SCENARIO = Scenario.parse(
    {
        "name": "hall",
        "robots": [{"spec": "pioneer_3dx", "start": [0, 0, 0], "goal": [3, 0]}],
        "crowd": [{"people": [{"start": [2, 1]}]}],
        "rules": {"step_s": 0.1, "time_limit_s": 0.5},
        "sensors": {"lidar": {"rays": 90, "max_range": 8}, "pedestrians": {"range_m": 5, "occlusion": True}},
    },
    "",
)


def with_needs(*needs: str) -> EpisodeRecord:
    record = example_record()
    return replace(record, policy=PolicyInfo("p", {}, needs))


class Lies(Policy):
    """Says in its summary that it has a scanner only, and reads the states of people all the same."""

    needs: ClassVar[frozenset[str]] = frozenset({"lidar", "pedestrians"})
    summary = "lidar only"

    def reset(self, task: Task) -> None:
        """Nothing."""

    def act(self, observation: Observation) -> Command:
        """Looks at somebody's state."""
        assert observation.pedestrians is not None
        return Velocity(0.1, 0.0)


class Scans(Lies):
    """Has a scanner only, and so nobody's state."""

    needs: ClassVar[frozenset[str]] = frozenset({"lidar", "goal"})

    def act(self, observation: Observation) -> Command:
        """Gets what it names and nothing else."""
        assert observation.pedestrians is None
        assert observation.lidar is not None
        return Velocity(0.1, 0.0)


def test_the_record_says_what_a_policy_was_given_whatever_it_says_of_itself() -> None:
    told, scanned = run_episode(SCENARIO, Lies(), seed=0), run_episode(SCENARIO, Scans(), seed=0)
    assert told.error == scanned.error == ""
    given = parse_observed([observed_in(told)])
    assert given == {"pedestrians": "5 m, no one hidden", "lidar": "90 rays, 8 m"}
    assert observation_class(given) == "exact"
    assert parse_observed([observed_in(scanned)]) == {"lidar": "90 rays, 8 m", "goal": ""}
    assert observation_class(parse_observed([observed_in(scanned)])) == "sensors"


@pytest.mark.parametrize(
    ("needs", "kind"),
    [
        (("pedestrians", "goal", "route", "map"), "exact"),
        (("goal", "map"), "exact"),
        (("vehicles", "lidar"), "exact"),
        (("learning",), "exact"),
        (("lidar", "my_eyes"), "exact"),  # a sensor of a plug-in may report anything
        (
            ("rgb", "lidar", "measurements", "high_level_command"),
            "exact",
        ),  # the command comes from one who knows people
        (("lidar", "route", "goal"), "sensors"),
        (("depth", "rgb", "semantic", "points", "measurements"), "sensors"),
        (("goal",), "nothing"),
        ((), "nothing"),
    ],
)
def test_in_which_race_a_policy_is(needs: tuple[str, ...], kind: str) -> None:
    assert observation_class(parse_observed([observed_in(with_needs(*needs))])) == kind


def test_of_a_log_nobody_knows_what_was_observed_but_a_note_hides_no_needs() -> None:
    record = with_needs()
    noted = replace(record, scenario=record.scenario.model_copy(update={"notes": {"log": {"unknown": ["policy"]}}}))
    assert observed_in(noted) == ""
    assert observation_class(parse_observed([""])) == "unknown"
    seeing = replace(noted, policy=PolicyInfo("p", {}, ("pedestrians",)))
    assert observation_class(parse_observed([observed_in(seeing)])) == "exact"


def test_one_episode_with_more_counts() -> None:
    """A policy that asks for people's states in one scenario of twelve is in the race of those who have them."""
    lidar, more = observed_in(with_needs("lidar")), observed_in(with_needs("lidar", "pedestrians"))
    assert classes_of([*[("p", lidar)] * 11, ("p", more), ("q", lidar)]) == {"p": "exact", "q": "sensors"}


def test_races() -> None:
    assert races({"a": "exact", "b": "nothing"}) == [{"a", "b"}]
    assert races({"a": "sensors", "b": "unknown"}) == [{"a", "b"}]
    assert races({"a": "exact", "b": "sensors", "c": "nothing", "d": "unknown"}) == [{"a", "c", "d"}, {"b", "c", "d"}]
    assert not in_one_race("sensors", "exact")
    assert in_one_race("nothing", "exact")
    assert race_note({"a": "exact", "b": "nothing"}) == ""
    assert "a (exact states or the map) and b (sensors only)" in race_note({"a": "exact", "b": "sensors"})


def test_words() -> None:
    assert describe_observed(None) == "not known"
    assert describe_observed({}) == "nothing"
    assert describe_observed({"pedestrians": "5 m", "lidar": "90 rays, 8 m", "goal": ""}) == (
        "people (5 m), lidar (90 rays, 8 m), goal"
    )
    two = parse_observed(['{"lidar": "90 rays, 8 m"}', '{"lidar": "180 rays, 8 m"}'])
    assert two == {"lidar": "90 rays, 8 m or 180 rays, 8 m"}


def test_pictures_and_scans_have_their_size() -> None:
    class Looks(Scans):
        needs: ClassVar[frozenset[str]] = frozenset({"depth", "lidar"})
        camera: ClassVar[dict[str, int]] = {"width": 40, "height": 30}

        def act(self, observation: Observation) -> Command:
            assert observation.depth is not None
            assert np.shape(observation.depth) == (30, 40)
            return Velocity(0.1, 0.0)

    record = run_episode(SCENARIO, Looks(), seed=0)
    assert record.error == ""
    assert parse_observed([observed_in(record)]) == {"lidar": "90 rays, 8 m", "depth": "40 × 30"}
