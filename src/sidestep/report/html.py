"""One self-contained HTML file about one or more runs: tables, plots, replays, definitions, provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sidestep.benchmark.folder import RUN_FILE, load_run
from sidestep.benchmark.score import ScoredRun, read_run
from sidestep.drawing import palette
from sidestep.errors import BadInput
from sidestep.records import atomic
from sidestep.report.choice import Labelled, choose_replays
from sidestep.report.failures import failure_cards
from sidestep.report.plots import Mark, distribution_plot, tradeoff_plot
from sidestep.report.references import metric_references, policy_references
from sidestep.report.sidewalk_outputs import SidewalkOutputs, sidewalk_outputs
from sidestep.report.socnav_outputs import SocnavOutputs, socnav_outputs
from sidestep.report.summary import Summary, contact_free, pareto_front, summarise
from sidestep.report.tables import markdown_table, write_tables
from sidestep.report.viewer.bundle import script, style, templates
from sidestep.report.viewer.pack import pack_replays
from sidestep.types.outcome import Outcome
from sidestep.version import __version__

DISTRIBUTIONS = (
    "closest_pedestrian_distance",
    "time_to_goal",
    "path_length_ratio",
    "time_to_collision_min",
    "personal_space_intrusion",
    "jerk_avg",
)
EFFICIENCY = ("spl", "success")
"""For the trade-off: the first that there is. Both count every episode: failing early gains nothing."""


@dataclass(frozen=True, eq=False)
class Sections:
    """What is said about particular suites; None about those that did not run."""

    socnav: SocnavOutputs | None
    sidewalk: SidewalkOutputs | None


def write_report(
    run_folders: Sequence[Path], out: Path, tables: Path | None = None, strip: str | None = None
) -> list[Path]:
    """Write ``out`` (HTML) and, beside it, ``.csv`` and ``.tex`` tables of the same numbers.

    ``tables``: a folder for tables and plots as files of their own, whose paths are returned. ``strip``: the scenario
    of the film strip that the section about suite ``socnav`` has.
    """
    if not run_folders:
        raise BadInput("a report needs at least one run folder")
    runs = [read_run(Path(folder)) for folder in run_folders]
    labelled = label_episodes(runs)
    summary = summarise([replace(item.scores, policy=item.label) for item in labelled])
    colours = {name: palette.hexadecimal(_policy_colour(k)) for k, name in enumerate(summary.policies)}
    sections = Sections(socnav_outputs(labelled, colours, strip), sidewalk_outputs(labelled, colours))
    page = _render(summary, labelled, runs, sections, out)
    try:
        with atomic(out) as temporary:
            temporary.write_text(page, encoding="utf-8")
        write_tables(summary, out)
    except OSError as error:
        raise BadInput(f"{out}: cannot be written: {error.strerror or error}") from error
    return [] if tables is None else _write_files(summary, runs, sections, tables)


def _write_files(summary: Summary, runs: Sequence[ScoredRun], sections: Sections, folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        markdown = folder / "summary.md"
        with atomic(markdown) as temporary:
            temporary.write_text(markdown_table(summary, _people(runs)), encoding="utf-8")
        special = [path for part in (sections.socnav, sections.sidewalk) if part for path in part.write(folder)]
        return [markdown, *write_tables(summary, folder / "summary"), *special]
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to: {error.strerror or error}") from error


def label_episodes(runs: Sequence[ScoredRun]) -> list[Labelled]:
    """Every episode with its run. A policy that several runs share is told apart by the run's name."""
    holders = Counter(policy for run in runs for policy in {episode.policy for episode in run.episodes})
    names = [run.folder.resolve().name for run in runs]
    unique = [name if names.count(name) == 1 else f"{name} {k + 1}" for k, name in enumerate(names)]
    return [
        Labelled(run, scores, f"{scores.policy} ({name})" if holders[scores.policy] > 1 else scores.policy)
        for run, name in zip(runs, unique, strict=True)
        for scores in run.episodes
    ]


