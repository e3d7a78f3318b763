"""Which picture a policy has at which step, under rate and latency; and whose camera settings hold."""

from __future__ import annotations

from math import pi, radians
from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import Observation, Scenario, Task, Velocity
from sidestep.types.sensors import CameraSettings, LidarSettings, Sensors, merge_camera_settings
from tests.simulation.scenarios import make

TAKEN: list[float] = []


class Clock:
    """A camera whose pictures are the time."""

    def __init__(self, scene: Any, robot: Any, needs: frozenset[str], *rest: Any) -> None:
        TAKEN.clear()

    def follow(self, *_: Any) -> None: ...

    def restart(self, person_id: Any) -> None:
        TAKEN.clear()

    def sense(self, robot: Any, people: Any, time_s: float) -> dict[str, Any]:
        TAKEN.append(round(time_s, 6))
        return {"depth": np.full((2, 2), time_s, np.float32)}


class Looking:
    name = "looking"
    needs: ClassVar[frozenset[str]] = frozenset({"depth"})

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def reset(self, task: Task) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.0, 0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.render.camera.RobotCamera", Clock)


def times(steps: int, control_every: int = 1, step_s: float = 0.1, mode: Any = "sync", **camera: Any) -> list[float]:
    """Times of the pictures that the policy got, one per call."""
    rules = {"step_s": step_s, "time_limit_s": steps * step_s, "control_every": control_every}
    policy = Looking()
    run_episode(
        make(rules=rules, sensors={"camera": camera}), policy, act_limit_s=None, mode=mode,
        latency_s=0.2 if mode == "latency" else None,
    )  # fmt: skip
    for each in policy.seen:
        assert each.depth is not None
        assert each.picture_time == pytest.approx(float(each.depth[0, 0]))
    return [round(each.picture_time or 0.0, 6) for each in policy.seen]


def test_a_picture_for_every_call_by_default(clock: None) -> None:
    assert times(5) == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert times(6, control_every=2) == [0.0, 0.2, 0.4]


def test_a_slow_camera_repeats_its_last_picture(clock: None) -> None:
    # 4 Hz: due at 0, 0.25, 0.5, 0.75; steps of 0.1 s come to them at 0, 0.3, 0.5, 0.8
    assert times(10, rate_hz=4.0) == [0.0, 0.0, 0.0, 0.3, 0.3, 0.5, 0.5, 0.5, 0.8, 0.8]
    assert TAKEN == [0.0, 0.3, 0.5, 0.8]


def test_a_picture_is_late_by_whole_steps(clock: None) -> None:
    # 0.15 s are two steps; until the first has arrived the policy has it all the same
    assert times(6, latency_s=0.15) == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]
    assert times(6, latency_s=0.2) == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]


def test_slow_and_late(clock: None) -> None:
    # taken at 0, 0.2, 0.4, 0.6; there at 0.3, 0.5, 0.7, 0.9
    assert times(10, rate_hz=5.0, latency_s=0.3) == [0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.4, 0.4, 0.6]


def test_a_camera_runs_while_the_policy_thinks(clock: None) -> None:
    # an answer takes 0.2 s, so the policy is asked at 0, 0.3 and 0.6 s
    assert times(8, mode="latency", rate_hz=5.0) == [0.0, 0.2, 0.6]
    assert TAKEN == [0.0, 0.2, 0.4, 0.6]


def test_a_camera_faster_than_the_world_has_a_picture_per_step(clock: None) -> None:
    assert times(4, rate_hz=60.0) == [0.0, 0.1, 0.2, 0.3]
    assert times(8, control_every=4, rate_hz=5.0, latency_s=0.1) == [0.0, 0.2]


def test_the_schedule_is_that_of_the_settings(clock: None) -> None:
    for camera in ({"rate_hz": 3.0}, {"rate_hz": 7.0, "latency_s": 0.12}, {"latency_s": 0.3}, {}):
        settings = CameraSettings(**camera)  # type: ignore[arg-type]
        expected = [round(0.05 * settings.seen_at(step, 0.05, 1), 6) for step in range(40)]
        assert times(40, step_s=0.05, **camera) == expected


class Wide(Looking):
    camera: ClassVar[Any] = {"width": 96, "height": 64, "rate_hz": 5.0}


class Named(Looking):
    camera: ClassVar[Any] = "delivery_front"


class Typo(Looking):
    camera: ClassVar[Any] = {"widht": 96}


class Huge(Looking):
    camera: ClassVar[Any] = {"width": 0}


class Rainmaker(Looking):
    camera: ClassVar[Any] = CameraSettings(weather="rain")


def used(policy: Any, robot: str = "point", **camera: Any) -> CameraSettings:
    """The settings that the record holds."""
    scenario = make(
        robots=[{"spec": robot, "start": [0, -5, 1.5708], "goal": [0, 5]}],
        rules={"step_s": 0.1, "time_limit_s": 0.2},
        sensors={"camera": camera} if camera else {},
    )
    return run_episode(scenario, policy, act_limit_s=None).scenario.sensors.camera


