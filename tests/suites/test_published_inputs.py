"""What agents are told, function by function as IntersectNav's program has it, with values computed by hand."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.driving.imitation import BUNDLED, ImitationDriver, network_inputs
from sidestep.policies.driving.measurements import (
    FOLLOW,
    LEFT,
    RIGHT,
    STRAIGHT,
    nearest_waypoint,
    published_measurements,
    route_turns,
    waypoint_offset,
)
from sidestep.policies.driving.pid import PidDriver
from sidestep.policies.driving.route import DrivingRoute
from sidestep.scenes.load import resolve_scene
from sidestep.simulation import run_episode
from sidestep.simulation.session import Session
from sidestep.suites.intersection import (
    INTERSECTION_SUITE,
    LATER_TEST_WEATHERS,
    LATER_TRAIN_WEATHERS,
    PED_ONLY_WEATHERS,
    PED_VEH_WEATHERS,
    TEST_WEATHERS,
    TRAIN_WEATHERS,
    EvaluationSuite,
    numbered_weathers,
)
from sidestep.types import Drive, Scenario
from sidestep.types.road import Lane, Roads

ALL = INTERSECTION_SUITE.with_options({"split": "all", "people": "none"}).scenarios()
BY_NAME = {each.name: each for each in ALL}
NEEDS = ("measurements", "high_level_command")


def told_at_start(scenario: Scenario) -> Any:
    session = Session(scenario, needs=NEEDS)
    extra = session.observation.extra
    assert extra is not None
    return extra


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("scene0-pose0-right", (-74.62, 150.929, -90.21), (-41.167, 134.901)),
        ("scene0-pose0-straight", (-74.62, 150.929, -90.21), (-74.109, 93.917)),
        ("scene0-pose1-left", (-78.12, 150.942, -90.21), (-120.426, 133.194)),
    ],
)
def test_the_goal_is_the_end_waypoint_and_the_angle_is_taken_from_it(
    name: str, start: tuple[float, float, float], end: tuple[float, float]
) -> None:
    """In the published frame: heading minus the direction of the end waypoint, over 1.57 rad. -0.718 for the right turn
    of scene 0, pose 0; the direction to the expert's pose would give -0.488."""
    measured = published_measurements(told_at_start(BY_NAME[name])["measurements"])
    direction = np.degrees(np.arctan2(end[1] - start[1], end[0] - start[0]))
    expected = np.radians((start[2] - direction + 180.0) % 360.0 - 180.0) / 1.57
    assert measured[2] == pytest.approx(expected, abs=2e-3)
    if name == "scene0-pose0-right":
        assert measured[2] == pytest.approx(-0.718, abs=5e-4)
    assert measured[0] == 0.0
    assert measured[3] == pytest.approx(1.0, abs=1e-5)


def test_every_route_ends_beyond_the_experts_pose() -> None:
    gaps = []
    for each in ALL:
        assert each.rules.exit is not None
        goal = each.sensors.extra["measurements"]["goal"]
        gaps.append(float(np.hypot(goal[0] - each.rules.exit.pose[0], goal[1] - each.rules.exit.pose[1])))
    assert (min(gaps), np.median(gaps), max(gaps)) == pytest.approx((9.5, 29.0, 47.0), abs=0.6)


def test_distance_from_the_line_through_the_nearest_waypoint_and_the_next() -> None:
    """East, then north-east. (3.5, 1.0) is nearest to (4, 0), from where the line goes on at 45°: its distance to that,
    to the left, is |0.5 + 1| / √2. Behind the first waypoint the first line counts, behind the last the last."""
    points = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 2.0]])
    assert nearest_waypoint(points, 3.5, 1.0) == 2
    assert waypoint_offset(points, 3.5, 1.0) == pytest.approx(1.5 / np.sqrt(2.0))
    assert waypoint_offset(points, 1.9, -0.3) == pytest.approx(-0.3)
    assert waypoint_offset(points, -5.0, 0.4) == pytest.approx(0.4)
    assert waypoint_offset(points, 8.0, 4.0) == pytest.approx(0.0)
    assert waypoint_offset(points, 8.0, 5.0) == pytest.approx(1.0 / np.sqrt(2.0))


def test_signs_of_the_two_versions() -> None:
    ours = np.array([0.5, 0.2, 0.3, 0.9])
    assert published_measurements(ours) == pytest.approx([0.5, -0.2, 0.3, 0.9])
    assert published_measurements(ours, 1) == pytest.approx([0.5, -0.2, -0.3, 0.9])


