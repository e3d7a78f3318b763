"""Learning environments over many worlds: act, step, judge and observe in one compiled call.

Episodes are judged as in the benchmark, by ``kernels.referee``; what a step is worth is decided here.

Observations are centred on the robot; for unicycle and bicycle robots they are also turned so that x points
ahead, for holonomic robots, whose commands are in the world frame, they are not.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels import referee
from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import HOLONOMIC, ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import atomic_add, atomic_exchange, atomic_read, kernel, pause
from sidestep.kernels.layout import FloatArray, IntArray, Scratch, WorldArrays, WorldBatch, float32, float64
from sidestep.kernels.world import step_world, walls_of, world_of

# robot observation: goal (x, y), velocity (x, y), turn rate, radius, speed limit, share of the time used
ROBOT_FEATURES = 8
# observation of a person or of another robot: position (x, y), velocity (x, y), radius
AGENT_FEATURES = 5

# reward weights
W_SUCCESS, W_COLLISION, W_PROGRESS, W_DISCOMFORT, W_DISCOMFORT_DISTANCE, W_TIME, W_FAILURE, REWARD_WEIGHTS = range(8)

CHUNK = 8  # environments that a thread takes at a time
PATIENCE = 40_000  # pauses, about a millisecond, that a helper waits for the next step
TAKEN, FINISHED, INSIDE, COUNTERS = 0, 8, 16, 24  # places in the counters, each in a cache line of its own


class Views(NamedTuple):
    """What the robots of B environments observe; rows without an agent are zero."""

    robot: FloatArray  # (B, R, ROBOT_FEATURES) float32
    people: FloatArray  # (B, R, rows, AGENT_FEATURES) float32; where there are more people than rows, the nearest
    people_mask: IntArray  # (B, R, rows) int8
    robots: FloatArray  # (B, R, R - 1, AGENT_FEATURES) float32: the other robots
    robots_mask: IntArray  # (B, R, R - 1) int8


class ActionArrays(NamedTuple):
    """What environments are asked to do and what they give for it. ``action`` in [-1, 1] spans the robot's native
    command limits: command = centre + half * action."""

    every: int  # simulation steps that an action holds
    action: FloatArray  # (B, R, 2) float32
    centre: FloatArray  # (B, R, 2) float64
    half: FloatArray  # (B, R, 2) float64
    weights: FloatArray  # (REWARD_WEIGHTS,) float64
    reward: FloatArray  # (B, R) float64, written


@kernel(forceinline=True)
def _write_agent(
    agents: FloatArray, j: int, present: float, x: float, y: float, s: float, c: float, row: FloatArray
) -> None:
    """Agent ``j`` relative to (x, y) and turned by the angle of sine s and cosine c; zeros if not present."""
    dx, dy = (agents[at.PX, j] - x) * present, (agents[at.PY, j] - y) * present
    vx, vy = agents[at.VX, j] * present, agents[at.VY, j] * present
    row[0], row[1] = c * dx + s * dy, c * dy - s * dx
    row[2], row[3] = c * vx + s * vy, c * vy - s * vx
    row[4] = agents[at.RADIUS, j] * present


@kernel(forceinline=True)
def _observe_columns(
    agents: FloatArray, flags: IntArray, first: int, last: int, x: float, y: float, s: float, c: float, out: FloatArray,
    mask: IntArray,
) -> None:  # fmt: skip
    """Agents ``first … last - 1``, one row each."""
    for j in range(first, last):
        here = flags[at.ACTIVE, j] == 1
        _write_agent(agents, j, float32(1.0) if here else float32(0.0), x, y, s, c, out[j - first])
        mask[j - first] = 1 if here else 0


@kernel
def _observe_nearest(
    agents: FloatArray, flags: IntArray, people: int, x: float, y: float, s: float, c: float, out: FloatArray,
    mask: IntArray,
) -> None:  # fmt: skip
    """More people than rows: the nearest who are there, by column; of two as near the lower column."""
    kept = 0
    for i in range(people):
        if flags[at.ACTIVE, i] != 1:
            continue
        dx, dy = agents[at.PX, i] - x, agents[at.PY, i] - y
        square = dx * dx + dy * dy
        nearer = 0
        for j in range(people):
            ex, ey = agents[at.PX, j] - x, agents[at.PY, j] - y
            other = ex * ex + ey * ey
            if flags[at.ACTIVE, j] == 1 and (other < square or (other == square and j < i)):
                nearer += 1
        if nearer < out.shape[0]:
            _write_agent(agents, i, float32(1.0), x, y, s, c, out[kept])
            mask[kept] = 1
            kept += 1
    for k in range(kept, out.shape[0]):
        for feature in range(AGENT_FEATURES):
            out[k, feature] = float32(0.0)
        mask[k] = 0


@kernel(forceinline=True)
def _observe_robot(world: WorldArrays, people: int, r: int, time_share: float, views: Views, b: int) -> None:
    """Fill what robot ``r`` of environment ``b`` observes."""
    agents, flags, own, robot, goal = world.agents, world.flags, people + r, world.robots[r], world.goals[r]
    robot_out, people_out, robots_out = views.robot[b, r], views.people[b, r], views.robots[b, r]
    people_mask, robots_mask = views.people_mask[b, r], views.robots_mask[b, r]
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    s, c = 0.0, 1.0
    if world.dynamics[r] != HOLONOMIC:
        s, c = sincos64(robot[ROBOT_HEADING])
    gx, gy = goal[0] - x, goal[1] - y
    robot_out[0], robot_out[1] = c * gx + s * gy, c * gy - s * gx
    robot_out[2] = c * robot[ROBOT_VX] + s * robot[ROBOT_VY]
    robot_out[3] = c * robot[ROBOT_VY] - s * robot[ROBOT_VX]
    robot_out[4] = robot[ROBOT_OMEGA]
    robot_out[5], robot_out[6] = agents[at.RADIUS, own], agents[at.MAX_SPEED, own]
    robot_out[7] = time_share
    x32, y32, s32, c32 = float32(x), float32(y), float32(s), float32(c)
    if people <= people_out.shape[0]:
        _observe_columns(agents, flags, 0, people, x32, y32, s32, c32, people_out, people_mask)
    else:
        _observe_nearest(agents, flags, people, x32, y32, s32, c32, people_out, people_mask)
    _observe_columns(agents, flags, people, own, x32, y32, s32, c32, robots_out, robots_mask)
    _observe_columns(agents, flags, own + 1, agents.shape[1], x32, y32, s32, c32, robots_out[r:], robots_mask[r:])


@kernel(forceinline=True)
def _step_reward(news: int, ending: int, weights: FloatArray, measures: FloatArray, dt: float) -> float:
    """Reward of one simulation step without progress: success, contacts and other failures that began, discomfort of
    people near, time."""
    reward: float = -weights[W_TIME] * dt
    if news & referee.FAILURE_NEWS:
        reward -= weights[W_FAILURE]
    if ending == referee.SUCCEEDED:
        reward += weights[W_SUCCESS]
    if news & referee.BEGAN_NEWS:
        reward -= weights[W_COLLISION]
    elif ending != referee.SUCCEEDED and measures[at.NEAREST] < weights[W_DISCOMFORT_DISTANCE]:
        reward -= weights[W_DISCOMFORT] * (weights[W_DISCOMFORT_DISTANCE] - measures[at.NEAREST]) * dt
    return reward


@kernel(forceinline=True)
def _distance(goal: FloatArray, robot: FloatArray) -> float:
    dx, dy = goal[0] - robot[ROBOT_X], goal[1] - robot[ROBOT_Y]
    return sqrt(dx * dx + dy * dy)


@kernel(forceinline=True)
def _begin(b: int, world: WorldArrays, people: int, actions: ActionArrays) -> None:
    """Turn the actions of one environment into commands; the reward begins with the distance to the goal."""
    for r in range(world.robots.shape[0]):
        actions.reward[b, r] = 0.0
        world.command[r, 0] = world.command[r, 1] = 0.0
        if world.flags[at.ACTIVE, people + r] == 1:
            for k in range(2):
                value = min(max(float64(actions.action[b, r, k]), -1.0), 1.0)
                world.command[r, k] = actions.centre[b, r, k] + actions.half[b, r, k] * value
            actions.reward[b, r] = actions.weights[W_PROGRESS] * _distance(world.goals[r], world.robots[r])


@kernel(forceinline=True)
def _reward(b: int, world: WorldArrays, people: int, is_last: bool, actions: ActionArrays) -> int:
    """After a simulation step was judged: rewards of the robots under way; those that ended leave the world, so that
    nobody sees or touches them any more. Returns how many are still under way."""
    flags, marks, measures, weights, reward = world.flags, world.marks, world.measures, actions.weights, actions.reward
    under_way = 0
    for r in range(marks.shape[0]):
        if flags[at.ACTIVE, people + r] == 1:
            news, ending = marks[r, referee.NEWS], marks[r, referee.ENDING]
            reward[b, r] += _step_reward(news, ending, weights, measures[r], world.rules[at.RULE_DT])
            ended = is_last or ending != referee.RUNNING
            if ended or news & referee.RESET_NEWS:
                reward[b, r] -= weights[W_PROGRESS] * measures[r, at.GOAL_DISTANCE]
            if news & referee.RESET_NEWS and not ended:  # being carried is no progress
                reward[b, r] += weights[W_PROGRESS] * _distance(world.goals[r], world.robots[r])
            under_way += ending == referee.RUNNING
    for r in range(marks.shape[0]):
        if marks[r, referee.ENDING] != referee.RUNNING:
            flags[at.ACTIVE, people + r] = 0
    return under_way


@kernel(forceinline=True)
def _step_environment(b: int, batch: WorldBatch, actions: ActionArrays, views: Views, scratch: Scratch) -> None:
    world = world_of(batch.worlds, b)
    robots = world.robots.shape[0]
    people = world.routes.shape[0]
    walls, replay = walls_of(batch.bank, world.scene_index[0]), batch.bank.replays[world.scene_index[1]]
    _begin(b, world, people, actions)
    for k in range(actions.every):
        step_world(batch.clock[b], world, walls, replay, scratch.before, scratch.orca, scratch.force)
        batch.clock[b] += 1
        referee.judge_world(b, world, batch, robots)
        if _reward(b, world, people, k == actions.every - 1, actions) == 0:
            break
    _observe_environment(b, world, batch.clock[b], views)


@kernel
def open_step(counters: IntArray, action: FloatArray) -> bool:
    """Let threads take environments for a step with ``action (B, R, 2)``. False, and nothing is opened, if a number of
    it is not finite. ``counters (COUNTERS,)`` are zero at first, but B are taken: no step is open."""
    for b in range(action.shape[0]):
        for r in range(action.shape[1]):
            if not (np.isfinite(action[b, r, 0]) and np.isfinite(action[b, r, 1])):
                return False
    atomic_exchange(counters, TAKEN, action.shape[0])  # a step that was interrupted: nobody takes more of it
    while atomic_add(counters, INSIDE, 0) > 0:
        pass
    atomic_exchange(counters, FINISHED, 0)
    atomic_exchange(counters, TAKEN, 0)
    return True


@kernel
def step_environments(
    leads: bool, counters: IntArray, batch: WorldBatch, actions: ActionArrays, views: Views, scratch: Scratch
) -> None:
    """Carry out the actions, fill rewards and views, and let the referee judge.

    After :func:`open_step` one thread calls this to lead, and others may call it to help, each with a scratch of its
    own: all take environments in turn, ``CHUNK`` at a time, and the leader returns when all are finished. A helper that
    comes late finds nothing left to take, or helps with the next step. It waits awake for the next step, because a
    thread that sleeps takes longer to wake than a small batch takes to step, but not for long.
    """
    size = actions.action.shape[0]
    waited = 0
    while waited < PATIENCE:
        atomic_add(counters, INSIDE, 1)
        first = atomic_add(counters, TAKEN, CHUNK)
        while first < size:
            last = min(first + CHUNK, size)
            for b in range(first, last):
                _step_environment(b, batch, actions, views, scratch)
            atomic_add(counters, FINISHED, last - first)
            first = atomic_add(counters, TAKEN, CHUNK)
        while leads and atomic_read(counters, FINISHED) < size:
            pause()
        atomic_add(counters, INSIDE, -1)
        if leads:
            return
        waited = 0
        while waited < PATIENCE and atomic_read(counters, TAKEN) >= size:
            pause()
            waited += 1


@kernel(forceinline=True)
def _observe_environment(b: int, world: WorldArrays, step: int, views: Views) -> None:
    people = world.routes.shape[0]
    time_share = step * world.rules[at.RULE_DT] / world.rules[at.RULE_TIME_LIMIT]
    for r in range(world.robots.shape[0]):
        _observe_robot(world, people, r, time_share, views, b)


@kernel
def observe_environments(which: IntArray, batch: WorldBatch, views: Views) -> None:
    """Fill the views of the environments listed in ``which`` without stepping."""
    for b in which:
        _observe_environment(b, world_of(batch.worlds, b), batch.clock[b], views)


@kernel
def _copy(target: FloatArray | IntArray, source: FloatArray | IntArray) -> None:
    target, source = target.reshape(target.size), source.reshape(source.size)
    for k in range(target.size):
        target[k] = source[k]


@kernel
def restart_environments(
    which: IntArray, sources: IntArray, batch: WorldBatch, pool: WorldArrays, views: Views
) -> None:
    """Put the initial worlds ``sources`` of a pool into the environments ``which`` and observe them."""
    for k in range(len(which)):
        b = which[k]
        world, initial = world_of(batch.worlds, b), world_of(pool, sources[k])
        batch.clock[b] = 0
        _copy(world.agents, initial.agents)
        _copy(world.flags, initial.flags)
        _copy(world.routes, initial.routes)
        _copy(world.route_length, initial.route_length)
        _copy(world.robots, initial.robots)
        _copy(world.body, initial.body)
        _copy(world.limits, initial.limits)
        _copy(world.dynamics, initial.dynamics)
        _copy(world.goals, initial.goals)
        _copy(world.rules, initial.rules)
        _copy(world.scene_index, initial.scene_index)
        _copy(world.waypoints, initial.waypoints)
        referee.begin_judging(world.marks, world.notes, world.robots)
    observe_environments(which, batch, views)
