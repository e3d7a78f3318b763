"""Effects of policies where every participant rated several of them: a linear mixed model, and an ordinal check.

*Linear*: score of a run = policy + scenario + participant + residual. Policies and scenarios are fixed effects, the
participant is a random intercept, variances are by restricted maximum likelihood (Laird and Ware, Biometrics 38, 1982).
Intervals are Student's with n - participants - fixed effects (but the intercept) degrees of freedom, as those of
effects within participants (Pinheiro and Bates, Mixed-Effects Models in S and S-PLUS, 2000, section 2.4.2): in a
balanced design with one scenario they are those of the paired t-test.

*Ordinal*: proportional odds of single ratings (McCullagh, J. R. Stat. Soc. B 42, 1980) on policy, item and participant,
all fixed. It takes no distances between levels for granted; its effects are log odds of a more favourable rating.

Both are fitted by statsmodels. Without it, or where a fit fails, ``reason`` says so and there are no effects.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sidestep.metrics.statistics import holm
from sidestep.ratings.comparison import CONFIDENCE, RunScores, run_scores
from sidestep.ratings.questionnaire import Questionnaire
from sidestep.ratings.table import Ratings
from sidestep.types.base import BoolArray, FloatArray, IntArray

LEAST_PARTICIPANTS = 3
FEW_PARTICIPANTS = 10
MOST_ANSWERS = 20_000
"""Beyond, the ordinal model takes long."""
LARGEST_LOG_ODDS = 10.0
"""An estimate beyond means that ratings of two policies do not overlap: it has no finite best value."""
NOT_INSTALLED = "statsmodels is not installed; install it with: pip install 'sidestep[web]'"


@dataclass(frozen=True)
class PolicyEffect:
    """``second`` minus ``first``, with a 95 % interval."""

    first: str
    second: str
    effect: float
    standard_error: float
    low: float
    high: float
    p: float
    p_corrected: float | None = None


@dataclass(frozen=True)
class MixedModel:
    """The linear model. No effects: ``reason`` says why."""

    n: int
    """Runs with a score."""
    participants: int
    policies: tuple[str, ...]
    scenarios: tuple[str, ...]
    effects: tuple[PolicyEffect, ...] = ()
    freedom: int | None = None
    participant_sd: float | None = None
    """Standard deviation of the participants' intercepts."""
    residual_sd: float | None = None
    converged: bool | None = None
    singular: bool | None = None
    """Whether the intercepts are estimated not to vary."""
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class OrdinalModel:
    """The proportional-odds model. No effects: ``reason`` says why."""

    n: int
    """Ratings with an opinion."""
    effects: tuple[PolicyEffect, ...] = ()
    """Log odds ratios."""
    agrees: bool | None = None
    """Whether every effect has the sign of the linear model's, or both intervals include 0."""
    reason: str = ""


def mixed_model_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Both models as plain data."""
    linear = fit_mixed_model(run_scores(ratings, questionnaire))
    ordinal = fit_ordinal_model(ratings, questionnaire, linear)
    return {"linear": asdict(linear), "ordinal": asdict(ordinal)}


def fit_mixed_model(scores: RunScores) -> MixedModel:
    """The linear mixed model of run scores."""
    policies, scenarios = (tuple(dict.fromkeys(names)) for names in (scores.policy, scores.scenario))
    model = MixedModel(len(scores), len(set(scores.participant)), policies, scenarios)
    design, reason = _linear_design(scores, policies, scenarios)
    if reason:
        return MixedModel(**{**vars(model), "reason": reason})
    groups = np.unique(np.array(scores.participant), return_inverse=True)[1]
    singular = _is_singular(scores.score, design, groups)
    fitted = _fit_without_intercepts(scores.score, design) if singular else _fit_linear(scores.score, design, groups)
    if isinstance(fitted, str):
        return MixedModel(**{**vars(model), "converged": None if fitted == NOT_INSTALLED else False, "reason": fitted})
    freedom = len(scores) - model.participants - (design.shape[1] - 1)
    found = {
        "effects": tuple(_pair_effects(policies, fitted.parameters[1:], fitted.covariance[1:, 1:], freedom)),
        "freedom": freedom,
        "participant_sd": float(np.sqrt(fitted.between)),
        "residual_sd": float(np.sqrt(fitted.within)),
        "converged": True,
        "singular": singular,
        "notes": tuple(_notes(model.participants, singular)),
    }
    return MixedModel(**{**vars(model), **found})


class _LinearFit(NamedTuple):
    parameters: FloatArray
    covariance: FloatArray
    between: float
    """Variance of the participants' intercepts."""
    within: float


