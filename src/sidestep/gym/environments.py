"""Many learning environments as one: worlds, action scaling, rewards, observations. The adapters are thin shells on this."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from sidestep.kernels import layout
from sidestep.kernels.dynamics import HOLONOMIC, ROBOT_HEADING, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.kernels.environment import (
    PERSON_FEATURES,
    ROBOT_FEATURES,
    copy_worlds,
    observe_environments,
    step_environments,
)
from sidestep.robots import native_bounds
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types.base import FloatArray, IntArray

ENDINGS: tuple[str, ...] = (
    "", "success", "pedestrian_collision", "environment_collision", "vehicle_collision", "timeout"
)  # fmt: skip
"""Names of the endings, by the kernels' codes; the empty one is an episode under way."""


@dataclass(frozen=True)
class RewardWeights:
    """Reward of a step = success or collision at the end, progress, discomfort, time. Defaults in the manner of CrowdNav
    (Chen et al. 2019): 1 for the goal, −0.25 for a collision, a penalty growing within 0.2 m of a person."""

    success: float = 1.0
    collision: float = 0.25
    progress: float = 0.1
    """Per metre nearer to the goal."""
    discomfort: float = 0.5
    """Per second and metre inside ``discomfort_distance``."""
    discomfort_distance: float = 0.2
    time: float = 0.0
    """Per second."""

    def as_array(self) -> FloatArray:
        """In the kernels' order."""
        return np.array(astuple(self))


class Environments:
    """B environments of R robots. Actions (B, R, 2) in [-1, 1] span the robot's native command limits."""

    def __init__(self, worlds: Sequence[World], weights: RewardWeights, threads: int = 1, size: int | None = None) -> None:
        """``size`` environments that start from, and are reset to, ``worlds`` (at least ``size`` of them)."""
        self.size = len(worlds) if size is None else size
        self._pool = Worlds(worlds)
        self.worlds = self._pool if self.size == len(worlds) == 1 else Worlds(worlds[: self.size], share=self._pool)
        self._weights = weights.as_array()
        b, r, n = self.size, self.worlds.robots, self.worlds.people
        self.reward = np.zeros((b, r))
        self.ending = np.zeros((b, r), np.int32)
        self.robot_view = np.zeros((b, r, ROBOT_FEATURES), np.float32)
        self.people_view = np.zeros((b, r, n, PERSON_FEATURES), np.float32)
        self.mask = np.zeros((b, r, n), np.int8)
        bounds = [[native_bounds(robot) for robot in world.robots] for world in worlds[: self.size]]
        low = np.array([[low for low, _ in robots] for robots in bounds], np.float64)
        high = np.array([[high for _, high in robots] for robots in bounds], np.float64)
        self._centre, self._half = (low + high) / 2, (high - low) / 2
        self._next = self.size
        self._threads = max(1, min(threads, self.size))
        self._scratch = [self.worlds.new_scratch() for _ in range(self._threads)]
        self._executor = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._parts = np.linspace(0, self.size, self._threads + 1).astype(int).tolist()
        self.observe(np.arange(self.size))

    def step(self, action: FloatArray) -> None:
        """Act in every environment; results are in ``reward``, ``ending`` and the view arrays."""
        if self._executor is None:
            self._step_part(action, 0)
            return
        parts = [self._executor.submit(self._step_part, action, k) for k in range(1, self._threads)]
        self._step_part(action, 0)
        for part in parts:
            part.result()

    def _step_part(self, action: FloatArray, k: int) -> None:
        w = self.worlds
        step_environments(
            self._parts[k], self._parts[k + 1], action, self._centre, self._half, self._weights, self.reward, self.ending,
            self.robot_view, self.people_view, self.mask, w.clock, w.agents, w.flags, w.people, w.routes, w.route_length,
            w.robot_state, w.body, w.limits, w.dynamics, w.goals, w.command, w.applied, w.contact, w.status, w.measures,
            w.rules, w.index, w.bank, w.replays, w.parameters, self._scratch[k],
        )  # fmt: skip

    def reset(self, which: IntArray) -> None:
        """Put the next worlds of the pool in the places ``which`` and observe them."""
        sources = (self._next + np.arange(len(which))) % self._pool.size
        self._next = int((self._next + len(which)) % self._pool.size)
        copy_worlds(np.asarray(which, np.int64), sources.astype(np.int64), self.worlds.initial, self._pool.initial)
        self.worlds.clock[which] = 0
        self.observe(which)

    def load(self, world: World) -> None:
        """Put ``world`` in place 0 and observe it (for a single environment)."""
        self.worlds.load(0, world)
        self.observe(np.zeros(1, np.int64))

    def standing_action(self) -> FloatArray:
        """The action (B, R, 2) under which every robot stands."""
        half = np.where(self._half > 0, self._half, 1.0)
        return (-self._centre / half).astype(np.float32)

    def other_robots(self, own: int) -> tuple[FloatArray, IntArray]:
        """The other robots of environment 0 as robot ``own`` sees them, (R - 1, 5), and who is there, (R - 1,)."""
        w = self.worlds
        others = [r for r in range(w.robots) if r != own]
        if not others:
            return np.zeros((1, PERSON_FEATURES), np.float32), np.zeros(1, np.int8)
        state = w.robot_state[0]
        rows = state[others][:, [ROBOT_X, ROBOT_Y, ROBOT_VX, ROBOT_VY]]
        rows[:, :2] -= state[own, [ROBOT_X, ROBOT_Y]]
        if w.dynamics[0, own] != HOLONOMIC:
            c, s = np.cos(state[own, ROBOT_HEADING]), np.sin(state[own, ROBOT_HEADING])
            turn = np.array([[c, -s], [s, c]])
            rows = np.concatenate([rows[:, :2] @ turn, rows[:, 2:] @ turn], axis=1)
        radius = w.agents[0, layout.RADIUS, [w.people + r for r in others]]
        return np.concatenate([rows, radius[:, None]], axis=1).astype(np.float32), np.ones(len(others), np.int8)

    def observe(self, which: IntArray) -> None:
        """Refresh the views of the environments ``which`` without stepping."""
        w = self.worlds
        observe_environments(
            np.asarray(which, np.int64), self.robot_view, self.people_view, self.mask, w.clock, w.agents, w.flags, w.people,
            w.robot_state, w.dynamics, w.goals, w.rules,
        )  # fmt: skip


