"""Vehicles in a world: contacts by outline, drivers, what people, sensors, records and pictures make of them."""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import shapely

from sidestep import registry
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels import layout
from sidestep.metrics.pedestrians import minimum_vehicle_distance
from sidestep.policies.trivial import Stop, Straight
from sidestep.records import load_record, save_record
from sidestep.records.exports.episode_log import contacts_of, lidar_scans
from sidestep.render.films.cameras import other_robots
from sidestep.render.mesh import Semantic
from sidestep.render.record_view import RecordView
from sidestep.report.viewer.pack import pack_replays
from sidestep.runs.remote.client import observation_of
from sidestep.runs.remote.guest_messages import ObservationReceiver, ObservationSender
from sidestep.runs.remote.messages import observation_message
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.loop import Episode, describe_policy, run_episodes
from sidestep.simulation.observe import future_of
from sidestep.simulation.traffic import VehicleDriver, cover_body, inner_radius, load_vehicle
from sidestep.types import Footprint, Observation, Outcome, Scenario, Task, Vehicles, Velocity
from sidestep.types.record import others
from sidestep.types.sensors import CameraSettings
from tests.simulation.scenarios import make

ENDS = ["success", "vehicle_collision", "environment_collision", "timeout", "policy_error"]
EAST = [{"spec": "point", "start": [0, 0, 0], "goal": [10, 0]}]
ACROSS = {"kind": "car", "start": [5, 0, pi / 2]}
"""A car across the way: its outline is x 4.1 … 5.9, y -0.9 … 3.6, and the circle about it reaches to x = 1.29."""


def road(traffic: list[dict[str, Any]], robots: list[dict[str, Any]] = EAST, **changes: Any) -> Scenario:
    rules = {"step_s": 0.1, "time_limit_s": 12, "ends_on": ENDS, **changes.pop("rules", {})}
    return make(robots=robots, traffic=traffic, rules=rules, **changes)


class Watcher:
    """Stands and keeps what it saw."""

    needs: ClassVar[frozenset[str]] = frozenset({"vehicles", "pedestrians", "lidar"})

    def reset(self, task: Task) -> None:
        self.seen: list[Observation] = []

    def act(self, observation: Observation) -> Velocity:
        self.seen.append(observation)
        return Velocity(0.0, 0.0)


def watch(scenario: Scenario) -> Observation:
    policy = Watcher()
    run_episode(scenario, policy, act_limit_s=None)
    return policy.seen[0]


def test_a_disc_touches_the_outline_of_a_vehicle_not_the_circle_about_it() -> None:
    record = run_episode(road([ACROSS]), Straight())
    contact = next(event for event in record.events if event.kind == "collision_start")
    assert contact.subject == "vehicle:0"
    assert contact.time == pytest.approx(4.1 - 0.3, abs=1e-3)  # at 1 m/s
    assert record.outcome is Outcome.VEHICLE_COLLISION
    assert record.duration == pytest.approx(3.8)
    assert [place.subject for place in contacts_of(record)] == ["vehicle:0"]


def test_a_polygon_touches_the_outline_too() -> None:
    robot = {"spec": "delivery_robot", "start": [0, 0, 0], "goal": [10, 0]}
    record = run_episode(road([ACROSS], [robot]), Straight())
    contact = next(event for event in record.events if event.kind == "collision_start")
    touching = np.argmax(record.robot_pose[:, 0] >= 4.1 - 0.45 - 1e-3)
    assert contact.subject == "vehicle:0"
    assert record.time[touching - 1] - 1e-9 <= contact.time <= record.time[touching] + 1e-9


def test_a_robot_passes_close_to_a_parked_car() -> None:
    """0.3 m of robot, then 0.2 m of air, then the side of the car at y = 0.5."""
    record = run_episode(road([{"kind": "car", "start": [4, 1.4, 0]}]), Straight())
    assert record.outcome is Outcome.SUCCESS
    assert minimum_vehicle_distance(record).value == pytest.approx(0.2, abs=1e-6)


