"""Compiled steps of an open world in which one crowd model moves everybody.

A step is what the product does for a person: preferred velocity, interaction, position update. ``walk_*``
carries out many steps on one thread; ``begin_*`` and ``part_of_*`` split one step, so that threads can share
the interaction.
"""

from __future__ import annotations

from typing import Any

from sidestep.kernels.jit import kernel
from sidestep.kernels.orca import orca_build, orca_range, orca_world
from sidestep.kernels.people import move_people, wish_velocities
from sidestep.kernels.social_force_helbing import helbing_world, helbing_world_range
from sidestep.kernels.social_force_moussaid import moussaid_world, moussaid_world_range


@kernel
def walk_orca(
    steps: Any,
    agents: Any,
    flags: Any,
    routes: Any,
    lengths: Any,
    walls: Any,
    params: Any,
    dt: Any,
    scratch: Any,
) -> None:
    """``steps`` steps of ORCA."""
    people = agents.shape[1]
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        orca_world(agents, flags, people, *walls, params, scratch)
        move_people(agents, flags, people, walls, dt)


@kernel
def walk_helbing(
    steps: Any,
    agents: Any,
    flags: Any,
    routes: Any,
    lengths: Any,
    walls: Any,
    params: Any,
    dt: Any,
    scratch: Any,
) -> None:
    """``steps`` steps of the Helbing social force model."""
    people = agents.shape[1]
    points, dirs, following, _, _, starts, items, grid, shape = walls
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        helbing_world(agents, flags, people, points, dirs, following, starts, items, grid, shape, params, dt, scratch)
        move_people(agents, flags, people, walls, dt)


@kernel
def walk_moussaid(
    steps: Any,
    agents: Any,
    flags: Any,
    routes: Any,
    lengths: Any,
    walls: Any,
    params: Any,
    dt: Any,
    scratch: Any,
) -> None:
    """``steps`` steps of the Moussaïd social force model."""
    people = agents.shape[1]
    points, dirs, following, _, _, starts, items, grid, shape = walls
    for _ in range(steps):
        wish_velocities(agents, flags, people, routes, lengths, dt)
        moussaid_world(agents, flags, people, points, dirs, following, starts, items, grid, shape, params, dt, scratch)
        move_people(agents, flags, people, walls, dt)


@kernel
def begin_orca(
    decided: Any,
    agents: Any,
    flags: Any,
    routes: Any,
    lengths: Any,
    walls: Any,
    params: Any,
    dt: Any,
    shared: Any,
) -> None:
    """Move everybody by the last step's decision, if any, wish anew, and sort people into ``shared``."""
    people = agents.shape[1]
    if decided:
        move_people(agents, flags, people, walls, dt)
    wish_velocities(agents, flags, people, routes, lengths, dt)
    orca_build(agents, flags, params, shared)


@kernel
def part_of_orca(
    agents: Any, flags: Any, walls: Any, params: Any, shared: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for places ``first … last - 1`` of the order in ``shared``."""
    orca_range(agents, flags, agents.shape[1], *walls, params, shared, scratch, first, last)


@kernel
def begin_force(decided: Any, agents: Any, flags: Any, routes: Any, lengths: Any, walls: Any, dt: Any) -> None:
    """Move everybody by the last step's decision, if any, and wish anew."""
    people = agents.shape[1]
    if decided:
        move_people(agents, flags, people, walls, dt)
    wish_velocities(agents, flags, people, routes, lengths, dt)


@kernel
def part_of_helbing(
    agents: Any, flags: Any, walls: Any, params: Any, dt: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for people ``first … last - 1``."""
    points, dirs, following, _, _, starts, items, grid, shape = walls
    helbing_world_range(
        agents, flags, agents.shape[1], points, dirs, following, starts, items, grid, shape, params, dt,
        scratch, first, last,
    )  # fmt: skip


@kernel
def part_of_moussaid(
    agents: Any, flags: Any, walls: Any, params: Any, dt: Any, scratch: Any, first: Any, last: Any
) -> None:
    """Decide for people ``first … last - 1``."""
    points, dirs, following, _, _, starts, items, grid, shape = walls
    moussaid_world_range(
        agents, flags, agents.shape[1], points, dirs, following, starts, items, grid, shape, params, dt,
        scratch, first, last,
    )  # fmt: skip
