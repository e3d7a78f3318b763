"""What a privileged policy may know: where everybody will be if nobody minds the robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sidestep.kernels import layout
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types.observation import Future


def future_of(world: World) -> Future:
    """Run a copy of the world, in which the robots stand and nobody sees them, to the time limit.

    Exact for replayed people and for all who do not see the robot; for the others, what they would do without it.
    """
    flags = world.flags.copy()
    flags[layout.SEES_ROBOT] = 0
    worlds = Worlds([replace(world, flags=flags)], threads=1)
    people, steps = world.people, world.scenario.rules.max_steps
    position = np.full((steps + 1, people, 2), np.nan, np.float32)
    for step in range(steps + 1):
        if step:
            worlds.step()
        here = worlds.flags[0, layout.ACTIVE, :people] == 1
        position[step, here] = worlds.agents[0, layout.PX : layout.PY + 1, :people][:, here].T
    return Future(position, world.agents[layout.RADIUS, :people].copy(), world.scenario.rules.step_s)
