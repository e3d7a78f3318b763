"""A scene that has a mesh: the mesh as it is, its faces labelled by the annotation."""

from __future__ import annotations

import struct
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.reading import parse_gltf, read_bytes
from sidestep.render.gltf import load_environment
from sidestep.render.mesh import Scene3D, Semantic
from sidestep.render.scene.ground import PRIORITY, SEMANTIC
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.scene import Region, SceneSpec

BUNDLED = "bundled:"
LARGEST_FILE = 300_000_000  # bytes
LOW, HIGH = -0.4, 0.1  # m: faces that look up between these heights are ground
SOLIDS = {"building": Semantic.BUILDING, "furniture": Semantic.FURNITURE, "obstacle": Semantic.FURNITURE}
NAMED = {"tree": Semantic.TREE, "lamp post": Semantic.POLE, "sign post": Semantic.SIGN, "signal post": Semantic.POLE}
BESIDE, CROWN = 0.25, 2.5  # m: faces of a solid, and of a tree, may stand off its outline so far


def load_scanned(spec: SceneSpec) -> Scene3D:
    """The scene's mesh; the extra ``render`` reads it."""
    assert spec.mesh is not None
    scene = load_environment(_find(spec.mesh))
    corners = scene.mesh.vertices[scene.mesh.triangles]
    middle = corners.mean(axis=1)
    up = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] > 0
    ground = up & (middle[:, 2] > LOW) & (middle[:, 2] < HIGH)
    labels = scene.mesh.semantic.copy()
    for kind, label in SOLIDS.items():
        regions = [region for region in spec.regions if region.kind == kind]
        labels[~ground & _over(_joined(regions).buffer(BESIDE), middle)] = int(label)
    for name, label in NAMED.items():
        regions = [region for region in spec.regions if region.name == name]
        area = _joined(regions).buffer(CROWN if label == Semantic.TREE else BESIDE)
        free = np.isin(labels, (int(Semantic.OTHER), int(Semantic.FLOOR), int(Semantic.FURNITURE)))
        labels[~ground & free & _over(area, middle)] = int(label)
    step = ~up & (corners[..., 2].min(axis=1) > LOW) & (corners[..., 2].max(axis=1) < HIGH)
    labels[step & (labels == int(Semantic.OTHER))] = int(Semantic.KERB)
    labels[ground] = int(Semantic.GRASS)
    for kind in reversed(PRIORITY):
        regions = [region for region in spec.regions if region.kind == kind]
        labels[ground & _over(_joined(regions), middle)] = int(SEMANTIC[kind])
    return replace(scene, mesh=replace(scene.mesh, semantic=labels))


def _joined(regions: list[Region]) -> Any:
    return shapely.union_all([shapely.Polygon(region.polygon, region.holes) for region in regions])


def _over(area: Any, points: FloatArray) -> BoolArray:
    return np.asarray(shapely.contains_xy(area, points[:, 0], points[:, 1]))


def _find(mesh: str) -> Path:
    """The file: one that comes with Sidestep, or a path that the reader of the scene file made sure of."""
    if not mesh.startswith(BUNDLED):
        _check_self_contained(Path(mesh))
        return Path(mesh)
    name = mesh.removeprefix(BUNDLED)
    if Path(name).name != name:
        raise BadInput(f"mesh {mesh!r}: a bundled mesh is bundled:FILE without folders")
    return Path(str(files("sidestep"))) / "scenes" / "places" / "data" / name


def _check_self_contained(file: Path) -> None:
    """A mesh that names other files is not read: it could name any."""
    data = read_bytes(file, ".glb mesh", LARGEST_FILE)
    magic, _, _, length, _ = struct.unpack("<4sIIII", data[:20]) if len(data) >= 20 else (b"",) * 5
    if magic != b"glTF":
        raise BadInput(f"{file}: not a binary glTF file that can be read; export the mesh as .glb")
    parse_gltf(data[20 : 20 + length], str(file))
