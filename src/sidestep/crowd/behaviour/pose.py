"""Where people who stand face and look, and what they do with their hands."""

from __future__ import annotations

import numpy as np

from sidestep.crowd.behaviour.stage import Stage
from sidestep.kernels import layout
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.gestures import GESTURES

TURN_RATE = 2.5
"""rad/s of people who stand."""
LOOK_RAD, LOOK_PERIOD_S = 0.9, 6.0
"""How far and how slowly people who look around turn their heads."""

_TURN = np.float32(2 * np.pi)


def pose_people(
    stage: Stage, settled: BoolArray, face: FloatArray, gesture: IntArray, phase: FloatArray, dt: float
) -> None:
    """Turn who has ``settled`` (N,) toward ``face`` (N,) rad, with ``gesture`` (N,); others look where they walk."""
    agents = stage.agents
    turn = face - agents[layout.HEADING]
    turn -= _TURN * np.round(turn / _TURN)
    most = np.float32(TURN_RATE * dt)
    agents[layout.HEADING] += np.where(settled, np.minimum(np.maximum(turn, -most), most), np.float32(0.0))
    stage.flags[layout.GESTURE] = np.where(settled, gesture, GESTURES["none"])
    cycle = (stage.now / LOOK_PERIOD_S + phase) % 1.0
    swing = LOOK_RAD * (1.0 - 4.0 * np.abs(cycle - 0.5))
    yaw = np.where(gesture == GESTURES["look_around"], swing, 0.0)
    agents[layout.HEAD_YAW] = np.where(settled, yaw, np.nan)
