"""A scanned place: a binary glTF 2.0 mesh (``.glb``) that cameras see, and an annotation of where its sidewalks and
crosswalks are. The annotation is GeoJSON in the mesh's own metres (``"scene": {"crs": "local"}``): x and y as in
the mesh turned to z up, (x, y, z) → (x, −z, y), sidewalks at z = 0. Its obstacle, building and furniture polygons
are the solids; more can be found in the mesh: whatever of it lies between ankle and chest height, seen from above.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep._util.reading import read_glb
from sidestep.errors import BadInput
from sidestep.scenes.compile import FARTHEST, describe, region_polygon
from sidestep.scenes.geojson import read_geojson
from sidestep.scenes.places import grid
from sidestep.scenes.places.grid import as_region
from sidestep.scenes.places.place import WALKABLE_KINDS, Place, make_graph, walking_lines
from sidestep.scenes.walkways import resample
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, Region, SceneSpec

MOST_TRIANGLES = 5_000_000


def read_triangles(path: Path) -> FloatArray:
    """Corners of all triangles ``(T, 3, 3)``, m, z up."""
    data = read_glb(path)
    import trimesh

    try:
        scene = trimesh.load_scene(io.BytesIO(data), file_type="glb", process=False, skip_materials=True)
        parts = [(*scene.graph[node],) for node in scene.graph.nodes_geometry]
        meshes = [(scene.geometry[name], matrix) for matrix, name in parts if hasattr(scene.geometry[name], "faces")]
        if sum(len(mesh.faces) for mesh, _ in meshes) > MOST_TRIANGLES:
            raise ValueError(f"more than {MOST_TRIANGLES:,} triangles; thin the mesh out")
        placed = [
            (exact.matmul(np.asarray(mesh.vertices, np.float64), matrix[:3, :3].T) + matrix[:3, 3])[mesh.faces]
            for mesh, matrix in meshes
        ]
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise BadInput(
            f"{path}: not a plain triangle mesh ({type(error).__name__}: {error!s:.200}); export without compression"
        ) from None
    triangles = np.concatenate([*placed, np.zeros((0, 3, 3))])
    if not len(triangles):
        raise BadInput(f"{path}: has no triangles; export the mesh itself in a scene, not only lights or points")
    if not (np.abs(triangles) <= FARTHEST).all():
        raise BadInput(
            f"{path}: has positions that are not finite or more than {FARTHEST / 1000:g} km from the origin; repair it"
        )
    return np.asarray(triangles[..., [0, 2, 1]] * (1.0, -1.0, 1.0))


LOW, HIGH = 0.15, 1.5  # m above the ground
THIN = 0.04  # m: half the thickness that upright faces get
SMALLEST_SOLID = 0.01  # m²
MOST_SLICED_TRIANGLES = 400_000  # triangles in the slice


def slice_solids(triangles: FloatArray, ground: Any, low: float = LOW, high: float = HIGH) -> list[Region]:
    """Outlines of the triangles ``(T, 3, 3)`` between two heights (m) over z = 0.

    Upright faces count with a thickness of 8 cm. A hollow outline is filled unless some of ``ground``, where people
    walk, lies in it. A region's height is that of the highest triangle which touches it.
    """
    z = triangles[..., 2]
    reached = (z.min(axis=1) < high) & (z.max(axis=1) > low)
    if reached.sum() > MOST_SLICED_TRIANGLES:
        raise BadInput(
            f"the mesh has {int(reached.sum())} triangles up to {high} m, "
            f"at most {MOST_SLICED_TRIANGLES} are sliced; thin it out"
        )
    shapes, tops = [], []
    for triangle in triangles[reached]:
        part = _between(_between(triangle, low, 1.0), high, -1.0)
        if len(part) > 2:
            shapes.append(
                grid.grown(shapely.MultiPoint(part[:, :2]).convex_hull, THIN, quad_segs=1, join_style="mitre")
            )
            tops.append(float(triangle[:, 2].max()))
    if not shapes:
        return []
    joined = shapely.simplify(grid.union(shapes), THIN / 2)
    tree = shapely.STRtree(shapes)
    regions = []
    for polygon in shapely.get_parts(joined):
        holes = [ring for ring in polygon.interiors if shapely.Polygon(ring).intersects(ground)]
        filled = shapely.Polygon(polygon.exterior, holes)
        if filled.area > SMALLEST_SOLID and filled.is_valid:
            top = max(tops[k] for k in tree.query(polygon, predicate="intersects"))
            regions.append(as_region("obstacle", filled, "scanned", round(top, 2)))
    return regions


def _between(polygon: FloatArray, level: float, sign: float) -> FloatArray:
    """The part of a convex polygon ``(K, 3)`` above (``sign`` 1) or below (−1) a level (Sutherland, Hodgman 1974)."""
    part: list[FloatArray] = []
    for k, corner in enumerate(polygon):
        before = polygon[k - 1]
        here, there = sign * (corner[2] - level), sign * (before[2] - level)
        if (here >= 0) != (there >= 0):
            part.append(before + (corner - before) * (there / (there - here)))
        if here >= 0:
            part.append(corner)
    return np.array(part).reshape(-1, 3)


SMALLEST_EXTENT, LARGEST_EXTENT = 2.0, 5000.0  # m: the extent of a place
OUTSIDE = 0.5  # m by which an annotation may reach beyond the mesh
LEVEL = 0.4  # m between the sidewalks of the mesh and z = 0
LARGE = 1.0  # m²: routes lead round larger solids; the robot itself keeps off smaller ones


def read_scan(mesh: Path | str, annotation: Path | str, *, solids_from_mesh: bool = False) -> Place:
    """Mesh and annotation to a place; ``solids_from_mesh`` adds what the mesh has 0.15 to 1.5 m over the ground."""
    file, annotated = Path(mesh), Path(annotation)
    if file.suffix.lower() != ".glb":
        raise BadInput(f"{file}: a scanned place is a .glb mesh; export it as binary glTF")
    triangles = read_triangles(file)
    _check_scale(triangles, file)
    scene = read_geojson(annotated)
    _check_inside(scene, triangles, file, annotated)
    place = place_from_annotation(scene, annotated.stem, str(annotated))
    _check_level(place, triangles, file)
    regions = scene.regions
    if solids_from_mesh:
        regions = (*regions, *slice_solids(triangles, place.walkable_area))
    update = {"regions": regions, "mesh": str(file.resolve()), "source": scene.source or f"scan {file.name}"}
    return Place(place.name, scene.model_copy(update=update), place.graph)


def place_from_annotation(scene: SceneSpec, name: str, where: str = "annotation") -> Place:
    """The graph of a scene that has no lines: through the middle of its sidewalks and crosswalks."""
    polygons = [(r, region_polygon(r, f"{where}: {describe(r, k)}")) for k, r in enumerate(scene.regions)]
    walked = grid.joined([polygon for region, polygon in polygons if region.kind in WALKABLE_KINDS])
    if walked.area < 1.0:
        raise BadInput(f"{where}: has no sidewalk, crosswalk, ramp or walkable region; annotate where one walks")
    blocks = [polygon for region, polygon in polygons if region.kind in SOLID and polygon.area > LARGE]
    crossings = grid.joined([polygon for region, polygon in polygons if region.kind in ("crosswalk", "ramp")])
    area = grid.difference(walked, grid.joined(blocks)) if blocks else walked
    return Place(name, scene, make_graph(walking_lines(area, crossings)))


def _check_scale(triangles: FloatArray, file: Path) -> None:
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    extent = float((high - low)[:2].max())
    if not SMALLEST_EXTENT <= extent <= LARGEST_EXTENT:
        raise BadInput(
            f"{file}: the place is {extent:.3g} m across, {SMALLEST_EXTENT:g} m to "
            f"{LARGEST_EXTENT / 1000:g} km are accepted; "
            "is it in millimetres, centimetres or feet? Export it in metres"
        )


def _check_inside(scene: SceneSpec, triangles: FloatArray, file: Path, annotation: Path) -> None:
    (x0, y0), (x1, y1) = triangles.min(axis=(0, 1))[:2], triangles.max(axis=(0, 1))[:2]
    for index, region in enumerate(scene.regions):
        corners = np.asarray(region.polygon)
        beyond = (
            float(max((x0, y0) - corners.min(axis=0), key=float)),
            float(max(corners.max(axis=0) - (x1, y1), key=float)),
        )
        if max(beyond) > OUTSIDE:
            raise BadInput(
                f"{annotation}: {describe(region, index)} reaches {max(beyond):.1f} m beyond the mesh {file.name}, "
                f"which spans x {x0:.1f} … {x1:.1f}, y {y0:.1f} … {y1:.1f} m; use the mesh's own metres in both files"
            )


def _check_level(place: Place, triangles: FloatArray, file: Path) -> None:
    """The sidewalks of the mesh must be at z = 0, or people would float: of all faces under a walking line, the one
    nearest to 0 counts."""
    lines = [resample(edge["line"], 1.0) for *_, edge in place.graph.edges(data=True)]
    points = np.concatenate([*lines, np.zeros((0, 2))])
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    flat = np.abs(normal[:, 2]) > 0.8 * np.maximum(exact.norm(normal), 1e-12)
    faces, normal = triangles[flat], normal[flat]
    which, owner = shapely.STRtree(shapely.polygons(faces[:, :, :2])).query(shapely.points(points), "intersects")
    if not len(which):
        raise BadInput(f"{file}: has no ground under the annotated sidewalks; do both files use the same metres?")
    gap = points[which] - faces[owner, 0, :2]
    z = faces[owner, 0, 2] - (gap * normal[owner, :2]).sum(axis=1) / normal[owner, 2]
    nearest = np.full(len(points), np.inf)
    order = np.argsort(-np.abs(z), kind="stable")
    nearest[which[order]] = z[order]  # the last one written is the nearest to 0
    height = float(np.median(nearest[np.isfinite(nearest)]))
    if abs(height) > LEVEL:
        raise BadInput(
            f"{file}: the annotated sidewalks are at z = {height:.2f} m; move the mesh by {-height:.2f} m, "
            "so that they are at 0"
        )
