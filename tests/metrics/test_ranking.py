"""Ranks with ties, by hand: three policies over sixteen scenarios."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidestep.metrics.ranking import Ranked, rank, same_episodes
from sidestep.metrics.score import EpisodeScores
from sidestep.runs.compare import Entry, compare_pair, rank_suites
from sidestep.types.result import MetricResult


def entry(label: str, wins: int, of: int = 16, privileged: bool = False, observes: str = "") -> Entry:
    """Succeeds in the first ``wins`` of ``of`` scenarios."""
    episodes = {}
    for k in range(of):
        metrics = {"success": MetricResult(float(k < wins), "0/1")}
        episodes["s", f"x{k}", 0] = EpisodeScores(
            "s", f"x{k}", label, 0, "success" if k < wins else "timeout", f"{label}{k}", metrics,
            privileged=privileged, observes=observes,
        )  # fmt: skip
    return Entry(label, "run", label, episodes)


def pairs_of(*entries: Entry) -> list[dict[str, Any]]:
    return [compare_pair(a, b, ["success"]) for a, b in combinations(entries, 2)]


def test_ranks_and_ties_by_hand() -> None:
    """Successes in 16, 10 and 2 of 16 scenarios: the exact p of 14, 8 and 6 more is 2/2^14, 2/2^8 and 2/2^6, by Holm
    times 3, 2 and 1, all below 0.05. Three more (p 2/2^3) or six (3 · 2/2^6) are not enough."""
    found = rank(pairs_of(entry("low", 2), entry("high", 16), entry("mid", 10)), "success")
    assert [(each.label, each.rank, each.last) for each in found] == [("high", 1, 1), ("mid", 2, 2), ("low", 3, 3)]
    tied = rank(pairs_of(entry("c", 10), entry("b", 13), entry("a", 16)), "success")
    assert [(each.label, each.rank, each.last) for each in tied] == [("a", 1, 3), ("b", 1, 3), ("c", 1, 3)]
    assert tied[0].mean == 1.0


def test_ties_need_not_be_transitive() -> None:
    """a beats c by 8 (p 3 · 2/2^8); b is told apart from neither, with 4 between them (p 2/2^4)."""
    found = {each.label: each for each in rank(pairs_of(entry("a", 16), entry("b", 12), entry("c", 8)), "success")}
    assert [(found[name].rank, found[name].last) for name in "abc"] == [(1, 2), (1, 3), (2, 3)]
    assert found["b"].tied_with == ("a", "c")


def test_lower_may_be_better_and_none_has_no_ranking() -> None:
    [pair] = pairs_of(entry("a", 16), entry("b", 4))
    pair["metrics"]["success"]["direction"] = "lower"
    assert [each.label for each in rank([pair], "success")] == ["b", "a"]
    pair["metrics"]["success"]["direction"] = "none"
    assert rank([pair], "success") == []


def test_privileged_and_other_episodes_have_no_rank() -> None:
    entries = [entry("a", 16), entry("b", 4), entry("oracle", 16, privileged=True), entry("short", 8, of=8)]
    found = rank_suites(entries, pairs_of(*entries))["s"]
    assert [(each["label"], each["rank"]) for each in found["metrics"]["success"]] == [("a", 1), ("b", 2)]
    assert found["unranked"] == [
        {"label": "oracle", "reason": "privileged"},
        {"label": "short", "reason": "ran other episodes"},
    ]


def test_who_has_exact_states_is_not_ranked_before_who_has_sensors_only() -> None:
    """The policy with exact states wins all; those with scanners are ranked among themselves, with the blind one."""
    told, scans = '{"pedestrians": "", "goal": ""}', '{"lidar": "90 rays, 8 m"}'
    entries = [
        entry("told", 16, observes=told),
        entry("good", 14, observes=scans),
        entry("poor", 4, observes=scans),
        entry("blind", 0, observes='{"goal": ""}'),
    ]
    found = rank_suites(entries, pairs_of(*entries))["s"]
    scanning, exact = sorted(found["races"], key=lambda race: -len(race["labels"]))
    assert scanning["labels"] == ["blind", "good", "poor"]
    assert exact["labels"] == ["blind", "told"]
    assert [(each["label"], each["rank"]) for each in scanning["metrics"]["success"]] == [
        ("good", 1), ("poor", 2), ("blind", 2),
    ]  # fmt: skip
    assert [(each["label"], each["rank"]) for each in exact["metrics"]["success"]] == [("told", 1), ("blind", 2)]
    assert found["metrics"] == scanning["metrics"]
    assert found["unranked"] == [{"label": "told", "reason": "does not observe the same: ranked in the other race"}]


def test_the_largest_group_is_compared() -> None:
    assert same_episodes({"a": frozenset({1, 2}), "b": frozenset({1, 2}), "c": frozenset({1, 2, 3})}) == {"a", "b"}
    assert same_episodes({}) == set()


@given(st.lists(st.integers(0, 16), min_size=2, max_size=6))
def test_what_a_rank_is(wins: list[int]) -> None:
    entries = [entry(f"p{k}", count) for k, count in enumerate(wins)]
    found = rank(pairs_of(*entries), "success")
    best = min(found, key=lambda each: each.rank)
    assert best.rank == 1
    for each in found:
        assert 1 <= each.rank <= each.last <= len(found)
        assert len(each.tied_with) == each.last - each.rank
    by_label: dict[str, Ranked] = {each.label: each for each in found}
    for (a, more), (b, less) in combinations(zip([e.label for e in entries], wins, strict=True), 2):
        if more > less:
            assert by_label[a].rank <= by_label[b].rank


def test_a_metric_that_nobody_has() -> None:
    assert rank(pairs_of(entry("a", 3), entry("b", 4)), "absent") == []
