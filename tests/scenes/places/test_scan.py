"""Scanned places: the mesh file, the annotation on it, and how cameras get it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.render.mesh import Semantic
from sidestep.render.scene import build_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places import DATA, bundled_place, read_scan
from sidestep.scenes.places.scan import read_triangles, slice_solids
from sidestep.types.scene import SceneSpec
from tools.lantern_court_mesh import write_glb

MESH, ANNOTATION = DATA / "lantern-court.glb", DATA / "lantern-court.geojson"


def box(x0: float, y0: float, z0: float, x1: float, y1: float, z1: float) -> np.ndarray:
    """Twelve triangles."""
    corners = np.array([[x, y, z] for x in (x0, x1) for y in (y0, y1) for z in (z0, z1)], float)
    quads = [(0, 2, 6, 4), (1, 5, 7, 3), (0, 4, 5, 1), (2, 3, 7, 6), (0, 1, 3, 2), (4, 6, 7, 5)]
    return np.array([corners[[a, b, c]] for q in quads for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))])


def floor(half: float, z: float = 0.0) -> np.ndarray:
    a, b, c, d = (-half, -half, z), (half, -half, z), (half, half, z), (-half, half, z)
    return np.array([[a, b, c], [a, c, d]], float)


def annotation(path: Path, regions: list[dict[str, Any]], **member: Any) -> Path:
    features = []
    for region in regions:
        x0, y0, x1, y1 = region.pop("box")
        ring = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]]
        geometry = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": region, "geometry": geometry})
    document = {"type": "FeatureCollection", "scene": {"crs": "local", **member}, "features": features}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def walk(path: Path, **member: Any) -> Path:
    return annotation(path, [{"kind": "sidewalk", "name": "quay", "box": (-9, -2, 9, 2)}], **member)


def write(path: Path, *parts: np.ndarray) -> Path:
    write_glb(path, {f"part {k}": ((0.5, 0.5, 0.5), part) for k, part in enumerate(parts)})
    return path


def test_mesh_file_keeps_its_triangles(tmp_path):
    triangles = np.concatenate([floor(10.0), box(1, 2, 0, 3, 5, 4)])
    back = read_triangles(write(tmp_path / "a.glb", triangles))
    assert back == pytest.approx(triangles, abs=1e-3)


def test_node_transforms_are_obeyed(tmp_path):
    file = write(tmp_path / "a.glb", floor(1.0))
    turned = np.sqrt(0.5)
    edit(file, lambda d: d["nodes"][0].update(translation=[5, 1, 0], rotation=[0, turned, 0, turned], scale=[2, 2, 4]))
    low, high = read_triangles(file).min(axis=(0, 1)), read_triangles(file).max(axis=(0, 1))
    assert low == pytest.approx((1, -2, 1), abs=1e-5)  # glTF: 2 m along x is turned to −z, which is our y
    assert high == pytest.approx((9, 2, 1), abs=1e-5)


def test_nested_nodes_and_triangle_strips(tmp_path):
    """A shift inside a shift; a strip of four corners is two triangles."""
    file = write(tmp_path / "a.glb", floor(1.0))
    edit(
        file,
        lambda d: (d["nodes"].append({"children": [0], "translation": [2, 0, 0]}), d["scenes"][0].update(nodes=[1])),
    )
    edit(file, lambda d: d["nodes"][0].update(translation=[1, 0, 0]))
    assert read_triangles(file)[..., 0].min() == 2.0
    edit(file, lambda d: d["meshes"][0]["primitives"][0].update(mode=5))
    assert len(read_triangles(file)) >= 2


def test_many_copies_of_a_mesh_are_counted_before_they_are_laid_out(tmp_path, monkeypatch):
    monkeypatch.setattr("sidestep.scenes.places.scan.MOST_TRIANGLES", 5)
    file = write(tmp_path / "a.glb", floor(1.0))
    edit(file, lambda d: (d["nodes"].extend([{"mesh": 0}] * 2), d["scenes"][0].update(nodes=[0, 1, 2])))
    with pytest.raises(BadInput, match="more than 5 triangles; thin the mesh out"):
        read_triangles(file)


def edit(file: Path, change: Any) -> None:
    data = file.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + length])
    change(document)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    file.write_bytes(data[:8] + struct.pack("<III", 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["buffers"][0].update(uri="../secret.bin"), "refers to another file"),
        (lambda d: d["buffers"][0].update(uri="https://example.org/a.bin"), "refers to another file"),
        (lambda d: d["accessors"][0].update(count=10_000), "not a plain triangle mesh"),
        (lambda d: d["accessors"][0].update(sparse={}), "sparse"),
        (lambda d: d["accessors"][0].pop("bufferView"), "compressed"),
        (lambda d: d["accessors"][0].update(count=10**12), "corners of triangles, at most"),
        (lambda d: d["meshes"][0]["primitives"][0].update(indices=99), "a mesh of its glTF description is damaged"),
        (lambda d: d.update(nodes=[{"children": [1]}, {"children": [2]}, {"children": [1]}]), "child of two nodes"),
        (lambda d: d.pop("scenes"), "no triangles"),
        (lambda d: d["nodes"][0].update(translation=[1e9, 0, 0]), "more than 16 km from the origin"),
        (lambda d: d["nodes"][0].update(scale=[float("1e308")] * 3), "not finite or more than 16 km"),
        (lambda d: d["nodes"][0].update(children=[0]), "nested"),
        (lambda d: d["meshes"][0]["primitives"][0].update(mode=0), "no triangles"),
        (lambda d: d.update(nodes=[]), "IndexError|KeyError"),
    ],
)
def test_meshes_that_cannot_be_used(tmp_path, change, message):
    file = write(tmp_path / "a.glb", floor(10.0))
    edit(file, change)
    with pytest.raises(BadInput, match=message):
        read_scan(file, walk(tmp_path / "a.geojson"))


def test_files_that_are_no_meshes(tmp_path):
    (tmp_path / "a.glb").write_bytes(b"glTF")
    with pytest.raises(BadInput, match="not a binary glTF"):
        read_scan(tmp_path / "a.glb", walk(tmp_path / "a.geojson"))
    with pytest.raises(BadInput, match="export it as binary glTF"):
        read_scan(tmp_path / "a.obj", tmp_path / "a.geojson")
    with pytest.raises(BadInput, match=r"no such \.glb mesh"):
        read_scan(tmp_path / "none.glb", tmp_path / "a.geojson")


def test_scale_level_and_extent_are_checked(tmp_path):
    drawn = walk(tmp_path / "a.geojson")
    with pytest.raises(BadInput, match="metres"):
        read_scan(write(tmp_path / "mm.glb", floor(10_000.0)), drawn)
    with pytest.raises(BadInput, match=r"0\.02 m across"):
        read_scan(write(tmp_path / "tiny.glb", floor(0.01)), drawn)
    with pytest.raises(BadInput, match=r"at z = 3\.00 m; move the mesh by -3\.00 m"):
        read_scan(write(tmp_path / "high.glb", floor(10.0, 3.0)), drawn)
    with pytest.raises(BadInput, match=r"regions\[0\] \(sidewalk 'quay'\) reaches 4\.0 m beyond the mesh small\.glb"):
        read_scan(write(tmp_path / "small.glb", floor(5.0)), drawn)
    road = annotation(tmp_path / "b.geojson", [{"kind": "road", "box": (-5, -5, 5, 5)}])
    with pytest.raises(BadInput, match="no sidewalk"):
        read_scan(write(tmp_path / "a.glb", floor(10.0)), road)


def test_graph_runs_through_the_middle_and_over_crosswalks(tmp_path):
    regions = [
        {"kind": "sidewalk", "box": (-30, 3, 30, 6)},
        {"kind": "sidewalk", "box": (-30, -6, 30, -3)},
        {"kind": "crosswalk", "box": (-2, -3, 2, 3)},
    ]
    drawn = annotation(tmp_path / "a.geojson", regions)
    place = read_scan(write(tmp_path / "a.glb", floor(40.0)), drawn)
    kinds = [edge["kind"] for *_, edge in place.graph.edges(data=True)]
    assert kinds.count("crosswalk") == 1
    west = sorted(node for node in place.graph if place.graph.nodes[node]["xy"][0] < -20)
    assert [abs(place.graph.nodes[node]["xy"][1]) for node in west] == pytest.approx([4.5, 4.5], abs=0.1)
    route = place.route(*west)
    assert route.length == pytest.approx(2 * 28.5 + 9, abs=3)
    assert "crosswalk" in route.kinds
    on_side = np.abs(route.points[:, 0]) > 6
    assert np.abs(route.points[on_side, 1]) == pytest.approx(np.full(on_side.sum(), 4.5), abs=0.1)
    assert route.width[on_side] == pytest.approx(np.full(on_side.sum(), 3.0), abs=0.15)


def test_solids_between_ankle_and_chest():
    """A block, a kerb too low, a canopy too high, a hollow hut, and a wall round the ground."""
    ground = shapely.box(-8, -8, 8, 8)
    hut = [box(4, 4, 0, 4.1, 6, 2), box(5.9, 4, 0, 6, 6, 2), box(4, 4, 0, 6, 4.1, 2), box(4, 5.9, 0, 6, 6, 2)]
    fence = [box(-9, -9, 0, -8.9, 9, 1), box(8.9, -9, 0, 9, 9, 1), box(-9, -9, 0, 9, -8.9, 1), box(-9, 8.9, 0, 9, 9, 1)]
    ground = ground.difference(shapely.box(3.5, 3.5, 6.5, 6.5))
    mesh = [floor(10.0), box(0, 0, 0, 1, 1, 0.9), box(-4, 0, 0, -2, 2, 0.12), box(-4, -4, 2, -2, -2, 2.2), *hut, *fence]
    regions = slice_solids(np.concatenate(mesh), ground)
    found = sorted((shapely.Polygon(r.polygon, r.holes).area, r.height, len(r.holes)) for r in regions)
    assert len(found) == 3
    assert found[0] == pytest.approx((1.08**2, 0.9, 0), abs=0.02)
    assert found[1] == pytest.approx((2.08**2, 2.0, 0), abs=0.02)  # filled
    assert found[2][1:] == (1.0, 1)  # the fence stays hollow: one walks inside


def test_solids_come_from_the_mesh_if_asked(tmp_path):
    file = write(tmp_path / "a.glb", floor(10.0), box(0, 0, 0, 1, 1, 1))
    drawn = walk(tmp_path / "a.geojson")
    assert [r.name for r in read_scan(file, drawn).scene.regions] == ["quay"]
    assert [r.name for r in read_scan(file, drawn, solids_from_mesh=True).scene.regions] == ["quay", "scanned"]


def test_the_bundled_scan_passes_its_own_checks():
    place = read_scan(MESH, ANNOTATION)
    assert place.scene.mesh == str(MESH.resolve())
    assert place.graph.number_of_nodes() == bundled_place("lantern-court").graph.number_of_nodes()
    assert MESH.stat().st_size < 200_000


def test_scene_files_name_a_mesh_beside_them(tmp_path):
    (tmp_path / "meshes").mkdir()
    file = write(tmp_path / "meshes" / "a.glb", floor(10.0))
    walk(tmp_path / "a.geojson", mesh="meshes/a.glb")
    assert resolve_scene("a.geojson", tmp_path).mesh == str(file.resolve())
    (tmp_path / "a.yaml").write_text("mesh: meshes/a.glb\nregions: []\n", encoding="utf-8")
    assert resolve_scene("a.yaml", tmp_path).mesh == str(file.resolve())


@pytest.mark.parametrize("mesh", ["../a.glb", "/etc/passwd", "a/../../a.glb", "http://example.org/a.glb", "none.glb"])
def test_scene_files_do_not_reach_elsewhere(tmp_path, mesh):
    (tmp_path / "scenes").mkdir()
    write(tmp_path / "a.glb", floor(10.0))
    walk(tmp_path / "scenes" / "a.geojson", mesh=mesh)
    with pytest.raises(BadInput, match="mesh"):
        resolve_scene("a.geojson", tmp_path / "scenes")


def test_absolute_paths_and_links_that_lead_out_are_refused(tmp_path):
    (tmp_path / "scenes").mkdir()
    file = write(tmp_path / "a.glb", floor(10.0))
    walk(tmp_path / "scenes" / "a.geojson", mesh=str(file))
    with pytest.raises(BadInput, match="outside"):
        resolve_scene("a.geojson", tmp_path / "scenes")
    (tmp_path / "scenes" / "link.glb").symlink_to(file)
    walk(tmp_path / "scenes" / "a.geojson", mesh="link.glb")
    with pytest.raises(BadInput, match="outside"):
        resolve_scene("a.geojson", tmp_path / "scenes")


def test_cameras_see_the_mesh_with_the_labels_of_the_annotation():
    spec = bundled_place("lantern-court").scene
    scene = build_scene(spec)
    assert len(scene.mesh.triangles) == len(read_triangles(MESH))
    labels = {Semantic(int(value)) for value in np.unique(scene.mesh.semantic)}
    assert {Semantic.SIDEWALK, Semantic.ROAD, Semantic.BUILDING, Semantic.KERB, Semantic.GRASS, Semantic.TREE} <= labels
    assert Semantic.OTHER not in labels
    corners = scene.mesh.vertices[scene.mesh.triangles]
    lowest = corners[scene.mesh.semantic == int(Semantic.ROAD)][..., 2]
    assert lowest.min() == pytest.approx(-0.12, abs=1e-3)
    with pytest.raises(BadInput, match="without folders"):
        build_scene(SceneSpec(mesh="bundled:a/b.glb"))


def test_cameras_refuse_a_mesh_that_names_other_files(tmp_path):
    file = write(tmp_path / "a.glb", floor(10.0))
    assert len(build_scene(SceneSpec(mesh=str(file))).mesh.triangles) == 2
    edit(file, lambda d: d["buffers"][0].update(uri="../other.bin"))
    with pytest.raises(BadInput, match="refers to another file"):
        build_scene(SceneSpec(mesh=str(file)))
    with pytest.raises(BadInput, match=r"no such \.glb mesh"):
        build_scene(SceneSpec(mesh=str(tmp_path / "none.glb")))
