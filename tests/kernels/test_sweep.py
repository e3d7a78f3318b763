"""Swept collision: closed forms against dense sampling, and walls that nothing passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely.geometry import LineString, Point, Polygon

from sidestep.kernels import sweep
from sidestep.kernels.layout import WALL_REACH, Walls

Floats = NDArray[np.float64]
micrometres = st.floats(-3, 3).map(lambda v: round(v, 6))  # shapely fails on lengths that underflow when squared
BOX = np.array([[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, 0.5]])


def make_walls(loops: list[Any], cell: float = 2.0) -> Walls:
    """The walls tuple of closed loops; the cell lists by brute force, exactly the edges within WALL_REACH."""
    points = np.concatenate([np.asarray(loop, np.float32) for loop in loops])
    following, first = [], 0
    for loop in loops:
        following += [first + (k + 1) % len(loop) for k in range(len(loop))]
        first += len(loop)
    following_array = np.array(following, np.int32)
    edges = shapely.linestrings(np.stack([points, points[following_array]], axis=1).astype(np.float64))
    low = points.min(axis=0)
    shape = np.maximum(np.ceil((points.max(axis=0) - low) / cell), 1).astype(np.int32)
    starts, items = [0], []
    for j in range(shape[1]):
        for i in range(shape[0]):
            x, y = float(low[0]) + i * cell, float(low[1]) + j * cell
            near = np.flatnonzero(shapely.distance(shapely.box(x, y, x + cell, y + cell), edges) <= WALL_REACH)
            items += list(near)
            starts.append(len(items))
    unused = np.zeros((len(points), 2), np.float32)
    flat = np.zeros(len(points), np.int32)
    grid = np.array([low[0], low[1], cell, 0], np.float32)
    return Walls(
        points, unused, following_array, flat, flat.astype(np.uint8),
        np.array(starts, np.int32), np.array(items, np.int32), grid, shape,
    )  # fmt: skip


def wall_distance(walls: Walls, x: float, y: float) -> float:
    ends = np.stack([walls.points, walls.points[walls.next]], axis=1).astype(np.float64)
    return float(shapely.distance(shapely.linestrings(ends), Point(x, y)).min())


class TestTwoPolygons:
    """Both bodies move and turn; a dense sampling with shapely decides."""

    WEDGE = np.array([[1.5, 0.0], [-0.5, 0.8], [-0.5, -0.8]])

    def test_a_car_meets_the_side_of_another(self) -> None:
        """Fronts 1 m ahead of the centres, 3 m apart: at 4 m/s against one that stands across, 2.5 m take 0.625 s."""
        fraction = sweep.sweep_polygons(
            -3.5, 0.0, 0.0, 4.0, 0.0, 0.0, BOX, 0.5, 0.0, math.pi / 2, 0.0, 0.0, 0.0, BOX, 1.0
        )
        assert fraction == pytest.approx(2.5 / 4.0, abs=1e-4)

    def test_one_inside_the_other_is_in_contact(self) -> None:
        small = 0.2 * BOX
        for one, other in ((BOX, small), (small, BOX)):
            assert (
                sweep.sweep_polygons(0.1, 0.0, 0.3, 0.0, 0.0, 0.0, one, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, other, 1.0) == 0.0
            )

    @settings(max_examples=60, deadline=None)
    @given(st.tuples(*[micrometres] * 9))
    def test_against_dense_sampling(self, numbers: tuple[float, ...]) -> None:
        x, y, heading, vx, vy, omega, turned, other_omega, wx = numbers
        where = (1.2 * x, 1.2 * y)

        def at(t: float) -> float:
            one = _placed(BOX, where[0] + vx * t, where[1] + vy * t, heading + omega * t)
            return float(one.distance(_placed(self.WEDGE, wx * t, 0.0, turned + other_omega * t)))

        fraction = sweep.sweep_polygons(
            *where, heading, vx, vy, omega, BOX, 0.0, 0.0, turned, wx, 0.0, other_omega, self.WEDGE, 1.0
        )
        sampled = [at(t) for t in np.linspace(0.0, 1.0, 201)]
        if fraction > 1.0:
            assert min(sampled) > 0.0
        else:
            assert at(fraction) < 2e-4
            assert all(
                gap > 0.0 for t, gap in zip(np.linspace(0.0, 1.0, 201), sampled, strict=True) if t < fraction - 1e-9
            )


def _placed(corners: Floats, x: float, y: float, heading: float) -> Polygon:
    c, s = math.cos(heading), math.sin(heading)
    return Polygon(corners @ np.array([[c, s], [-s, c]]) + (x, y))


def sweep_disc(px: float, py: float, ux: float, uy: float, r: float, wall: Sequence[float]) -> float:
    """When a disc that moves by u first touches the wall."""
    return float(sweep._sweep_capsule(px, py, ux, uy, r, *wall, 0.0))


def sweep_polygon(
    x: float, y: float, heading: float, move: Sequence[float], corners: Floats, wall: Sequence[float]
) -> float:
    """When a polygon that moves by (x, y) and turns by the third number of ``move`` first touches the wall."""
    ux, uy, turn = map(float, move)
    return float(sweep._sweep_polygon(float(x), float(y), heading, ux, uy, turn, corners, *map(float, wall), 0.0))


class TestDiscs:
    def test_a_pass_that_both_ends_of_the_step_miss(self) -> None:
        """3 m/s for 0.5 s past a person 0.4 m aside: centres 0.85 m apart at both ends, 0.4 m in between."""
        fraction, gap = sweep.sweep_circles(-0.75, 0.0, 3.0, 0.0, 0.3, 0.0, 0.4, 0.0, 0.0, 0.3, 0.5)
        assert math.hypot(0.75, 0.4) > 0.6
        assert gap == pytest.approx(0.4 - 0.6)
        assert fraction == pytest.approx((0.75 - math.sqrt(0.6**2 - 0.4**2)) / 1.5)

    def test_head_on_apart_and_overlapping(self) -> None:
        assert sweep.sweep_circles(0, 0, 1, 0, 0.5, 3, 0, -1, 0, 0.5, 1.0) == pytest.approx((1.0, 0.0))
        assert sweep.sweep_circles(0, 0, -1, 0, 0.5, 3, 0, 1, 0, 0.5, 1.0) == pytest.approx((2.0, 2.0))
        assert sweep.sweep_circles(0, 0, -1, 0, 0.5, 0.8, 0, 1, 0, 0.5, 1.0) == pytest.approx((0.0, -0.2))
        assert sweep.sweep_circles(0, 0, 1, 1, 0.5, 3, 0, 1, 1, 0.5, 1.0) == pytest.approx((2.0, 2.0))

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.floats(-4, 4), min_size=8, max_size=8), st.floats(0, 1), st.floats(0.05, 1))
    def test_agrees_with_dense_sampling(self, state: list[float], r: float, s: float) -> None:
        px, py, vx, vy, qx, qy, wx, wy = state
        dt = 0.5
        fraction, gap = sweep.sweep_circles(px, py, vx, vy, r, qx, qy, wx, wy, s, dt)
        t = np.linspace(0, 1, 4001)
        gaps = np.hypot(qx - px + (wx - vx) * dt * t, qy - py + (wy - vy) * dt * t) - r - s
        assert gap <= gaps.min() + 1e-12
        assert gap >= gaps.min() - math.hypot(wx - vx, wy - vy) * dt / 4000 - 1e-12
        assert abs(gap) < 1e-12 or (fraction <= 1.0) == (gap < 0.0)
        if fraction <= 1.0:
            assert np.all(gaps[t < fraction] > -1e-9)
            at = math.hypot(qx - px + (wx - vx) * dt * fraction, qy - py + (wy - vy) * dt * fraction)
            assert fraction == 0.0 or at == pytest.approx(r + s, abs=1e-9)


class TestDiscAndSegment:
    def test_face_end_and_miss(self) -> None:
        wall = (0.0, -1.0, 0.0, 1.0)
        assert sweep_disc(-2.0, 0.5, 3.0, 0.0, 0.5, wall) == pytest.approx(0.5)
        assert sweep_disc(-2.0, 1.3, 3.0, 0.0, 0.5, wall) == pytest.approx((2 - 0.4) / 3)
        assert sweep_disc(-2.0, 1.6, 3.0, 0.0, 0.5, wall) == 2.0
        assert sweep_disc(-0.2, 0.0, -1.0, 0.0, 0.5, wall) == 0.0

    @settings(max_examples=200, deadline=None)
    @given(st.lists(micrometres, min_size=8, max_size=8), st.floats(0.01, 1))
    def test_agrees_with_shapely(self, state: list[float], r: float) -> None:
        px, py, ux, uy, *ends = state
        fraction = sweep_disc(px, py, ux, uy, r, ends)
        path, wall = LineString([(px, py), (px + ux, py + uy)]), LineString([ends[:2], ends[2:]])
        clearance = shapely.distance(path, wall) - r
        if abs(clearance) > 1e-9:
            assert (fraction <= 1.0) == (clearance < 0.0)
        t = np.linspace(0, min(fraction, 1.0), 300, endpoint=False)
        points = shapely.points(px + ux * t, py + uy * t)
        assert fraction == 0.0 or np.all(shapely.distance(points, wall) > r - 1e-9)
        if 0.0 < fraction <= 1.0:
            touch = Point(px + ux * fraction, py + uy * fraction)
            assert shapely.distance(touch, wall) == pytest.approx(r, abs=1e-7)


def placed(corners: Floats, x: float, y: float, heading: float) -> Polygon:
    c, s = math.cos(heading), math.sin(heading)
    return Polygon(corners @ np.array([[c, s], [-s, c]]) + (x, y))


class TestPolygon:
    def test_head_on(self) -> None:
        fraction = sweep.sweep_polygon_circle(0.0, 0.0, 0.0, 2.0, 0.0, 0.0, BOX, 3.0, 0.2, -2.0, 0.0, 0.4, 1.0)
        assert fraction == pytest.approx((3.0 - 1.0 - 0.4) / 4.0, abs=1e-4)

    def test_fast_body_does_not_pass_through_a_thin_wall(self) -> None:
        fraction = sweep_polygon(0, 0, 0.0, (50, 0, 0), BOX, (30.0, -0.1, 30.0, 0.1))
        assert fraction == pytest.approx(29.0 / 50.0, abs=1e-4)

    def test_advancement_that_lands_on_the_touch_itself(self) -> None:
        """With an exact bound the first piece ends in contact, where rounding leaves no direction."""
        corners = np.array([[1.2 * math.cos(a), 0.7 * math.sin(a)] for a in (0.0, 0.625, 2.25)])
        wall = (0.5, 0.347656, 1.0, 0.347656 - 0.7)
        fraction = sweep_polygon(0, -0.5, -0.777344, (1, 0, 0), corners, wall)
        assert fraction == pytest.approx(0.48683, abs=2e-4)

    def test_turning_on_the_spot_sweeps_the_corner(self) -> None:
        """The end of a bar turns onto a disc that neither the first nor the last pose touches."""
        fraction = sweep.sweep_polygon_circle(0, 0, 0.0, 0, 0, math.pi, BOX, 0.0, 0.9, 0.0, 0.0, 0.1, 1.0)
        assert 0.1 < fraction < 0.5
        assert placed(BOX, 0, 0, math.pi * fraction).distance(Point(0, 0.9)) == pytest.approx(0.1, abs=2e-4)
        assert sweep.sweep_polygon_circle(0, 0, 0.0, 0, 0, 3.0, BOX, 0.0, 1.3, 0, 0, 0.1, 1.0) == 2.0

    def test_inside_is_contact(self) -> None:
        for corners in (BOX, BOX[::-1].copy()):
            assert sweep.sweep_polygon_circle(0, 0, 1.0, 0, 0, 0, corners, 0.1, 0, 0, 0, 0.05, 1.0) == 0.0
            assert sweep_polygon(0, 0, 0.0, (9, 0, 0), corners, (-0.1, 0, 0.1, 0.1)) == 0.0
            assert sweep_polygon(0, 0, 0.0, (9, 0, 0), corners, (-5, 0, 5, 0.1)) == 0.0

    def test_beside_a_wall_one_may_drive_along_and_away(self) -> None:
        wall = (-50.0, 0.50005, 50.0, 0.50005)  # nearer than the tolerance
        assert sweep_polygon(0, 0, 0.0, (3.0, 0.0, 0.0), BOX, wall) == 2.0
        assert sweep_polygon(0, 0, 0.0, (3.0, -1.0, 0.0), BOX, wall) == 2.0
        assert sweep_polygon(0, 0, 0.0, (3.0, 0.1, 0.0), BOX, wall) < 1e-3
        assert sweep_polygon(0, 0, 0.0, (0.0, 0.0, 0.5), BOX, wall) < 1e-3

    @settings(max_examples=80, deadline=None)
    @given(
        st.lists(micrometres, min_size=7, max_size=7),
        st.floats(-6, 6),
        st.lists(st.floats(0, 6.28), min_size=3, max_size=8, unique=True),
        st.floats(0, 0.8),
    )
    def test_agrees_with_dense_sampling(self, state: list[float], turn: float, angles: list[float], s: float) -> None:
        corners = np.array([[1.2 * math.cos(a), 0.7 * math.sin(a)] for a in sorted(angles)])
        assume(Polygon(corners).area > 0.05)
        x, y, heading, ux, uy, qx, qy = state
        circle = sweep.sweep_polygon_circle(x, y, heading, ux, uy, turn, corners, qx, qy, 0.4, -0.3, s, 1.0)
        wall = LineString([(qx, qy), (qx + 0.5, qy - 0.7)])
        segment = sweep_polygon(x, y, heading, (ux, uy, turn), corners, (qx, qy, qx + 0.5, qy - 0.7))
        for fraction, moving in ((circle, True), (segment, False)):
            t = np.append(np.linspace(0, min(fraction, 1.0), 150, endpoint=False), min(fraction, 1.0))
            bodies = [placed(corners, x + ux * k, y + uy * k, heading + turn * k) for k in t]
            if moving:
                gaps = shapely.distance(bodies, shapely.points(qx + 0.4 * t, qy - 0.3 * t)) - s
            else:
                gaps = shapely.distance(bodies, wall)
                shrunk = shapely.distance(shapely.buffer(bodies, -2e-4), wall)
                assert fraction == 0.0 or np.all(shrunk[:-1] > 0.0)
            assert fraction == 0.0 or np.all(gaps[:-1] > -2e-4)
            assert fraction > 1.0 or gaps[-1] <= 1.01e-4

    def test_walls_through_cell_lists(self) -> None:
        walls = make_walls([[(10, -5), (10.1, -5), (10.1, 5), (10, 5)], [(-3, -3), (-2.5, -3), (-2.5, -2.5)]])
        assert sweep.sweep_polygon_walls(-9.0, 0.0, 0.0, 40.0, 0.0, 0.0, BOX, walls) == pytest.approx(18 / 40, abs=1e-4)
        assert sweep.sweep_polygon_walls(-9.0, 0.0, 0.0, 17.9, 0.0, 0.0, BOX, walls) == 2.0
        long_body = 4.0 * BOX  # beyond the reach of the lists
        assert sweep.sweep_polygon_walls(-9.0, 6.0, 0.0, 40.0, 0.0, 0.0, long_body, walls) == pytest.approx(
            15 / 40, abs=1e-4
        )


def ring(centre: tuple[float, float], radii: list[float]) -> Floats:
    angles = np.arange(len(radii)) * math.tau / len(radii)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.array(radii)[:, None] + centre


class TestMoveWithWalls:
    FLOOR = make_walls([[(-20, -1), (20, -1), (20, 0), (-20, 0)]])

    def test_free_motion_and_no_walls(self) -> None:
        assert sweep.move_with_walls(0.0, 3.0, 1.0, -1.0, 0.3, self.FLOOR) == (1.0, 2.0, False, 2.0)
        far = make_walls([[(50, 50), (51, 50), (51, 51)]])
        assert sweep.move_with_walls(0.0, 3.0, 1.0, -9.0, 0.3, far) == pytest.approx((1.0, -6.0, False, 2.0))

    def test_clear_of_walls(self) -> None:
        assert sweep.clear_of_walls(0.0, 1.0, 0.1, -0.1, 0.3, self.FLOOR)
        assert not sweep.clear_of_walls(0.0, 0.45, 0.1, -0.1, 0.3, self.FLOOR)
        assert not sweep.clear_of_walls(0.0, 3.0, 0.0, -9.0, 0.3, self.FLOOR)

    def test_stops_and_slides(self) -> None:
        x, y, touched, fraction = sweep.move_with_walls(0.0, 0.8, 1.0, -1.0, 0.3, self.FLOOR)
        assert touched
        assert fraction == pytest.approx(0.5 - sweep.SKIN, abs=1e-9)
        assert (x, y) == pytest.approx((1.0, 0.3 + sweep.SKIN), abs=1e-12)
        again = sweep.move_with_walls(x, y, 2.0, 0.0, 0.3, self.FLOOR)
        assert again[:2] == pytest.approx((3.0, y), abs=1e-12)
        assert not again[2]

    def test_long_motion_finds_a_wall_far_beyond_its_first_cell(self) -> None:
        walls = make_walls([[(30, -40), (30.02, -40), (30.02, 40), (30, 40)]])
        x, _, touched, fraction = sweep.move_with_walls(-100.0, 0.0, 200.0, 0.0, 0.3, walls)
        assert touched
        assert x == pytest.approx(29.7 - sweep.SKIN, abs=1e-9)
        assert fraction == pytest.approx((129.7 - sweep.SKIN) / 200, abs=1e-9)

    def test_corner_holds(self) -> None:
        corner = make_walls([[(-5, -1), (5, -1), (5, 5), (4, 5), (4, 0), (-5, 0)]])
        x, y = 3.0, 1.0
        for _ in range(20):
            x, y, touched, _ = sweep.move_with_walls(x, y, 0.5, -0.4, 0.3, corner)
        assert touched
        assert (x, y) == pytest.approx((3.7, 0.3), abs=2e-4)

    @pytest.mark.parametrize("gap", [0.5, 0.59])
    def test_gap_narrower_than_the_body(self, gap: float) -> None:
        sides = [[(0, -9), (0.1, -9), (0.1, 0), (0, 0)], [(0, gap), (0.1, gap), (0.1, 9), (0, 9)]]
        walls = make_walls(sides)
        for dy in np.linspace(-0.4, 0.4, 9):
            x, y = -2.0, gap / 2 + 0.3 * dy
            for _ in range(5):
                x, y, _, _ = sweep.move_with_walls(x, y, 5.0, dy, 0.3, walls)
            assert x < 0.0

    def test_overlapping_start_may_leave_but_not_sink(self) -> None:
        deep = (0.0, 0.25, 0.3, self.FLOOR)
        x, y, touched, _ = sweep.move_with_walls(0.0, 0.25, 0.2, 0.4, 0.3, self.FLOOR)
        assert (x, y, touched) == (0.2, 0.65, False)
        x, y, touched, fraction = sweep.move_with_walls(*deep[:2], 0.2, -0.4, *deep[2:])
        assert touched
        assert fraction == 0.0
        assert 0.25 <= y <= 0.25 + 2 * sweep.SKIN
        assert x == pytest.approx(0.2)

    def test_centre_on_an_edge_leaves_to_the_open_side_only(self) -> None:
        """The wall's solid is below its upper edge (counter-clockwise loop): right of the edge is up."""
        up = sweep.move_with_walls(0.0, 0.0, 0.0, 0.5, 0.3, self.FLOOR)
        assert up[1] == pytest.approx(0.5)
        down = sweep.move_with_walls(0.0, 0.0, 0.0, -0.5, 0.3, self.FLOOR)
        assert down[1] >= 0.0

    def test_float32_positions_far_from_the_origin_keep_their_distance(self) -> None:
        """Pushing obliquely into a slanted wall for 2000 steps, rounded to float32 at 700 m after each."""
        base = np.array([700.0, -300.0])
        walls = make_walls([np.array([(0, 0), (60, 23), (59, 26), (-1, 3)]) * (1, -1) + base])
        x, y = np.float32(705.0), np.float32(-303.0)
        least = math.inf
        for _ in range(2000):
            moved = sweep.move_with_walls(x, y, np.float32(0.013), np.float32(0.02), np.float32(0.3), walls)
            x, y = np.float32(moved[0]), np.float32(moved[1])
            least = min(least, wall_distance(walls, float(x), float(y)))
        assert x > 712.0
        assert least > 0.3 - 1e-4

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(st.floats(1.0, 6.0), min_size=3, max_size=9),
        st.floats(0.01, 0.3),
        st.lists(
            st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.lists(st.floats(0.05, 1.5), min_size=3, max_size=6)),
            max_size=3,
        ),
        st.floats(0.05, 0.6),
        st.tuples(st.floats(-5, 5), st.floats(-5, 5)),
        st.lists(st.tuples(st.floats(0, 6.3), st.floats(0, 5)), min_size=1, max_size=12),
    )
    def test_nobody_leaves_a_closed_room(
        self,
        radii: list[float],
        thickness: float,
        pillars: list[tuple[float, float, list[float]]],
        r: float,
        start: tuple[float, float],
        moves: list[tuple[float, float]],
    ) -> None:
        """A room with thin walls, any corners, and pillars, some overlapping, with gaps of any width."""
        inner, outer = ring((0, 0), radii), ring((0, 0), [k + thickness for k in radii])
        blocks = [ring((x, y), shape) for x, y, shape in pillars]
        walls = make_walls([outer, inner[::-1], *blocks])
        room = Polygon(inner.astype(np.float32).astype(np.float64))
        solids = [Polygon(block.astype(np.float32).astype(np.float64)) for block in blocks]
        x, y = start
        assume(room.contains(Point(x, y)) and wall_distance(walls, x, y) >= r)
        assume(not any(solid.contains(Point(x, y)) for solid in solids))
        for angle, length in moves:
            was = Point(x, y)
            dx, dy = length * math.cos(angle), length * math.sin(angle)
            clear = sweep.clear_of_walls(x, y, dx, dy, r, walls)
            x, y, touched, fraction = sweep.move_with_walls(x, y, dx, dy, r, walls)
            assert not (clear and touched)
            assert wall_distance(walls, x, y) >= r - 1e-6
            assert room.contains(Point(x, y))
            assert not any(solid.contains(Point(x, y)) for solid in solids)
            assert was.distance(Point(x, y)) <= length + 20 * sweep.SKIN
            if not touched:
                path = LineString([was, Point(x, y)])
                assert fraction == sweep.NO_CONTACT
                assert room.contains(path)
                assert not any(solid.intersects(path) for solid in solids)
