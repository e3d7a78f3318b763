"""The referee on the road: wheels that cross lines, seconds in no lane, and how an area is left."""

from __future__ import annotations

from itertools import pairwise
from math import pi, radians
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.kernels import layout, road_rules
from sidestep.simulation import run_episode
from sidestep.simulation.road_judge import (
    KINDS,
    SIDES,
    CompiledRoads,
    body_middle,
    lane_pieces,
    marking_segments,
    pack_road_rules,
    road_bank,
    road_events,
    wheel_places,
    wheels_of,
)
from sidestep.simulation.robots import load_robot
from sidestep.types import Drive, EpisodeRecord, Event, Observation, Outcome, RobotSpec, Scenario, Task
from sidestep.types.base import FloatArray
from sidestep.types.outcome import ExitRule, Rules
from sidestep.types.road import Roads
from tests.simulation import road_reference
from tests.simulation.traffic.roads import LANE_Y, on_the_road, poses, straight_road

CAR = load_robot("car", None, None)
WHEEL_Y = 0.8365 - 0.15
JUDGED = ("lane_crossing", "lane_invasion", "exited", "wrong_exit")


def judge_poses(scenario: Scenario, spec: RobotSpec, poses: FloatArray) -> list[Event]:
    """The events of a whole episode from its poses (T + 1, 3), as the referee noted them while it ran."""
    rules = scenario.rules
    roads = Roads() if isinstance(scenario.scene, str) or scenario.scene.roads is None else scenario.scene.roads
    lines, (road,) = road_bank([CompiledRoads(*marking_segments(roads), lane_pieces(roads))])
    body = np.zeros((layout.BODY_ROWS, 2))
    body[layout.WHEELS], body[layout.MIDDLE, 0] = wheel_places(spec), body_middle(spec.footprint)
    packed = pack_road_rules(rules)
    mark, note = np.zeros(road_rules.ROAD_MARKS, np.int32), np.zeros(road_rules.ROAD_NOTES)
    x, y, heading = poses[0].tolist()
    road_rules.begin_road(x, y, heading, mark, note)
    events: list[Event] = []
    for k, (x, y, heading) in enumerate(poses[1:].tolist(), start=1):
        news = road_rules.judge_road(x, y, heading, body, rules.step_s, packed, lines, road, mark, note)
        events += road_events(news, mark, note, rules.exit, k * rules.step_s)
    return events


def judged(path: Any, scenario: Scenario | None = None) -> list[Event]:
    return judge_poses(scenario or on_the_road(), CAR, np.asarray(path))


def times_of(events: list[Event], subject: str) -> list[float]:
    return [round(event.time, 9) for event in events if event.kind == "lane_crossing" and event.subject == subject]


def test_wheels_and_middle_of_the_car() -> None:
    expected = [[0, -WHEEL_Y], [0, WHEEL_Y], [2.405, -WHEEL_Y], [2.405, WHEEL_Y]]
    assert wheels_of(CAR) == pytest.approx(np.array(expected))
    assert body_middle(CAR.footprint) == pytest.approx(1.293)


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_is_crossed_in_the_step_in_which_a_wheel_passes_it(kind: str) -> None:
    """Moved to the left by 0.1 m a step, the left wheels are at -1.75 + 0.6865 + 0.1 k: beyond 0 from step 11 on; the
    right wheels from step 25 on. Both wheels of a side cross in one step, which is one event."""
    sideways = poses(20.0, LANE_Y + 0.1 * np.arange(30))
    events = judged(sideways, on_the_road(scene=straight_road(kind)))
    assert times_of(events, kind) == [0.55, 1.25]
    assert {event.kind for event in events} == {"lane_crossing"}
    assert len(events) == (2 if kind != "kerb" else 5)  # beyond the kerb for 0.75 s, and then on


def test_front_and_rear_wheels_cross_in_their_own_steps() -> None:
    """Heading 30 degrees to the left at 0.5 m a step, the left front wheel starts 2.405 sin 30° + 0.6865 cos 30° =
    1.797 m to the left of the reference point, the left rear wheel 0.5945 m, each 0.25 m farther a step. From
    y = -1.75 - 1 they need 0.953 and 2.155 m: steps 4 and 9; the right ones 0.5945 + 2.75 - 1.2025 = 2.142 m and
    3.3445 m: steps 9 and 14."""
    k = np.arange(16)
    heading = radians(30)
    path = poses(20 + 0.5 * np.cos(heading) * k, LANE_Y - 1.0 + 0.25 * k, heading)
    assert times_of(judged(path), "double_solid") == [0.2, 0.45, 0.7]


