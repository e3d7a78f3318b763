"""Vehicles on lanes: the car-following model, crossings, signals, conflicts, and that they touch nobody."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput, UnknownName
from sidestep.policies.trivial import Stop
from sidestep.scenes.intersections import intersection_scene
from sidestep.scenes.intersections.intersection import Intersection
from sidestep.simulation import run_episode, run_episodes
from sidestep.simulation.build import build_world
from sidestep.simulation.loop import Episode, describe_policy
from sidestep.simulation.traffic import LaneGraph
from sidestep.simulation.traffic.lane_driving import idm
from sidestep.simulation.traffic.lane_traffic import DEFAULTS
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.types import EpisodeRecord, Observation, Scenario, Task, Velocity
from sidestep.types.outcome import Rules
from sidestep.types.road import Roads
from sidestep.types.scenario import LaneTraffic, RobotPlacement
from sidestep.types.scene import SceneSpec
from tests.simulation.traffic.roads import EAST, LANE_Y, outlines, straight_road, traffic_contacts

FAR = {"spec": "point", "start": [500, 500, 0], "goal": [501, 501]}
FRONT, REAR = 3.6, 0.9
"""Of a car, from its reference point."""


def road_with(traffic: list[dict[str, Any]], seconds: float = 30.0, **changes: Any) -> Scenario:
    document = {
        "name": "road",
        "suite": "tests",
        "scene": straight_road(),
        "robots": [FAR],
        "traffic": traffic,
        "rules": {"step_s": 0.05, "time_limit_s": seconds},
        **changes,
    }
    return Scenario.parse(document, "test scenario")


def vehicle(x: float, speed: float = 10.0, kind: str = "car", lanes: Any = (EAST,), **more: Any) -> dict[str, Any]:
    start = more.pop("start", [x, LANE_Y, 0.0])
    parameters = {"lanes": list(lanes), **more}
    return {"kind": kind, "start": start, "speed": speed, "driver": "lane", "parameters": parameters}


def drive(scenario: Scenario, seed: int = 0) -> EpisodeRecord:
    return run_episode(scenario, Stop(), seed=seed)


def speeds(record: EpisodeRecord, k: int) -> Any:
    """(T,) m/s; NaN once it has left."""
    step = np.diff(record.other_pose[:, k, :2], axis=0)
    return np.hypot(step[:, 0], step[:, 1]) / record.step_s


def settings_row(**changes: float) -> Any:
    return np.array([0.0, *{**DEFAULTS, **changes}.values()])


@settings(max_examples=200, deadline=None)
@given(
    v=st.floats(0, 20),
    wish=st.floats(1, 20),
    gap=st.floats(0.2, 900),
    ahead=st.floats(0, 20),
    a=st.floats(0.5, 3),
    b=st.floats(0.5, 4),
    headway=st.floats(0.5, 2),
    standstill=st.floats(0.5, 3),
)
def test_idm_against_a_plain_reference(
    v: float, wish: float, gap: float, ahead: float, a: float, b: float, headway: float, standstill: float
) -> None:
    wanted = standstill + max(0.0, v * headway + v * (v - ahead) / (2 * sqrt(a * b)))
    expected = max(a * (1 - (v / wish) ** 4 - (wanted / gap) ** 2), -8.0)
    row = settings_row(headway_s=headway, acceleration=a, braking=b, standstill_m=standstill)
    assert idm(v, wish, gap, ahead, row) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert idm(v, wish, np.inf, ahead, row) == pytest.approx(max(a * (1 - (v / wish) ** 4), -8.0), rel=1e-9, abs=1e-9)


def test_idm_by_hand() -> None:
    """At 10 m/s of 20, 20 m behind a car at the same speed: 1.5 (1 - 1/16 - ((2 + 12) / 20)²) = 0.67125 m/s²."""
    assert idm(10.0, 20.0, 20.0, 10.0, settings_row()) == pytest.approx(0.67125)


def test_a_free_road_is_driven_at_the_wished_speed_in_the_middle_of_the_lane() -> None:
    record = drive(road_with([vehicle(5, 8.0)], 10))
    assert speeds(record, 0) == pytest.approx(np.full(record.steps, 8.0), abs=0.05)
    assert np.abs(record.other_pose[:, 0, 1] - LANE_Y).max() < 0.02


def test_stops_behind_a_standing_vehicle_without_contact() -> None:
    """At rest the model keeps the standstill distance of 2 m; discs that cover the other reach beyond its ends."""
    record = drive(road_with([vehicle(10), {"kind": "car", "start": [80, LANE_Y, 0]}]))
    gap = 80 - REAR - (record.other_pose[-1, 0, 0] + FRONT)
    assert 1.5 < gap < 3.0
    assert speeds(record, 0)[-20:].max() < 0.05
    assert traffic_contacts(record) == []
    assert np.diff(speeds(record, 0)).min() / 0.05 > -4.0  # it brakes as the model does, b = 2 m/s² about


def test_a_platoon_keeps_gaps() -> None:
    """Five cars at 11 m/s behind one at 4 m/s: once settled, s0 + v T = 2 + 4 · 1.2 m, widened by the free term."""
    traffic = [vehicle(75 - 14 * k, 4.0 if k == 0 else 11.0) for k in range(5)]
    record = drive(road_with(traffic, 10))
    x = record.other_pose[:, :, 0]
    gaps = x[:, :-1] - REAR - x[:, 1:] - FRONT
    assert traffic_contacts(record) == []
    assert gaps.min() > 2.0
    assert gaps[-1, 0] == pytest.approx(6.8, abs=1.0)


CROSSING = {"name": "crossing", "ends": [[60.0, -7.0], [60.0, 3.5]], "width": 4.0}


def test_waits_at_an_occupied_crossing_and_drives_on() -> None:
    person = {"start": [60, -4.5], "waypoints": [[60, 8]], "speed": 0.5}
    on_it = road_with([vehicle(10)], scene=straight_road(crossings=[CROSSING]), crowd=[{"people": [person]}])
    record = drive(on_it)
    front = record.other_pose[:, 0, 0] + FRONT
    y = record.person_position[:, 0, 1]
    occupied = y < 3.4
    assert front[: occupied.sum()].max() < 58.0 + 0.05
    assert speeds(record, 0)[: occupied.sum()].min() < 0.1
    assert np.isnan(front[-1]) or front[-1] > 62  # and drives on afterwards
    free = drive(road_with([vehicle(10)], scene=straight_road(crossings=[CROSSING])))
    assert np.nanmin(speeds(free, 0)) > 9.5
    beside = {"people": [{"start": [60, -8.6]}], "model": "static"}
    stands = drive(road_with([vehicle(10)], scene=straight_road(crossings=[CROSSING]), crowd=[beside]))
    assert np.nanmin(speeds(stands, 0)) > 9.5  # who stands on the sidewalk crosses nothing


def signalled(green_at: float, **signal: Any) -> dict[str, Any]:
    lanes = [
        {"name": "before", "points": [[0, LANE_Y], [60, LANE_Y]], "next": ["after"]},
        {"name": "after", "points": [[60, LANE_Y], [120, LANE_Y]]},
    ]
    light = {"name": "light", "lanes": ["before"], "cycle_s": 60, "green_at_s": green_at, "green_s": 20, **signal}
    return {"name": "lights", "roads": {"lanes": lanes, "signals": [light]}}


def test_red_stops_and_green_goes() -> None:
    car = vehicle(10, lanes=("before", "after"))
    red = drive(road_with([car], scene=signalled(12)))
    front = red.other_pose[:, 0, 0] + FRONT
    before = round(12 / 0.05)
    assert 57.0 < front[before] < 60.0
    assert speeds(red, 0)[before - 1] < 0.1
    assert speeds(red, 0)[before + 40] > 1.0
    green = drive(road_with([car], scene=signalled(0)))
    assert np.nanmin(speeds(green, 0)) > 9.5
    # green ends after 4 s, 6.4 m before the line: too late to stop comfortably
    late = drive(road_with([car], scene=signalled(0, green_s=4)))
    assert np.nanmin(speeds(late, 0)) > 9.5


SIDES = {"east": (0, -1), "north": (90, 1), "west": (180, 1), "south": (270, -1)}


def junction(**priority: int) -> SceneSpec:
    """Four arms of one lane each way about the origin, lanes end 13 m before it."""
    arms = [{"name": name, "heading_deg": SIDES[name][0], "priority": priority.get(name, 0)} for name in SIDES]
    spec = {"name": "cross", "centre": [0, 0], "arms": arms, "buildings": False}
    return intersection_scene(Intersection.parse(spec, "test"))


def comes_from(scene: SceneSpec, arm: str, to: str, distance: float, speed: float = 8.0) -> dict[str, Any]:
    """A car ``distance`` m before the end of its lane into the junction."""
    graph = LaneGraph(scene.roads or Roads(), "test")
    lanes = graph.find_route(f"{arm} in 0", f"{to} out 0")
    end, begin = np.array(graph.lines[lanes[0]][-1]), np.array(graph.lines[lanes[0]][0])
    step = (end - begin) / np.hypot(*(end - begin))
    at = end - distance * step
    heading = float(np.arctan2(step[1], step[0]))
    return vehicle(0.0, speed, lanes=lanes, start=[float(at[0]), float(at[1]), heading])


def through_at(record: EpisodeRecord, k: int) -> float:
    """When a vehicle is 20 m from the origin for the second time, s; infinite: never."""
    distance = np.hypot(*record.other_pose[:, k, :2].T)
    inside = np.flatnonzero(distance < 10)
    after = np.flatnonzero((distance > 20) & (np.arange(len(distance)) > inside[0])) if len(inside) else []
    return float(record.time[after[0]]) if len(after) else np.inf


def test_lower_priority_waits() -> None:
    scene = junction(east=1, west=1)
    traffic = [comes_from(scene, "south", "north", 25), comes_from(scene, "west", "east", 25)]
    record = drive(road_with(traffic, scene=scene.model_dump()))
    assert np.nanmin(speeds(record, 1)) > 7.0
    assert np.nanmin(speeds(record, 0)) < 3.0
    assert through_at(record, 1) < through_at(record, 0) < 30
    assert traffic_contacts(record) == []


@pytest.mark.parametrize("first", ["south", "west"])
def test_of_equals_the_first_goes_first(first: str) -> None:
    scene = junction()
    opposite = {"south": "north", "west": "east"}
    traffic = [comes_from(scene, arm, opposite[arm], 20 if arm == first else 28) for arm in opposite]
    record = drive(road_with(traffic, scene=scene.model_dump()))
    k = list(opposite).index(first)
    assert through_at(record, k) < through_at(record, 1 - k) < 30
    assert np.nanmin(speeds(record, k)) > 6.0
    assert traffic_contacts(record) == []


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_four_who_come_at_once_all_get_through(turn: int) -> None:
    """To the right, straight on, to the left: every one of them has somebody in the way."""
    scene, names = junction(), list(SIDES)
    traffic = [comes_from(scene, arm, names[(k + turn) % 4], 20) for k, arm in enumerate(names)]
    record = drive(road_with(traffic, 60, scene=scene.model_dump()))
    assert max(through_at(record, k) for k in range(4)) < 60
    assert traffic_contacts(record) == []


def test_two_who_waited_where_their_lanes_join_do_not_touch() -> None:
    """Both stand at the crossing behind the junction until it is free, one beside the other."""
    scene = intersection_scene(
        Intersection.parse(
            {
                "name": "cross", "centre": [0, 0], "buildings": False,
                "arms": [
                    {"name": name, "heading_deg": SIDES[name][0], "crossing": [9.0, 13.0] if name == "west" else None}
                    for name in SIDES
                ],
            },
            "test",
        )
    )  # fmt: skip
    traffic = [comes_from(scene, "east", "west", 12), comes_from(scene, "north", "west", 12)]
    person = {"start": [-11, -2], "waypoints": [[-11, 9]], "speed": 0.3}
    record = drive(road_with(traffic, 60, scene=scene.model_dump(), crowd=[{"people": [person], "sees_robot": False}]))
    assert min(np.nanmin(speeds(record, k)[:400]) for k in range(2)) < 0.1
    assert traffic_contacts(record) == []
    assert max(through_at(record, k) for k in range(2)) < 60


def test_conflicts_of_a_junction() -> None:
    graph = LaneGraph(junction().roads or Roads(), "test")
    found = {(c.lane, c.other): c for c in graph.conflicts()}
    across = found["south 0 > north 0", "west 0 > east 0"]
    # the lanes cross at right angles at (1.75, -1.75), 14.75 m from the south and 14.75 m from the west
    assert (across.begin + across.end) / 2 == pytest.approx(11.25, abs=0.3)
    assert across.end - across.begin == pytest.approx(2 * 2.4, abs=1.0)
    assert not across.merges
    assert found["east 0 > west 0", "north 0 > west 0"].merges
    assert ("east 0 > west 0", "west 0 > east 0") not in found
    assert ("east 0 > west 0", "east 0 > north 0") not in found  # they begin together
    assert all((b, a) in found for a, b in found)


def test_routes_and_their_errors() -> None:
    graph = LaneGraph(junction().roads or Roads(), "test")
    assert graph.find_route("south in 0", "west out 0") == ["south in 0", "south 0 > west 0", "west out 0"]
    assert graph.nearest(1.75, -30.0, pi / 2).lane == "south in 0"
    assert graph.nearest(1.75, -30.0).aside == pytest.approx(0.0)
    with pytest.raises(UnknownName, match="did you mean 'west out 0'"):
        graph.find_route("south in 0", "west out")
    with pytest.raises(BadInput, match="no lanes lead from 'west out 0' to 'east out 0'"):
        graph.find_route("west out 0", "east out 0")
    with pytest.raises(BadInput, match="off the lane graph"):
        graph.nearest(40.0, 40.0)
    with pytest.raises(BadInput, match="does not follow on"):
        graph.line(["west out 0", "east out 0"])


def test_settings_of_the_driver_are_checked() -> None:
    with pytest.raises(BadInput, match=r"unknown setting 'headway'.*did you mean 'headway_s'"):
        drive(road_with([vehicle(10, headway=1.0)]))
    with pytest.raises(BadInput, match="headway_s must be above 0"):
        drive(road_with([vehicle(10, headway_s=0.0)]))
    with pytest.raises(BadInput, match="needs lanes"):
        drive(road_with([vehicle(10, lanes=())]))
    with pytest.raises(UnknownName, match="lane"):
        drive(road_with([vehicle(10, lanes=("eest",))]))


class Watcher:
    """Stands and keeps what it saw."""

    needs: ClassVar[frozenset[str]] = frozenset({"vehicles", "lidar"})

    def reset(self, task: Task) -> None:
        self.seen: list[Observation] = []

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.0, 0.0)


def test_who_has_left_is_nowhere() -> None:
    near_the_end = [{"spec": "point", "start": [113, -9, 1.57], "goal": [113, -12]}]
    lidar = {"rays": 180, "max_range": 30.0}
    traffic = [vehicle(80), {"kind": "car", "start": [20, LANE_Y, 0]}]
    scenario = road_with(traffic, 8, robots=near_the_end, sensors={"lidar": lidar})
    policy = Watcher()
    record = run_episode(scenario, policy, act_limit_s=None)
    gone = np.isnan(record.other_pose[:, 0]).any(axis=1)
    left = int(np.flatnonzero(gone)[0])
    assert gone[left:].all()
    assert record.other_pose[left - 1, 0, 0] == pytest.approx(119, abs=0.6)
    assert not np.isnan(record.other_pose[:, 1]).any()
    assert [seen.vehicles.id.tolist() for seen in (policy.seen[left - 1], policy.seen[left])] == [[0, 1], [1]]
    ranges = [policy.seen[k].lidar.ranges.min() for k in (left - 1, left)]
    assert ranges[0] < 10.0
    assert ranges[1] == pytest.approx(30.0)


def ambient(number: int, people: str) -> Scenario:
    """The traffic and the people of an intersection for a minute, with the robot far away."""
    options = {"split": "all", "vehicles": True, "people": people}
    scenarios = INTERSECTION_SUITE.with_options(options).scenarios()
    found = next(each for each in scenarios if each.notes["scene"] == number)
    robot = RobotPlacement(spec="point", start=(500.0, 500.0, 0.0), goal=(501.0, 501.0))
    return found.model_copy(update={"robots": (robot,), "rules": Rules(step_s=0.05, time_limit_s=60.0)})


def check_minutes(number: int, people: str, seeds: range) -> None:
    left = vehicles = 0
    for seed in seeds:
        record = drive(ambient(number, people), seed)
        assert traffic_contacts(record) == [], seed
        assert 6 <= record.other_pose.shape[1] <= 15
        left += int(np.isnan(record.other_pose[-1, :, 0]).sum())
        vehicles += record.other_pose.shape[1]
    assert left > 0.5 * vehicles  # and they get somewhere, people on their crossings permitting


@pytest.mark.parametrize("number", range(6))
def test_traffic_touches_nobody(number: int) -> None:
    check_minutes(number, "standard", range(2))


@pytest.mark.full
@pytest.mark.parametrize("people", ["none", "standard"])
@pytest.mark.parametrize("number", range(6))
def test_traffic_touches_nobody_in_twenty_minutes(number: int, people: str) -> None:
    check_minutes(number, people, range(20))


def test_outlines_overlap() -> None:
    """The check itself: two cars side by side, 1.79 and 1.81 m apart, which are 1.8 m wide."""
    for apart, touching in ((1.79, True), (1.81, False)):
        parked = [{"kind": "car", "start": [20, 0, 0]}, {"kind": "car", "start": [60, 0, 0]}]
        record = drive(road_with(parked, 1, scene={"name": "open"}))
        moved = record.other_pose.copy()
        moved[:, 1] = [22.0, apart, 0.0]
        object.__setattr__(record, "other_pose", moved)
        assert (traffic_contacts(record) != []) == touching
        assert len(outlines(record)) == 2


def equal_worlds() -> Scenario:
    """Every seed has eight vehicles and eight people."""
    scenario = ambient(0, "few")
    placement = scenario.crowd[0].placement
    part = scenario.crowd[0].model_copy(update={"placement": placement.model_copy(update={"count": (8, 8)})})
    traffic = LaneTraffic(count=(8, 8), kinds={"car": 1.0})
    rules = Rules(step_s=0.05, time_limit_s=12.0)
    return scenario.model_copy(update={"crowd": (part,), "lane_traffic": traffic, "rules": rules})


def test_the_same_digests_alone_side_by_side_and_on_threads() -> None:
    scenario, policy = equal_worlds(), Stop()
    alone = [run_episode(scenario, Stop(), seed=seed).digest for seed in range(4)]
    assert len(set(alone)) == 4
    for threads in (1, 2):
        episodes = [Episode(build_world(scenario, seed), policy, describe_policy(policy)) for seed in range(4)]
        assert [record.digest for record in run_episodes(episodes, threads)] == alone
    assert [run_episode(scenario, Stop(), seed=seed).digest for seed in (3, 0)] == [alone[3], alone[0]]


def test_a_records_own_scenario_gives_the_record_again() -> None:
    scenario = INTERSECTION_SUITE.with_options({"vehicles": True}).scenarios()[0]
    record = run_episode(scenario, "pid", seed=5)
    assert record.scenario.lane_traffic is None
    assert len(record.scenario.traffic) == record.other_pose.shape[1] >= 6
    assert run_episode(record.scenario, "pid", seed=record.seed).digest == record.digest
