"""Background people in a world: the network of a crowd part on its scene, and who directs the people."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from sidestep.crowd.behaviour.background import Background
from sidestep.crowd.behaviour.network import Ground, Network, make_network
from sidestep.crowd.behaviour.stage import Stage
from sidestep.kernels.world import RULE_DT
from sidestep.scenes.free_space import free_mask
from sidestep.types import CompiledScene, Event
from sidestep.types.behaviour import BehaviourGraph

if TYPE_CHECKING:
    from sidestep.simulation.worlds import Worlds


@lru_cache(maxsize=16)
def background_network(
    scene: CompiledScene, graph: BehaviourGraph, radius: float, lane_m: float, where: str
) -> Network:
    """The graph on the scene's ground, for people of ``radius``; remembered, as many scenarios share a town."""
    walled = len(scene.wall_points) > 0
    ground = Ground(
        partial(free_mask, scene) if walled else None, np.ascontiguousarray(scene.segments, np.float64).reshape(-1, 4)
    )
    return make_network(graph, ground, radius, lane_m, where)


class BackgroundDirector:
    """Directs the people of one crowd part, who are in the columns ``first … last - 1``."""

    def __init__(self, background: Background, first: int, last: int) -> None:
        self.background = background
        self._columns = slice(first, last)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Tell them what to do in the coming step. That is no event."""
        who = self._columns
        dt = float(worlds.rules[b, RULE_DT])
        stage = Stage(
            worlds.agents[b][:, who],
            worlds.flags[b][:, who],
            worlds.routes[b, who],
            worlds.route_length[b, who],
            float(worlds.clock[b]) * dt,
            worlds.agents[b],
            worlds.flags[b],
            self._columns.start,
        )
        self.background.advance(stage, dt)
        return []
