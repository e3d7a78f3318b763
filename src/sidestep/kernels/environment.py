"""Learning environments over many worlds: act, step, judge and observe in one compiled call.

Episodes are judged as in the benchmark, by ``kernels.referee``, and observed by ``kernels.observation``; what a step is
worth is decided here. Robots under test are the first of a world's; its vehicles, which directors command, come after.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels import referee
from sidestep.kernels.dynamics import HOLONOMIC, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import atomic_add, atomic_exchange, atomic_read, kernel, pause
from sidestep.kernels.layout import FloatArray, IntArray, Scratch, Walls, WorldArrays, WorldBatch, float64
from sidestep.kernels.observation import Place, Senses, SenseScratch, Views, observe_robot
from sidestep.kernels.world import step_world, walls_of, world_of

# reward weights
W_SUCCESS, W_COLLISION, W_PROGRESS, W_DISCOMFORT, W_DISCOMFORT_DISTANCE, W_TIME, W_FAILURE, REWARD_WEIGHTS = range(8)

CHUNK = 8  # environments that a thread takes at a time
PATIENCE = 40_000  # pauses, about a millisecond, that a helper waits for the next step
TAKEN, FINISHED, INSIDE, COUNTERS = 0, 8, 16, 24  # places in the counters, each in a cache line of its own


class ActionArrays(NamedTuple):
    """What environments are asked to do and what they give for it. ``action`` in [-1, 1] spans the robot's native
    command limits: command = centre + half * action."""

    every: IntArray  # (B,) int64: simulation steps that an action holds
    span: IntArray  # (2,) int64: which of these steps to make now, the first and the one after the last
    action: FloatArray  # (B, A, 2) float32
    centre: FloatArray  # (A, 2) float64
    half: FloatArray  # (A, 2) float64
    weights: FloatArray  # (REWARD_WEIGHTS,) float64
    reward: FloatArray  # (B, A) float64, written


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
    for r in range(actions.action.shape[1]):
        actions.reward[b, r] = 0.0
        world.command[r, 0] = world.command[r, 1] = 0.0
        if world.flags[at.ACTIVE, people + r] == 1:
            for k in range(2):
                value = min(max(float64(actions.action[b, r, k]), -1.0), 1.0)
                world.command[r, k] = actions.centre[r, k] + actions.half[r, k] * value
            actions.reward[b, r] = actions.weights[W_PROGRESS] * _distance(world.goals[r], world.robots[r])


@kernel(forceinline=True)
def _reward(b: int, world: WorldArrays, people: int, is_last: bool, actions: ActionArrays) -> int:
    """After a simulation step was judged: rewards of the robots under way; those that ended leave the world, so that
    nobody sees or touches them any more. Returns how many are still under way."""
    flags, marks, measures, weights, reward = world.flags, world.marks, world.measures, actions.weights, actions.reward
    under_way = 0
    for r in range(reward.shape[1]):
        if flags[at.ACTIVE, people + r] == 1:
            news, ending = marks[r, referee.NEWS], marks[r, referee.ENDING]
            reward[b, r] += _step_reward(news, ending, weights, measures[r], world.rules[at.RULE_DT])
            ended = is_last or ending != referee.RUNNING
            if ended or news & referee.RESET_NEWS:
                reward[b, r] -= weights[W_PROGRESS] * measures[r, at.GOAL_DISTANCE]
            if news & referee.RESET_NEWS and not ended:  # being carried is no progress
                reward[b, r] += weights[W_PROGRESS] * _distance(world.goals[r], world.robots[r])
            under_way += ending == referee.RUNNING
    for r in range(reward.shape[1]):
        if marks[r, referee.ENDING] != referee.RUNNING:
            flags[at.ACTIVE, people + r] = 0
    return under_way


@kernel(forceinline=True)
def _is_under_way(world: WorldArrays, robots: int) -> bool:
    under_way = False
    for r in range(robots):
        under_way |= world.marks[r, referee.ENDING] == referee.RUNNING
    return under_way


@kernel(forceinline=True)
def _step_environment(
    b: int, batch: WorldBatch, actions: ActionArrays, senses: Senses, views: Views, scratch: Scratch,
    sense_scratch: SenseScratch,
) -> None:  # fmt: skip
    """The steps ``span`` of an action, up to its last; observed when it is carried out or the episode is over."""
    first, last = actions.span[0], min(actions.span[1], actions.every[b])
    world = world_of(batch.worlds, b)
    robots, people = actions.reward.shape[1], world.routes.shape[0]
    if first >= last or (first > 0 and not _is_under_way(world, robots)):
        return
    walls, replay = walls_of(batch.bank, world.scene_index[0]), batch.bank.replays[world.scene_index[1]]
    if first == 0:
        _begin(b, world, people, actions)
    is_done = False
    for k in range(first, last):
        step_world(batch.clock[b], world, walls, replay, scratch.before, scratch.orca, scratch.force)
        batch.clock[b] += 1
        referee.judge_world(b, world, batch, robots)
        is_last = k == actions.every[b] - 1
        is_done = _reward(b, world, people, is_last, actions) == 0 or is_last
        if is_done:
            break
    if is_done:
        _observe_environment(b, world, walls, batch.clock[b], senses, views, sense_scratch)


@kernel
def open_step(counters: IntArray, action: FloatArray) -> bool:
    """Let threads take environments for a step with ``action (B, A, 2)``. False, and nothing is opened, if a number of
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
    leads: bool, counters: IntArray, batch: WorldBatch, actions: ActionArrays, senses: Senses, views: Views,
    scratch: Scratch, sense_scratch: SenseScratch,
) -> None:  # fmt: skip
    """Carry out the actions, or the part of them that ``actions.span`` names, fill rewards and views, and let the
    referee judge.

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
                _step_environment(b, batch, actions, senses, views, scratch, sense_scratch)
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
def _observe_environment(
    b: int, world: WorldArrays, walls: Walls, step: int, senses: Senses, views: Views, scratch: SenseScratch
) -> None:
    people, tested = world.routes.shape[0], views.robot.shape[1]
    time_share = step * world.rules[at.RULE_DT] / world.rules[at.RULE_TIME_LIMIT]
    for r in range(tested):
        place = Place(
            world.agents, world.flags, people, tested, r, world.robots[r], world.goals[r],
            world.dynamics[r] != HOLONOMIC, time_share, world.robots[tested:], world.body[tested:], walls,
        )  # fmt: skip
        observe_robot(place, senses, views, b, scratch)


@kernel
def observe_environments(
    which: IntArray, batch: WorldBatch, senses: Senses, views: Views, scratch: SenseScratch
) -> None:
    """Fill the views of the environments listed in ``which`` without stepping."""
    for b in which:
        world = world_of(batch.worlds, b)
        walls = walls_of(batch.bank, world.scene_index[0])
        _observe_environment(b, world, walls, batch.clock[b], senses, views, scratch)


@kernel
def _copy(target: FloatArray | IntArray, source: FloatArray | IntArray) -> None:
    target, source = target.reshape(target.size), source.reshape(source.size)
    for k in range(target.size):
        target[k] = source[k]


@kernel
def restart_environments(
    which: IntArray, sources: IntArray, batch: WorldBatch, pool: WorldArrays, senses: Senses, views: Views,
    scratch: SenseScratch,
) -> None:  # fmt: skip
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
        _copy(world.parameters.orca, initial.parameters.orca)
        _copy(world.parameters.helbing, initial.parameters.helbing)
        _copy(world.parameters.moussaid, initial.parameters.moussaid)
        referee.begin_judging(world.marks, world.notes, world.robots)
    observe_environments(which, batch, senses, views, scratch)
