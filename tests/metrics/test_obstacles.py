"""Clearance to walls, for circles and polygons."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sidestep.metrics.footprint_distance import distance_to_points, distance_to_segments

from .records import BOX, CIRCLE, Walker, make_record, straight_run

coordinate = st.floats(-3, 3)


def test_along_a_wall(value) -> None:
    record = straight_run(walls=[(0, 1, 4, 1), (0, -20, 8, -20)])
    gaps = [0.75 if x <= 4 else np.hypot(x - 4, 1) - 0.25 for x in np.arange(65) * 0.125]
    assert value(record, "obstacle_clearance_min") == pytest.approx(0.75)
    assert value(record, "obstacle_clearance_avg") == pytest.approx(np.mean(gaps))


def test_no_walls(result) -> None:
    assert result(straight_run(), "obstacle_clearance_min").reason == "there are no walls"


@pytest.mark.parametrize(
    ("wall", "clearance"),
    [
        ((-5, 1, 5, 1), 0.75),  # beside
        ((2, -5, 2, 5), 1.5),  # ahead
        ((3.5, 4.25, 9, 9), 5.0),  # its end lies 3 and 4 m from a corner
        ((-5, 0.125, 5, 0.125), -0.125),  # cuts the body lengthwise
        ((0.25, 0, 0.25, 5), -0.25),  # pokes into it, 0.25 m before the front and beside the side
        ((0, 0, 0, 0), -0.25),  # a point in the middle
    ],
)
def test_a_polygon_body(wall: tuple[float, ...], clearance: float, value) -> None:
    record = make_record([(0, 0)], walls=[wall], footprint=BOX, goal=(9, 0))
    assert value(record, "obstacle_clearance_min") == pytest.approx(clearance)


@given(x=coordinate, y=coordinate, heading=st.floats(-4, 4), wall=st.tuples(*[coordinate] * 4))
def test_polygon_distances_match_shapely(x: float, y: float, heading: float, wall: tuple[float, ...]) -> None:
    pose = np.array([[x, y, heading]])
    body = shapely.affinity.translate(
        shapely.affinity.rotate(shapely.Polygon(BOX.polygon), heading, origin=(0, 0), use_radians=True), x, y
    )
    found = distance_to_segments(BOX, pose, np.array([wall]))[0]
    edge = shapely.LineString([wall[:2], wall[2:]])
    assert max(found, 0) == pytest.approx(body.distance(edge), abs=1e-9)
    point = shapely.Point(wall[:2])
    signed = body.distance(point) - (body.exterior.distance(point) if body.contains(point) else 0)
    assert distance_to_points(BOX, pose, np.array([[wall[:2]]]))[0, 0] == pytest.approx(signed, abs=1e-9)


def test_moving_out_by_the_depth_ends_the_overlap() -> None:
    rng = np.random.default_rng(5)
    directions = [np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 721)]
    for _ in range(50):
        wall = rng.uniform(-0.6, 0.6, 4)
        depth = -distance_to_segments(BOX, np.zeros((1, 3)), wall[None])[0]
        if depth <= 0:
            continue
        shifted = np.array([[*(d * (depth + 1e-3)), 0.0] for d in directions])
        assert (distance_to_segments(BOX, shifted, wall[None]) > 0).any()
        short = np.array([[*(d * (depth - 1e-3)), 0.0] for d in directions])
        assert (distance_to_segments(BOX, short, wall[None]) <= 0).all()


def test_many_walls_are_handled_in_pieces() -> None:
    rng = np.random.default_rng(0)
    walls = rng.uniform(-50, 50, (3000, 4))
    pose = np.column_stack([rng.uniform(-50, 50, (1000, 2)), rng.uniform(-3, 3, 1000)])
    for footprint in (CIRCLE, BOX):
        whole = distance_to_segments(footprint, pose, walls)
        alone = [distance_to_segments(footprint, p[None], walls)[0] for p in pose[::50]]
        assert whole[::50] == pytest.approx(alone)
        singly = [distance_to_segments(footprint, pose[:1], wall[None])[0] for wall in walls]
        assert whole[0] == pytest.approx(min(singly))


def test_walls_push_people(value, result) -> None:
    """A person of radius 0.25 m whose centre is 0.45 m from a wall for all states, one 0.25 m from it in half of them,
    one far away: 10 exp(-1), 10, 0 m/s²."""
    wall = [(-50, 2, 50, 2)]
    people = [Walker((4, 1.55)), Walker((9, 1.75), present=np.arange(65) < 32), Walker((0, -9))]
    record = straight_run(people=people, walls=wall)
    near, touching = 10 * np.exp(-1), 10.0
    assert value(record, "obstacle_force_on_people_max") == pytest.approx(touching, rel=1e-5)
    expected = (65 * near + 32 * touching + 0) / (65 + 32 + 65)
    assert value(record, "obstacle_force_on_people_avg") == pytest.approx(expected, rel=1e-5)
    assert not result(straight_run(people=people), "obstacle_force_on_people_avg").valid
    assert not result(straight_run(walls=wall), "obstacle_force_on_people_max").valid