def test_waypoints_on_the_lane_of_a_junction() -> None:
    """A route over the left turn from (10, 0) to (20, 10), where a lane straight on begins as well: the ends of the
    lane are not within it."""
    lanes = [
        Lane(name="in", points=((0, 0), (10, 0)), next=("l", "s")),
        Lane(name="l", points=((10, 0), (18, 2), (20, 10)), turn="left", next=("out",)),
        Lane(name="s", points=((10, 0), (30, 0)), turn="straight"),
        Lane(name="out", points=((20, 10), (20, 20))),
    ]
    route = np.array([[0, 0], [8, 0], [10, 0], [14, 1], [18, 2], [19, 6], [20, 10], [20, 12]], float)
    turns = route_turns(route, Roads(lanes=tuple(lanes)))
    assert turns == [FOLLOW, FOLLOW, FOLLOW, LEFT, LEFT, LEFT, FOLLOW, FOLLOW]


@pytest.mark.parametrize("scenario", ALL, ids=lambda each: each.name)
def test_each_route_has_its_own_command_in_one_piece(scenario: Scenario) -> None:
    """10 to 32 m of the route, in the middle, are left, right or straight on, and nothing else."""
    assert isinstance(scenario.scene, str)
    points = DrivingRoute(scenario.ego.start[:2], [*scenario.ego.route, scenario.ego.goal]).points
    turns = np.array(route_turns(points, resolve_scene(scenario.scene).roads or Roads()))
    inside = np.flatnonzero(turns)
    assert set(turns[inside].tolist()) == {{-1: LEFT, 0: STRAIGHT, 1: RIGHT}[scenario.notes["branch"]]}
    assert 5 <= len(inside) <= 16
    assert len(inside) == inside[-1] - inside[0] + 1


class Follows(PidDriver):
    """The driver pid, who notes the lateral commands."""

    needs: ClassVar[frozenset[str]] = PidDriver.needs | {"measurements", "high_level_command"}

    def act(self, observation: Any) -> Any:
        self.lateral.append(int(observation.extra["high_level_command"][0]))
        return super().act(observation)

    def reset(self, task: Any) -> None:
        super().reset(task)
        self.lateral: list[int] = []


@pytest.mark.parametrize(
    ("name", "command"),
    [("scene1-pose1-left", LEFT), ("scene4-pose0-right", RIGHT), ("scene4-pose0-straight", STRAIGHT)],
)
def test_the_command_holds_through_the_junction(name: str, command: int) -> None:
    """Follow the lane, then the turn without a break, then follow the lane."""
    driver = Follows()
    run_episode(BY_NAME[name], driver, act_limit_s=None)
    told = np.array(driver.lateral)
    inside = np.flatnonzero(told == command)
    assert len(inside) == inside[-1] - inside[0] + 1 > 40
    assert set(told.tolist()) == {FOLLOW, command}
    assert told[0] == FOLLOW


def test_left_and_right_outside_of_junctions_is_what_the_pid_steers() -> None:
    """More than 0.1 to a side: turned by 0.3 rad from the lane at the start."""
    scenario = BY_NAME["scene4-pose0-straight"]
    x, y, heading = scenario.ego.start
    for turned, expected in ((0.3, RIGHT), (-0.3, LEFT), (0.0, FOLLOW)):
        robot = scenario.ego.model_copy(update={"start": (x, y, heading + turned)})
        changed = scenario.model_copy(update={"robots": (robot,)})
        assert told_at_start(changed)["high_level_command"][0] == expected


def test_settings_of_the_sensor_are_checked() -> None:
    scenario = BY_NAME["scene0-pose0-right"]
    for settings, message in (({"inputs": 3}, "inputs is 1"), ({"goal": [1.0]}, "goal is a point")):
        sensors = scenario.sensors.model_copy(update={"extra": {"measurements": settings}})
        with pytest.raises(BadInput, match=message):
            Session(scenario.model_copy(update={"sensors": sensors}), needs=NEEDS)


def old_inputs(scenario: Scenario) -> Scenario:
    extra = {"measurements": {**scenario.sensors.extra["measurements"], "inputs": 1}}
    return scenario.model_copy(update={"sensors": scenario.sensors.model_copy(update={"extra": extra})})


