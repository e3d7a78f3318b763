"""Vehicles that keep junctions clear: which lanes meet by the bodies that sweep them, who goes first, and that nobody
locks up."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from sidestep.policies.trivial import Stop
from sidestep.scenes.towns import make_town
from sidestep.simulation import run_episode
from sidestep.simulation.traffic import LaneGraph
from sidestep.simulation.traffic.lanes import SWEPT_BEFORE_M, SWEPT_FRONT_M, SWEPT_HALF_M, SWEPT_REAR_M, Conflict
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.suites.sidewalk.scenarios import TRAFFIC
from sidestep.types import EpisodeRecord, Scenario
from sidestep.types.outcome import Rules
from sidestep.types.road import Lane, Roads
from sidestep.types.scenario import LaneTraffic, RobotPlacement
from tests.simulation.traffic.roads import traffic_contacts
from tests.simulation.traffic.test_lane_traffic import SIDES, comes_from, drive, junction, road_with, speeds, through_at

FAR = RobotPlacement(spec="point", start=(5000.0, 5000.0, 0.0), goal=(5001.0, 5001.0))
STANDS_S = 60.0
"""A vehicle that stands for longer, with nobody but vehicles about, is locked up."""


def conflict_of(*lanes: tuple[str, list[tuple[float, float]]]) -> dict[tuple[str, str], Conflict]:
    roads = Roads(lanes=tuple(Lane(name=name, points=tuple(points), turn="straight") for name, points in lanes))
    return {(c.lane, c.other): c for c in LaneGraph(roads, "here").swept_conflicts()}


def test_swept_conflicts_of_lanes_that_cross() -> None:
    """At right angles in the middle of 40 m: a front is in the way from half a width before to half a width behind the
    other lane, and its rear then."""
    found = conflict_of(("east", [(-20.0, 0.0), (20.0, 0.0)]), ("north", [(0.0, -20.0), (0.0, 20.0)]))
    one = found["east", "north"]
    assert one.begin == pytest.approx(20.0 - SWEPT_HALF_M, abs=0.5)
    assert one.end == pytest.approx(20.0 + SWEPT_HALF_M, abs=0.5)
    assert not one.merges
    other = found["north", "east"]
    assert (one.begin, one.end) == (other.other_begin, other.other_end)


@pytest.mark.parametrize(("apart", "meet"), [(2 * SWEPT_HALF_M - 0.05, True), (2 * SWEPT_HALF_M + 0.05, False)])
def test_opposite_lanes_meet_if_two_bodies_cannot_pass(apart: float, meet: bool) -> None:
    found = conflict_of(("east", [(0.0, 0.0), (30.0, 0.0)]), ("west", [(30.0, apart), (0.0, apart)]))
    assert bool(found) == meet


def test_a_body_that_swings_out_meets_who_waits_beside_the_end_of_its_lane() -> None:
    """A right turn of radius 8 m ends at (8, 0), and the lane back begins 2.4 m beside. About the centre (8, -8) the
    left corner of the front is sqrt((8 + 1.12)² + 4.3²) = 10.08 m away, 2.08 m beside the lane, so 0.8 m deep in the
    way of a body in the lane back."""
    angle = np.linspace(np.pi, np.pi / 2, 20)
    turn = [(8.0 + 8.0 * float(np.cos(a)), -8.0 + 8.0 * float(np.sin(a))) for a in angle]
    assert sqrt((8.0 + SWEPT_HALF_M) ** 2 + SWEPT_FRONT_M**2) - 8.0 > 2.4 - SWEPT_HALF_M
    found = conflict_of(("turn", turn), ("back", [(8.0, 2.4), (-20.0, 2.4)]))
    waits = found["back", "turn"]
    assert -SWEPT_BEFORE_M < waits.begin < -1.0  # it has to wait before its lane
    assert waits.other_begin > 5.0
    wide = conflict_of(("turn", turn), ("back", [(8.0, 3.5), (-20.0, 3.5)]))
    assert not wide


def test_the_ends_of_a_swept_lane() -> None:
    """Lanes that end together are in conflict up to their end, where a rear leaves them."""
    found = conflict_of(("along", [(-30.0, 0.0), (0.0, 0.0)]), ("joins", [(-30.0, -20.0), (-15.0, -5.0), (0.0, 0.0)]))
    one = found["along", "joins"]
    assert one.merges
    assert one.end == pytest.approx(30.0, abs=SWEPT_REAR_M)


def keeps_clear(vehicle: dict[str, Any]) -> dict[str, Any]:
    return {**vehicle, "parameters": {**vehicle["parameters"], "keeps_clear": 1.0}}


def four_at_once(turn: int) -> EpisodeRecord:
    scene, names = junction(), list(SIDES)
    traffic = [keeps_clear(comes_from(scene, arm, names[(k + turn) % 4], 20)) for k, arm in enumerate(names)]
    return drive(road_with(traffic, 60, scene=scene.model_dump()))


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_four_who_come_at_once_all_get_through_and_none_waits_inside(turn: int) -> None:
    record = four_at_once(turn)
    assert max(through_at(record, k) for k in range(4)) < 40
    assert traffic_contacts(record) == []
    for k in range(4):
        stands = speeds(record, k) < 0.1
        assert not (stands & (np.hypot(*record.other_pose[1:, k, :2].T) < 9.0)).any()


def test_priority_goes_first() -> None:
    """The vehicle on the minor street waits before the junction while those on the main street drive through."""
    scene = junction(east=1, west=1)
    minor = keeps_clear(comes_from(scene, "south", "north", 25))
    stream = [keeps_clear(comes_from(scene, "west", "east", 12 + 12.0 * k)) for k in range(3)]
    record = drive(road_with([minor, *stream], 60, scene=scene.model_dump()))
    assert max(through_at(record, k) for k in (1, 2, 3)) < through_at(record, 0) < 60
    assert traffic_contacts(record) == []


def with_traffic(scene: str, traffic: LaneTraffic, seconds: float) -> Scenario:
    rules = Rules(step_s=0.05, time_limit_s=seconds)
    return Scenario(name="traffic", suite="tests", scene=scene, robots=(FAR,), lane_traffic=traffic, rules=rules)


def in_town(town: str, kind: str, number: int, seconds: float, half: int = 80) -> Scenario:
    """Dense traffic in a window about the ``number``-th block of a kind."""
    x, y = [block.xy for block in make_town(town).blocks if block.kind == kind][number]
    box = f"{round(x) - half},{round(y) - half},{round(x) + half},{round(y) + half}"
    return with_traffic(f"town:{town}@{box}+roads", TRAFFIC["dense"], seconds)


def at_intersection(number: int, people: str, seconds: float) -> Scenario:
    """Fifteen vehicles, or as many as find a place, who come in again."""
    options = {"split": "all", "vehicles": True, "people": people}
    scenarios = INTERSECTION_SUITE.with_options(options).scenarios()
    found = next(each for each in scenarios if each.notes["scene"] == number)
    traffic = LaneTraffic(count=(15, 15), returns_s=3.0, parameters={"keeps_clear": 1.0})
    rules = Rules(step_s=0.05, time_limit_s=seconds)
    return found.model_copy(update={"robots": (FAR,), "lane_traffic": traffic, "rules": rules})


def locked_up(record: EpisodeRecord) -> list[int]:
    """Vehicles on lanes that stood still for more than ``STANDS_S``."""
    found = []
    for k, place in enumerate(record.scenario.traffic):
        stands = np.concatenate([[False], speeds(record, k) < 0.1, [False]])
        edges = np.flatnonzero(np.diff(stands.astype(int)))
        if place.driver == "lane" and ((edges[1::2] - edges[::2]) * record.step_s > STANDS_S).any():
            found.append(k)
    return found


def check(scenario: Scenario, seed: int) -> None:
    record = run_episode(scenario, Stop(), seed=seed)
    assert locked_up(record) == [], seed
    assert traffic_contacts(record) == [], seed


def test_a_lock_up_is_found() -> None:
    """The check itself: a car behind a parked one."""
    parked = {"kind": "car", "start": [40, -1.75, 0]}
    lane = {"kind": "car", "start": [20, -1.75, 0], "speed": 8.0, "driver": "lane", "parameters": {"lanes": ["east"]}}
    assert locked_up(drive(road_with([parked, lane], 70))) == [1]
    assert locked_up(drive(road_with([parked, lane], 60))) == []


@pytest.mark.parametrize("number", [1, 3])
def test_nobody_locks_up_at_an_intersection(number: int) -> None:
    """Seeds at which gap acceptance alone locks up."""
    check(at_intersection(number, "none", 120.0), 2 if number == 1 else 1)


def test_nobody_locks_up_in_a_town() -> None:
    check(in_town("Alderwick", "four_way", 0, 120.0), 1)


@pytest.mark.full
@pytest.mark.parametrize("people", ["none", "standard"])
@pytest.mark.parametrize("number", range(6))
def test_nobody_locks_up_at_any_intersection(number: int, people: str) -> None:
    for seed in range(3):
        check(at_intersection(number, people, 240.0), seed)


@pytest.mark.full
@pytest.mark.parametrize(
    ("town", "kind", "number"),
    [
        ("Alderwick", "four_way", 0), ("Alderwick", "roundabout", 0), ("Alderwick", "tee", 0),
        ("Bakerfold", "four_way", 1), ("Fernhollow", "roundabout", 0), ("Yarrowby", "tee", 1),
        ("Applecross", "four_way", 2),
    ],
)  # fmt: skip
def test_nobody_locks_up_in_any_town(town: str, kind: str, number: int) -> None:
    for seed in range(3):
        check(in_town(town, kind, number, 240.0), seed)
