"""Many learning environments as one batch: worlds, actions, rewards, observations, and the threads that help to
step them. The Gymnasium, vector and PettingZoo environments are thin shells on this.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from math import isfinite
from queue import SimpleQueue
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels import environment
from sidestep.kernels.jit import compile_for
from sidestep.kernels.referee import TIMEOUT_NEWS
from sidestep.robots import native_bounds
from sidestep.simulation.build import World
from sidestep.simulation.worlds import Worlds
from sidestep.types import Outcome
from sidestep.types.base import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class RewardWeights:
    """Reward of a step = success − collision − other failures + progress − discomfort − time.

    Defaults in the manner of CrowdNav (Chen et al., "Crowd-Robot Interaction", ICRA 2019): 1 for the goal, −0.25 for a
    collision, a penalty that grows within 0.2 m of a person; progress and other failures are ours.
    """

    success: float = 1.0
    """Once, when the episode ends with the outcome ``success``: at the goal, or where the task is to stop for a raised
    hand, for stopping."""
    collision: float = 0.25
    """Subtracted when a contact with a person, a wall or another robot begins."""
    progress: float = 0.1
    """Per metre nearer to the goal, straight line."""
    discomfort: float = 0.5
    """Subtracted per second and per metre inside ``discomfort_distance``."""
    discomfort_distance: float = 0.2
    """m, surface to surface, least over a simulation step."""
    time: float = 0.0
    """Subtracted per second."""
    failure: float = 0.25
    """Subtracted when the robot leaves its ground, crosses a group, freezes or reaches the goal instead of stopping."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isfinite(getattr(self, field.name)):
                raise BadInput(f"reward weight {field.name} must be finite, got {getattr(self, field.name)}")
        if self.discomfort_distance < 0:
            raise BadInput(f"discomfort_distance must be at least 0 m, got {self.discomfort_distance}")

    def as_array(self) -> FloatArray:
        """In the kernels' order."""
        return np.array(astuple(self), np.float64)


Job = Callable[[int], Any]


class HelperThreads:
    """``count`` threads that wait to be called. Whoever calls them does not wait for them: a job must be one that they
    can join late, or not at all.

    They start with the first call; they end with :meth:`close`, or when nobody holds this object any more.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._process = 0
        self._lines: list[SimpleQueue[Any]] = []
        self._end: Callable[[], Any] = _nothing

    def call(self, job: Job) -> None:
        """Let thread k, 1 … count, do ``job(k)`` as soon as it can; one that has not come to its last call yet is not
        called again."""
        if self.count == 0:
            return
        if self._process != os.getpid():  # not begun yet, closed, or a forked child, which has no threads
            self._begin()
        for number, line in enumerate(self._lines, start=1):
            if line.empty():
                line.put((job, number))

    def close(self) -> None:
        """End the threads; a later call starts new ones."""
        self._end()
        self._process = 0

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lines = [SimpleQueue() for _ in range(self.count)]
        for line in self._lines:
            threading.Thread(target=_helper_main, args=(line,), daemon=True, name="sidestep-worker").start()
        self._end = weakref.finalize(self, _dismiss, self._lines)


def _nothing() -> None:
    pass


def _dismiss(lines: list[SimpleQueue[Any]]) -> None:
    for line in lines:
        line.put(None)


def _helper_main(line: SimpleQueue[Any]) -> None:
    """Do what is asked until asked for nothing. Holds no reference to a job while it waits."""
    call = line.get()
    while call is not None:
        job, number = call
        job(number)
        del call, job
        call = line.get()


ENDINGS: tuple[str, ...] = ("", *(outcome.value for outcome in Outcome))
"""Names of the endings, by the kernels' codes; the empty one is an episode under way."""


