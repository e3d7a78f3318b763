"""Maps about the camera that shading reads: the shadow map of the sun, the map of ground that is darker near what
stands on it, and the level plane that wet ground mirrors in. Each depends on where the camera is, rounded, and not
on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sidestep.render.camera_model import CameraPose
from sidestep.render.mesh import Model, Scene3D, Semantic
from sidestep.render.packing import LIE_FLAT, SOAK
from sidestep.render.raster import layout as L
from sidestep.render.raster.shadow import draw_static_shadow, pack_shelter, spread_distance, stamp_shelter
from sidestep.types.base import BoolArray, FloatArray, IntArray

HALF_SIDE = 32.0  # m about the camera that have shadows
STEP = 8.0  # m: the map moves with the camera in steps, and what stands still is redrawn only then


class ShadowMap:
    """Heights along the light on a square of texels about the camera's place, rounded to ``STEP``: so a picture depends
    on where the camera is, not on where it was."""

    def __init__(self, static: L.StaticArrays, size: int) -> None:
        self._static, self.size = static, size
        self._arrays: L.ShadowArrays | None = None
        self._key: tuple[float, ...] = ()
        self._touched: IntArray = np.zeros((1, 4), np.int32)
        self._direction = np.array([0.0, 0.0, 1.0])
        self.drawn = 0
        """Boxes of ``touched`` that hold shadows of the last frame."""

    def aim(self, direction: FloatArray) -> None:
        """Let the light come from ``direction``, a unit vector."""
        self._direction = direction

    def touched(self, count: int) -> IntArray:
        """Room for at least ``count`` boxes; kept from frame to frame."""
        self._touched = _grown(self._touched, count)
        return self._touched

    def at(self, pose: CameraPose, wanted: bool) -> L.ShadowArrays:
        """The maps for a camera at ``pose``; they are drawn only if ``wanted``."""
        centre = np.array([round(pose.x / STEP) * STEP, round(pose.y / STEP) * STEP, 0.0])
        key = (*centre, *self._direction)
        if self._arrays is None or key != self._key:
            self._key = key
            to_texels, planes = self._look_from(centre)
            if self._arrays is None:
                static, moving = np.empty((2, self.size**2 if wanted else 1), np.float32)
                rays, eye = np.empty(9, np.float32), np.empty(3, np.float32)
                self._arrays = L.ShadowArrays(static, moving, to_texels, planes, rays, eye, self.size)
            self._arrays = self._arrays._replace(to_texels=to_texels, planes=planes)
            if wanted:
                draw_static_shadow(to_texels, self._static, self.size, self._arrays.static)
                self._arrays.map[:] = self._arrays.static
                self.drawn = 0
        return self._arrays

    def _look_from(self, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
        toward = self._direction
        side = np.cross([0.0, 0.0, 1.0], toward) if abs(toward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        side /= np.linalg.norm(side)
        up = np.cross(toward, side)
        per_metre = self.size / (2 * HALF_SIDE)
        view = np.zeros((3, 4))
        view[0, :3], view[1, :3], view[2, :3] = side * per_metre, up * per_metre, toward
        view[:2, 3] = self.size / 2 - view[:2, :3] @ centre
        planes = np.zeros((4, 4))
        for k in range(2):
            planes[2 * k] = view[k]
            planes[2 * k + 1] = -view[k]
            planes[2 * k + 1, 3] += self.size
        planes /= per_metre
        return view.ravel(), planes


def _grown(boxes: IntArray, count: int) -> IntArray:
    """``boxes`` (B, 4) int32, or a larger copy with room for ``count``."""
    if len(boxes) >= count:
        return boxes
    larger = np.zeros((2 * count, 4), np.int32)
    larger[: len(boxes)] = boxes
    return larger


GAP = 0.1  # m between points along an edge
LOW = 0.35  # m: what stands on the ground has a corner lower than this,
RISES = 0.12  # m: and one higher than this
TALL = 1.5  # m
NEAR_TALL, NEAR_ANY = (1.8, 125.0), (0.4, 180.0)
"""How far shelter reaches, m, and how strong it is at the foot, of 255."""


class Shelter:
    """The map about the camera's place, rounded to ``STEP`` as that of shadows is."""

    def __init__(self, scene: Scene3D, models: Sequence[Model]) -> None:
        self._points, self._tall = _standing(scene)
        self._feet = np.array([_feet(model) for model in models], np.float32).reshape(-1, 4)
        self._centre: tuple[float, float] | None = None
        plain = np.zeros((L.SHELTER_SIZE, L.SHELTER_SIZE), np.uint8)
        packed, boxes = np.zeros(L.SHELTER_SIZE**2, np.uint32), np.zeros((1, 4), np.int32)
        self._arrays = L.ShelterArrays(np.zeros_like(plain), plain, packed, boxes)
        self._stamped = 0

    def at(self, pose: CameraPose, instances: L.InstanceArrays) -> tuple[IntArray, float, float]:
        """The packed map with ``instances`` on it for a camera at ``pose``, and where it begins, m."""
        centre = (round(pose.x / STEP) * STEP, round(pose.y / STEP) * STEP)
        x, y = centre[0] - HALF_SIDE, centre[1] - HALF_SIDE
        if centre != self._centre:
            self._centre = centre
            self._draw_static(x, y)
        boxes = _grown(self._arrays.boxes, len(instances.model))
        self._arrays = self._arrays._replace(boxes=boxes)
        self._stamped = stamp_shelter(x, y, self._feet, instances, self._stamped, self._arrays)
        return self._arrays.packed, x, y

    def _draw_static(self, x: float, y: float) -> None:
        places = np.floor((self._points - (x, y)) * L.SHELTER_PER_METRE).astype(np.int64)
        inside = ((places >= 0) & (places < L.SHELTER_SIZE)).all(axis=1)
        values = np.maximum(_fade(places[inside & self._tall], *NEAR_TALL), _fade(places[inside], *NEAR_ANY))
        self._arrays.static[:] = values
        self._arrays.plain[:] = values
        pack_shelter(
            np.array([0, 0, L.SHELTER_SIZE, L.SHELTER_SIZE], np.int32), self._arrays.plain, self._arrays.packed
        )
        self._stamped = 0


