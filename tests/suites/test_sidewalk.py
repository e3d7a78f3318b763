"""The sidewalk suites: what is in them, that it is chosen as the program chooses, and that it can be driven."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.sidewalk.follow_lane import Expert, FollowLane
from sidestep.scenes.towns import GENERATOR_VERSION, town_names
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.loop import Episode, describe_policy, run_episodes
from sidestep.suites.files import choose_options, load_suite
from sidestep.suites.sidewalk.routes import UNIT_KINDS, town_routes
from sidestep.suites.sidewalk.scenarios import (
    BEHAVIOURS,
    SIDEWALK_LONG,
    SIDEWALK_REACTIVE,
    SIDEWALK_UNIT,
    STATIC,
)
from sidestep.types import Outcome, Scenario, SceneSpec
from tools.choose_sidewalk_towns import choose_town
from tools.sidewalk_people import leaves_passage

FIRST = town_names()[0].lower()
SUITES = (SIDEWALK_UNIT, SIDEWALK_REACTIVE, SIDEWALK_LONG)


def named(suite: str, name: str) -> Scenario:
    whole = choose_options(load_suite(suite), {"split": "all"})
    return next(item for item in whole.scenarios() if item.name == name)


def test_as_many_as_the_paper_has() -> None:
    unit, reactive, long = (choose_options(suite, {"split": "all"}).scenarios() for suite in SUITES)
    assert (len(unit), len(reactive), len(long)) == (330, 900, 105)
    for kind in UNIT_KINDS:
        assert sum(item.tags[:2] == (kind, "town") for item in unit) == 100
        assert sum(item.tags[:2] == (kind, "real") for item in unit) == 10
    for behaviour in (STATIC, *BEHAVIOURS):
        assert sum(item.tags[0] == behaviour for item in reactive) == 100
    for suite in (unit, reactive, long):
        assert len({item.name for item in suite}) == len(suite)


def test_development_and_test_split() -> None:
    """Towns 0 to 49 and Piper Parade are for development, the others for tests; what tables show is the test split."""
    early, late = ({name.lower() for name in part} for part in (town_names()[:50], town_names()[50:]))
    for suite in SUITES:
        dev, test, both = (choose_options(suite, {"split": split}).scenarios() for split in ("dev", "test", "all"))
        assert suite.scenarios() == test
        assert {item.name for item in dev} | {item.name for item in test} == {item.name for item in both}
        assert not {item.name for item in dev} & {item.name for item in test}
        for items, split, towns, places in (
            (dev, "dev", early, {"piper-parade"}),
            (test, "test", late, {"kettlegate", "lantern-court"}),
        ):
            assert all(item.tags[2] == split for item in items)
            where = {(item.tags[1], item.name.partition("-")[2]) for item in items}
            assert {place for kind, place in where if kind == "town"} == towns
            if suite is not SIDEWALK_REACTIVE:
                assert {place.rpartition("-")[0] for kind, place in where if kind == "real"} == places
        # a scenario is the same, however it was chosen
        assert [item for item in both if item.tags[2] == "test"] == list(test)
    with pytest.raises(BadInput, match="split"):
        choose_options(SIDEWALK_UNIT, {"split": "train"})


def test_short_ways_are_short_and_long_ways_long() -> None:
    for town in town_routes().towns:
        for way in (town.straight, town.curve, town.crosswalk):
            assert 9.9 <= np.hypot(*np.diff(np.array(way.points), axis=0).T).sum() <= 20.1
        assert town.long.length > 100
    whole = choose_options(SIDEWALK_LONG, {"split": "all"}).scenarios()
    assert sum(item.notes["length_m"] for item in whole) == pytest.approx(36_500, rel=0.05)


def test_the_file_is_what_the_program_chooses() -> None:
    assert town_routes().version == GENERATOR_VERSION
    assert choose_town(3) == town_routes().towns[3]


def test_rules_of_each_suite() -> None:
    gesturing, talking = (named("sidewalk-reactive", f"{kind}-{FIRST}").rules for kind in ("gesturing", "conversing"))
    assert gesturing.success == "stop"
    assert gesturing.stop_within_m == 3.0
    assert talking.avoid_groups
    long = named("sidewalk-long", f"long-{FIRST}").rules
    assert long.on_failure == "reset"
    assert Outcome.FROZEN in long.ends_on
    assert named("sidewalk-unit", f"curve-{FIRST}").rules.time_limit_s == 60.0


def test_options() -> None:
    dog = choose_options(SIDEWALK_UNIT, {"robot": "robot_dog", "weather": "rain", "time_of_day": "night"})
    scenario = next(iter(dog.scenarios()))
    assert scenario.ego.spec == "robot_dog"
    assert scenario.sensors.camera.weather == "rain"
    empty = choose_options(SIDEWALK_LONG, {"people": False, "walkers": 0}).scenarios()
    assert not any(item.events or item.crowd for item in empty)
    with pytest.raises(BadInput, match="weather"):
        choose_options(SIDEWALK_UNIT, {"wether": "rain"})


@pytest.mark.parametrize("kind", UNIT_KINDS)
def test_units_can_be_driven(kind: str) -> None:
    assert run_episode(named("sidewalk-unit", f"{kind}-{FIRST}"), FollowLane()).outcome is Outcome.SUCCESS


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_the_expert_solves_what_people_do(behaviour: str) -> None:
    record = run_episode(named("sidewalk-reactive", f"{behaviour}-{FIRST}"), Expert())
    assert record.outcome is Outcome.SUCCESS
    assert any(event.kind == "trigger" and event.text == behaviour for event in record.events)


@pytest.mark.parametrize("behaviour", ["obstructing", "lateral", "crossing", "gesturing"])
def test_who_does_not_mind_people_fails(behaviour: str) -> None:
    record = run_episode(named("sidewalk-reactive", f"{behaviour}-{FIRST}"), FollowLane())
    assert record.outcome in (Outcome.PEDESTRIAN_COLLISION, Outcome.DISOBEYED)


def test_the_same_records_alone_and_together() -> None:
    scenarios = [named("sidewalk-reactive", f"{kind}-{FIRST}") for kind in ("frontal", "conversing", "lateral")]
    alone = [run_episode(item, Expert()).digest for item in scenarios]
    worlds = [build_world(item, 0) for item in scenarios]
    together = run_episodes([Episode(world, Expert(), describe_policy(Expert())) for world in worlds])
    assert [record.digest for record in together] == alone


def strip(width: float) -> SceneSpec:
    corners = [(-20.0, -width / 2), (20.0, -width / 2), (20.0, width / 2), (-20.0, width / 2)]
    return SceneSpec.parse({"name": "strip", "regions": [{"kind": "sidewalk", "polygon": corners}]}, "strip")


def test_passages_by_hand() -> None:
    way = np.column_stack([np.arange(-15.0, 16.0), np.zeros(31)])
    one, alone = np.array([[0.0, 0.0]]), np.array([-1])
    # the centre must be 0.3 + 0.55 m from the person and 0.2 m from the edge: 1.05 m are needed beside the middle
    assert leaves_passage(way, strip(2.2), one, 0.3, alone)
    assert not leaves_passage(way, strip(2.0), one, 0.3, alone)
    two = np.array([[0.0, -1.0], [0.0, 1.0]])
    assert leaves_passage(way, strip(4.5), two, 0.3, np.array([-1, -1]))
    assert not leaves_passage(way, strip(4.0), two, 0.3, np.array([7, 7]))  # not between those who stand together
