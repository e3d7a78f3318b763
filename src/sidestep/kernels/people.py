"""People between the crowd models: coming in, wanting to go somewhere, moving, arriving, leaving."""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.approx import atan2_32
from sidestep.kernels.bodies import CHANGED
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, float64
from sidestep.kernels.reactive_replay import recorded_state
from sidestep.kernels.sweep import clear_of_walls, move_with_walls

ARRIVED = float32(0.3)  # m: a waypoint is reached within this
SIDE_BIAS = float32(0.01)  # rad: people tend so much to their right, which settles exact symmetry
STUCK_BELOW = float32(0.3)  # of the preferred speed: who gets on less than this looks for a way round
STUCK_BIAS = float32(1.0)  # tangent of how far a person who does not get on at all turns to the right
STOPPING_ROOM = float32(0.1)  # m: what people whose acceleration is limited keep between themselves and others
TURN_SPEED = float32(0.05)  # m/s: the body turns to where it walks when faster than this


@kernel(forceinline=True)
def enter_people(agents: FloatArray, flags: IntArray, people: int, now: float) -> None:
    """Activate people whose time has come and whose place is free; the others wait outside."""
    columns = agents.shape[1]
    for i in range(people):
        if flags[at.ACTIVE, i] == 1 or flags[at.MODEL, i] == at.MODEL_REPLAY or agents[at.ENTER_TIME, i] > now:
            continue
        free = True
        for j in range(columns):
            if flags[at.ACTIVE, j] == 1:
                dx, dy = agents[at.PX, j] - agents[at.PX, i], agents[at.PY, j] - agents[at.PY, i]
                reach = agents[at.RADIUS, i] + agents[at.RADIUS, j]
                if dx * dx + dy * dy < reach * reach:
                    free = False
                    break
        if free:
            flags[at.ACTIVE, i] = 1


@kernel(forceinline=True)
def wish_velocities(
    agents: FloatArray, flags: IntArray, people: int, routes: FloatArray, route_length: IntArray, dt: float
) -> None:
    """Preferred velocity: toward the waypoint at the preferred speed, with the side bias; next waypoint on arrival.

    Hard bodies can jam like an arch. Who hardly gets on tends to the right, up to 45° when standing: jams begin to turn
    like a roundabout, and dissolve.
    """
    for i in range(people):
        agents[at.WISH_X, i] = float32(0.0)
        agents[at.WISH_Y, i] = float32(0.0)
        if flags[at.ACTIVE, i] != 1 or flags[at.MODEL, i] == at.MODEL_REPLAY or route_length[i] == 0:
            continue
        dx, dy = agents[at.GOAL_X, i] - agents[at.PX, i], agents[at.GOAL_Y, i] - agents[at.PY, i]
        distance = sqrt(dx * dx + dy * dy)
        last = flags[at.WAYPOINT, i] == route_length[i] - 1
        stays = last and flags[at.AT_END, i] != at.END_LOOP and flags[at.AT_END, i] != at.END_LEAVE
        if distance < ARRIVED and not stays:
            if last and flags[at.AT_END, i] == at.END_LEAVE:
                flags[at.ACTIVE, i] = 0
                agents[at.ENTER_TIME, i] = float32(np.inf)
                agents[at.VX, i] = float32(0.0)
                agents[at.VY, i] = float32(0.0)
                continue
            following = 0 if last else flags[at.WAYPOINT, i] + 1
            flags[at.WAYPOINT, i] = following
            agents[at.GOAL_X, i] = routes[i, following, 0]
            agents[at.GOAL_Y, i] = routes[i, following, 1]
            dx, dy = agents[at.GOAL_X, i] - agents[at.PX, i], agents[at.GOAL_Y, i] - agents[at.PY, i]
            distance = sqrt(dx * dx + dy * dy)
        if distance > float32(1e-6):
            speed = agents[at.PREF_SPEED, i]
            if stays:
                speed = min(speed, distance / max(dt, float32(0.25)))
            ux, uy = dx / distance * speed, dy / distance * speed
            bias = SIDE_BIAS
            if speed == agents[at.PREF_SPEED, i] and speed > float32(0.0):
                pace = agents[at.VX, i] * ux + agents[at.VY, i] * uy
                stuck = float32(1.0) - pace / (STUCK_BELOW * speed * speed)
                if stuck > float32(0.0):
                    bias += STUCK_BIAS * min(stuck, float32(1.0))
            agents[at.WISH_X, i] = ux + bias * uy
            agents[at.WISH_Y, i] = uy - bias * ux


