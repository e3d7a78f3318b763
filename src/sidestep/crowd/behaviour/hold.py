"""People who stand hold their place and let others go round them.

Crowd models cannot do that: under ORCA whoever is followed closely may not brake, and is carried along. So people who
stand are moved by script: to their place at a stroll, and no step into anybody; everybody else gives way.
"""

from __future__ import annotations

import numpy as np

from sidestep.crowd.behaviour.stage import Stage, square
from sidestep.kernels import layout
from sidestep.types.base import BoolArray, FloatArray, IntArray

STROLL_MPS = 1.0
CLOSING_S = 0.25
"""The last piece is walked ever slower: distance over this."""
BRAKE_MPS2 = 4.0
STILL_MPS = 0.02
CLEAR_M = 0.12
"""What a step to the place keeps from everybody else, surface to surface."""

_POSITION = slice(layout.PX, layout.PY + 1)
_VELOCITY = slice(layout.VX, layout.VY + 1)
_NEW = slice(layout.NEW_VX, layout.NEW_VY + 1)


def hold_people(stage: Stage, standing: BoolArray, model: IntArray, share: FloatArray, dt: float) -> None:
    """Script those of N who are ``standing``; the others have the crowd ``model`` and ``share`` of walking people."""
    stage.flags[layout.MODEL] = np.where(standing, layout.MODEL_SCRIPT, model)
    stage.agents[layout.SHARE] = np.where(standing, np.float32(0.0), share)
    who = np.flatnonzero(standing)
    if not len(who):
        return
    agents = stage.agents
    gap = agents[layout.GOAL_X : layout.GOAL_Y + 1, who] - agents[_POSITION, who]
    distance = np.sqrt(square(*gap))
    wish = gap * np.minimum(STROLL_MPS / np.maximum(distance, np.float32(1e-6)), np.float32(1.0 / CLOSING_S))
    change = wish - agents[_VELOCITY, who]
    size = np.sqrt(square(*change))
    velocity = agents[_VELOCITY, who] + change * np.minimum(
        np.float32(BRAKE_MPS2 * dt) / np.maximum(size, np.float32(1e-6)), np.float32(1.0)
    )
    still = square(*velocity) < STILL_MPS * STILL_MPS
    velocity[:, still] = 0.0
    moving = np.flatnonzero(~still)
    if len(moving):
        velocity[:, moving[_would_touch(stage, who[moving], velocity[:, moving], dt)]] = 0.0
    agents[_NEW, who] = velocity


def _would_touch(stage: Stage, who: IntArray, velocity: FloatArray, dt: float) -> BoolArray:
    """(K,) whether a step of ``velocity`` (2, K) brings each of ``who`` nearer to somebody than allowed."""
    everybody, here = stage.world_agents, stage.agents[_POSITION, who]
    now = here[:, :, None] - everybody[_POSITION, None, :]
    then = now + (velocity * np.float32(dt))[:, :, None]
    reach = stage.agents[layout.RADIUS, who][:, None] + everybody[layout.RADIUS][None, :] + np.float32(CLEAR_M)
    after = square(*then)
    touches = (after < reach * reach) & (after < square(*now)) & (stage.world_flags[layout.ACTIVE] == 1)
    touches[np.arange(len(who)), stage.first + who] = False
    touched: BoolArray = touches.any(axis=1)
    return touched
