"""The HTML report of a study's ratings: one self-contained file made of the analysis document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from sidestep.report.plots import inline_svg
from sidestep.report.viewer.page import style
from sidestep.studies.ratings.figures import correlation_figure, likert_figure, precision_figure
from sidestep.studies.ratings.headline import turned
from sidestep.studies.ratings.published import check_published, load_published
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.summary import TITLES, SummaryCell
from sidestep.studies.ratings.table import SIMULATED
from sidestep.version import __version__

NONE = "–"
FOLDED = 30
"""Rows beyond which a table is folded up."""
PRINTED = "protocol"
"""Name of the questionnaire to which the published tables belong."""


def number(value: float | None, digits: int = 2) -> str:
    """``1.23``, ``−0.40``, or a dash."""
    return NONE if value is None else f"{value:z.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """``0.81 … 0.91``, or nothing."""
    return "" if low is None or high is None else f"{number(low, digits)} … {number(high, digits)}"


def p_value(value: float | None) -> str:
    """``0.031``, ``< 0.001``, or a dash."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def likert_figures(tables: Mapping[str, Sequence[SummaryCell]], questionnaire: Questionnaire) -> dict[str, Figure]:
    """Scenario → bars of its items by policy."""
    cells: dict[str, list[SummaryCell]] = {}
    for cell in tables["policies"]:
        cells.setdefault(cell.key["scenario"], []).append(cell)
    return {scenario: likert_figure(found, questionnaire) for scenario, found in cells.items()}


def render_page(
    document: Mapping[str, Any],
    tables: Mapping[str, Sequence[SummaryCell]],
    figures: Mapping[str, Figure],
    questionnaire: Questionnaire,
) -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("sidestep.studies.ratings", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "p": p_value}
    likert = [
        {"scenario": scenario, "svg": inline_svg(figure, f"likert{place}", f"Answers, {scenario}")}
        for place, (scenario, figure) in enumerate(figures.items())
    ]
    return environment.get_template("ratings.html.j2").render(
        title=document["study"] or questionnaire.say(questionnaire.title),
        version=__version__,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=style(["report.css"]),
        simulated=document["origin"] == SIMULATED,
        document=document,
        questionnaire=questionnaire,
        facts=_facts(document),
        likert=likert,
        tables=[_table(name, cells) for name, cells in tables.items()],
        precision_svg=_precision(document),
        correlation_svg=_correlations(document),
        printed=check_published(load_published()) if _is_printed(questionnaire) else [],
        beside=_beside(document),
        both_forms=_both_forms(document),
        interval=interval,
    )


def _is_printed(questionnaire: Questionnaire) -> bool:
    other = questionnaire.other_form
    return PRINTED in (questionnaire.name, other and other.name)


def _beside(document: Mapping[str, Any]) -> list[str]:
    """Lines below the headline: the same difference in the other form, and runs that are in no statistic."""
    lines = []
    pairs, other = document["headline"]["pairs"], document["other_form"]
    if pairs and other:
        found = (turned(each, pairs[0]["second"]) for each in other["pairs"])
        parts = [
            f"{pair['second']} − {pair['first']}: {number(pair['difference'])} ({interval(pair['low'], pair['high'])})"
            for pair in found
            if pair["second"] == pairs[0]["second"] and any(pair["first"] == each["first"] for each in pairs)
        ]
        lines.append(
            f"With {' and '.join(other['items'])} the other way round ({other['questionnaire']}): " + "; ".join(parts)
        )
    by_policy = document["participation"]["dropouts"]["by_policy"]
    if flagged := sum(each["flagged"] for each in by_policy.values()):
        lines.append(f"{flagged} runs are in no statistic, because the participant decided the outcome alone.")
    return lines


def _both_forms(document: Mapping[str, Any]) -> dict[str, list[tuple[float | None, Mapping[str, Any]]]]:
    """Scenario → SAVG of every policy, and its cell in the other form."""
    found: dict[str, list[tuple[float | None, Mapping[str, Any]]]] = {}
    here = {(each["scenario"], each["policy"]): each["savg"] for each in document["tables"]["policies"]}
    for cell in document["other_form"]["cells"] if document["other_form"] else ():
        found.setdefault(cell["scenario"], []).append((here[cell["scenario"], cell["policy"]], cell))
    return found


def _facts(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    counts = document["counts"]
    return [
        ("Origin", document["origin"]),
        ("Participants", counts["participants"]),
        ("Policies", counts["policies"]),
        ("Scenarios", counts["scenarios"]),
        ("Runs", counts["runs"]),
        ("Answers", counts["answers"]),
        ("Cannot tell", counts["cannot_tell"]),
    ]


def _table(name: str, cells: Sequence[SummaryCell]) -> dict[str, Any]:
    """A block for each scenario: cells with the same items."""
    blocks: dict[str, list[SummaryCell]] = {}
    for cell in cells:
        blocks.setdefault(cell.key["scenario"], []).append(cell)
    keys = [key for key in (cells[0].key if cells else {}) if key != "scenario"]
    shown = [
        {"scenario": scenario, "items": _items(found), "cells": [(cell, _by_item(cell)) for cell in found]}
        for scenario, found in blocks.items()
    ]
    return {"title": TITLES[name], "keys": keys, "blocks": shown, "long": len(cells) > FOLDED}


def _items(cells: Sequence[SummaryCell]) -> dict[str, bool]:
    """Item → whether it is reversed."""
    return {each.item: each.reverse for cell in cells for each in cell.items}


def _by_item(cell: SummaryCell) -> dict[str, Any]:
    return {each.item: each for each in cell.items}


def _precision(document: Mapping[str, Any]) -> Any:
    found = document["precision"]
    if not found["batches"] or not found["spread"]["within"]:
        return None
    return inline_svg(precision_figure(found), "precision", "Half width of the interval against the number of runs")


def _correlations(document: Mapping[str, Any]) -> Any:
    found = document["metrics"]
    if found is None or not any(each["rho"] is not None for each in found["correlations"]):
        return None
    return inline_svg(correlation_figure(found["correlations"]), "correlations", "Correlation of metrics with scores")
