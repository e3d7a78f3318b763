"""Samples that are drawn with a nonce, and the chances that they find what is forged."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from sidestep.errors import BadInput
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.plan import PolicyPlan
from sidestep.runs.sampling import chance_of_finding, chance_text, check_nonce, draw, new_nonce
from tests.records.example import example_scenario


def tasks(count: int) -> list[EpisodeTask]:
    policy = PolicyPlan(name="p")
    return [EpisodeTask(example_scenario(f"s{k}"), policy, 0, Path(f"{k}")) for k in range(count)]


def test_a_nonce_draws_the_same_sample_and_another_one_another() -> None:
    given = tasks(40)
    first = draw(given, 10, "a")
    assert first == draw(given, 10, "a")
    assert first == [task for task in given if task in first], "in the order of the plan"
    assert len(first) == 10
    assert first != draw(given, 10, "b")
    assert draw(given, 4, "a") == [task for task in given if task in draw(given, 4, "a") and task in first]
    assert draw(given, None, "a") == draw(given, 40, "a") == given


def test_every_episode_is_drawn_as_often() -> None:
    given = tasks(10)
    counts = dict.fromkeys((task.scenario.name for task in given), 0)
    for nonce in range(1000):
        for task in draw(given, 3, str(nonce)):
            counts[task.scenario.name] += 1
    assert min(counts.values()) > 240
    assert max(counts.values()) < 360


@pytest.mark.parametrize(("episodes", "checked", "forged"), [(7, 3, 2), (6, 0, 2), (5, 5, 1), (8, 2, 5), (4, 2, 9)])
def test_chances_by_counting(episodes: int, checked: int, forged: int) -> None:
    samples = list(combinations(range(episodes), checked))
    finding = [sample for sample in samples if min(sample, default=episodes) < forged]
    assert chance_of_finding(episodes, checked, forged) == pytest.approx(len(finding) / len(samples))


def test_chances_in_words() -> None:
    assert chance_text(40, 10) == "would have found 1 forged episode of 40 with 25 %, 5 with 78 %"
    assert chance_text(3, 1) == "would have found 1 forged episode of 3 with 33 %"
    assert chance_text(4, 4) == "all 4 episodes that can be run again were"
    assert "99 %" in chance_text(10_000, 9_999), "never rounded to certainty"


def test_nonces() -> None:
    assert len({new_nonce() for _ in range(10)}) == 10
    for bad in ("", " ", "two\nlines", "x" * 201):
        with pytest.raises(BadInput, match="--nonce"):
            check_nonce(bad)
