"""The social force model that Moussaïd et al. fitted to experiments with pairs of pedestrians.

M. Moussaïd, D. Helbing, S. Garnier, A. Johansson, M. Combe, G. Theraulaz: *Experimental study of the
behavioural mechanisms underlying self-organization in human crowds*, Proceedings of the Royal Society B 276,
2755, 2009; lightsfm and PySocialForce implement the same interaction. Person i at distance d from j, with e
the unit vector from i to j:

    D = λ (v_i - v_j) + e        interaction direction t = D / |D|, and n = t turned left
    B = γ |D|                    the faster the approach, the longer the range
    θ = angle from t to e + B ε  positive when j is on the left; ε makes people prefer to evade on the right
    f = -A exp(-d/B) [exp(-(n' B θ)²) t + sign(θ) exp(-(n B θ)²) n]

and the acceleration is (wish - v) / τ + Σ_j f_ij + walls + group forces. Bodies have no size in f, as
published; between two people at the same place e is zero.

A wall point pushes with a exp(-(d - r)/b), d - r being the distance from the body's surface to it; how walls
and neighbours are found and summed is written in ``social_force_helbing``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels import social_force as force
from sidestep.kernels.approx import atan2_32, exp32, exp32_bounded, from_steps, order_free_steps
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, int64, uint64
from sidestep.kernels.social_force import GroupParameters

_ZERO, _ONE = float32(0.0), float32(1.0)
_NEAREST = float32(1e-6)  # m
_NEVER = float32(-1000.0)  # exponent of a force beyond the cut-off

PER_TAU, STRENGTH, GAMMA, LAMBDA, N_SPEED, N_ANGLE, SIDE_BIAS, WALL_STRENGTH, WALL_PER_RANGE, CUTOFF = range(10)
GROUP_OFFSET = 10

CELLS_PER_REACH = 2  # the fastest of 1, 2 and 3 at 0.25 people per m²


@dataclass(frozen=True, kw_only=True)
class MoussaidParameters:
    """Parameters of the Moussaïd model; values of the publication unless said otherwise."""

    relaxation_time: float = 0.54
    """τ (s): how fast the velocity approaches the preferred one."""
    strength: float = 4.5
    """A (m/s²)."""
    gamma: float = 0.35
    """γ (m): range of the interaction per unit of |D|."""
    relative_velocity_weight: float = 2.0
    """λ (s/m): weight of the relative velocity against the direction to the other person."""
    n_speed: float = 3.0
    """n' (1/(m rad)): how quickly braking fades with the angle."""
    n_angle: float = 2.0
    """n (1/(m rad)): how quickly turning fades with the angle."""
    side_bias: float = 0.005
    """ε (rad/m): preference for the right-hand side; negative for the left, 0 for none."""
    wall_strength: float = 10.0
    """a (m/s²) when bodies touch; of lightsfm: the published 3 m/s² over 0.1 m stop a walker too late."""
    wall_range: float = 0.2
    """b (m); of lightsfm."""
    cutoff: float = 10.0
    """Centre distance (m) beyond which people do not interact; 1 % of A is left when two meet at 2.7 m/s."""
    group: GroupParameters = field(default_factory=GroupParameters)

    def __post_init__(self) -> None:
        force.require_positive(self, ("relaxation_time", "gamma", "wall_range", "cutoff"))
        force.require_positive(self, ("strength", "relative_velocity_weight", "n_speed", "n_angle"), or_zero=True)
        force.require_positive(self, ("wall_strength",), or_zero=True)
        if not abs(self.side_bias) <= 1.0:
            raise ValueError(f"MoussaidParameters.side_bias has to be in [-1, 1] rad/m, not {self.side_bias!r}")
        if max(self.strength, self.wall_strength) > force.STRENGTH_LIMIT:
            raise ValueError(f"strength and wall_strength have to be at most {force.STRENGTH_LIMIT} m/s²")

    def as_array(self) -> FloatArray:
        """The parameters in the order that the kernel reads them."""
        pair = (
            self.strength,
            self.gamma,
            self.relative_velocity_weight,
            self.n_speed,
            self.n_angle,
            self.side_bias,
        )
        own = (1.0 / self.relaxation_time, *pair, self.wall_strength, 1.0 / self.wall_range, self.cutoff)
        return np.concatenate((np.array(own, dtype=np.float32), self.group.as_array()))


@inlined
def _faded(exponent: float) -> float:
    """``exp`` of a number <= 0; what is too small to matter in the sum is kept from becoming subnormal."""
    return exp32_bounded(exponent if exponent > force.LOWEST_EXPONENT else force.LOWEST_EXPONENT)