def test_version_1_points_to_the_experts_pose() -> None:
    """(-59.83, -135.42) from (-74.62, -150.93): 46.4° of 90.2°, -0.488 in 1.57 rad; then the sign was not turned."""
    scenario = old_inputs(BY_NAME["scene0-pose0-right"])
    measured = told_at_start(scenario)["measurements"]
    assert scenario.rules.exit is not None
    x, y, _ = scenario.rules.exit.pose
    expected = np.arctan2(y + 150.93, x + 74.62) - 1.5745
    assert measured[2] == pytest.approx(expected / 1.57, abs=1e-3)
    assert published_measurements(measured, 1)[2] == pytest.approx(-expected / 1.57, abs=1e-3)


def test_the_bundled_network_gets_what_it_was_trained_on() -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'sidestep[onnx]'")
    policy = ImitationDriver()
    assert BUNDLED.endswith(".onnx")
    assert policy.sensor_settings == {"measurements": {"inputs": 1}}
    assert ImitationDriver(inputs=2).sensor_settings == {}
    session = Session(BY_NAME["scene0-pose0-right"], needs=policy.needs)
    seen = session.observation
    old, new = network_inputs(seen, 1), network_inputs(seen, 2)
    assert np.array_equal(old["image"][0], seen.rgb)
    assert np.array_equal(new["image"][0], np.asarray(seen.rgb)[..., ::-1])
    assert old["measurements"][0][2] == -new["measurements"][0][2]


def test_published_lists_of_weathers() -> None:
    assert PED_ONLY_WEATHERS == (
        "ClearNoon", "CloudyNoon", "WetNoon", "HardRainNoon", "ClearSunset", "CloudySunset", "WetSunset",
        "HardRainSunset",
    )  # fmt: skip
    assert len(PED_VEH_WEATHERS) == 22
    assert list(PED_VEH_WEATHERS) == sorted(PED_VEH_WEATHERS)  # as CARLA's presets are listed
    assert numbered_weathers(["HardRainSunset"], vehicles=False).index("HardRainSunset") == 7
    assert numbered_weathers(["ClearNoon"], vehicles=True).index("ClearNoon") == 1
    assert numbered_weathers(["ClearNight"], vehicles=False) == PED_VEH_WEATHERS
    assert numbered_weathers(["MidRainNight"], vehicles=True)[22:] == ("MidRainNight",)


@pytest.mark.parametrize(
    ("random", "new", "vehicles", "expected"),
    [
        (False, False, False, ("ClearNoon",)),
        (False, True, False, ("ClearNoon",)),
        (True, False, False, TRAIN_WEATHERS),
        (True, True, False, TEST_WEATHERS),
        (True, False, True, LATER_TRAIN_WEATHERS),
        (True, True, True, LATER_TEST_WEATHERS),
    ],
)
def test_weathers_of_an_evaluation(random: bool, new: bool, vehicles: bool, expected: tuple[str, ...]) -> None:
    suite = EvaluationSuite((0, 1), (-1, 0, 1), 4, random_weather=random, new_weather=new, vehicles=vehicles)
    found = {each.notes["weather"] for each in suite.scenarios()}
    assert suite.weathers == expected
    assert found == set(expected)


def test_a_breakpoint_skips_what_was_before() -> None:
    """Places of scene, pose and branch, and the episode, as the program counts; the episode itself is driven again."""
    whole = EvaluationSuite((3, 0), (0, 1), 2)
    places = [place for place, _ in whole.episodes()]
    assert places == sorted(places)
    assert places[:4] == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 0, 1, 1)]
    rest = EvaluationSuite((3, 0), (0, 1), 2, begin=places[7])
    assert [place for place, _ in rest.episodes()] == places[7:]
    names = [each.name for each in whole.scenarios()]
    assert [each.name for each in rest.scenarios()] == names[7:]


def test_actions_of_drive_are_unchanged_by_versions() -> None:
    """What the car does follows from the command alone."""
    scenario = BY_NAME["scene0-pose0-straight"]
    sessions = [Session(each, needs=NEEDS) for each in (scenario, old_inputs(scenario))]
    for _ in range(5):
        for session in sessions:
            session.step(Drive(0.1, 0.5, 0.0))
    one, other = (session.record for session in sessions)
    assert np.array_equal(one.robot_pose, other.robot_pose)
