"""Who is seen: hand-computed cases for range, field of view and each of the three lines of sight."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidestep.kernels.rays import Discs
from sidestep.kernels.visibility import visible_people

ALL_ROUND = 2 * math.pi
Point = tuple[float, float]


def seen(
    people: list[Point],
    *,
    pose: tuple[float, float, float] = (0.0, 0.0, 0.0),
    max_range: float = 10.0,
    field_of_view: float = ALL_ROUND,
    occlusion: bool = True,
    walls: list[tuple[float, float, float, float]] | None = None,
    radii: list[float] | None = None,
    active: list[int] | None = None,
    own: int = -1,
) -> list[int]:
    x, y = np.array(people, np.float32).reshape(-1, 2).T.copy()
    r = np.full(len(people), 0.3, np.float32) if radii is None else np.array(radii, np.float32)
    flags = np.ones(len(people), np.int32) if active is None else np.array(active, np.int32)
    segments = np.array([] if walls is None else walls, np.float32).reshape(-1, 4)
    out = np.full(len(people), 7, np.uint8)
    visible_people(*pose, max_range, field_of_view, occlusion, segments, Discs(x, y, r, flags), own, out)
    return [int(v) for v in out]


def test_nobody_there() -> None:
    assert seen([]) == []


def test_range_is_to_the_centre_and_inclusive() -> None:
    assert seen([(10.0, 0.0), (10.01, 0.0), (0.0, -9.9)]) == [1, 0, 1]


@pytest.mark.parametrize("heading", [0.0, 2.0, -3.0, 7.5])
def test_field_of_view_turns_with_the_sensor(heading: float) -> None:
    ahead = [heading + a for a in (0.0, 0.74, -0.74, 0.76, -0.76, math.pi)]
    people = [(5 * math.cos(a), 5 * math.sin(a)) for a in ahead]
    assert seen(people, pose=(0.0, 0.0, heading), field_of_view=1.5, occlusion=False) == [1, 1, 1, 0, 0, 0]


def test_edge_of_the_field_of_view_is_in_it() -> None:
    people = [(0.0, 3.0), (0.0, -4.0), (-0.01, 3.0), (-3.0, 0.0)]
    assert seen(people, field_of_view=math.pi, occlusion=False) == [1, 1, 0, 0]
    assert seen(people, field_of_view=1.5 * math.pi, occlusion=False) == [1, 1, 1, 0]
    assert seen(people, field_of_view=ALL_ROUND, occlusion=False) == [1, 1, 1, 1]


def test_a_wall_hides_only_when_it_blocks_all_three_lines() -> None:
    """The silhouette of (4, 0), radius 0.3, crosses x = 2 at y = ±2 tan(asin(0.3 / 4)) = ±0.1504."""
    person = [(4.0, 0.0)]
    assert seen(person, walls=[(2, -0.16, 2, 0.16)]) == [0]
    assert seen(person, walls=[(2, -0.16, 2, 0.16)], occlusion=False) == [1]
    assert seen(person, walls=[(2, -0.14, 2, 0.16)]) == [1]  # past its lower end
    assert seen(person, walls=[(2, -0.16, 2, 0.14)]) == [1]  # past its upper end
    assert seen(person, walls=[(2, -0.16, 2, -0.05), (2, 0.05, 2, 0.16)]) == [1]  # straight through the gap
    assert seen(person, walls=[(2, -0.16, 2, -0.05), (2, 0.05, 2, 0.16), (3, -0.1, 3, 0.1)]) == [0]


def test_walls_behind_the_person_or_the_sensor_hide_nothing() -> None:
    assert seen([(4.0, 0.0)], walls=[(4.31, -5, 4.31, 5), (-0.1, -5, -0.1, 5)]) == [1]


def test_line_through_the_vertex_of_two_walls_is_blocked() -> None:
    corner = [(2.0, -1.0, 2.5, 0.0), (2.5, 0.0, 2.0, 1.0)]
    assert seen([(4.0, 0.0)], walls=corner) == [0]


def test_wall_in_line_with_the_line_of_sight() -> None:
    assert seen([(4.0, 0.0)], walls=[(1, 0, 2, 0)]) == [1]  # the silhouette is free on both sides
    assert seen([(4.0, 0.0)], walls=[(1, 0, 2, 0), (3, 0.05, 3, 0.3), (3, -0.05, 3, -0.3)]) == [0]
    assert seen([(4.0, 0.0)], walls=[(5, 0, 6, 0), (3, 0.05, 3, 0.3), (3, -0.05, 3, -0.3)]) == [1]


def test_people_hide_those_behind_them() -> None:
    """Half widths: asin(0.3 / 4) = 4.3° at (4, 0), 8.6° at (2, 0); hidden until the front one steps aside."""
    assert seen([(4.0, 0.0), (2.0, 0.0)]) == [0, 1]
    assert seen([(4.0, 0.0), (2.0, 0.14)]) == [0, 1]  # lower edge of the front body at -4.6°
    assert seen([(4.0, 0.0), (2.0, 0.16)]) == [1, 1]  # at -4.0°
    assert seen([(4.0, 0.0), (2.0, 0.0)], radii=[0.3, 0.1]) == [1, 1]  # too thin to hide anyone
    assert seen([(4.0, 0.0), (2.0, 0.0)], active=[1, 0]) == [1, 0]
    assert seen([(4.0, 0.0), (2.0, 0.0)], occlusion=False) == [1, 1]


def test_a_person_out_of_view_still_hides() -> None:
    assert seen([(4.0, 0.0), (1.0, 0.0)], max_range=5.0, field_of_view=0.5) == [0, 1]
    ahead = [(4.0, 0.0), (2.0, 0.0), (1.0, -0.28)]
    assert seen(ahead, radii=[0.3, 0.3, 0.3], field_of_view=0.4) == [0, 1, 0]


def test_farther_or_equally_far_people_never_hide() -> None:
    assert seen([(2.0, 0.0), (2.3, 0.0)]) == [1, 0]
    assert seen([(2.0, 0.1), (2.0, -0.1)]) == [1, 1]


def test_sensor_inside_a_body_sees_it_and_past_it() -> None:
    assert seen([(-0.1, 0.0), (4.0, 0.0)], field_of_view=1.0) == [1, 1]


def test_own_body_is_neither_seen_nor_in_the_way() -> None:
    assert seen([(0.5, 0.0), (4.0, 0.0)], own=0) == [0, 1]
    assert seen([(0.5, 0.0), (4.0, 0.0)]) == [1, 0]
