"""People who cross a road: how many, where, how they look, and what they make of cars."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.build import WorldBuilder
from sidestep.suites.intersection import DENSITY, INTERSECTION_SUITE
from sidestep.types import Drive, EpisodeRecord, Observation, Scenario, SceneSpec, Task
from sidestep.types.outcome import Rules
from sidestep.types.scenario import RobotPlacement
from tests.simulation.traffic.roads import LANE_Y, on_the_road, straight_road

CROSSING = {"name": "crossing", "ends": [[60.0, -7.0], [60.0, 3.5]], "width": 4.0}
BELOW, ABOVE = [54, -14, 66, -9], [54, 5, 66, 11]


def crossing_road(count: int = 8, seconds: float = 25.0, **changes: Any) -> Scenario:
    """The straight road with a crossing at x = 60 and people on both sides of it."""
    placement = {"kind": "crossing", "boxes": [[BELOW, ABOVE]], "count": [count, count], **changes.pop("placement", {})}
    crowd = [{"model": "orca", "placement": placement, "radius": 0.25}]
    rules = {"success": "goal", "exit": None, "lanes": None, "ends_on": ["timeout"], "time_limit_s": seconds}
    return on_the_road(scene=straight_road(crossings=[CROSSING]), crowd=crowd, rules=rules, **changes)


@pytest.mark.parametrize("density", DENSITY)
def test_the_number_of_people_is_that_of_the_preset(density: str) -> None:
    """Four boxes hold the same number each, rounded up."""
    least, most = DENSITY[density]
    scenario = INTERSECTION_SUITE.with_options({"people": density}).scenarios()[0]
    builder = WorldBuilder(scenario)
    found = {builder.build(seed).people for seed in range(30)}
    assert all(least <= count <= most + 3 for count in found)
    assert all(count % 4 == 0 for count in found)
    assert len(found) > 1 or density == "none"


def ambient(number: int) -> Scenario:
    scenarios = INTERSECTION_SUITE.with_options({"split": "all"}).scenarios()
    found = next(each for each in scenarios if each.notes["scene"] == number)
    robot = RobotPlacement(spec="point", start=(500.0, 500.0, 0.0), goal=(501.0, 501.0))
    return found.model_copy(update={"robots": (robot,), "rules": Rules(step_s=0.05, time_limit_s=45.0)})


def distances(record: EpisodeRecord) -> Any:
    """(T+1,) smallest distance between two centres, m."""
    gap = record.person_position[:, :, None] - record.person_position[:, None]
    square = (gap * gap).sum(axis=3) + 1e6 * np.eye(gap.shape[1])
    return np.sqrt(square.min(axis=(1, 2)))


@pytest.mark.parametrize("number", range(6))
def test_people_cross_at_crossings_and_do_not_overlap(number: int) -> None:
    record = run_episode(ambient(number), Stop(), seed=number)
    scene = record.scenario.scene
    assert isinstance(scene, SceneSpec)
    assert scene.roads is not None
    road = shapely.union_all([shapely.Polygon(r.polygon) for r in scene.regions if r.kind == "road"])
    strips = shapely.union_all(
        [shapely.LineString(c.ends).buffer(c.width / 2 + 0.5, cap_style="square") for c in scene.roads.crossings]
    )
    x, y = record.person_position[..., 0].ravel(), record.person_position[..., 1].ravel()
    on_asphalt = shapely.contains_xy(road, x, y)
    assert on_asphalt.sum() > 1000
    assert shapely.contains_xy(strips, x[on_asphalt], y[on_asphalt]).mean() >= 0.95
    assert distances(record).min() > 0.5 - 0.02
    walked = np.hypot(*(record.person_position[-1] - record.person_position[0]).T)
    assert (walked > 10).mean() > 0.9  # they get to the other side


def test_people_look_to_both_sides_before_they_step_onto_the_road() -> None:
    record = run_episode(crossing_road(placement={"look_s": [1.2, 1.2]}), Stop())
    y, yaw = record.person_position[..., 1], record.person_head_yaw
    for k in range(y.shape[1]):
        on_road = np.flatnonzero((y[:, k] > -7) & (y[:, k] < 3.5))
        looking = np.flatnonzero(np.isfinite(yaw[:, k]))
        assert len(on_road)
        assert looking[-1] < on_road[0]
        assert len(looking) * 0.05 >= 1.2 - 1e-6
        assert (np.diff(looking) == 1).all()
        assert yaw[looking[0] : looking[0] + 10, k] == pytest.approx(np.full(10, 1.1))  # half a second to the left
        assert yaw[looking[0] + 10 : looking[0] + 20, k] == pytest.approx(np.full(10, -1.1))
        still = record.person_position[looking[13:], k]  # at 3 m/s² 1.8 m/s are gone after 0.6 s
        assert np.abs(np.diff(still, axis=0)).max() < 0.02
        outside = np.minimum(np.abs(y[looking[0], k] + 7), np.abs(y[looking[0], k] - 3.5))
        assert 0.0 < outside < 0.8 + 0.6


class Steady:
    """Drives straight on at a constant speed, from a moment on."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, speed: float) -> None:
        self._speed = speed

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Drive:
        error = self._speed - observation.robot.speed
        return Drive(0.0, min(max(2.0 * error, 0.0), 1.0), min(max(-error, 0.0), 1.0))


