"""What a report says about one suite: outcomes, trade-off, distributions, and the matrix of scenarios and policies.

Suites are never mixed: a table, a front and a matrix hold episodes of one suite only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sidestep.drawing import palette
from sidestep.report.summary import Summary, comparable, contact_free, pareto_front
from sidestep.report.table_model import Row, Table
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
    table: Table
    policies: list[dict[str, Any]]
    legend: list[dict[str, Any]]
    tradeoff: dict[str, Any] | None
    distributions: list[dict[str, Any]]
    heat: list[dict[str, Any]]


def write_chapter(
    summary: Summary, colours: dict[str, str], replays: Sequence[dict[str, Any]], number: int = 0
) -> Chapter:
    """The chapter about a suite; ``replays`` are those that the page can play."""
    outcomes = {episode.outcome for episode in summary.episodes}
    table = summary.table(summary.key_columns, colours)
    return Chapter(
        summary=summary,
        table=table,
        policies=[_policy(summary, row) for row in table.rows],
        legend=[_outcome_part(outcome.value) for outcome in Outcome if outcome.value in outcomes],
        tradeoff=_tradeoff(summary, colours, f"tradeoff{number}"),
        distributions=_distributions(summary, colours, f"distribution{number}"),
        heat=_heat(summary, replays),
    )


def policy_colours(names: Sequence[str]) -> dict[str, str]:
    """The same colour for a policy in all chapters."""
    count = len(palette.POLICIES)
    return {name: palette.hexadecimal(palette.POLICIES[k % count]) for k, name in enumerate(names)}


def _outcome_part(outcome: str, count: int = 0) -> dict[str, Any]:
    colour = palette.hexadecimal(palette.OUTCOMES[outcome])
    return {"title": outcome.replace("_", " "), "colour": colour, "count": count}


def _policy(summary: Summary, row: Row) -> dict[str, Any]:
    counts = summary.outcomes(row.policy)
    parts = [_outcome_part(outcome, count) for outcome, count in counts.items()]
    text = ", ".join(f"{part['title']} {part['count']}" for part in parts)
    events = summary.events.get(row.policy)
    return {
        "name": row.policy,
        "title": row.title,
        "colour": row.colour,
        "outcomes": parts,
        "outcome_text": f"{row.policy}: {text}",
        "episodes": sum(counts.values()),
        "missed": events["missed"] if events else 0,
    }


def _tradeoff(summary: Summary, colours: dict[str, str], name: str) -> dict[str, Any] | None:
    from sidestep.report.plots import tradeoff_plot  # matplotlib takes a second to import

    across = next((column for metric in EFFICIENCY if (column := summary.column(metric))), None)
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
    return {"svg": tradeoff_plot(summary.policies, colours, across, up, front, name), "caption": caption}


def _distributions(summary: Summary, colours: dict[str, str], prefix: str) -> list[dict[str, Any]]:
    from sidestep.report.plots import distribution_plot

    plots = []
    for name in DISTRIBUTIONS:
        column = summary.column(name)
        if column is not None:
            values = {policy: summary.values(policy, name) for policy in summary.policies}
            svg = distribution_plot(column.title, colours, values, f"{prefix}-{name}")
            plots.append({"title": column.title, "unit_and_direction": column.unit_and_direction, "svg": svg})
    return plots


def _heat(summary: Summary, replays: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scenario × policy: how many episodes succeeded, and a bar of how all of them ended."""
    digests = {episode.digest[:12] for episode in summary.episodes}
    replay_index = {
        (replay["policy"], replay["scenario"]): index
        for index, replay in reversed(list(enumerate(replays)))
        if replay["digest"] in digests  # a scenario of another suite may have the same name
    }
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for episode in summary.episodes:
        outcomes.setdefault((episode.policy, episode.scenario), Counter())[episode.outcome] += 1
    rows = []
    for scenario in summary.scenarios:
        cells = []
        for policy in summary.policies:
            counts = outcomes.get((policy, scenario), Counter())
            total, good = counts.total(), counts[Outcome.SUCCESS.value]
            text = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.most_common())
            cells.append(
                {
                    "of": total,
                    "count": good,
                    "stops": _stops(counts),
                    "text": f"{policy}, {scenario}: {text}",
                    "replay": replay_index.get((policy, scenario)),
                }
            )
        rows.append({"scenario": scenario, "cells": cells})
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
