"""Definitions of studies, and who meets what in which order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.studies.definition import parse_study, read_study, with_suite_texts
from sidestep.studies.order import balanced_rows, blinding_letters, trials_of
from tests.studies.conftest import TEXT, study_of


def test_a_definition_is_read(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(TEXT)
    study = read_study(file)
    assert [each.name for each in study.policies] == ["polite", "blunt"]
    assert (study.scenarios[0].group, study.scenarios[0].place) == ("frontal", "f1")
    assert study.film("polite", "frontal-f1", 1) == "films/polite/frontal-f1.mp4"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("polcies: [a]", "unknown key 'polcies'; did you mean 'policies'"),
        ("runs: 0", "runs"),
        ("sets: 100\nruns: 100", "reduce sets or runs"),
        ("films: '{name}.mp4'", "unknown"),
        ("asks: [{id: a, label: x}, {id: a, label: y}]", "given twice"),
        ("seed: -1", "seed"),
        ("language: english", "language"),
    ],
)
def test_mistakes_are_told_with_their_place(change: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as error:
        parse_study(f"{TEXT}\n{change}\n", "mine.yaml")
    assert str(error.value).startswith("mine.yaml")


def test_a_definition_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadInput, match="at most 256 kB"):
        parse_study("#" * 300_000, "mine.yaml")


@given(st.integers(1, 12))
def test_squares_are_balanced(count: int) -> None:
    """Each condition once per row and equally often at each position and after each other one."""
    rows = balanced_rows(count)
    assert all(sorted(row) == list(range(count)) for row in rows)
    for column in zip(*rows, strict=True):
        assert set(Counter(column).values()) == {len(rows) // count}
    after = Counter(pair for row in rows for pair in pairwise(row))
    assert len(after) == count * (count - 1)
    assert len(set(after.values())) <= 1


def test_a_square_of_four_by_hand() -> None:
    assert balanced_rows(4) == ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))


@given(st.integers(0, 40), st.integers(0, 1000))
def test_everybody_does_everything_once(participant: int, seed: int) -> None:
    study = study_of(sets=2, runs=3, seed=seed)
    trials = trials_of(study, participant)
    cells = {(each.set, each.run, each.policy, each.scenario) for each in trials}
    assert len(cells) == len(trials) == 2 * 3 * 2 * 2
    assert [each.position for each in trials] == list(range(len(trials)))
    assert trials == trials_of(study, participant)


def test_rows_are_used_equally_often() -> None:
    study = study_of(seed=7)
    first = Counter(trials_of(study, each)[0].policy for each in range(10))
    assert first == {"polite": 5, "blunt": 5}


def test_policies_meet_a_participant_in_the_same_worlds() -> None:
    seeds: dict[str, set[tuple[str, int]]] = {}
    for each in trials_of(study_of(), 3):
        seeds.setdefault(each.policy, set()).add((each.scenario, each.seed))
    assert seeds["polite"] == seeds["blunt"]


def test_letters_depend_on_the_seed_only() -> None:
    drawn = {tuple(blinding_letters(study_of(seed=seed)).values()) for seed in range(20)}
    assert drawn == {("A", "B"), ("B", "A")}


def test_a_fixed_order_is_as_listed() -> None:
    trials = trials_of(study_of(order="fixed"), 5)
    assert [each.policy for each in trials] == ["polite", "polite", "blunt", "blunt"]


def test_a_suite_speaks_the_language_of_the_study() -> None:
    names = {"scenarios": ["frontal-f1"], "suite": "protocol", "mode": "walk"}
    (german,) = with_suite_texts(study_of(**names, language="de")).scenarios
    (french,) = with_suite_texts(study_of(**names, language="fr")).scenarios
    (english,) = with_suite_texts(study_of(**names)).scenarios
    assert "Roboter" in german.instruction
    assert french.instruction == english.instruction
    assert "robot" in english.instruction