def coming(seed: int, gap_s: float | None) -> EpisodeRecord:
    """A car at 8 m/s that does not look comes to the crossing 7 to 18 s after the start, at constant speed since 3 s;
    people look for four seconds or more before they decide."""
    placement = {"look_s": [4.0, 5.0], **({} if gap_s is None else {"accepts_gap_s": gap_s})}
    robots = [{"spec": "car", "start": [10 - 8 * seed, LANE_Y, 0], "goal": [110, LANE_Y]}]
    return run_episode(crossing_road(12, placement=placement, robots=robots), Steady(8.0), seed=seed)


def contacts(record: EpisodeRecord) -> int:
    return sum(event.kind == "collision_start" and event.subject.startswith("person") for event in record.events)


def test_people_who_accept_gaps_do_not_step_in_front_of_a_car() -> None:
    seeds = range(12)
    assert [contacts(coming(seed, 1.0)) for seed in seeds] == [0] * len(seeds)
    assert sum(contacts(coming(seed, None)) > 0 for seed in seeds) >= 3  # the others go


def stepping_times(record: EpisodeRecord) -> Any:
    """When each stops looking, s; NaN: never."""
    looking = np.isfinite(record.person_head_yaw)
    steps = [np.flatnonzero(column) for column in looking.T]
    return np.array([record.time[each[-1]] if len(each) else np.nan for each in steps])


@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_whoever_steps_out_has_the_time_that_was_asked_for(seed: int) -> None:
    """Recomputed from the record: somebody on the near side, at most 6 m from the middle of the lane, needs a second at
    least to be beyond it, at 1.8 m/s or less, and wants one more."""
    record = coming(seed, 1.0)
    front, speed = record.robot_pose[:, 0] + 3.206, record.robot_velocity[:, 0]
    stepped = stepping_times(record)
    assert (stepped < record.duration).any()
    for time in stepped[stepped < record.duration].tolist():
        k = round(time / 0.05) + 1
        arrives = (58.0 - front[k]) / speed[k]
        assert not 0.0 < arrives < 2.0


def test_people_without_gap_acceptance_step_out_as_if_no_car_came() -> None:
    """Moments of stepping out are the same with and without a car, as long as it is not there; with gap acceptance they
    are not."""
    alone = stepping_times(run_episode(crossing_road(seconds=8), Stop()))
    blind = stepping_times(run_episode(crossing_road(seconds=8), Steady(8.0)))
    careful = stepping_times(run_episode(crossing_road(seconds=8, placement={"accepts_gap_s": 1.0}), Steady(8.0)))
    early = alone < 6.0
    assert early.sum() >= 6
    assert blind[early] == pytest.approx(alone[early])
    assert (careful[early] > alone[early] + 1.0).any()


@pytest.mark.parametrize("gap_s", [None, 1.0])
@pytest.mark.parametrize("moves_elsewhere", [False, True])
def test_people_walk_round_a_standing_car(gap_s: float | None, moves_elsewhere: bool) -> None:
    """Even where another car passes near by."""
    placement = {} if gap_s is None else {"accepts_gap_s": gap_s}
    robots = [{"spec": "car", "start": [58.5, LANE_Y, 0], "goal": [110, LANE_Y]}]
    passing = [{"kind": "car", "path": [[110, 1.75], [5, 1.75]], "speed": 6.0}] if moves_elsewhere else []
    scenario = crossing_road(8, 40, placement=placement, robots=robots, traffic=passing)
    record = run_episode(scenario, Stop(), seed=2)
    start, end = record.person_position[0, :, 1], record.person_position[-1, :, 1]
    assert (np.sign(start + 1.75) != np.sign(end + 1.75)).mean() >= 0.75
    body = shapely.box(58.5 - 0.62, LANE_Y - 0.8365, 58.5 + 3.206, LANE_Y + 0.8365)
    gap = shapely.distance(body, shapely.points(record.person_position.reshape(-1, 2).astype(float)))
    assert gap.min() > 0.25 - 0.02


def test_people_who_cross_need_crossings() -> None:
    scenario = crossing_road().model_copy(update={"scene": SceneSpec.model_validate(straight_road())})
    with pytest.raises(BadInput, match=r"roads\.crossings"):
        run_episode(scenario, Stop())
    with pytest.raises(BadInput, match=r"count is \(least, most\)"):
        crossing_road(placement={"count": [5, 2]})
