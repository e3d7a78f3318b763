"""What a level camera in the plane of the planar lidar measures, beside the lidar itself and beside the solids that the
referee knows."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, hypot, pi, radians
from typing import Any

import numpy as np
import shapely

from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.mesh import Scene3D, Semantic
from sidestep.render.renderer import Renderer
from sidestep.render.scene import build_scene, ground_height
from sidestep.render.scene.solids import FLUSH, HEAD_ROOM, SCAN_HEIGHT
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask
from sidestep.simulation.sensors import Lidar
from sidestep.types.scene import OPEN, SOLID, CompiledScene, SceneSpec
from sidestep.types.sensors import LidarSettings

REACH = 20.0
"""m: the range of the lidar."""
PIXELS = 61
LENS = CameraModel(PIXELS, 1, radians(110.0))
"""One row, whose pixels look along the horizon."""
ERROR = 0.006
"""m: depth is within 1 mm, corners of the scene are rounded to 1 mm and of compiled walls to 0.1 mm."""
NOBODY = np.zeros((32, 0), np.float32), np.zeros((32, 0), np.int32)
WORLD = 500.0


def solid_area(spec: SceneSpec) -> Any:
    """What nobody can enter, up to ``WORLD`` m."""

    def union(kinds: frozenset[str]) -> Any:
        return shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind in kinds])

    solid = union(SOLID)
    if spec.enclosed:
        solid = shapely.union(solid, shapely.box(-WORLD, -WORLD, WORLD, WORLD).difference(union(OPEN)))
    return solid


def edges(area: Any) -> np.ndarray:
    """(E, 4) float32: the edges of an area."""
    rings = [np.asarray(ring.coords) for part in shapely.get_parts(area) for ring in (part.exterior, *part.interiors)]
    found = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    return np.concatenate([np.zeros((0, 4)), *found]).astype(np.float32)


def cast(segments: np.ndarray, x: float, y: float, angles: np.ndarray) -> np.ndarray:
    """Ranges of the planar lidar along ``angles``, one ray at a time."""
    scans = []
    for angle in angles.tolist():
        turned = (angle + pi) % (2 * pi) - pi
        lidar = Lidar(LidarSettings(rays=1, angle_min=turned, max_range=REACH), segments)
        scans.append(float(lidar.sense(*NOBODY, (x, y, 0.0), -1).ranges[0]))
    return np.array(scans)


@dataclass(frozen=True)
class Place:
    """A scene with all that sees it."""

    compiled: CompiledScene
    drawn: Scene3D
    renderer: Renderer
    tight: np.ndarray  # edges of the solids, shrunk by ``FLUSH``
    wide: np.ndarray  # edges of the solids, grown by ``FLUSH``

    @classmethod
    def of(cls, spec: SceneSpec, seed: int = 0) -> Place:
        drawn, solid = build_scene(spec, seed), solid_area(spec)
        spare = FLUSH + 0.002
        tight, wide = (solid.buffer(shift, join_style="mitre") for shift in (-spare, spare))
        return cls(compile_scene(spec), drawn, Renderer(drawn, LENS, shadows=False), edges(tight), edges(wide))

    def free_poses(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """(count, 3) x, y and heading of places where a small robot may be, also a little beyond the drawing."""
        x0, y0, x1, y1 = self.compiled.bounds
        x0, y0, x1, y1 = x0 - 3.0, y0 - 3.0, x1 + 3.0, y1 + 3.0
        points = rng.uniform((x0, y0), (x1, y1), (400 * count, 2))
        free = points[free_mask(self.compiled, points, 0.25)][:count]
        return np.column_stack([free, rng.uniform(-pi, pi, len(free))])

    def disagreements(self, x: float, y: float, heading: float) -> list[str]:
        """Where depth along the horizon of a camera in the scan plane is not what the lidar says."""
        z = float(ground_height(self.compiled).at(np.array([[x, y]]))[0]) + SCAN_HEIGHT
        images = self.renderer.render(CameraPose(x, y, z, heading), (), {"depth", "semantic"})
        assert images.depth is not None
        assert images.semantic is not None
        aside = [(LENS.cx - k - 0.5) / LENS.fx for k in range(PIXELS)]
        seen = images.depth[0] * np.array([hypot(1.0, each) for each in aside])
        angles = heading + np.array([atan(each) for each in aside])
        lidar = cast(self.compiled.segments, x, y, angles)
        nearest, farthest = cast(self.wide, x, y, angles), cast(self.tight, x, y, angles)
        found = []
        for k in range(PIXELS):
            here = min(float(seen[k]), REACH)
            if not all(nearest[k] - ERROR <= each <= farthest[k] + ERROR for each in (here, lidar[k])):
                found.append(
                    f"({x:.3f}, {y:.3f}) towards {angles[k]:.3f}: depth {here:.3f} m "
                    f"({Semantic(int(images.semantic[0, k])).name}), lidar {lidar[k]:.3f} m, "
                    f"within {nearest[k]:.3f} and {farthest[k]:.3f} m"
                )
        return found


def ghosts(drawn: Scene3D, spec: SceneSpec, low: float = 0.15, high: float = HEAD_ROOM - 0.01) -> list[np.ndarray]:
    """Triangles that stand anywhere between two heights and reach out of the solids by more than ``FLUSH``."""
    triangles = drawn.mesh.vertices.astype(np.float64)[drawn.mesh.triangles]
    z = triangles[:, :, 2]
    between = (z.min(axis=1) < high) & (z.max(axis=1) > low) & (drawn.mesh.semantic != Semantic.SKY)
    stands = triangles[between]
    parts = [_between(_between(corners, low, 1.0), high, -1.0) for corners in stands]
    shadows = np.array([shapely.MultiPoint(part[:, :2]).convex_hull if len(part) > 2 else None for part in parts])
    free = shapely.box(-WORLD * 10, -WORLD * 10, WORLD * 10, WORLD * 10).difference(solid_area(spec))
    free = free.buffer(-FLUSH - 0.002, join_style="mitre")
    shapely.prepare(free)
    return list(stands[shapely.intersects(free, shadows)]) if len(stands) else []


def _between(polygon: np.ndarray, level: float, sign: float) -> np.ndarray:
    part: list[np.ndarray] = []
    for k, corner in enumerate(polygon):
        before = polygon[k - 1]
        here, there = sign * (corner[2] - level), sign * (before[2] - level)
        if (here >= 0) != (there >= 0):
            part.append(before + (corner - before) * (there / (there - here)))
        if here >= 0:
            part.append(corner)
    return np.array(part).reshape(-1, 3)
