"""Numbers, marks and plots of the report, on cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sidestep.benchmark.episode import EpisodeScores
from sidestep.report.choice import goodness
from sidestep.report.plots import Mark, distribution_plot, nice_ticks, tag, tradeoff_plot
from sidestep.report.summary import contact_free, format_number, pareto_front, summarise
from sidestep.report.tables import escape_latex, latex_table
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult


def episode(policy: str, seed: int, *, time: float | None, distance: float, outcome: str = "success") -> EpisodeScores:
    reached = MetricResult.invalid("s", "the goal was not reached") if time is None else MetricResult(time, "s")
    results = {
        "success": MetricResult(float(outcome == "success"), "0/1"),
        "time_to_goal": reached,
        "closest_pedestrian_distance": MetricResult(distance, "m"),
    }
    return EpisodeScores("suite", "scenario", policy, seed, outcome, f"{policy}{seed}", results)


EPISODES = [
    episode("fast", 0, time=5.0, distance=0.2),
    episode("fast", 1, time=None, distance=0.4, outcome="pedestrian_collision"),
    episode("kind", 0, time=9.0, distance=1.0),
    episode("kind", 1, time=11.0, distance=2.0),
    episode("lost", 0, time=None, distance=0.1, outcome="timeout"),
]


def test_means_are_over_valid_episodes_and_all_are_counted() -> None:
    summary = summarise(EPISODES)
    time = summary.column("time_to_goal")
    assert time is not None
    assert (time.cells["fast"].mean_value, time.cells["fast"].n, time.cells["fast"].of) == (5.0, 1, 2)
    assert (time.cells["kind"].mean_value, time.cells["kind"].n) == (10.0, 2)
    assert (time.cells["lost"].n, time.cells["lost"].reason) == (0, "the goal was not reached")
    assert summary.outcomes("fast") == {"success": 1, "pedestrian_collision": 1}


def test_the_best_is_marked_by_direction() -> None:
    summary = summarise(EPISODES)

    def best(name: str) -> list[str]:
        column = summary.column(name)
        assert column is not None
        return [policy for policy, cell in column.cells.items() if cell.best]

    assert best("time_to_goal") == ["fast"]
    assert best("closest_pedestrian_distance") == ["kind"]
    assert best("success") == ["kind"]


def test_a_policy_that_clearly_fails_is_never_marked() -> None:
    still = [episode("still", seed, time=None, distance=9.0, outcome="timeout") for seed in range(20)]
    able = [episode(name, seed, time=8.0, distance=d) for name, d in (("a", 1.0), ("b", 2.0)) for seed in range(20)]
    column = summarise([*still, *able]).column("closest_pedestrian_distance")
    assert column is not None
    assert [policy for policy, cell in column.cells.items() if cell.best] == ["b"]


def test_nobody_is_best_among_equals() -> None:
    alike = summarise([episode(name, 0, time=5.0, distance=1.0) for name in ("a", "b")])
    assert not any(cell.best for column in alike.columns for cell in column.cells.values())


def test_the_front_holds_who_is_not_beaten_in_both() -> None:
    slow = [episode("slow", seed, time=12.0, distance=0.5) for seed in (0, 1)]
    summary = summarise(EPISODES + slow)
    across, up = summary.column("time_to_goal"), summary.column("closest_pedestrian_distance")
    assert across is not None
    assert up is not None
    assert pareto_front(across, up) == ["fast", "kind"]
    marks = [Mark(policy, "#123456") for policy in summary.policies]
    svg = tradeoff_plot(marks, across, up, ["fast", "kind"])
    assert svg.count("<circle") == 3  # "lost" has no time to goal
    assert svg.count("<polyline") == 1


def test_contact_free_counts_every_episode() -> None:
    """By the number of collisions where it was scored, else by the outcome."""
    counted = replace(EPISODES[2], metrics=EPISODES[2].metrics | {"collisions": MetricResult(2.0, "count")})
    column = contact_free(summarise([*EPISODES[:2], counted, *EPISODES[3:]]))
    shares = {policy: (cell.mean_value, cell.n) for policy, cell in column.cells.items()}
    assert shares == {"fast": (0.5, 2), "kind": (0.5, 2), "lost": (1.0, 1)}
    assert column.direction == "higher"


def test_short_times_are_shown_in_milliseconds() -> None:
    times = [(0.002, 0), (0.004, 1)]
    episodes = [
        replace(EPISODES[0], seed=seed, metrics={"planning_time_avg": MetricResult(time, "s")}) for time, seed in times
    ]
    column = summarise(episodes).columns[0]
    assert (column.cells["fast"].mean, column.short_unit) == ("3.00", "ms ↓")
    assert column.cells["fast"].mean_value == pytest.approx(0.003)
    seconds = summarise(EPISODES).column("time_to_goal")
    assert seconds is not None
    assert (seconds.cells["kind"].mean, seconds.short_unit) == ("10.0", "s ↓")


def test_one_episode_has_no_interval() -> None:
    cell = summarise(EPISODES[:1]).columns[0].cells["fast"]
    assert cell.interval == ""
    assert cell.reach == (cell.mean_value, cell.mean_value)


def test_distribution_shows_every_episode_and_escapes_names() -> None:
    svg = distribution_plot("T", [Mark("<b>", "#000000"), Mark("none", "#000000")], [[1.0, 2.0, 4.0], []])
    assert svg.count("<circle") == 3
    assert "<b>" not in svg
    assert "&lt;b&gt;" in svg


def test_attributes_are_escaped() -> None:
    assert tag("g", "<", class_='"x') == '<g class="&#34;x">&lt;</g>'


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (3.0, 3.0, [1, 2, 3, 4, 5]),
        (-0.4, 12.0, [-2.5, 0, 2.5, 5, 7.5, 10, 12.5]),
    ],
)
def test_ticks_are_round_and_cover(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.2345, "1.23"),
        (12.345, "12.3"),
        (1234.5, "1234"),
        (0.01234, "0.0123"),
        (-0.5, "-0.500"),
        (2e-5, "2e-05"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert format_number(value) == text


def test_latex_is_escaped_and_marks_the_best() -> None:
    assert escape_latex(r"a_b & 5 % \x{~^}#$") == (
        r"a\_b \& 5 \% \textbackslash{}x\{\textasciitilde{}\textasciicircum{}\}\#\$"
    )
    table = latex_table(summarise([*EPISODES, episode("my_policy", 0, time=7.0, distance=3.0)]))
    assert r"my\_policy & " in table
    assert r"\textbf{3.00}" in table
    assert "lost & 0 & 0.100 & -- \\\\" in table
    assert table.count(r"\\") == 2 + 4


def test_failures_rank_below_successes_and_collisions_below_timeouts() -> None:
    ranked = sorted(EPISODES, key=goodness)
    assert [e.outcome for e in ranked][:2] == [Outcome.PEDESTRIAN_COLLISION, Outcome.TIMEOUT]
    assert ranked[-1].metrics["closest_pedestrian_distance"].value == 2.0
