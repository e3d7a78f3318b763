"""Figures 4 and 6 of the SidewalkBench paper for our runs, and success as a map of policy and behaviour.

What the paper published is grey, and never joined with ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sidestep.metrics.estimates import Estimate
from sidestep.render.top_view import palette
from sidestep.report.papers.sidewalkbench.episodes import (
    BEHAVIOURS,
    LONG,
    REACTIVE,
    SETTINGS,
    UNIT,
    SidewalkEpisode,
    SidewalkRun,
    published,
)
from sidestep.report.papers.sidewalkbench.tables import UNIT_METRICS, behaviour_table, long_estimates
from sidestep.report.plots import INK, QUIET, STYLE, Colours, Illustration, jitter, new_figure, tidy
from sidestep.suites.sidewalk.routes import UNIT_KINDS

SETTING_NAMES = {"town": "towns", "real": "hand-made places"}
PUBLISHED_NOTE = "○ published elsewhere: nine models, other simulator and scenes"
GREY = "#9aa1ad"
FAILURES = (
    ("C collision", palette.hexadecimal(palette.COLLISION)),
    ("OL out of lane", "#b8791f"),
    ("F freezing", "#6c8ebf"),
)
_GREENS = LinearSegmentedColormap.from_list("success", ["#fbf3ee", "#f3d9b1", "#8fcf9f", "#22a06b"])
_GREYS = LinearSegmentedColormap.from_list("published", ["#fafafa", "#8b93a0"])
_TICKS = (0, 0.25, 0.5, 1, 2, 5, 10, 20, 50)


@dataclass(frozen=True)
class Plot:
    """One picture: of a suite, by a function."""

    name: str
    title: str
    suite: str
    draw: Callable[[SidewalkRun, Colours], Figure]


def _settings(run: SidewalkRun, suite: str) -> list[str]:
    return [setting for setting in SETTINGS if run.labels_of(suite, setting)]


def _whisker(estimate: Estimate) -> list[list[float]]:
    """How far the interval reaches below and above the value."""
    assert estimate.value is not None
    low, high = estimate.reach
    return [[max(estimate.value - low, 0.0)], [max(high - estimate.value, 0.0)]]


def draw_completion(run: SidewalkRun, colours: Colours) -> Figure:
    """Figure 4: route completion by kind of sidewalk, a bar per policy."""
    settings, labels = _settings(run, UNIT), run.labels_of(UNIT)
    size = max(5.2, 2.6 + 0.45 * len(labels) * len(UNIT_KINDS)), 1.1 + 2.8 * len(settings)
    figure, grid = new_figure(*size, len(settings), 1)
    for axes, setting in zip(grid[:, 0], settings, strict=True):
        tidy(axes)
        for at, kind in enumerate(UNIT_KINDS):
            _draw_bars(axes, at, [(run.choose(UNIT, label, kind, setting), colours[label]) for label in labels])
            theirs = [model.unit[setting][kind] for model in published().models]
            _draw_published(axes, at, [numbers[2] for numbers in theirs], 0.78 / (len(labels) + 1), len(labels))
        axes.set_xticks(range(len(UNIT_KINDS)), [kind.capitalize() for kind in UNIT_KINDS])
        axes.set_xlim(-0.5, len(UNIT_KINDS) - 0.4)
        axes.set_ylim(0, 1.04)
        axes.set_ylabel("Route completion")
        axes.set_title(SETTING_NAMES[setting], fontsize=10, loc="left")
    handles = [Patch(color=colours[label], label=label) for label in labels]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(labels), 5), frameon=False, fontsize=9)
    figure.suptitle(f"Route completion by kind of sidewalk\n{PUBLISHED_NOTE}", fontsize=10)
    return figure


def _draw_bars(axes: Any, at: float, policies: Sequence[tuple[list[SidewalkEpisode], str]]) -> None:
    """A bar with its interval for each policy's episodes and colour; room for one more is left on the right."""
    width = 0.78 / (len(policies) + 1)
    for k, (episodes, colour) in enumerate(policies):
        estimate = UNIT_METRICS["RC"](episodes)
        if estimate.value is None:
            continue
        x = at + (k - len(policies) / 2) * width
        axes.bar(x, estimate.value, 0.9 * width, color=colour, zorder=2)
        axes.errorbar(x, estimate.value, _whisker(estimate), color=INK, linewidth=1, capsize=2, zorder=3)


def _draw_published(axes: Any, at: float, numbers: Sequence[float | None], width: float, count: int) -> None:
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": GREY, "markersize": 4}
    axes.plot(at + width * (count / 2 + jitter(len(numbers), 0.7)), numbers, "o", zorder=2, **ring)


def draw_long(run: SidewalkRun, colours: Colours) -> Figure:
    """Figure 6: failures per 100 m against velocity, and what they consist of."""
    settings = _settings(run, LONG)
    rows = len(run.labels_of(LONG)) + len(published().models)
    heights = [4.0, 0.7 + 0.24 * rows]
    figure, grid = new_figure(6.4 * len(settings), sum(heights) + 0.6, 2, len(settings), height_ratios=heights)
    for k, setting in enumerate(settings):
        found = {
            label: long_estimates(run.choose(LONG, label, setting=setting)) for label in run.labels_of(LONG, setting)
        }
        _draw_scatter(grid[0][k], setting, found, colours)
        _draw_split(grid[1][k], setting, found)
    figure.suptitle(f"Long routes: failures per 100 m and mean velocity\n{PUBLISHED_NOTE}", fontsize=10)
    return figure


