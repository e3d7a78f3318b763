"""Exact distances between the robot's body, a circle or a convex polygon that turns with it, and discs and
segments.

Distances are signed: negative by the depth of penetration when bodies overlap. S states, N points, W
segments.
"""

from __future__ import annotations

import numpy as np

from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.robot import Footprint

_PAIRS_AT_ONCE = 2_000_000
"""States × segments that are held in memory together."""


def into_body_frame(vectors: FloatArray, heading: FloatArray) -> FloatArray:
    """World-frame ``vectors`` (..., 2) turned into the frame of a body with ``heading`` (...)."""
    cos, sin = np.cos(heading), np.sin(heading)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cos * x + sin * y, cos * y - sin * x], axis=-1)


def point_to_segment(point: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Distance from ``point`` to the segment ``start`` – ``end``, all (..., 2), broadcast together."""
    along = end - start
    length2 = np.einsum("...i,...i->...", along, along)
    offset = point - start
    share = np.einsum("...i,...i->...", offset, along) / np.where(length2 > 0, length2, 1.0)
    miss = offset - np.clip(share, 0.0, 1.0)[..., None] * along
    distance: FloatArray = np.hypot(miss[..., 0], miss[..., 1])
    return distance


def outline_segments(footprint: Footprint, pose: FloatArray) -> FloatArray:
    """(S, M, 4) the edges of a polygon at each ``pose`` (S, 3), world frame."""
    start = into_body_frame(_edges(footprint)[0], -pose[:, None, 2]) + pose[:, None, :2]
    return np.concatenate([start, np.roll(start, -1, axis=1)], axis=-1)


def distance_to_points(footprint: Footprint, pose: FloatArray, points: FloatArray) -> FloatArray:
    """(S, N) signed distance from the body at ``pose`` (S, 3) to ``points`` (S, N, 2); NaN for points that
    are NaN."""
    offset = points - pose[:, None, :2]
    if footprint.radius is not None:
        return np.hypot(offset[..., 0], offset[..., 1]) - footprint.radius
    local = into_body_frame(offset, pose[:, None, 2])
    beyond_edge = np.full(local.shape[:-1], -np.inf)
    nearest = np.full(local.shape[:-1], np.inf)
    for start, end, normal in zip(*_edges(footprint), strict=True):
        beyond_edge = np.maximum(beyond_edge, (local - start) @ normal)
        nearest = np.minimum(nearest, point_to_segment(local, start, end))
    return np.where(beyond_edge <= 0, beyond_edge, nearest)


def time_to_contact(
    footprint: Footprint, pose: FloatArray, points: FloatArray, radius: FloatArray, velocity: FloatArray
) -> FloatArray:
    """(S, N) time until the body touches discs at ``points`` that move at ``velocity`` (S, N, 2) relative to
    it, s.

    The body keeps its heading. 0 while touching, infinite on courses that never meet, NaN where an input is
    NaN.
    """
    offset = points - pose[:, None, :2]
    if footprint.radius is not None:
        time = _disc_contact(offset, velocity, footprint.radius + radius)
    else:
        local = into_body_frame(offset, pose[:, None, 2])
        moving = into_body_frame(velocity, pose[:, None, 2])
        time = np.full(local.shape[:-1], np.inf)
        for start, end, normal in zip(*_edges(footprint), strict=True):
            time = np.minimum(time, _disc_contact(local - start, moving, radius))
            time = np.minimum(time, _edge_contact(local, moving, radius, start, end, normal))
        time = np.where(distance_to_points(footprint, pose, points) <= radius, 0.0, time)
    unknown = np.isnan(offset).any(axis=-1) | np.isnan(velocity).any(axis=-1)
    return np.where(unknown, np.nan, time)


def _disc_contact(offset: FloatArray, velocity: FloatArray, reach: FloatArray | float) -> FloatArray:
    """First t ≥ 0 with |offset + t velocity| = reach: the smaller root, in the form that does not cancel."""
    a = np.einsum("...i,...i->...", velocity, velocity)
    b = np.einsum("...i,...i->...", offset, velocity)
    c = np.einsum("...i,...i->...", offset, offset) - np.square(reach)
    discriminant = b * b - a * c
    meets = (b < 0) & (discriminant >= 0)
    root = np.sqrt(np.where(meets, discriminant, 1.0))
    time = np.where(meets, c / np.where(meets, root - b, 1.0), np.inf)
    return np.where(c <= 0, 0.0, time)


def _edge_contact(
    offset: FloatArray,
    velocity: FloatArray,
    radius: FloatArray,
    start: FloatArray,
    end: FloatArray,
    normal: FloatArray,
) -> FloatArray:
    """First t ≥ 0 at which a disc coming from outside touches the edge ``start`` – ``end``, infinite if it
    misses it."""
    height = (offset - start) @ normal - radius
    sinking = velocity @ normal
    comes = (height >= 0) & (sinking < 0)
    time = np.where(comes, height / np.where(comes, -sinking, 1.0), 0.0)
    along = end - start
    place = (offset - start + time[..., None] * velocity) @ along / (along @ along)
    return np.where(comes & (place >= 0) & (place <= 1), time, np.inf)


def distance_to_segments(footprint: Footprint, pose: FloatArray, segments: FloatArray) -> FloatArray:
    """(S,) signed distance from the body at ``pose`` (S, 3) to the nearest of ``segments`` (W, 4) or (S, W,
    4).

    A state all of whose segments are NaN gives NaN.
    """
    rows = max(1, _PAIRS_AT_ONCE // max(1, segments.shape[-2]))
    parts = []
    for first in range(0, len(pose), rows):
        chunk = slice(first, first + rows)
        part = segments if segments.ndim == 2 else segments[chunk]
        parts.append(_distance_to_segments(footprint, pose[chunk], part))
    return np.concatenate(parts)


def _distance_to_segments(footprint: Footprint, pose: FloatArray, segments: FloatArray) -> FloatArray:
    segments = np.broadcast_to(segments, (len(pose), *segments.shape[-2:]))
    middle = point_to_segment(pose[:, None, :2], segments[..., :2], segments[..., 2:])
    middle = np.where(np.isnan(middle), np.inf, middle)
    nearest = middle.min(axis=1)
    if footprint.radius is not None:
        return np.where(np.isinf(nearest), np.nan, nearest - footprint.radius)
    # An exact distance is within the enclosing radius of the reference point's: few pairs remain in question.
    candidate = (middle <= nearest[:, None] + 2 * footprint.enclosing_radius) & np.isfinite(middle)
    return _polygon_to_segments(footprint, pose, segments, candidate)


def _polygon_to_segments(
    footprint: Footprint, pose: FloatArray, segments: FloatArray, candidate: BoolArray
) -> FloatArray:
    """(S,) distance of convex sets: by corners and edges when apart, by separating axes when they overlap."""
    state, index = np.nonzero(candidate)
    ends: FloatArray = segments[state, index].reshape(-1, 2, 2) - pose[state, None, :2]
    ends = into_body_frame(ends, pose[state, None, 2])
    one, two = ends[:, 0], ends[:, 1]
    across = np.stack([one[:, 1] - two[:, 1], two[:, 0] - one[:, 0]], axis=-1)
    length = np.hypot(across[:, 0], across[:, 1])
    across = across / np.where(length > 0, length, 1.0)[:, None]
    corners = _edges(footprint)[0]
    side = corners @ across.T - np.einsum("ki,ki->k", one, across)
    separation = np.where(length > 0, np.maximum(side.min(axis=0), -side.max(axis=0)), -np.inf)
    gap: FloatArray = np.full(len(state), np.inf)
    for start, end, normal in zip(*_edges(footprint), strict=True):
        separation = np.maximum(separation, np.minimum((one - start) @ normal, (two - start) @ normal))
        for distance in (
            point_to_segment(one, start, end),
            point_to_segment(two, start, end),
            point_to_segment(start, one, two),
        ):
            gap = np.minimum(gap, distance)
    result = np.full(len(pose), np.inf)
    np.minimum.at(result, state, np.where(separation <= 0, separation, gap))
    return np.where(np.isinf(result), np.nan, result)


def _edges(footprint: Footprint) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(M, 2) starts, ends and outward unit normals of a counter-clockwise polygon's edges, body frame."""
    assert footprint.polygon is not None
    start = np.array(footprint.polygon, dtype=np.float64)
    end = np.roll(start, -1, axis=0)
    along = end - start
    normal = np.stack([along[:, 1], -along[:, 0]], axis=-1) / np.hypot(along[:, 0], along[:, 1])[:, None]
    return start, end, normal