def _fit_linear(score: FloatArray, design: FloatArray, groups: IntArray) -> _LinearFit | str:
    """The fit, or the reason why there is none."""
    try:
        from statsmodels.regression.mixed_linear_model import MixedLM
    except ImportError:
        return NOT_INSTALLED
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the result
            fit = MixedLM(score, design, groups).fit(reml=True)
        size = design.shape[1]
        covariance = np.asarray(fit.cov_params())[:size, :size]
        found = _LinearFit(np.asarray(fit.fe_params), covariance, float(fit.cov_re[0, 0]), float(fit.scale))
    except (np.linalg.LinAlgError, ValueError, FloatingPointError, ZeroDivisionError) as error:
        return f"the fit failed ({_first_line(error)}); rely on the comparison of pairs, which needs no fit"
    if not fit.converged or not _is_usable(covariance) or not found.within > 0 or not found.between > 0:
        return "the fit did not converge; rely on the comparison of pairs, which needs no fit"
    return found


def _is_singular(score: FloatArray, design: FloatArray, groups: IntArray) -> bool:
    """Whether the restricted likelihood falls from 0 on as the variance of the intercepts grows: with residuals r of
    least squares and their projection M, r' Z Z' r / s² <= tr(M Z Z')."""
    rest = score - design @ np.linalg.lstsq(design, score, rcond=None)[0]
    members = np.eye(int(groups.max()) + 1)[groups]
    spread = rest @ rest / (len(score) - design.shape[1])
    basis = np.linalg.qr(design)[0]
    trace = len(score) - float(np.square(members.T @ basis).sum())
    return bool(np.square(members.T @ rest).sum() <= spread * trace)


def _fit_without_intercepts(score: FloatArray, design: FloatArray) -> _LinearFit:
    """The limit of no variance between participants: least squares."""
    parameters = np.linalg.lstsq(design, score, rcond=None)[0]
    rest = score - design @ parameters
    within = float(rest @ rest / (len(score) - design.shape[1]))
    return _LinearFit(parameters, within * np.linalg.inv(design.T @ design), 0.0, within)


def _notes(participants: int, singular: bool) -> list[str]:
    found = []
    if singular:
        found.append(
            "singular fit: participants are estimated not to differ, so that their runs are taken as independent"
        )
    if participants < FEW_PARTICIPANTS:
        found.append(f"{participants} participants are few for the variance between people; intervals may be too short")
    return found


def _linear_design(scores: RunScores, policies: Sequence[str], scenarios: Sequence[str]) -> tuple[FloatArray, str]:
    """(runs, fixed effects), the intercept first and the policies next; or the reason why there can be no model."""
    seen: dict[str, set[str]] = {}
    for participant, policy in zip(scores.participant, scores.policy, strict=True):
        seen.setdefault(participant, set()).add(policy)
    design = np.column_stack(
        [np.ones(len(scores)), *_indicators(scores.policy, policies), *_indicators(scores.scenario, scenarios)]
    )
    reason = ""
    if len(policies) < 2:
        reason = "fewer than two policies"
    elif len(seen) < LEAST_PARTICIPANTS:
        reason = f"fewer than {LEAST_PARTICIPANTS} participants"
    elif all(len(each) < 2 for each in seen.values()):
        reason = "no participant rated several policies"
    elif np.linalg.matrix_rank(design) < design.shape[1]:
        reason = "policies and scenarios cannot be told apart: each policy was rated in other scenarios"
    elif len(scores) - len(seen) - (design.shape[1] - 1) < 1:
        reason = "too few runs for the number of participants, policies and scenarios"
    elif _is_exact(scores, design):
        reason = (
            "participants, policies and scenarios explain the scores exactly; no variation is left to judge them by"
        )
    return design, reason


def _is_exact(scores: RunScores, design: FloatArray) -> bool:
    """Whether nothing is left after subtracting the effects and every participant's mean."""
    people = tuple(dict.fromkeys(scores.participant))
    whole = np.column_stack([design, *_indicators(scores.participant, people)])
    rest = scores.score - whole @ np.linalg.lstsq(whole, scores.score, rcond=None)[0]
    return bool(np.abs(rest).max() < 1e-9)


