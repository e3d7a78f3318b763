"""Footprints from URDF files that are written here."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from shapely.geometry import MultiPoint, Point, Polygon

from sidestep.errors import BadInput
from sidestep.simulation.robots import load_robot
from sidestep.simulation.robots.urdf import convex_hull, enclose, robot_from_urdf
from sidestep.types.robot import RobotLimits

BOX = "<box size='0.8 0.4 0.3'/>"


def footprint_from_urdf(path):
    return robot_from_urdf(path).footprint


def link(name, geometry="", origin="", kind="collision", extra=""):
    shape = f"<{kind}>{origin}<geometry>{geometry}</geometry></{kind}>" if geometry else ""
    return f"<link name='{name}'>{shape}{extra}</link>"


def joint(parent, child, origin="", kind="fixed"):
    ends = f"<parent link='{parent}'/><child link='{child}'/>"
    return f"<joint name='{parent}_{child}' type='{kind}'>{ends}{origin}</joint>"


@pytest.fixture
def write(tmp_path):
    def write_file(*parts, text=None):
        path = tmp_path / "machine.urdf"
        path.write_text(text or f"<?xml version='1.0' encoding='utf-8'?><robot name='m'>{''.join(parts)}</robot>")
        return path

    return write_file


def corners(footprint):
    return sorted((round(x, 9), round(y, 9)) for x, y in footprint.polygon)


def test_a_box(write):
    footprint = footprint_from_urdf(write(link("base", BOX)))
    assert corners(footprint) == [(-0.4, -0.2), (-0.4, 0.2), (0.4, -0.2), (0.4, 0.2)]


def test_an_upright_cylinder_and_a_sphere_are_discs(write):
    assert footprint_from_urdf(write(link("base", "<cylinder radius='0.3' length='1'/>"))).radius == 0.3
    assert footprint_from_urdf(write(link("base", "<sphere radius='0.25'/>"))).radius == 0.25


def test_a_disc_beside_its_origin_is_a_polygon_around_it(write):
    origin = "<origin xyz='0.5 0 0'/>"
    footprint = footprint_from_urdf(write(link("base", "<cylinder radius='0.3' length='1'/>", origin)))
    body, polygon = Point(0.5, 0.0).buffer(0.3, quad_segs=90), Polygon(footprint.polygon)
    assert len(footprint.polygon) <= 8
    assert polygon.buffer(1e-9).contains(body)
    assert polygon.area < 1.1 * body.area


def test_a_cylinder_on_its_side_is_a_rectangle(write):
    origin = f"<origin xyz='0 0 0.1' rpy='{math.pi / 2} 0 0'/>"
    polygon = Polygon(
        footprint_from_urdf(write(link("wheel", "<cylinder radius='0.2' length='0.1'/>", origin))).polygon
    )
    x0, y0, x1, y1 = polygon.bounds
    assert (x1, y1) == pytest.approx((0.2, 0.05), rel=0.01)
    assert (x0, y0) == pytest.approx((-0.2, -0.05), rel=0.01)
    assert x1 >= 0.2 - 1e-12


def test_joints_carry_their_links_along(write):
    quarter = f"<origin xyz='1 0 0' rpy='0 0 {math.pi / 2}'/>"
    path = write(
        link("base", "<box size='0.2 0.2 0.2'/>"),
        link("arm"),
        link("hand", "<box size='0.4 0.1 0.1'/>", "<origin xyz='0.2 0 0'/>"),
        joint("base", "arm", quarter, "revolute"),
        joint("arm", "hand", "<origin xyz='1 0 0'/>"),
    )
    # the arm turns by 90° at (1, 0), the hand is 1 m further along it: it covers y from 1 to 1.4 about x = 1
    polygon = Polygon(footprint_from_urdf(path).polygon)
    expected = MultiPoint([(-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1), (0.95, 1.0), (1.05, 1.0), (0.95, 1.4), (1.05, 1.4)])
    assert polygon.symmetric_difference(expected.convex_hull).area < 1e-9


def test_rotations_are_applied_roll_first(write):
    """Roll by 90° puts the box's z along -y, yaw by 90° then turns that to x."""
    origin = f"<origin rpy='{math.pi / 2} 0 {math.pi / 2}'/>"
    x0, y0, x1, y1 = Polygon(footprint_from_urdf(write(link("base", "<box size='1 2 3'/>", origin))).polygon).bounds
    assert (x1 - x0, y1 - y0) == pytest.approx((3.0, 1.0))


def test_collision_geometry_goes_before_visual(write):
    shell = f"<visual><geometry>{BOX.replace('0.8', '8')}</geometry></visual>"
    assert footprint_from_urdf(write(link("base", BOX, extra=shell))).enclosing_radius < 0.5
    assert footprint_from_urdf(write(link("base", BOX, kind="visual"))).enclosing_radius < 0.5


def test_robot_from_urdf_takes_height_and_mass(write):
    inertial = "<inertial><mass value='12.5'/></inertial>"
    top = link("top", BOX, extra=inertial)
    path = write(link("base", BOX, extra=inertial), top, joint("base", "top", "<origin xyz='0 0 0.5'/>"))
    spec = robot_from_urdf(path, dynamics="holonomic", limits=RobotLimits(max_speed=3.0))
    assert (spec.name, spec.dynamics, spec.mass, spec.limits.max_speed) == ("machine", "holonomic", 25.0, 3.0)
    assert spec.height == pytest.approx(0.8)
    assert load_robot(str(path)).limits.max_turn_rate == 1.0
    assert load_robot(str(path), "holonomic").dynamics == "holonomic"
    assert robot_from_urdf(
        path, "bicycle", RobotLimits(max_speed=1.0, max_steer=0.5), wheelbase=0.6
    ).wheelbase == pytest.approx(0.6)


