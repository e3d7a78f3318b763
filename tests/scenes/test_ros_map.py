"""ROS maps: there and back within a cell, outlines close to their pixels, files that cannot be read."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from sidestep.errors import BadInput
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import inside_solid
from sidestep.scenes.plans import load_plan
from sidestep.scenes.ros_map import (
    TOLERANCE,
    outline_pixels,
    read_grey_image,
    read_ros_map,
    save_ros_map,
    write_pgm,
)

from .drawing import scenes, signed_distance


def write_map(folder, rows, **settings):
    """A map whose image has the rows of brightness given, top row first."""
    write_pgm(folder / "map.pgm", np.array(rows, np.uint8))
    keys = {"image": "map.pgm", "resolution": 1.0, "origin": [0, 0, 0], **settings}
    (folder / "map.yaml").write_text("".join(f"{key}: {value}\n" for key, value in keys.items()))
    return folder / "map.yaml"


def solids(spec):
    return shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind == "obstacle"])


def test_pixels_land_where_the_origin_says(tmp_path):
    rows = [[254, 254, 254], [0, 254, 254], [254, 254, 0]]
    spec = read_ros_map(write_map(tmp_path, rows, resolution=0.5, origin=[10, 20, 0]))
    assert solids(spec).equals(shapely.box(10, 20.5, 10.5, 21) | shapely.box(11, 20, 11.5, 20.5))
    assert spec.regions[0].kind == "walkable"
    assert shapely.Polygon(spec.regions[0].polygon).equals(shapely.box(10, 20, 11.5, 21.5))
    assert (spec.name, spec.enclosed) == ("map", False)


def test_yaw_turns_the_map_about_its_origin(tmp_path):
    spec = read_ros_map(write_map(tmp_path, [[0, 254]], origin=[5, 0, math.pi / 2]))
    assert solids(spec).symmetric_difference(shapely.box(4, 0, 5, 1)).area < 1e-5


@pytest.mark.parametrize(
    ("settings", "solid"),
    [
        ({}, [True, False, False, False]),
        ({"unknown_is_solid": "true"}, [True, True, True, False]),
        ({"negate": 1}, [False, False, True, True]),
        ({"occupied_thresh": 0.5}, [True, True, False, False]),
    ],
)
def test_thresholds(tmp_path, settings, solid):
    """Brightness 0, 100, 190, 255: occupancy 1, 0.61, 0.255, 0; negated 0, 0.39, 0.745, 1."""
    shape = solids(read_ros_map(write_map(tmp_path, [[0, 100, 190, 255]], **settings)))
    assert [shape.contains(shapely.Point(x + 0.5, 0.5)) for x in range(4)] == solid


@pytest.mark.parametrize("name", ["room", "blind_corner", "plaza", "lobby", "crosswalk_street"])
def test_plans_come_back_within_a_cell(tmp_path, name):
    scene = compile_scene(load_plan(name))
    path = save_ros_map(scene, tmp_path / "new", 0.05)
    assert sorted(p.name for p in path.parent.iterdir()) == [f"{name}.pgm", f"{name}.yaml"]
    back = compile_scene(read_ros_map(path))
    points = np.random.default_rng(0).uniform(scene.bounds[:2], scene.bounds[2:], (4000, 2))
    distance = signed_distance(scene.spec, points)
    sure = np.abs(distance) > 0.05
    assert (inside_solid(back, points) == (distance < 0))[sure].all()
    assert sure.mean() > 0.1
    assert len(back.wall_points) < 6 * len(scene.wall_points)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(scenes())
def test_scenes_come_back_within_a_cell(tmp_path_factory, spec):
    scene = compile_scene(spec)
    back = compile_scene(read_ros_map(save_ros_map(scene, tmp_path_factory.mktemp("map"), 0.1)))
    points = np.random.default_rng(0).uniform(scene.bounds[:2], scene.bounds[2:], (1000, 2))
    distance = signed_distance(spec, points)
    sure = np.abs(distance) > 0.1
    assert (inside_solid(back, points) == (distance < 0))[sure].all()


def pixel_union(mask):
    rows, columns = np.nonzero(mask)
    return shapely.union_all(shapely.box(columns, rows, columns + 1, rows + 1))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(arrays(bool, st.tuples(st.integers(1, 14), st.integers(1, 14))))
def test_outline_of_any_pixels_stays_within_its_tolerance(mask):
    exact, outline = pixel_union(mask), shapely.union_all(outline_pixels(mask))
    assert exact.is_empty == outline.is_empty
    if exact.is_empty:
        return
    moved = shapely.symmetric_difference(exact, outline)
    assert shapely.difference(moved, exact.boundary.buffer(TOLERANCE + 1e-6)).area < 1e-9
    assert outline.boundary.hausdorff_distance(exact.boundary) <= TOLERANCE + 1e-6


@settings(max_examples=50, deadline=None, derandomize=True)
@given(arrays(bool, st.tuples(st.integers(1, 20), st.integers(1, 20))), st.sampled_from([0, 0.3, 1.234]))
def test_any_map_compiles_to_the_area_of_its_pixels(tmp_path_factory, mask, yaw):
    folder = tmp_path_factory.mktemp("map")
    rows = np.where(mask[::-1], 0, 254)
    scene = compile_scene(read_ros_map(write_map(folder, rows, resolution=0.05, origin=[3.3, -7.1, yaw])))
    x, y = scene.wall_points.astype(np.float64).T
    area = 0.5 * (x * y[scene.wall_next] - x[scene.wall_next] * y).sum()
    moved = TOLERANCE * 0.05 * pixel_union(mask).length * 0.05
    assert area == pytest.approx(mask.sum() * 0.05**2, abs=moved + 1e-3)


@pytest.mark.parametrize("degrees", [0, 3, 11, 30, 45, 77])
def test_outline_of_a_slanted_wall_has_few_edges(degrees):
    angle = math.radians(degrees)
    y, x = np.mgrid[:260, :260] + 0.5 - 130
    u, v = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    mask = (np.abs(u) < 120) & (np.abs(v) < 8)
    (outline,) = outline_pixels(mask)
    assert len(pixel_union(mask).simplify(0).exterior.coords) > 36 or not degrees
    assert len(outline.exterior.coords) - 1 <= 36
    assert outline.exterior.hausdorff_distance(pixel_union(mask).exterior) <= TOLERANCE + 1e-6


def test_rectangles_keep_their_corners():
    mask = np.zeros((20, 30), bool)
    mask[3:9, 4:20] = True
    mask[3:18, 10:12] = True
    assert shapely.union_all(outline_pixels(mask)).equals(pixel_union(mask))


def grey(folder, data):
    (folder / "grey.pgm").write_bytes(data)
    return read_grey_image(folder / "grey.pgm")


def test_plain_raw_and_deep_pgm(tmp_path):
    plain = grey(tmp_path, b"P2 # a comment\n# another\n3 2\n# more\n15\n0 5 15 # row\n15 10 0\n")
    raw = grey(tmp_path, b"P5\n3 2\n15\n" + bytes([0, 5, 15, 15, 10, 0]))
    deep = grey(tmp_path, b"P5 3 2 1500\n" + np.array([0, 500, 1500, 1500, 1000, 0], ">u2").tobytes())
    np.testing.assert_array_equal(plain, np.array([[0, 5, 15], [15, 10, 0]], np.float32) / np.float32(15))
    np.testing.assert_array_equal(raw, plain)
    np.testing.assert_allclose(deep, plain, atol=1e-7)


@pytest.mark.parametrize("greatest", [1, 15, 100, 254, 255, 256, 1500, 65534, 65535])
def test_brightness_is_exact_for_every_greatest_value(tmp_path, greatest):
    """Pillow alone rounds pixels to 255 or 65535 levels."""
    values = np.random.default_rng(greatest).integers(0, greatest + 1, (5, 7))
    wanted = values.astype(np.float32) / np.float32(greatest)
    raw = values.astype("u1" if greatest < 256 else ">u2").tobytes()
    words = " ".join(map(str, values.ravel())).encode()
    for head, body in ((b"P5", raw), (b"P2", words)):
        found = grey(tmp_path, head + b"\n7 5\n%d\n" % greatest + body)
        assert found.dtype == np.float32
        assert found.tobytes() == wanted.tobytes()


def test_png_through_pillow(tmp_path):
    pixels = np.array([[0, 254], [205, 254]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "map.png")
    np.testing.assert_allclose(read_grey_image(tmp_path / "map.png"), pixels / 255, atol=1e-7)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P5\n3 2\n255\n" + bytes(5), r"not a readable image \(image file is truncated.*export it again"),
        (b"P5\n3 2\n65535\n" + bytes(6), "image file is truncated"),
        (b"P2\n3 2\n255\n0 0 0 0 0\n", "not enough image data"),
        (b"P2\n2 1\n255\n0 x\n", "not a readable image"),
        (b"P2\n2 1\n15\n0 -3\n", "not a readable image"),
        (b"P5\n3", "header needs width, height"),
        (b"P5\n3 two 255\n", "header needs width, height"),
        (b"P5\n3 3 70000\n", "a greatest value up to 65535"),
        (b"P5\n0 2 255\n", "of no known format"),
        (b"P5\n1 1\n100\n\xff", "a pixel is 255, above the 100"),
        (b"GIF?", "not a readable image"),
    ],
)
def test_damaged_images_are_said(tmp_path, data, message):
    (tmp_path / "map.pgm").write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_grey_image(tmp_path / "map.pgm")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resolution": 0}, "resolution.*greater than 0"),
        ({"resolutoin": 1}, "unknown key 'resolutoin'; did you mean 'resolution'"),
        ({"free_thresh": 0.9}, "free_thresh 0.9 is above occupied_thresh 0.65"),
        ({"image": "gone.pgm"}, r"image: 'gone\.pgm': no such file beside"),
        ({"mode": "raw"}, "mode.*trinary"),
    ],
)
def test_wrong_map_files_are_said(tmp_path, settings, message):
    with pytest.raises(BadInput, match=message):
        read_ros_map(write_map(tmp_path, [[0]], **settings))


def test_absurd_resolutions_are_refused(tmp_path):
    scene = compile_scene(load_plan("room"))
    with pytest.raises(BadInput, match="choose a coarser one"):
        save_ros_map(scene, tmp_path, 1e-4)
    with pytest.raises(BadInput, match="positive number of metres"):
        save_ros_map(scene, tmp_path, 0)