@inlined
def _fill_forces(agents: FloatArray, i: int, tile: FloatArray, count: int, params: FloatArray) -> None:
    """Force of every candidate in ``tile`` on person ``i``: elementwise loops, run in vector registers.

    Three loops, because the processor overlaps the iterations of a short chain of operations better than
    those of a long one. They work with D' = d D, whose length is L, so that one division gives both 1/d and
    1/L. The person's own entry gives no force because its D' is (0, 0).
    """
    x, y, vx, vy = agents[at.PX, i], agents[at.PY, i], agents[at.VX, i], agents[at.VY, i]
    strength, gamma, weight, bias = params[STRENGTH], params[GAMMA], params[LAMBDA], params[SIDE_BIAS]
    fade_speed, fade_angle = params[N_SPEED] * params[N_SPEED], params[N_ANGLE] * params[N_ANGLE]
    per_gamma = _ONE / gamma
    reach = params[CUTOFF] * params[CUTOFF]
    for k in range(uint64(count)):
        dx, dy = tile[force.ROW_X + k] - x, tile[force.ROW_Y + k] - y
        square = dx * dx + dy * dy
        distance = np.sqrt(square if square > force.TINY else force.TINY)
        scale = weight * distance
        big_x, big_y = scale * (vx - tile[force.ROW_VX + k]) + dx, scale * (vy - tile[force.ROW_VY + k]) + dy
        square_big = big_x * big_x + big_y * big_y
        length = np.sqrt(square_big if square_big > force.TINY else force.TINY)
        inverse = _ONE / (distance * length)
        inverse_length = inverse * distance
        tile[force.WORK_A + k] = big_x * inverse_length
        tile[force.WORK_B + k] = big_y * inverse_length
        tile[force.WORK_C + k] = gamma * (length * (inverse * length))
        decay = -(distance * distance) * (inverse_length * per_gamma)
        tile[force.WORK_D + k] = decay if square <= reach else _NEVER
        tile[force.ROW_FX + k] = big_x * dy - big_y * dx
        tile[force.ROW_FY + k] = big_x * dx + big_y * dy
    for k in range(uint64(count)):
        angle = atan2_32(tile[force.ROW_FX + k], tile[force.ROW_FY + k])
        tile[force.ROW_FX + k] = angle + tile[force.WORK_C + k] * bias
    for k in range(uint64(count)):
        tx, ty, b = tile[force.WORK_A + k], tile[force.WORK_B + k], tile[force.WORK_C + k]
        decay, theta = tile[force.WORK_D + k], tile[force.ROW_FX + k]
        fade = (b * theta) * (b * theta)
        along = _faded(decay - fade_speed * fade)
        across = _faded(decay - fade_angle * fade)
        across = -across if theta < _ZERO else across
        across = _ZERO if theta == _ZERO else across
        tile[force.ROW_FX + k] = strength * (across * ty - along * tx)
        tile[force.ROW_FY + k] = -strength * (across * tx + along * ty)


@kernel
def push_apart(
    agents: FloatArray, strength: float, distance_range: float, deepest: float, relaxation_time: float
) -> None:
    """Add the near force of everybody else on person 0, strength · exp(-gap / range) from surface to surface, to the
    wish, of which the model makes (wish - v) / τ. Deeper than ``deepest`` the force grows no more. All float32."""
    push_x, push_y = _ZERO, _ZERO
    for j in range(1, agents.shape[1]):
        dx, dy = agents[at.PX, 0] - agents[at.PX, j], agents[at.PY, 0] - agents[at.PY, j]
        distance = max(np.sqrt(dx * dx + dy * dy), _NEAREST)
        gap = max(distance - agents[at.RADIUS, 0] - agents[at.RADIUS, j], -deepest)
        force = strength * exp32(-gap / distance_range) / distance
        push_x += dx * force
        push_y += dy * force
    agents[at.WISH_X, 0] += relaxation_time * push_x
    agents[at.WISH_Y, 0] += relaxation_time * push_y


@kernel
def moussaid_world(
    agents: FloatArray, flags: IntArray, people: int, walls: Walls, params: FloatArray, dt: float, scratch: FloatArray,
    first: int, last: int,
) -> None:  # fmt: skip
    """As ``helbing_world`` for MODEL_MOUSSAID; ``params`` from ``MoussaidParameters.as_array``."""
    dt = float32(dt)
    lists, tiles = force.split_scratch(scratch, agents.shape[1])
    order, cell_first = lists[0], lists[4]
    law = (params[WALL_STRENGTH], params[WALL_PER_RANGE], _ZERO, _ZERO, _ZERO)
    cells = force.choose_cells(agents, flags, people, params[CUTOFF], CELLS_PER_REACH)
    force.sort_into_cells(agents, flags, people, cells, lists)
    force.link_groups(flags, people, lists[2], lists[3])
    for cell in range(cells[3] * cells[4]):
        count_people, count, padded = 0, 0, 0
        for k in range(cell_first[cell], cell_first[cell + 1]):
            i = order[k]
            if i < first or i >= last or flags[at.MODEL, i] != at.MODEL_MOUSSAID:
                continue
            if count == 0:
                count_people, count, padded = force.gather_candidates(agents, flags, people, cells, cell, lists, tiles)
            steps_x, steps_y = int64(0), int64(0)
            for start in range(0, padded, force.TILE):
                tile = tiles[start // force.TILE * force.TILE_SIZE :]
                held = min(padded - start, force.TILE)
                _fill_forces(agents, i, tile, held, params)
                if flags[at.SEES_ROBOT, i] == 0:
                    force.forget_robots(tile, start, count_people, count)
                steps_x += order_free_steps(tile, force.ROW_FX, held)
                steps_y += order_free_steps(tile, force.ROW_FY, held)
            force_x, force_y = from_steps(steps_x), from_steps(steps_y)
            force.write_velocity(
                agents, flags, people, i, force_x, force_y, params[PER_TAU], walls, law, lists, params, GROUP_OFFSET, dt
            )
