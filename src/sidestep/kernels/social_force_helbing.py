"""The social force model of Helbing and Molnár in its circular form.

D. Helbing, P. Molnár: *Social force model for pedestrian dynamics*, Physical Review E 51, 4282, 1995; contact
forces and parameter values of D. Helbing, I. Farkas, T. Vicsek: *Simulating dynamical features of escape
panic*, Nature 407, 487, 2000 (JuPedSim's SocialForceModel uses the same). The acceleration of person i is

    (wish - v) / τ + Σ_j [A/m w exp((r_ij - d_ij)/B) + k/m g] n_ij + κ/m g (Δv_ji · t_ij) t_ij

plus the same sum over walls (w = 1), with r_ij the sum of the radii, d_ij the distance of the centres, n_ij
the unit vector from j to i, t_ij = n_ij turned left, g = max(r_ij - d_ij, 0), Δv_ji = v_j - v_i and w = λ +
(1 - λ)(1 - n_ij · e_i)/2, where e_i is the direction of the preferred velocity: what is ahead weighs 1,
what is behind λ.

The publication integrates the stiff contact terms with a step that shrinks below 0.01 s. Here the step is
given, so k/m is limited to 1/(2 dt²) and κ/m g to 1/(2 dt) (twice that against a wall): a contact then pushes
two bodies apart by at most their overlap in one step and friction stops sliding but never reverses it. At
0.01 s the published k is below its limit. The exponent is limited to 8 for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels import social_force as force
from sidestep.kernels.approx import from_steps, order_free_steps
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, int64, uint64
from sidestep.kernels.social_force import GroupParameters

_ZERO, _HALF, _ONE = float32(0.0), float32(0.5), float32(1.0)

PER_TAU, STRENGTH, PER_RANGE, BODY, FRICTION, BEHIND, CUTOFF, GROUP_OFFSET = range(8)


@dataclass(frozen=True, kw_only=True)
class HelbingParameters:
    """Parameters of the Helbing–Molnár model; values of Helbing, Farkas and Vicsek (2000)."""

    relaxation_time: float = 0.5
    """τ (s): how fast the velocity approaches the preferred one."""
    mass: float = 80.0
    """m (kg)."""
    strength: float = 2000.0
    """A (N): repulsion at touching distance."""
    range: float = 0.08
    """B (m): the repulsion falls by 1/e over this distance."""
    body_stiffness: float = 1.2e5
    """k (kg/s²): compression of bodies that overlap."""
    friction: float = 2.4e5
    """κ (kg/(m s)): sliding friction of bodies that overlap."""
    behind: float = 1.0
    """λ in [0, 1]: weight of what is behind relative to what is ahead; 1 is the isotropic model of 2000."""
    cutoff: float = 1.5
    """Distance between two surfaces (m) beyond which bodies do not interact; 1e-8 of A is left there."""
    group: GroupParameters = field(default_factory=GroupParameters)

    def __post_init__(self) -> None:
        force.require_positive(self, ("relaxation_time", "mass", "range", "cutoff"))
        force.require_positive(self, ("strength", "body_stiffness", "friction"), or_zero=True)
        if not 0.0 <= self.behind <= 1.0:
            raise ValueError(f"HelbingParameters.behind has to be in [0, 1], not {self.behind!r}")
        if self.strength / self.mass > force.STRENGTH_LIMIT:
            raise ValueError(f"strength / mass has to be at most {force.STRENGTH_LIMIT} m/s²")

    def as_array(self) -> FloatArray:
        """The parameters, forces divided by the mass, in the order that the kernel reads them."""
        forces = (self.strength / self.mass, 1.0 / self.range, self.body_stiffness / self.mass)
        own = (1.0 / self.relaxation_time, *forces, self.friction / self.mass, self.behind, self.cutoff)
        return np.concatenate((np.array(own, dtype=np.float32), self.group.as_array()))


@inlined
def _fill_forces(agents: FloatArray, i: int, tile: FloatArray, count: int, params: FloatArray, dt: float) -> None:
    """Force of every candidate in ``tile`` on person ``i``: elementwise loops, run in vector registers.

    The person's own entry gives no force because its direction n is (0, 0).
    """
    x, y, vx, vy, radius = agents[at.PX, i], agents[at.PY, i], agents[at.VX, i], agents[at.VY, i], agents[at.RADIUS, i]
    wish_x, wish_y = agents[at.WISH_X, i], agents[at.WISH_Y, i]
    side = (_ONE - params[BEHIND]) * _HALF
    level = params[BEHIND] + side
    side = side / np.sqrt(max(wish_x * wish_x + wish_y * wish_y, force.TINY))
    ahead_x, ahead_y = side * wish_x, side * wish_y
    strength, per_range, cutoff = params[STRENGTH], params[PER_RANGE], params[CUTOFF]
    body = min(params[BODY], _HALF / (dt * dt))
    friction, friction_limit = params[FRICTION], _HALF / dt
    for k in range(uint64(count)):
        dx, dy = x - tile[force.ROW_X + k], y - tile[force.ROW_Y + k]
        square = dx * dx + dy * dy
        distance = np.sqrt(square if square > force.TINY else force.TINY)
        inverse = _ONE / distance
        tile[force.WORK_A + k] = dx * inverse
        tile[force.WORK_B + k] = dy * inverse
        tile[force.WORK_C + k] = distance - (radius + tile[force.ROW_RADIUS + k])
    for k in range(uint64(count)):
        nx, ny, gap = tile[force.WORK_A + k], tile[force.WORK_B + k], tile[force.WORK_C + k]
        overlap = -gap if gap < _ZERO else _ZERO
        weight = level - (nx * ahead_x + ny * ahead_y)
        normal = strength * weight * force.exponential_repulsion(gap, per_range) + body * overlap
        grip = friction * overlap
        grip = grip if grip < friction_limit else friction_limit
        sliding = grip * ((tile[force.ROW_VY + k] - vy) * nx - (tile[force.ROW_VX + k] - vx) * ny)
        tile[force.ROW_FX + k] = normal * nx - sliding * ny if gap <= cutoff else _ZERO
        tile[force.ROW_FY + k] = normal * ny + sliding * nx if gap <= cutoff else _ZERO


@kernel
def helbing_world(
    agents: FloatArray, flags: IntArray, people: int, walls: Walls, params: FloatArray, dt: float, scratch: FloatArray,
    first: int, last: int,
) -> None:  # fmt: skip
    """Write NEW_VX, NEW_VY of every active person ``first … last - 1`` whose MODEL is MODEL_HELBING, in one world.

    Columns from ``people`` on are robots; ``params`` from ``HelbingParameters.as_array``; ``dt`` in seconds;
    ``scratch`` from ``make_social_force_scratch``, one for each thread.
    """
    dt = float32(dt)
    lists, tiles = force.split_scratch(scratch, agents.shape[1])
    order, cell_first = lists[0], lists[4]
    law = (
        params[STRENGTH],
        params[PER_RANGE],
        min(params[BODY], _ONE / (dt * dt)),
        params[FRICTION],
        _ONE / dt,
    )
    reach = force.widest_reach(agents, flags, people, params[CUTOFF])
    cells = force.choose_cells(agents, flags, people, reach, force.CELLS_PER_REACH)
    force.sort_into_cells(agents, flags, people, cells, lists)
    force.link_groups(flags, people, lists[2], lists[3])
    for cell in range(cells[3] * cells[4]):
        count_people, count, padded = 0, 0, 0
        for k in range(cell_first[cell], cell_first[cell + 1]):
            i = order[k]
            if i < first or i >= last or flags[at.MODEL, i] != at.MODEL_HELBING:
                continue
            if count == 0:
                count_people, count, padded = force.gather_candidates(agents, flags, people, cells, cell, lists, tiles)
            steps_x, steps_y = int64(0), int64(0)
            for start in range(0, padded, force.TILE):
                tile = tiles[start // force.TILE * force.TILE_SIZE :]
                held = min(padded - start, force.TILE)
                _fill_forces(agents, i, tile, held, params, dt)
                if flags[at.SEES_ROBOT, i] == 0:
                    force.forget_robots(tile, start, count_people, count)
                steps_x += order_free_steps(tile, force.ROW_FX, held)
                steps_y += order_free_steps(tile, force.ROW_FY, held)
            force_x, force_y = from_steps(steps_x), from_steps(steps_y)
            force.write_velocity(
                agents, flags, people, i, force_x, force_y, params[PER_TAU], walls, law, lists, params, GROUP_OFFSET, dt
            )