def one_wheel(path: list[tuple[float, float]], segments: list[list[float]]) -> list[int]:
    """For every step of one wheel whether it crosses."""
    found = []
    for before, after in pairwise(path):
        kinds = np.ones(len(segments), np.int64)
        crossed = road_rules.crossed_markings(
            *map(float, before), *map(float, after), np.array(segments, float), kinds, 0, len(segments)
        )
        found.append(int(crossed == road_rules.SOLID))
    return found


LINE = [[0.0, 0.0, 5.0, 0.0], [5.0, 0.0, 10.0, 0.0]]


def test_a_wheel_that_ends_exactly_on_a_line() -> None:
    """The line belongs to the side on its right: a crossing counts once, whichever way and with whatever stop on it."""
    assert one_wheel([(1, -1), (1, 0), (1, 1)], LINE) == [0, 1]
    assert one_wheel([(1, 1), (1, 0), (1, -1)], LINE) == [1, 0]
    assert one_wheel([(1, -1), (1, 0), (1, -1)], LINE) == [0, 0]
    assert one_wheel([(1, 0), (4, 0), (8, 0)], LINE) == [0, 0]
    assert one_wheel([(5, -1), (5, 1)], LINE) == [1]  # through the point where two pieces meet
    assert one_wheel([(11, -1), (11, 1)], LINE) == [0]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(-2, 2)), min_size=2, max_size=12))
def test_crossings_follow_the_side_of_the_line(path: list[tuple[int, int]]) -> None:
    sides = [y > 0 for _, y in path]
    expected = [int(a != b) for a, b in pairwise(sides)]
    assert one_wheel([(float(x), float(y)) for x, y in path], LINE) == expected


def test_straddling_a_line_is_one_invasion_and_a_wrong_exit() -> None:
    """With its middle 1.2 m left of its lane's, the car has one pair of wheels beyond the line for ten seconds."""
    x = np.concatenate([[20.0, 20.0], np.linspace(20.2, 100.0, 400)])
    y = np.concatenate([[LANE_Y], np.full(401, LANE_Y + 1.2)])
    events = judged(poses(x, y))
    assert [event.kind for event in events] == ["lane_crossing", "wrong_exit"]
    assert events[-1].text == "1.20 m beside the lane"


def test_seconds_off_lane() -> None:
    """In the oncoming lane every whole second counts; a step in a lane begins a new second."""
    oncoming = poses(30.0, np.full(65, 1.75))
    assert times_of(judged(oncoming), "off_lane") == [1.0, 2.0, 3.0]
    y = np.full(60, 1.75)
    y[20] = LANE_Y  # after 19 steps in no lane
    assert times_of(judged(poses(30.0, y)), "off_lane") == [2.0]
    assert times_of(judged(poses(30.0, np.full(60, 1.75), pi)), "off_lane") == []  # it leads the other way


def test_how_far_a_lane_reaches() -> None:
    """To 1.75 + 0.6 m aside of its middle, and 75 degrees off its direction."""

    def is_off(y: float, heading: float = 0.0) -> bool:
        path = poses(30.0 - 1.293 * np.cos(heading), np.full(21, y - 1.293 * np.sin(heading)), heading)
        return times_of(judged(path), "off_lane") != []

    assert not is_off(LANE_Y + 2.34)
    assert is_off(LANE_Y + 2.36)
    assert not is_off(LANE_Y, radians(74.5))
    assert is_off(LANE_Y, radians(75.5))
    assert not is_off(LANE_Y, radians(-74.5))


def zigzag(crossings: int, steps: int = 30) -> Any:
    """A car that jumps over the middle line ``crossings`` times, one jump a step."""
    y = np.full(steps, LANE_Y)
    y[1 : crossings + 1] = [0.0 if k % 2 == 0 else LANE_Y for k in range(crossings)]
    y[crossings + 1 :] = y[crossings]
    return poses(20.0, y)