@kernel
def widen_people(agents: FloatArray, people: int, before: FloatArray) -> None:
    """Let ORCA see those whose acceleration is limited larger than they are: they need room to stop."""
    for i in range(people):
        before[CHANGED, i] = agents[at.RADIUS, i]
        if agents[at.MAX_ACCELERATION, i] > float32(0.0):
            agents[at.RADIUS, i] += STOPPING_ROOM


@kernel
def narrow_people(agents: FloatArray, people: int, before: FloatArray) -> None:
    """Undo :func:`widen_people`, to the bit."""
    for i in range(people):
        agents[at.RADIUS, i] = before[CHANGED, i]


@kernel
def _limit_acceleration(agents: FloatArray, i: int, dt: float) -> None:
    """Shorten the change of velocity of the coming step to what the person can do."""
    vx, vy = agents[at.VX, i], agents[at.VY, i]
    change_x, change_y = agents[at.NEW_VX, i] - vx, agents[at.NEW_VY, i] - vy
    most, change = agents[at.MAX_ACCELERATION, i] * dt, sqrt(change_x * change_x + change_y * change_y)
    if change > most:
        agents[at.NEW_VX, i] = float32(vx + change_x * (most / change))
        agents[at.NEW_VY, i] = float32(vy + change_y * (most / change))


@kernel(is_part=True, forceinline=True)
def move_people(agents: FloatArray, flags: IntArray, people: int, walls: Walls, dt: float) -> None:
    """Carry out the new velocities. Walls are hard: a body stops or slides along. Velocity is what was moved."""
    walled = walls.points.shape[0] > 0
    for i in range(people):
        if flags[at.ACTIVE, i] != 1 or flags[at.MODEL, i] == at.MODEL_REPLAY or flags[at.MODEL, i] == at.MODEL_NONE:
            continue
        if agents[at.MAX_ACCELERATION, i] > float32(0.0):
            _limit_acceleration(agents, i, dt)
        dx, dy = agents[at.NEW_VX, i] * dt, agents[at.NEW_VY, i] * dt
        x, y = agents[at.PX, i], agents[at.PY, i]
        radius = float64(agents[at.RADIUS, i])
        if walled and not clear_of_walls(float64(x), float64(y), float64(dx), float64(dy), radius, walls):
            new_x, new_y, touched, _ = move_with_walls(float64(x), float64(y), float64(dx), float64(dy), radius, walls)
            agents[at.PX, i], agents[at.PY, i] = float32(new_x), float32(new_y)
            if touched:
                agents[at.VX, i], agents[at.VY, i] = (agents[at.PX, i] - x) / dt, (agents[at.PY, i] - y) / dt
            else:
                agents[at.VX, i], agents[at.VY, i] = agents[at.NEW_VX, i], agents[at.NEW_VY, i]
        else:
            agents[at.PX, i], agents[at.PY, i] = x + dx, y + dy
            agents[at.VX, i], agents[at.VY, i] = agents[at.NEW_VX, i], agents[at.NEW_VY, i]


@kernel(forceinline=True)
def replay_people(agents: FloatArray, flags: IntArray, people: int, replay: FloatArray, step: int) -> None:
    """Put replayed people where the recording has them at ``step``; (T, N, 4) x, y, vx, vy, NaN when absent.

    Who is behind the recording (``LAG``) is where the recording was so much earlier, between two samples on the
    straight line, and as much slower as the own clock is.
    """
    step = min(step, replay.shape[0] - 1)
    for i in range(people):
        if flags[at.MODEL, i] != at.MODEL_REPLAY:
            continue
        if agents[at.LAG, i] > float32(0.0):
            x, y, vx, vy = recorded_state(replay, i, float64(step) - float64(agents[at.LAG, i]))
            vx, vy = vx * agents[at.PACE, i], vy * agents[at.PACE, i]
        else:
            x, y, vx, vy = replay[step, i, 0], replay[step, i, 1], replay[step, i, 2], replay[step, i, 3]
        if x != x:
            flags[at.ACTIVE, i] = 0
            continue
        flags[at.ACTIVE, i] = 1
        agents[at.PX, i], agents[at.PY, i] = x, y
        agents[at.VX, i], agents[at.VY, i] = vx, vy


@kernel(forceinline=True)
def face_people(agents: FloatArray, flags: IntArray, people: int) -> None:
    """Bodies face where they walk; who stands keeps facing the same way."""
    for i in range(people):
        vx, vy = agents[at.VX, i], agents[at.VY, i]
        if flags[at.ACTIVE, i] == 1 and vx * vx + vy * vy > TURN_SPEED * TURN_SPEED:
            agents[at.HEADING, i] = atan2_32(vy, vx)