TRIANGLES = np.array([[[0, 0, 0], [1, 0, 0], [0, 2, 1]], [[1, 0, 0], [1, 2, 0], [0, 2, 1]]], dtype=float)


def binary_stl():
    rows = b"".join(struct.pack("<12fH", 0, 0, 1, *triangle.ravel(), 0) for triangle in TRIANGLES)
    return b"solid that is binary".ljust(80) + struct.pack("<I", len(TRIANGLES)) + rows


def text_stl():
    loops = "".join(
        "facet normal 0 0 1\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in TRIANGLES
    )
    return f"solid m\n{loops}endsolid m\n".encode()


def obj():
    rows = "".join(f"v {x} {y} {z}\nvn 0 0 9\n" for x, y, z in TRIANGLES.reshape(-1, 3))
    return (rows + "f 1 2 3\nf 4 5 6\n").encode()


@pytest.mark.parametrize(("name", "data"), [("a.stl", binary_stl()), ("b.STL", text_stl()), ("c.obj", obj())])
def test_meshes(write, tmp_path, name, data):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / name).write_bytes(data)
    for reference in (
        f"meshes/{name}",
        f"package://some_robot/meshes/{name}",
        f"file://{tmp_path}/meshes/{name}",
    ):
        footprint = footprint_from_urdf(write(link("base", f"<mesh filename='{reference}' scale='0.1 0.1 0.1'/>")))
        assert corners(footprint) == [(0.0, 0.0), (0.0, 0.2), (0.1, 0.0), (0.1, 0.2)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([link("base", "<mesh filename='none.stl'/>")], "mesh 'none.stl' was not found"),
        ([link("base", "<mesh filename='http://host/m.stl'/>")], "only package://"),
        ([link("base", "<capsule radius='1'/>")], "geometry <capsule> is not known"),
        ([link("base", "<box size='1 2'/>")], "box size must be 3 finite numbers, got '1 2'"),
        ([link("base", "<box size='1 2 nan'/>")], "box size must be 3 finite numbers"),
        ([link("base", "<sphere radius='-1'/>")], "sphere radius must be positive"),
        ([link("base", "<cylinder radius='1'/>")], "<cylinder> has no attribute 'length'"),
        ([link("base", "<box size='1 0 1'/>")], "no area when seen from above"),
        ([link("base")], "no link has collision or visual geometry"),
        ([], "has no links"),
        ([link("a", BOX), link("b", BOX)], "one tree; without a parent: a, b"),
        ([link("a", BOX), joint("a", "b")], "has the child 'b', no link"),
        ([link("a", BOX), link("b"), link("c"), joint("b", "c"), joint("c", "b")], "form a loop among b, c"),
        ([link("a", BOX), link("b"), joint("a", "b"), joint("a", "b")], "child of two joints"),
    ],
)
def test_what_cannot_be_used_says_why(write, parts, message):
    with pytest.raises(BadInput, match=message):
        footprint_from_urdf(write(*parts))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<!DOCTYPE robot [<!ENTITY a 'x'>]><robot name='&a;'/>",
            "has a document type or entities",
        ),
        ("<robot name='m'>", "not valid XML"),
        ("<sdf/>", "root element of a URDF file is <robot>"),
        ("<robot xmlns:xacro='x'><xacro:include/></robot>", "xacro"),
    ],
)
def test_documents_that_are_refused(write, text, message):
    with pytest.raises(BadInput, match=message):
        footprint_from_urdf(write(text=text))


def test_broken_mesh_files_say_so(write, tmp_path):
    path = write(link("base", "<mesh filename='m.stl'/>"))
    (tmp_path / "m.stl").write_bytes(binary_stl()[:-7])
    with pytest.raises(BadInput, match="no vertices found"):
        footprint_from_urdf(path)
    (tmp_path / "m.stl").write_bytes(b"vertex 1 2 many\n")
    with pytest.raises(BadInput, match="no vertices found"):
        footprint_from_urdf(path)
    (tmp_path / "m.obj").write_bytes(b"v 1 2 many\n")
    with pytest.raises(BadInput, match="not a readable OBJ"):
        footprint_from_urdf(write(link("base", "<mesh filename='m.obj'/>")))
    (tmp_path / "m.dae").write_bytes(b"<COLLADA/>")
    with pytest.raises(BadInput, match="convert it to STL or OBJ"):
        footprint_from_urdf(write(link("base", "<mesh filename='m.dae'/>")))


@pytest.mark.parametrize("seed", range(20))
def test_enclosing_polygons_contain_the_hull_and_are_convex(seed):
    points = np.random.default_rng(seed).normal(size=(200, 2))
    points *= [1.0, 0.3] / np.linalg.norm(points, axis=1, keepdims=True) ** 0.9  # near an ellipse: many corners
    hull = convex_hull(points)
    few = enclose(hull, most=8)
    polygon = Polygon(few)
    assert len(hull) > 8 == len(few)
    assert polygon.exterior.is_ccw
    assert polygon.buffer(1e-9).contains(Polygon(hull))
    assert polygon.convex_hull.area == pytest.approx(polygon.area)
    assert polygon.area < 1.25 * Polygon(hull).area
