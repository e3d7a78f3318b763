"""The section of a report about what the robot cost people: a table of the metrics that compare with counterfactuals,
and the delay of every person by policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sidestep.metrics.people_cost import DELAY, people_costs
from sidestep.report.selection import LabelledEpisode
from sidestep.report.summary import Summary
from sidestep.report.table_model import Table
from sidestep.runs.counterfactuals import COST_METRICS

MOST_EPISODES = 40
"""Whose people the plot shows, per policy: spread evenly over those that have values."""


@dataclass(frozen=True, eq=False)
class CostSection:
    """The part about one suite."""

    summary: Summary
    table: Table
    plot: Markup


def cost_sections(
    summaries: Sequence[Summary], labelled: Sequence[LabelledEpisode], colours: Mapping[str, str]
) -> list[CostSection]:
    """A section for every suite that has an episode with a counterfactual."""
    sections = []
    for number, summary in enumerate(summaries):
        columns = [column for column in summary.columns if column.name in COST_METRICS and column.has_values]
        if columns:
            digests = {episode.digest for episode in summary.episodes}
            own = [item for item in labelled if item.scores.digest in digests]
            table = summary.table(columns, colours)
            sections.append(CostSection(summary, table, _plot(summary.policies, own, colours, f"cost{number}")))
    return sections


def _plot(policies: Sequence[str], items: Sequence[LabelledEpisode], colours: Mapping[str, str], name: str) -> Markup:
    from sidestep.report.plots import distribution_plot  # matplotlib takes a second to import

    values = {policy: delays([item for item in items if item.label == policy]) for policy in policies}
    return distribution_plot("Delay per person", colours, values, name)


def delays(items: Sequence[LabelledEpisode]) -> list[float]:
    """The delay of every person that is compared, s, in at most ``MOST_EPISODES`` of the episodes."""
    known = [item for item in items if _has_value(item)]
    chosen = np.unique(np.linspace(0, len(known) - 1, min(len(known), MOST_EPISODES)).round().astype(int))
    found: list[float] = []
    for item in (known[k] for k in chosen.tolist()):
        record = item.run.record(item.scores, counterfactual=True)
        if record is not None:
            costs = people_costs(record)[DELAY]
            found += costs[np.isfinite(costs)].tolist()
    return found


def _has_value(item: LabelledEpisode) -> bool:
    result = item.scores.metrics.get("delay_mean_s")
    return result is not None and result.valid
