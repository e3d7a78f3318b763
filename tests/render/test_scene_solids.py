"""Every thing covers its footprint, stays within it, and is closed and turned outwards."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sidestep.render.mesh import Semantic
from sidestep.render.scene.build import MAKERS, furniture_kind
from sidestep.render.scene.building import add_building
from sidestep.render.scene.furniture import FurniturePiece
from sidestep.render.scene.layout import Footprint, words
from sidestep.render.scene.solids import HEAD_ROOM, MeshBuilder, OrientedRectangle, blob, disc, prism, triangulate
from sidestep.types.scene import Region
from tests.render.meshes import area_vectors, corners, flat_pictures, overlaps_in_plane, volumes

SIZES = {
    "tree": disc(3.0, -2.0, 0.2, 8),
    "lamp_post": disc(3.0, -2.0, 0.1, 6),
    "signal": disc(3.0, -2.0, 0.1, 6),
    "sign": disc(3.0, -2.0, 0.06, 6),
    "bollard": disc(3.0, -2.0, 0.12, 8),
    "hydrant": disc(3.0, -2.0, 0.15, 8),
    "bin": disc(3.0, -2.0, 0.25, 8),
    "pot_plant": disc(3.0, -2.0, 0.35, 8),
    "basin": disc(3.0, -2.0, 3.0, 16),
    "column": disc(3.0, -2.0, 0.4, 12),
    "parked_car": shapely.box(0, 0, 4.5, 1.8),
    "sofa": shapely.Polygon([(0, 0), (0.5, 0), (0.5, 0.6), (3.3, 0.6), (3.3, 0), (3.8, 0), (3.8, 1.5), (0, 1.5)]),
    "chair": shapely.box(0, 0, 0.45, 0.45),
    "bookcase": shapely.box(0, 0, 3.2, 0.4),
    "screen": shapely.box(0, 0, 3.5, 0.1),
    "partition": shapely.box(0, 0, 4.4, 0.2),
    "planter": shapely.box(0, 0, 3.0, 1.0),
}


def make(name: str, footprint: shapely.Polygon, seed: int = 0, indoor: bool = False, z: float = 0.0):
    builder = MeshBuilder()
    maker, height = MAKERS[name]
    frame = OrientedRectangle.about(footprint, z)
    with builder.object():
        maker(builder, FurniturePiece(footprint, frame, height, np.random.default_rng(seed), frozenset(), indoor, z))
    return builder.finish(indoor)


def turned(shape: shapely.Polygon, angle: float) -> shapely.Polygon:
    return shapely.affinity.rotate(shape, angle, origin=(0, 0))


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("angle", [0.0, 33.0])
def test_things_cover_their_footprint_and_no_more(name, angle):
    footprint = turned(SIZES.get(name, shapely.box(0, 0, 1.8, 0.5)), angle)
    triangles = corners(make(name, footprint))
    reachable = triangles[triangles[:, :, 2].min(axis=1) < HEAD_ROOM - 0.15]
    lines = shapely.linestrings(reachable[:, [0, 1, 2, 0], :2])
    within = shapely.within(lines, footprint.buffer(0.02, join_style="mitre"))
    assert within.all(), reachable[~within][:2]
    shadow = shapely.union_all(flat_pictures(triangles[triangles[:, :, 2].max(axis=1) < 2.6]))
    solid = shadow.buffer(0.02).buffer(-0.02) if not shadow.is_empty else shadow
    if name == "tree":  # a trunk shows no level face; its sides stand on the outline
        solid = shapely.union_all(lines).convex_hull
    assert shapely.difference(footprint.buffer(-0.021), solid).area < 0.02 * footprint.area


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_things_are_turned_outwards_and_do_not_flicker(name):
    for seed in range(3):
        scene = make(name, SIZES.get(name, shapely.box(0, 0, 1.8, 0.5)), seed)
        triangles = corners(scene)
        foot = triangles[:, :, 2].min()
        triangles[:, :, 2] -= foot
        assert volumes(triangles)[2] > 0
        flat = area_vectors(triangles)
        shading = scene.mesh.normals[scene.mesh.triangles].mean(axis=1)
        assert ((flat * shading).sum(axis=1) > 0).all()
        assert overlaps_in_plane(scene, 1e-4) == []


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_things_stand_on_the_ground(name):
    for z in (0.0, -0.12):
        triangles = corners(make(name, SIZES.get(name, shapely.box(0, 0, 1.8, 0.5)), z=z))
        assert triangles[:, :, 2].min() <= z + 1e-6
        assert triangles[:, :, 2].min() >= z - 0.2


def test_a_prism_with_a_hole_is_closed():
    shape = shapely.box(0, 0, 2, 3).difference(shapely.box(0.5, 0.5, 1, 1))
    for oriented in (shape, shape.reverse()):
        builder = MeshBuilder()
        prism(builder, oriented, 1.0, 2.0, "wood", Semantic.OTHER, bottom=True)
        assert volumes(corners(builder.finish(False))) == pytest.approx([5.75] * 3, rel=1e-5)


def test_a_blob_is_closed():
    builder = MeshBuilder()
    blob(builder, (5, 5, 5), (1, 1, 1), "leaves", Semantic.TREE, np.random.default_rng(0), 0.0, 2)
    assert volumes(corners(builder.finish(False))) == pytest.approx([4 / 3 * np.pi] * 3, rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_a_building_is_closed_and_about_as_large_as_its_block(seed):
    shape = shapely.Polygon([(0, 0), (12, 0), (12, 8), (6, 8), (6, 5), (0, 5)])
    builder = MeshBuilder()
    add_building(builder, shape, 9.5, np.random.default_rng(seed), shop=seed % 2 == 0, foot=0.0)
    scene = builder.finish(False)
    x, y, z = volumes(corners(scene))
    assert x == pytest.approx(y, rel=1e-4)
    assert x == pytest.approx(z, rel=1e-4)
    assert 0.9 * shape.area * 9.5 < z < shape.area * 9.5
    classes = set(scene.mesh.semantic.tolist())
    assert {int(Semantic.WINDOW), int(Semantic.DOOR), int(Semantic.BUILDING)} <= classes
    assert overlaps_in_plane(scene) == []


@given(st.integers(3, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_triangles_cover_any_star_shaped_polygon(count, seed, hole):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, count)) + np.linspace(0, 1e-3, count)
    radius = rng.uniform(1.0, 4.0, count)
    shape = shapely.Polygon(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    if not shape.is_valid or shape.area < 0.1:
        return
    inner = shape.representative_point().buffer(0.2 * shape.exterior.distance(shape.representative_point()))
    shape = shape.difference(inner) if hole else shape
    points, triangles = triangulate(shape)
    a, b, c = points[triangles[:, 0]], points[triangles[:, 1]], points[triangles[:, 2]]
    u, v = b - a, c - a
    area = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    assert (area > 0).all()
    assert area.sum() == pytest.approx(shape.area, rel=1e-6)


CASES = [
    ("bench 3", shapely.box(0, 0, 2, 0.5), False, "bench"),
    ("litter bin", disc(0, 0, 0.25, 8), False, "bin"),
    ("lamp post 1", disc(0, 0, 0.1, 8), False, "lamp_post"),
    ("signal post 1", disc(0, 0, 0.1, 6), False, "signal"),
    ("post 1", shapely.box(0, 0, 0.25, 1.25), False, "partition"),
    ("plant 2", disc(0, 0, 0.4, 8), True, "pot_plant"),
    ("bus shelter, back", shapely.box(0, 0, 3.5, 0.1), False, "screen"),
    ("", shapely.box(0, 0, 4.5, 1.8), False, "parked_car"),
    ("", shapely.box(0, 0, 4.5, 0.2), True, "partition"),
    ("", shapely.box(0, 0, 1.8, 0.5), False, "bench"),
    ("tree", shapely.box(0, 0, 4.0, 3.0), False, "planter"),
]


@pytest.mark.parametrize(("name", "shape", "indoor", "expected"), CASES)
def test_the_choice_follows_name_then_shape(name, shape, indoor, expected):
    region = Region(kind="obstacle", name=name, polygon=tuple(shape.exterior.coords)[:-1])
    thing = FurniturePiece(shape, OrientedRectangle.about(shape), 1.0, np.random.default_rng(0), words(name), indoor)
    assert furniture_kind(Footprint(region, shape), thing) == expected
