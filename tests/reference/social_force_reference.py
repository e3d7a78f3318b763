"""Both social-force models and the group forces in float64 numpy, one pair at a time, as the papers put them.

No cell grid, no approximations, no shared code with the kernels; only the row names of ``kernels.layout``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels import layout as at
from sidestep.kernels.layout import Walls
from sidestep.kernels.social_force import GroupParameters
from sidestep.kernels.social_force_helbing import HelbingParameters
from sidestep.kernels.social_force_moussaid import MoussaidParameters

Vector = NDArray[np.float64]


def build_walls(polygons: list[list[tuple[float, float]]], cell: float = 3.0, margin: float = 6.0) -> Walls:
    """Walls from counter-clockwise solid polygons, with the grid of ``kernels.layout``."""
    points: list[tuple[float, float]] = []
    following: list[int] = []
    for polygon in polygons:
        start = len(points)
        points += polygon
        following += [start + (k + 1) % len(polygon) for k in range(len(polygon))]
    if not points:
        return at.no_walls()
    a = np.array(points)
    b = a[following]
    dirs = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    low, high = a.min(axis=0) - margin, a.max(axis=0) + margin
    nx, ny = (int(n) for n in np.ceil((high - low) / cell))
    starts, items = [0], []
    for row in range(ny):
        for column in range(nx):
            centre = low + cell * (np.array([column, row]) + 0.5)
            along = np.clip(np.sum((centre - a) * dirs, axis=1), 0.0, np.linalg.norm(b - a, axis=1))
            distance = np.linalg.norm(a + along[:, None] * dirs - centre, axis=1)
            items += list(np.flatnonzero(distance <= at.WALL_REACH + cell * np.sqrt(0.5) + 1e-3))
            starts.append(len(items))
    return Walls(
        a.astype(np.float32),
        dirs.astype(np.float32),
        np.array(following, np.int32),
        np.zeros(len(a), np.int32),  # neither model reads these two
        np.ones(len(a), np.uint8),
        np.array(starts, np.int32),
        np.array(items, np.int32),
        np.array([*low, cell, 0.0], np.float32),
        np.array([nx, ny], np.int32),
    )


def wall_features(position: Vector, walls: Walls) -> list[tuple[Vector, float]]:
    """(unit vector away from the wall, distance) of each locally nearest, visible wall point within reach."""
    points = walls.points.astype(np.float64)
    count = len(points)
    previous = np.zeros(count, int)
    previous[walls.next] = np.arange(count)
    features = []
    for edge in range(count):
        a, b = points[edge], points[walls.next[edge]]
        length = float(np.linalg.norm(b - a))
        along = (b - a) / length
        outward = np.array([along[1], -along[0]])
        where, distance = float((position - a) @ along), float((position - a) @ outward)
        if 0.0 < where < length and 0.0 < distance <= at.WALL_REACH:
            features.append((outward, distance))
        before = points[previous[edge]]
        if where <= 0.0 and (position - a) @ (a - before) >= 0.0:
            distance = float(np.linalg.norm(position - a))
            if 0.0 < distance <= at.WALL_REACH:
                features.append(((position - a) / distance, distance))
    return features


def group_force(agents: Vector, flags: NDArray[np.int32], people: int, i: int, group: GroupParameters) -> Vector:
    """Gaze, coherence and repulsion (Moussaïd et al. 2010) on person ``i``."""
    same = [
        k
        for k in range(people)
        if k != i and flags[at.ACTIVE, k] and flags[at.GROUP, k] == flags[at.GROUP, i] and flags[at.GROUP, i] >= 0
    ]
    force = np.zeros(2)
    if not same:
        return force
    position, velocity = agents[[at.PX, at.PY], i], agents[[at.VX, at.VY], i]
    others = agents[[at.PX, at.PY]][:, same].T
    to_centre = (others.sum(axis=0) + position) / (len(same) + 1) - position
    distance = np.linalg.norm(to_centre)
    if distance > len(same) / 2:
        force += group.coherence * to_centre / distance
    for other in others:
        gap = np.linalg.norm(position - other)
        if 0.0 < gap < group.repulsion_distance:
            force += group.repulsion * (position - other) / gap
    seen = others.mean(axis=0) - position
    speed = np.linalg.norm(velocity)
    if speed > 0.0:
        cosine = velocity @ seen / (speed * np.linalg.norm(seen))
        force -= group.gaze * max(np.arccos(np.clip(cosine, -1.0, 1.0)) - group.vision_rad, 0.0) * velocity
    return force


def helbing_force(agents: Vector, i: int, j: int, p: HelbingParameters, dt: float) -> Vector:
    """Acceleration of i by j."""
    away = agents[[at.PX, at.PY], i] - agents[[at.PX, at.PY], j]
    distance = np.linalg.norm(away)
    gap = distance - agents[at.RADIUS, i] - agents[at.RADIUS, j]
    if gap > p.cutoff or distance == 0.0:
        return np.zeros(2)
    n = away / distance
    t = np.array([-n[1], n[0]])
    wish = agents[[at.WISH_X, at.WISH_Y], i]
    ahead = wish / max(np.linalg.norm(wish), 1e-6)
    weight = p.behind + (1 - p.behind) * (1 - n @ ahead) / 2
    overlap = max(-gap, 0.0)
    push = p.strength / p.mass * weight * np.exp(min(-gap / p.range, 8.0))
    push += min(p.body_stiffness / p.mass, 0.5 / dt**2) * overlap
    sliding = (agents[[at.VX, at.VY], j] - agents[[at.VX, at.VY], i]) @ t
    return push * n + min(p.friction / p.mass * overlap, 0.5 / dt) * sliding * t


def moussaid_force(agents: Vector, i: int, j: int, p: MoussaidParameters) -> Vector:
    """Acceleration of i by j."""
    to = agents[[at.PX, at.PY], j] - agents[[at.PX, at.PY], i]
    distance = np.linalg.norm(to)
    if distance > p.cutoff:
        return np.zeros(2)
    e = to / distance if distance > 0.0 else to
    d = p.relative_velocity_weight * (agents[[at.VX, at.VY], i] - agents[[at.VX, at.VY], j]) + e
    if not d.any():
        return d
    t = d / np.linalg.norm(d)
    left = np.array([-t[1], t[0]])
    b = p.gamma * np.linalg.norm(d)
    theta = np.arctan2(t[0] * e[1] - t[1] * e[0], t @ e) + b * p.side_bias
    along = np.exp(-distance / b - (p.n_speed * b * theta) ** 2)
    across = np.sign(theta) * np.exp(-distance / b - (p.n_angle * b * theta) ** 2)
    return -p.strength * (along * t + across * left)


def wall_force(agents: Vector, i: int, walls: Walls, p: HelbingParameters | MoussaidParameters, dt: float) -> Vector:
    """Acceleration of i by the walls."""
    force = np.zeros(2)
    for n, distance in wall_features(agents[[at.PX, at.PY], i], walls):
        gap = distance - agents[at.RADIUS, i]
        if isinstance(p, MoussaidParameters):
            force += p.wall_strength * np.exp(-gap / p.wall_range) * n
            continue
        t = np.array([-n[1], n[0]])
        overlap = max(-gap, 0.0)
        push = p.strength / p.mass * np.exp(min(-gap / p.range, 8.0))
        push += min(p.body_stiffness / p.mass, 1 / dt**2) * overlap
        force += push * n - min(p.friction / p.mass * overlap, 1 / dt) * (agents[[at.VX, at.VY], i] @ t) * t
    return force


def new_velocities(
    agents: NDArray[np.float32],
    flags: NDArray[np.int32],
    people: int,
    walls: Walls,
    p: HelbingParameters | MoussaidParameters,
    dt: float,
) -> Vector:
    """Velocities (2, people) after one step; NaN for people whom the model of ``p`` does not move."""
    state = agents.astype(np.float64)
    model = at.MODEL_HELBING if isinstance(p, HelbingParameters) else at.MODEL_MOUSSAID
    result = np.full((2, people), np.nan)
    for i in range(people):
        if flags[at.MODEL, i] != model or not flags[at.ACTIVE, i]:
            continue
        velocity = state[[at.VX, at.VY], i]
        force = (state[[at.WISH_X, at.WISH_Y], i] - velocity) / p.relaxation_time
        for j in range(agents.shape[1]):
            if j == i or not flags[at.ACTIVE, j] or (j >= people and not flags[at.SEES_ROBOT, i]):
                continue
            if isinstance(p, HelbingParameters):
                force = force + helbing_force(state, i, j, p, dt)
            else:
                force = force + moussaid_force(state, i, j, p)
        force = force + wall_force(state, i, walls, p, dt) + group_force(state, flags, people, i, p.group)
        velocity = velocity + force * dt
        speed = np.linalg.norm(velocity)
        result[:, i] = velocity * min(1.0, state[at.MAX_SPEED, i] / max(speed, 1e-300))
    return result