def test_more_than_five_invasions_end_the_episode_and_five_do_not() -> None:
    five, six = judged(zigzag(5)), judged(zigzag(6))
    assert [event.kind for event in five] == ["lane_crossing"] * 5
    assert [event.kind for event in six] == ["lane_crossing"] * 6 + ["lane_invasion"]
    assert six[-1].time == pytest.approx(0.3)
    assert six[-1].value == 6
    broken = judged(zigzag(20), on_the_road(scene=straight_road("broken")))
    assert [event.kind for event in broken] == ["lane_crossing"] * 20  # broken lines may be crossed


def test_seconds_and_lines_add_up() -> None:
    """Four seconds in the oncoming lane and the line crossed are five, the line back is the sixth."""
    y = np.concatenate([[LANE_Y], np.full(81, 2.0), [LANE_Y] * 3])
    events = judged(poses(30.0, y))
    assert [(event.kind, event.subject) for event in events if event.time < 0.06] == [("lane_crossing", "double_solid")]
    assert times_of(events, "off_lane") == [1.0, 2.0, 3.0, 4.0]
    assert [event.time for event in events if event.kind == "lane_invasion"] == [pytest.approx(4.1)]


def test_quarters_of_a_second_beyond_the_kerb_count() -> None:
    """At y = -6.5 the right wheels are at -7.19, beyond the kerb at -7, the left ones are not. Up in the first step and
    back after 0.6 s are four invasions: two crossings, and 0.25 s twice. Half a second more is one too many."""
    assert times_of(judged(poses(30.0, np.concatenate([[LANE_Y], np.full(30, -6.2)]))), "beyond_kerb") == []
    beyond = np.concatenate([[-6.0], np.full(12, -6.5), [-6.0] * 10])
    events = judged(poses(30.0, beyond))
    assert times_of(events, "kerb") == [0.05, 0.65]
    assert times_of(events, "beyond_kerb") == [0.25, 0.5]
    assert all(event.kind == "lane_crossing" for event in events)
    longer = judged(poses(30.0, np.concatenate([[-6.0], np.full(30, -6.5)])))
    assert [event.time for event in longer if event.kind == "lane_invasion"] == [pytest.approx(1.25)]


AREA = ExitRule(area=(0.0, -20.0, 100.0, 20.0), side="east", pose=(100.0, 0.0, 0.0))


def side_left(rule: ExitRule, x: float, y: float) -> str | None:
    side = road_rules.side_left(packed(rule), x, y)
    return None if side < 0 else SIDES[side]


def packed(rule: ExitRule) -> Any:
    return pack_road_rules(Rules(success="exit", exit=rule))


def test_the_side_on_which_an_area_is_left() -> None:
    assert side_left(AREA, 100.0, 20.0) is None
    assert side_left(AREA, 100.1, 0.0) == "east"
    assert side_left(AREA, -0.1, 0.0) == "west"
    assert side_left(AREA, 50.0, 20.1) == "north"
    assert side_left(AREA, 50.0, -20.1) == "south"
    assert side_left(AREA, 100.1, 20.5) == "north"
    assert side_left(AREA, 100.5, 20.1) == "east"


def test_deviation_from_the_exit_is_signed_to_the_left() -> None:
    north = ExitRule(area=(0.0, 0.0, 10.0, 10.0), side="north", pose=(5.0, 10.0, pi / 2))
    assert road_rules.exit_deviation(packed(north), 5.5, 11.0, pi / 2 + 0.1) == pytest.approx((-0.5, 0.1))
    west = ExitRule(area=(0.0, 0.0, 10.0, 10.0), side="west", pose=(0.0, 5.0, pi))
    assert road_rules.exit_deviation(packed(west), -1.0, 4.0, -pi + 0.1) == pytest.approx((1.0, 0.1))


def leave(y: float, heading: float = 0.0, x: float = 100.0, **rule: Any) -> list[Event]:
    """What is said of a car whose middle leaves the area beside y = 0 by a step to just beyond x = 100."""
    exit_rule = {"area": [0, -20, 100, 20], "side": "east", "pose": [100, 0, 0], **rule}
    scenario = on_the_road(rules={"lanes": None, "exit": exit_rule})
    ahead = 1.293 * np.array([np.cos(heading), np.sin(heading)])
    at = np.array([x, y]) - ahead
    return judged(poses(at[0] + np.array([-0.5, 0.0, 0.1]), at[1], heading), scenario)


