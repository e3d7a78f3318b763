"""The worlds in which SA-CADRL is trained: open spaces with learners, people who give way and people who do not.

The worlds are the simulator's own (:class:`sidestep.simulation.worlds.Worlds`); here they are filled with random
encounters, all numbers from one generator. Learners are the robots; people are ORCA people who see the robots, ORCA
people who do not, and *walkers*, who do not react to others, turn and pause now and then, and may walk in pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.orca import orca_world
from sidestep.policies.cadrl.lookahead import OTHER_FLOATS, ROBOT_FLOATS, SLOTS, Around, Learners, step_rewards
from sidestep.simulation.build import build_world
from sidestep.simulation.worlds import Worlds
from sidestep.types import Scenario
from sidestep.types.base import FloatArray, IntArray

STEP_S = 0.2
"""Time between two decisions of a learner, and the simulator's step, s."""
PEOPLE, LEARNERS = 8, 4
"""Most of each in one world."""
GOES_ON, REACHED, TOUCHED, LATE = 0, 1, 2, 3
"""State of a learner's episode."""

_GAP = 0.3  # m between the surfaces of two who start
_TRIES = 6
_EDGE = 9.0  # m: walkers turn back here


def _template() -> Scenario:
    """A scenario with all the columns that the arena fills; nothing of its placement is kept."""
    people = [{"start": [2.0 * k, 50.0], "waypoints": [[2.0 * k, 60.0], [2.0 * k, 50.0]]} for k in range(PEOPLE)]
    spec = {"name": "learner", "dynamics": "holonomic", "footprint": {"radius": 0.2}, "limits": {"max_speed": 3.0}}
    robots = [{"spec": spec, "start": [2.0 * k, 0.0, 0.0], "goal": [2.0 * k, 9.0]} for k in range(LEARNERS)]
    document = {
        "name": "cadrl-arena",
        "suite": "learn",
        "robots": robots,
        "crowd": [{"model": "orca", "at_end": "loop", "people": people}],
        "rules": {"step_s": STEP_S, "time_limit_s": 1000.0},
    }
    return Scenario.parse(document, "the training arena")


