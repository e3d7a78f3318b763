"""An exact ray caster, slow and plain, to judge the rasteriser by; and small scenes."""

from __future__ import annotations

import numpy as np

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.mesh import Instance, Material, Mesh, Model, Scene3D, Semantic

GREY = Material("grey", np.full((1, 1, 3), 0.4, np.float32))
BOTH = Material("both sides", np.full((1, 1, 3), 0.4, np.float32), two_sided=True)


def make_mesh(corners: np.ndarray, material: int = 0, semantic: int = Semantic.OTHER) -> Mesh:
    """A mesh from triangles (F, 3, 3), flat shaded."""
    corners = np.asarray(corners, np.float32)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).astype(np.float64)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    count = len(corners)
    return Mesh(
        corners.reshape(-1, 3),
        np.arange(3 * count).reshape(-1, 3),
        np.repeat(normal, 3, axis=0),
        corners.reshape(-1, 3)[:, :2],
        np.full(count, material),
        np.full(count, semantic),
    )


def make_scene(
    corners: np.ndarray, ids: np.ndarray | None = None, two_sided: bool = True, models: tuple[Model, ...] = ()
):
    """A scene of triangles (F, 3, 3), each with its own number unless given."""
    count = len(corners)
    ids = np.arange(1, count + 1) if ids is None else ids
    return Scene3D(make_mesh(corners), ids.astype(np.int32), (BOTH if two_sided else GREY,), models)


def world_triangles(scene: Scene3D, instances: list[Instance] | tuple[Instance, ...]):
    """All triangles (F, 3, 3) float64, their numbers, and whether both sides count; finest level of every instance."""
    mesh = scene.mesh
    parts = [mesh.vertices.astype(np.float64)[mesh.triangles]]
    ids = [np.asarray(scene.static_id)]
    sides = [np.array([scene.materials[m].two_sided for m in mesh.material], bool)]
    for one in instances:
        model = scene.models[one.model]
        level, hangs, weights = model.levels[0], model.bones[0], model.weights[0].astype(np.float64)
        points = np.c_[level.vertices.astype(np.float64), np.ones(len(level.vertices))]
        moved = np.einsum("vk,vkij,vj->vi", weights, one.bones.astype(np.float64)[hangs], points)
        parts.append(moved[level.triangles])
        ids.append(np.full(len(level.triangles), one.instance_id))
        sides.append(np.zeros(len(level.triangles), bool))
    return np.concatenate(parts), np.concatenate(ids), np.concatenate(sides)


def cast(camera: CameraModel, pose: CameraPose, triangles: np.ndarray, ids: np.ndarray, both: np.ndarray):
    """Depth along the axis (inf: none), number, and how near (pixels) an edge of any triangle passes to each centre.

    Möller and Trumbore's test for every pixel centre and triangle; only hits between near and far count.
    """
    local = (triangles - [pose.x, pose.y, pose.z]) @ pose.rotation
    u, v = np.meshgrid(np.arange(camera.width) + 0.5, np.arange(camera.height) + 0.5)
    rays = np.stack([np.ones_like(u), (camera.cx - u) / camera.fx, (camera.cy - v) / camera.fy], axis=-1).reshape(-1, 3)
    depth, number = np.full(len(rays), np.inf), np.zeros(len(rays), int)
    margin = np.full(len(rays), np.inf)
    a, e1, e2 = local[:, 0], local[:, 1] - local[:, 0], local[:, 2] - local[:, 0]
    for k in range(len(local)):
        if local[k, :, 0].max() < camera.near_m:
            continue
        p = np.cross(rays, e2[k])
        det = p @ e1[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (p @ -a[k]) / det
            q = np.cross(-a[k], e1[k])
            t = rays @ q / det
            far = e2[k] @ q / det
            hit = (s >= 0) & (t >= 0) & (s + t <= 1) & (far >= camera.near_m) & (far <= camera.far_m)
        if not both[k]:
            hit &= det > 0
        nearer = hit & (far < depth)
        depth[nearer], number[nearer] = far[nearer], ids[k]
        margin = np.minimum(margin, _edge_distance(camera, local[k], u.ravel(), v.ravel()))
    shape = (camera.height, camera.width)
    return depth.reshape(shape), number.reshape(shape), margin.reshape(shape)


def _edge_distance(camera: CameraModel, corners: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Pixels from each point to the nearest edge of a triangle cut at the near plane."""
    polygon = []
    for k in range(3):
        p, q = corners[k], corners[(k + 1) % 3]
        if p[0] >= camera.near_m:
            polygon.append(p)
        if (p[0] >= camera.near_m) != (q[0] >= camera.near_m):
            polygon.append(p + (camera.near_m - p[0]) / (q[0] - p[0]) * (q - p))
    if not polygon:
        return np.full(len(u), np.inf)
    flat = np.array([[camera.cx - camera.fx * p[1] / p[0], camera.cy - camera.fy * p[2] / p[0]] for p in polygon])
    least = np.full(len(u), np.inf)
    for p, q in zip(flat, np.roll(flat, -1, axis=0), strict=True):
        along = q - p
        share = np.clip(((u - p[0]) * along[0] + (v - p[1]) * along[1]) / max(along @ along, 1e-30), 0, 1)
        least = np.minimum(least, np.hypot(u - p[0] - share * along[0], v - p[1] - share * along[1]))
    return least
