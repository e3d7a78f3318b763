"""Importing a mesh as a place."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.render.mesh import Semantic
from sidestep.render.scene.scanned import load_environment
from tests.render.meshes import corners, volumes


def write(tmp_path, mesh, name="place.glb"):
    path = tmp_path / name
    mesh.export(path)
    return path


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load_environment(tmp_path / "nowhere.glb")


def test_a_box_keeps_its_size_and_stands_up(tmp_path):
    import trimesh

    box = trimesh.creation.box(extents=(4.0, 3.0, 2.0))  # glTF: y is up
    box.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])
    )
    scene = load_environment(write(tmp_path, box), origin=(10, 0, 1))
    span = np.ptp(scene.mesh.vertices, axis=0)
    assert span == pytest.approx([4.0, 2.0, 3.0], rel=1e-5)
    assert scene.mesh.vertices.mean(axis=0) == pytest.approx([10, 0, 1], abs=1e-5)
    assert volumes(corners(scene)) == pytest.approx([24.0] * 3, rel=1e-4)
    assert scene.materials[0].texture[0, 0] == pytest.approx([1, 0, 0], abs=0.02)
    assert set(scene.mesh.semantic.tolist()) == {int(Semantic.FLOOR), int(Semantic.OTHER)}


def test_objects_are_numbered_and_placed(tmp_path):
    import trimesh

    world = trimesh.Scene()
    for x in (0.0, 5.0):
        box = trimesh.creation.box(extents=(1, 1, 1))
        world.add_geometry(box, transform=trimesh.transformations.translation_matrix([x, 0, 0]))
    scene = load_environment(write(tmp_path, world), scale=2.0, heading=np.pi / 2)
    assert set(scene.static_id.tolist()) == {1, 2}
    assert np.ptp(scene.mesh.vertices, axis=0) == pytest.approx([2, 12, 2], abs=1e-4)


@pytest.mark.parametrize(
    ("scale", "text"), [(0.001, "across"), (1e6, "across"), (-1.0, "scale"), (float("nan"), "scale")]
)
def test_absurd_scales_are_refused(tmp_path, scale, text):
    import trimesh

    path = write(tmp_path, trimesh.creation.box(extents=(4, 4, 4)))
    with pytest.raises(BadInput, match=text):
        load_environment(path, scale=scale)


def test_points_without_faces_are_refused(tmp_path):
    import trimesh

    cloud = trimesh.PointCloud(np.random.default_rng(0).random((20, 3)))
    with pytest.raises(BadInput, match="no faces"):
        load_environment(write(tmp_path, cloud, "cloud.ply"))


def test_corners_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "bad.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv nan 1 0\nf 1 2 3\n")
    with pytest.raises(BadInput):
        load_environment(path)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "not.glb"
    path.write_bytes(b"this is no mesh at all")
    with pytest.raises(BadInput, match=r"not\.glb: not"):
        load_environment(path)