class TrainingWorlds:
    """``size`` worlds, refilled as soon as all learners in one have ended."""

    def __init__(self, size: int, rng: np.random.Generator, norm: float, refill: bool = True) -> None:
        world = build_world(_template(), 0)
        self.worlds = Worlds([world] * size)
        self.size = size
        self._rng = rng
        self._norm = np.float32(norm)
        self._refill = refill
        self.agents, self.flags, self.goals = self.worlds.agents, self.worlds.flags, self.worlds.goals
        self.most_steps = np.zeros((size, LEARNERS), np.int64)
        self.steps = np.zeros((size, LEARNERS), np.int64)
        self.free_time = np.zeros((size, LEARNERS))
        self._walker = np.zeros((size, PEOPLE), bool)
        self._turn = np.zeros((size, PEOPLE), np.float32)
        self._pause = np.zeros((size, PEOPLE), np.float32)
        columns = PEOPLE + LEARNERS
        others = np.zeros((columns, OTHER_FLOATS), np.float32)
        self.around = Around(np.zeros(ROBOT_FLOATS, np.float32), others, np.zeros(SLOTS, np.int64))
        self._fill(np.arange(size))

    def active(self) -> IntArray:
        """(K, 2) world and number of every learner under way."""
        return np.argwhere(self.flags[:, layout.ACTIVE, PEOPLE:] == 1)

    def learners(self, which: IntArray) -> Learners:
        """The learners ``which (K, 2)`` as kernels take them."""
        return Learners(which, self.agents, self.flags, PEOPLE, self.goals)

    def step(self, which: IntArray, velocity: FloatArray) -> tuple[FloatArray, IntArray]:
        """Carry out the velocities (K, 2) of the learners ``which``; their rewards and endings."""
        before = self.agents[:, [layout.PX, layout.PY]].copy()
        self.worlds.command[:] = 0.0
        self.worlds.command[which[:, 0], which[:, 1]] = velocity
        self._walk()
        self.worlds.step()
        reward, ending = np.zeros(len(which), np.float32), np.zeros(len(which), np.int64)
        step_rewards(self.learners(which), before, self._norm, np.float32(STEP_S), self.around, reward, ending)
        b, r = which.T
        self.steps[b, r] += 1
        ending[(ending == GOES_ON) & (self.steps[b, r] >= self.most_steps[b, r])] = LATE
        ended = ending != GOES_ON
        self.flags[b[ended], layout.ACTIVE, PEOPLE + r[ended]] = 0
        if self._refill:
            empty = np.flatnonzero(~(self.flags[:, layout.ACTIVE, PEOPLE:] == 1).any(axis=1))
            if len(empty):
                self._fill(empty)
        return reward, ending

    def orca_velocities(self, which: IntArray) -> FloatArray:
        """The velocities that ORCA gives the learners ``which``: (K, 2), m/s."""
        own = self.agents[:, :, PEOPLE:]
        dx, dy = self.goals[..., 0] - own[:, layout.PX], self.goals[..., 1] - own[:, layout.PY]
        distance = np.maximum(np.hypot(dx, dy), 1e-6)
        speed = np.minimum(own[:, layout.PREF_SPEED], distance / STEP_S)
        wx, wy = dx / distance * speed, dy / distance * speed
        own[:, layout.WISH_X], own[:, layout.WISH_Y] = wx + 0.01 * wy, wy - 0.01 * wx
        self.flags[:, layout.MODEL, PEOPLE:] = layout.MODEL_ORCA
        walls, scratch = layout.no_walls(), self.worlds.new_scratch().orca
        parameters = self.worlds.batch.worlds.parameters.orca
        for b in np.unique(which[:, 0]):
            orca_world(self.agents[b], self.flags[b], PEOPLE + LEARNERS, walls, parameters[b], scratch)
        self.flags[:, layout.MODEL, PEOPLE:] = layout.MODEL_NONE
        columns = PEOPLE + which[:, 1]
        x, y = (self.agents[which[:, 0], row, columns] for row in (layout.NEW_VX, layout.NEW_VY))
        return np.stack([x, y], axis=1).astype(np.float64)

    def _walk(self) -> None:
        """Move the walkers, who do not react to others: some turn, some pause, and those who leave turn back."""
        people = self.agents[:, :, :PEOPLE]
        x, y, vx, vy = (people[:, row] for row in (layout.PX, layout.PY, layout.VX, layout.VY))
        walker = self._walker
        change = self._rng.random(walker.shape) < 0.03
        self._turn = np.where(change, self._rng.normal(0.0, 0.25, walker.shape), self._turn).astype(np.float32)
        pause = self._rng.random(walker.shape)
        self._pause = np.where(pause < 0.005, 0.0, np.where(pause > 0.9, 1.0, self._pause)).astype(np.float32)
        speed = people[:, layout.PREF_SPEED]
        heading = people[:, layout.HEADING] + self._turn * np.float32(STEP_S)
        leaving = (np.hypot(x, y) > _EDGE) & (x * np.cos(heading) + y * np.sin(heading) > 0)
        heading = np.where(leaving, np.arctan2(-y, -x) + 4.0 * self._turn, heading).astype(np.float32)
        people[:, layout.HEADING] = np.where(walker, heading, people[:, layout.HEADING])
        people[:, layout.VX] = np.where(walker, speed * self._pause * np.cos(heading), vx)
        people[:, layout.VY] = np.where(walker, speed * self._pause * np.sin(heading), vy)
        people[:, layout.PX] += np.where(walker, people[:, layout.VX] * np.float32(STEP_S), 0.0)
        people[:, layout.PY] += np.where(walker, people[:, layout.VY] * np.float32(STEP_S), 0.0)

    def _fill(self, which: IntArray) -> None:
        """New encounters in the worlds ``which``."""
        drawn = _draw_encounters(len(which), self._rng)
        agents = np.zeros((len(which), layout.AGENT_ROWS, PEOPLE + LEARNERS), np.float32)
        agents[:, layout.PX], agents[:, layout.PY] = drawn["start"][..., 0], drawn["start"][..., 1]
        agents[:, layout.VX], agents[:, layout.VY] = drawn["velocity"][..., 0], drawn["velocity"][..., 1]
        agents[:, layout.RADIUS], agents[:, layout.PREF_SPEED] = drawn["radius"], drawn["speed"]
        agents[:, layout.MAX_SPEED] = drawn["speed"]
        agents[:, layout.MAX_SPEED, :PEOPLE] *= 1.3
        agents[:, layout.SHARE] = 1.0
        agents[:, layout.SHARE, :PEOPLE] = np.where(drawn["walker"], 0.0, 1.0)
        agents[:, layout.GOAL_X], agents[:, layout.GOAL_Y] = drawn["goal"][..., 0], drawn["goal"][..., 1]
        agents[:, layout.HEADING] = np.arctan2(drawn["velocity"][..., 1], drawn["velocity"][..., 0])
        agents[:, layout.ENTER_TIME] = np.inf
        flags = np.zeros((len(which), layout.FLAG_ROWS, PEOPLE + LEARNERS), np.int32)
        flags[:, layout.ACTIVE], flags[:, layout.GROUP], flags[:, layout.SEES_ROBOT] = drawn["active"], -1, 1
        flags[:, layout.SEES_ROBOT, :PEOPLE] = drawn["sees"]
        flags[:, layout.MODEL, :PEOPLE] = np.where(drawn["walker"], layout.MODEL_NONE, layout.MODEL_ORCA)
        flags[:, layout.AT_END] = layout.END_LOOP
        self.agents[which], self.flags[which] = agents, flags
        self.worlds.routes[which, :, 0] = drawn["goal"][:, :PEOPLE]
        self.worlds.routes[which, :, 1] = drawn["start"][:, :PEOPLE]
        self.worlds.route_length[which] = 2
        self._fill_learners(which, drawn)
        self._walker[which] = drawn["walker"]
        self._turn[which], self._pause[which] = drawn["turn"], 1.0
        self.worlds.clock[which] = 0

    def _fill_learners(self, which: IntArray, drawn: dict[str, Any]) -> None:
        start, goal = drawn["start"][:, PEOPLE:], drawn["goal"][:, PEOPLE:]
        state = np.zeros_like(self.worlds.robot_state[which])
        state[..., [ROBOT_X, ROBOT_Y]] = start
        state[..., [ROBOT_VX, ROBOT_VY]] = drawn["velocity"][:, PEOPLE:]
        self.worlds.robot_state[which] = state
        self.goals[which] = goal
        time = np.hypot(*np.moveaxis(goal - start, -1, 0)) / drawn["speed"][:, PEOPLE:]
        self.free_time[which] = time
        self.most_steps[which] = ((3.0 * time + 8.0) / STEP_S).astype(np.int64)
        self.steps[which] = 0