def observation_space(people: int) -> spaces.Dict:
    """``robot`` (8,), ``people`` (N, 5) padded with zeros, ``mask`` (N,): 1 where somebody is."""
    rows = max(people, 1)
    return spaces.Dict(
        {
            "robot": spaces.Box(-np.inf, np.inf, (ROBOT_FEATURES,), np.float32),
            "people": spaces.Box(-np.inf, np.inf, (rows, PERSON_FEATURES), np.float32),
            "mask": spaces.MultiBinary(rows),
        }
    )


def action_space() -> spaces.Box:
    """Two numbers in [-1, 1] that span the robot's command limits."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


def observation_of(environments: Environments, b: int, r: int = 0, *, rows: int) -> dict[str, Any]:
    """A copy of one robot's observation with ``rows`` places for people: padded, or the nearest if there are more."""
    people, mask = environments.people_view[b, r], environments.mask[b, r]
    rows = max(rows, 1)
    if len(mask) == rows:
        people, mask = people.copy(), mask.copy()
    elif len(mask) < rows:
        people = np.pad(people, ((0, rows - len(mask)), (0, 0)))
        mask = np.pad(mask, (0, rows - len(mask)))
    else:
        distance = np.where(mask == 1, (people[:, :2] ** 2).sum(axis=1), np.inf)
        nearest = np.sort(np.argsort(distance, kind="stable")[:rows])
        people, mask = people[nearest], mask[nearest]
    return {"robot": environments.robot_view[b, r].copy(), "people": people, "mask": mask}