def _render(
    summary: Summary, labelled: Sequence[Labelled], runs: Sequence[ScoredRun], sections: Sections, out: Path
) -> str:
    chosen = choose_replays(labelled)
    replays = pack_replays(chosen)
    marks = [Mark(name, palette.hexadecimal(_policy_colour(k))) for k, name in enumerate(summary.policies)]
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            title=" + ".join(dict.fromkeys(run.suite for run in runs)),
            version=__version__,
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            style=style(["report.css"]),
            script=script(),
            facts=_facts(summary, runs),
            policies=[_policy(summary, mark) for mark in marks],
            outcome_legend=_legend(summary),
            key_columns=summary.key_columns,
            all_columns=summary.columns,
            dialect=" + ".join(dict.fromkeys(run.dialect for run in runs)),
            tradeoff=_tradeoff(summary, marks),
            distributions=_distributions(summary, marks),
            heat=_heat(summary, replays["episodes"]),
            replays=replays,
            failures=failure_cards(labelled, replays["episodes"]),
            failed=sum(episode.outcome != Outcome.SUCCESS for episode in summary.episodes),
            citations=policy_references(episode.scores.policy for episode in labelled),
            definers=metric_references(summary.columns),
            beside=[quote(out.with_suffix(ending).name) for ending in (".csv", ".tex")],
            socnav=sections.socnav,
            sidewalk=sections.sidewalk,
            runs=[_provenance(run) for run in runs],
            errors=[
                {"policy": label, "scenario": record.scenario.name, "seed": record.seed, "text": record.error}
                for label, record in chosen
                if record.error
            ],
        )
    )


def _policy_colour(index: int) -> palette.Colour:
    return palette.POLICIES[index % len(palette.POLICIES)]


def _facts(summary: Summary, runs: Sequence[ScoredRun]) -> list[tuple[str, Any]]:
    seeds = sorted({episode.seed for episode in summary.episodes})
    shown = ", ".join(map(str, seeds)) if len(seeds) <= 6 else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})"
    return [
        ("Episodes", len(summary.episodes)),
        ("Policies", len(summary.policies)),
        ("Scenarios", len(summary.scenarios)),
        ("People", _people(runs)),
        ("Seeds" if len(seeds) > 1 else "Seed", shown),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d")),
    ]


def _people(runs: Sequence[ScoredRun]) -> str:
    sources = {run.source for run in runs}
    return sources.pop() if len(sources) == 1 else "mixed"


def _outcome_part(outcome: str, count: int = 0) -> dict[str, Any]:
    colour = palette.hexadecimal(palette.OUTCOMES[outcome])
    return {"title": outcome.replace("_", " "), "colour": colour, "count": count}


def _policy(summary: Summary, mark: Mark) -> dict[str, Any]:
    counts = summary.outcomes(mark.name)
    parts = [_outcome_part(outcome, count) for outcome, count in counts.items()]
    text = ", ".join(f"{part['title']} {part['count']}" for part in parts)
    return {
        "name": mark.name,
        "colour": mark.colour,
        "outcomes": parts,
        "outcome_text": f"{mark.name}: {text}",
        "episodes": sum(counts.values()),
    }


def _legend(summary: Summary) -> list[dict[str, Any]]:
    seen = {episode.outcome for episode in summary.episodes}
    return [_outcome_part(outcome.value) for outcome in Outcome if outcome.value in seen]


def _tradeoff(summary: Summary, marks: Sequence[Mark]) -> dict[str, Any] | None:
    across = next((column for name in EFFICIENCY if (column := summary.column(name))), None)
    if across is None:
        return None
    up = contact_free(summary)
    front = pareto_front(across, up)
    caption = "Over all episodes, so that a policy gains nothing by failing early; with 95 % intervals. "
    caption += f"Not beaten in both by any other policy: {', '.join(front)}."
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
    place = {(replay["policy"], replay["scenario"]): index for index, replay in reversed(list(enumerate(replays)))}
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


def _provenance(run: ScoredRun) -> dict[str, Any]:
    facts: list[tuple[str, Any]] = [
        ("Suite", run.suite),
        ("People", run.source),
        ("Metric dialect", run.dialect),
    ]
    policies: list[dict[str, Any]] = []
    skipped: Sequence[Any] = ()
    if (run.folder / RUN_FILE).is_file():
        file = load_run(run.folder)
        facts += [("Sidestep", file.package_version), ("Commit", file.commit or "unknown")]
        facts += [("Mode", file.plan.mode), ("Seeds", ", ".join(map(str, file.plan.seeds)))]
        facts += [("Complete", "yes" if file.complete else "no: interrupted or still running")]
        facts += [("Machine", ", ".join(f"{key} {_plain(value)}" for key, value in file.machine.items()))]
        policies = [
            {
                "name": policy.name,
                "settings": json.dumps(policy.settings, sort_keys=True),
                "version": policy.version,
            }
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
