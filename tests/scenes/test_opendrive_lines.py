"""Reference lines against closed forms: arcs, Euler spirals by their series and by Fresnel integrals, polynomials."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import fresnel

from sidestep.scenes.intersections.opendrive.reference_line import (
    Bend,
    CubicGraph,
    ParametricCubic,
    Piece,
    Profile,
    ReferenceLine,
)

from .roads_xml import file, lane, lanes_of, road, scene_of, section

curvatures = st.floats(-0.3, 0.3)
lengths = st.floats(0.1, 40.0)


def at(shape, length, *along):
    return shape.at(np.array(along), length)


def test_euler_spiral_by_its_series():
    """From straight to a radius of 50 m over 40 m: the angle at its end is θ = L / 2R = 0.4 rad, and
    x = L (1 - θ²/10 + θ⁴/216 - θ⁶/9360), y = L (θ/3 - θ³/42 + θ⁵/1320 - θ⁷/75600)."""
    end = at(Bend(0.0, 1 / 50), 40.0, 40.0)
    t = 0.4
    x = 40 * (1 - t**2 / 10 + t**4 / 216 - t**6 / 9360 + t**8 / 685440)
    y = 40 * (t / 3 - t**3 / 42 + t**5 / 1320 - t**7 / 75600)
    np.testing.assert_allclose(end.points, [[x, y]], atol=1e-7)
    np.testing.assert_allclose(end.points, [[39.3646, 5.2729]], atol=1e-3)
    np.testing.assert_allclose(end.tangents, [[cos(t), sin(t)]], atol=1e-12)


@given(rate=st.floats(1e-4, 0.02), length=lengths)
def test_spirals_by_fresnel_integrals(rate, length):
    """Curvature = rate · s, so that x = a C(s / a), y = a S(s / a) with a = √(π / rate)."""
    along = np.linspace(0.0, length, 7)
    found = Bend(0.0, rate * length).at(along, length)
    a = sqrt(pi / rate)
    s, c = fresnel(along / a)
    np.testing.assert_allclose(found.points, np.stack([a * c, a * s], axis=1), atol=1e-8)


@given(curvature=curvatures.filter(lambda c: abs(c) > 1e-6), length=lengths)
def test_arcs_lie_on_their_circle(curvature, length):
    along = np.linspace(0.0, length, 9)
    found = Bend(curvature, curvature).at(along, length)
    expected = [np.sin(curvature * along) / curvature, (1 - np.cos(curvature * along)) / curvature]
    np.testing.assert_allclose(found.points, np.transpose(expected), atol=1e-8)
    np.testing.assert_allclose(found.tangents[:, 1], np.sin(curvature * along), atol=1e-12)


@given(first=curvatures, last=curvatures, length=lengths)
def test_a_spiral_driven_backwards_is_the_same_line(first, last, length):
    there = Bend(first, last).at(np.array([0.0, length / 3, length]), length)
    back = Bend(-last, -first).at(np.array([0.0, length * 2 / 3, length]), length)
    (ex, ey), (tx, ty) = there.points[-1], there.tangents[-1]
    # put the second one at the end of the first, turned round
    x, y = back.points.T
    turned = np.stack([ex - tx * x + ty * y, ey - ty * x - tx * y], axis=1)
    np.testing.assert_allclose(turned[::-1], there.points, atol=1e-8)


@given(shape=st.builds(Bend, curvatures, curvatures), length=lengths)
def test_directions_are_slopes_of_the_line(shape, length):
    along = np.linspace(0.05 * length, 0.95 * length, 5)
    step = 1e-5 * length
    slope = (shape.at(along + step, length).points - shape.at(along - step, length).points) / (2 * step)
    np.testing.assert_allclose(slope, shape.at(along, length).tangents, atol=1e-4)


def test_parametric_cubics():
    shape = ParametricCubic((0.0, 30.0, 0.0, 0.0), (0.0, 0.0, 12.0, -8.0), 1.0)  # an S of 4 m over 30 m
    found = at(shape, 31.0, 0.0, 15.5, 31.0)
    np.testing.assert_allclose(found.points, [[0, 0], [15, 2], [30, 4]], atol=1e-12)
    np.testing.assert_allclose(found.tangents[1], np.array([30, 6]) / sqrt(936), atol=1e-12)
    by_length = ParametricCubic((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.01, 0.0), None)
    np.testing.assert_allclose(at(by_length, 20.0, 10.0).points, [[10, 1]], atol=1e-12)


def test_cubic_graphs_are_measured_along_the_curve():
    """v = u² / 40: from 0 to u the length is u √(1 + (u/20)²) / 2 + 10 asinh(u / 20)."""

    def length(u):
        return u * sqrt(1 + (u / 20) ** 2) / 2 + 10 * np.arcsinh(u / 20)

    found = CubicGraph((0.0, 0.0, 1 / 40, 0.0)).at(np.array([length(5.0), length(20.0)]), length(20.0))
    np.testing.assert_allclose(found.points, [[5, 0.625], [20, 10]], atol=2e-4)
    np.testing.assert_allclose(found.tangents[1], [sqrt(0.5), sqrt(0.5)], atol=1e-4)


def test_pieces_follow_on_each_other():
    """20 m north, then a quarter circle of radius 10 m to the left: it ends at (-10, 30), heading west."""
    line = ReferenceLine(
        [
            Piece(0.0, 0.0, 0.0, pi / 2, 20.0, Bend(0.0, 0.0)),
            Piece(20.0, 0.0, 20.0, pi / 2, 5 * pi, Bend(0.1, 0.1)),
        ],
        20.0 + 5 * pi,
        "here",
    )
    found = line.frame(np.array([0.0, 20.0, 20.0 + 5 * pi]))
    np.testing.assert_allclose(found.points, [[0, 0], [0, 20], [-10, 30]], atol=1e-9)
    np.testing.assert_allclose(found.tangents, [[0, 1], [0, 1], [-1, 0]], atol=1e-12)
    assert line.turn() == pytest.approx(pi / 2, abs=1e-9)
    assert (line.is_straight(19.9), line.is_straight(20.1)) == (True, False)


def test_a_turn_of_more_than_half_a_circle_keeps_its_side():
    line = ReferenceLine([Piece(0.0, 0.0, 0.0, 0.0, 12 * pi, Bend(0.1, 0.1))], 12 * pi, "here")
    assert line.turn() == pytest.approx(1.2 * pi, abs=1e-9)


def test_profiles_begin_where_they_say():
    profile = Profile([(5.0, (1.0, 2.0, 0.0, 0.0)), (10.0, (0.0, 0.0, 1.0, 0.0))], "here")
    np.testing.assert_array_equal(profile.at(np.array([0.0, 4.9, 5.0, 6.0, 10.0, 12.0])), [0, 0, 1, 3, 0, 4])
    assert (profile.is_linear(7.0), profile.is_linear(11.0)) == (True, False)


@pytest.mark.parametrize(
    ("shape", "end", "heading"),
    [
        ('<spiral curvStart="0" curvEnd="0.02"/>', (39.3646, 5.2729), 0.4),
        ('<paramPoly3 bU="40" cV="12" dV="-8" pRange="normalized"/>', (40.0, 4.0), 0.0),
        ('<paramPoly3 bU="1" cV="0.01" pRange="arcLength"/>', (40.0, 16.0), 0.674741),
        ('<poly3 a="0" b="0" c="0" d="0"/>', (40.0, 0.0), 0.0),
    ],
)
def test_lanes_beside_each_kind_of_line(tmp_path, shape, end, heading):
    geometry = f'<geometry s="0" x="0" y="0" hdg="0" length="40">{shape}</geometry>'
    lanes = lanes_of(scene_of(file(road(section(lane(1), lane(-1)), geometry, 40)), tmp_path))
    right, left = np.array(lanes["road 1 lane -1"].points), np.array(lanes["road 1 lane 1"].points)
    side = 1.5 * np.array([-sin(heading), cos(heading)])
    np.testing.assert_allclose([right[-1], left[0]], [end - side, end + side], atol=0.001)
    np.testing.assert_allclose([right[0], left[-1]], [[0, -1.5], [0, 1.5]], atol=0.001)
    assert len(right) == (2 if "poly3 a" in shape else 41)
