"""Plots in the shape of Figures 6 to 11 of the SocNavBench paper: a distribution per policy, its mean as a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sidestep.metrics.series import MAX_DISTANCE_M, MAX_TIME_TO_COLLISION_S
from sidestep.render.top_view import palette
from sidestep.report.papers.socnavbench.episodes import DIALECTS, SocnavEpisode, SocnavRun, published
from sidestep.report.plots import INK, QUIET, STYLE, Illustration, jitter, new_figure, thinned, tidy
from sidestep.types.base import FloatArray

PAPER, CODE = DIALECTS
FEWEST_FOR_A_SHAPE = 8
"""Fewer values are drawn as dots alone: a density of them would be invented."""
MOST_DOTS = 200
MOST_IN_A_SHAPE = 4000


@dataclass(frozen=True)
class Plot:
    """One picture. ``values`` gives an episode's numbers; several panels show several definitions."""

    name: str
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Panel:
    """An axis. ``metric`` is what the paper's own mean is looked up by; empty: it has none that compares."""

    label: str
    values: Callable[[SocnavEpisode], FloatArray]
    metric: str = ""
    per_step: bool = False
    logarithmic: bool = False
    cap: float | None = None


def _per_episode(metric: str, dialect: str = PAPER) -> Callable[[SocnavEpisode], FloatArray]:
    def values(episode: SocnavEpisode) -> FloatArray:
        value = episode.value(metric, dialect)
        return np.array([] if value is None else [value])

    return values


CLOSEST = Panel("Closest pedestrian distance (m)", lambda each: each.closest_distance, "", True, cap=MAX_DISTANCE_M)
COLLISION = Panel("Time to collision (s)", lambda each: each.time_to_collision, "", True, cap=MAX_TIME_TO_COLLISION_S)
ENERGY = Panel("∫ v² dt (J·s), paper", _per_episode("energy"))
ENERGY_OF_CODE = Panel("Σ v² (J), socnavbench-code", _per_episode("energy", CODE), "energy")
PLANNING = Panel(
    "Wall clock (s)", lambda each: each.planning_time[each.planning_time > 0], "planning_time_avg", True, True
)
RATIO = Panel("Path ÷ straight line", _per_episode("path_length_ratio"), "path_length_ratio")
LENGTH = Panel("Path (m)", _per_episode("path_length"), "path_length")
TIME = Panel("Simulated time (s)", _per_episode("path_traversal_time"), "path_traversal_time")
PLOTS = (
    Plot("fig6", "People (Fig. 6): every moment of the episodes", (CLOSEST, COLLISION)),
    Plot("fig7", "Energy per episode (Fig. 7)", (ENERGY, ENERGY_OF_CODE)),
    Plot("fig8", "Planning time per step (Fig. 8)", (PLANNING,)),
    Plot("fig9", "Path length ratio per episode (Fig. 9)", (RATIO,)),
    Plot("fig10", "Path length per episode (Fig. 10)", (LENGTH,)),
    Plot("fig11", "Traversal time per episode (Fig. 11)", (TIME,)),
)


def socnav_figures(run: SocnavRun, colours: Mapping[str, str]) -> list[Illustration]:
    """All plots. ``colours``: label → ``#rrggbb``."""
    return [
        Illustration.of(plot.name, plot.title, draw_plot(plot, run, colours), wide=len(plot.panels) > 1)
        for plot in PLOTS
    ]


def draw_plot(plot: Plot, run: SocnavRun, colours: Mapping[str, str]) -> Figure:
    """The picture of ``plot``."""
    labels = list(run.by_label)
    across = max(4.4, 1.3 + 0.62 * len(labels))
    with matplotlib.rc_context(STYLE):
        figure, [grid] = new_figure(across * len(plot.panels), 3.9, 1, len(plot.panels))
        for axes, panel in zip(grid, plot.panels, strict=True):
            _draw_panel(axes, panel, run, labels, colours)
        figure.suptitle(f"{plot.title}\npeople: {run.people}", fontsize=11)
    return figure


