"""Simulated raters: answers computed from metrics, to rehearse a study and to test its analysis.

Every rater has a leaning of their own, every run a noise of its own, and some answers are "cannot tell". The mapping
from metrics to items is a file (``raters/``); its anchors are plausible, not fitted. All ratings have the origin
``simulated``, and an analysis never takes them together with people's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from sidestep._util.reading import bundled_names, read_bundled, read_mapping
from sidestep.errors import BadInput, UnknownName
from sidestep.metrics.score import EpisodeScores
from sidestep.studies.ratings.metric_model import Metrics
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import SIMULATED, Ratings, make_ratings
from sidestep.types.base import Finite, Model, NonNegative

RATERS = "sidestep.studies.ratings/raters"


class Term(Model):
    """A metric's value at ``bad`` is the least favourable level, at ``good`` the most favourable, linear between."""

    metric: str
    bad: Finite
    good: Finite

    @model_validator(mode="after")
    def _check(self) -> Term:
        if self.bad == self.good:
            raise ValueError("bad and good are equal; give two different values")
        return self

    def favour(self, value: float) -> float:
        """0 (bad) to 1 (good)."""
        return min(1.0, max(0.0, (value - self.bad) / (self.good - self.bad)))


class Encounter(Model):
    """Robot and person met if the metric is at most ``at_most``; in other runs a rater cannot tell."""

    metric: str
    at_most: Finite


class RaterMapping(Model):
    """Item → terms."""

    questionnaire: str
    encounter: Encounter | None = None
    items: dict[str, Annotated[tuple[Term, ...], Field(min_length=1)]]


class RaterSettings(Model):
    """Standard deviations in levels of the scale."""

    leaning: NonNegative = 0.4
    """Standard deviation between raters, some of whom are generous throughout."""
    run_noise: NonNegative = 0.3
    """Standard deviation between runs, shared by all items of a run."""
    answer_noise: NonNegative = 0.5
    cannot_tell: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of answers without an opinion, where a metric would give one."""


@dataclass(frozen=True)
class RatedRun:
    """A run to be rated: what names it, and the metrics of its episode."""

    policy: str
    scenario: str
    metrics: Metrics
    location: str = ""
    episode: str = ""
    set: int = 1
    run: int = 1


def load_mapping(name_or_file: str | Path = "protocol") -> RaterMapping:
    """A bundled mapping by name, or one from a YAML file."""
    text = str(name_or_file)
    if text in bundled_names(RATERS):
        return RaterMapping.parse(read_bundled(RATERS, text), f"bundled {text}")
    path = Path(name_or_file)
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownName("mapping of simulated raters", text, bundled_names(RATERS))
    return RaterMapping.parse(read_mapping(path, "mapping of simulated raters", "questionnaire, items"), text)


def has_met(mapping: RaterMapping, metrics: Metrics) -> bool:
    """Whether there was an encounter to rate: a robot that fails before it meets anybody keeps its distance, too."""
    encounter = mapping.encounter
    if encounter is None:
        return True
    found = metrics.get(encounter.metric)
    return found is not None and found.valid and found.value <= encounter.at_most


def item_level(item: str, mapping: RaterMapping, metrics: Metrics, questionnaire: Questionnaire) -> float | None:
    """The favourable level of an item before leanings and noise; None where robot and person did not meet, or none of
    the item's metrics has a value."""
    if not has_met(mapping, metrics):
        return None
    found = [
        term.favour(metrics[term.metric].value)
        for term in mapping.items[item]
        if term.metric in metrics and metrics[term.metric].valid
    ]
    scale = questionnaire.scale
    return scale.lowest + sum(found) / len(found) * (scale.highest - scale.lowest) if found else None


def rated_runs(episodes: Iterable[EpisodeScores], questionnaire: Questionnaire) -> list[RatedRun]:
    """Scored episodes of a run as runs to be rated; names of scenarios are ``SCENARIO-LOCATION``."""
    runs = []
    for each in episodes:
        scenario, _, location = each.scenario.partition("-")
        if not questionnaire.items_for(scenario):
            raise BadInput(
                f"questionnaire {questionnaire.name!r} asks nothing after scenario {each.scenario!r}; "
                "rehearse with a run of its protocol"
            )
        runs.append(RatedRun(each.policy, scenario, each.metrics, location, each.digest, run=each.seed + 1))
    return runs


def simulate_ratings(
    runs: Sequence[RatedRun],
    questionnaire: Questionnaire,
    raters: int,
    seed: int,
    mapping: RaterMapping | None = None,
    settings: RaterSettings | None = None,
    study: str = "rehearsal",
) -> Ratings:
    """Each of ``raters`` rates every run. The same arguments give the same ratings."""
    mapping, settings = mapping or load_mapping(), settings or RaterSettings()
    _check_mapping(mapping, questionnaire)
    if raters < 1:
        raise BadInput(f"{raters} raters; at least one is needed")
    rows: list[dict[str, Any]] = []
    for rater in range(raters):
        rng = np.random.default_rng([seed, rater])
        leaning = settings.leaning * _normal(rng)
        for run in runs:
            shift = leaning + settings.run_noise * _normal(rng)
            about = {
                "study": study, "participant": f"simulated-{rater + 1:03d}", "set": run.set, "policy": run.policy,
                "scenario": run.scenario, "location": run.location, "run": run.run, "episode": run.episode,
                "origin": SIMULATED,
            }  # fmt: skip
            for item in questionnaire.items_for(run.scenario):
                level = item_level(item.id, mapping, run.metrics, questionnaire)
                noisy = None if level is None else level + shift + settings.answer_noise * _normal(rng)
                unsure = rng.random() < settings.cannot_tell
                unfavourable = item.reverse == questionnaire.follows_wording(item)  # people answer what they read
                rating = _answer(noisy, unfavourable, unsure, questionnaire)
                rows.append({**about, "item": item.id, "rating": rating})
    return make_ratings(rows, questionnaire, "simulated ratings")


def _normal(rng: np.random.Generator) -> float:
    """A sum of twelve uniform numbers less six: nearly normal, within ±6, and the same bits everywhere."""
    return float(rng.random(12).sum()) - 6.0


def _answer(level: float | None, reverse: bool, unsure: bool, questionnaire: Questionnaire) -> int:
    """The rating as given on the sheet."""
    scale = questionnaire.scale
    if (level is None or unsure) and scale.cannot_tell is not None:
        return scale.cannot_tell
    favourable = scale.middle if level is None else level
    clipped = min(scale.highest, max(scale.lowest, int(np.floor(favourable + 0.5))))
    return int(scale.turned(clipped)) if reverse else clipped


def _check_mapping(mapping: RaterMapping, questionnaire: Questionnaire) -> None:
    other = questionnaire.other_form
    if mapping.questionnaire not in (questionnaire.name, other and other.name):
        raise BadInput(
            f"the mapping of simulated raters is for the questionnaire {mapping.questionnaire}, not "
            f"{questionnaire.name}; give a mapping for it"
        )
    missing = [item.id for item in questionnaire.items if item.id not in mapping.items]
    if missing:
        raise BadInput(f"the mapping of simulated raters has no terms of {', '.join(missing[:10])}; add them")
