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
from sidestep.kernels.referee import RUNNING, TIMEOUT_NEWS
from sidestep.simulation.build import World
from sidestep.simulation.prepare import prepare_parts
from sidestep.simulation.robots import action_scale
from sidestep.simulation.sensors.learning import (
    GridSettings,
    LearningView,
    entries,
    make_sense_scratch,
    make_senses,
    make_views,
    pack_sight,
)
from sidestep.simulation.worlds import Worlds
from sidestep.types import Outcome
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.sensors import LidarSettings


@dataclass(frozen=True)
class RewardWeights:
    """Reward of a step = success − collision − other failures + progress − discomfort − time.

    Defaults in the manner of CrowdNav (Chen et al., "Crowd-Robot Interaction", ICRA 2019): 1 for the goal, −0.25 for a
    collision, a penalty that grows within 0.2 m of a person; progress and other failures are ours.
    """

    success: float = 1.0
    """Once, when the episode ends with the outcome ``success``: at the goal, where the task is to stop for a raised
    hand, for stopping, and where it is to leave an area, for leaving it as ``rules.exit`` says."""
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
    """Subtracted when the robot leaves its ground, crosses a group, freezes, reaches the goal instead of stopping,
    invades more lanes than ``rules.lanes`` allows, or leaves the area of ``rules.exit`` in a wrong way."""

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
    """B environments of A robots. Their worlds may be of different scenarios; all have the same robots under test and
    the same number of vehicles.

    Fill ``action`` (B, A, 2), in [-1, 1] over the robot's native command limits, call :meth:`step`, read ``reward`` and
    ``ending`` (B, A; an index of ``ENDINGS``) and ``views``, the observations (``kernels.observation``); ``entries``
    has them by name, without the other robots. All arrays stay where they are.
    """

    def __init__(
        self,
        worlds: Sequence[World],
        weights: RewardWeights,
        rows: int,
        *,
        size: int | None = None,
        workers: HelperThreads | None = None,
        lidar: LidarSettings | None = None,
        grid: GridSettings | None = None,
    ) -> None:
        """``size`` environments that start from, and are reset to, ``worlds`` (at least ``size`` of them); None: one
        for each, without a pool that :meth:`reset` could take new worlds from.
        ``rows``: for how many people a view has room; where there are more, it has the nearest. ``lidar``, ``grid``:
        further parts of the observation."""
        scenarios = {id(world.scenario): world for world in worlds}
        self._view = LearningView(rows, lidar, grid)
        for world in scenarios.values():
            self._view.check(world.scenario, world.robots[0])
        self.size = len(worlds) if size is None else size
        self._pool = Worlds(worlds)
        self.worlds = self._pool if size is None else Worlds(worlds[:size], share=self._pool)
        self.tested = len(worlds[0].scenario.robots)
        """Robots under test in each world; vehicles come after them."""
        self._is_directed = any(world.direct is not None for world in worlds)
        self._is_mixed = len(scenarios) > 1
        self._pool_every = np.array([world.scenario.rules.control_every for world in worlds], np.int64)
        self._pool_sight = pack_sight([world.scenario for world in worlds])
        self.source = np.arange(self.size)
        """Which of the pool's worlds each environment has."""
        self._order = np.tile(np.arange(self._pool.size), 2)
        self._next = self.size % self._pool.size
        self._workers = workers or HelperThreads(0)
        self._allocate(worlds, weights)
        self._counters = np.zeros(environment.COUNTERS, np.int64)
        self._counters[environment.TAKEN] = self.size  # no step is open
        self._arguments = (self._counters, self.worlds.batch, self._actions, self._senses, self.views)
        prepare_parts()
        self._step = compile_for(environment.step_environments, True, *self._arguments, *self._scratch[0])
        self._observing = (self._senses, self.views, self._scratch[0][1])
        self.observe(np.arange(self.size))

    def _allocate(self, worlds: Sequence[World], weights: RewardWeights) -> None:
        """The arrays that are no part of the worlds."""
        b, a, world = self.size, self.tested, worlds[0]
        self.action = np.zeros((b, a, 2), np.float32)
        self.reward = np.zeros((b, a))
        centre, half = action_scale(world.robots[:a])
        self._every, self._sight = self._pool_every[:b].copy(), self._pool_sight[:b].copy()
        self._span = np.array([0, self._pool_every.max()], np.int64)
        self._actions = environment.ActionArrays(
            self._every, self._span, self.action, centre, half, weights.as_array(), self.reward
        )
        self.views = make_views(self._view, b, a)
        self.entries = entries(self.views)
        self._senses = make_senses(self._view, self._sight)
        if self._is_mixed:  # the reach of the widest sight of the pool
            self._senses = self._senses._replace(reach=make_senses(self._view, self._pool_sight).reach)
        walls = max(len(each.scene.wall_points) for each in worlds)
        columns, vehicles = self.worlds.agents.shape[2], self.worlds.robots - a
        self._scratch = [
            (self._pool.new_scratch(), make_sense_scratch(self._view, walls, columns, vehicles))
            for _ in range(1 + self._workers.count)
        ]

    def step(self, watch: Callable[[], None] | None = None) -> None:
        """Carry out ``action`` in every environment. A robot whose episode is over has left its world.

        ``watch`` is called between the simulation steps of a held action, for cameras, which have their own clock.
        """
        if not self._is_directed and (watch is None or self._every.max() == 1):
            self._make_steps()
            return
        if not np.isfinite(self.action).all():  # before directors act
            raise self._not_finite()
        every = int(self._every.max())
        for step in range(every):  # directors act before each simulation step
            self._span[:] = step, step + 1
            if step and watch is not None:
                watch()
            if step:
                self.worlds.running[:] = (self.ending == RUNNING).any(axis=1) & (step < self._every)
            self.worlds.direct()
            self._make_steps()
        if every > 1:
            self.worlds.running[:] = 1
        self._span[:] = 0, self._pool_every.max()

    def _make_steps(self) -> None:
        if not environment.open_step(self._counters, self.action):
            raise self._not_finite()
        self._workers.call(self._help)
        self._step(True, *self._arguments, *self._scratch[0])

    def _not_finite(self) -> BadInput:
        b, r = np.argwhere(~np.isfinite(self.action).all(axis=2))[0]
        return BadInput(
            f"action {self.action[b, r].tolist()} of environment {b} is not finite; nothing was moved. "
            "A policy that returns NaN has usually diverged"
        )

    @cached_property
    def _restart(self) -> Callable[..., None]:
        initial = (self.worlds.batch, self._pool.batch.worlds, *self._observing)
        return compile_for(environment.restart_environments, self.source, self.source, *initial)

    @cached_property
    def _observe(self) -> Callable[..., None]:
        return compile_for(environment.observe_environments, self.source, self.worlds.batch, *self._observing)

    @property
    def ending(self) -> IntArray:
        """(B, A) int32, indices of ``ENDINGS``."""
        return self.worlds.ending[:, : self.tested]

    def timed_out(self) -> BoolArray:
        """(B, A) whose episode was ended by the time limit, in the step just made."""
        late: BoolArray = (self.worlds.news[:, : self.tested] & TIMEOUT_NEWS) != 0
        return late

    def _help(self, worker: int) -> None:
        self._step(False, *self._arguments, *self._scratch[worker])

    def reset(self, which: IntArray) -> None:
        """Put the next worlds of the pool into the environments ``which`` (K,) int64 and observe them."""
        sources = self._order[self._next : self._next + len(which)]
        self._next = (self._next + len(which)) % self._pool.size
        self.source[which] = sources
        if self._is_mixed:
            self._every[which], self._sight[which] = self._pool_every[sources], self._pool_sight[sources]
        which = np.ascontiguousarray(which, np.int64)
        self._restart(which, sources, self.worlds.batch, self._pool.batch.worlds, *self._observing)
        if self._is_mixed or self._is_directed:
            for b, source in zip(which.tolist(), sources.tolist(), strict=True):
                self.worlds.worlds[b] = self._pool.worlds[source]
                if self._pool.worlds[source].scenario.rules.head_start_steps:  # which directors have to see
                    self.load(self._pool.worlds[source], b)
                else:
                    self.worlds.redirect(b, self._pool.worlds[source])

    def load(self, world: World, b: int = 0) -> None:
        """Put ``world`` into environment ``b`` and observe it."""
        self.worlds.load(b, world)
        self.observe(np.array([b], np.int64))

    def observe(self, which: IntArray) -> None:
        """Refresh the views of the environments ``which`` (K,) int64 without stepping."""
        self._observe(which, self.worlds.batch, *self._observing)

    def observation(self, b: int, r: int = 0) -> dict[str, Any]:
        """A copy of what robot ``r`` of environment ``b`` observes, without the other robots."""
        return {name: array[b, r].copy() for name, array in self.entries.items()}
