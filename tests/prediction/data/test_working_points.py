"""Thresholds of drivers: calibrated with the driver's zone, and with intervals that say how little they rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.driving.anticipatory import AnticipatoryDriver
from sidestep.prediction.comfort_zone import DrivingPath
from sidestep.prediction.data.samples import make_samples
from sidestep.prediction.forecasts import forecast_samples
from sidestep.prediction.predictors.constant_velocity import ConstantVelocity
from sidestep.prediction.scores import score_forecast
from sidestep.prediction.working_points import driver_scores, on_crossing, working_points
from sidestep.scenes.compile import compile_scene
from sidestep.types import Task
from sidestep.types.forecast import SampleForecast
from sidestep.types.interactions import GROUND, GroundMap, Interactions
from sidestep.types.road import Crossing, Roads
from sidestep.types.scene import Region, SceneSpec
from tests.policies.test_driving import CAR
from tests.prediction.data.scenes import straight_road, walk
from tests.prediction.data.test_bootstrap import example, made


def with_ground(data: Interactions, kind: str = "zebra") -> Interactions:
    """Road between y = -6 and 6, and a strip of ``kind`` from x = 30 to 34 across it."""
    cells = np.full((120, 800), GROUND.index("road"), np.uint8)
    cells[:, 400:440] = GROUND.index(kind)
    ground = GroundMap(cells, (-10.0, -6.0), 0.1)
    return replace(data, grounds=(ground,), clips=tuple(replace(each, ground=0) for each in data.clips))


def truth_of(data: Interactions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities by a forecast that knows the truth, with and without zebras, and what was, at the first moment."""
    samples = make_samples(data, every=1000)
    paths = np.nan_to_num(samples.future, nan=500.0)[:, None]
    forecast = SampleForecast(samples.horizons_s, paths)
    scores = score_forecast(samples, forecast)
    with_zebras, without = (driver_scores(samples, forecast, scores, zebras) for zebras in (True, False))
    np.testing.assert_array_equal(with_zebras.p_zone[0] > 0.5, with_zebras.in_zone[0])
    np.testing.assert_array_equal(without.in_zone, scores.in_zone)
    return with_zebras.p_zone[0], without.p_zone[0], with_zebras.in_zone[0]


def test_people_who_come_on_a_crossing_are_in_the_drivers_zone() -> None:
    """After 1 s of history the bumper is at 8 m (8 m/s) and the pedestrian on the zebra at y = 4.4. The zones of the
    next four seconds begin at 16, 24, 32 and 40 m and are 24 m long: the pedestrian at x = 33, y = 3.8, 3.2, 2.6, 2.0
    is in the first three, if crossings count."""
    across = straight_road([walk((33.0, 5.0), (0.0, -0.6), 6.0)], 8.0)
    assert truth_of(with_ground(across))[0].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert truth_of(with_ground(across))[1].tolist() == [0.0] * 4  # 2 m and more aside
    assert truth_of(with_ground(across, "sidewalk"))[0].tolist() == [0.0] * 4
    assert truth_of(across)[0].tolist() == [0.0] * 4  # no map


def test_people_who_do_not_come_nearer_are_not() -> None:
    """They leave, or come nearer by less than 0.5 m: 0.2 m/s are 0.4 m in 2 s and 0.6 m in 3 s."""
    leaves = straight_road([walk((32.0, -3.0), (0.0, -0.4), 6.0)], 8.0)
    assert truth_of(with_ground(leaves))[0].tolist() == [0.0] * 4
    slow = straight_road([walk((33.0, -5.0), (0.0, 0.2), 6.0)], 8.0)
    assert truth_of(with_ground(slow))[0].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_an_island_belongs_to_a_crossing_with_zebra_beside_it() -> None:
    cells = np.full((120, 800), GROUND.index("road"), np.uint8)
    cells[:, 400:440] = GROUND.index("zebra")
    cells[50:70, 380:460] = GROUND.index("island")  # 2 m deep, 8 m long: 2 m longer than the zebra on either side
    path = DrivingPath(np.array([[-10.0, -3.0], [70.0, -3.0]]))
    points = np.array([[32.0, 0.0], [29.0, 0.0], [32.0, 3.0], [40.0, 0.0]])
    found = on_crossing(GroundMap(cells, (-10.0, -6.0), 0.1), path, points, *path.project(points))
    assert found.tolist() == [True, False, True, False]


