"""Numbers, marks and plots of the report, on cases worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from sidestep.metrics.outcome import STOP_TASK
from sidestep.metrics.score import EpisodeScores
from sidestep.report.html import write_chapter
from sidestep.report.plots import distribution_plot, tradeoff_plot
from sidestep.report.selection import film_rank
from sidestep.report.summary import (
    Summary,
    comparable,
    contact_free,
    pareto_front,
    summarise_episodes,
    summarise_suites,
)
from sidestep.report.table_model import significant
from sidestep.report.table_writer import comma_separated, html, latex, markdown, tex
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult


def episode(
    policy: str, seed: int, *, time: float | None, distance: float, outcome: str = "success", **more: Any
) -> EpisodeScores:
    reached = MetricResult.invalid("s", "the goal was not reached") if time is None else MetricResult(time, "s")
    results = {
        "success": MetricResult(float(outcome == "success"), "0/1"),
        "time_to_goal": reached,
        "closest_pedestrian_distance": MetricResult(distance, "m"),
    }
    return replace(EpisodeScores("suite", "scenario", policy, seed, outcome, f"{policy}{seed}", results), **more)


EPISODES = [
    episode("fast", 0, time=5.0, distance=0.2),
    episode("fast", 1, time=None, distance=0.4, outcome="pedestrian_collision"),
    episode("kind", 0, time=9.0, distance=1.0),
    episode("kind", 1, time=11.0, distance=2.0),
    episode("lost", 0, time=None, distance=0.1, outcome="timeout"),
]


def test_means_are_over_valid_episodes_and_all_are_counted() -> None:
    summary = summarise_episodes(EPISODES)
    time = summary.column("time_to_goal")
    assert time is not None
    fast, kind, lost = (time.cells[policy].estimate for policy in ("fast", "kind", "lost"))
    assert (fast.value, fast.n, fast.of) == (5.0, 1, 2)
    assert (kind.value, kind.n) == (10.0, 2)
    assert (lost.n, lost.reason) == (0, "the goal was not reached")
    assert summary.outcomes("fast") == {"success": 1, "pedestrian_collision": 1}


def best(summary: Summary, name: str) -> list[str]:
    column = summary.column(name)
    assert column is not None
    return [policy for policy, cell in column.cells.items() if cell.best]


def many(policy: str, count: int = 12, *, time: float = 8.0, distance: float = 1.0, **more: Any) -> list[EpisodeScores]:
    """Episodes that succeed, one of each seed."""
    return [episode(policy, seed, time=time, distance=distance, **more) for seed in range(count)]


def test_the_best_is_marked_by_direction() -> None:
    summary = summarise_episodes([*many("fast", time=5.0, distance=0.2), *many("kind", time=9.0)])
    assert best(summary, "time_to_goal") == ["fast"]
    assert best(summary, "closest_pedestrian_distance") == ["kind"]
    assert best(summary, "success") == []  # alike


def test_few_values_have_no_star() -> None:
    assert best(summarise_episodes([*many("a", 9, time=5.0), *many("b", 9)]), "time_to_goal") == []
    assert best(summarise_episodes([*many("a", 10, time=5.0), *many("b", 10)]), "time_to_goal") == ["a"]


TOLD, SCANS = '{"pedestrians": "", "map": ""}', '{"lidar": "90 rays, 8 m"}'


def test_exact_states_take_no_star_from_sensors_only() -> None:
    """Knowing everybody is better in everything, and is starred among its like alone."""
    rows = [
        *many("told", time=1.0, observes=TOLD),
        *many("told_less", time=2.0, observes=TOLD),
        *many("scans", time=5.0, observes=SCANS),
        *many("scans_worse", time=6.0, observes=SCANS),
    ]
    summary = summarise_episodes(rows)
    assert best(summary, "time_to_goal") == ["told", "scans"]
    assert "Two races" in " ".join(summary.notes)
    table = summary.table(summary.key_columns)
    assert table.keys == ("Observes",)
    assert [row.keys for row in table.rows][::2] == [("people, map",), ("lidar (90 rays, 8 m)",)]
    assert "| told | people, map |" in markdown(table)
    assert r"scans & lidar (90 rays, 8 m) & " in latex(table)
    assert "lidar (90 rays, 8 m)" in html(table)
    assert comma_separated(summary.table(summary.columns)).count("people, map") == 2 * len(summary.columns)


def test_one_with_sensors_only_is_not_starred_for_being_alone() -> None:
    rows = [*many("told", time=1.0, observes=TOLD), *many("scans", time=5.0, observes=SCANS)]
    assert best(summarise_episodes(rows), "time_to_goal") == []


def test_who_sees_nothing_runs_in_both_races() -> None:
    """A second scanner that is worse than driving blindly makes no star for the first that is worse, too."""
    rows = [
        *many("told", time=1.0, observes=TOLD),
        *many("blind", time=4.0, observes='{"goal": ""}'),
        *many("scans", time=5.0, observes=SCANS),
        *many("dummy", time=6.0, observes=SCANS),
    ]
    assert best(summarise_episodes(rows), "time_to_goal") == ["told"]
    assert best(summarise_episodes([*rows, *many("fast", time=0.5, observes='{"goal": ""}')]), "time_to_goal") == [
        "fast"
    ]


def test_success_is_measured_against_the_race() -> None:
    """The told one always succeeds, the scanner in 6 of 12 (out of its reach): it is still the best of its race."""
    lost = [
        episode("scans", seed, time=None, distance=1.0, outcome="timeout", observes=SCANS) for seed in range(10, 20)
    ]
    worse = [
        episode("dummy", seed, time=None, distance=0.5, outcome="timeout", observes=SCANS) for seed in range(10, 20)
    ]
    rows = [
        *many("told", 20, time=1.0, distance=0.2, observes=TOLD),
        *many("also", 20, time=1.0, distance=0.1, observes=TOLD),
        *many("scans", 10, distance=1.0, observes=SCANS), *lost,
        *many("dummy", 10, distance=0.5, observes=SCANS), *worse,
    ]  # fmt: skip
    assert best(summarise_episodes(rows), "closest_pedestrian_distance") == ["told", "scans"]


def test_where_nothing_is_known_of_observations_all_run_in_one_race() -> None:
    summary = summarise_episodes([*many("a", time=5.0), *many("b", time=6.0)])
    assert best(summary, "time_to_goal") == ["a"]
    assert summary.table(summary.key_columns).keys == ()


def test_privileged_policies_have_no_star_and_are_on_no_front() -> None:
    """The oracle is better in everything: neither marked, nor in the way of the others."""
    rows = [*many("oracle", time=1.0, distance=9.0, privileged=True), *many("a", time=5.0), *many("b", distance=2.0)]
    summary = summarise_episodes(rows)
    assert best(summary, "time_to_goal") == ["a"]
    assert best(summary, "closest_pedestrian_distance") == ["b"]
    assert summary.table(summary.key_columns).rows[0].title == "oracle (privileged)"
    assert any("oracle" in note for note in summary.notes)
    [chapter] = [write_chapter(summary, dict.fromkeys(summary.policies, "#000000"), [])]
    assert chapter.tradeoff is not None
    assert "by any other policy: a, b." in chapter.tradeoff["caption"]
    alone = summarise_episodes(many("oracle", privileged=True))
    assert not any(cell.best for column in alone.columns for cell in column.cells.values())
    assert comparable(alone.episodes) == set()


def test_what_ran_other_episodes_is_not_compared() -> None:
    """Twelve easy seeds are not the same as the first ten of them, nor as other people."""
    easy = many("easy", 10, time=2.0)
    others = many("others", time=1.0, source="recorded")
    summary = summarise_episodes([*many("a", time=5.0), *many("b"), *easy, *others])
    assert best(summary, "time_to_goal") == ["a"]
    assert any("easy, others" in note for note in summary.notes)


def test_suites_share_no_table_and_no_row() -> None:
    rows = [*many("a", time=5.0), *many("b"), *many("a", time=9.0, suite="other"), *many("b", suite="other")]
    one, two = summarise_suites(rows)
    assert (one.suite, two.suite) == ("suite", "other")
    assert (best(one, "time_to_goal"), best(two, "time_to_goal")) == (["a"], ["b"])
    assert len(one.episodes) == len(two.episodes) == 24
    mixed = summarise_episodes(rows)
    assert not any(cell.best for column in mixed.columns for cell in column.cells.values())
    chapters = [write_chapter(summary, {"a": "#000000", "b": "#111111"}, []) for summary in (one, two)]
    assert [[spot["of"] for row in chapter.heat for spot in row["cells"]] for chapter in chapters] == [[12, 12]] * 2


def test_a_rate_over_few_metres_is_a_bound_and_never_the_best() -> None:
    """``stop`` fails twelve times without driving: it is shown with its count, and the one who drives is compared."""

    def drives(policy: str, count: float, way: float) -> list[EpisodeScores]:
        figures = {
            "failures": MetricResult(count, "count"),
            "distance_driven": MetricResult(way, "m"),
            "failures_per_100m": MetricResult.invalid("1/100 m", "the robot drove less than 1 m"),
        }
        return [replace(each, metrics={**each.metrics, **figures}) for each in many(policy)]

    summary = summarise_episodes([*drives("stop", 3.0, 0.0), *drives("a", 4.0, 300.0), *drives("b", 6.0, 300.0)])
    column = summary.column("failures_per_100m")
    assert column is not None
    assert column.cells["stop"].text == "36 in 0 m"
    assert column.cells["a"].text == "1.33"
    assert best(summary, "failures_per_100m") == ["a"]
    assert column in summary.key_columns
    assert "36 in 0 m" in latex(summary.table(summary.key_columns))


def test_events_that_never_happened_are_told() -> None:
    rows = [
        *many("a", 3, event="happened"),
        episode("a", 7, time=None, distance=1.0, outcome="off_route", event="missed"),
    ]
    summary = summarise_episodes(rows)
    assert summary.events == {"a": {"happened": 3, "missed": 1}}
    assert "Episodes that ended before the event that they stage: a 1 of 4." in summary.notes


def test_what_success_is_is_told() -> None:
    stop = {"spl": MetricResult.invalid("ratio", STOP_TASK)}
    goal = {"spl": MetricResult(0.9, "ratio")}
    assert summarise_episodes([replace(EPISODES[0], metrics=goal)]).notes == []
    assert "to stop for the person" in summarise_episodes([replace(EPISODES[0], metrics=stop)]).notes[0]
    both = [replace(EPISODES[0], metrics=goal), replace(EPISODES[2], metrics=stop)]
    assert "in scenarios in which a person asks" in summarise_episodes(both).notes[0]


def test_a_policy_that_clearly_fails_is_never_marked() -> None:
    still = [episode("still", seed, time=None, distance=9.0, outcome="timeout") for seed in range(20)]
    able = [episode(name, seed, time=8.0, distance=d) for name, d in (("a", 1.0), ("b", 2.0)) for seed in range(20)]
    assert best(summarise_episodes([*still, *able]), "closest_pedestrian_distance") == ["b"]


def test_nobody_is_best_among_equals() -> None:
    alike = summarise_episodes([*many("a"), *many("b")])
    assert not any(cell.best for column in alike.columns for cell in column.cells.values())


def test_the_front_holds_who_is_not_beaten_in_both() -> None:
    slow = [episode("slow", seed, time=12.0, distance=0.5) for seed in (0, 1)]
    summary = summarise_episodes(EPISODES + slow)
    across, up = summary.column("time_to_goal"), summary.column("closest_pedestrian_distance")
    assert across is not None
    assert up is not None
    assert pareto_front(across, up) == ["fast", "kind"]
    colours = dict.fromkeys(summary.policies, "#123456")
    svg = tradeoff_plot(summary.policies, colours, across, up, ["fast", "kind"], "plot")
    assert [name for name in ("fast", "kind", "slow", "lost") if f">{name}<" in svg] == ["fast", "kind", "slow"]
    assert svg.count("stroke-dasharray: 3.7") == 1
    assert "stroke-dasharray: 3.7" not in tradeoff_plot(summary.policies, colours, across, up, ["fast"], "plot")


def test_plots_follow_the_theme_and_have_their_own_ids() -> None:
    one, other = (distribution_plot("T", {"a": "#123456"}, {"a": [1.0, 2.0]}, name) for name in ("one", "other"))
    ids = [re.findall(r' id="([^"]+)"', svg) for svg in (one, other)]
    assert all(name.startswith("one-") for name in ids[0])
    assert not set(ids[0]) & set(ids[1])
    assert len(ids[0]) == len(set(ids[0]))
    assert "var(--ink)" in one
    assert "var(--faint)" in one
    assert "#123456" in one
    assert not re.search(r"url\(|<metadata|<\?xml|#1f2633", one)


def test_contact_free_counts_every_episode() -> None:
    """By the number of collisions where it was scored, else by the outcome."""
    counted = replace(EPISODES[2], metrics=EPISODES[2].metrics | {"collisions": MetricResult(2.0, "count")})
    column = contact_free(summarise_episodes([*EPISODES[:2], counted, *EPISODES[3:]]))
    shares = {policy: (cell.estimate.value, cell.estimate.n) for policy, cell in column.cells.items()}
    assert shares == {"fast": (0.5, 2), "kind": (0.5, 2), "lost": (1.0, 1)}
    assert column.better == "higher"


def test_short_times_are_shown_in_milliseconds() -> None:
    times = [(0.002, 0), (0.004, 1)]
    episodes = [
        replace(EPISODES[0], seed=seed, metrics={"planning_time_avg": MetricResult(time, "s")}) for time, seed in times
    ]
    column = summarise_episodes(episodes).columns[0]
    assert (column.cells["fast"].text, column.heading) == ("3.00", "Planning time (ms) ↓")
    assert column.cells["fast"].estimate.value == pytest.approx(0.003)
    shorter = [replace(each, metrics={"planning_time_avg": MetricResult(2e-5, "s")}) for each in episodes]
    column = summarise_episodes(shorter).columns[0]
    assert (column.cells["fast"].text, column.unit, column.csv_unit) == ("20.0", "µs", "s")
    seconds = summarise_episodes(EPISODES).column("time_to_goal")
    assert seconds is not None
    assert (seconds.cells["kind"].text, seconds.heading) == ("10.0", "Time to goal (s) ↓")


def test_one_episode_has_no_interval() -> None:
    cell = summarise_episodes(EPISODES[:1]).columns[0].cells["fast"]
    assert cell.interval == ""
    assert cell.estimate.reach == (1.0, 1.0)


def test_distribution_shows_every_episode_and_escapes_names() -> None:
    colours = {"<b>": "#aa0000", "none": "#00aa00"}
    svg = distribution_plot("T", colours, {"<b>": [1.0, 2.0, 4.0], "none": []}, "plot")
    assert (
        svg.count("<use") - distribution_plot("T", colours, {"<b>": [1.0, 2.0], "none": []}, "plot").count("<use") > 0
    )
    assert "#aa0000" in svg
    assert "#00aa00" not in svg
    assert "<b>" not in svg
    assert "&lt;b&gt;" in svg


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
    assert significant(value) == text


def test_latex_is_escaped_and_marks_the_best() -> None:
    assert tex(r"a_b & 5 % \x{~^}#$") == (r"a\_b \& 5 \% \textbackslash{}x\{\textasciitilde{}\textasciicircum{}\}\#\$")
    lost = [episode("lost", seed, time=None, distance=0.1, outcome="timeout") for seed in range(12)]
    summary = summarise_episodes([*many("a"), *many("my_policy", distance=3.0), *lost])
    table = latex(summary.table(summary.key_columns))
    assert r"my\_policy & " in table
    assert r"\textbf{3.00}" in table
    assert r"lost & 0 & -- & 0.100 \\" in table
    assert table.count(r"\\") == 1 + 2 * 3  # the heads; of each policy its numbers and their intervals


def test_failures_rank_below_successes_and_collisions_below_timeouts() -> None:
    ranked = sorted(EPISODES, key=film_rank)
    assert [e.outcome for e in ranked][:2] == [Outcome.PEDESTRIAN_COLLISION, Outcome.TIMEOUT]
    assert ranked[-1].metrics["closest_pedestrian_distance"].value == 2.0


def test_driving_in_circles_is_no_low_rate_of_failures() -> None:
    """Nobody succeeds. One drives its route with a failure now and then, one circles at the start and never fails."""

    def failing(policy: str, failures: float, completion: float) -> list[EpisodeScores]:
        metrics = {
            "success": MetricResult(0.0, "0/1"),
            "route_completion": MetricResult(completion, "ratio"),
            "failures": MetricResult(failures, "count"),
            "distance_driven": MetricResult(300.0, "m"),
            "failures_per_100m": MetricResult(failures / 3, "1/100 m"),
        }
        return [EpisodeScores("suite", f"s{k}", policy, 0, "timeout", "", metrics) for k in range(12)]

    arriving = [*failing("drives", 4.0, 1.0), *failing("fails more", 6.0, 1.0)]
    assert best(summarise_episodes(arriving), "failures_per_100m") == ["drives"]
    assert best(summarise_episodes([*arriving, *failing("circles", 0.0, 0.01)]), "failures_per_100m") == ["drives"]
