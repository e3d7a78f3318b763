"""One self-contained HTML file about one or more runs: a chapter about each suite (outcomes, trade-off, distributions,
scenarios × policies), replays, a gallery of failures, definitions, references and provenance.

Suites are never mixed: a table, a front and a matrix hold episodes of one suite only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sidestep import registry
from sidestep._util.writing import whole_file
from sidestep.errors import BadInput, SidestepError
from sidestep.metrics.observed import races
from sidestep.metrics.score import common_source
from sidestep.metrics.sources import REFERENCES, SIDESTEP
from sidestep.render.top_view import palette
from sidestep.report.papers import SectionContent, make_sections
from sidestep.report.people_cost import cost_sections
from sidestep.report.selection import LabelledEpisode, choose_replays, film_rank, label_episodes, policy_colours
from sidestep.report.summary import MetricColumn, Summary, comparable, contact_free, pareto_front, summarise_suites
from sidestep.report.table_model import LEAST_FOR_A_STAR, Row, Table
from sidestep.report.table_writer import html, write_tables
from sidestep.report.viewer.pack import pack_replays
from sidestep.report.viewer.page import script, style, templates
from sidestep.runs.finished import FinishedRun, as_finished
from sidestep.types.outcome import Outcome
from sidestep.version import __version__


def policy_references(names: Iterable[str]) -> dict[str, str]:
    """What to cite, by policy; policies from files that are not here any more are left out."""
    found = {}
    for name in dict.fromkeys(names):
        try:
            citation = registry.declared(registry.load("policies", name), "citation")
        except SidestepError:
            continue
        if citation:
            found[name] = citation
    return found


def metric_references(columns: Sequence[MetricColumn]) -> dict[str, str]:
    """The publications that define any of the metrics."""
    used = " ".join(column.source for column in columns)
    return {name: text for name, text in REFERENCES.items() if name in used and name != SIDESTEP}


MOST_FAILURES = 12


def failure_cards(episodes: Sequence[LabelledEpisode], replays: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A card for each packed replay that failed, at most ``MOST_FAILURES``, the worst of each policy by turns."""
    indices = {(replay["policy"], replay["digest"]): k for k, replay in enumerate(replays)}
    by_policy: dict[str, list[dict[str, Any]]] = {}
    for item in sorted(episodes, key=lambda item: film_rank(item.scores)):
        index = indices.get((item.label, item.scores.digest[:12]))
        if index is not None and item.failed:
            by_policy.setdefault(item.label, []).append(_card(item, replays[index], index))
    most = max(map(len, by_policy.values()), default=0)
    return [cards[rank] for rank in range(most) for cards in by_policy.values() if rank < len(cards)][:MOST_FAILURES]


def _card(item: LabelledEpisode, replay: dict[str, Any], index: int) -> dict[str, Any]:
    lines = [f"{event['time']:.1f} s: {event['text']}" for event in replay["events"] if event["kind"] != "goal_reached"]
    return {
        "episode": index,
        "policy": item.label,
        "scenario": item.scores.scenario,
        "seed": item.scores.seed,
        "outcome": item.scores.outcome.replace("_", " "),
        "colour": palette.hexadecimal(palette.OUTCOMES[item.scores.outcome]),
        "text": lines[0] if lines else "",
        "more": max(0, len(lines) - 1),
    }


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
    fronts = [pareto_front(across, up, compared & race) for race in races(summary.classes) if len(compared & race) > 1]
    front = list(dict.fromkeys(policy for each in fronts for policy in each))
    caption = "Over all episodes, so that a policy gains nothing by failing early; with 95 % intervals. "
    if front:
        whom = "of the same race" if len(races(summary.classes)) > 1 else "policy"
        caption += f"Not beaten in both by any other {whom}: {', '.join(front)}."
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


