"""The published flow, the continuous one, and that drivers who see nobody lose in it; how people and vehicles move."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from sidestep.metrics.score import score
from sidestep.scenes.intersections import load_intersection
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.traffic import load_vehicle
from sidestep.suites.intersection import INTERSECTION_SUITE, TEST_SCENES, boxes_around
from sidestep.types import EpisodeRecord, Outcome, Scenario, SceneSpec
from sidestep.types.base import FloatArray

FASTEST_MPS, MOST_ACCELERATION = 1.8, 3.0
ROUNDING = 1e-4


def suite(**options: Any) -> tuple[Scenario, ...]:
    return INTERSECTION_SUITE.with_options(options).scenarios()


def blind(name: str) -> Any:
    path = Path(__file__).parents[2] / "examples" / "blind_drivers.py"
    spec = importlib.util.spec_from_file_location("blind_drivers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def short(scenario: Scenario, seconds: float) -> Scenario:
    return scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": seconds})})


def people_speeds(record: EpisodeRecord) -> tuple[FloatArray, FloatArray]:
    """Speeds, m/s, from positions too, and accelerations, m/s², of all people."""
    velocity = np.asarray(record.person_velocity, np.float64)
    moved = np.diff(np.asarray(record.person_position, np.float64), axis=0) / record.step_s
    speed = np.concatenate([np.hypot(*np.moveaxis(each, -1, 0)) for each in (velocity, moved)])
    change = np.diff(velocity, axis=0) / record.step_s
    return speed, np.hypot(change[..., 0], change[..., 1])


def vehicle_speeds(record: EpisodeRecord) -> FloatArray:
    """(T, V) m/s by poses; NaN where a vehicle is away."""
    step = np.diff(record.other_pose[..., :2], axis=0)
    return np.hypot(step[..., 0], step[..., 1]) / record.step_s


def test_head_start_and_rates() -> None:
    """50 steps at 20 Hz among people, at 30 Hz among vehicles, and 1,000 steps of either."""
    for vehicles, rate in ((False, 20), (True, 30)):
        rules = suite(vehicles=vehicles)[0].rules
        assert rules.step_s == pytest.approx(1 / rate)
        assert (rules.head_start_steps, rules.max_steps) == (50, 1000)
    assert suite(vehicles=True, flow="continuous")[0].rules.max_steps == 90 * 30


def test_people_have_moved_before_time_0_and_the_car_has_not() -> None:
    scenario = suite()[0]
    world = build_world(scenario, 0)
    record = run_episode(short(scenario, 1.0), "stop")
    walked = np.hypot(*(record.person_position[0] - world.agents[:2, : world.people].T).T)
    assert np.median(walked) == pytest.approx(2.5 * 1.55, abs=0.6)
    assert tuple(record.robot_pose[0]) == scenario.ego.start
    assert record.time[0] == 0.0
    assert not record.events or record.events[0].time >= 0.0


def test_the_head_start_is_the_same_as_driving_it() -> None:
    """With and without a head start people are in the same places at the same times, as long as the car stands."""
    scenario = suite()[0]
    later = run_episode(short(scenario, 3.0), "stop", seed=4)
    rules = scenario.rules.model_copy(update={"head_start_s": 0.0, "time_limit_s": 5.5})
    whole = run_episode(scenario.model_copy(update={"rules": rules}), "stop", seed=4)
    np.testing.assert_array_equal(later.person_position, whole.person_position[50:])


def test_6_to_15_cars_at_half_the_limit() -> None:
    """Every number occurs, there is room for all of them, and they want to drive 15 km/h."""
    counts = []
    for scenario in suite(vehicles=True, split="all")[::6]:
        for seed in range(12):
            traffic = build_world(scenario, seed).scenario.traffic
            counts.append(len(traffic))
            assert {place.kind for place in traffic} == {"car"}
            assert all(place.parameters["wish_mps"] == pytest.approx(8.33 / 2, abs=0.006) for place in traffic)
            assert {place.speed for place in traffic} == {0.0}
    assert set(counts) == set(range(6, 16))


@pytest.mark.parametrize(
    ("options", "which"),
    [({}, slice(0, 41, 10)), ({"flow": "continuous"}, slice(3, 41, 19)), ({"reacts": True}, slice(1, 41, 20))],
)
def test_nobody_walks_faster_than_published_or_stops_at_once(options: dict[str, Any], which: slice) -> None:
    """Without the limits people reach 2.34 m/s and change by 67 m/s²; a car drives among them."""
    for scenario in suite(split="all", **options)[which]:
        record = run_episode(short(scenario, 25.0), "comfort_zone", seed=2)
        speed, acceleration = people_speeds(record)
        assert speed.max() <= FASTEST_MPS + 0.005
        assert acceleration.max() <= MOST_ACCELERATION + 0.01
        assert np.percentile(speed, 90) > 1.2  # they do walk


@pytest.mark.parametrize(("options", "which"), [({}, slice(0, 41, 14)), ({"flow": "continuous"}, slice(5, 41, 18))])
def test_vehicles_keep_their_limits_from_the_first_step_on(options: dict[str, Any], which: slice) -> None:
    for scenario in suite(split="all", vehicles=True, **options)[which]:
        record = run_episode(short(scenario, 15.0), "stop", seed=3)
        speed = vehicle_speeds(record)
        change = np.diff(speed, axis=0) / record.step_s
        limits = [load_vehicle(place.kind).limits for place in record.scenario.traffic]
        is_back = np.isnan(speed[:-1]) | np.isnan(speed[1:]) | (speed[1:] > 20.0)
        for k, limit in enumerate(limits):
            own = change[~is_back[:, k], k]
            assert limit.max_acceleration is not None
            assert limit.max_deceleration is not None
            assert own.max(initial=0.0) <= limit.max_acceleration + 0.1
            assert own.min(initial=0.0) >= -limit.max_deceleration - 0.1
        assert np.nanmin(change[:3]) > -4.0  # they do not begin too fast
        assert np.nanmax(np.where(speed > 20.0, np.nan, speed)) <= 8.33 / 2 + 0.1


def test_boxes_of_people_at_all_four_arms() -> None:
    for number in range(6):
        place = load_intersection(f"intersectnav_{number}")
        pairs = boxes_around(place)
        assert len(pairs) == 4
        assert pairs[:2] == place.people
        assert all(sum(box in pair for pair in pairs) == 2 for pair in place.people for box in pair)


def crossed(record: EpisodeRecord, begin: float, end: float) -> dict[str, int]:
    """How many people step onto each crossing between two times."""
    scene = record.scenario.scene
    assert isinstance(scene, SceneSpec)
    assert scene.roads is not None
    found = {}
    rows = slice(round(begin / record.step_s), round(end / record.step_s))
    x, y = np.moveaxis(np.asarray(record.person_position[rows], np.float64), -1, 0)
    for crossing in scene.roads.crossings:
        strip = shapely.LineString(crossing.ends).buffer(crossing.width / 2, cap_style="flat")
        on = shapely.contains_xy(strip, x, y)
        found[crossing.name] = int((~on[:-1] & on[1:]).sum())
    return found


def test_in_a_continuous_flow_people_cross_on_all_arms_at_all_times() -> None:
    """In the published flow nobody crosses any more after 30 s, and nobody ever on two of the arms."""
    record = run_episode(suite(flow="continuous")[0], "stop", seed=1)
    for begin in (0.0, 30.0, 60.0):
        assert min(crossed(record, begin, begin + 30.0).values()) >= 2
    published = run_episode(suite()[0], "stop", seed=1)
    assert sorted(crossed(published, 0.0, 30.0).values())[:2] == [0, 0]
    assert sum(crossed(published, 30.0, 50.0).values()) == 0


def test_in_a_continuous_flow_vehicles_come_back() -> None:
    record = run_episode(suite(flow="continuous", vehicles=True, people="none")[0], "stop", seed=1)
    away = np.isnan(record.other_pose[..., 0])
    assert (away[:-1] & ~away[1:]).sum() >= 5
    published = run_episode(suite(vehicles=True, people="none")[0], "stop", seed=1)
    away = np.isnan(published.other_pose[..., 0])
    assert away.any()
    assert not (away[:-1] & ~away[1:]).any()


def drive(policy: Any, scenarios: tuple[Scenario, ...], seeds: range) -> tuple[float, float]:
    """Share of successes, and mean of the time-weighted success."""
    records = [run_episode(each, policy, seed=seed) for each in scenarios for seed in seeds]
    assert all(record.outcome is not Outcome.POLICY_ERROR for record in records), [r.error for r in records if r.error]
    weighted = [score(record, ["time_weighted_success"])["time_weighted_success"].value for record in records]
    return float(np.mean([record.outcome is Outcome.SUCCESS for record in records])), float(np.mean(weighted))


CHEATERS = ("WaitsThenDashes", "Dashes", "Creeps", "WaitsForAGap")
MARGIN = 0.3


def test_waiting_and_other_cheaters_lose_in_a_continuous_flow() -> None:
    """By 30 points of success each; waiting costs 25 points of time-weighted success as well."""
    scenarios = suite(flow="continuous")[::2]
    best, best_weighted = drive("comfort_zone", scenarios, range(2))
    assert best >= 0.9
    for name in CHEATERS:
        success, weighted = drive(blind(name)(), scenarios, range(2))
        assert success <= best - MARGIN, name
        assert weighted < best_weighted, name
        if name == "WaitsThenDashes":
            assert weighted <= best_weighted - 0.25


def test_waiting_pays_in_the_published_flow() -> None:
    """Which is why there is the other one: people cross once, and then everybody who waits gets through; the score that
    is weighed by time tells."""
    scenarios = suite()[::4]
    success, weighted = drive(blind("WaitsThenDashes")(), scenarios, range(1))
    assert success == 1.0
    assert weighted < 0.3


@pytest.mark.full
def test_cheaters_lose_on_the_whole_test_split() -> None:
    for vehicles in (False, True):
        scenarios = suite(flow="continuous", vehicles=vehicles)
        best, best_weighted = drive("comfort_zone", scenarios, range(3))
        for name in CHEATERS:
            success, weighted = drive(blind(name)(), scenarios, range(3))
            assert success <= best - MARGIN, (name, vehicles)
            assert weighted < best_weighted, (name, vehicles)


def test_invasions_as_the_readme_says_and_as_the_program_counts() -> None:
    for scenario in suite(split="all"):
        assert scenario.rules.lanes is not None
        assert (scenario.rules.lanes.most_invasions, scenario.rules.lanes.counts) == (5, "illegal")
    for scenario in suite(split="all", invasions="program"):
        assert scenario.rules.lanes is not None
        expected = 4 if scenario.notes["branch"] == 0 else 9
        assert (scenario.rules.lanes.most_invasions, scenario.rules.lanes.counts) == (expected, "any")
    assert {each.notes["scene"] for each in suite()} == set(TEST_SCENES)
