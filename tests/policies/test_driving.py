"""Drivers of a car along a route: PID, PID with noise, comfort zone; and what agents are told of the route."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.policies.driving.measurements import ACCELERATE, DECELERATE, FOLLOW, KEEP, LEFT, RIGHT, STRAIGHT
from sidestep.policies.driving.pid import PidDriver
from sidestep.policies.driving.route import DrivingRoute
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.types import Drive, EpisodeRecord, Observation, Outcome, Pedestrians, RobotState, Task
from sidestep.types.observation import Vehicles
from tests.simulation.traffic.roads import LANE_Y, on_the_road

CAR = load_robot("car", None, None)
EMPTY = INTERSECTION_SUITE.with_options({"split": "all", "people": "none"}).scenarios()
CROWDED = INTERSECTION_SUITE.with_options({"split": "all"}).scenarios()


@pytest.fixture(scope="module")
def alone() -> dict[str, list[EpisodeRecord]]:
    """Both drivers on all routes without people."""
    return {name: [run_episode(each, name, seed=0) for each in EMPTY] for name in ("pid", "pid_noise")}


def test_pid_masters_all_routes_without_people(alone: dict[str, list[EpisodeRecord]]) -> None:
    assert len(EMPTY) == 41
    assert [record.scenario.name for record in alone["pid"] if record.outcome is not Outcome.SUCCESS] == []
    assert max(float(record.robot_velocity[:, 0].max()) for record in alone["pid"]) < 1.1 * 20 / 3.6


def test_noise_deviates_but_recovers(alone: dict[str, list[EpisodeRecord]]) -> None:
    def deviation(record: EpisodeRecord) -> float:
        return float(score(record, ["waypoint_deviation"])["waypoint_deviation"].value)

    clean, noisy = alone["pid"], alone["pid_noise"]
    assert all(a.digest != b.digest for a, b in zip(clean, noisy, strict=True))
    changed = [
        a for a, b in zip(clean, noisy, strict=True) if not np.array_equal(a.robot_pose, b.robot_pose[: a.steps + 1])
    ]
    assert len(changed) > 30
    assert np.mean([deviation(record) for record in noisy]) > np.mean([deviation(record) for record in clean]) + 0.005
    assert np.mean([record.outcome is Outcome.SUCCESS for record in noisy]) > 0.8


def test_noise_follows_from_the_seed() -> None:
    first, again, other = (run_episode(EMPTY[0], "pid_noise", seed=seed) for seed in (3, 3, 4))
    assert first.digest == again.digest
    both = min(first.steps, other.steps)
    assert not np.array_equal(first.command[:both], other.command[:both])
    none = registry.make_policy("pid_noise", {"noise_steer": 0.0})
    assert np.array_equal(
        run_episode(EMPTY[0], none, seed=3).robot_pose, run_episode(EMPTY[0], "pid", seed=3).robot_pose
    )


def test_comfort_zone_hits_nobody_it_could_have_braked_for() -> None:
    records = [run_episode(each, "comfort_zone", seed=1) for each in CROWDED]
    found = [score(record, ["preventable_collision"])["preventable_collision"] for record in records]
    assert all(result.valid for result in found)
    assert [record.scenario.name for record, hit in zip(records, found, strict=True) if hit.value > 0] == []
    assert np.mean([record.outcome is Outcome.SUCCESS for record in records]) > 0.9


def state(x: float = 10.0, y: float = LANE_Y, heading: float = 0.0, speed: float = 0.0) -> RobotState:
    return RobotState(x, y, heading, speed * np.cos(heading), speed * np.sin(heading), 0.0)


def driver(policy: Any, step_s: float = 0.05) -> Any:
    """At (10, -1.75) on a straight route to x = 110."""
    route = np.array([[float(x), LANE_Y] for x in range(12, 112, 2)])
    policy.reset(
        Task(robot=CAR, start=(10.0, LANE_Y, 0.0), step_s=step_s, time_limit_s=50.0, goal_radius_m=0.3, route=route)
    )
    return policy


def people(*positions: tuple[float, float]) -> Pedestrians:
    count = len(positions)
    return Pedestrians(
        id=np.arange(count), position=np.array(positions, float).reshape(-1, 2), velocity=np.zeros((count, 2)),
        radius=np.full(count, 0.25), heading=np.zeros(count), group=np.full(count, -1),
    )  # fmt: skip


def test_pid_by_hand() -> None:
    """The target is 0.9 · 5.556 = 5 m along the route from the middle of the body, which is 1.293 m ahead. Half a metre
    to the left of the route the angle to it is atan(-0.5 / 5) = -0.0997; the first answer of K_P = 1 is that. Throttle:
    error 5.556 at rest gives 5.556 (1 + 0.05), cut to 1."""
    assert driver(PidDriver()).act(Observation(0.0, state())) == Drive(0.0, 1.0, 0.0)
    command = driver(PidDriver()).act(Observation(0.0, state(y=LANE_Y + 0.5)))
    assert command.steer == pytest.approx(-np.arctan(0.1), abs=1e-6)
    at_speed = driver(PidDriver()).act(Observation(0.0, state(speed=5.0)))
    assert at_speed.throttle == pytest.approx((20 / 3.6 - 5.0) * 1.05)
    too_fast = driver(PidDriver()).act(Observation(0.0, state(speed=6.0)))
    assert (too_fast.throttle, too_fast.brake) == pytest.approx((0.0, (6.0 - 20 / 3.6) * 1.05))


def test_pid_slows_for_people_ahead_and_stops_for_people_near() -> None:
    """From the middle at x = 11.293: 20 m ahead scale the target by 20 / 70; the program itself does not."""

    def throttle(*positions: tuple[float, float], **settings: Any) -> tuple[float, float]:
        command = driver(PidDriver(**settings)).act(Observation(0.0, state(speed=2.0), pedestrians=people(*positions)))
        return command.throttle, command.brake

    x = 11.293
    wanted = 20 / 3.6 * 20 / 70
    assert throttle((x + 20, LANE_Y)) == pytest.approx((0.0, (2.0 - wanted) * 1.05))
    assert throttle((x + 20, LANE_Y), slows=False) == (1.0, 0.0)
    assert throttle((x + 36, LANE_Y)) == (1.0, 0.0)
    assert throttle((x + 7.9, LANE_Y)) == (0.0, 1.0)
    assert throttle((x + 7.9, LANE_Y), slows=False) == (0.0, 1.0)
    assert throttle((x + 6.0, LANE_Y + 3.0)) == (0.0, 1.0)  # 0.46 rad aside
    assert throttle((x + 6.0, LANE_Y + 3.5)) == (1.0, 0.0)  # 0.53 rad aside
    assert throttle((x + 20.0, LANE_Y + 3.2)) == (1.0, 0.0)  # 0.159 rad aside
    assert throttle((x - 5.0, LANE_Y)) == (1.0, 0.0)


def test_the_published_speed_law_by_hand() -> None:
    """20 km/h less 19.8 are an error of 0.2: throttle 1.3 · 0.2, then 1.3 · (0.2 + 2 · 0.2 · 0.05), also where steps
    are shorter; nothing brakes above 20 km/h."""
    for step_s in (1 / 20, 1 / 30):
        policy = driver(PidDriver(speed_law="published"), step_s)
        found = [policy.act(Observation(0.0, state(speed=19.8 / 3.6))) for _ in range(2)]
        assert [each.throttle for each in found] == pytest.approx([0.26, 0.286])
    too_fast = driver(PidDriver(speed_law="published")).act(Observation(0.0, state(speed=6.0)))
    assert (too_fast.throttle, too_fast.brake) == (0.0, 0.0)


def vehicle(*position: float) -> Vehicles:
    return Vehicles(
        id=np.zeros(1, int), kind=("car",), position=np.array([position]), velocity=np.zeros((1, 2)),
        heading=np.zeros(1), length=np.full(1, 4.0), width=np.full(1, 2.0),
    )  # fmt: skip


def test_the_published_law_stops_for_vehicles_within_10_m_from_04_rad_left_to_08_rad_right() -> None:
    """Seen from the middle at x = 11.293, along the route. It holds the steering of the step before, and people far
    ahead do not slow it down."""

    def brake(angle: float, distance: float) -> float:
        """``angle`` to the left."""
        seen = vehicle(11.293 + distance * np.cos(angle), LANE_Y + distance * np.sin(angle))
        return float(driver(PidDriver(speed_law="published")).act(Observation(0.0, state(), vehicles=seen)).brake)

    found = {at: brake(*at) for at in ((0.0, 9.9), (0.0, 10.1), (0.39, 9), (0.41, 9), (-0.79, 9), (-0.81, 9))}
    assert list(found.values()) == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    policy = driver(PidDriver(speed_law="published"))
    before = policy.act(Observation(0.0, state(y=LANE_Y + 0.5), pedestrians=people((31.0, LANE_Y))))
    assert (before.throttle, before.brake) == (1.0, 0.0)
    stopped = policy.act(Observation(0.05, state(y=LANE_Y - 0.5), pedestrians=people((18.0, LANE_Y))))
    assert stopped == Drive(before.steer, 0.0, 1.0)


def test_comfort_zone_by_hand() -> None:
    """At 5 m/s somebody who stands 8 m ahead of the bumper has to be braked for, somebody 3 m aside has not."""

    def act(*positions: tuple[float, float]) -> Drive:
        policy = driver(registry.make_policy("comfort_zone"))
        command = policy.act(Observation(0.0, state(speed=5.0), pedestrians=people(*positions)))
        assert isinstance(command, Drive)
        return command

    bumper = 13.206
    assert act().throttle > 0.0
    assert act((bumper + 8.0, LANE_Y)).brake > 0.0
    assert act((bumper + 2.5, LANE_Y)).brake > act((bumper + 12.0, LANE_Y)).brake > 0.0
    assert act((bumper + 8.0, LANE_Y + 3.0)).brake == 0.0
    assert act((5.0, LANE_Y)).brake == 0.0
    assert act((bumper + 1.0, LANE_Y)).brake == 1.0  # 5² / (2 · 1) is more than it has: as hard as it can


def test_settings_are_checked() -> None:
    for name in ("pid", "pid_noise", "comfort_zone"):
        with pytest.raises(BadInput, match="did you mean 'target_kmh'"):
            registry.make_policy(name, {"target_kph": 30})


def test_route_by_hand() -> None:
    """East for 10 m, then north."""
    route = DrivingRoute((0.0, 0.0), [(10.0, 0.0), (10.0, 10.0)])
    assert route.total == 20.0
    assert route.advance(4.0, 1.0) == pytest.approx(1.0)
    assert route.along == pytest.approx(4.0)
    assert route.point(12.0) == pytest.approx((10.0, 2.0))
    assert route.point(25.0) == pytest.approx((10.0, 15.0))
    assert route.advance(9.0, 3.0) == pytest.approx(1.0)  # to the left of the way north
    assert route.along == pytest.approx(13.0)
    assert route.advance(12.0, 5.0) == pytest.approx(-2.0)


class Told:
    """Drives as it is told to, and keeps what it was told about the route."""

    needs: ClassVar[frozenset[str]] = frozenset({"measurements", "high_level_command"})

    def __init__(self, *commands: Drive) -> None:
        self._commands = commands

    def reset(self, task: Task) -> None:
        self.told: list[Any] = []

    def act(self, observation: Observation) -> Drive:
        assert observation.extra is not None
        extra = observation.extra
        self.told.append((observation.robot, extra["measurements"].copy(), extra["high_level_command"].copy()))
        return self._commands[min(len(self.told), len(self._commands)) - 1]


def told(start: list[float], *commands: Drive, **changes: Any) -> list[Any]:
    policy = Told(*(commands or (Drive(0.0, 0.0, 1.0),)))
    route = [[x, LANE_Y] for x in range(12, 110, 2)]
    robots = [{"spec": "car", "start": start, "goal": [110, LANE_Y], "route": route}]
    run_episode(on_the_road(robots=robots, rules={"time_limit_s": 3}, **changes), policy, act_limit_s=None)
    return policy.told


def test_measurements_by_hand() -> None:
    """The goal is the expert's pose (100, -1.75). On the straight route all but the speed is 0, and of 88.707 m to the
    goal the share that is left."""
    seen = told([10, LANE_Y, 0], Drive(0.0, 1.0, 0.0))
    assert seen[0][1] == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-6)
    robot, measured, _ = seen[-1]
    assert measured[0] == pytest.approx(robot.speed * 3.6 / 30.0)
    assert measured[0] > 0.5
    assert measured[1:3] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert measured[3] == pytest.approx((100 - robot.x - 1.293) / 88.707)


def test_measurements_aside_by_hand() -> None:
    """0.5 m to the left of the route and turned by 0.2 rad to the left: the middle is 1.293 (cos, sin) of 0.2 ahead."""
    start = [10, LANE_Y + 0.5, 0.2]
    policy = told(start)
    x, y = 10 + 1.293 * np.cos(0.2), LANE_Y + 0.5 + 1.293 * np.sin(0.2)
    _, measured, _ = policy[0]
    aside = y - LANE_Y  # from the line through the waypoints, as published, not from the way on which the car joins it
    angle = np.arctan2(LANE_Y - y, 100 - x) - 0.2
    assert measured == pytest.approx([0.0, aside, angle / 1.57, 1.0], abs=1e-5)
    assert measured[1] > 0  # to the left
    assert measured[2] < 0  # the goal is to the right


def test_high_level_commands() -> None:
    """What the PID driver would do: accelerate from rest, keep the speed near 20 km/h, brake above it; to the right
    where it stands far to the left."""
    seen = told([10, LANE_Y, 0], Drive(0.0, 1.0, 0.0))
    commands = np.array([command for *_, command in seen])
    speed = np.array([robot.speed for robot, *_ in seen])
    assert (commands[:, 0] == FOLLOW).all()
    assert (commands[speed < 4.0, 1] == ACCELERATE).all()
    assert (commands[speed > 6.0, 1] == DECELERATE).all()
    assert KEEP in commands[:, 1]
    assert told([10, LANE_Y, -0.4])[0][2][0] == LEFT
    assert told([10, LANE_Y, 0.4])[0][2][0] == RIGHT
    person = [{"model": "static", "people": [{"start": [18, LANE_Y]}]}]
    assert told([10, LANE_Y, 0], crowd=person)[0][2][1] == DECELERATE


def test_straight_on_is_commanded_between_the_stop_lines() -> None:
    straight = next(each for each in EMPTY if each.name == "scene4-pose0-straight" or each.notes["branch"] == 0)
    left = next(each for each in EMPTY if each.notes["branch"] == -1)

    class Follows(PidDriver):
        needs: ClassVar[frozenset[str]] = PidDriver.needs | {"measurements", "high_level_command"}
        seen: ClassVar[list[int]] = []

        def act(self, observation: Observation) -> Any:
            assert observation.extra is not None
            self.seen.append(int(observation.extra["high_level_command"][0]))
            return super().act(observation)

    def lateral(scenario: Any) -> set[int]:
        Follows.seen.clear()
        assert run_episode(scenario, Follows(), act_limit_s=None).outcome is Outcome.SUCCESS
        return set(Follows.seen)

    assert {FOLLOW, STRAIGHT} <= lateral(straight)
    assert LEFT in lateral(left)
