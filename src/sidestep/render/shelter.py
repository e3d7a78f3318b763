"""Ground is darker near what stands on it: the map of that about the camera (see ``kernels.raster_shelter``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep.kernels.raster_frame import InstanceArrays
from sidestep.kernels.raster_layout import SHELTER_PER_METRE, SHELTER_SIZE
from sidestep.kernels.raster_shelter import pack_shelter, spread_distance, stamp_shelter
from sidestep.render.camera_model import CameraPose
from sidestep.render.chunks import LIE_FLAT
from sidestep.render.mesh import Model, Scene3D, Semantic
from sidestep.render.shadow import HALF_SIDE, STEP
from sidestep.types.base import BoolArray, FloatArray, IntArray

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
        self._static = np.zeros((SHELTER_SIZE, SHELTER_SIZE), np.uint8)
        self._plain = np.zeros_like(self._static)
        self._packed = np.zeros(SHELTER_SIZE**2, np.uint32)
        self._boxes = np.zeros((1, 4), np.int32)
        self._stamped = 0

    def at(self, pose: CameraPose, instances: InstanceArrays) -> tuple[IntArray, float, float]:
        """The packed map with ``instances`` on it for a camera at ``pose``, and where it begins, m."""
        centre = (round(pose.x / STEP) * STEP, round(pose.y / STEP) * STEP)
        x, y = centre[0] - HALF_SIDE, centre[1] - HALF_SIDE
        if centre != self._centre:
            self._centre = centre
            self._draw_static(x, y)
        if len(self._boxes) < len(instances.model):
            grown = np.zeros((2 * len(instances.model), 4), np.int32)
            grown[: len(self._boxes)] = self._boxes
            self._boxes = grown
        self._stamped = stamp_shelter(
            x, y, self._feet, instances.model, instances.bones, self._stamped, self._boxes, self._static, self._plain,
            self._packed,
        )  # fmt: skip
        return self._packed, x, y

    def _draw_static(self, x: float, y: float) -> None:
        places = np.floor((self._points - (x, y)) * SHELTER_PER_METRE).astype(np.int64)
        inside = ((places >= 0) & (places < SHELTER_SIZE)).all(axis=1)
        values = np.maximum(
            _fade(places[inside & self._tall], *NEAR_TALL),
            _fade(places[inside], *NEAR_ANY),
        )
        self._static[:] = values
        self._plain[:] = values
        pack_shelter(self._plain, 0, 0, SHELTER_SIZE, SHELTER_SIZE, self._packed)
        self._stamped = 0


def _fade(places: IntArray, reach: float, strength: float) -> FloatArray:
    distance = np.full((SHELTER_SIZE, SHELTER_SIZE), 1e6, np.float32)
    distance[places[:, 1], places[:, 0]] = 0.0
    spread_distance(distance)
    rest = np.maximum(1.0 - distance / np.float32(reach * SHELTER_PER_METRE), 0.0)
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
