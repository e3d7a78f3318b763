"""The lidar against brute force, and at the places where windows of rays begin and end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sidestep.kernels import layout, rays
from tests.reference.rays_reference import disc_ranges, segment_ranges

SLACK = 1e-7
Array = NDArray[np.float32]


@dataclass
class Fan:
    """Which rays a sensor has."""

    angle_min: float = -math.pi
    increment: float = math.tau / 90
    rays: int = 90


@dataclass
class Scene:
    segments: Array = field(default_factory=lambda: np.empty((0, 4), np.float32))
    discs: Array = field(default_factory=lambda: np.empty((0, 3), np.float32))


def cast(
    scene: Scene, pose: tuple[float, float, float], fan: Fan, max_range: float = 20.0, own: int = -1
) -> tuple[Array, NDArray[np.int32]]:
    directions = rays.make_ray_table(fan.angle_min, fan.increment, fan.rays)
    x, y, r = np.ascontiguousarray(scene.discs.T.astype(np.float32))
    ranges, ids = np.empty(fan.rays, np.float32), np.empty(fan.rays, np.int32)
    scratch = rays.make_scratch(len(scene.segments), len(scene.discs))
    active = np.ones(len(x), np.int32)
    beams = rays.Beams(fan.angle_min, fan.increment, directions, max_range)
    rays.cast_lidar(*pose, beams, scene.segments, rays.Discs(x, y, r, active), own, scratch, ranges, ids)
    return ranges, ids


def world_directions(fan: Fan, heading: float) -> NDArray[np.float64]:
    d = rays.make_ray_table(fan.angle_min, fan.increment, fan.rays).T.astype(np.float64)
    c, s = math.cos(heading), math.sin(heading)
    turned = np.stack([c * d[:, 0] - s * d[:, 1], s * d[:, 0] + c * d[:, 1]], axis=1)
    unit: NDArray[np.float64] = turned / np.linalg.norm(turned, axis=1)[:, None]
    return unit


def reference(scene: Scene, pose: tuple[float, float, float], fan: Fan, slack: float) -> NDArray[np.float64]:
    """Ranges ``(n, C + S)``: discs, then segments."""
    origin, directions = np.array(pose[:2]), world_directions(fan, pose[2])
    discs, segments = scene.discs.astype(np.float64), scene.segments.astype(np.float64)
    return np.concatenate(
        [
            disc_ranges(origin, directions, discs[:, :2], discs[:, 2], slack),
            segment_ranges(origin, directions, segments, slack),
        ],
        axis=1,
    )


def check_against_reference(scene: Scene, pose: tuple[float, float, float], fan: Fan, max_range: float) -> None:
    ranges, ids = cast(scene, pose, fan, max_range)
    generous, strict = reference(scene, pose, fan, SLACK), reference(scene, pose, fan, -SLACK)
    lower = np.minimum(generous.min(axis=1, initial=np.inf), max_range)
    upper = np.minimum(strict.min(axis=1, initial=np.inf), max_range)
    assert np.all(ranges >= lower * (1 - 1e-6) - SLACK), "a range is too short"
    assert np.all(ranges <= upper * (1 + 1e-6) + SLACK), "a ray was lost"
    assert np.all((ids == rays.NOTHING) == (ranges >= np.float32(max_range)))
    column = np.where(ids >= 0, ids, len(scene.discs) + rays.FIRST_WALL - ids)
    for i in np.flatnonzero(ids != rays.NOTHING):
        near, far = generous[i, column[i]], strict[i, column[i]]
        assert near * (1 - 1e-6) - SLACK <= ranges[i] <= far * (1 + 1e-6) + SLACK, "a wrong hit"


# quarters of a metre make rays through ends, sensors on walls and walls in line
coordinate = st.one_of(st.integers(-24, 24).map(lambda k: k / 4), st.floats(-8, 8, allow_subnormal=False, width=32))
fans = st.one_of(
    st.sampled_from(
        [
            Fan(),
            Fan(0.0, math.tau / 64, 64),
            Fan(-0.75 * math.pi, 1.5 * math.pi / 100, 101),
            Fan(2.9, 0.02, 40),
            Fan(-math.pi, math.pi / 2, 4),
            Fan(0.3, 1e-4, 60),
            Fan(-5.0, 0.13, 100),
            Fan(1.0, 0.1, 1),
        ]
    ),
    st.builds(Fan, st.floats(-4, 4), st.floats(0.01, 0.5), st.integers(1, 70)),
)
scenes = st.builds(
    Scene,
    st.lists(st.tuples(coordinate, coordinate, coordinate, coordinate), max_size=8).map(
        lambda rows: np.array(rows, np.float32).reshape(-1, 4)
    ),
    st.lists(st.tuples(coordinate, coordinate, st.floats(0.0625, 2.0, width=32)), max_size=5).map(
        lambda rows: np.array(rows, np.float32).reshape(-1, 3)
    ),
)
headings = st.one_of(
    st.sampled_from([0.0, math.pi / 2, math.pi, -math.pi / 4]), st.floats(-7, 7, allow_subnormal=False)
)


@settings(max_examples=400, deadline=None)
@given(scenes, st.tuples(coordinate, coordinate, headings), fans, st.sampled_from([1.5, 6.0, 30.0]))
def test_equals_brute_force(scene: Scene, pose: tuple[float, float, float], fan: Fan, max_range: float) -> None:
    check_against_reference(scene, pose, fan, max_range)


@settings(max_examples=150, deadline=None)
@given(scenes, st.integers(0, 7), st.floats(0, 1), st.floats(-1e-3, 1e-3), fans, headings)
def test_sensor_near_and_on_a_wall(
    scene: Scene, which: int, along: float, aside: float, fan: Fan, heading: float
) -> None:
    if len(scene.segments) == 0:
        return
    x0, y0, x1, y1 = scene.segments[which % len(scene.segments)].astype(np.float64)
    pose = (x0 + along * (x1 - x0) - aside * (y1 - y0), y0 + along * (y1 - y0) + aside * (x1 - x0), heading)
    check_against_reference(scene, pose, fan, 20.0)


def test_dense_scene_equals_brute_force() -> None:
    rng = np.random.default_rng(3)
    ends = rng.uniform(-20, 20, (200, 2))
    segments = np.concatenate([ends, ends + rng.normal(0, 2, (200, 2))], axis=1).astype(np.float32)
    discs = np.column_stack([rng.uniform(-20, 20, (50, 2)), np.full(50, 0.3)]).astype(np.float32)
    fan = Fan(-math.pi, math.tau / 720, 720)
    for heading in rng.uniform(-3, 3, 5):
        check_against_reference(Scene(segments, discs), (0.4, -0.7, float(heading)), fan, 30.0)


def test_square_room_by_hand() -> None:
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], np.float32)
    room = Scene(np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1))
    ranges, ids = cast(room, (0.0, 0.0, 0.0), Fan(0.0, math.pi / 4, 8))
    assert ranges == pytest.approx([1, math.sqrt(2)] * 4, rel=1e-6)
    assert [rays.FIRST_WALL - k for k in ids[[0, 2, 4, 6]]] == [3, 0, 1, 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=16, max_size=16), headings)
def test_no_ray_slips_through_a_shared_vertex(powers: list[int], heading: float) -> None:
    """Every ray points exactly at a vertex of a closed room (a float32 direction times a power of two)."""
    fan = Fan(-math.pi, math.tau / 16, 16)
    directions = rays.make_ray_table(fan.angle_min, fan.increment, fan.rays).T
    vertices = (directions * np.exp2(np.array(powers))[:, None]).astype(np.float32)
    room = Scene(np.concatenate([vertices, np.roll(vertices, -1, axis=0)], axis=1))
    exact, ids = cast(room, (0.0, 0.0, 0.0), fan)
    assert np.all(ids < rays.NOTHING)
    assert exact == pytest.approx(np.exp2(np.array(powers)), rel=1e-6)
    _, turned_ids = cast(room, (0.0, 0.0, heading), Fan(-math.pi, math.tau / 360, 360))
    assert np.all(turned_ids < rays.NOTHING)


def test_range_zero_inside_a_disc_and_own_body_left_out() -> None:
    scene = Scene(discs=np.array([[0, 0, 0.5], [3, 0, 1.0]], np.float32))
    ranges, ids = cast(scene, (0.2, 0.1, 1.0), Fan())
    assert np.all(ranges == 0.0)
    assert np.all(ids == 0)
    ranges, ids = cast(scene, (0.0, 0.0, 0.0), Fan(0.0, math.pi / 2, 4), own=0)
    assert ranges == pytest.approx([2, 20, 20, 20])
    assert list(ids) == [1, -1, -1, -1]


def test_inactive_discs_and_padding_are_nothing() -> None:
    directions = rays.make_ray_table(0.0, 0.1, 3)
    segments = np.array([[1, 0, 1, 0], [np.nan, 0, 1, 1]], np.float32)
    two = np.ones(1, np.float32)
    ranges, ids = np.empty(3, np.float32), np.empty(3, np.int32)
    for value in (0, 2):  # not yet, no longer in the world
        discs = rays.Discs(2 * two, 0 * two, two, np.full(1, value, np.int32))
        beams = rays.Beams(0.0, 0.1, directions, 5.0)
        rays.cast_lidar(0.0, 0.0, 0.0, beams, segments, discs, -1, rays.make_scratch(2, 1), ranges, ids)
        assert list(ranges) == [5.0] * 3
        assert list(ids) == [-1] * 3


def test_many_worlds_equal_one_by_one() -> None:
    rng = np.random.default_rng(5)
    fan, worlds, people = Fan(-2.0, 0.05, 81), 3, 6
    agents = np.zeros((worlds, layout.AGENT_ROWS, people), np.float32)
    agents[:, layout.PX : layout.PY + 1] = rng.uniform(-5, 5, (worlds, 2, people))
    agents[:, layout.RADIUS] = 0.4
    flags = np.zeros((worlds, layout.FLAG_ROWS, people), np.int32)
    flags[:, layout.ACTIVE] = rng.integers(0, 2, (worlds, people))
    segments = rng.uniform(-8, 8, (9, 4)).astype(np.float32)
    spans = np.array([[0, 4], [4, 9], [0, 4]], np.int32)
    world, own = np.array([0, 1, 2, 2], np.int32), np.array([-1, 2, 0, 1], np.int32)
    poses = rng.uniform(-3, 3, (4, 3))
    directions = rays.make_ray_table(fan.angle_min, fan.increment, fan.rays)
    ranges, ids = np.empty((4, fan.rays), np.float32), np.empty((4, fan.rays), np.int32)
    beams = rays.Beams(fan.angle_min, fan.increment, directions, 20.0)
    rays.cast_lidars(
        poses, world, own, beams, segments, spans, agents, flags, rays.make_scratch(9, people), ranges, ids
    )
    for sensor, b in enumerate(world):
        there = (flags[b, layout.ACTIVE] == 1) & (np.arange(people) != own[sensor])
        discs = np.stack([agents[b, layout.PX], agents[b, layout.PY], agents[b, layout.RADIUS]], axis=1)
        scene = Scene(segments[spans[b, 0] : spans[b, 1]], discs[there])
        single, single_ids = cast(scene, tuple(poses[sensor]), fan)
        assert np.array_equal(ranges[sensor], single)
        numbers = np.append(np.flatnonzero(there), -1)
        renumbered = np.where(single_ids >= 0, numbers[np.maximum(single_ids, 0)], single_ids)
        assert np.array_equal(ids[sensor], renumbered)


def test_wrong_sizes_are_refused() -> None:
    scene = Scene(np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match="angle_increment"):
        cast(scene, (0.0, 0.0, 0.0), Fan(0.0, -0.1, 4))
    empty = np.empty(0, np.float32)
    discs = rays.Discs(empty, empty, empty, np.empty(0, np.int32))
    ranges, ids = np.empty(4, np.float32), np.empty(4, np.int32)
    for table, room, complaint in ((4, 2, "scratch"), (5, 3, "number of rays")):
        beams = rays.Beams(0.0, 0.1, rays.make_ray_table(0.0, 0.1, table), 5.0)
        with pytest.raises(ValueError, match=complaint):
            rays.cast_lidar(0.0, 0.0, 0.0, beams, scene.segments, discs, -1, rays.make_scratch(room, 0), ranges, ids)