def _draw_encounters(k: int, rng: np.random.Generator) -> dict[str, Any]:
    """Initial states and goals in ``k`` worlds: arrays (k, PEOPLE + LEARNERS, …), people first."""
    m = PEOPLE + LEARNERS
    half = rng.uniform(2.5, 7.0, k)
    learner = np.arange(m) >= PEOPLE
    speed = np.where(learner, rng.uniform(0.8, 1.4, (k, m)), np.clip(rng.normal(1.25, 0.35, (k, m)), 0.3, 2.0))
    radius = np.where(learner, rng.uniform(0.15, 0.35, (k, m)), rng.uniform(0.2, 0.3, (k, m)))
    walker, sees = _draw_people(k, rng)
    standing = walker & (rng.random((k, PEOPLE)) < 0.12)
    speed[:, :PEOPLE] = np.where(standing, 0.0, speed[:, :PEOPLE])
    active = np.arange(m) < rng.integers(0, PEOPLE + 1, k)[:, None]
    learners = np.where(rng.random(k) < 0.6, 1, rng.integers(2, LEARNERS + 1, k))
    active[:, PEOPLE:] = np.arange(LEARNERS) < learners[:, None]
    kind, flow = rng.integers(0, 3, k), rng.uniform(-np.pi, np.pi, k)
    start, goal = np.zeros((k, m, 2)), np.zeros((k, m, 2))
    done = np.zeros(m, bool)
    for column in np.roll(np.arange(m), LEARNERS):  # learners first: they are the last to go without a place
        pending = active[:, column].copy()
        placed = active & done
        done[column] = True
        for _ in range(_TRIES):
            a, b = _draw_route(kind, half, flow, bool(learner[column]), rng)
            start[pending, column], goal[pending, column] = a[pending], b[pending]
            gap = (
                np.hypot(*np.moveaxis(start - start[:, column : column + 1], -1, 0)) - radius - radius[:, column, None]
            )
            pending &= (placed & (gap < _GAP)).any(axis=1)
        active[pending, column] = False
    leg = goal - start
    pace = speed / np.maximum(np.hypot(leg[..., 0], leg[..., 1]), 1e-6)
    rolling = np.where(learner, rng.random((k, m)) < 0.5, True)
    velocity = leg * (pace * rolling)[..., None]
    turn = rng.normal(0.0, 0.15, (k, PEOPLE))
    drawn = {"start": start, "goal": goal, "velocity": velocity, "speed": speed, "radius": radius, "active": active,
             "walker": walker, "sees": sees, "turn": turn}  # fmt: skip
    _pair_up(drawn, rng)
    return drawn


