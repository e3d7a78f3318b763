"""Bytes that one environment of a batch of 256 takes.

Counted by ``tracemalloc``, which sees Python objects and NumPy arrays: the live worlds, the pool of worlds
that resets draw from, observations. It does not see the working memory of the kernels, which is per thread,
nor compiled code. A small batch is made first, so that imports and caches do not count.
"""

from __future__ import annotations

import gc
import tracemalloc

from sidestep.bench.environment import BATCH, make_batch
from sidestep.bench.measure import Case, Effort, Figure, Note

PEOPLE = 50
ID = f"memory/batch256/people={PEOPLE}"


def cases() -> list[Case]:
    """The one figure."""
    return [Case(ID, measure_memory)]


def measure_memory(effort: Effort, note: Note) -> Figure:
    """Bytes per environment. It is a count, hence taken once."""
    return Figure(ID, "bytes", [bytes_per_environment(PEOPLE, BATCH)])


def bytes_per_environment(people: int, environments: int) -> float:
    """Growth of traced memory over the making, the reset and one step of a batch, per environment."""
    _open_batch(people, 2)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        batch = _open_batch(people, environments)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del batch
    return (after - before) / environments


def _open_batch(people: int, environments: int) -> object:
    batch = make_batch(people, environments)
    batch.reset(seed=0)
    batch.step(batch.action_space.sample())
    return batch
