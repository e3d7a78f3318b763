"""The analysis of a study in one call: every statistic as a document, and the files that people read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidestep._util.writing import write_whole
from sidestep.errors import BadInput
from sidestep.studies.ratings.agreement import reliability_document
from sidestep.studies.ratings.comparison import compare_policies, comparison_document, run_scores
from sidestep.studies.ratings.headline import headline
from sidestep.studies.ratings.metric_model import Metrics, metrics_by_digest, metrics_document
from sidestep.studies.ratings.mixed_model import mixed_model_document
from sidestep.studies.ratings.order_effects import order_document
from sidestep.studies.ratings.participation import (
    Participation,
    participation_document,
    participation_of,
    without_flagged,
)
from sidestep.studies.ratings.precision import precision_document
from sidestep.studies.ratings.questionnaire import Questionnaire, load_questionnaire
from sidestep.studies.ratings.summary import (
    SummaryCell,
    overview_document,
    summarise_ratings,
    summary_tables,
    write_summaries,
)
from sidestep.studies.ratings.table import Ratings, count_incomplete_runs, make_ratings, write_ratings
from sidestep.version import __version__

FORMAT = "sidestep ratings analysis 1"


def analyse(
    ratings: Ratings,
    out: Path | str | None = None,
    questionnaire: Questionnaire | str = "protocol",
    *,
    records: Path | str | None = None,
    metrics: Mapping[str, Metrics] | None = None,
) -> dict[str, Any]:
    """All statistics of ratings of one origin, as plain data.

    With ``out``, a folder, also ``report.html``, ``analysis.json``, ``summary.csv``, ``ratings.csv``,
    ``ratings.parquet`` and the bars of every scenario as ``likert-SCENARIO.svg`` and ``.png``. Metrics come from
    ``records``, a folder of episode records that is scored, or ready-made by the digest of the episode. Runs with a
    ``flag`` are left out.
    """
    known = load_questionnaire(questionnaire) if isinstance(questionnaire, str) else questionnaire
    checked = CheckedRatings.of(_check(ratings, known), known)
    return analyse_checked(checked, out, records=records, metrics=metrics)


class CheckedRatings(NamedTuple):
    """Ratings of one study and one origin that fit a questionnaire."""

    everything: Ratings
    counting: Ratings
    """Those of runs without a flag, which the statistics use."""
    questionnaire: Questionnaire

    @classmethod
    def of(cls, everything: Ratings, questionnaire: Questionnaire) -> CheckedRatings:
        """From ratings that ``make_ratings`` has checked against the questionnaire."""
        counting = without_flagged(everything)
        if not len(counting):
            raise BadInput("all runs are flagged: their outcomes do not count, and there is nothing to analyse")
        order = {name: column for name, column in counting.extra.items() if name == "order"}
        return cls(everything, replace(counting, extra=order), questionnaire)


def _check(ratings: Ratings, questionnaire: Questionnaire) -> Ratings:
    ratings.one_origin()
    studies = ratings.names("study")
    if len(studies) > 1:
        raise BadInput(f"ratings of several studies ({', '.join(map(str, studies[:5]))}); analyse one at a time")
    return make_ratings(ratings.rows(), questionnaire, "ratings", complete=False)


def analyse_checked(
    checked: CheckedRatings,
    out: Path | str | None = None,
    *,
    records: Path | str | None = None,
    metrics: Mapping[str, Metrics] | None = None,
    participation: Participation | None = None,
    write_tables: bool = True,
) -> dict[str, Any]:
    """The statistics of ``analyse`` for ratings that are checked already. ``participation`` replaces what the ratings
    show of it; ``write_tables``: whether the ratings themselves are written."""
    if records is not None:
        metrics = {**score_records(Path(records)), **(metrics or {})}
    summaries = summary_tables(checked.counting, checked.questionnaire)
    document = _document(checked, summaries, metrics, participation)
    if out is not None:
        _write(Path(out), checked.questionnaire, summaries, document)
        if write_tables:
            for kind in ("csv", "parquet"):
                write_ratings(checked.everything, Path(out) / f"ratings.{kind}")
    return document


def render_report(checked: CheckedRatings, participation: Participation | None = None) -> str:
    """The report as an HTML page, without metrics; nothing is written."""
    from sidestep.studies.ratings.page import likert_figures, render_page

    summaries = summary_tables(checked.counting, checked.questionnaire)
    document = _document(checked, summaries, None, participation)
    return render_page(document, summaries, likert_figures(summaries, checked.questionnaire), checked.questionnaire)


def _document(
    checked: CheckedRatings,
    summaries: dict[str, list[SummaryCell]],
    metrics: Mapping[str, Metrics] | None,
    participation: Participation | None,
) -> dict[str, Any]:
    everything, ratings, known = checked
    comparison = comparison_document(ratings, known)
    origin = ratings.one_origin()
    return {
        "format": FORMAT,
        "sidestep": __version__,
        "study": ratings.names("study")[0],
        "origin": origin,
        "questionnaire": known.name,
        "headline": headline(comparison["all"], known.scale.levels, origin),
        "counts": _counts(ratings, known),
        **overview_document(ratings, known),
        "tables": {name: [cell.document() for cell in cells] for name, cells in summaries.items()},
        "comparison": comparison,
        "mixed_model": mixed_model_document(ratings, known),
        "other_form": other_form_document(ratings, known),
        "reliability": reliability_document(ratings, known),
        "precision": precision_document(ratings, known),
        "participation": participation_document(participation or participation_of(everything), ratings),
        "order": order_document(ratings, known),
        "metrics": metrics_document(ratings, known, metrics),
    }


def other_form_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any] | None:
    """Averages and pairs where the items whose direction is disputed are reversed the other way round; None without
    such items. ``scenarios`` are only those in which they are asked."""
    form = questionnaire.in_other_form()
    disputed = [item for item in ratings.names("item") if questionnaire.is_disputed(item)]
    if form is None or questionnaire.other_form is None or not disputed:
        return None
    turned = replace(ratings, reverse=ratings.reverse ^ np.isin(ratings.item, np.array(disputed)))
    asked = set(ratings.select(np.isin(ratings.item, np.array(disputed))).names("scenario"))
    overview = overview_document(turned, form)
    averages = {
        part: {name: {"savg": each["savg"], "sd": each["sd"]} for name, each in overview[part].items()}
        for part in ("scenarios", "policies")
    }
    averages["scenarios"] = {name: each for name, each in averages["scenarios"].items() if name in asked}
    cells = summarise_ratings(turned, form, ("scenario", "policy"))
    return {
        "questionnaire": form.name,
        "items": disputed,
        "as_worded": questionnaire.other_form.as_worded,
        **averages,
        "cells": [cell.document() for cell in cells if cell.key["scenario"] in asked],
        "pairs": [asdict(pair) for pair in compare_policies(run_scores(turned, form))],
    }


def score_records(folder: Path) -> dict[str, Metrics]:
    """Digest → every metric of the episode records in a folder (or run folder)."""
    from sidestep.runs.score import score_run

    return metrics_by_digest(score_run(folder).episodes)


def _counts(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, int]:
    cannot_tell = questionnaire.scale.cannot_tell
    return {
        "answers": len(ratings),
        "runs": int(ratings.run_numbers().max()) + 1,
        "participants": len(ratings.names("participant")),
        "policies": len(ratings.names("policy")),
        "scenarios": len(ratings.names("scenario")),
        "cannot_tell": 0 if cannot_tell is None else int((ratings.rating == cannot_tell).sum()),
        "incomplete_runs": count_incomplete_runs(ratings, questionnaire),
    }


def _write(
    folder: Path,
    questionnaire: Questionnaire,
    tables: dict[str, list[SummaryCell]],
    document: dict[str, Any],
) -> None:
    from sidestep.report.plots import image_bytes
    from sidestep.runs.folder import safe_name
    from sidestep.studies.ratings.page import likert_figures, render_page

    figures = likert_figures(tables, questionnaire)
    write_whole(folder / "analysis.json", (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    write_summaries(tables, folder / "summary.csv")
    for scenario, figure in figures.items():
        for form in ("svg", "png"):
            write_whole(folder / f"likert-{safe_name(scenario)}.{form}", image_bytes(figure, form))
    write_whole(folder / "report.html", render_page(document, tables, figures, questionnaire).encode())
