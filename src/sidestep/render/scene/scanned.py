"""A scene that has a mesh: the mesh as it is, its faces labelled by the annotation."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.render.gltf import load_environment
from sidestep.render.mesh import Scene3D, Semantic
from sidestep.render.scene.ground import PRIORITY, SEMANTIC
from sidestep.types.scene import SceneSpec

BUNDLED = "bundled:"
LOW, HIGH = -0.4, 0.1  # m: faces that look up between these heights are ground
SOLIDS = {"building": Semantic.BUILDING, "furniture": Semantic.FURNITURE, "obstacle": Semantic.FURNITURE}
BESIDE = 0.25  # m: faces of a solid may stand off its outline so far


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
        area = _area(spec, kind).buffer(BESIDE)
        labels[~ground & shapely.contains_xy(area, middle[:, 0], middle[:, 1])] = int(label)
    labels[ground] = int(Semantic.GRASS)
    for kind in reversed(PRIORITY):
        labels[ground & shapely.contains_xy(_area(spec, kind), middle[:, 0], middle[:, 1])] = int(SEMANTIC[kind])
    return replace(scene, mesh=replace(scene.mesh, semantic=labels))


def _area(spec: SceneSpec, kind: str) -> shapely.Geometry:
    return shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind == kind])


def _find(mesh: str) -> Path:
    """The file: one that comes with Sidestep, or a path that the reader of the scene file made sure of."""
    if not mesh.startswith(BUNDLED):
        return Path(mesh)
    name = mesh.removeprefix(BUNDLED)
    if Path(name).name != name:
        raise BadInput(f"mesh {mesh!r}: a bundled mesh is bundled:FILE without folders")
    return Path(str(files("sidestep"))) / "scenes" / "places" / "data" / name