def test_the_policys_camera_is_laid_over_the_scenarios(clock: None) -> None:
    camera = used(Wide(), field_of_view=1.2, weather="wet", rate_hz=2.0)
    assert (camera.width, camera.height, camera.rate_hz) == (96, 64, 5.0)
    assert (camera.field_of_view, camera.weather) == (1.2, "wet")
    named = used(Named(), time_of_day="night")
    assert (named.width, named.height) == (640, 360)
    assert named.field_of_view == pytest.approx(radians(100))
    assert named.time_of_day == "night"


def test_the_robots_own_camera_lies_under_both(clock: None) -> None:
    car = used(Looking(), "car", weather="rain")
    assert (car.width, car.height, car.picture_size) == (1500, 650, (200, 88))
    assert car.crop is not None
    assert car.crop.rows == (115, 510)
    assert car.mount == (2.293, 0.0, 1.6)  # from the rear axle
    assert car.weather == "rain"
    small = used(Wide(), "car")  # a new size makes an end of the cropping, not of the mounting
    assert small.crop is small.output_size is None
    assert small.mount == car.mount
    assert used(Looking(), "pioneer_3dx").mount == (0.0, 0.0, 0.4)
    assert used(Looking(), "delivery_robot").picture_size == (640, 360)
    assert used(Looking(), "point") == CameraSettings()


def test_a_record_that_is_run_again_has_the_same_camera(clock: None) -> None:
    scenario = make(robots=[{"spec": "car", "start": [0, -5, 1.5708], "goal": [0, 5]}], rules={"time_limit_s": 0.1})
    once = run_episode(scenario, Wide(), act_limit_s=None).scenario
    loaded = Scenario.model_validate_json(once.model_dump_json())
    assert run_episode(loaded, Wide(), act_limit_s=None).scenario.sensors == once.sensors


def test_errors_name_the_policy_and_the_field(clock: None) -> None:
    with pytest.raises(BadInput, match=r"policy 'looking': camera: unknown key 'widht'; did you mean 'width'"):
        used(Typo())
    with pytest.raises(BadInput, match=r"policy 'looking': camera: width"):
        used(Huge())
    with pytest.raises(BadInput, match=r"policy 'looking': camera: weather is the scenario's"):
        used(Rainmaker())


def test_presets_in_files() -> None:
    camera = Sensors.parse({"camera": "car_front"}, "file").camera
    assert camera.mount == (1.0, 0.0, 1.6)
    assert camera.field_of_view == pytest.approx(radians(140))
    changed = Sensors.parse({"camera": {"preset": "car_front", "rate_hz": 20}}, "file").camera
    assert (changed.output_size, changed.rate_hz) == ((200, 88), 20.0)
    with pytest.raises(BadInput, match=r"file: camera: no camera is called 'car_frnt'; did you mean 'car_front'"):
        Sensors.parse({"camera": "car_frnt"}, "file")
    with pytest.raises(BadInput, match=r"crop.rows 115:510 is no part of a picture with 480 rows"):
        Sensors.parse({"camera": {"crop": {"rows": [115, 510]}}}, "file")
    with pytest.raises(BadInput, match="more than 140°"):
        Sensors.parse({"camera": {"fx": 100.0}}, "file")
    assert load_robot("car").camera is not None


def test_a_new_field_of_view_replaces_intrinsics() -> None:
    base = CameraSettings(fx=400.0, cy=200.0, rate_hz=3.0)
    changed = merge_camera_settings(base, {"field_of_view": 1.0}, "here")
    assert (changed.fx, changed.cy, changed.rate_hz) == (None, None, 3.0)
    assert merge_camera_settings(base, {"pitch": 0.1}, "here").fx == 400.0
    with pytest.raises(BadInput, match="here: camera settings are"):
        merge_camera_settings(base, 3, "here")  # type: ignore[arg-type]


def test_the_cars_planar_scanner() -> None:
    lidar = Sensors.parse({"lidar": "car_front"}, "file").lidar
    assert lidar.rays == 720
    assert lidar.angle_increment == pytest.approx(radians(0.25))
    assert lidar.angle_min + 719 * lidar.angle_increment == pytest.approx(radians(89.875))
    assert (lidar.max_range, lidar.mount) == (40.0, (1.7, 0.0))


class Scanning(Looking):
    needs: ClassVar[frozenset[str]] = frozenset({"lidar"})


def test_a_scanner_off_the_centre() -> None:
    wall = {"kind": "obstacle", "polygon": [[8, -5], [9, -5], [9, 5], [8, 5]]}
    policy = Scanning()
    scenario = make(
        scene={"name": "wall", "regions": [wall]},
        robots=[{"spec": "point", "start": [0, 0, pi / 6], "goal": [5, 3]}],
        sensors={"lidar": {"rays": 1, "angle_min": -pi / 6, "mount": [2.0, 1.0]}},
        rules={"step_s": 0.1, "time_limit_s": 0.1},
    )
    run_episode(scenario, policy)
    scan = policy.seen[0].lidar
    assert scan is not None
    assert scan.ranges[0] == pytest.approx(8.0 - 2.0 * np.cos(pi / 6) + 1.0 * np.sin(pi / 6), abs=1e-4)
    assert LidarSettings().mount == (0.0, 0.0)