def _fade(places: IntArray, reach: float, strength: float) -> FloatArray:
    distance = np.full((L.SHELTER_SIZE, L.SHELTER_SIZE), 1e6, np.float32)
    distance[places[:, 1], places[:, 0]] = 0.0
    spread_distance(distance)
    rest = np.maximum(1.0 - distance / np.float32(reach * L.SHELTER_PER_METRE), 0.0)
    return np.asarray(strength * rest * rest)


def _standing(scene: Scene3D) -> tuple[FloatArray, BoolArray]:
    """Points (P, 2) along the edges of static faces that stand on the ground, and whether each is tall."""
    mesh = scene.mesh
    corners = mesh.vertices[mesh.triangles]
    low, high = corners[:, :, 2].min(axis=1), corners[:, :, 2].max(axis=1)
    flat = np.isin(mesh.semantic, (*LIE_FLAT, Semantic.KERB))
    used = ~flat & (low < LOW) & (high > RISES)
    corners, tall = corners[used], high[used] > TALL
    points: list[FloatArray] = [np.zeros((0, 2))]
    owners: list[BoolArray] = [np.zeros(0, bool)]
    for k in range(3):
        start, end = corners[:, k, :2].astype(float), corners[:, (k + 1) % 3, :2].astype(float)
        grounded = np.minimum(corners[:, k, 2], corners[:, (k + 1) % 3, 2]) < LOW
        start, end, high_enough = start[grounded], end[grounded], tall[grounded]
        count = 1 + np.ceil(np.hypot(*(end - start).T) / GAP).astype(int)
        owner = np.repeat(np.arange(len(start)), count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        share = step / np.maximum(np.repeat(count, count) - 1, 1)
        points.append(start[owner] + (end - start)[owner] * share[:, None])
        owners.append(high_enough[owner])
    return np.concatenate(points), np.concatenate(owners)


def _feet(model: Model) -> tuple[float, float, float, float]:
    """Middle x, y and half size of what is lower than 0.4 m of the rest pose."""
    vertices = model.levels[0].vertices
    foot = vertices[vertices[:, 2] < vertices[:, 2].min() + 0.4, :2]
    low, high = foot.min(axis=0), foot.max(axis=0)
    return tuple(float(v) for v in (*(low + high) / 2, *(high - low) / 2))  # type: ignore[return-value]


PLANE_CELL = 1.0  # m: the plane is chosen for a camera at the nearest of places so far apart,
SECTORS = 16  # looking in the nearest of so many directions, so that it depends on where the camera is, not was
DISTANCES = (2.0, 3.5, 6.0, 10.0)  # m ahead
ANGLES = np.radians((-24.0, 0.0, 24.0))
LEVEL_STEP = 0.04  # m: ground this level counts as one


class GroundPlane:
    """Heights of ground that holds water, asked for below points."""

    def __init__(self, scene: Scene3D) -> None:
        mesh = scene.mesh
        corners = mesh.vertices[mesh.triangles[np.isin(mesh.semantic, list(SOAK))]].astype(float)
        edges = corners[:, 1:, :2] - corners[:, :1, :2]
        area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
        level = (area > 1e-6) & (np.ptp(corners[:, :, 2], axis=1) < 0.5)
        self._corner, self._edges, self._area = corners[level, 0], edges[level], area[level]
        self._height = corners[level, :, 2].mean(axis=1)
        self._known: dict[tuple[int, int, int], float] = {}

    def at(self, pose: CameraPose) -> float:
        """Height of the plane for a camera at ``pose``, m."""
        turn = round(pose.yaw / (2 * math.pi) * SECTORS) % SECTORS
        key = (round(pose.x / PLANE_CELL), round(pose.y / PLANE_CELL), turn)
        if key not in self._known:
            angles = turn * 2 * math.pi / SECTORS + ANGLES
            ahead = np.array([[d * math.cos(a), d * math.sin(a)] for d in DISTANCES for a in angles])
            heights = self._below(ahead + np.array(key[:2]) * PLANE_CELL)
            levels, counts = np.unique(np.round(heights[np.isfinite(heights)] / LEVEL_STEP), return_counts=True)
            self._known[key] = float(levels[counts.argmax()] * LEVEL_STEP) if len(levels) else 0.0
        return self._known[key]

    def _below(self, points: FloatArray) -> FloatArray:
        """(N,): the highest ground under each point (N, 2), or -inf."""
        if not len(self._height):
            return np.full(len(points), -np.inf)
        off = points[:, None] - self._corner[None, :, :2]
        u = (off[..., 0] * self._edges[:, 1, 1] - off[..., 1] * self._edges[:, 1, 0]) / self._area
        v = (off[..., 1] * self._edges[:, 0, 0] - off[..., 0] * self._edges[:, 0, 1]) / self._area
        inside = (u >= 0) & (v >= 0) & (u + v <= 1)
        return np.asarray(np.where(inside, self._height, -np.inf).max(axis=1))
