"""The oracle is the limit: it is never the best of a table."""

from __future__ import annotations

from sidestep.metrics.aggregate import EpisodeScores, aggregate
from sidestep.report.summary import contenders, is_privileged
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult


def test_privileged_policies_are_known_by_their_row() -> None:
    assert is_privileged("oracle")
    assert is_privileged("oracle (generated)")
    assert not is_privileged("mpc")
    assert not is_privileged("my_oracle.py:Oracle")


def test_the_oracle_is_no_contender() -> None:
    rows = [
        EpisodeScores(policy, f"s{k}", 0, Outcome.SUCCESS, {"success": MetricResult(1.0, "1")})
        for policy in ("oracle", "mpc")
        for k in range(4)
    ]
    assert contenders(aggregate(rows)) == {"mpc"}
    assert contenders(aggregate(rows[:4])) == {"oracle"}