def test_a_car_that_does_not_yield_hits_who_stands() -> None:
    car = {"kind": "car", "path": [[-10, 0], [10, 0]], "speed": 5, "parameters": {"yields": False}}
    record = run_episode(road([car]), Stop())
    contact = next(event for event in record.events if event.kind == "collision_start")
    assert contact.time == pytest.approx((10 - 3.6 - 0.3) / 5, abs=1e-3)


def test_a_car_brakes_for_who_is_in_its_lane_and_stops_before_them() -> None:
    car = {"kind": "car", "path": [[-20, 0], [20, 0]], "speed": 6}
    record = run_episode(road([car]), Stop())
    assert record.outcome is Outcome.TIMEOUT
    front = record.other_pose[:, 0, 0] + 3.6
    assert front[1] == pytest.approx(-20 + 3.6 + 0.6)  # at full speed from the start
    assert front[-1] == pytest.approx(-0.3 - 2.0, abs=0.1)
    beside = run_episode(road([{**car, "path": [[-20, 4], [20, 4]]}]), Stop())
    assert beside.other_pose[-1, 0, 0] == pytest.approx(20, abs=0.3)  # and stands at the end of its path


def test_a_bicycle_goes_round_its_loop() -> None:
    corners = [[5, 5], [15, 5], [15, 15], [5, 15]]
    bicycle = {"kind": "bicycle", "path": corners, "speed": 3, "parameters": {"at_end": "loop"}}
    record = run_episode(road([bicycle], rules={"time_limit_s": 30}), Stop())
    x, y = record.other_pose[:, 0, 0], record.other_pose[:, 0, 1]
    miss = shapely.distance(shapely.points(x, y), shapely.LinearRing(corners))
    assert miss.max() < 1.5
    speed = np.hypot(np.diff(x), np.diff(y)) / 0.1
    assert speed.min() > 2.5
    assert speed.sum() * 0.1 > 80  # two rounds of 40 m


def test_traffic_is_in_the_record_after_other_robots(tmp_path: Path) -> None:
    robots = [*EAST, {"spec": "point", "start": [0, 5, 0], "goal": [9, 5]}]
    record = run_episode(
        road([{"kind": "van", "start": [0, -6, 0]}, {"kind": "bicycle", "start": [0, -9, 0]}], robots), Stop()
    )
    assert [(user.subject, user.kind, user.is_vehicle) for user in others(record)] == [
        ("robot:1", "robot", False),
        ("vehicle:0", "van", True),
        ("vehicle:1", "bicycle", True),
    ]
    assert others(record)[1].footprint == load_vehicle("van").footprint
    assert others(record)[0].footprint.radius == 0.3
    assert record.other_pose[0, 1].tolist() == [0, -6, 0]
    save_record(record, tmp_path / "record.parquet")
    again = load_record(tmp_path / "record.parquet")
    assert again.digest == record.digest
    assert others(again) == others(record)
    bodies = pack_replays([("stop", record)])["episodes"][0]["other_body"]
    assert [body["polygon"] is None for body in bodies] == [True, False, False]


def test_a_scenario_without_traffic_has_the_digest_that_it_had() -> None:
    record = run_episode(make(), Stop())
    assert "traffic" not in record.meaning()["scenario"]
    assert "sensors" not in record.meaning()["scenario"]


def busy_street(people: int = 12) -> Scenario:
    """The crosswalk street with parked cars, a moving car and a cyclist."""
    walkers = {"kind": "random", "count": people, "area": [-18, 4.6, 18, 6.9], "goals": 3}
    traffic = [
        {"kind": "car", "start": [-8, 2.4, 0]},
        {"kind": "van", "start": [5, 2.4, 0]},
        {"kind": "car", "path": [[-18, -1.75], [16, -1.75]], "speed": 8},
        {"kind": "bicycle", "path": [[18, 0.3], [-18, 0.3]], "speed": 4},
    ]
    document = {
        "name": "busy street",
        "suite": "tests",
        "scene": "crosswalk_street",
        "robots": [{"spec": "point", "start": [0, -5.5, pi / 2], "goal": [0, 5.5]}],
        "crowd": [{"model": "orca", "placement": walkers}],
        "traffic": traffic,
        "rules": {"step_s": 0.1, "time_limit_s": 12, "ends_on": ENDS},
    }
    return Scenario.parse(document, "busy street")