def test_leaving_at_and_beyond_the_limits() -> None:
    limit = AREA.angle_rad
    assert limit == pytest.approx(radians(15))
    within = [leave(0.0), leave(0.999), leave(-0.999), leave(0.0, limit), leave(0.0, -limit)]
    assert [[event.kind for event in events] for events in within] == [["exited"]] * 5
    beyond = [leave(1.001), leave(-1.001), leave(0.0, limit + 1e-6), leave(0.0, -limit - 1e-6), leave(0.0, pi)]
    assert [[event.kind for event in events] for events in beyond] == [["wrong_exit"]] * 5
    assert beyond[0][0].text == "1.00 m beside the lane"
    assert beyond[2][0].text == "15.0 degrees off the lane"
    assert beyond[4][0].text == "180.0 degrees off the lane"
    assert within[0][0].time == pytest.approx(0.1)


def test_exactly_one_metre_beside_is_not_too_far() -> None:
    """Of a body without a shape the reference point is the middle: no rounding."""
    scenario = on_the_road(
        rules={"lanes": None, "exit": {"area": [0, -20, 100, 20], "side": "east", "pose": [100, 0, 0]}}
    )
    point = load_robot("point", None, None)

    def ends(y: float) -> str:
        return judge_poses(scenario, point, poses([99.0, 101.0], y))[0].kind

    assert ends(1.0) == ends(-1.0) == "exited"
    assert ends(np.nextafter(1.0, 2.0)) == ends(np.nextafter(-1.0, -2.0)) == "wrong_exit"


def test_leaving_on_another_side_is_wrong_wherever_and_happens_once() -> None:
    scenario = on_the_road(rules={"lanes": None})
    found = judge_poses(scenario, CAR, poses(np.linspace(10.0, -10.0, 30), LANE_Y))
    assert [(event.kind, event.subject) for event in found] == [("wrong_exit", "west")]
    assert found[0].text == "left to the west instead of to the east"


@settings(max_examples=30, deadline=None)
@given(turn=st.floats(-pi, pi), shift=st.tuples(st.floats(-50, 50), st.floats(-50, 50)))
def test_where_the_road_lies_does_not_matter(turn: float, shift: tuple[float, float]) -> None:
    scene = straight_road()
    cosine, sine = np.cos(turn), np.sin(turn)
    rotation = np.array([[cosine, -sine], [sine, cosine]])

    def moved(points: Any) -> Any:
        return (np.asarray(points, float) @ rotation.T + shift).tolist()

    for item in (*scene["roads"]["lanes"], *scene["roads"]["markings"]):
        item["points"] = moved(item["points"])
    for region in scene["regions"]:
        region["polygon"] = moved(region["polygon"])
    k = np.arange(60)
    path = poses(20 + 0.3 * k, LANE_Y + 2.5 * np.sin(k / 6.0) + 0.0123, 0.4 * np.cos(k / 6.0))
    there = np.column_stack([np.array(moved(path[:, :2])), path[:, 2] + turn])
    rules: dict[str, Any] = {"success": "goal", "exit": None}
    robots = [{"spec": "car", "start": there[0].tolist(), "goal": moved([[110, LANE_Y]])[0]}]
    here = judged(path, on_the_road(rules=rules))
    elsewhere = judged(there, on_the_road(scene=scene, rules=rules, robots=robots))
    assert [(e.time, e.kind, e.subject) for e in here] == [(e.time, e.kind, e.subject) for e in elsewhere]
    assert here


def test_lanes_need_roads() -> None:
    with pytest.raises(BadInput, match=r"rules\.lanes needs a scene with roads"):
        run_episode(on_the_road(scene={"name": "nothing"}), "stop")


def test_exit_goes_with_its_rule_and_not_with_resets() -> None:
    with pytest.raises(ValueError, match="success: exit and exit"):
        Rules(success="exit")
    with pytest.raises(BadInput, match="on_failure: reset"):
        on_the_road(rules={"on_failure": "reset"})


