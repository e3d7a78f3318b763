"""Random numbers: one sequence per (suite, scenario, seed), split by purpose. Nothing else is random."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

Purpose = Literal["placement", "policy", "sensor", "event", "behaviour", "traffic", "crowd_model"]
_PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


def sequence_for(suite: str, scenario: str, seed: int, purpose: Purpose, part: int = 0) -> np.random.SeedSequence:
    """The seed sequence of one purpose. Adding a purpose or a part never changes the others' numbers."""
    return np.random.SeedSequence([_number_of(suite, scenario), seed], spawn_key=(_PURPOSES.index(purpose), part))


@lru_cache(maxsize=4096)
def _number_of(suite: str, scenario: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{suite}\0{scenario}".encode()).digest()[:16], "little")


def generator_for(suite: str, scenario: str, seed: int, purpose: Purpose, part: int = 0) -> np.random.Generator:
    """A fresh generator on that sequence."""
    return np.random.Generator(np.random.PCG64(sequence_for(suite, scenario, seed, purpose, part)))
