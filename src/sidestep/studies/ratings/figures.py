"""Figures of a study: diverging stacked bars of the answers, precision against the number of runs, and the correlation
of metrics with scores.

Bars: answers are reverse coded, so that favourable ones are always on the right; the middle level is split at the
centre. Answers without an opinion are counted at the margin.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from sidestep.render.top_view import palette
from sidestep.report.plots import INK, QUIET, STYLE, new_figure, tidy
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.summary import ItemAverage, SummaryCell

UNFAVOURABLE, NEUTRAL, FAVOURABLE = palette.rgb("#b5452c"), palette.rgb("#c3c8d0"), palette.rgb("#2560b0")
WIDTH_IN = 10.0
ROW_IN = 0.36
LEFT, RIGHT = -1.42, 1.55
"""Ends of the horizontal axis; bars are within ±1, names and numbers beside them."""
LEGEND_LEVELS = 9
"""A scale with more levels has only its ends in the legend."""
LEAST_SHARE = 0.07
"""Share of the answers below which a part of a bar has no number."""
MOST_METRICS = 15


def level_colours(levels: int) -> list[str]:
    """Colours from the least to the most favourable level."""
    colours = []
    for place in range(levels):
        at = 2 * place / (levels - 1) - 1  # -1 … 1
        end = FAVOURABLE if at > 0 else UNFAVOURABLE
        share = 0.0 if at == 0 else 0.2 + 0.8 * (abs(at) - 1 / levels) / (1 - 1 / levels)
        colours.append(palette.hexadecimal(palette.mix(NEUTRAL, end, min(1.0, share))))
    return colours


def bar_segments(counts: Sequence[int]) -> list[tuple[float, float]]:
    """(start, width) of each level's part, as shares of the answers; 0 is the middle of the scale. ``counts`` are from
    the least favourable level to the most favourable one, which need at least one answer."""
    total = sum(counts)
    half, odd = divmod(len(counts), 2)
    left = sum(counts[:half]) + (counts[half] / 2 if odd else 0)
    segments, at = [], -left / total
    for count in counts:
        segments.append((at, count / total))
        at += count / total
    return segments


def likert_figure(cells: Sequence[SummaryCell], questionnaire: Questionnaire, language: str | None = None) -> Figure:
    """Bars of the items of one scenario, one for each cell (policy)."""
    items = list(dict.fromkeys(each.item for cell in cells for each in cell.items))
    colours = level_colours(len(questionnaire.scale.levels))
    with matplotlib.rc_context(STYLE):
        rows = len(items) * (len(cells) + 1.1)
        figure, [[axes]] = new_figure(WIDTH_IN, ROW_IN * rows + 0.9)
        axes.set_xlim(LEFT, RIGHT)
        axes.set_ylim(rows - 0.4, -0.75)
        axes.axvline(0, color=QUIET, linewidth=1, zorder=1)
        at = 0.0
        for name in items:
            item = questionnaire.item(name)
            text = questionnaire.say(item.text, language)
            shown = textwrap.shorten(f"{item.number}{'*' if item.reverse else ''}  {text}", 110, placeholder="…")
            axes.text(LEFT, at, shown, va="center", weight="bold")
            for cell in cells:
                at += 1
                found = next((each for each in cell.items if each.item == name), None)
                axes.text(LEFT + 0.02, at, _short(str(cell.key["policy"])), va="center", color=INK)
                _draw_bar(axes, at, found, colours)
            at += 1.1
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["100 %", "50 %", "0", "50 %", "100 %"])
        axes.set_yticks([])
        axes.spines[["top", "left", "right", "bottom"]].set_visible(False)
        axes.tick_params(colors=QUIET, length=0)
        _draw_legend(axes, questionnaire, colours)
        return figure


def _short(text: str, most: int = 16) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _draw_bar(axes: Any, at: float, found: ItemAverage | None, colours: Sequence[str]) -> None:
    if found is None or not found.n or found.coded is None:
        axes.text(0.02, at, "no answers", va="center", color=QUIET, size=9)
        return
    counts = found.levels[::-1] if found.reverse else found.levels
    for (start, width), colour, count in zip(bar_segments(counts), colours, counts, strict=True):
        axes.barh(at, width, 0.74, start, color=colour, zorder=2)
        if width >= LEAST_SHARE:
            ink = "#fefefe" if sum(palette.rgb(colour)) < 390 else "#202632"
            axes.text(start + width / 2, at, str(count), ha="center", va="center", color=ink, size=9, zorder=3)
    unsure = f", {found.cannot_tell} unsure" if found.cannot_tell else ""
    axes.text(1.04, at, f"{found.coded:.2f} · n = {found.n}{unsure}", va="center", color=QUIET, size=9)


def _draw_legend(axes: Any, questionnaire: Questionnaire, colours: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    levels = len(colours)
    shown = range(levels) if levels <= LEGEND_LEVELS else (0, levels - 1)
    ends = {0: " least favourable", levels - 1: " most favourable"}
    lowest = questionnaire.scale.lowest
    patches = [Patch(color=colours[place], label=f"{lowest + place}{ends.get(place, '')}") for place in shown]
    axes.legend(
        handles=patches, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(patches), frameon=False,
        handlelength=1, handleheight=1, columnspacing=1.2, fontsize=9,
    )  # fmt: skip


def precision_figure(precision: Mapping[str, Any]) -> Figure:
    """Half width of the 95 % interval of one participant's average against the number of runs."""
    with matplotlib.rc_context(STYLE):
        figure, [[axes]] = new_figure(WIDTH_IN, 3.4)
        tidy(axes)
        runs = [each["runs"] for each in precision["batches"]]
        widths = [each["half_width"] for each in precision["batches"]]
        axes.plot(runs, widths, "o-", color=palette.hexadecimal(FAVOURABLE), markersize=5)
        for x, y in zip(runs, widths, strict=True):
            axes.annotate(f"{y:.2f}", (x, y), (4, 7), textcoords="offset points", ha="center", size=9)
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(runs, [str(each) for each in runs])
        axes.set_ylim(0, 1.15 * max(widths) or 1)
        axes.set_xlabel("runs in a batch")
        axes.set_ylabel("± levels of the scale")
        axes.tick_params(colors=QUIET)
        return figure


def correlation_figure(correlations: Sequence[Mapping[str, Any]]) -> Figure:
    """The strongest correlations with their intervals."""
    shown = [each for each in correlations if each["rho"] is not None][:MOST_METRICS]
    with matplotlib.rc_context(STYLE):
        figure, [[axes]] = new_figure(9, 0.9 + 0.3 * len(shown))
        tidy(axes, "x")
        axes.axvline(0, color=QUIET, linewidth=1)
        for row, each in enumerate(shown):
            colour = palette.hexadecimal(FAVOURABLE if each["rho"] > 0 else UNFAVOURABLE)
            axes.plot([each["low"], each["high"]], [row, row], color=colour, linewidth=2.5, alpha=0.45)
            axes.plot(each["rho"], row, "o", color=colour, markersize=7)
        axes.set_yticks(range(len(shown)), [each["metric"] for each in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(-1, 1)
        axes.set_xlabel("Spearman's correlation with the score of a run")
        axes.tick_params(colors=QUIET, length=0)
        for label in axes.get_yticklabels():
            label.set_color(INK)
        return figure
