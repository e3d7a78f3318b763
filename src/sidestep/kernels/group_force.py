"""Forces that keep a walking group together, added by both social-force models to people whose GROUP >= 0.

M. Moussaïd, N. Perozo, S. Garnier, D. Helbing, G. Theraulaz: *The walking behaviour of pedestrian social
groups and its impact on crowd dynamics*, PLoS ONE 5(4), e10047, 2010. For person i of a group of n people in
the world, with c the centre of the other members and C the centre of the whole group:

* gaze: ``-β1 α v_i``, where α (rad) is how far the head turns beyond the vision angle φ to see c: a person in
  front slows down;
* coherence: ``β2 U`` towards C (unit vector U) while C is farther away than (n - 1) / 2 metres;
* repulsion: ``β3 W_k`` away from every member k (unit vector W_k) closer than d0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.approx import atan2_32
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import ACTIVE, GROUP, PX, PY, VX, VY

GROUP_PARAMETERS = 5
_GAZE, _VISION, _COHERENCE, _REPULSION, _REPULSION_DISTANCE = range(GROUP_PARAMETERS)

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)


@dataclass(frozen=True, kw_only=True)
class GroupParameters:
    """Strengths of the group forces, as published by Moussaïd et al. (2010)."""

    gaze: float = 4.0
    """β1 (1/s per rad): deceleration in proportion to head rotation and speed."""
    vision_rad: float = math.pi / 2
    """φ: how far to each side of the walking direction a person sees without turning the head."""
    coherence: float = 3.0
    """β2 (m/s²): acceleration towards the centre of the group."""
    repulsion: float = 1.0
    """β3 (m/s²): acceleration away from each member that is too close."""
    repulsion_distance: float = 0.8
    """d0 (m): centre distance below which members repel each other."""

    def __post_init__(self) -> None:
        for name in ("gaze", "vision_rad", "coherence", "repulsion", "repulsion_distance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"GroupParameters.{name} has to be a finite number >= 0, not {value!r}")

    def as_array(self) -> NDArray[np.float32]:
        """The parameters in the order that the kernels read them."""
        values = (self.gaze, self.vision_rad, self.coherence, self.repulsion, self.repulsion_distance)
        return np.array(values, dtype=np.float32)


@kernel
def link_groups(flags, people, head, following):
    """Chain the active members of each group in ascending order; returns how many people are in a group.

    ``head[g % people]`` is the first person of a chain, ``following[i]`` the next one, -1 the end. Groups
    whose numbers agree modulo ``people`` share a chain, so a reader compares GROUP as well.
    """
    members = 0
    for bucket in range(people):
        head[bucket] = -1
    for back in range(people):
        i = people - 1 - back
        group = flags[GROUP, i]
        if flags[ACTIVE, i] == 0 or group < 0:
            continue
        bucket = group % people
        following[i] = head[bucket]
        head[bucket] = i
        members += 1
    return members


@kernel
def group_acceleration(agents, flags, people, head, following, i, params, offset):
    """Sum of the three group forces on person ``i`` (m/s²); ``params[offset:]`` are the group parameters."""
    group = flags[GROUP, i]
    x, y, vx, vy = agents[PX, i], agents[PY, i], agents[VX, i], agents[VY, i]
    near = params[offset + _REPULSION_DISTANCE]
    sum_x, sum_y, push_x, push_y = _ZERO, _ZERO, _ZERO, _ZERO
    others = 0
    k = head[group % people]
    while k >= 0:
        if k != i and flags[GROUP, k] == group:
            dx, dy = agents[PX, k] - x, agents[PY, k] - y
            sum_x += dx
            sum_y += dy
            others += 1
            distance = np.sqrt(dx * dx + dy * dy)
            if _ZERO < distance < near:
                push_x -= dx / distance
                push_y -= dy / distance
        k = following[k]
    if others == 0:
        return _ZERO, _ZERO
    ax, ay = params[offset + _REPULSION] * push_x, params[offset + _REPULSION] * push_y
    size = np.float32(others + 1)
    distance = np.sqrt(sum_x * sum_x + sum_y * sum_y) / size  # to C; the direction to c is the same
    if distance > (size - _ONE) * _HALF:
        pull = params[offset + _COHERENCE] / (distance * size)
        ax += pull * sum_x
        ay += pull * sum_y
    turn = abs(atan2_32(vx * sum_y - vy * sum_x, vx * sum_x + vy * sum_y)) - params[offset + _VISION]
    if turn > _ZERO:
        brake = params[offset + _GAZE] * turn
        ax -= brake * vx
        ay -= brake * vy
    return ax, ay