def test_a_street_with_parked_and_moving_vehicles() -> None:
    record = run_episode(busy_street(), Straight(), seed=1)
    assert record.outcome is Outcome.SUCCESS
    assert (np.ptp(record.other_pose[:, :2], axis=0) == 0).all()  # parked
    assert np.ptp(record.other_pose[:, 2, 0]) > 20
    assert np.ptp(record.other_pose[:, 3, 0]) > 20
    for k, user in enumerate(others(record)):
        corners = np.array(user.footprint.polygon)
        for pose, people in zip(record.other_pose[:, k], record.person_position, strict=True):
            c, s = np.cos(pose[2]), np.sin(pose[2])
            body = shapely.Polygon(corners @ np.array([[c, s], [-s, c]]) + pose[:2])
            assert shapely.distance(body, shapely.points(people.astype(float))).min() > 0.25


def test_a_record_does_not_depend_on_what_runs_beside_it() -> None:
    """Worlds of different numbers of people are padded, which moves the columns of vehicles."""
    info = describe_policy(Straight())
    worlds = [build_world(busy_street(people), seed) for people, seed in ((3, 0), (20, 1), (9, 2))]
    together = run_episodes([Episode(world, Straight(), info) for world in worlds], threads=2)
    alone = [run_episodes([Episode(world, Straight(), info)])[0] for world in worlds]
    assert [record.digest for record in together] == [record.digest for record in alone]


def test_people_walk_round_a_parked_car_and_past_it_on_the_sidewalk() -> None:
    walkers = [{"start": [-6, 0.2], "waypoints": [[8, 0.2]]}, {"start": [-6, 2.0], "waypoints": [[8, 2.0]]}]
    crowd = [{"model": "orca", "people": walkers}]
    robots = [{"spec": "point", "start": [0, -9, 0], "goal": [9, -9]}]
    record = run_episode(road([{"kind": "car", "start": [0, 0, 0]}], robots, crowd=crowd), Stop())
    car = shapely.box(-0.9, -0.9, 3.6, 0.9)
    gaps = shapely.distance(car, shapely.points(record.person_position.astype(float)))
    assert gaps.min() > 0.2  # 0.25 m of body, and what ORCA lets overlap
    assert (record.person_position[-1, :, 0] > 3.6).all()
    assert np.abs(record.person_position[:, 1, 1] - 2.0).max() < 0.15


def test_people_are_not_placed_in_vehicles() -> None:
    box = {"kind": "random", "count": 8, "area": [-3, -3, 6, 3]}
    world = build_world(
        road([{"kind": "car", "start": [0, 0, 0]}], [{**EAST[0], "start": [0, -9, 0]}], crowd=[{"placement": box}]), 0
    )
    places = world.agents[[layout.PX, layout.PY], :8].T.astype(float)
    assert shapely.distance(shapely.box(-0.9, -0.9, 3.6, 0.9), shapely.points(places)).min() > 0.25


def test_the_future_has_the_traffic_and_not_the_robot() -> None:
    crowd = [{"model": "orca", "people": [{"start": [-6, 0.2], "waypoints": [[8, 0.2]]}]}]
    aside = [{"spec": "point", "start": [0, -9, 0], "goal": [9, -9]}]
    scenario = road([{"kind": "car", "start": [0, 0, 0]}], aside, crowd=crowd)
    record = run_episode(scenario, Stop())
    assert np.array_equal(future_of(build_world(scenario, 0)).position, record.person_position, equal_nan=True)


def test_a_policy_sees_boxes_and_outlines() -> None:
    seen = watch(road([ACROSS, {"kind": "bicycle", "path": [[-20, 0], [-30, 0]], "speed": 2}]))
    assert isinstance(seen.vehicles, Vehicles)
    assert seen.pedestrians is not None
    assert len(seen.pedestrians) == 0
    assert seen.vehicles.kind == ("car", "bicycle")
    assert seen.vehicles.position == pytest.approx(np.array([[5.0, 1.35], [-20.525, 0.0]]))
    assert seen.vehicles.velocity == pytest.approx(np.array([[0.0, 0.0], [-2.0, 0.0]]))
    assert seen.vehicles.length == pytest.approx([4.5, 1.75])
    assert seen.vehicles.width == pytest.approx([1.8, 0.6])
    assert seen.lidar is not None
    ahead = round(-seen.lidar.angle_min / seen.lidar.angle_increment)
    assert seen.lidar.ranges[ahead] == pytest.approx(4.1, abs=1e-3)
    assert not seen.vehicles.position.flags.writeable


