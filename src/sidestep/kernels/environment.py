"""Learning environments over many worlds: act, step, judge and observe in one compiled call.

Observations are centred on the robot; for unicycle and bicycle robots they are also turned so that x points ahead, for
holonomic robots, whose commands are in the world frame, they are not.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import HOLONOMIC, ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import ACTIVE, MAX_SPEED, PX, PY, RADIUS, VX, VY
from sidestep.kernels.world import (
    AT_GOAL,
    AT_WALL,
    GOAL_DISTANCE,
    NEAREST,
    RULE_DT,
    RULE_TIME_LIMIT,
    scene_of,
    step_world,
)

# how an environment's episode ended
RUNNING, REACHED_GOAL, HIT_PERSON, HIT_WALL, HIT_ROBOT, OUT_OF_TIME = 0, 1, 2, 3, 4, 5

# robot observation: goal (x, y), velocity (x, y), turn rate, radius, speed limit, share of the time used
ROBOT_FEATURES = 8
# person observation: position (x, y), velocity (x, y), radius
PERSON_FEATURES = 5

# reward weights
W_SUCCESS, W_COLLISION, W_PROGRESS, W_DISCOMFORT, W_DISCOMFORT_DISTANCE, W_TIME, REWARD_WEIGHTS = 0, 1, 2, 3, 4, 5, 6


@kernel(_nrt=False)
def observe_world(agents, flags, people, robot, dynamics, goal, time_share, own, robot_out, people_out, mask_out):
    """Fill the observation arrays of one robot: ``robot_out (8,)``, ``people_out (N, 5)``, ``mask_out (N,)``."""
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    s, c = 0.0, 1.0
    if dynamics != HOLONOMIC:
        s, c = sincos64(robot[ROBOT_HEADING])
    gx, gy = goal[0] - x, goal[1] - y
    robot_out[0], robot_out[1] = c * gx + s * gy, c * gy - s * gx
    robot_out[2] = c * robot[ROBOT_VX] + s * robot[ROBOT_VY]
    robot_out[3] = c * robot[ROBOT_VY] - s * robot[ROBOT_VX]
    robot_out[4] = robot[ROBOT_OMEGA]
    robot_out[5], robot_out[6] = agents[RADIUS, own], agents[MAX_SPEED, own]
    robot_out[7] = time_share
    x32, y32, s32, c32 = np.float32(x), np.float32(y), np.float32(s), np.float32(c)
    for i in range(people):
        here = flags[ACTIVE, i] == 1
        present = np.float32(1.0) if here else np.float32(0.0)
        dx, dy = (agents[PX, i] - x32) * present, (agents[PY, i] - y32) * present
        vx, vy = agents[VX, i] * present, agents[VY, i] * present
        people_out[i, 0], people_out[i, 1] = c32 * dx + s32 * dy, c32 * dy - s32 * dx
        people_out[i, 2], people_out[i, 3] = c32 * vx + s32 * vy, c32 * vy - s32 * vx
        people_out[i, 4] = agents[RADIUS, i] * present
        mask_out[i] = 1 if here else 0


@kernel(_nrt=False)
def judge_robot(contact, people, own, status, measures, time, time_limit):
    """How the episode of one robot stands after a step: a collision outranks the goal, the goal outranks the time."""
    if status[AT_WALL] == 1:
        return HIT_WALL
    for j in range(people, contact.shape[0]):
        if j != own and contact[j] <= np.float32(1.0):
            return HIT_ROBOT
    if measures[NEAREST] <= 0.0:
        for j in range(people):
            if contact[j] <= np.float32(1.0):
                return HIT_PERSON
    if status[AT_GOAL] == 1:
        return REACHED_GOAL
    return OUT_OF_TIME if time >= time_limit - 1e-9 else RUNNING


@kernel(_nrt=False)
def reward_of(ending, weights, measures, distance_before, dt):
    """Reward of one step: the ending, progress to the goal, discomfort of people nearer than a distance, time."""
    reward = weights[W_PROGRESS] * (distance_before - measures[GOAL_DISTANCE]) - weights[W_TIME] * dt
    if ending == REACHED_GOAL:
        reward += weights[W_SUCCESS]
    elif ending == HIT_PERSON or ending == HIT_WALL or ending == HIT_ROBOT:
        reward -= weights[W_COLLISION]
    elif measures[NEAREST] < weights[W_DISCOMFORT_DISTANCE]:
        reward -= weights[W_DISCOMFORT] * (weights[W_DISCOMFORT_DISTANCE] - measures[NEAREST]) * dt
    return reward


@kernel(_nrt=False)
def step_environments(
    first, last, action, action_centre, action_half, weights, reward, ending, robot_out, people_out, mask_out,
    clock, agents, flags, people, routes, route_length, robots, body, limits, dynamics, goals, command, applied, contact,
    status, measures, rules, index, bank, replays, parameters, scratch,
):  # fmt: skip
    """Carry out ``action (B, R, 2)`` in [-1, 1] in environments ``first … last - 1``; fill reward, ending, observation (B, R, …)."""
    for b in range(first, last):
        robot_count = robots.shape[1]
        for r in range(robot_count):
            for k in range(2):
                value = min(max(np.float64(action[b, r, k]), -1.0), 1.0)
                command[b, r, k] = action_centre[b, r, k] + action_half[b, r, k] * value
            dx, dy = goals[b, r, 0] - robots[b, r, ROBOT_X], goals[b, r, 1] - robots[b, r, ROBOT_Y]
            reward[b, r] = np.sqrt(dx * dx + dy * dy)
        step_world(
            clock[b], agents[b], flags[b], people, routes[b], route_length[b], robots[b], body[b], limits[b],
            dynamics[b], goals[b], command[b], applied[b], contact[b], status[b], measures[b], rules[b],
            scene_of(bank, index[b, 0]), replays[index[b, 1]], parameters[0][b], parameters[1][b], parameters[2][b],
            scratch[0], scratch[1], scratch[2],
        )  # fmt: skip
        clock[b] += 1
        time, limit = clock[b] * rules[b, RULE_DT], rules[b, RULE_TIME_LIMIT]
        for r in range(robot_count):
            own = people + r
            ending[b, r] = judge_robot(contact[b, r], people, own, status[b, r], measures[b, r], time, limit)
            reward[b, r] = reward_of(ending[b, r], weights, measures[b, r], reward[b, r], rules[b, RULE_DT])
            observe_world(
                agents[b], flags[b], people, robots[b, r], dynamics[b, r], goals[b, r], time / limit, own,
                robot_out[b, r], people_out[b, r], mask_out[b, r],
            )  # fmt: skip


@kernel(_nrt=False)
def observe_environments(
    which, robot_out, people_out, mask_out, clock, agents, flags, people, robots, dynamics, goals, rules
):
    """Fill the observations of the environments listed in ``which`` without stepping."""
    for b in which:
        share = clock[b] * rules[b, RULE_DT] / rules[b, RULE_TIME_LIMIT]
        for r in range(robots.shape[1]):
            observe_world(
                agents[b], flags[b], people, robots[b, r], dynamics[b, r], goals[b, r], share, people + r,
                robot_out[b, r], people_out[b, r], mask_out[b, r],
            )  # fmt: skip


@kernel
def copy_worlds(targets, sources, live, pool):
    """Put the initial worlds ``sources`` of a pool in the places ``targets``. ``live`` and ``pool`` list the same arrays."""
    for k in range(len(targets)):
        b, p = targets[k], sources[k]
        live[0][b] = pool[0][p]
        live[1][b] = pool[1][p]
        live[2][b] = pool[2][p]
        live[3][b] = pool[3][p]
        live[4][b] = pool[4][p]
        live[5][b] = pool[5][p]
        live[6][b] = pool[6][p]
        live[7][b] = pool[7][p]
        live[8][b] = pool[8][p]
        live[9][b] = pool[9][p]
        live[10][b] = pool[10][p]