def _draw_people(k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Which people are walkers and which see the robots. A third of the worlds have people who give way, a third
    people who do not, a third both."""
    mood = rng.integers(0, 3, k)[:, None]
    gives_way = np.where(mood == 2, rng.random((k, PEOPLE)) < 0.5, mood == 0)
    walker = ~gives_way & (rng.random((k, PEOPLE)) < 0.6)
    return walker, gives_way


def _draw_route(
    kind: IntArray, half: FloatArray, flow: FloatArray, learns: bool, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """A start and a goal in each world: across a circle, anywhere in a square, or (people only) along a stream."""
    k = len(kind)
    angle = rng.uniform(-np.pi, np.pi, k)
    circle = half[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    noise = rng.normal(0.0, 0.6, (2, k, 2))
    square = rng.uniform(-1.0, 1.0, (2, k, 2)) * half[:, None]
    along = flow + np.pi * (rng.random(k) < 0.5) + np.pi / 2 * (rng.random(k) < 0.15)
    stream = square[0] + 2.0 * half[:, None] * np.stack([np.cos(along), np.sin(along)], axis=1)
    across = (kind == 0) | ((kind == 2) & learns)
    start = np.where(across[:, None], circle + noise[0], square[0])
    goal = np.where(across[:, None], -circle + noise[1], np.where((kind == 2)[:, None], stream, square[1]))
    short = np.hypot(*(goal - start).T) < 2.0
    return start, np.where(short[:, None], -circle + start, goal)


def _pair_up(drawn: dict[str, Any], rng: np.random.Generator) -> None:
    """Let some walkers walk beside the one before them."""
    walker, start, velocity = drawn["walker"], drawn["start"], drawn["velocity"]
    for column in range(1, PEOPLE):
        pair = walker[:, column] & walker[:, column - 1] & (rng.random(len(walker)) < 0.4)
        v = velocity[:, column - 1]
        side = np.stack([-v[:, 1], v[:, 0]], axis=1) / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-6)[:, None]
        beside = start[:, column - 1] + side * rng.uniform(0.6, 0.9, len(walker))[:, None]
        others = np.hypot(*np.moveaxis(start - beside[:, None], -1, 0)) - drawn["radius"] - 0.3
        others[:, column] = np.inf
        others[~drawn["active"]] = np.inf
        others[:, column - 1] = np.inf
        pair &= drawn["active"][:, column - 1] & (others.min(axis=1) > 0.05)
        start[pair, column], velocity[pair, column] = beside[pair], velocity[pair, column - 1]
        drawn["speed"][pair, column] = drawn["speed"][pair, column - 1]
        drawn["turn"][pair, column] = drawn["turn"][pair, column - 1]
