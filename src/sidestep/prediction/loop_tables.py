"""Tables and pictures of the closed loop: how each predictor drove, and which metric predicts it."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from sidestep.metrics.estimates import Estimate
from sidestep.report.plots import INK, QUIET, STYLE, new_figure, tidy
from sidestep.report.table_model import HERE, Cell, Column, NumberFormat, Row, Section, Table, csv_form

TITLES = {
    "failures": ("failures", "%"),
    "collisions": ("collisions", "%"),
    "short_gaps": ("gaps below 2 s", "%"),
    "gap_distance": ("distance to human gaps", ""),
    "needless_braking": ("needless braking", "s/min"),
    "delay": ("delay", "s"),
    "jerk": ("jerk", "m/s³"),
}
METRICS = {"irs": ("IRS", "%"), "nll": ("NLL", ""), "ade": ("ADE", "m")}
FORM = csv_form("driver metric title unit n value low high", driver="policy")
SHOWN_HORIZON_S = 3.0


def loop_table(document: dict[str, Any]) -> Table:
    """A row for every driver: metrics at 3 s, then outcomes of the driving with their intervals."""
    h = document["horizons_s"].index(SHOWN_HORIZON_S)
    columns = [Column(name, f"{title} {SHOWN_HORIZON_S:g} s", unit=unit) for name, (title, unit) in METRICS.items()]
    columns += [
        Column(name, TITLES[name][0], unit=TITLES[name][1], symbol="↓", definition=definition)
        for name, definition in document["outcomes"].items()
    ]
    rows = []
    for driver in document["drivers"]:
        cells = []
        for name in METRICS:
            factor = 100.0 if name == "irs" else 1.0
            value = driver[name][h] * factor if name in driver else None
            cells.append(Cell(Estimate(value, n=driver["episodes"], of=driver["episodes"])))
        for name in document["outcomes"]:
            found = driver[name]
            count = driver["encounters" if "gap" in name else "episodes"]
            known = found["value"] == found["value"]
            estimate = Estimate(found["value"], found["low"], found["high"], count, count) if known else Estimate()
            cells.append(Cell(estimate))
        rows.append(Row(driver["driver"], (str(driver["episodes"]), str(driver["encounters"])), HERE, tuple(cells)))
    return Table(
        name="loop",
        title="The loop closed",
        columns=tuple(columns),
        sections=(Section("loop", "", tuple(rows)),),
        csv=FORM,
        keys=("episodes", "encounters"),
        notes=(
            f"Metrics: test split of the data. Outcomes: {100 * document['confidence']:g} % intervals over scenarios.",
            *document["cautions"],
            *(f"{TITLES[name][0]}: {text}." for name, text in document["outcomes"].items()),
        ),
    )


def correlation_table(document: dict[str, Any]) -> Table:
    """Rank correlations of every metric and horizon with every outcome."""
    outcomes = list(document["outcomes"])
    found = {(each["metric"], each["horizon_s"], each["outcome"]): each for each in document["correlations"]}
    signed = NumberFormat(2, sign=True)
    rows = []
    for name, (title, _) in METRICS.items():
        for horizon in document["horizons_s"]:
            cells = []
            for outcome in outcomes:
                each = found[name, horizon, outcome]
                known = each["rho"] == each["rho"]
                cells.append(
                    Cell(Estimate(each["rho"], each["low"], each["high"], 1, 1) if known else Estimate(), signed)
                )
            rows.append(Row(f"{title} {horizon:g} s", (), HERE, tuple(cells)))
    return Table(
        name="loop_correlations",
        title="Rank correlations between metrics and driving",
        columns=tuple(Column(name, TITLES[name][0], format=signed) for name in outcomes),
        sections=(Section("loop", "", tuple(rows)),),
        csv=FORM,
        notes=(
            "Spearman's ρ over the predictors; +1: the better the metric, the better the driving. "
            f"Intervals ({100 * document['confidence']:g} %): other predictors of the same kind, other clips and other "
            "scenarios.",
        ),
    )


def draw_loop(document: dict[str, Any]) -> Figure:
    """Metrics at 3 s against outcomes of the driving, a point for every predictor."""
    outcomes = [name for name in document["outcomes"] if name != "failures"]
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(2.5 * len(outcomes), 8.2, len(METRICS), len(outcomes))
        for i, metric in enumerate(METRICS):
            for j, outcome in enumerate(outcomes):
                tidy(axes[i, j])
                _draw_panel(axes[i, j], document, metric, outcome)
            title, unit = METRICS[metric]
            axes[i, 0].set_ylabel(f"x: {title}{f' ({unit})' if unit else ''} at {SHOWN_HORIZON_S:g} s", fontsize=9)
        for j, outcome in enumerate(outcomes):
            name, unit = TITLES[outcome]
            above = name + (f"\n({unit})" if unit else "\n")
            axes[0, j].annotate(above, (0.5, 1.2), xycoords="axes fraction", ha="center", weight="bold", fontsize=9)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return figure


def _draw_panel(panel: Any, document: dict[str, Any], metric: str, outcome: str) -> None:
    h = document["horizons_s"].index(SHOWN_HORIZON_S)
    colours = matplotlib.colormaps["tab20"]
    for driver in document["drivers"]:
        y = driver[outcome]
        if metric not in driver:
            if outcome != "gap_distance":
                panel.axhline(y["value"], color=QUIET, linewidth=0.8, linestyle=":", label=driver["driver"])
            continue
        x = driver[metric][h] * (100.0 if metric == "irs" else 1.0)
        spread = [[max(y["value"] - y["low"], 0.0)], [max(y["high"] - y["value"], 0.0)]]
        colour = colours(document["drivers"].index(driver) % 20)
        panel.errorbar(x, y["value"], spread, fmt="o", markersize=5, linewidth=1, color=colour, label=driver["driver"])
    found = {(each["metric"], each["horizon_s"], each["outcome"]): each["rho"] for each in document["correlations"]}
    rho = found.get((metric, SHOWN_HORIZON_S, outcome))
    panel.set_title("" if rho is None else f"ρ = {rho:+.2f}" if rho == rho else "ρ: –", fontsize=8.5, color=INK)
    panel.tick_params(labelsize=7.5)
