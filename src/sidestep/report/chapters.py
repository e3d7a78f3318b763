"""What a report says about one suite: outcomes, trade-off, distributions, and the matrix of scenarios and policies.

Suites are never mixed: a table, a front and a matrix hold episodes of one suite only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sidestep.drawing import palette
from sidestep.report.plots import Mark, distribution_plot, tradeoff_plot
from sidestep.report.summary import Summary, comparable, contact_free, pareto_front
from sidestep.types.outcome import Outcome

DISTRIBUTIONS = (
    "closest_pedestrian_distance",
    "time_to_goal",
    "path_length_ratio",
    "time_to_collision_min",
    "time_within_1_2m",
    "jerk_avg",
)
EFFICIENCY = ("spl", "success")
"""For the trade-off: the first that there is. Both count every episode: failing early gains nothing."""


@dataclass(frozen=True, eq=False)
class Chapter:
    """One suite, ready for the page."""

    summary: Summary
    policies: list[dict[str, Any]]
    legend: list[dict[str, Any]]
    tradeoff: dict[str, Any] | None
    distributions: list[dict[str, Any]]
    heat: list[dict[str, Any]]


def write_chapter(summary: Summary, colours: dict[str, str], replays: Sequence[dict[str, Any]]) -> Chapter:
    """The chapter about a suite; ``replays`` are those that the page can play."""
    marks = [Mark(name, colours[name]) for name in summary.policies]
    seen = {episode.outcome for episode in summary.episodes}
    return Chapter(
        summary=summary,
        policies=[_policy(summary, mark) for mark in marks],
        legend=[_outcome_part(outcome.value) for outcome in Outcome if outcome.value in seen],
        tradeoff=_tradeoff(summary, marks),
        distributions=_distributions(summary, marks),
        heat=_heat(summary, replays),
    )


def policy_colours(names: Sequence[str]) -> dict[str, str]:
    """The same colour for a policy in all chapters."""
    count = len(palette.POLICIES)
    return {name: palette.hexadecimal(palette.POLICIES[k % count]) for k, name in enumerate(names)}


def _outcome_part(outcome: str, count: int = 0) -> dict[str, Any]:
    colour = palette.hexadecimal(palette.OUTCOMES[outcome])
    return {"title": outcome.replace("_", " "), "colour": colour, "count": count}


def _policy(summary: Summary, mark: Mark) -> dict[str, Any]:
    counts = summary.outcomes(mark.name)
    parts = [_outcome_part(outcome, count) for outcome, count in counts.items()]
    text = ", ".join(f"{part['title']} {part['count']}" for part in parts)
    events = summary.events.get(mark.name)
    return {
        "name": mark.name,
        "title": summary.title(mark.name),
        "colour": mark.colour,
        "outcomes": parts,
        "outcome_text": f"{mark.name}: {text}",
        "episodes": sum(counts.values()),
        "missed": events["missed"] if events else 0,
    }


def _tradeoff(summary: Summary, marks: Sequence[Mark]) -> dict[str, Any] | None:
    across = next((column for name in EFFICIENCY if (column := summary.column(name))), None)
    if across is None:
        return None
    up = contact_free(summary)
    compared = comparable(summary.episodes)
    front = pareto_front(across, up, compared) if len(compared) > 1 else []
    caption = "Over all episodes, so that a policy gains nothing by failing early; with 95 % intervals. "
    if front:
        caption += f"Not beaten in both by any other policy: {', '.join(front)}."
    if summary.privileged:
        caption += f" Shown, but not compared: {', '.join(sorted(summary.privileged))} (privileged)."
    return {"svg": tradeoff_plot(marks, across, up, front), "caption": caption}


def _distributions(summary: Summary, marks: Sequence[Mark]) -> list[dict[str, Any]]:
    plots = []
    for name in DISTRIBUTIONS:
        column = summary.column(name)
        if column is not None:
            values = [summary.values(mark.name, name) for mark in marks]
            svg = distribution_plot(column.title, marks, values)
            plots.append({"title": column.title, "unit_and_direction": column.unit_and_direction, "svg": svg})
    return plots


def _heat(summary: Summary, replays: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scenario × policy: how many episodes succeeded, and a bar of how all of them ended."""
    digests = {episode.digest[:12] for episode in summary.episodes}
    place = {
        (replay["policy"], replay["scenario"]): index
        for index, replay in reversed(list(enumerate(replays)))
        if replay["digest"] in digests  # a scenario of another suite may have the same name
    }
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for episode in summary.episodes:
        outcomes.setdefault((episode.policy, episode.scenario), Counter())[episode.outcome] += 1
    rows = []
    for scenario in summary.scenarios:
        spots = []
        for policy in summary.policies:
            counts = outcomes.get((policy, scenario), Counter())
            total, good = counts.total(), counts[Outcome.SUCCESS.value]
            told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.most_common())
            spots.append(
                {
                    "of": total,
                    "count": good,
                    "stops": _stops(counts),
                    "text": f"{policy}, {scenario}: {told}",
                    "replay": place.get((policy, scenario)),
                }
            )
        rows.append({"scenario": scenario, "spots": spots})
    return rows


def _stops(counts: Counter[str]) -> str:
    """Colour stops of a CSS gradient with hard edges, one piece per outcome."""
    stops, reached = [], 0.0
    for outcome in Outcome:
        if counts[outcome.value]:
            end = reached + 100 * counts[outcome.value] / counts.total()
            stops.append(f"{palette.hexadecimal(palette.OUTCOMES[outcome])} {reached:.1f}% {end:.1f}%")
            reached = end
    return ", ".join(stops)
