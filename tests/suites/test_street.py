"""The street suite: what it consists of, that drivers get through, and that the cheapest cheaters lose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.driving.pid import PidDriver
from sidestep.simulation import run_episode
from sidestep.suites.street import STREET_SUITE
from sidestep.types import Drive, Observation, Outcome, Scenario, Task

EMPTY = STREET_SUITE.with_options({"split": "all", "people": "none"}).scenarios()
FULL = STREET_SUITE.with_options({"split": "dev", "people": "many"}).scenarios()


def suite(**options: Any) -> tuple[Scenario, ...]:
    return STREET_SUITE.with_options(options).scenarios()


def test_sixteen_streets_in_two_directions_and_two_splits() -> None:
    assert registry.load("suites", "street") is STREET_SUITE
    assert len({each.name for each in EMPTY}) == 32
    test, dev = suite(), suite(split="dev")
    assert {each.name.rsplit("-", 1)[0] for each in test} == {
        "none-65", "zebra-65", "island-65", "zebra+island-65", "zebra+island-80",
    }  # fmt: skip
    assert len(test) == 10
    assert {each.name for each in (*test, *dev)} == {each.name for each in EMPTY}


def test_options() -> None:
    many = suite(people="many", weather="HardRainSunset", start_kmh=36.0)[0]
    assert many.crowd[0].placement.count == (20, 30)
    assert many.ego.speed == pytest.approx(10.0)
    assert many.sensors.camera is not None
    assert (many.sensors.camera.weather, many.sensors.camera.time_of_day) == ("rain", "sunset")
    assert suite(people="none")[0].crowd == ()
    with pytest.raises(BadInput, match="did you mean 'ClearNoon'"):
        suite(weather="ClearNon")
    with pytest.raises(BadInput, match="people"):
        suite(people="crowd")


def test_the_car_starts_rolling_fifty_metres_before_the_crossing_place() -> None:
    record = run_episode(EMPTY[1], "stop", seed=0)
    assert EMPTY[1].name == "none-60-west"
    assert record.robot_pose[0] == pytest.approx([50.0 + 1.293, 1.5, np.pi])
    assert record.robot_velocity[0, :2] == pytest.approx([-30 / 3.6, 0.0], abs=1e-9)


@pytest.mark.parametrize("policy", ["pid", "comfort_zone", "human_driver"])
def test_drivers_get_through_empty_streets(policy: str) -> None:
    records = [run_episode(each, policy, seed=0, act_limit_s=None) for each in EMPTY]
    assert [record.scenario.name for record in records if record.outcome is not Outcome.SUCCESS] == []
    assert all(not record.events or record.events[-1].kind == "exited" for record in records)  # no lane invasion


class Constant:
    """Follows the route at one speed and looks at nobody."""

    needs: ClassVar[frozenset[str]] = frozenset({"route"})

    def __init__(self, speed: float, aside: float = 0.0) -> None:
        self._speed, self._aside = speed, aside

    def reset(self, task: Task) -> None:
        self._driver = PidDriver(target_kmh=3.6 * self._speed)
        forth = 1.0 if abs(task.start[2]) < 1.0 else -1.0
        assert task.route is not None
        moved = np.asarray(task.route) - [0.0, forth * self._aside]
        object.__setattr__(task, "route", moved)
        self._driver.reset(task)

    def act(self, observation: Observation) -> Drive:
        command = self._driver.act(Observation(time=observation.time, robot=observation.robot))
        assert isinstance(command, Drive)
        return command


def outcomes(policy: Any, scenarios: tuple[Scenario, ...], seed: int = 0) -> list[Outcome]:
    records = [run_episode(each, policy, seed=seed, act_limit_s=None) for each in scenarios]
    assert all(record.outcome is not Outcome.POLICY_ERROR for record in records)
    return [record.outcome for record in records]


def test_standing_still_loses() -> None:
    assert Outcome.SUCCESS not in outcomes(Constant(0.01), FULL[:4])


def test_driving_on_the_sidewalk_loses() -> None:
    assert set(outcomes(Constant(6.0, aside=4.0), EMPTY[:8])) <= {Outcome.OFF_ROUTE, Outcome.LANE_INVASION}


def test_driving_in_the_oncoming_lane_loses() -> None:
    found = outcomes(Constant(6.0, aside=-3.2), tuple(each for each in EMPTY if each.name.startswith("none-65")))
    assert Outcome.SUCCESS not in found


def test_racing_through_hits_somebody_where_the_human_driver_does_not() -> None:
    zebras = tuple(each for each in FULL if "zebra" in each.tags)
    raced = [outcome for seed in range(2) for outcome in outcomes(Constant(13.0), zebras, seed)]
    driven = [outcome for seed in range(2) for outcome in outcomes("human_driver", zebras, seed)]
    assert raced.count(Outcome.PEDESTRIAN_COLLISION) > driven.count(Outcome.PEDESTRIAN_COLLISION)