class Driver:
    """Full throttle up to a speed, and a steer that depends on time."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, speed: float = 8.0, steer: Any = lambda time: 0.0) -> None:
        self._speed, self._steer = speed, steer

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Drive:
        fast = observation.robot.speed >= self._speed
        return Drive(self._steer(observation.time), 0.0 if fast else 1.0, 0.0)


def swerve(time: float) -> float:
    return 0.2 * (1.0 if time % 4.0 < 2.0 else -1.0)


def standing(x: float, y: float) -> dict[str, Any]:
    return {"model": "static", "people": [{"start": [x, y]}]}


EPISODES: dict[str, tuple[Outcome, Scenario, Driver]] = {
    "straight on": (Outcome.SUCCESS, on_the_road(), Driver()),
    "stands": (Outcome.TIMEOUT, on_the_road(rules={"time_limit_s": 3}), Driver(0.0)),
    "beside": (
        Outcome.WRONG_EXIT,
        on_the_road(robots=[{"spec": "car", "start": [10, -5.25, 0], "goal": [110, -5.25]}]),
        Driver(),
    ),
    "too much of an angle": (
        Outcome.WRONG_EXIT,
        on_the_road(robots=[{"spec": "car", "start": [90, -4.3, radians(20)], "goal": [110, LANE_Y]}]),
        Driver(),
    ),
    "other side": (
        Outcome.WRONG_EXIT,
        on_the_road(robots=[{"spec": "car", "start": [90, 1.75, pi], "goal": [110, LANE_Y]}]),
        Driver(13.0),
    ),
    "oncoming": (
        Outcome.LANE_INVASION,
        on_the_road(robots=[{"spec": "car", "start": [10, 1.75, 0], "goal": [110, LANE_Y]}]),
        Driver(5.0),
    ),
    "swerves": (Outcome.LANE_INVASION, on_the_road(), Driver(8.0, swerve)),
    "through a person": (
        Outcome.PEDESTRIAN_COLLISION,
        on_the_road(crowd=[standing(40, LANE_Y)], rules={"ends_on": ["pedestrian_collision"]}),
        Driver(),
    ),
    "over the kerb": (
        Outcome.OFF_ROUTE,
        on_the_road(rules={"stay_on": ["road"], "ends_on": ["off_route"]}),
        Driver(8.0, lambda time: -0.1),
    ),
    "breaks": (Outcome.POLICY_ERROR, on_the_road(), Driver(8.0, lambda time: 0.0 if time < 1.0 else 1 / 0)),
}


def run(name: str) -> EpisodeRecord:
    _, scenario, driver = EPISODES[name]
    return run_episode(scenario, driver)


@pytest.mark.parametrize("name", EPISODES)
def test_what_the_referee_said_follows_from_the_record(name: str) -> None:
    record = run(name)
    assert record.outcome is EPISODES[name][0], record.events
    again = judge_poses(record.scenario, record.robot, record.robot_pose)
    assert again == [event for event in record.events if event.kind in JUDGED]
    assert again == road_reference.judge_poses(record.scenario, record.robot, record.robot_pose)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), counts=st.sampled_from(["any", "illegal"]), most=st.integers(0, 6))
def test_the_kernel_says_what_plain_python_says(seed: int, counts: str, most: int) -> None:
    rng = np.random.default_rng(seed)
    heading = np.cumsum(rng.normal(0.0, 0.12, 200)) + rng.choice([0.0, pi / 2, pi])
    speed = rng.uniform(0.0, 0.8, 200)
    x = 50.0 + np.cumsum(speed * np.cos(heading))
    y = LANE_Y + np.cumsum(speed * np.sin(heading))
    path = poses(x, y, (heading + pi) % (2 * pi) - pi)
    exit_rule = {"area": [20, -8, 90, 6], "side": "east", "pose": [90, LANE_Y, 0.1], "lateral_m": 2, "angle_rad": 0.5}
    scenario = on_the_road(rules={"lanes": {"counts": counts, "most_invasions": most}, "exit": exit_rule})
    for spec in (CAR, load_robot("point", None, None)):
        assert judge_poses(scenario, spec, path) == road_reference.judge_poses(scenario, spec, path)


def test_lane_invasion_ends_an_episode_only_if_the_rules_say_so() -> None:
    ends = run("oncoming")
    goes_on = run_episode(
        on_the_road(
            robots=[{"spec": "car", "start": [10, 1.75, 0], "goal": [110, LANE_Y]}],
            rules={"ends_on": ["success", "timeout", "policy_error"], "exit": None, "success": "goal"},
        ),
        Driver(5.0),
    )
    assert ends.duration == pytest.approx(6.0)
    assert goes_on.duration == pytest.approx(30.0)
    assert goes_on.outcome is Outcome.LANE_INVASION
    assert sum(event.kind == "lane_invasion" for event in goes_on.events) == 1
