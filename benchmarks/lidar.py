"""Rays per second of the planar lidar: 720 rays among 200 wall segments and 50 people, on one thread."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Case, Effort, Figure, Notify, Work, measure_work
from sidestep.kernels import layout
from sidestep.kernels.rays import Beams, cast_lidars, make_ray_table, make_scratch
from sidestep.types.base import FloatArray

RAYS, SEGMENTS, PEOPLE = 720, 200, 50
SIDE = 30.0  # m of the square that holds everything
MAX_RANGE = 30.0  # m: most of it is in range from everywhere
SEGMENT_LENGTH = (1.0, 4.0)  # m
RADIUS = 0.3  # m
SCANS = 64  # of one run, each from another pose
CLEARANCE = 0.5  # m between a sensor and what it sees
ID = f"lidar/rays={RAYS}"


def cases() -> list[Case]:
    """The one figure."""
    return [Case(ID, measure_lidar, quick=True)]


def measure_lidar(effort: Effort, note: Notify) -> Figure:
    """Rays per second."""
    return measure_work(ID, "rays/s", Scans(), effort)


class Scans(Work):
    """A full turn from each of ``SCANS`` poses."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.segments = _draw_segments(rng)
        centres = rng.uniform(0.0, SIDE, (2, PEOPLE))
        self.agents = np.zeros((1, layout.AGENT_ROWS, PEOPLE), np.float32)
        self.agents[0, [layout.PX, layout.PY]] = centres
        self.agents[0, layout.RADIUS] = RADIUS
        self.flags = np.zeros((1, layout.FLAG_ROWS, PEOPLE), np.int32)
        self.flags[0, layout.ACTIVE] = 1
        self.poses = _draw_poses(self.segments, centres.T, rng)
        self.ranges = np.zeros((SCANS, RAYS), np.float32)
        self.hits = np.zeros((SCANS, RAYS), np.int32)
        increment = 2.0 * np.pi / RAYS
        self._beams = Beams(0.0, increment, make_ray_table(0.0, increment, RAYS), MAX_RANGE)
        self._scratch = make_scratch(SEGMENTS, PEOPLE)
        self._world, self._own = np.zeros(SCANS, np.int64), np.full(SCANS, -1)
        self._segment_range = np.array([[0, SEGMENTS]])

    def run(self) -> float:
        """Rays."""
        cast_lidars(
            self.poses, self._world, self._own, self._beams, self.segments, self._segment_range, self.agents,
            self.flags, self._scratch, self.ranges, self.hits,
        )  # fmt: skip
        return float(SCANS * RAYS)


def _draw_segments(rng: np.random.Generator) -> FloatArray:
    """(SEGMENTS, 4) float32 x0, y0, x1, y1."""
    middle = rng.uniform(0.0, SIDE, (SEGMENTS, 2))
    angle = rng.uniform(0.0, np.pi, SEGMENTS)
    half = rng.uniform(*SEGMENT_LENGTH, (SEGMENTS, 1)) / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([middle - half, middle + half], axis=1).astype(np.float32)


def _draw_poses(segments: FloatArray, centres: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(SCANS, 3) x, y, heading; at least ``CLEARANCE`` away from walls and people."""
    start, along = segments[:, :2].astype(np.float64), (segments[:, 2:] - segments[:, :2]).astype(np.float64)
    poses: list[FloatArray] = []
    while len(poses) < SCANS:
        point = rng.uniform(0.0, SIDE, 2)
        share = np.clip(((point - start) * along).sum(axis=1) / (along * along).sum(axis=1), 0.0, 1.0)
        to_walls = np.sqrt(((start + share[:, None] * along - point) ** 2).sum(axis=1)).min()
        to_people = np.sqrt(((centres - point) ** 2).sum(axis=1)).min() - RADIUS
        if min(to_walls, to_people) > CLEARANCE:
            poses.append(np.array([*point, rng.uniform(-np.pi, np.pi)]))
    return np.stack(poses)
