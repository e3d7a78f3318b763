"""Lamps that light their surroundings: those of the scene, found from what glows, and head lamps given by pose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.raster_layout import LAMP_COLUMNS
from sidestep.render.camera_model import CameraPose
from sidestep.render.figure import Figure, Motion
from sidestep.render.light import Light
from sidestep.render.mesh import Scene3D, Semantic
from sidestep.types.base import FloatArray, IntArray

MOST_LAMPS = 8  # of the scene in one frame: the nearest
CELL = 2.0  # m: glowing faces of one object that are closer together than about this are one lamp
STREET_RGB = (16.0, 11.5, 6.5)
STREET_REACH = 14.0
STREET_COS = math.cos(math.radians(78.0))
LOWEST_STREET_LAMP = 2.0  # m
LIGHT_NOTHING = (Semantic.WINDOW, Semantic.SIGN)  # what of these glows lights nothing but itself
HEAD_CONE = math.radians(38.0)
HEAD_DOWN = math.radians(7.0)


@dataclass(frozen=True)
class Lamp:
    """A lamp at a place, shining along a direction in a cone. ``rgb`` is the light at 1 m."""

    x: float
    y: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0
    cone_rad: float = math.radians(32.0)
    """From the axis to where nothing is lit any more."""
    rgb: tuple[float, float, float] = (45.0, 42.0, 36.0)
    reach_m: float = 25.0

    def __post_init__(self) -> None:
        if not 0.0 < self.cone_rad <= math.pi or not self.reach_m > 0.0:
            raise BadInput(f"lamp: cone must be within (0, π] rad and reach positive, got {self}")

    def row(self) -> list[float]:
        """As the rasteriser wants it."""
        flat = math.cos(self.pitch)
        along = [flat * math.cos(self.yaw), flat * math.sin(self.yaw), -math.sin(self.pitch)]
        return [self.x, self.y, self.z, *along, min(math.cos(self.cone_rad), 0.9999), *self.rgb, self.reach_m]


def find_lamps(scene: Scene3D) -> FloatArray:
    """(K, LAMP_COLUMNS): one lamp for each object with faces that glow and are no windows or signals, shining down."""
    mesh = scene.mesh
    glows = np.array([material.glow > 0.0 for material in scene.materials] or [False])
    faces = np.flatnonzero(glows[mesh.material] & ~np.isin(mesh.semantic, LIGHT_NOTHING))
    if not len(faces) or scene.indoor:
        return np.zeros((0, LAMP_COLUMNS), np.float32)
    middles = mesh.vertices[mesh.triangles[faces]].mean(axis=1)
    high = middles[:, 2] > LOWEST_STREET_LAMP
    if not high.any():
        return np.zeros((0, LAMP_COLUMNS), np.float32)
    middles, owner = middles[high], np.asarray(scene.static_id)[faces][high]
    cluster = _clusters(middles, owner)
    count = np.bincount(cluster)
    centre = np.stack([np.bincount(cluster, middles[:, axis]) / count for axis in range(3)], axis=1)
    rows = np.zeros((len(centre), LAMP_COLUMNS), np.float32)
    rows[:, :3] = centre - [0.0, 0.0, 0.1]
    rows[:, 5] = -1.0
    rows[:, 6:] = STREET_COS, *STREET_RGB, STREET_REACH
    return rows


def _clusters(middles: FloatArray, owner: IntArray) -> IntArray:
    """(F,): number of the lamp that each face is part of, numbered as they come."""
    cluster = np.full(len(middles), -1)
    count = 0
    for k in range(len(middles)):
        if cluster[k] < 0:
            near = (cluster < 0) & (owner == owner[k]) & (np.abs(middles - middles[k]).max(axis=1) < CELL)
            cluster[near] = count
            count += 1
    return cluster


def figure_lamps(figure: Figure, motion: Motion, ground_z: float = 0.0) -> list[Lamp]:
    """The head lamps of a machine that stands on ground of height ``ground_z``: for ``render(…, lamps=…)``."""
    c, s = math.cos(motion.heading), math.sin(motion.heading)
    r, g, b = (value * figure.lamp_power for value in Lamp.rgb)
    return [
        Lamp(
            motion.x + c * x - s * y, motion.y + s * x + c * y, ground_z + z, motion.heading, HEAD_DOWN, HEAD_CONE,
            (r, g, b), Lamp.reach_m * max(figure.lamp_power, 0.25) ** 0.5,
        )
        for x, y, z in figure.head_lamps
    ]  # fmt: skip


def pack_lamps(found: FloatArray, given: Sequence[Lamp], pose: CameraPose, light: Light) -> FloatArray:
    """The lamps that matter from ``pose``: all that are given, then the scene's nearest; none by day."""
    if light.lamps <= 0.0 or not (len(found) or len(given)):
        return np.zeros((0, LAMP_COLUMNS), np.float32)
    rows = np.array([lamp.row() for lamp in given], np.float32).reshape(-1, LAMP_COLUMNS)
    ahead = [pose.x + 8.0 * math.cos(pose.yaw), pose.y + 8.0 * math.sin(pose.yaw)]
    order = np.argsort(np.hypot(*(found[:, :2] - ahead).T), kind="stable") if len(found) else np.zeros(0, int)
    packed = np.concatenate([rows, found[order[:MOST_LAMPS]]])
    packed[:, 7:10] *= light.lamps
    return packed
