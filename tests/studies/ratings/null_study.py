"""Studies of policies that do not differ: every difference that a test finds in them is an error.

The favour of an answer is 3 + lenience of the participant + liking of the policy by that participant + scenario +
taste of the participant for the scenario + noise of the run + noise of the answer, in levels, and the answer is the
nearest level from 1 to 5 (or the number itself). Likings are drawn for each participant anew, with mean 0: people
differ in which policy they like, and no policy is liked more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.studies.ratings.comparison import RunScores
from sidestep.studies.ratings.table import Ratings, make_ratings
from sidestep.types.base import FloatArray
from tests.studies.ratings.tables import PROTOCOL


@dataclass(frozen=True)
class Shape:
    """Size of a study, and standard deviations in levels."""

    people: int
    policies: int = 2
    scenarios: int = 2
    runs: int = 2
    items: int = 4
    lenience: float = 0.6
    liking: float = 0.5
    """Of a participant for a policy: the interaction."""
    uneven: bool = False
    """Whether likings of the last policy vary three times as much, so that pairs of policies have unequal errors."""
    taste: float = 0.3
    run_noise: float = 0.4
    answer_noise: float = 0.6
    ordinal: bool = True
    missing: float = 0.0
    """Share of runs that were not rated."""
    effect: float = 0.0
    """Of the second policy; 0 in a null study."""

    @property
    def name(self) -> str:
        """For lists of results."""
        flags = [("uneven", self.uneven), ("numbers", not self.ordinal), ("missing", bool(self.missing))]
        words = [word for word, on in flags if on]
        return " ".join([f"{self.people} people, {self.policies} policies, liking {self.liking}", *words])


def draw_answers(shape: Shape, rng: np.random.Generator) -> FloatArray:
    """(people, policies, scenarios, runs, items) favourable answers of one study."""
    people, policies, scenarios, runs = shape.people, shape.policies, shape.scenarios, shape.runs
    spread = np.full(policies, shape.liking)
    if shape.uneven:
        spread[-1] *= 3
    favour = (
        3
        + rng.normal(0, shape.lenience, (people, 1, 1, 1, 1))
        + rng.normal(0, 1, (people, policies, 1, 1, 1)) * spread[:, None, None, None]
        + rng.normal(0, 0.4, (scenarios, 1, 1))
        + rng.normal(0, shape.taste, (people, 1, scenarios, 1, 1))
        + rng.normal(0, shape.run_noise, (people, policies, scenarios, runs, 1))
        + rng.normal(0, shape.answer_noise, (people, policies, scenarios, runs, shape.items))
    )
    favour[:, 1] += shape.effect
    return np.asarray(np.clip(np.floor(favour + 0.5), 1, 5) if shape.ordinal else favour)


def draw_scores(shape: Shape, rng: np.random.Generator) -> RunScores:
    """The scores of the runs of one study."""
    scores = draw_answers(shape, rng).mean(axis=4)
    kept = rng.random(scores.size) >= shape.missing
    cells = [place.ravel()[kept].tolist() for place in np.indices(scores.shape)[:3]]
    names = [[f"{letter}{number}" for number in cell] for letter, cell in zip("pqs", cells, strict=True)]
    n = int(kept.sum())
    return RunScores(scores.ravel()[kept], *names, [""] * n, [1] * n, [""] * n)


SCENARIOS = ("intersection_wait", "intersection_gesture", "narrow_doorway", "blind_corner")
"""Of the protocol, with four items each."""


def draw_ratings(shape: Shape, rng: np.random.Generator) -> Ratings:
    """The table of one study of at most four scenarios, rated with the questionnaire of the protocol."""
    rows = []
    for (person, policy, scenario, run, place), answer in np.ndenumerate(draw_answers(shape, rng)):
        item = PROTOCOL.items_for(SCENARIOS[scenario])[place]
        about = {"participant": f"p{person}", "policy": f"q{policy}", "scenario": SCENARIOS[scenario], "run": run + 1}
        rating = int(6 - answer if item.reverse else answer)
        rows.append({**about, "item": item.id, "rating": rating})
    return make_ratings(rows, PROTOCOL)
