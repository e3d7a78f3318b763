"""Learning environments over many worlds: act, step, judge and observe in one compiled call.

Episodes are judged as in the benchmark, by ``kernels.referee``; what a step is worth is decided here.

Observations are centred on the robot; for unicycle and bicycle robots they are also turned so that x points
ahead, for holonomic robots, whose commands are in the world frame, they are not.

The kernels allocate nothing and so count no references (``_nrt=False``): with the hundreds of array views that
a step makes, counting takes two to six times as long as a step among few people.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import HOLONOMIC, ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.jit import atomic_add, atomic_exchange, atomic_read, kernel, pause
from sidestep.kernels.layout import ACTIVE, MAX_SPEED, PX, PY, RADIUS, VX, VY
from sidestep.kernels.referee import (
    BEGAN_NEWS,
    ENDING,
    FAILURE_NEWS,
    NEWS,
    RESET_NEWS,
    RUNNING,
    SUCCEEDED,
    RefereeState,
    begin_judging,
    judge_world,
)
from sidestep.kernels.world import GOAL_DISTANCE, NEAREST, RULE_DT, RULE_TIME_LIMIT, scene_of, step_world

# robot observation: goal (x, y), velocity (x, y), turn rate, radius, speed limit, share of the time used
ROBOT_FEATURES = 8
# observation of a person or of another robot: position (x, y), velocity (x, y), radius
AGENT_FEATURES = 5

# reward weights
W_SUCCESS, W_COLLISION, W_PROGRESS, W_DISCOMFORT, W_DISCOMFORT_DISTANCE, W_TIME, W_FAILURE, REWARD_WEIGHTS = range(8)

TURN = 8  # environments that a thread takes at a time
PATIENCE = 40_000  # pauses, about a millisecond, that a helper waits for the next step
TAKEN, FINISHED, INSIDE, COUNTERS = 0, 8, 16, 24  # places in the counters, each in a cache line of its own


@kernel(forceinline=True)
def _write_agent(agents, j, present, x, y, s, c, row):
    """Agent ``j`` relative to (x, y) and turned by the angle of sine s and cosine c; zeros if not present."""
    dx, dy = (agents[PX, j] - x) * present, (agents[PY, j] - y) * present
    vx, vy = agents[VX, j] * present, agents[VY, j] * present
    row[0], row[1] = c * dx + s * dy, c * dy - s * dx
    row[2], row[3] = c * vx + s * vy, c * vy - s * vx
    row[4] = agents[RADIUS, j] * present


@kernel(forceinline=True)
def _observe_columns(agents, flags, first, last, x, y, s, c, out, mask):
    """Agents ``first … last - 1``, one row each."""
    for j in range(first, last):
        here = flags[ACTIVE, j] == 1
        _write_agent(agents, j, np.float32(1.0) if here else np.float32(0.0), x, y, s, c, out[j - first])
        mask[j - first] = 1 if here else 0


@kernel
def _observe_nearest(agents, flags, people, x, y, s, c, out, mask):
    """More people than rows: the nearest who are there, by column; of two as near the lower column."""
    kept = 0
    for i in range(people):
        if flags[ACTIVE, i] != 1:
            continue
        dx, dy = agents[PX, i] - x, agents[PY, i] - y
        square = dx * dx + dy * dy
        nearer = 0
        for j in range(people):
            ex, ey = agents[PX, j] - x, agents[PY, j] - y
            other = ex * ex + ey * ey
            if flags[ACTIVE, j] == 1 and (other < square or (other == square and j < i)):
                nearer += 1
        if nearer < out.shape[0]:
            _write_agent(agents, i, np.float32(1.0), x, y, s, c, out[kept])
            mask[kept] = 1
            kept += 1
    for k in range(kept, out.shape[0]):
        for feature in range(AGENT_FEATURES):
            out[k, feature] = np.float32(0.0)
        mask[k] = 0


@kernel(forceinline=True)
def observe_robot(agents, flags, people, own, robot, dynamics, goal, time_share, views):
    """Fill what one robot, column ``own``, observes. ``views``: robot (8,); people (N, 5) and mask (N,); the other
    robots (R - 1, 5) and mask (R - 1,). Rows without an agent are zero."""
    robot_out, people_out, people_mask, robots_out, robots_mask = views
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
    if people <= people_out.shape[0]:
        _observe_columns(agents, flags, 0, people, x32, y32, s32, c32, people_out, people_mask)
    else:
        _observe_nearest(agents, flags, people, x32, y32, s32, c32, people_out, people_mask)
    before = own - people
    _observe_columns(agents, flags, people, own, x32, y32, s32, c32, robots_out, robots_mask)
    _observe_columns(
        agents, flags, own + 1, agents.shape[1], x32, y32, s32, c32, robots_out[before:], robots_mask[before:]
    )


@kernel(forceinline=True)
def reward_of(news, ending, weights, measures, dt):
    """Reward of one simulation step without progress: success, contacts and other failures that began, discomfort of
    people near, time."""
    reward = -weights[W_TIME] * dt
    if news & FAILURE_NEWS:
        reward -= weights[W_FAILURE]
    if ending == SUCCEEDED:
        reward += weights[W_SUCCESS]
    if news & BEGAN_NEWS:
        reward -= weights[W_COLLISION]
    elif ending != SUCCEEDED and measures[NEAREST] < weights[W_DISCOMFORT_DISTANCE]:
        reward -= weights[W_DISCOMFORT] * (weights[W_DISCOMFORT_DISTANCE] - measures[NEAREST]) * dt
    return reward


@kernel(forceinline=True)
def _distance(goal, robot):
    dx, dy = goal[0] - robot[ROBOT_X], goal[1] - robot[ROBOT_Y]
    return np.sqrt(dx * dx + dy * dy)


@kernel(forceinline=True)
def _begin(action, centre, half, progress, flags, people, robots, goals, command, reward):
    """Turn the actions of one environment into commands; the reward begins with the distance to the goal."""
    for r in range(robots.shape[0]):
        reward[r] = 0.0
        command[r, 0] = command[r, 1] = 0.0
        if flags[ACTIVE, people + r] == 1:
            for k in range(2):
                value = min(max(np.float64(action[r, k]), -1.0), 1.0)
                command[r, k] = centre[r, k] + half[r, k] * value
            reward[r] = progress * _distance(goals[r], robots[r])


@kernel(forceinline=True)
def _reward(flags, people, robots, goals, measures, marks, dt, is_last, weights, reward):
    """After a simulation step was judged: rewards of the robots under way; those that ended leave the world, so that
    nobody sees or touches them any more. How many are still under way."""
    under_way = 0
    for r in range(marks.shape[0]):
        if flags[ACTIVE, people + r] == 1:
            news, ending = marks[r, NEWS], marks[r, ENDING]
            reward[r] += reward_of(news, ending, weights, measures[r], dt)
            ended = is_last or ending != RUNNING
            if ended or news & RESET_NEWS:
                reward[r] -= weights[W_PROGRESS] * measures[r, GOAL_DISTANCE]
            if news & RESET_NEWS and not ended:  # being carried is no progress
                reward[r] += weights[W_PROGRESS] * _distance(goals[r], robots[r])
            under_way += ending == RUNNING
    for r in range(marks.shape[0]):
        if marks[r, ENDING] != RUNNING:
            flags[ACTIVE, people + r] = 0
    return under_way


@kernel(forceinline=True)
def _step_environment(
    b, every, action, centre, half, weights, reward, views, clock, agents, flags, people, routes, route_length, robots,
    body, limits, dynamics, goals, command, applied, contact, status, measures, rules, index, bank, replays, parameters,
    judging, scratch,
):  # fmt: skip
    _begin(
        action[b], centre[b], half[b], weights[W_PROGRESS], flags[b], people, robots[b], goals[b], command[b],
        reward[b],
    )  # fmt: skip
    for k in range(every):
        step_world(
            clock[b], agents[b], flags[b], people, routes[b], route_length[b], robots[b], body[b], limits[b],
            dynamics[b], goals[b], command[b], applied[b], contact[b], status[b], measures[b], rules[b],
            scene_of(bank, index[b, 0]), replays[index[b, 1]], parameters[0][b], parameters[1][b],
            parameters[2][b], scratch[0], scratch[1], scratch[2],
        )  # fmt: skip
        clock[b] += 1
        judge_world(
            b, clock[b], agents[b], flags[b], people, robots[b], body[b], contact[b], status[b], measures[b], rules[b],
            index[b, 2], judging, robots.shape[1],
        )  # fmt: skip
        under_way = _reward(
            flags[b], people, robots[b], goals[b], measures[b], judging.marks[b], rules[b, RULE_DT], k == every - 1,
            weights, reward[b],
        )  # fmt: skip
        if under_way == 0:
            break
    _observe_environment(b, views, clock, agents, flags, people, robots, dynamics, goals, rules)


@kernel
def open_step(counters, action):
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
    leads, counters, every, action, centre, half, weights, reward, views, clock, agents, flags, people, routes,
    route_length, robots, body, limits, dynamics, goals, command, applied, contact, status, measures, rules, index,
    bank, replays, parameters, referee_arrays, scratch,
):  # fmt: skip
    """Carry out ``action (B, R, 2)`` in [-1, 1] for ``every`` simulation steps; fill reward (B, R), the views
    (B, R, …) and the referee's marks. ``referee_arrays``: those of a ``RefereeState``, as a plain tuple, which numba
    unpacks faster at every call.

    After :func:`open_step` one thread calls this to lead, and others may call it to help, each with a scratch of its
    own: all take environments in turn, ``TURN`` at a time, and the leader returns when all are finished. A helper that
    comes late finds nothing left to take, or helps with the next step. It waits awake for the next step, because a
    thread that sleeps takes longer to wake than a small batch takes to step, but not for long.
    """
    size = action.shape[0]
    judging = RefereeState(referee_arrays[0], referee_arrays[1], referee_arrays[2], referee_arrays[3])
    waited = 0
    while waited < PATIENCE:
        atomic_add(counters, INSIDE, 1)
        first = atomic_add(counters, TAKEN, TURN)
        while first < size:
            last = min(first + TURN, size)
            for b in range(first, last):
                _step_environment(
                    b, every, action, centre, half, weights, reward, views, clock, agents, flags, people, routes,
                    route_length, robots, body, limits, dynamics, goals, command, applied, contact, status, measures,
                    rules, index, bank, replays, parameters, judging, scratch,
                )  # fmt: skip
            atomic_add(counters, FINISHED, last - first)
            first = atomic_add(counters, TAKEN, TURN)
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
def _observe_environment(b, views, clock, agents, flags, people, robots, dynamics, goals, rules):
    time_share = clock[b] * rules[b, RULE_DT] / rules[b, RULE_TIME_LIMIT]
    for r in range(robots.shape[1]):
        own = (views[0][b, r], views[1][b, r], views[2][b, r], views[3][b, r], views[4][b, r])
        observe_robot(
            agents[b], flags[b], people, people + r, robots[b, r], dynamics[b, r], goals[b, r], time_share, own
        )


@kernel
def observe_environments(which, views, clock, agents, flags, people, robots, dynamics, goals, rules):
    """Fill the views of the environments listed in ``which`` without stepping."""
    for b in which:
        _observe_environment(b, views, clock, agents, flags, people, robots, dynamics, goals, rules)


@kernel
def _copy(target, source):
    target, source = target.reshape(target.size), source.reshape(source.size)
    for k in range(target.size):
        target[k] = source[k]


@kernel
def restart_environments(
    which, sources, marks, notes, live, pool, views, clock, agents, flags, people, robots, dynamics, goals, rules
):
    """Put the initial worlds ``sources`` of a pool in the places ``which`` and observe them. ``live`` and ``pool``
    list the same arrays."""
    for k in range(len(which)):
        b, p = which[k], sources[k]
        clock[b] = 0
        _copy(live[0][b], pool[0][p])
        _copy(live[1][b], pool[1][p])
        _copy(live[2][b], pool[2][p])
        _copy(live[3][b], pool[3][p])
        _copy(live[4][b], pool[4][p])
        _copy(live[5][b], pool[5][p])
        _copy(live[6][b], pool[6][p])
        _copy(live[7][b], pool[7][p])
        _copy(live[8][b], pool[8][p])
        _copy(live[9][b], pool[9][p])
        _copy(live[10][b], pool[10][p])
        _copy(live[11][b], pool[11][p])
        begin_judging(marks[b], notes[b], robots[b])
    observe_environments(which, views, clock, agents, flags, people, robots, dynamics, goals, rules)