def test_the_crossing_is_that_of_the_driver() -> None:
    """The driver's route is y = 0 and the zebra, 4 m wide, from y = -1.5 to 5.5: its crossing reaches 5.5 m to either
    side. People come from afar; places nearer to an edge than the cells of the map are left out."""
    crossing = Crossing(name="zebra", ends=((32.0, -1.5), (32.0, 5.5)), width=4.0)
    box = Region(kind="road", polygon=((-20, -20), (90, -20), (90, 20), (-20, 20)))
    scene = compile_scene(SceneSpec(regions=(box,), roads=Roads(crossings=(crossing,))))
    driver = AnticipatoryDriver()
    route = np.stack([np.arange(0.0, 80.0, 2.0), np.zeros(40)], axis=1)
    driver.reset(
        Task(robot=CAR, start=(0, 0, 0), step_s=0.05, time_limit_s=9.0, goal_radius_m=0.3, route=route, map=scene)
    )
    x, y = np.meshgrid(np.arange(28.05, 36.0, 0.3), np.arange(-7.95, 8.0, 0.3))
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    expected = driver._placed_samples(np.full((len(points), 2), 50.0), points[:, None, None].repeat(4, 2))[:, 0, 2] > 0
    cells = np.full((400, 1100), GROUND.index("sidewalk"), np.uint8)
    cells[185:255, 500:540] = GROUND.index("zebra")
    path = DrivingPath(np.array([[-20.0, 0.0], [90.0, 0.0]]))
    found = on_crossing(GroundMap(cells, (-20.0, -20.0), 0.1), path, points, *path.project(points))
    assert expected.sum() == pytest.approx(4.0 * 11.0 / 0.3**2, rel=0.05)
    np.testing.assert_array_equal(found, expected)


def test_calibration_with_crossings_limits_alarms_on_them() -> None:
    """Thresholds without crossings would let far more alarms through where people approach on them."""
    rng = np.random.default_rng(0)
    tracks = [walk((32.0, 6.0), (0.0, float(-speed)), 6.0) for speed in rng.uniform(0.0, 1.2, 120)]
    data = with_ground(straight_road(tracks, 8.0, bumper=-10.0, clips=12))
    samples = make_samples(data, every=5)
    forecast = forecast_samples(ConstantVelocity(), samples)
    plain = score_forecast(samples, forecast)
    scores = driver_scores(samples, forecast, plain)
    allowed = 0.1 * 0.05  # a tenth of the false positives of IRS at 2 s
    rows = scores.relevant & scores.known[:, 1] & ~scores.in_zone[:, 1]
    assert (scores.p_zone[rows, 1] > working_points(scores, 0.1)[1].threshold).mean() <= allowed
    assert (scores.p_zone[rows, 1] > working_points(plain, 0.1)[1].threshold).mean() > 4 * allowed


def test_a_working_point_says_what_it_rests_on() -> None:
    """400 moments of which every second is negative, with probabilities k / 400: a tenth of the 2.5 % of IRS at 1 s are
    0.5 of 200 false alarms, so that not one is allowed; all of the 2.5 % are 5."""
    p = np.repeat(((np.arange(400) + 1) / 401.0)[:, None], 4, axis=1)
    truth = np.repeat((np.arange(400) % 2 == 0)[:, None], 4, axis=1)
    scores = made("a", np.ones((400, 4)), p, truth)
    tenth, whole = (working_points(scores, alarms)[0] for alarms in (0.1, 1.0))
    assert (tenth.false_alarms, whole.false_alarms, whole.negatives) == (0, 5, 200)
    assert tenth.threshold == pytest.approx(400 / 401)
    assert whole.threshold == pytest.approx(390 / 401)
    assert tenth.low <= tenth.threshold <= tenth.high
    assert 380 / 401 < whole.low < whole.threshold < whole.high <= 400 / 401
    for each in working_points(example(tracks=200), 0.5):
        assert each.low <= each.threshold <= each.high


def test_more_data_make_thresholds_surer() -> None:
    few, many = (working_points(example(tracks=tracks), 1.0)[3] for tracks in (60, 2000))
    assert many.high - many.low < 0.5 * (few.high - few.low)
    assert many.false_alarms > 10 * few.false_alarms


def test_no_positives_no_threshold() -> None:
    scores = example(tracks=30)
    with pytest.raises(BadInput, match="no threshold for 1 s"):
        working_points(replace(scores, in_zone=np.zeros_like(scores.in_zone)))
