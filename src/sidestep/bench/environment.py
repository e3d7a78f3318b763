"""Environment steps per second of ``sidestep/Crossing-v0``: one Gymnasium environment, and a batch of 256.

The robot drives to its goal with some noise; what chooses the action is not timed, resets are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np

from sidestep.bench.measure import Case, Effort, Figure, Note, Work, rates
from sidestep.bench.peers import Peer, find_peer, irsim
from sidestep.types.base import FloatArray

ENVIRONMENT = "sidestep/Crossing-v0"
BATCH = 256
PEOPLE = (5, 10, 20, 50)
QUICK_PEOPLE = {"env": (5, 20), "batch256": (5,)}
PEERS: dict[int, Callable[[int], Peer]] = {20: irsim.crossing_peer}  # of one environment
NOISE = 0.3  # of the action, standard deviation
NOISES = 4096


def cases() -> list[Case]:
    """One per number of people, for one environment and for the batch."""
    return [
        Case(f"{kind}/people={people}", partial(measure, people), quick=people in QUICK_PEOPLE[kind])
        for kind, measure in (("env", measure_environment), ("batch256", measure_batch))
        for people in PEOPLE
    ]


def measure_environment(people: int, effort: Effort, note: Note) -> Figure:
    """Steps per second of one environment, next to ir-sim's."""
    works: list[Work] = [OneEnvironment(people)]
    peer = find_peer(PEERS.get(people), people, note)
    if peer is not None:
        works.append(peer.work)
    values = rates(works, effort)
    return Figure(
        f"env/people={people}",
        "env-steps/s",
        values[0],
        None if peer is None else peer.name,
        () if peer is None else values[1],
    )


def measure_batch(people: int, effort: Effort, note: Note) -> Figure:
    """Steps per second of all environments of a batch together."""
    (values,) = rates([Batch(people)], effort)
    return Figure(f"batch256/people={people}", "env-steps/s", values)


def make_environment(people: int) -> Any:
    """One environment, with the wrappers that Gymnasium puts round it."""
    announce_environments()
    return gymnasium.make(ENVIRONMENT, people=people)


def make_batch(people: int, environments: int = BATCH) -> Any:
    """The native vector environment with as many threads as there are cores; its arrays are not copied."""
    announce_environments()
    return gymnasium.make_vec(ENVIRONMENT, num_envs=environments, people=people, copy=False)


def announce_environments() -> None:
    """Make sure that Gymnasium knows our ids; by name, as sibling packages do not import each other."""
    if ENVIRONMENT not in gymnasium.registry:
        import_module("sidestep.gym").register()


def _noises(size: tuple[int, ...]) -> FloatArray:
    return np.random.default_rng(0).normal(0.0, NOISE, size).astype(np.float32)


def _action(goals: FloatArray, noise: FloatArray) -> FloatArray:
    """Full speed toward ``goals`` (…, 2), plus noise, within [-1, 1]."""
    lengths = np.maximum(np.sqrt((goals * goals).sum(axis=-1, keepdims=True)), 1e-9)
    action: FloatArray = np.clip(goals / lengths + noise, -1.0, 1.0).astype(np.float32)
    return action


class OneEnvironment:
    """A run is one step, and a reset when the episode is over."""

    def __init__(self, people: int) -> None:
        self._environment = make_environment(people)
        self._observation, _ = self._environment.reset(seed=0)
        self._noise, self._count = _noises((NOISES, 2)), 0

    def prepare(self) -> None:
        """Choose the action."""
        self._count = (self._count + 1) % NOISES
        self._action = _action(self._observation["robot"][:2], self._noise[self._count])

    def run(self) -> float:
        """One step."""
        self._observation, _, terminated, truncated, _ = self._environment.step(self._action)
        if terminated or truncated:
            self._observation, _ = self._environment.reset()
        return 1.0


class Batch:
    """A run is one step of all environments; those whose episode is over are reset in the same step."""

    def __init__(self, people: int) -> None:
        self._environments = make_batch(people)
        self._observations, _ = self._environments.reset(seed=0)
        self._noise, self._count = _noises((NOISES + BATCH, 2)), 0

    def prepare(self) -> None:
        """Choose the actions."""
        self._count = (self._count + 1) % NOISES
        noise = self._noise[self._count : self._count + BATCH]
        self._actions = _action(self._observations["robot"][:, :2], noise)

    def run(self) -> float:
        """One step of each."""
        self._observations, *_ = self._environments.step(self._actions)
        return float(BATCH)