def test_policies_elsewhere_see_the_same_boxes() -> None:
    seen = watch(road([ACROSS]))
    again = ObservationReceiver().observation(ObservationSender().message(seen)).vehicles
    told = observation_of(observation_message(seen, binary=False)).vehicles
    assert again is not None
    assert seen.vehicles is not None
    assert again.kind == seen.vehicles.kind == tuple(told.kind)
    for name in ("id", "position", "velocity", "heading", "length", "width"):
        assert np.array_equal(getattr(again, name), getattr(seen.vehicles, name))
        assert np.array_equal(getattr(told, name), getattr(seen.vehicles, name))


def test_the_detector_has_a_range_and_walls_hide_vehicles() -> None:
    far = {"kind": "van", "start": [40, 0, 0]}
    near = watch(road([ACROSS, far], sensors={"vehicles": {"range_m": 20}})).vehicles
    assert near is not None
    assert near.id.tolist() == [0]
    wall = {"kind": "obstacle", "polygon": [[2, -3], [2.2, -3], [2.2, 6], [2, 6]]}
    aside = [{**EAST[0], "goal": [0, 9]}]
    hidden = watch(
        road([ACROSS], aside, scene={"name": "wall", "regions": [wall]}, sensors={"vehicles": {"occlusion": True}})
    )
    assert hidden.vehicles is not None
    assert len(hidden.vehicles) == 0


def test_the_lidar_of_a_record_is_that_of_the_episode() -> None:
    policy = Watcher()
    car = {"kind": "car", "path": [[-12, 2], [12, 2]], "speed": 4}
    record = run_episode(
        road([ACROSS | {"start": [5, -6, 1.0]}, car], rules={"time_limit_s": 3}), policy, act_limit_s=None
    )
    for seen, scan in zip(policy.seen, lidar_scans(record, np.arange(record.steps)), strict=True):
        assert seen.lidar is not None
        assert np.array_equal(seen.lidar.ranges, scan.ranges)


def test_a_scanner_hits_vehicles() -> None:
    """One channel at bumper height, straight ahead: the side of the car is 4.1 m away."""

    class Scanning(Watcher):
        needs: ClassVar[frozenset[str]] = frozenset({"points"})

    policy = Scanning()
    scanner = {
        "channels": 1,
        "elevation_min": 0,
        "elevation_max": 0,
        "rays": 9,
        "angle_min": -0.1,
        "field_of_view": 0.2,
    }
    sensors = {"lidar3d": {**scanner, "mount": [0, 0, 0.6]}}
    run_episode(road([ACROSS], sensors=sensors, rules={"time_limit_s": 0.2}), policy, act_limit_s=None)
    points = policy.seen[0].points
    assert points is not None
    assert points.ranges[0, 4] == pytest.approx(4.1, abs=0.1)


def test_cameras_draw_vehicles_as_vehicles() -> None:
    traffic = [{"kind": "car", "start": [9, -2.5, pi]}, {"kind": "bicycle", "start": [5, 1.5, pi / 2]}]
    record = run_episode(road(traffic, rules={"time_limit_s": 0.3}), Stop())
    view = RecordView(record, CameraSettings(width=160, height=120), others=other_robots(record))
    images = view.images(1, ("semantic", "instance"))
    assert images.semantic is not None
    vehicle = images.semantic == int(Semantic.VEHICLE)
    columns = np.flatnonzero(vehicle.any(axis=0))
    assert vehicle.sum() > 100
    assert columns.min() < 80 < columns.max()  # the bicycle on the left, the car on the right


