"""The option ``traffic`` of the sidewalk suites."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.sidewalk.follow_lane import FollowLane
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.traffic import LaneGraph
from sidestep.suites.files import choose_options, load_suite
from sidestep.suites.sidewalk.scenarios import SIDEWALK_LONG, SIDEWALK_REACTIVE, SIDEWALK_UNIT, TRAFFIC
from sidestep.types import Outcome, Scenario
from sidestep.types.base import FloatArray
from tests.simulation.traffic.roads import traffic_contacts

SUITES = (SIDEWALK_UNIT, SIDEWALK_REACTIVE, SIDEWALK_LONG)


def named(suite: str, name: str, traffic: str) -> Scenario:
    whole = choose_options(load_suite(suite), {"split": "dev", "traffic": traffic})
    return next(item for item in whole.scenarios() if item.name == name)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_no_traffic_unless_asked_for(suite) -> None:
    plain = suite.scenarios()
    assert choose_options(suite, {"traffic": "none"}).scenarios() == plain
    for item in plain:
        assert item.lane_traffic is None
        assert "traffic" not in item.notes["options"]
        assert not str(item.scene).endswith("+roads")


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
@pytest.mark.parametrize("level", ["light", "dense"])
def test_towns_get_traffic_and_hand_made_places_do_not(suite, level) -> None:
    items = choose_options(suite, {"traffic": level}).scenarios()
    for plain, item in zip(suite.scenarios(), items, strict=True):
        assert item.name == plain.name
        if "town" in item.tags:
            assert item.lane_traffic == TRAFFIC[level]
            assert item.scene == f"{plain.scene}+roads"
            assert item.notes["options"]["traffic"] == level
        else:
            assert (item.lane_traffic, item.scene) == (None, plain.scene)
        same = ("robots", "rules", "crowd", "events", "sensors", "tags")
        assert [getattr(item, name) for name in same] == [getattr(plain, name) for name in same]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(BadInput, match="traffic"):
        choose_options(SIDEWALK_UNIT, {"traffic": "jam"})


@pytest.mark.parametrize("level", ["light", "dense"])
def test_as_many_as_the_streets_are_long(level) -> None:
    scenario = named("sidewalk-long", "long-alderwick", level)
    for seed in range(3):
        world = build_world(scenario, seed)
        graph = LaneGraph(world.scene.spec.roads, "here")
        metres = sum(graph.length[name] for name, lane in graph.lanes.items() if lane.turn is None)
        driving = [place for place in world.scenario.traffic if place.driver == "lane"]
        wanted = TRAFFIC[level].per_km * metres / 1000.0
        assert 0.8 * wanted - 1.0 < len(driving) < wanted + 1.0  # a dense street may have no place for all
        for place in driving:
            x, y, heading = place.start
            assert graph.nearest(x, y, heading).aside < 1e-6
        parked = [place for place in world.scenario.traffic if place.driver_name == "parked"]
        assert len(parked) <= len(world.scene.spec.roads.parking)
        assert all(place.speed == 0.0 for place in parked)


def lane_poses(record) -> FloatArray:
    """(T+1, V, 3) of the vehicles that drive."""
    driving = [k for k, place in enumerate(record.scenario.traffic) if place.driver == "lane"]
    return record.other_pose[:, driving]


def test_traffic_goes_on_for_the_whole_episode() -> None:
    """The window is 70 m wide: everybody who was there at the start has left after a few seconds."""
    record = run_episode(named("sidewalk-unit", "straight-birchend", "dense"), Stop(), seed=0)
    poses = lane_poses(record)
    here = ~np.isnan(poses[..., 0])
    assert here[:-1].any(axis=1).mean() > 0.8
    comes_in = ~here[:-1] & here[1:]
    assert comes_in.sum() > 8
    graph = LaneGraph(build_world(record.scenario, 0).scene.spec.roads, "here")
    begins = [graph.lines[name][0] for name in graph.lanes if not set(graph.graph.predecessors(name))]
    for step, k in np.argwhere(comes_in):
        place = poses[step + 1, k, :2]
        assert min(np.hypot(*(place - begin)) for begin in begins) < 1.0  # at the border
    assert not traffic_contacts(record)


@pytest.mark.parametrize("town", ["applecross", "bakerfold", "fernhollow"])
def test_a_delivery_robot_gets_over_the_crosswalk(town) -> None:
    """``follow_lane`` looks at nothing: that it arrives is what the drivers do."""
    record = run_episode(named("sidewalk-unit", f"crosswalk-{town}", "dense"), FollowLane(), seed=0)
    assert record.outcome is Outcome.SUCCESS
    assert len(lane_poses(record)[0]) > 0
