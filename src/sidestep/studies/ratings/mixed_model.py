"""Effects of policies where every participant rated several of them: the tests of a mixed model with random slopes,
and a check that assumes no distances between levels.

*Linear*. People differ in how much they like a policy. A model that leaves this out (score = policy + scenario +
participant + residual) takes the runs of one participant as independent news about a policy, and finds a difference
in a quarter to a third of studies in which there is none. A model that has it (random slopes) holds its level, but
its restricted likelihood is largest on the edge of the parameters whenever people happen to agree: statsmodels then
does not converge in a third of the studies. In a balanced design nothing needs to be fitted, because the test of that
model for a pair of policies is the t-test on the participants' mean differences. So these are used, in every design:
each participant counts once, scenarios are weighted alike, and no pair relies on the spread of another.

*Ordinal*. For every participant, the share of comparisons of single ratings (same scenario, location and item) in which
the second policy is rated higher, less the share in which it is rated lower; then the mean over participants. It
depends on the order of the levels only.

p-values are Student's over participants, corrected by Holm. Where there are no effects, ``reason`` says why.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from sidestep.metrics.statistics import holm
from sidestep.studies.ratings.comparison import RunScores, paired_differences, run_scores, student_interval
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import Ratings
from sidestep.types.base import FloatArray

LEAST_PARTICIPANTS = 3
METHOD = "paired t-test on participants' means"
WHY = (
    "A model without random slopes of participants finds differences where there are none, and one with them often "
    "does not converge. In a balanced design its test of a pair of policies is the t-test on the participants' mean "
    "differences, which is given here; the comparison of pairs above decides"
)


@dataclass(frozen=True)
class PolicyEffect:
    """``second`` minus ``first``, with a 95 % interval."""

    first: str
    second: str
    participants: int
    """Those who rated both in the same scenario and location."""
    effect: float
    standard_error: float
    low: float
    high: float
    p: float | None
    """None where every participant has the same difference."""
    p_corrected: float | None = None


@dataclass(frozen=True)
class LinearEffects:
    """Differences of run scores, in levels of the scale."""

    n: int
    """Runs with a score."""
    participants: int
    policies: tuple[str, ...]
    scenarios: tuple[str, ...]
    method: str = METHOD
    why: str = WHY
    effects: tuple[PolicyEffect, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class OrdinalEffects:
    """Shares of comparisons won less those lost, -1 to 1."""

    n: int
    """Ratings with an opinion."""
    effects: tuple[PolicyEffect, ...] = ()
    agrees: bool | None = None
    """Whether every effect has the sign of the linear one, or both intervals include 0."""
    reason: str = ""


def mixed_model_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Both as plain data."""
    linear = fit_mixed_model(run_scores(ratings, questionnaire))
    ordinal = fit_ordinal_model(ratings, questionnaire, linear)
    return {"linear": asdict(linear), "ordinal": asdict(ordinal)}


def fit_mixed_model(scores: RunScores) -> LinearEffects:
    """The effect of every pair of policies that at least three participants rated both."""
    policies, scenarios = (tuple(dict.fromkeys(names)) for names in (scores.policy, scores.scenario))
    known = LinearEffects(len(scores), len(set(scores.participant)), policies, scenarios)
    found = {pair: paired_differences(scores, *pair) for pair in combinations(policies, 2)}
    effects = _effects(found)
    reason = "" if effects else _reason(known, scores)
    return LinearEffects(**{**vars(known), "effects": effects, "reason": reason})


def _effects(found: dict[tuple[str, str], FloatArray]) -> tuple[PolicyEffect, ...]:
    effects = [
        _effect(first, second, values) for (first, second), values in found.items() if len(values) >= LEAST_PARTICIPANTS
    ]
    corrected = holm([each.p for each in effects])
    return tuple(PolicyEffect(**{**vars(each), "p_corrected": p}) for each, p in zip(effects, corrected, strict=True))


def _effect(first: str, second: str, values: FloatArray) -> PolicyEffect:
    from scipy.special import stdtr

    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / sqrt(n)
    equal = float(np.ptp(values)) < 1e-12
    p = (1.0 if abs(mean) < 1e-12 else None) if equal else 2 * float(stdtr(n - 1, -abs(mean) / error))
    return PolicyEffect(first, second, n, mean, error, *student_interval(values), p)


def _reason(known: LinearEffects, scores: RunScores) -> str:
    seen: dict[str, set[str]] = {}
    for participant, policy in zip(scores.participant, scores.policy, strict=True):
        seen.setdefault(participant, set()).add(policy)
    if len(known.policies) < 2:
        return "fewer than two policies"
    if known.participants < LEAST_PARTICIPANTS:
        return f"fewer than {LEAST_PARTICIPANTS} participants"
    if all(len(each) < 2 for each in seen.values()):
        return "no participant rated several policies"
    return f"fewer than {LEAST_PARTICIPANTS} participants rated two policies in the same scenario and location"


def fit_ordinal_model(ratings: Ratings, questionnaire: Questionnaire, linear: LinearEffects) -> OrdinalEffects:
    """The check by ranks, where there are linear effects."""
    value = ratings.coded(questionnaire)
    n = int((~np.isnan(value)).sum())
    if not linear.effects:
        return OrdinalEffects(n, reason="there is no effect to check")
    answers = _answers(ratings, value)
    pairs = [(each.first, each.second) for each in linear.effects]
    effects = _effects({pair: _superiority(answers, *pair) for pair in pairs})
    agrees = len(effects) == len(pairs) and all(map(_agree, effects, linear.effects))
    return OrdinalEffects(n, tuple(map(_clipped, effects)), agrees)


Answers = dict[tuple[str, str, str, str], dict[str, FloatArray]]
"""Participant, scenario, location, item → policy → ratings."""


def _answers(ratings: Ratings, value: FloatArray) -> Answers:
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    names = (ratings.column(name).tolist() for name in ("participant", "scenario", "location", "item", "policy"))
    for participant, scenario, location, item, policy, number in zip(*names, value.tolist(), strict=True):
        if number == number:  # no NaN
            found.setdefault((participant, scenario, location, item), {}).setdefault(policy, []).append(number)
    return {key: {policy: np.array(numbers) for policy, numbers in each.items()} for key, each in found.items()}


def _superiority(answers: Answers, first: str, second: str) -> FloatArray:
    """(participants,) share of comparisons that ``second`` wins, less those it loses."""
    people: dict[str, list[float]] = {}
    for (participant, *_), found in answers.items():
        if first in found and second in found:
            won = float(np.sign(found[second][:, None] - found[first][None]).mean())
            people.setdefault(participant, []).append(won)
    return np.array([sum(each) / len(each) for each in people.values()])


def _clipped(effect: PolicyEffect) -> PolicyEffect:
    return PolicyEffect(**{**vars(effect), "low": max(-1.0, effect.low), "high": min(1.0, effect.high)})


def _agree(one: PolicyEffect, other: PolicyEffect) -> bool:
    return one.effect * other.effect >= 0 or all(each.low <= 0 <= each.high for each in (one, other))
