"""How a study went, effects of order and the headline: by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.studies.ratings import analyse, make_ratings
from sidestep.studies.ratings.headline import headline
from sidestep.studies.ratings.order_effects import order_document
from sidestep.studies.ratings.page import number
from sidestep.studies.ratings.participation import (
    Participation,
    Person,
    PlannedRun,
    participation_document,
    participation_of,
    run_orders,
)
from tests.studies.ratings.null_study import Shape, draw_ratings
from tests.studies.ratings.tables import PROTOCOL, constant, table


def test_outcomes_dropouts_and_demographics_of_a_table() -> None:
    """B has one of two runs. A walk in which A never moved is neither success nor failure, and in no statistic."""
    person = {"A": {"about_age": "18-39", "about_height": 170}, "B": {"about_age": "18-39", "about_height": 180},
              "C": {"about_age": "", "about_height": 190}}  # fmt: skip
    ratings = table(
        constant(2, participant="A", policy="x", outcome="success", **person["A"]),
        constant(1, participant="A", policy="y", outcome="timeout", flag="never_moved", **person["A"]),
        constant(3, participant="B", policy="x", outcome="timeout", comment="=1 is <b>rude</b>\nyes", **person["B"]),
        constant(4, participant="C", policy="x", outcome="success", **person["C"]),
        constant(5, participant="C", policy="y", outcome="success", device="phone", **person["C"]),
    )
    document = analyse(ratings)
    found = document["participation"]
    assert found["outcomes"]["policies"] == {"x": {"success": 2, "timeout": 1}, "y": {"success": 1}}
    assert found["outcomes"]["flagged"] == {"x": {}, "y": {"never_moved": 1}}
    assert found["dropouts"]["left"] == [{"participant": "B", "runs": 1, "planned": 2, "last_policy": "x"}]
    assert (found["dropouts"]["began"], found["dropouts"]["finished"]) == (3, 2)
    assert found["dropouts"]["by_policy"]["y"] == {"planned": 2, "rated": 2, "flagged": 1}
    age, height = found["demographics"]
    assert (age["answers"], age["n"], age["of"]) == ({"18-39": 2}, 2, 3)
    assert (height["mean"], height["low"], height["high"], height["answers"]) == (180, 170, 190, {})
    assert [each["comment"] for each in found["comments"]] == ["=1 is <b>rude</b>\nyes"]
    assert found["devices"] == {"phone": 1}
    assert document["counts"]["runs"] == 4
    assert document["policies"]["y"]["savg"] == 5


def test_a_study_of_flagged_walks_only_has_no_analysis() -> None:
    with pytest.raises(BadInput, match="all runs are flagged"):
        analyse(table(constant(2, flag="waved_early")))


def test_a_plan_knows_who_never_came() -> None:
    people = (Person("p1"), Person("p2"), Person("p3", consented=False), Person("p4", deleted=True))
    runs = [PlannedRun(name, policy, "frontal", name == "p1" or (name, policy) == ("p2", "a"))
            for name in ("p1", "p2", "p3") for policy in "ab"]  # fmt: skip
    ratings = table(*(constant(3, participant=name, policy="a") for name in ("p1", "p2")))
    found = participation_document(Participation(people, tuple(runs), True), ratings)["dropouts"]
    assert {name: found[name] for name in ("people", "consented", "deleted", "began", "finished", "analysed")} == {
        "people": 4, "consented": 3, "deleted": 1, "began": 2, "finished": 1, "analysed": 2,
    }  # fmt: skip
    assert [each["participant"] for each in found["left"]] == ["p2"]
    assert found["by_policy"] == {
        "a": {"planned": 2, "rated": 2, "flagged": 0}, "b": {"planned": 2, "rated": 1, "flagged": 0},
    }  # fmt: skip


def test_texts_that_may_say_who_somebody_is_are_only_counted() -> None:
    people = tuple(Person(f"p{k}", {"job": f"clerk {k}"}) for k in range(5))
    found = participation_document(Participation(people, (), True, {"job": "Your job"}), table(constant(3)))
    assert found["demographics"] == [
        {"question": "Your job", "n": 5, "of": 5, "mean": None, "low": None, "high": None, "answers": {}}
    ]


def test_order_of_runs_by_column_or_by_time() -> None:
    runs = [constant(3, run=1, order=7), constant(3, run=2, order="10"), constant(3, run=3, order=9)]
    assert {key[-1]: place for key, place in run_orders(table(*runs)).items()} == {1: 1, 3: 2, 2: 3}
    timed = [constant(3, run=k, time=f"2026-05-0{4 - k}T10:00:00") for k in (1, 2, 3)]
    assert {key[-1]: place for key, place in run_orders(table(*timed)).items()} == {3: 1, 2: 2, 1: 3}
    assert run_orders(table(constant(3), constant(3, run=2, time="2026-05-01"))) == {}


def ordered(learning: float, fixed: bool = False) -> Any:
    """Six people, three policies in all orders, and a score that grows by ``learning`` a run; no noise."""
    rows = []
    for person, order in enumerate(permutations("abc")):
        for place, policy in enumerate("abc" if fixed else order):
            level = {"a": 1, "b": 2, "c": 1}[policy] + learning * place
            rows += constant(round(level), participant=f"p{person}", policy=policy, order=place + 1)
    return make_ratings(rows, PROTOCOL)


def test_learning_by_hand() -> None:
    """One level a run, in a balanced order: nothing else is left, and the first policy is a level below the second."""
    document = order_document(ordered(1), PROTOCOL)
    assert document["learning"]["mean"] == pytest.approx(1)
    assert [each["mean"] for each in document["positions"]] == pytest.approx([-1, 0, 1])
    assert order_document(ordered(0), PROTOCOL)["learning"]["mean"] == pytest.approx(0)


def test_one_order_for_everybody_says_nothing_about_order() -> None:
    document = order_document(ordered(1, fixed=True), PROTOCOL)
    assert document["learning"] is None
    assert "same order" in document["reason"]
    assert "order of runs is unknown" in order_document(table(constant(3)), PROTOCOL)["reason"]
    two = table(*(constant(3, participant=who, run=k, order=k) for who in "AB" for k in (1, 2, 3)))
    assert "fewer than 3 participants" in order_document(two, PROTOCOL)["reason"]


@pytest.mark.full
def test_equal_places_seldom_differ() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        ratings = draw_ratings(Shape(10, 3), rng)
        orders = np.zeros(len(ratings), int)
        for name in ratings.names("participant"):
            met = [list(rng.permutation(ratings.names(column))) for column in ("policy", "scenario")]
            for row in np.flatnonzero(ratings.participant == name):
                place = met[0].index(ratings.policy[row]) * 4 + met[1].index(ratings.scenario[row]) * 2
                orders[row] = place + ratings.run[row]
        document = order_document(replace(ratings, extra={"order": orders.astype(str).astype(object)}), PROTOCOL)
        each = [document["learning"], *document["positions"]]
        found.append([not part["low"] <= 0 <= part["high"] for part in each])
    assert np.mean(found, axis=0).max() <= 0.09


def test_the_headline_of_a_clear_difference() -> None:
    runs = [
        constant(score, participant=f"p{k}", policy=policy)
        for k in range(8)
        for policy, score in (("old", 1 + k % 2), ("new", 3 + k % 3))
    ]
    document = analyse(table(*runs))
    sentence = document["headline"]["sentence"]
    assert sentence.startswith("People rated new 2.38 levels higher than old (95 % interval 1.")
    assert sentence.endswith("8 participants, p = 0.008).")
    assert analyse(table(*runs[::-1]))["headline"]["sentence"] == sentence


def test_the_headline_of_no_difference_and_of_too_few_people() -> None:
    runs = [constant(3 + (k + p) % 2, participant=f"p{k}", policy="ab"[p]) for k in range(4) for p in (0, 1)]
    sentence = analyse(table(*runs))["headline"]["sentence"]
    assert sentence.startswith("No difference was shown between")
    assert sentence.endswith("At least 6 participants are needed to show any difference.")
    alone = analyse(table(constant(1, policy="a"), constant(5, policy="b"), constant(5, policy="b", run=2)))
    assert "No comparison is possible between b and a" in alone["headline"]["sentence"]
    one = analyse(table(constant(4), constant(2, run=2)))["headline"]["sentence"]
    assert one.startswith("People gave orca a mean of 3.00 on the scale of 1 to 5")


def test_no_difference_has_no_sign() -> None:
    """Turned round, the difference of two equal policies is −0."""
    equal = table(*(constant(3, participant=f"p{k}", policy=policy) for k in range(6) for policy in ("b", "a")))
    document = analyse(equal)
    assert "−" not in document["headline"]["sentence"]
    assert number(-0.001) == "0.00"


def test_the_headline_needs_test_and_interval() -> None:
    pair = {"first": "a", "second": "b", "design": "paired", "n": 9, "difference": 0.4, "low": -0.01, "high": 0.8,
            "p_corrected": 0.04, "effect": 0.7, "cohen_d": 0.8, "note": ""}  # fmt: skip
    means = [{"policy": name, "mean": mean, "low": None, "high": None, "runs": 9, "participants": 9}
             for name, mean in (("a", 3.0), ("b", 3.4))]  # fmt: skip
    comparison = {"means": means, "pairs": [pair]}
    assert "No difference" in headline(comparison, range(1, 6), "human")["sentence"]
    comparison["pairs"] = [{**pair, "low": 0.01}]
    assert headline(comparison, range(1, 6), "simulated")["sentence"].startswith("Simulated raters rated b 0.40 levels")


def test_what_a_table_says_is_the_default() -> None:
    found = participation_of(table(constant(3, participant="A"), constant(3, participant="B")))
    assert not found.planned
    assert [run.done for run in found.runs] == [True, True]
