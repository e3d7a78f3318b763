"""The order of runs of each participant: balanced Latin squares of policies and scenarios, and blinding letters.

A balanced Latin square (Williams, *Experimental designs balanced for the estimation of residual effects of treatments*,
Australian Journal of Scientific Research A 2, 1949) of n conditions has every condition once at every position, and
every condition equally often right after every other one. For odd n, the square and its mirror image are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from sidestep.studies.definition import Study


@dataclass(frozen=True)
class Trial:
    """One run of one participant: an encounter and its ratings."""

    position: int
    """From 0, in the participant's order."""
    set: int
    """From 1."""
    run: int
    """From 1, within the set."""
    policy: str
    scenario: str
    seed: int


def balanced_rows(count: int) -> tuple[tuple[int, ...], ...]:
    """Rows of the balanced Latin square of ``count`` conditions: n rows for even n, 2 n for odd n > 1."""
    first, low, high = [0], 1, count - 1
    while low <= high:
        first.append(low)
        if low != high:
            first.append(high)
        low, high = low + 1, high - 1
    rows = [tuple((each + shift) % count for each in first) for shift in range(count)]
    if count % 2 and count > 1:
        rows += [row[::-1] for row in rows]
    return tuple(rows)


def blinding_letters(study: Study) -> dict[str, str]:
    """Policy → letter, drawn from the seed of the study."""
    letters = np.random.default_rng([study.seed, 1]).permutation(len(study.policies))
    return {policy.name: ascii_uppercase[letter] for policy, letter in zip(study.policies, letters, strict=True)}


def trials_of(study: Study, participant: int) -> tuple[Trial, ...]:
    """Everything that participant number ``participant`` (from 0) does, in order.

    Policies come in blocks: all scenarios with one policy, then all with the next. Each set begins one row later.
    Rows are drawn without replacement, so that after every full round of participants each row was used once.
    """
    trials: list[Trial] = []
    for number in range(1, study.sets + 1):
        policies = _row(study, len(study.policies), participant + number - 1, 2)
        for block, policy in enumerate(policies):
            at = participant * len(study.policies) + block + number - 1
            for scenario in _row(study, len(study.scenarios), at, 3):
                for run in range(1, study.runs + 1):
                    seed = _seed(study, participant, scenario, number, run)
                    names = study.policies[policy].name, study.scenarios[scenario].name
                    trials.append(Trial(len(trials), number, run, *names, seed))
    return tuple(trials)


def _row(study: Study, count: int, index: int, purpose: int) -> tuple[int, ...]:
    if study.order == "fixed":
        return tuple(range(count))
    rows = balanced_rows(count)
    turn, place = divmod(index, len(rows))
    return rows[np.random.default_rng([study.seed, purpose, turn]).permutation(len(rows))[place]]


def _seed(study: Study, participant: int, scenario: int, number: int, run: int) -> int:
    """The same world for every policy: policies are compared in pairs."""
    return int(np.random.SeedSequence([study.seed, participant, scenario, number, run]).generate_state(1)[0] >> 1)
