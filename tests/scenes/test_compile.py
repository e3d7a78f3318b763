"""What a compiled scene promises to kernels, by hand-made cases, by brute force and against shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings

from sidestep.errors import BadInput
from sidestep.kernels.layout import WALL_REACH
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.distance_field import OPEN_DISTANCE
from sidestep.types.scene import Region, SceneSpec

from .drawing import PLANE, box, free_ground, scenes, signed_distance, turned_box

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)


def compiled(*regions, enclosed=False):
    return compile_scene(SceneSpec(regions=regions, enclosed=enclosed))


def test_one_box_is_four_convex_edges_counter_clockwise():
    scene = compiled(box(1, 2, 4, 3))
    start = int(np.flatnonzero((scene.wall_points == [1, 2]).all(axis=1))[0])
    ring = [start]
    while len(ring) < 4:
        ring.append(int(scene.wall_next[ring[-1]]))
    assert scene.wall_points[ring].tolist() == [[1, 2], [4, 2], [4, 3], [1, 3]]
    assert scene.wall_dirs[ring].tolist() == [[1, 0], [0, 1], [-1, 0], [0, -1]]
    assert scene.wall_convex.tolist() == [1, 1, 1, 1]
    assert scene.bounds == (1, 2, 4, 3)
    assert [a.dtype.name for a in (scene.wall_points, scene.wall_dirs, scene.wall_next, scene.wall_convex)] == [
        *["float32", "float32", "int32", "uint8"]
    ]


def test_a_room_is_clockwise_and_its_corners_are_not_convex():
    scene = compiled(box(0, 0, 3, 3, kind="walkable"), enclosed=True)
    assert len(scene.wall_points) == 4
    assert scene.wall_convex.tolist() == [0, 0, 0, 0]
    x, y = scene.wall_points.T
    assert 0.5 * (x * y[scene.wall_next] - x[scene.wall_next] * y).sum() == -9


def test_l_shape_has_one_corner_that_is_not_convex():
    scene = compiled(Region(kind="building", polygon=((0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4))))
    assert scene.wall_points[scene.wall_convex == 0].tolist() == [[1, 1]]


def test_touching_and_overlapping_regions_leave_no_edge_inside():
    scene = compiled(box(0, 0, 0.1 + 0.2, 1), box(0.3, 0, 1, 1), box(0.5, -1, 0.7, 2))
    assert len(scene.wall_points) == 12  # a cross
    assert {(0.3, 0.0), (0.3, 1.0)}.isdisjoint({(round(float(x), 3), round(float(y), 3)) for x, y in scene.wall_points})


def test_courtyard_has_an_outer_and_an_inner_ring():
    scene = compiled(
        Region(
            kind="building",
            polygon=((0, 0), (9, 0), (9, 9), (0, 9)),
            holes=(((3, 3), (6, 3), (6, 6), (3, 6)),),
        )
    )
    assert len(scene.wall_points) == 8
    assert scene.wall_convex.sum() == 4
    assert scene.clearance(4.5, 4.5) == pytest.approx(1.5, abs=1e-3)
    assert scene.clearance(1.5, 4.5) == pytest.approx(-1.5, abs=1e-3)


def test_near_collinear_corners_are_merged_wherever_the_ring_starts():
    ring = ((0, 0), (1, 0.0004), (2, 0), (2, 1), (1, 1), (0, 1), (0, 0.5))
    for first in range(len(ring)):
        scene = compiled(Region(kind="obstacle", polygon=ring[first:] + ring[:first]))
        assert len(scene.wall_points) == 4, first


def test_a_closing_corner_may_be_written():
    ring = ((0, 0), (1, 0), (1, 1), (0, 1))
    assert len(compiled(Region(kind="obstacle", polygon=(*ring, ring[0]))).wall_points) == 4


def test_only_solid_regions_block_in_a_scene_that_is_not_enclosed():
    scene = compiled(box(0, 0, 5, 5, kind="road"), box(6, 0, 7, 1, kind="furniture"))
    assert len(scene.wall_points) == 4
    assert scene.bounds == (0, 0, 7, 5)


def test_scene_without_solids_is_far_from_everything():
    scene = compile_scene(SceneSpec())
    assert scene.wall_points.shape == (0, 2)
    assert scene.segments.shape == (0, 4)
    assert scene.cell_start.tolist() == [0, 0]
    assert scene.grid_shape.tolist() == [1, 1]
    assert scene.clearance(3, -700) == OPEN_DISTANCE == 100


@pytest.mark.parametrize(
    ("region", "message"),
    [
        (
            Region(kind="furniture", name="bow", polygon=((0, 0), (2, 2), (2, 0), (0, 2))),
            r"regions\[1\] \(furniture 'bow'\).*crosses.*\(1, 1\).*in order",
        ),
        (Region(kind="obstacle", polygon=((0, 0), (1, 1), (2, 2))), "no area"),
        (
            Region(kind="obstacle", polygon=((0, 0), (1, 0), (1, 0), (1, 1))),
            r"corner 2 repeats.*\(1, 0\).*remove",
        ),
        (Region(kind="obstacle", polygon=((0, 0), (1, 0), (0, 0))), "at least 3 different corners, got 2"),
        (Region(kind="obstacle", polygon=((0, 0), (5e5, 0), (0, 1))), "16 km from the origin"),
        (
            Region(kind="obstacle", polygon=((0, 0), (1, 0), (0, 1)), holes=(((5, 5), (6, 5), (5, 6)),)),
            "hole is not inside",
        ),
        (
            Region.model_construct(kind="obstacle", polygon=((0, 0), (float("nan"), 0), (0, 1)), holes=(), name=""),
            "corner 1 is not finite",
        ),
    ],
)
def test_a_wrong_polygon_is_named_with_place_and_remedy(region, message):
    spec = SceneSpec.model_construct(name="s", regions=(box(8, 8, 9, 9), region), enclosed=False)
    with pytest.raises(BadInput, match=message) as caught:
        compile_scene(spec, "plan.yaml")
    assert str(caught.value).startswith("plan.yaml: regions[1]")


def test_covered_ground_is_an_error():
    with pytest.raises(BadInput, match="cover all open ground"):
        compiled(box(0, 0, 1, 1, kind="walkable"), box(-1, -1, 2, 2), enclosed=True)


@EXAMPLES
@given(scenes())
def test_rings_close_and_have_the_solid_on_their_left(spec):
    scene = compile_scene(spec)
    everyone = np.arange(len(scene.wall_points))
    assert (scene.wall_prev[scene.wall_next] == everyone).all()
    assert (scene.wall_next[scene.wall_prev] == everyone).all()
    x0, y0, x1, y1 = scene.segments.astype(np.float64).T
    along = np.stack([x1 - x0, y1 - y0], axis=1)
    length = np.hypot(*along.T)
    np.testing.assert_allclose(scene.wall_dirs, along / length[:, None], atol=1e-6)
    middle = np.stack([(x0 + x1) / 2, (y0 + y1) / 2], axis=1)
    to_left = np.stack([-along[:, 1], along[:, 0]], axis=1) / length[:, None] * 0.005
    for points, side in ((middle + to_left, -1), (middle - to_left, 1)):
        distance = signed_distance(spec, points)
        clear = (np.abs(distance) > 0.0035) & (length > 0.02)  # not in a sliver, nor beyond a short edge in a notch
        assert (np.sign(distance[clear]) == side).all()


@EXAMPLES
@given(scenes())
def test_walls_lie_on_the_boundary_of_the_free_ground(spec):
    scene = compile_scene(spec)
    boundary = shapely.difference(free_ground(spec).boundary, PLANE.boundary)
    lines = shapely.linestrings(scene.segments.reshape(-1, 2, 2).astype(np.float64))
    assert shapely.union_all(lines).hausdorff_distance(boundary) < 0.005


@EXAMPLES
@given(scenes())
def test_cell_lists_hold_every_edge_in_reach(spec):
    scene = compile_scene(spec)
    nx, ny = scene.grid_shape
    x0, y0, size = (float(v) for v in scene.grid[:3])
    lines = shapely.linestrings(scene.segments.reshape(-1, 2, 2).astype(np.float64))
    columns, rows = (v.ravel() for v in np.meshgrid(np.arange(nx), np.arange(ny)))
    cells = shapely.box(x0 + columns * size, y0 + rows * size, x0 + (columns + 1) * size, y0 + (rows + 1) * size)
    assert len(scene.cell_start) == nx * ny + 1
    lists = [scene.cell_items[a:b] for a, b in zip(scene.cell_start[:-1], scene.cell_start[1:], strict=True)]
    listed = np.zeros((nx * ny, len(lines)), bool)
    for cell, items in enumerate(lists):
        listed[cell, items] = True
        assert (np.diff(items) > 0).all()
    distance = shapely.distance(cells[:, None], lines[None, :])
    assert listed[distance <= WALL_REACH].all()
    assert not listed[distance > WALL_REACH + 0.25 * size].any()
    border = (columns == 0) | (columns == nx - 1) | (rows == 0) | (rows == ny - 1)
    assert not listed[border].any()


def test_cells_of_a_long_diagonal_and_of_a_large_scene_are_complete():
    scene = compiled(turned_box(0, 0, 1500, 0.5, 0.6))
    nx, ny = scene.grid_shape
    assert nx * ny <= 200_000
    x0, y0, size = (float(v) for v in scene.grid[:3])
    rng = np.random.default_rng(1)
    cells = rng.integers(0, nx * ny, 3000)
    near = rng.integers(0, nx, 3000)
    cells = np.concatenate(
        [cells, np.clip(((near * size + x0) * np.tan(0.6) - y0) // size, 0, ny - 1).astype(int) * nx + near]
    )
    columns, rows = cells % nx, cells // nx
    shapes = shapely.box(x0 + columns * size, y0 + rows * size, x0 + (columns + 1) * size, y0 + (rows + 1) * size)
    lines = shapely.linestrings(scene.segments.reshape(-1, 2, 2).astype(np.float64))
    near_lines = shapely.distance(shapes[:, None], lines[None, :]) <= WALL_REACH
    assert near_lines.any()
    for cell, wanted in zip(cells, near_lines, strict=True):
        items = scene.cell_items[scene.cell_start[cell] : scene.cell_start[cell + 1]]
        assert np.isin(np.flatnonzero(wanted), items).all()


@EXAMPLES
@given(scenes())
def test_distance_field_is_within_half_a_cell(spec):
    scene = compile_scene(spec)
    ny, nx = scene.distance.shape
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, ny, 2000), rng.integers(0, nx, 2000)
    points = np.stack([column, row], axis=1) * scene.distance_cell + scene.distance_origin
    error = np.abs(scene.distance[row, column] - signed_distance(spec, points))
    assert error.max() <= scene.distance_cell / 2
    assert np.quantile(error, 0.99) < 0.002  # the half cell is only for slivers that merging closes


def test_distance_field_of_a_large_scene_is_coarser_and_still_right():
    boxes = [box(x, y, x + 5, y + 5) for x in range(0, 400, 40) for y in range(0, 300, 30)]
    scene = compiled(*boxes)
    assert scene.distance.size <= 4_000_000
    assert scene.distance_cell > 0.1
    rng = np.random.default_rng(2)
    row, column = (
        rng.integers(0, scene.distance.shape[0], 5000),
        rng.integers(0, scene.distance.shape[1], 5000),
    )
    points = np.stack([column, row], axis=1) * scene.distance_cell + scene.distance_origin
    error = np.abs(scene.distance[row, column] - signed_distance(scene.spec, points))
    assert error.max() < 0.002


def test_five_thousand_edges():
    rng = np.random.default_rng(0)
    numbers = np.stack(
        [*rng.uniform(-100, 100, (2, 1300)), *rng.uniform(0.4, 2, (2, 1300)), rng.uniform(0, 3, 1300)], 1
    )
    spec = SceneSpec(regions=tuple(turned_box(*row) for row in numbers))
    scene = compile_scene(spec)
    assert len(scene.wall_points) > 5000
