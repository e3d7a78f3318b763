"""Scenes that look like a mesh from a file: scanned or modelled places in glTF (``.gltf``, ``.glb``) or another format
that trimesh reads, with the semantic classes of the 2D regions below. glTF is metric with y up; it is turned to z
up: (x, y, z) → (x, −z, y).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from sidestep._util.reading import MOST_MESH_BYTES, is_file, read_glb
from sidestep.errors import BadInput
from sidestep.render.mesh import Material, Mesh, Scene3D, Semantic, join_meshes, vertex_normals
from sidestep.render.scene.ground import PRIORITY, SEMANTIC
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.scene import Region, SceneSpec

SMALLEST, LARGEST = 0.5, 20_000.0  # m: the extent of a place
PICTURE = 256  # pixels: textures are scaled to this square
Y_UP = frozenset({".gltf", ".glb"})


def load_environment(
    path: Path | str,
    *,
    scale: float = 1.0,
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    heading: float = 0.0,
    semantic: Semantic = Semantic.OTHER,
    indoor: bool = False,
) -> Scene3D:
    """Read a mesh, multiply it by ``scale``, turn it by ``heading`` rad about z and put its origin at ``origin``, m.

    Each geometry of the file is an object with its own number. Faces that look up (within 30° of the vertical) are
    ``FLOOR`` unless ``semantic`` says otherwise.
    """
    file = Path(path)
    parts = _read(file)
    if not np.isfinite(scale) or scale <= 0:
        raise BadInput(f"{file}: scale must be a positive number, got {scale!r}")
    meshes: list[Mesh] = []
    owners: list[IntArray] = []
    materials: list[Material] = []
    for number, (geometry, transform) in enumerate(parts, start=1):
        vertices: FloatArray = np.asarray(geometry.vertices, np.float64) @ transform[:3, :3].T + transform[:3, 3]
        if file.suffix.lower() in Y_UP:
            vertices = vertices[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
        vertices = _to_scene_frame(vertices * scale, origin, heading)
        faces = np.asarray(geometry.faces, np.int64)
        if np.linalg.det(transform[:3, :3]) < 0:
            faces = faces[:, ::-1]
        material, uv = _surface(geometry, len(vertices), len(materials))
        meshes.append(_mesh(vertices, faces, uv, len(materials), semantic))
        owners.append(np.full(len(faces), number, np.int32))
        materials.append(material)
    mesh = join_meshes(meshes)
    _check_extent(file, mesh)
    return Scene3D(mesh, np.concatenate(owners), tuple(materials), (), indoor)


def _read(file: Path) -> list[tuple[Any, FloatArray]]:
    """Every geometry that has faces, with its place in the scene."""
    if not is_file(file):
        raise BadInput(f"{file}: no such file; give the path of a .glb, .gltf, .obj, .ply or .stl mesh")
    if file.stat().st_size > MOST_MESH_BYTES:
        raise BadInput(f"{file}: more than {MOST_MESH_BYTES / 1e6:g} MB, the limit for a mesh; thin it out")
    if file.suffix.lower() == ".glb":
        read_glb(file)
    import trimesh

    try:
        scene = trimesh.load_scene(file, process=False)
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise BadInput(f"{file}: not a mesh that can be read ({type(error).__name__}: {error!s:.200})") from error
    parts: list[tuple[Any, FloatArray]] = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        faces = getattr(geometry, "faces", None)
        if faces is None or len(faces) == 0:
            continue
        corners, used = np.asarray(geometry.vertices), np.unique(faces)
        if corners.ndim != 2 or corners.shape[1] != 3 or used[0] < 0 or used[-1] >= len(corners):
            raise BadInput(f"{file}: geometry {name!r:.80} has faces without corners; export it again")
        used = corners[used]
        if not np.isfinite(used).all() or not np.isfinite(transform).all():
            raise BadInput(f"{file}: geometry {name!r:.80} has corners that are not finite; export it again")
        parts.append((geometry, np.asarray(transform, np.float64)))
    if not parts:
        raise BadInput(f"{file}: has no faces (a point cloud or an empty scene?); export triangles")
    return parts


def _check_extent(file: Path, mesh: Mesh) -> None:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    extent = float((high - low).max())
    if not SMALLEST <= extent <= LARGEST:
        raise BadInput(
            f"{file}: the place would be {extent:.3g} m across; {SMALLEST:g} m to {LARGEST / 1000:g} km are accepted. "
            "Is it in millimetres, centimetres or feet? Give scale=0.001, 0.01 or 0.3048"
        )


def _to_scene_frame(vertices: FloatArray, origin: tuple[float, float, float], heading: float) -> FloatArray:
    c, s = np.cos(heading), np.sin(heading)
    return np.asarray(vertices @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + np.asarray(origin))


def _mesh(vertices: FloatArray, faces: Any, uv: FloatArray, material: int, semantic: Semantic) -> Mesh:
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(area, axis=1, keepdims=True)
    labels = np.full(len(faces), int(semantic), np.uint8)
    if semantic == Semantic.OTHER:
        upward = (area[:, 2] / np.maximum(length[:, 0], 1e-12)) > np.cos(np.radians(30))
        labels[upward] = int(Semantic.FLOOR)
    normals, materials = vertex_normals(vertices, faces), np.full(len(faces), material)
    return Mesh(np.nan_to_num(vertices), faces, normals, uv, materials, labels)


def _surface(geometry: Any, count: int, index: int) -> tuple[Material, FloatArray]:
    """The base colour picture or colour; pictures are resampled to a square, so uv 0 … 1 is one picture of 1 m."""
    visual = geometry.visual
    uv = getattr(visual, "uv", None)
    material = getattr(visual, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None and uv is not None and len(uv) == count:
        square = np.asarray(image.convert("RGB").resize((PICTURE, PICTURE)), np.float64)[::-1] / 255.0
        return Material(f"picture {index}", (square**2.2).astype(np.float32), 1.0, True), np.asarray(uv, np.float64)
    factor = getattr(material, "baseColorFactor", None)
    painted = visual if material is None else material
    colour = np.clip(np.asarray(painted.main_color if factor is None else factor, np.float64)[:3] / 255.0, 0.0, 1.0)
    linear = colour**2.2 if factor is None else colour  # glTF factors are linear
    return Material(f"colour {index}", linear.astype(np.float32).reshape(1, 1, 3), 1.0, True), np.zeros((count, 2))


BUNDLED = "bundled:"
LOW, HIGH = -0.4, 0.1  # m: faces that look up between these heights are ground
SOLIDS = {"building": Semantic.BUILDING, "furniture": Semantic.FURNITURE, "obstacle": Semantic.FURNITURE}
NAMED = {"tree": Semantic.TREE, "lamp post": Semantic.POLE, "sign post": Semantic.SIGN, "signal post": Semantic.POLE}
BESIDE, CROWN = 0.25, 2.5  # m: faces of a solid, and of a tree, may stand off its outline so far


def load_scanned(spec: SceneSpec) -> Scene3D:
    """The scene's mesh."""
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
        read_glb(Path(mesh))
        return Path(mesh)
    name = mesh.removeprefix(BUNDLED)
    if Path(name).name != name:
        raise BadInput(f"mesh {mesh!r}: a bundled mesh is bundled:FILE without folders")
    return Path(str(files("sidestep"))) / "scenes" / "places" / "data" / name
