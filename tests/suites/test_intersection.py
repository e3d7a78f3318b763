"""The intersection suite: what it consists of, and that the cheapest cheaters lose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.policies.driving.pid import PidDriver
from sidestep.simulation import run_episode
from sidestep.suites.intersection import INTERSECTION_SUITE, MIDDLE_M, TEST_SCENES, WEATHERS
from sidestep.types import Drive, EpisodeRecord, Observation, Outcome, Scenario, SceneSpec, Task, Velocity
from sidestep.types.base import FloatArray

ALL = INTERSECTION_SUITE.with_options({"split": "all", "people": "none"}).scenarios()
BY_NAME = {each.name: each for each in ALL}
BRANCHES = {branch: [each for each in ALL if each.notes["branch"] == branch] for branch in (-1, 0, 1)}


def suite(**options: Any) -> tuple[Scenario, ...]:
    return INTERSECTION_SUITE.with_options(options).scenarios()


def test_41_routes_in_six_scenes_and_two_splits() -> None:
    counts = [sum(each.notes["scene"] == number for each in ALL) for number in range(6)]
    assert counts == [6, 6, 8, 5, 8, 8]
    assert len(BY_NAME) == 41
    assert registry.load("suites", "intersection") is INTERSECTION_SUITE
    test, dev = suite(), suite(split="dev")
    assert {each.notes["scene"] for each in test} == set(TEST_SCENES)
    assert {each.notes["scene"] for each in dev} == {0, 1, 2, 3}
    assert {each.name for each in (*test, *dev)} == set(BY_NAME)
    assert all(("test" in each.tags) == (each.notes["scene"] in TEST_SCENES) for each in ALL)


@pytest.mark.parametrize("scenario", ALL, ids=lambda each: each.name)
def test_every_route_turns_the_way_it_says(scenario: Scenario) -> None:
    """From the heading at the start to that of the expert at the exit; the car's middle starts inside the area, the
    expert's pose is within three metres of the exit's side."""
    rule = scenario.rules.exit
    assert rule is not None
    start, end = scenario.ego.start[2], rule.pose[2]
    turn = (end - start + np.pi) % (2 * np.pi) - np.pi
    expected = {-1: np.pi / 2, 0: 0.0, 1: -np.pi / 2}[scenario.notes["branch"]]
    assert turn == pytest.approx(expected, abs=0.45)
    x0, y0, x1, y1 = rule.area
    assert x0 < scenario.ego.start[0] + MIDDLE_M * np.cos(start) < x1
    assert y0 < scenario.ego.start[1] + MIDDLE_M * np.sin(start) < y1
    beyond = {
        "east": x1 - rule.pose[0],
        "north": y1 - rule.pose[1],
        "west": rule.pose[0] - x0,
        "south": rule.pose[1] - y0,
    }
    assert abs(beyond[rule.side]) < 3.0
    route = np.array([scenario.ego.start[:2], *scenario.ego.route, scenario.ego.goal])
    steps = np.hypot(*np.diff(route, axis=0).T)
    assert steps[1:].max() <= 2.0 + 1e-6
    miss = np.hypot(*(route - np.array(rule.pose[:2])).T)
    assert miss.min() < 2.0  # the route passes the expert's pose


def test_options() -> None:
    ped_veh = suite(vehicles=True, people="many", weather="HardRainSunset", reacts=True, accepts_gap_s=2.0)[0]
    assert ped_veh.lane_traffic is not None
    assert ped_veh.lane_traffic.count == (6, 15)
    assert ped_veh.crowd[0].placement.count == (35, 50)
    assert ped_veh.crowd[0].placement.accepts_gap_s == 2.0
    assert ped_veh.sensors.camera is not None
    assert (ped_veh.sensors.camera.weather, ped_veh.sensors.camera.time_of_day) == ("rain", "sunset")
    assert suite()[0].crowd[0].placement.accepts_gap_s is None
    assert suite(people="none")[0].crowd == ()
    assert ALL[0].rules.max_steps == 1000
    with pytest.raises(BadInput, match="did you mean 'ClearNoon'"):
        suite(weather="ClearNon")
    with pytest.raises(BadInput, match="weather"):
        suite(weater="ClearNoon")
    assert len(WEATHERS) == 18


class Cheater(PidDriver):
    """The PID driver on another route than the task's, among people it does not see."""

    needs: ClassVar[frozenset[str]] = frozenset({"route"})

    def __init__(self, route: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._change = route

    def reset(self, task: Task) -> None:
        if self._change is not None:
            line = np.array([task.start[:2], *np.asarray(task.route)], float)
            object.__setattr__(task, "route", self._change(line)[1:])
        super().reset(task)


def shifted(metres: float) -> Any:
    """The route so many metres to the left."""

    def change(line: FloatArray) -> FloatArray:
        step = np.gradient(line, axis=0)
        step /= np.hypot(step[:, 0], step[:, 1])[:, None]
        return line + metres * np.stack([-step[:, 1], step[:, 0]], axis=1)

    return change


def pulled_inside(metres: float) -> Any:
    """The route moved to the inside of its turn, most where it bends most."""

    def change(line: FloatArray) -> FloatArray:
        step = np.gradient(line, axis=0)
        heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
        bend = np.convolve(np.abs(np.gradient(heading)), np.full(5, 0.2), "same")
        share = np.clip(1.6 * bend / bend.max(), 0.0, 1.0) * np.sign(heading[-1] - heading[0])
        across = np.stack([-step[:, 1], step[:, 0]], axis=1) / np.hypot(step[:, 0], step[:, 1])[:, None]
        return line + metres * share[:, None] * across

    return change


def invasions(record: EpisodeRecord) -> float:
    return score(record, ["lane_invasions"])["lane_invasions"].value


def straight_to_the_end(line: FloatArray) -> FloatArray:
    return line[0] + np.linspace(0.0, 1.0, 40)[:, None] * (line[-1] - line[0])


class Constant:
    """The same command for ever."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, steer: float, speed: float) -> None:
        self._steer, self._speed = steer, speed

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Drive:
        error = self._speed - observation.robot.speed
        return Drive(self._steer, min(max(error, 0.0), 1.0), min(max(-error, 0.0), 1.0))


def outcomes(scenarios: list[Scenario], policy: Any) -> list[Outcome]:
    records = [run_episode(each, policy) for each in scenarios]
    assert all(record.outcome is not Outcome.POLICY_ERROR for record in records), [r.error for r in records if r.error]
    return [record.outcome for record in records]


def test_the_honest_driver_wins_where_the_cheaters_lose() -> None:
    assert set(outcomes(list(ALL), Cheater())) == {Outcome.SUCCESS}


def test_cutting_the_corner_over_the_sidewalk_loses() -> None:
    lost = outcomes(BRANCHES[1], Cheater(straight_to_the_end)) + outcomes(BRANCHES[-1], Cheater(straight_to_the_end))
    assert Outcome.SUCCESS not in lost
    assert set(lost) <= {Outcome.OFF_ROUTE, Outcome.LANE_INVASION, Outcome.WRONG_EXIT, Outcome.ENVIRONMENT_COLLISION}
    assert Outcome.OFF_ROUTE in lost


@pytest.mark.parametrize("metres", [1.8, 3.0])
def test_cutting_a_right_turn_over_the_kerb_loses(metres: float) -> None:
    assert set(outcomes(BRANCHES[1], Cheater(pulled_inside(metres)))) <= {Outcome.OFF_ROUTE, Outcome.LANE_INVASION}


def test_cutting_a_right_turn_with_two_wheels_over_the_kerb_loses() -> None:
    """The middle of the rear axle stays on the road; every quarter of a second with a wheel beyond the kerb counts."""
    for scenario in BRANCHES[1]:
        assert invasions(run_episode(scenario, Cheater())) == 0
    assert Outcome.SUCCESS not in outcomes(BRANCHES[1], Cheater(pulled_inside(1.2)))


def test_cutting_a_left_turn_through_the_oncoming_lane_loses() -> None:
    assert set(outcomes(BRANCHES[-1], Cheater(pulled_inside(5.0)))) == {Outcome.LANE_INVASION}


def test_driving_in_the_oncoming_lane_loses() -> None:
    found = outcomes(list(ALL), Cheater(shifted(3.5)))
    assert Outcome.SUCCESS not in found
    assert found.count(Outcome.LANE_INVASION) + found.count(Outcome.WRONG_EXIT) + found.count(Outcome.OFF_ROUTE) == 41
    assert found.count(Outcome.LANE_INVASION) >= 10


def test_leaving_beside_the_lane_loses() -> None:
    """The car follows its line with a lag, and in a right turn comes back towards the lane: from 1.6 m on nobody leaves
    within a metre of the expert's pose."""
    for metres in (1.6, -1.6):
        assert Outcome.SUCCESS not in outcomes(list(ALL), Cheater(shifted(metres)))


def test_straddling_a_line_for_ever_loses() -> None:
    """From 1.4 m to the left on, the left wheels are well beyond the line at 1.75 m; at 1.75 m its middle is on it."""
    for metres in (1.4, 1.75):
        assert Outcome.SUCCESS not in outcomes(list(ALL), Cheater(shifted(metres)))


def test_standing_still_loses() -> None:
    assert set(outcomes(list(ALL)[::8], "stop")) == {Outcome.TIMEOUT}


@pytest.mark.parametrize(("kmh", "farthest_m"), [(0.36, 10.0), (1.0, 14.0)])
def test_creeping_for_ever_loses(kmh: float, farthest_m: float) -> None:
    records = [run_episode(each, Cheater(target_kmh=kmh)) for each in ALL[::8]]
    assert {record.outcome for record in records} == {Outcome.TIMEOUT}
    assert all(1.0 < np.hypot(*(record.robot_pose[-1] - record.robot_pose[0])[:2]) < farthest_m for record in records)
    assert {record.steps for record in records} == {1000}


def test_slow_is_not_creeping() -> None:
    """At 2 km/h the shortest routes are within the 50 s; it is no cheat to be in time, and the steps tell."""
    records = [run_episode(each, Cheater(target_kmh=2.0)) for each in ALL[::8]]
    assert {record.outcome for record in records} == {Outcome.SUCCESS, Outcome.TIMEOUT}
    assert min(record.steps for record in records) > 800


@pytest.mark.parametrize("branch", [-1, 1])
def test_going_straight_on_instead_of_turning_loses(branch: int) -> None:
    """Where both begin in one place, the route of one task is wrong for the other."""
    tried = 0
    for scenario in BRANCHES[branch]:
        counterfactual = BY_NAME.get(scenario.name.replace("left", "straight").replace("right", "straight"))
        if counterfactual is None:
            continue
        tried += 1
        route = np.array([counterfactual.ego.start[:2], *counterfactual.ego.route, counterfactual.ego.goal])
        record = run_episode(scenario, Cheater(lambda line, route=route: route))
        assert record.outcome is Outcome.WRONG_EXIT
        assert record.events[-1].text.startswith("left to the")
    assert tried >= 5


class Reverses:
    """Backs up at 2 m/s."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Velocity:
        return Velocity(-2.0, 0.0)


def test_reversing_out_of_the_area_loses() -> None:
    """Backwards out of the side where the car comes from, which it does leave."""
    for scenario in ALL[::6]:
        record = run_episode(scenario, Reverses())
        assert record.outcome is Outcome.WRONG_EXIT
        x, y, heading = record.robot_pose[-1] - record.robot_pose[0] * (1.0, 1.0, 0.0)
        assert x * np.cos(heading) + y * np.sin(heading) < -0.5  # it has backed up
        assert record.robot_velocity[-1, :2] @ (np.cos(heading), np.sin(heading)) < -0.5
        event = next(event for event in record.events if event.kind == "wrong_exit")
        assert scenario.rules.exit is not None
        assert event.subject != scenario.rules.exit.side
        behind = {0: "west", 1: "south", 2: "east", 3: "north"}[round(scenario.ego.start[2] / (np.pi / 2)) % 4]
        assert event.subject == behind


@pytest.mark.parametrize("steer", [-1.0, 1.0])
def test_turning_in_circles_loses(steer: float) -> None:
    found = outcomes(list(ALL)[::6], Constant(steer, 3.0))
    assert set(found) <= {Outcome.LANE_INVASION, Outcome.OFF_ROUTE, Outcome.WRONG_EXIT, Outcome.ENVIRONMENT_COLLISION}


def touched(record: EpisodeRecord) -> bool:
    return any(event.kind == "collision_start" and event.subject.startswith("person") for event in record.events)


def test_driving_through_people_loses() -> None:
    records = [
        run_episode(each, Cheater(target_kmh=15.0), seed=seed) for each in suite(people="many")[:8] for seed in (0, 1)
    ]
    assert all((record.outcome is Outcome.PEDESTRIAN_COLLISION) == touched(record) for record in records)
    assert sum(touched(record) for record in records) >= 6


def test_blind_in_turns_loses_against_a_driver_who_looks() -> None:
    """Among many people; straight on, the boxes of people are beside the car's path."""
    turns = [each for each in suite(people="many") if each.notes["branch"] != 0]
    found = {}
    for name, policy in (("blind", Cheater()), ("looks", "comfort_zone")):
        records = [run_episode(each, policy, seed=seed) for each in turns for seed in (0, 1)]
        found[name] = sum(record.outcome is Outcome.SUCCESS for record in records) / len(records)
    assert found["looks"] > 0.9
    assert found["blind"] < 0.7


def test_full_speed_leaves_the_road_in_right_turns() -> None:
    assert Outcome.SUCCESS not in outcomes(BRANCHES[1], Cheater(target_kmh=50.0))


def test_the_same_episode_again_and_its_published_frame() -> None:
    scenario = suite()[0]
    first, again = (run_episode(scenario, "pid", seed=7) for _ in range(2))
    assert first.digest == again.digest
    assert run_episode(first.scenario, "pid", seed=7).digest == first.digest
    assert isinstance(first.scenario.scene, SceneSpec)
    polygon = first.robot.footprint.polygon
    assert polygon is not None
    assert (max(x for x, _ in polygon) + min(x for x, _ in polygon)) / 2 == pytest.approx(MIDDLE_M)
