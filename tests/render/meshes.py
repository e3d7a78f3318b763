"""Measures of meshes that the tests compare with what they should be."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.render.mesh import Scene3D, Semantic


def corners(scene: Scene3D) -> np.ndarray:
    """(F, 3, 3) float64: the corners of every triangle."""
    return scene.mesh.vertices.astype(np.float64)[scene.mesh.triangles]


def area_vectors(triangles: np.ndarray) -> np.ndarray:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2


def volumes(triangles: np.ndarray) -> np.ndarray:
    """∫ x n_x, ∫ y n_y, ∫ z n_z over the surface: three times the volume's value when it is closed and looks outwards.
    The z one also ignores a missing bottom at z = 0."""
    return (triangles.mean(axis=1) * area_vectors(triangles)).sum(axis=0)


def of_class(scene: Scene3D, *classes: Semantic) -> np.ndarray:
    return np.isin(scene.mesh.semantic, [int(c) for c in classes])


def flat_pictures(triangles: np.ndarray) -> list:
    """Triangles as polygons on the ground plane, without those that stand upright."""
    polygons = [shapely.Polygon(t[:, :2]) for t in triangles]
    return [polygon for polygon in polygons if polygon.area > 1e-9]


def overlaps_in_plane(scene: Scene3D, tolerance: float = 2e-3) -> list[tuple[float, np.ndarray]]:
    """Areas where two triangles lie in the same plane, look the same way and overlap: they would flicker."""
    triangles = corners(scene)
    vectors = area_vectors(triangles)
    size = np.linalg.norm(vectors, axis=1)
    triangles, normals = triangles[size > 1e-7], (vectors / np.maximum(size, 1e-12)[:, None])[size > 1e-7]
    offset = (triangles.mean(axis=1) * normals).sum(axis=1)
    keys = np.column_stack([np.round(normals * 200), np.round(offset * 500)]).astype(np.int64)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for index in np.flatnonzero(np.bincount(group.ravel()) > 1):
        members = triangles[group.ravel() == index]
        normal = normals[group.ravel() == index][0]
        along = np.cross(normal, [0.0, 0.0, 1.0]) if abs(normal[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
        along /= np.linalg.norm(along)
        plane = np.stack([members @ along, members @ np.cross(normal, along)], axis=-1)
        shapes = shapely.polygons(plane)
        double = shapely.area(shapes).sum() - shapely.union_all(shapely.make_valid(shapes)).area
        if double > tolerance:
            found.append((float(double), members[0].mean(axis=0)))
    return found
