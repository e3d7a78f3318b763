"""The expert of the sidewalks: knows the map, everybody's state, groups and gestures. It shows what can be done."""

from __future__ import annotations

from math import inf, sqrt
from typing import ClassVar

import numpy as np

from sidestep.exact import cos, hypot, sin
from sidestep.policies.sidewalk.follow_lane import FollowLane
from sidestep.types import Observation, Pedestrians, RobotState, Velocity
from sidestep.types.gestures import GESTURES

STOP_BEFORE_M = 2.2
"""It stands so far, from centre to centre, before somebody who raises a hand."""
CALM_MPS2 = 0.8
HEEDED_M = 12.0
"""Nearer than this, a raised hand is heeded."""


class Expert(FollowLane):
    """The best way along the route round everything and everybody, as they go on walking; stops when told to."""

    name = "expert"
    summary = "privileged: map, everybody's state, groups and gestures; keeps off all and stops when told to"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal", "pedestrians"})
    privileged: ClassVar[bool] = True

    def _drive(self, observation: Observation) -> Velocity:
        people = observation.pedestrians
        cap = inf if people is None else allowed_speed(observation.robot, people)
        return self._planner.drive(observation.robot, people, cap)


def allowed_speed(robot: RobotState, people: Pedestrians) -> float:
    """How fast those who raise a hand to the robot let it go: it is to stand before the nearest of them."""
    if people.gesture is None:
        return inf
    slowest = inf
    for k in np.flatnonzero(people.gesture == GESTURES["stop"]).tolist():
        dx, dy = float(people.position[k, 0]) - robot.x, float(people.position[k, 1]) - robot.y
        away, facing = hypot(dx, dy), float(people.heading[k])
        ahead = dx * cos(robot.heading) + dy * sin(robot.heading) > 0.0
        to_me = -dx * cos(facing) - dy * sin(facing) > 0.0
        if away < HEEDED_M and ahead and to_me:
            room = away - STOP_BEFORE_M
            slowest = min(slowest, sqrt(2.0 * CALM_MPS2 * room) if room > 0.0 else 0.0)
    return slowest
