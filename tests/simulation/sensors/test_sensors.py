"""What the sensors report in a world whose answers can be computed by hand."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation import Worlds, build_world, run_episode
from sidestep.simulation.observe import Observer
from sidestep.types import HolonomicVelocity, Observation, Scenario, Task
from sidestep.types.sensors import LidarSettings, PedestrianSensing
from tests.simulation.scenarios import make

PEOPLE = [
    {"start": [2.0, 0.0]},  # ahead
    {"start": [4.0, 0.05]},  # hidden behind the first
    {"start": [0.0, 3.0]},  # to the left
    {"start": [-6.0, 0.0]},  # behind, far
]


def scenario(**sensors: Any) -> Scenario:
    """A robot at the origin that looks along +x, four people who stand, a wall at x = 8."""
    wall = {"kind": "obstacle", "polygon": [[8, -5], [9, -5], [9, 5], [8, 5]]}
    return make(
        scene={"name": "wall", "regions": [wall]},
        robots=[{"spec": "point", "start": [0, 0, 0], "goal": [5, 3]}],
        crowd=[{"model": "static", "people": PEOPLE}],
        sensors=sensors,
    )


def look(described: Scenario, *needs: str) -> Observation:
    world = build_world(described, 0)
    return Observer(world, frozenset(needs)).observe(Worlds([world]), 0)


def seen(**pedestrians: Any) -> list[int]:
    observation = look(scenario(pedestrians=pedestrians), "pedestrians")
    assert observation.pedestrians is not None
    return observation.pedestrians.id.tolist()


def test_everybody_is_seen_by_default() -> None:
    observation = look(scenario(), "pedestrians")
    assert observation.pedestrians is not None
    np.testing.assert_allclose(observation.pedestrians.position, [person["start"] for person in PEOPLE], atol=1e-6)
    np.testing.assert_allclose(observation.pedestrians.radius, 0.25)
    np.testing.assert_array_equal(observation.pedestrians.velocity, 0.0)


def test_range_field_of_view_and_occlusion() -> None:
    assert seen(range_m=3.5) == [0, 2]
    assert seen(field_of_view=np.pi / 2) == [0, 1]
    assert seen(occlusion=True) == [0, 2, 3]
    assert seen(range_m=5.0, field_of_view=np.pi / 2, occlusion=True) == [0]


def test_lidar_sees_walls_and_people_but_not_its_own_body() -> None:
    observation = look(scenario(lidar={"rays": 4, "max_range": 7.9}), "lidar")
    assert observation.lidar is not None
    behind, right, ahead, left = observation.lidar.ranges.tolist()  # from -π in steps of π/2
    assert behind == pytest.approx(6.0 - 0.25, abs=1e-5)
    assert right == pytest.approx(7.9)
    assert ahead == pytest.approx(2.0 - 0.25, abs=1e-5)
    assert left == pytest.approx(3.0 - 0.25, abs=1e-5)


def test_lidar_turns_with_the_robot_and_reaches_the_wall() -> None:
    described = scenario(lidar={"rays": 1, "angle_min": 0.0, "max_range": 30.0})
    turned = described.model_copy(update={"crowd": ()})
    observation = look(turned, "lidar")
    assert observation.lidar is not None
    assert observation.lidar.ranges.tolist() == pytest.approx([8.0], abs=1e-5)


def test_a_full_turn_does_not_repeat_the_first_ray() -> None:
    assert LidarSettings(rays=4).angle_increment == pytest.approx(np.pi / 2)
    assert LidarSettings(rays=3, field_of_view=np.pi).angle_increment == pytest.approx(np.pi / 2)


@pytest.mark.parametrize("settings", [{"range_m": 0}, {"field_of_view": 7.0}, {"ocklusion": True}])
def test_wrong_settings_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(settings))):
        PedestrianSensing.parse(settings, "sensors")


def test_history_grows_to_its_length_oldest_first() -> None:
    lengths: list[int] = []

    class Watch:
        needs: ClassVar[frozenset[str]] = frozenset({"history"})

        def reset(self, task: Task) -> None:
            pass

        def act(self, observation: Observation) -> HolonomicVelocity:
            assert observation.history is not None
            assert observation.pedestrians is None
            lengths.append(len(observation.history))
            return HolonomicVelocity(0.0, 0.0)

    described = scenario(history_s=0.5).model_copy(update={"rules": scenario().rules})
    record = run_episode(described, Watch())
    assert record.error == ""
    assert lengths[:7] == [1, 2, 3, 4, 5, 5, 5]  # steps of 0.1 s