def _indicators(values: Sequence[str], names: Sequence[str]) -> list[FloatArray]:
    """1 where a value is the name, 0 elsewhere, for all names but the first."""
    return [np.array([value == name for value in values], np.float64) for name in names[1:]]


def _pair_effects(
    policies: Sequence[str], parameters: FloatArray, covariance: FloatArray, freedom: float
) -> list[PolicyEffect]:
    """Every pair of policies, from the effects of all but the first, which come first in ``parameters``."""
    from scipy.stats import t as student

    wide = float(student.ppf((1 + CONFIDENCE) / 2, freedom))
    found = []
    for one, other in combinations(range(len(policies)), 2):
        contrast = np.zeros(len(parameters))
        contrast[other - 1] = 1.0
        if one:
            contrast[one - 1] = -1.0
        effect, error = float(contrast @ parameters), float(np.sqrt(contrast @ covariance @ contrast))
        p = float(2 * student.sf(abs(effect) / error, freedom)) if error > 0 else float(effect == 0)
        low, high = effect - wide * error, effect + wide * error
        found.append(PolicyEffect(policies[one], policies[other], effect, error, low, high, p))
    corrected = holm([each.p for each in found])
    return [PolicyEffect(**{**vars(each), "p_corrected": p}) for each, p in zip(found, corrected, strict=True)]


def fit_ordinal_model(ratings: Ratings, questionnaire: Questionnaire, linear: MixedModel) -> OrdinalModel:
    """The proportional-odds model of single ratings, where the linear one could be fitted."""
    value = ratings.coded(questionnaire)
    known = ~np.isnan(value)
    model = OrdinalModel(int(known.sum()))
    reason = ""
    if not linear.effects:
        reason = "there is no linear model to check"
    elif model.n > MOST_ANSWERS:
        reason = f"more than {MOST_ANSWERS:,} ratings; the fit would take long"
    if reason:
        return OrdinalModel(model.n, reason=reason)
    parameters, covariance, reason = _fit_odds(value[known], _ordinal_design(ratings.select(known), linear.policies))
    if reason:
        return OrdinalModel(model.n, reason=reason)
    effects = tuple(_pair_effects(linear.policies, parameters, covariance, np.inf))
    if max(abs(each.effect) for each in effects) > LARGEST_LOG_ODDS:
        return OrdinalModel(model.n, reason="ratings of two policies do not overlap, so that odds are infinite")
    pairs = zip(effects, linear.effects, strict=True)
    return OrdinalModel(model.n, effects, all(_agree(one, other) for one, other in pairs))


def _agree(one: PolicyEffect, other: PolicyEffect) -> bool:
    return one.effect * other.effect >= 0 or all(each.low <= 0 <= each.high for each in (one, other))


def _ordinal_design(part: Ratings, policies: Sequence[str]) -> FloatArray:
    """(ratings, effects), the policies first; of the other columns those that add to the rank."""
    columns = _indicators(part.policy.tolist(), policies)
    others = [
        *_indicators(part.item.tolist(), part.names("item")),
        *_indicators(part.participant.tolist(), part.names("participant")),
    ]
    design = np.column_stack(columns)
    for column in others:
        wider = np.column_stack([design, column])
        centred = wider - wider.mean(axis=0)  # thresholds take the intercept's place
        if np.linalg.matrix_rank(centred) == wider.shape[1]:
            design = wider
    return design


def _fit_odds(value: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray, str]:
    """Effects, their covariance, or the reason why there are none."""
    nothing = np.zeros(0)
    try:
        from statsmodels.miscmodels.ordinal_model import OrderedModel
    except ImportError:
        return nothing, nothing, NOT_INSTALLED
    levels, codes = np.unique(value, return_inverse=True)
    if len(levels) < 2:
        return nothing, nothing, "all ratings are equal"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = OrderedModel(codes, design, distr="logit").fit(method="bfgs", disp=False, maxiter=500)
        size = design.shape[1]
        parameters, covariance = np.asarray(fit.params)[:size], np.asarray(fit.cov_params())[:size, :size]
        converged = bool(fit.mle_retvals["converged"])
    except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
        return nothing, nothing, f"the fit failed ({_first_line(error)})"
    if not converged or not _is_usable(covariance):
        return nothing, nothing, "the fit did not converge"
    return parameters, covariance, ""


def _is_usable(covariance: FloatArray) -> bool:
    diagonal: BoolArray = np.diag(covariance) > 0
    return bool(np.isfinite(covariance).all() and diagonal.all())


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).partition("\n")[0][:120]
