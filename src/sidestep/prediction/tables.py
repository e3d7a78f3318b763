"""Tables of prediction metrics: values with 50 % intervals (the paper's Table III), the optimal predictor for each
metric and horizon (Table IV), and all differences between two predictors with their 90 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from sidestep.metrics.estimates import Estimate
from sidestep.prediction.bootstrap import CONFIDENCE, HIGHER_IS_BETTER, PAIR_CONFIDENCE, Bootstrap, ResampledMetric
from sidestep.report.table_model import (
    ARROWS,
    HERE,
    Cell,
    Column,
    NumberFormat,
    Row,
    Section,
    Table,
    csv_form,
    mark_best,
)

TITLES = {
    "irs": "IRS", "nll": "NLL", "ade": "ADE", "fde": "FDE", "min_ade": "minADE", "miss": "Miss rate",
    "collision": "Collision rate",
}  # fmt: skip
_PERCENT, _PLAIN = NumberFormat(1, 100.0), NumberFormat(2)
FORMATS = {"irs": _PERCENT, "miss": _PERCENT, "collision": _PERCENT}
UNITS = {"irs": "%", "miss": "%", "collision": "%", "ade": "m", "fde": "m", "min_ade": "m"}
_CSV = csv_form("table section predictor metric unit direction n value low high best", predictor="policy")


def _horizon(seconds: float) -> str:
    return f"{seconds:g} s"


def _columns(bootstrap: Bootstrap, metrics: Sequence[str]) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"{name}_{seconds:g}s", _horizon(seconds), TITLES[name], UNITS.get(name, ""),
            better := "higher" if HIGHER_IS_BETTER[name] else "lower", ARROWS[better], FORMATS.get(name, _PLAIN),
            csv_unit="" if UNITS.get(name) == "%" else None,
        )
        for name in metrics
        for seconds in bootstrap.horizons_s.tolist()
    )  # fmt: skip


def score_table(
    bootstrap: Bootstrap, metrics: Sequence[str], title: str, name: str = "scores", people: str = ""
) -> Table:
    """One row for each predictor: every metric at every horizon, with its interval; the best in bold."""
    columns = _columns(bootstrap, metrics)
    limits = {metric: bootstrap.metrics[metric].interval(CONFIDENCE) for metric in metrics}
    rows = []
    for m, model in enumerate(bootstrap.models):
        cells = []
        for metric in metrics:
            for h in range(len(bootstrap.horizons_s)):
                parts = (bootstrap.metrics[metric].value, *limits[metric])
                value, low, high = (float(part[m, h]) for part in parts)
                found = _estimate(value, low, high, bootstrap.tracks)
                cells.append(Cell(found, FORMATS.get(metric, _PLAIN)))
        rows.append(Row(model, (), HERE, tuple(cells)))
    notes = [
        f"Intervals: {CONFIDENCE:.0%}, bootstrap over {bootstrap.described()} (BCa). They do not show whether two "
        "predictors differ: see the differences.",
        *bootstrap.cautions(),
    ]
    for metric in metrics:
        notes += _missing(bootstrap, bootstrap.metrics[metric])
    section = Section(name, title, tuple(mark_best(rows, columns)))
    return Table(name, title, columns, (section,), _CSV, notes=tuple(notes), people=people, head="Predictor")


def _estimate(value: float, low: float, high: float, tracks: int) -> Estimate:
    if not isfinite(value):
        return Estimate(of=tracks)
    bounded = isfinite(low) and isfinite(high)
    return Estimate(value, low if bounded else None, high if bounded else None, tracks, tracks)


def _missing(bootstrap: Bootstrap, metric: ResampledMetric) -> list[str]:
    """Notes on values that do not exist, and on resamples without one; one note where it is the same for all."""
    notes = []
    for h, seconds in enumerate(bootstrap.horizons_s.tolist()):
        where = f"{TITLES[metric.name]} {_horizon(seconds)}"
        reasons = [_why_missing(metric, m, h) for m in range(len(bootstrap.models))]
        if len(set(reasons)) == 1:
            notes += [f"{where}: {reasons[0]}"] if reasons[0] else []
        else:
            pairs = zip(bootstrap.models, reasons, strict=True)
            notes += [f"{where} of {model}: {text}" for model, text in pairs if text]
    return notes


def _why_missing(metric: ResampledMetric, m: int, h: int) -> str:
    if not isfinite(float(metric.value[m, h])):
        return "no value, because there are no positives, no negatives or no moments."
    undefined = int(metric.undefined[m, h])
    return f"{undefined} resamples have no value and are left out of the interval." if undefined else ""


def optimal_table(bootstrap: Bootstrap, metrics: Sequence[str], name: str = "optimal") -> Table:
    """The optimal predictor for each metric and horizon."""
    columns = tuple(Column(metric, TITLES[metric]) for metric in metrics)
    chosen = {metric: bootstrap.optimal(metric) for metric in metrics}
    rows = tuple(
        Row(_horizon(seconds), (), HERE, tuple(Cell(written=chosen[metric][h] or "–") for metric in metrics))
        for h, seconds in enumerate(bootstrap.horizons_s.tolist())
    )
    title = "Optimal predictor per metric and horizon"
    note = (
        f"No other predictor is significantly better ({PAIR_CONFIDENCE:.0%} intervals of paired differences); of "
        "several, the one with the fewest features, then the best value."
    )
    form = csv_form("table horizon metric predictor", horizon="policy", predictor="text")
    return Table(
        name, title, columns, (Section(name, title, rows),), form, notes=(note, *bootstrap.cautions()), head="Horizon"
    )


def difference_table(bootstrap: Bootstrap, metrics: Sequence[str], name: str = "differences") -> Table:
    """Row minus column for each pair of predictors, metric and horizon; bold: the row is significantly better."""
    columns = tuple(Column(model, model) for model in bootstrap.models)
    sections = []
    for metric in metrics:
        unit = f" ({UNITS[metric]})" if metric in UNITS else ""
        for h, seconds in enumerate(bootstrap.horizons_s.tolist()):
            title = f"{TITLES[metric]} {_horizon(seconds)}{unit}"
            sections.append(Section(f"{metric}_{seconds:g}s", title, _difference_rows(bootstrap, metric, h)))
    note = (
        f"Row minus column with {PAIR_CONFIDENCE:.0%} intervals of paired differences, bootstrap over "
        f"{bootstrap.described()}; bold: the row is better."
    )
    form = csv_form("section predictor minus value low high better", predictor="policy", minus="metric", better="best")
    title = "Differences between predictors"
    return Table(name, title, columns, tuple(sections), form, notes=(note, *bootstrap.cautions()), head="Predictor")


def _difference_rows(bootstrap: Bootstrap, metric: str, h: int) -> tuple[Row, ...]:
    better, form = bootstrap.better(metric)[h], replace(FORMATS.get(metric, _PLAIN), sign=True)
    rows = []
    for i, model in enumerate(bootstrap.models):
        cells = [Cell()] * len(bootstrap.models)
        for j in range(len(cells)):
            if i != j:
                value, low, high = (float(part[h]) for part in bootstrap.metrics[metric].difference(i, j))
                cells[j] = Cell(_estimate(value, low, high, bootstrap.tracks), form, bool(better[i, j]))
        rows.append(Row(model, (), HERE, tuple(cells)))
    return tuple(rows)


def ungrouped(table: Table) -> Table:
    """The table for a terminal, where nothing stands above the titles of columns."""
    titles = [replace(each, title=f"{each.group} {each.title}".strip(), group="") for each in table.columns]
    return replace(table, columns=tuple(titles))