def write_report(
    given: Sequence[FinishedRun | Path],
    out: Path,
    tables: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write ``out`` (HTML) and, beside it, ``.csv`` and ``.tex`` tables of the same numbers.

    ``tables``: a folder for tables and plots as files of their own, whose paths are returned. ``options`` are for the
    sections about certain suites: ``strip``, the scenario of SocNavBench's film strip.
    """
    if not given:
        raise BadInput("a report needs at least one run folder")
    runs = [as_finished(run) for run in given]
    labelled = label_episodes(runs)
    summaries = summarise_suites([replace(item.scores, policy=item.label) for item in labelled])
    colours = policy_colours(list(dict.fromkeys(item.label for item in labelled)))
    sections = make_sections(labelled, colours, options or {})
    page = _render(summaries, colours, labelled, runs, sections, out)
    with whole_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    people = common_source(run.source for run in runs)
    _write_summaries(summaries, out, people)
    if tables is None:
        return []
    written = _write_summaries(summaries, tables / "summary", people, with_markdown=True)
    return [*written, *(path for section in sections for path in section.write(tables))]


def _write_summaries(summaries: Sequence[Summary], stem: Path, people: str, with_markdown: bool = False) -> list[Path]:
    """The key metrics for reading, all metrics as CSV."""
    key = [summary.table(summary.key_columns, people=people) for summary in summaries]
    every = [summary.table(summary.columns) for summary in summaries]
    forms = (".md", ".tex") if with_markdown else (".tex",)
    return [*write_tables(key, stem, forms), *write_tables(every, stem, (".csv",))]


def _render(
    summaries: Sequence[Summary],
    colours: dict[str, str],
    labelled: Sequence[LabelledEpisode],
    runs: Sequence[FinishedRun],
    sections: Sequence[SectionContent],
    out: Path,
) -> str:
    chosen = choose_replays(labelled)
    replays = pack_replays(chosen)
    key_columns = _all_columns([summary.key_columns for summary in summaries])
    all_columns = _all_columns([summary.columns for summary in summaries])
    chapters = [write_chapter(summary, colours, replays["episodes"], k) for k, summary in enumerate(summaries)]
    template = templates().get_template("report.html.j2")
    return template.render(
        title=" + ".join(dict.fromkeys(run.suite for run in runs)),
        version=__version__,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=style(["report.css"]),
        script=script(),
        html=html,
        facts=_facts(labelled, runs),
        chapters=chapters,
        costs=cost_sections(summaries, labelled, colours),
        key_columns=key_columns,
        all_columns=all_columns,
        dialect=" + ".join(dict.fromkeys(run.dialect for run in runs)),
        least=LEAST_FOR_A_STAR,
        replays=replays,
        failures=failure_cards(labelled, replays["episodes"]),
        failed=sum(item.failed for item in labelled),
        citations=policy_references(episode.scores.policy for episode in labelled),
        definers=metric_references(all_columns),
        beside=[quote(out.with_suffix(ending).name) for ending in (".csv", ".tex")],
        sections=sections,
        runs=[_provenance(run) for run in runs],
        errors=[(label, record) for label, record in chosen if record.error],
    )


def _all_columns(columns: Sequence[Sequence[MetricColumn]]) -> list[MetricColumn]:
    """Every metric once, of whichever suite it is: for its definition."""
    return list({column.name: column for part in columns for column in part}.values())


def _facts(labelled: Sequence[LabelledEpisode], runs: Sequence[FinishedRun]) -> list[tuple[str, Any]]:
    seeds = sorted({item.scores.seed for item in labelled})
    shown = ", ".join(map(str, seeds)) if len(seeds) <= 6 else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})"
    return [
        ("Episodes", len(labelled)),
        ("Policies", len({item.label for item in labelled})),
        ("Scenarios", len({(item.scores.suite, item.scores.scenario) for item in labelled})),
        ("People", common_source(run.source for run in runs)),
        ("Seeds" if len(seeds) > 1 else "Seed", shown),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d")),
    ]


def _provenance(run: FinishedRun) -> dict[str, Any]:
    facts: list[tuple[str, Any]] = [("Suite", run.suite), ("People", run.source), ("Metric dialect", run.dialect)]
    policies: list[dict[str, Any]] = []
    skipped: Sequence[Any] = ()
    if (file := run.file) is not None:
        facts += [("Sidestep", file.package_version), ("Commit", file.commit or "unknown")]
        facts += [("Mode", file.plan.mode), ("Seeds", ", ".join(map(str, file.plan.seeds)))]
        facts += [("Complete", "yes" if file.complete else "no: some of its episodes have not been run")]
        facts += [("Machine", ", ".join(f"{key} {_plain(value)}" for key, value in file.machine.items()))]
        policies = [
            {"name": policy.name, "settings": json.dumps(policy.settings, sort_keys=True), "version": policy.version}
            for policy in file.plan.policies
        ]
        skipped = file.skipped
    digests = [(e.policy, e.scenario, e.seed, e.outcome.replace("_", " "), e.digest) for e in run.episodes]
    name = run.folder.resolve().name
    return {"name": name, "facts": facts, "policies": policies, "skipped": skipped, "digests": digests}


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {item}" for key, item in value.items())
    return str(value)