class EnvironmentBatch:
    """B environments of R robots, all worlds of one scenario.

    Fill ``action`` (B, R, 2), in [-1, 1] over the robot's native command limits, call :meth:`step`, read ``reward`` and
    ``ending`` (B, R; an index of ``ENDINGS``) and the views: ``robot_view`` (B, R, 8), ``people_view`` (B, R, rows, 5)
    and ``mask``, ``robots_view`` (B, R, R − 1, 5) and ``robots_mask``. All arrays stay where they are.
    """

    def __init__(
        self,
        worlds: Sequence[World],
        weights: RewardWeights,
        rows: int,
        *,
        size: int | None = None,
        workers: HelperThreads | None = None,
    ) -> None:
        """``size`` environments that start from, and are reset to, ``worlds`` (at least ``size`` of them); None: one
        for each, without a pool that :meth:`reset` could take new worlds from.
        ``rows``: for how many people a view has room; where there are more, it has the nearest."""
        if worlds[0].scenario.traffic:
            raise BadInput(
                f"scenario {worlds[0].scenario.name!r} has traffic, which learning environments do not drive yet; "
                "leave traffic out, or run the scenario with `sidestep run`"
            )
        self.size = len(worlds) if size is None else size
        self._pool = Worlds(worlds)
        self.worlds = self._pool if size is None else Worlds(worlds[:size], share=self._pool)
        self._is_directed = any(world.direct is not None for world in worlds)
        if self._is_directed and worlds[0].scenario.rules.control_every > 1:
            raise BadInput(
                f"scenario {worlds[0].scenario.name!r} has people directed at every step, and rules.control_every "
                f"is {worlds[0].scenario.rules.control_every}; environments need control_every: 1 for it"
            )
        self.source = np.arange(self.size)
        """Which of the pool's worlds each environment has."""
        self._order = np.tile(np.arange(self._pool.size), 2)
        self._next = self.size % self._pool.size
        self._allocate(worlds[0], weights, rows)
        self._workers = workers or HelperThreads(0)
        self._counters = np.zeros(environment.COUNTERS, np.int64)
        self._counters[environment.TAKEN] = self.size  # no step is open
        self._scratch = [self.worlds.new_scratch() for _ in range(1 + self._workers.count)]
        self._arguments = (self._counters, self.worlds.batch, self._actions, self._views)
        self._step = compile_for(environment.step_environments, True, *self._arguments, self._scratch[0])
        self._initial = (self.worlds.batch, self._pool.batch.worlds, self._views)
        self.observe(np.arange(self.size))

    def _allocate(self, world: World, weights: RewardWeights, rows: int) -> None:
        """The arrays that are no part of the worlds."""
        b, r, others = self.size, self.worlds.robots, max(self.worlds.robots - 1, 1)
        self.action = np.zeros((b, r, 2), np.float32)
        self.reward = np.zeros((b, r))
        bounds = np.array([native_bounds(robot) for robot in world.robots])  # (R, 2, 2), the same in all worlds
        centre = np.tile(bounds.mean(axis=1), (b, 1, 1))
        half = np.tile((bounds[:, 1] - bounds[:, 0]) / 2, (b, 1, 1))
        every = world.scenario.rules.control_every
        self._actions = environment.ActionArrays(every, self.action, centre, half, weights.as_array(), self.reward)
        self.robot_view = np.zeros((b, r, environment.ROBOT_FEATURES), np.float32)
        self.people_view = np.zeros((b, r, rows, environment.AGENT_FEATURES), np.float32)
        self.mask = np.zeros((b, r, rows), np.int8)
        self.robots_view = np.zeros((b, r, others, environment.AGENT_FEATURES), np.float32)
        self.robots_mask = np.zeros((b, r, others), np.int8)
        self._views = environment.Views(
            self.robot_view, self.people_view, self.mask, self.robots_view, self.robots_mask
        )

    def step(self) -> None:
        """Carry out ``action`` in every environment. A robot whose episode is over has left its world."""
        if not environment.open_step(self._counters, self.action):
            b, r = np.argwhere(~np.isfinite(self.action).all(axis=2))[0]
            raise BadInput(
                f"action {self.action[b, r].tolist()} of environment {b} is not finite; nothing was moved. "
                "A policy that answers NaN has usually diverged"
            )
        self.worlds.direct()
        self._workers.call(self._help)
        self._step(True, *self._arguments, self._scratch[0])

    @cached_property
    def _restart(self) -> Callable[..., None]:
        return compile_for(environment.restart_environments, self.source, self.source, *self._initial)

    @property
    def ending(self) -> IntArray:
        """(B, R) int32, indices of ``ENDINGS``."""
        return self.worlds.ending

    def timed_out(self) -> BoolArray:
        """(B, R) whose episode was ended by the time limit, in the step just made."""
        late: BoolArray = (self.worlds.news & TIMEOUT_NEWS) != 0
        return late

    def _help(self, worker: int) -> None:
        self._step(False, *self._arguments, self._scratch[worker])

    def reset(self, which: IntArray) -> None:
        """Put the next worlds of the pool into the environments ``which`` (K,) int64 and observe them."""
        sources = self._order[self._next : self._next + len(which)]
        self._next = (self._next + len(which)) % self._pool.size
        self.source[which] = sources
        self._restart(np.ascontiguousarray(which, np.int64), sources, *self._initial)
        if self._is_directed:
            for b, source in zip(which.tolist(), sources.tolist(), strict=True):
                self.worlds.redirect(b, self._pool.worlds[source])

    def load(self, world: World) -> None:
        """Put ``world`` into environment 0 and observe it (for a single environment)."""
        self.worlds.load(0, world)
        self.observe(_FIRST)

    def observe(self, which: IntArray) -> None:
        """Refresh the views of the environments ``which`` (K,) int64 without stepping."""
        environment.observe_environments(which, self.worlds.batch, self._views)

    def observation(self, b: int, r: int = 0) -> dict[str, Any]:
        """A copy of what robot ``r`` of environment ``b`` observes, without the other robots."""
        return {
            "robot": self.robot_view[b, r].copy(),
            "people": self.people_view[b, r].copy(),
            "mask": self.mask[b, r].copy(),
        }


_FIRST = np.zeros(1, np.int64)