def test_bodies_by_hand() -> None:
    car = load_vehicle("car").footprint
    cover = cover_body(car)
    assert (cover.discs, cover.spacing, cover.x) == (4, 1.125, pytest.approx(-0.9 + 0.5625))
    assert cover.radius == pytest.approx((0.9**2 + 0.5625**2) ** 0.5)
    assert inner_radius(car) == pytest.approx(0.9)
    assert cover_body(Footprint(radius=0.4)).discs == 0
    ahead = Footprint(polygon=((1, -1), (2, -1), (2, 1), (1, 1)))
    assert inner_radius(ahead) == 0.0


@pytest.mark.parametrize(
    ("vehicle", "words"),
    [
        ({"kind": "car"}, "a vehicle needs a start"),
        ({"kind": "car", "path": [[5, 5]]}, "at least two points"),
        ({"kind": "car", "start": [5, 5, 0], "driver": "follow_path"}, "vehicle 0 .car.: follow_path needs a path"),
        ({"kind": "car", "start": [5, 5, 0], "speed": 3}, "is parked and has the speed 3 m/s"),
        ({"kind": "car", "path": [[5, 5], [9, 5]], "speed": 40}, "drives at most 25 m/s"),
        ({"kind": "car", "path": [[5, 5], [9, 5]], "parameters": {"yeilds": True}}, "does not take the parameters"),
        ({"kind": "car", "path": [[5, 5], [9, 5]], "parameters": {"at_end": "fly"}}, "it is stop or loop"),
        ({"kind": "car", "path": [[5, 5], [5, 5]], "start": [5, 5, 0]}, "leave one out"),
        ({"kind": "car", "start": [-2, 0, 0]}, "touches robot 0 at the start"),
        ({"kind": "car", "start": [5, 5, 0], "colour": "red"}, "colour"),
    ],
)
def test_mistakes_in_traffic_are_named(vehicle: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        build_world(road([vehicle]), 0)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match="bicycle"):
        build_world(road([{"kind": "bycicle", "start": [5, 5, 0]}]), 0)
    with pytest.raises(UnknownName, match="follow_path"):
        build_world(road([{"kind": "car", "path": [[5, 5], [9, 5]], "driver": "folow_path"}]), 0)
    spec = load_vehicle("car").model_copy(update={"look": "carr"})
    with pytest.raises(UnknownName, match="car"):
        build_world(road([{"kind": "car", "start": [5, 5, 0], "spec": spec.model_dump()}]), 0)


def test_a_vehicle_in_a_wall_and_one_on_another_are_refused() -> None:
    wall = {"kind": "obstacle", "polygon": [[6, 4], [7, 4], [7, 6], [6, 6]]}
    with pytest.raises(BadInput, match=r"vehicle 0 \(car\) at \(5, 5\) touches a wall"):
        build_world(road([{"kind": "car", "start": [5, 5, 0]}], scene={"name": "wall", "regions": [wall]}), 0)
    with pytest.raises(BadInput, match=r"vehicle 1 \(van\) at \(5, 6\) touches vehicle 0"):
        build_world(road([{"kind": "car", "start": [5, 5, 0]}, {"kind": "van", "start": [5, 6, 0]}]), 0)


class Asleep(VehicleDriver):
    """A driver with a mistake."""

    def drive(self, view: Any) -> Any:
        raise ZeroDivisionError("nobody steers")


def test_a_driver_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.table("drivers"), "asleep", f"{__name__}:Asleep")
    with pytest.raises(BadInput, match=r"vehicle 0 \(car\): its driver failed: ZeroDivisionError: nobody steers"):
        run_episode(road([ACROSS | {"driver": "asleep"}]), Stop())


def test_a_robot_is_not_put_back_onto_a_vehicle() -> None:
    """The first waypoint after the failure is in the car's place; the robot is put on the one behind it."""
    robots = [{"spec": "point", "start": [0, 0, 0], "goal": [14, 0], "route": [[4.4, 0], [10, 0]]}]
    record = run_episode(road([ACROSS], robots, rules={"on_failure": "reset", "time_limit_s": 4.5}), Straight())
    assert [event.kind for event in record.events][:2] == ["collision_start", "reset"]
    assert record.robot_pose[-1, 0] > 10