def plotted_episodes(run: SocnavRun, label: str) -> list[SocnavEpisode]:
    """The episodes completed by all; where there are none, all."""
    return run.compared(label) if run.common else run.by_label[label]


def _draw_panel(axes: Any, panel: Panel, run: SocnavRun, labels: Sequence[str], colours: Mapping[str, str]) -> None:
    tidy(axes)
    axes.set_ylabel(panel.label)
    reference = False
    for x, label in enumerate(labels):
        episodes = plotted_episodes(run, label)
        values = np.concatenate([np.zeros(0), *(panel.values(each) for each in episodes)])
        _draw_distribution(axes, x, values, colours[label], panel)
        algorithm = published().algorithms.get(run.by_label[label][0].policy)
        spread = algorithm.spreads.get(panel.metric) if algorithm else None
        if spread is not None:
            reference = True
            axes.plot(x + 0.36, spread[0], "D", color="white", markeredgecolor="black", markersize=6, zorder=5)
    privileged = [run.by_label[label][0].privileged for label in labels]
    if any(privileged) and not all(privileged):
        axes.axvline(privileged.index(True) - 0.5, color=QUIET, linewidth=0.8)
    names = [f"{label}*" if secret else label for label, secret in zip(labels, privileged, strict=True)]
    axes.set_xticks(range(len(labels)), names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.6, len(labels) - 0.4)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_seconds))
    if panel.cap is not None:
        contact = palette.hexadecimal(palette.COLLISION)
        axes.axhline(0.0, color=contact, linewidth=0.9, zorder=1)
        axes.text(1.0, 0.0, "contact", transform=axes.get_yaxis_transform(), color=contact, fontsize=7.5, va="center")
        axes.set_ylim(top=panel.cap * 1.03)
    _explain(axes, reference, any(privileged))


def _explain(axes: Any, reference: bool, privileged: bool) -> None:
    parts = ["line: mean", "bar: middle half"]
    parts += ["◇ published mean"] if reference else []
    parts += ["* privileged"] if privileged else []
    axes.set_title("   ".join(parts), fontsize=8, color=QUIET, loc="left")


def _draw_distribution(axes: Any, x: int, values: FloatArray, colour: str, panel: Panel) -> None:
    """A violin with the middle half and the mean; dots for episodes."""
    if not len(values):
        axes.text(x, 0.5, "no\nvalues", transform=axes.get_xaxis_transform(), ha="center", va="center", fontsize=8)
        return
    if len(values) >= FEWEST_FOR_A_SHAPE and np.ptp(values) > 1e-9:
        _draw_violin(axes, x, values, colour, panel.logarithmic)
    if not panel.per_step:
        dots = thinned(values, MOST_DOTS)
        axes.scatter(x + jitter(len(dots), 0.3), dots, s=9, color=colour, alpha=0.75, linewidths=0, zorder=3)
    low, high = np.quantile(values, [0.25, 0.75])
    axes.vlines(x, low, high, color=INK, linewidth=3.5, alpha=0.55, zorder=4)
    axes.hlines(float(values.mean()), x - 0.3, x + 0.3, color=INK, linewidth=1.8, zorder=4)


def _draw_violin(axes: Any, x: int, values: FloatArray, colour: str, logarithmic: bool) -> None:
    """The density, estimated on the scale that is drawn, from at most a few thousand values evenly taken."""
    shown = thinned(np.log10(values) if logarithmic else values, MOST_IN_A_SHAPE)
    [body] = axes.violinplot([shown], [x], widths=0.76, points=160, showextrema=False, bw_method="silverman")["bodies"]
    if logarithmic:
        outline = body.get_paths()[0].vertices
        outline[:, 1] = 10.0 ** outline[:, 1]
    body.set(facecolor=colour, edgecolor=colour, alpha=0.5, linewidth=1.0, zorder=2)


def _seconds(value: float, _position: int | None = None) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor * 0.999:
            return f"{value / factor:g} {unit}"
    return f"{value * 1e9:g} ns"