def _printed_long(setting: str) -> dict[str, Sequence[float]]:
    rows = {model.name: model.long[setting] for model in published().models}
    return {name: [number or 0.0 for number in numbers] for name, numbers in rows.items()}


def _draw_scatter(axes: Any, setting: str, found: Mapping[str, Sequence[Estimate]], colours: Colours) -> None:
    tidy(axes, "both")
    theirs = _printed_long(setting)
    for name, row in theirs.items():
        axes.plot(row[4], row[0], "o", markerfacecolor="none", markeredgecolor=GREY, markersize=5, zorder=2)
        crowded = any(0 < other[4] - row[4] < 0.15 and 0.8 < other[0] / row[0] < 1.25 for other in theirs.values())
        side: dict[str, Any] = {"xytext": (-5, 3), "ha": "right"} if crowded else {"xytext": (4, 4)}
        axes.annotate(name, (row[4], row[0]), textcoords="offset points", fontsize=7, color=QUIET, **side)
    for label, (failures, _, _, _, velocity, *_) in found.items():
        if failures.value is None or velocity.value is None:
            continue
        point = (velocity.value, failures.value)
        look: dict[str, Any] = {"color": colours[label], "markersize": 7, "linewidth": 1.2, "zorder": 4}
        axes.errorbar(*point, _whisker(failures), _whisker(velocity), fmt="o", **look)
        axes.annotate(label, point, (-7, 6), textcoords="offset points", fontsize=9, color=colours[label], ha="right")
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.9)
    axes.set_yticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.minorticks_off()
    most = max([row[0] for row in theirs.values()] + [each[0].value or 0.0 for each in found.values()])
    axes.set_ylim(-0.06, 1.3 * most)
    fastest = max([row[4] for row in theirs.values()] + [each[4].value or 0.0 for each in found.values()])
    axes.set_xlim(0, 1.18 * fastest)
    axes.set_xlabel("Mean velocity (m/s), to the right: better")
    axes.set_ylabel("Failures per 100 m, downwards: better")
    axes.set_title(SETTING_NAMES[setting], fontsize=10, loc="left")


def _draw_split(axes: Any, setting: str, found: Mapping[str, Sequence[Estimate]]) -> None:
    """Stacked bars of the three kinds of failure; ours above, published paler below. A rate over too few metres has no
    bar, but its bound and count."""
    tidy(axes, "x")
    own = {label: [each.value or 0.0 for each in estimates[:4]] for label, estimates in found.items()}
    bounds = {label: estimates[0].bound for label, estimates in found.items()}
    theirs = {f"{name} †": list(numbers[:4]) for name, numbers in _printed_long(setting).items()}
    bars = {**own, **theirs}
    for at, (label, (total, *parts)) in enumerate(bars.items()):
        left = 0.0
        for (kind, colour), part in zip(FAILURES, parts, strict=True):
            name = kind if not at else None
            axes.barh(at, part, 0.72, left, color=colour, alpha=1.0 if label in own else 0.4, label=name, zorder=2)
            left += part
        text = bounds.get(label) or f"{total:.2f}"
        axes.text(left, at, f" {text}", va="center", fontsize=8, color=INK if label in own else QUIET)
    axes.set_yticks(range(len(bars)), list(bars), fontsize=8)
    axes.axhline(len(own) - 0.5, color=QUIET, linewidth=0.8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * max(total for total, *_ in bars.values()))
    axes.set_xlabel("Failures per 100 m († published elsewhere)")
    axes.legend(fontsize=8, frameon=False, loc="best")


def draw_behaviours(run: SidewalkRun, _colours: Colours) -> Figure:
    """Success of every policy in every behaviour."""
    rows = behaviour_table(run).sections[0].rows
    parts = [[row for row in rows if row.origin == origin] for origin in ("here", "published")]
    heights = [len(part) for part in parts]
    figure, grid = new_figure(9.2, 1.6 + 0.34 * sum(heights), 2, 1, height_ratios=heights)
    count = len(BEHAVIOURS)
    for axes, part, colours in zip(grid[:, 0], parts, (_GREENS, _GREYS), strict=True):
        values = np.array([[cell.estimate.value for cell in row.cells[:count]] for row in part], dtype=np.float64)
        axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, aspect="auto")
        for (y, x), value in np.ndenumerate(values):
            if np.isfinite(value):
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8.5, color=INK)
        axes.set_yticks(range(len(part)), [row.title for row in part], fontsize=9)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    grid[0][0].set_xticks(range(count), [kind.capitalize() for kind in BEHAVIOURS], fontsize=9)
    grid[0][0].xaxis.tick_top()
    grid[0][0].tick_params(length=0)
    figure.suptitle("Success rate by behaviour († published elsewhere: other simulator and scenes)", fontsize=10)
    return figure


PLOTS = (
    Plot("sidewalk_fig4", "Route completion by kind of sidewalk (Fig. 4)", UNIT, draw_completion),
    Plot("sidewalk_behaviours", "Success by policy and behaviour", REACTIVE, draw_behaviours),
    Plot("sidewalk_fig6", "Failures and velocity on long routes (Fig. 6)", LONG, draw_long),
)


def draw_plot(plot: Plot, run: SidewalkRun, colours: Colours) -> Figure:
    """The picture of ``plot``."""
    with matplotlib.rc_context(STYLE):
        return plot.draw(run, colours)


def sidewalk_figures(run: SidewalkRun, colours: Colours) -> list[Illustration]:
    """The plots of the suites that ran."""
    return [
        Illustration.of(plot.name, plot.title, draw_plot(plot, run, colours), wide=True)
        for plot in PLOTS
        if run.has(plot.suite)
    ]
