"""Comfort zones: path coordinates, extents, probabilities in closed form and by sampling, the least deceleration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import owens_t as scipy_owens_t
from scipy.stats import multivariate_normal
from shapely import Polygon, distance, intersects_xy
from shapely import points as shapely_points

from sidestep.errors import BadInput
from sidestep.prediction.comfort_zone import ComfortZone, DrivingPath, Motion, join_crossings, move, time_to_collision
from sidestep.prediction.data.corridor import project
from sidestep.prediction.violation import (
    gaussian_in_polygon,
    least_deceleration,
    mixture_in_polygon,
    owens_t,
    violation_probability,
)
from sidestep.types.base import FloatArray
from sidestep.types.forecast import MixtureForecast, SampleForecast

STRAIGHT = DrivingPath(np.array([[0.0, 0.0], [50.0, 0.0]]))
HORIZONS = np.array([1.0, 2.0, 3.0, 4.0])


def arc(radius: float, turn: float = 1.5, lead: float = 10.0) -> DrivingPath:
    """Straight on for ``lead`` metres, then a curve to the left."""
    angle = np.linspace(0.0, turn, 60)
    curve = np.stack([lead + radius * np.sin(angle), radius * (1.0 - np.cos(angle))], axis=1)
    return DrivingPath(np.concatenate([[[0.0, 0.0]], curve]))


def standing(x: float, y: float, sd: float = 0.01) -> MixtureForecast:
    """One person who is at (x, y) at all horizons."""
    means = np.broadcast_to(np.array([x, y]), (1, 1, 4, 2))
    return MixtureForecast(HORIZONS, means, np.broadcast_to(sd * sd * np.eye(2), (1, 1, 4, 2, 2)), [1.0])


def test_path_coordinates_of_a_corner() -> None:
    path = DrivingPath(np.array([[0.0, 0.0], [5.0, 0.0], [10.0, 0.0], [10.0, 10.0]]))
    points = np.array([[3.0, 1.0], [3.0, -2.0], [12.0, 4.0], [-7.0, 0.5], [9.0, 30.0]])
    along, aside = path.project(points)
    assert along == pytest.approx([3.0, 3.0, 14.0, -7.0, 40.0])
    assert aside == pytest.approx([1.0, -2.0, -2.0, 0.5, 1.0])
    assert path.point(along, aside) == pytest.approx(points)
    assert path.total == pytest.approx(20.0)
    assert path.heading(np.array([2.0, 15.0])) == pytest.approx([0.0, np.pi / 2])


def test_noise_of_a_recording_does_not_bend_a_path() -> None:
    x = np.linspace(0.0, 40.0, 400)
    noise = 0.01 * np.random.default_rng(1).standard_normal(400)
    path = DrivingPath(np.stack([x, noise], axis=1))
    assert len(path.points) < 8
    assert path.project(np.array([20.0, 1.0]))[0] == pytest.approx(20.0, abs=0.1)


def test_the_zone_and_its_outline_hold_the_same_points() -> None:
    """Up to 2 cm of the edge, where the corners of an outline are cut."""
    path, zone = arc(7.0, 2.5), ComfortZone()
    motion = Motion(np.array(5.0), np.array(6.0))
    points = np.random.default_rng(0).uniform([0.0, -8.0], [25.0, 18.0], (4000, 2))
    inside = zone.contains(*path.project(points), motion, 4.0)
    outline = Polygon(zone.outlines(path, motion, 4.0))
    sure = distance(outline.exterior, shapely_points(points)) > 0.02
    assert inside.sum() > 300
    assert np.array_equal(inside[sure], intersects_xy(outline, points[:, 0], points[:, 1])[sure])


def test_paths_agree_with_corridors_of_encounters() -> None:
    """Both projections, up to the simplification of paths."""
    rng = np.random.default_rng(1)
    angle = np.linspace(0.0, 2.0, 40)
    line = 9.0 * np.stack([np.sin(angle), 1.0 - np.cos(angle)], axis=1)
    points = line[rng.integers(10, 30, 200)] + rng.uniform(-2.0, 2.0, (200, 2))
    along, aside = DrivingPath(line).project(points)
    other_along, other_aside = project(line, points)
    assert np.abs(aside - other_aside).max() < 0.06
    assert np.abs(along - other_along).max() < 0.5


def test_a_path_without_length_is_refused() -> None:
    with pytest.raises(BadInput, match="length"):
        DrivingPath(np.ones((3, 2)))
    with pytest.raises(BadInput, match="finite"):
        DrivingPath(np.array([[0.0, 0.0], [np.nan, 1.0]]))


def test_the_zone_begins_at_the_bumper_and_its_edges_belong_to_it() -> None:
    zone = ComfortZone()
    motion = Motion(np.array(2.0), np.array(5.0))
    along, aside = np.array([1.99, 2.0, 17.0, 17.01, 10.0, 10.0]), np.array([0.0, 0.0, 0.0, 0.0, 1.5, -1.51])
    assert zone.contains(along, aside, motion, 4.0).tolist() == [False, True, True, False, True, False]
    assert not zone.contains(np.array(2.0), np.array(0.0), Motion(np.array(2.0), np.array(0.0)), 4.0)


def test_the_zone_behind_covers_the_body() -> None:
    begin, end = ComfortZone(behind_s=1.0).extent(Motion(np.array([10.0, 10.0]), np.array([5.0, 0.0])), 4.0)
    assert begin.tolist() == [10.0 - 4.0 - 5.0, 10.0]
    assert end.tolist() == [25.0, 10.0]


def test_braking_ends_when_the_vehicle_stands() -> None:
    bumper, speed = move(np.array(0.0), np.array(6.0), np.array([1.0, 3.0, 9.0]), 2.0)
    assert bumper.tolist() == [5.0, 9.0, 9.0]
    assert speed.tolist() == [4.0, 0.0, 0.0]


def test_time_to_collision() -> None:
    motion = Motion(np.array([0.0, 0.0, 0.0]), np.array([5.0, 0.0, 5.0]))
    found = time_to_collision(np.array([20.0, 20.0, -1.0]), motion)
    assert found[:2].tolist() == [4.0, np.inf]
    assert np.isnan(found[2])


def test_outline_of_a_straight_zone() -> None:
    corners = ComfortZone().outlines(STRAIGHT, Motion(np.array([1.0]), np.array([2.0])), 4.0)
    assert corners[0].tolist() == [[1.0, -1.5], [7.0, -1.5], [7.0, 1.5], [1.0, 1.5]]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-3, 3), st.floats(-3, 3), st.floats(0.1, 3), st.floats(0.1, 3), st.floats(-0.95, 0.95),
    st.floats(-3, 3), st.floats(-3, 3), st.floats(0.1, 5), st.floats(0.1, 5),
)  # fmt: skip
def test_rectangles_equal_the_bivariate_normal(
    mx: float, my: float, sx: float, sy: float, rho: float, x: float, y: float, width: float, height: float
) -> None:
    mean, covariance = np.array([mx, my]), np.array([[sx * sx, rho * sx * sy], [rho * sx * sy, sy * sy]])
    corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
    expected = multivariate_normal(mean, covariance).cdf(corners[2], lower_limit=corners[0])
    assert gaussian_in_polygon(mean, covariance, corners) == pytest.approx(expected, abs=2e-6)


def test_owens_function_is_scipys() -> None:
    h = np.array([0.0, 1e-9, 1e-3, 0.1, 0.7, 1.0, 2.5, 5.0, 8.0, 40.0])
    a = np.array([-1e12, -300.0, -1.0001, -1.0, -0.3, 0.0, 1e-6, 0.5, 1.0, 1.5, 7.0, 1e4, 1e12])
    h, a = (each.ravel() for each in np.meshgrid(np.concatenate([h, -h]), a))
    assert np.abs(owens_t(h, a) - scipy_owens_t(h, a)).max() < 1e-9


def test_both_functions_of_owen_give_the_same_probabilities() -> None:
    rng = np.random.default_rng(8)
    factor = rng.normal(size=(300, 2, 2))
    covariance = factor @ np.swapaxes(factor, -1, -2) + 0.01 * np.eye(2)
    corners = np.array([[0.0, -1.5], [12.0, -1.5], [12.0, 1.5], [0.0, 1.5]])
    mean = rng.uniform([-3.0, -4.0], [15.0, 4.0], (300, 2))
    own = gaussian_in_polygon(mean, covariance, corners)
    assert np.abs(own - gaussian_in_polygon(mean, covariance, corners, scipy_owens_t)).max() < 1e-8


def test_a_mean_on_an_edge_and_on_a_corner() -> None:
    half = np.array([[0.0, -50.0], [50.0, -50.0], [50.0, 50.0], [0.0, 50.0]])
    quarter = np.array([[0.0, 0.0], [50.0, 0.0], [50.0, 50.0], [0.0, 50.0]])
    means, covariances = np.zeros((1, 2)), np.eye(2)[None]
    assert gaussian_in_polygon(means, covariances, half)[0] == pytest.approx(0.5, abs=1e-9)
    assert gaussian_in_polygon(means, covariances, quarter)[0] == pytest.approx(0.25, abs=1e-9)
    assert gaussian_in_polygon(means + 100.0, covariances, quarter)[0] == 0.0


def test_parts_of_a_polygon_add_up() -> None:
    rng = np.random.default_rng(3)
    mean, covariance = rng.normal(size=2), np.array([[1.3, 0.4], [0.4, 0.6]])
    angle = np.sort(rng.uniform(0.0, 2 * np.pi, 9))
    ring = 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    whole = gaussian_in_polygon(mean, covariance, ring)
    parts = [gaussian_in_polygon(mean, covariance, ring[[0, k, k + 1]]) for k in range(1, 8)]
    assert sum(parts) == pytest.approx(whole, abs=1e-9)


def mixture(rng: np.random.Generator, people: int, modes: int, near: FloatArray) -> MixtureForecast:
    """Random mixtures about points of a path."""
    means = near[rng.integers(0, len(near), (people, modes, 4))] + rng.normal(0.0, 2.0, (people, modes, 4, 2))
    factor = rng.normal(0.0, 1.0, (people, modes, 4, 2, 2))
    covariances = factor @ np.swapaxes(factor, -1, -2) + 0.05 * np.eye(2)
    return MixtureForecast(HORIZONS, means, covariances, rng.dirichlet(np.ones(modes), people))


@pytest.mark.parametrize("radius", [6.0, 12.0, 1000.0])
def test_closed_form_and_monte_carlo_agree_on_curves(radius: float) -> None:
    rng = np.random.default_rng(int(radius))
    path = arc(radius)
    forecast = mixture(rng, 8, 3, path.point(np.linspace(0.0, 30.0, 50)))
    motion = move(rng.uniform(0.0, 10.0, (8, 1)), rng.uniform(1.0, 8.0, (8, 1)), HORIZONS)
    zone = ComfortZone(behind_s=0.5)
    closed = violation_probability(forecast, path, motion, zone, 4.0)
    drawn = SampleForecast(HORIZONS, forecast.sample(60_000, rng))
    sampled = violation_probability(drawn, path, motion, zone, 4.0)
    assert closed.max() > 0.05
    assert np.abs(closed - sampled).max() < 0.01


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_probabilities_grow_with_the_zone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = arc(8.0)
    forecast = mixture(rng, 4, 2, path.point(np.linspace(0.0, 30.0, 50)))
    motion = move(rng.uniform(0.0, 10.0, (4, 1)), rng.uniform(0.0, 8.0, (4, 1)), HORIZONS)
    found = [violation_probability(forecast, path, motion, ComfortZone(gap), 4.0) for gap in (1.0, 2.0, 4.0)]
    assert (found[0] >= 0.0).all()
    assert (found[-1] <= 1.0).all()
    assert (np.diff(found, axis=0) >= -1e-7).all()


def test_weights_of_a_mixture() -> None:
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    means, covariances = np.array([[0.0, 0.0], [9.0, 0.0]]), np.broadcast_to(0.01 * np.eye(2), (2, 2, 2))
    assert mixture_in_polygon(means, covariances, np.array([0.3, 0.7]), corners) == pytest.approx(0.3)


def test_no_deceleration_without_people_and_without_need() -> None:
    nobody = MixtureForecast(HORIZONS, np.zeros((0, 1, 4, 2)), np.zeros((0, 1, 4, 2, 2)), np.zeros((0, 1)))
    thresholds = np.full(4, 0.5)
    assert least_deceleration(nobody, STRAIGHT, 0.0, 10.0, thresholds, ComfortZone()).deceleration == 0.0
    aside = least_deceleration(standing(30.0, 4.0), STRAIGHT, 0.0, 10.0, thresholds, ComfortZone())
    assert (aside.deceleration, aside.sufficient) == (0.0, True)


def test_least_deceleration_on_a_straight_road() -> None:
    """45 m ahead at 10 m/s: the zone ends at 10 t - a t² / 2 + 3 (10 - a t); at 4 s, 70 - 20 a < 45 asks for 1.25."""
    found = least_deceleration(standing(45.0, 0.0, 1e-4), STRAIGHT, 0.0, 10.0, np.full(4, 0.5), ComfortZone())
    assert found.sufficient
    assert found.deceleration == pytest.approx(1.25, abs=2e-3)
    assert found.deceleration >= 1.25 - 1e-6
    assert (found.probability < 0.5).all()


def test_the_strongest_deceleration_where_none_suffices() -> None:
    found = least_deceleration(standing(8.0, 0.0), STRAIGHT, 0.0, 10.0, np.full(4, 0.5), ComfortZone(), strongest=5.0)
    assert (found.deceleration, found.sufficient) == (5.0, False)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.4), st.floats(0.0, 0.4))
def test_bolder_drivers_brake_less(seed: int, threshold: float, more: float) -> None:
    rng = np.random.default_rng(seed)
    forecast = mixture(rng, 3, 2, STRAIGHT.point(np.linspace(10.0, 50.0, 50)))
    careful, bold = (
        least_deceleration(forecast, STRAIGHT, 0.0, 9.0, np.full(4, value), ComfortZone())
        for value in (threshold, threshold + more)
    )
    assert bold.deceleration <= careful.deceleration + 2e-3


def test_thresholds_must_fit_the_horizons() -> None:
    with pytest.raises(BadInput, match="thresholds"):
        least_deceleration(standing(8.0, 0.0), STRAIGHT, 0.0, 10.0, np.full(3, 0.5), ComfortZone())


def test_a_zebra_crossing_in_the_zone_belongs_to_it() -> None:
    zebra = np.array([[20.0, -4.0], [24.0, -4.0], [24.0, 4.0], [20.0, 4.0]])
    near, far = (Motion(np.array([[0.0] * 4]), np.array([[v] * 4])) for v in (8.0, 3.0))
    at_kerb = standing(22.0, 3.0)
    assert violation_probability(at_kerb, STRAIGHT, near, ComfortZone())[0] == pytest.approx(0.0)
    assert violation_probability(at_kerb, STRAIGHT, near, ComfortZone(), crossings=[zebra])[0] == pytest.approx(1.0)
    assert violation_probability(at_kerb, STRAIGHT, far, ComfortZone(), crossings=[zebra])[0] == pytest.approx(0.0)
    samples = SampleForecast(HORIZONS, at_kerb.paths)
    assert violation_probability(samples, STRAIGHT, near, ComfortZone(), crossings=[zebra])[0].tolist() == [1.0] * 4
    outline = ComfortZone().outlines(STRAIGHT, Motion(np.array(0.0), np.array(8.0)), 4.0)
    (ring,) = join_crossings(outline, [zebra])
    x, y = ring.T
    area = 0.5 * float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    assert area == pytest.approx(24 * 3 + 4 * 8 - 4 * 3)
