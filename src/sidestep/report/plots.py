"""Plots by matplotlib: what every plot of a report shares, and the two plots about any suite, as inline SVG whose ink
follows the page's light or dark theme.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sidestep.render.top_view import palette
from sidestep.report.summary import MetricColumn
from sidestep.types.base import FloatArray

INK, QUIET, GRID = (palette.hexadecimal(colour) for colour in (palette.INK, palette.QUIET_INK, palette.GRID))
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": QUIET,
    "svg.hashsalt": "sidestep",
    "text.parse_math": False,
}
THEME = {INK: "var(--ink)", QUIET: "var(--quiet)", GRID: "var(--faint)", "#ffffff": "var(--card)"}
"""Colours of an inline plot → those of the page's theme."""
MOST_DOTS = 300
"""Per policy of a distribution; more are thinned out evenly."""

Colours = Mapping[str, str]
"""Policy's label → ``#rrggbb``."""


@dataclass(frozen=True, eq=False)
class Illustration:
    """A figure as files and for a page. ``wide``: takes the page's whole width."""

    name: str
    title: str
    png: bytes
    svg: bytes
    wide: bool = False

    @classmethod
    def of(cls, name: str, title: str, figure: Figure, wide: bool = False) -> Illustration:
        """Drawn as PNG and SVG."""
        return cls(name, title, image_bytes(figure, "png"), image_bytes(figure, "svg"), wide)

    @property
    def address(self) -> str:
        """For an ``img`` of a page that needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


def image_bytes(figure: Figure, form: str, **style: Any) -> bytes:
    """The picture as ``png`` or ``svg``; the same picture is the same bytes."""
    buffer = io.BytesIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type")) if form == "svg" else {"Software": None}
    with matplotlib.rc_context(STYLE | style):
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """An empty figure of so many inches, and its axes (rows, columns)."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def tidy(axes: Any, grid: str = "y") -> None:
    """Only the lower and left edges, and a quiet grid below everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color=GRID, zorder=0)
    axes.set_axisbelow(True)


def jitter(count: int, width: float) -> FloatArray:
    """(count,) offsets within ± width / 2 of which neighbours lie apart (golden ratio)."""
    return ((np.arange(count) * 0.618034) % 1 - 0.5) * width


def thinned(values: FloatArray, most: int) -> FloatArray:
    """``values`` in order, at most so many, taken evenly."""
    ordered = np.sort(values)
    chosen: FloatArray = ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), most)).astype(int)]
    return chosen


def inline_svg(figure: Figure, name: str, title: str) -> Markup:
    """The figure as an ``svg`` element with the theme's colours; ids begin with ``name``, so that they are unique."""
    text = image_bytes(figure, "svg", **{"svg.fonttype": "none"}).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<defs>\s*<clipPath.*?</defs>|<metadata>.*?</metadata>| clip-path=\"[^\"]*\"", "", text, flags=re.S)
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font: \1 system-ui, sans-serif", text)
    text = re.sub(r'(id="|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in THEME.items():
        text = text.replace(colour, variable)
    size = " ".join(f"{72 * inches:g}" for inches in figure.get_size_inches())
    opening = Markup('<svg viewBox="0 0 {}" role="img" aria-label="{}">').format(size, title)
    return opening + Markup(text[text.index(">") + 1 :].strip())


def tradeoff_plot(
    policies: Sequence[str], colours: Colours, across: MetricColumn, up: MetricColumn, front: Sequence[str], name: str
) -> Markup:
    """Means of two metrics with their 95 % intervals; a dashed line joins the policies in ``front``."""
    with matplotlib.rc_context(STYLE):
        figure, [[axes]] = new_figure(10, 4.4)
        tidy(axes, "both")
        for k, policy in enumerate(policies):
            x, y = across.cells[policy].estimate, up.cells[policy].estimate
            if x.value is None or y.value is None:
                continue
            colour, order = colours[policy], 3 + k
            axes.plot(x.reach, [y.value] * 2, color=colour, alpha=0.4, linewidth=2.5, zorder=order)
            axes.plot([x.value] * 2, y.reach, color=colour, alpha=0.4, linewidth=2.5, zorder=order)
            axes.plot(x.value, y.value, "o", color=colour, markersize=10, markeredgecolor="white", zorder=order)
            right = across.csv_unit in ("0/1", "ratio") and x.value > 0.85
            low = up.csv_unit == "0/1" and y.value > 0.93
            axes.annotate(
                policy, (x.value, y.value), (-9 if right else 9, -15 if low else 7), textcoords="offset points",
                ha="right" if right else "left", weight="bold", zorder=order,
            )  # fmt: skip
        line = sorted((across.cells[each].estimate.value, up.cells[each].estimate.value) for each in front)
        if len(line) > 1:
            axes.plot(*zip(*line, strict=True), color=QUIET, linestyle="--", linewidth=1, zorder=2)
        for column, set_label, set_limits in (
            (across, axes.set_xlabel, axes.set_xlim),
            (up, axes.set_ylabel, axes.set_ylim),
        ):
            set_label(f"{column.title} ({column.unit_and_direction})")
            if column.csv_unit in ("0/1", "ratio"):
                set_limits(-0.02, 1.02)
        axes.tick_params(colors=QUIET)
        return inline_svg(figure, name, f"{up.title} against {across.title}")


def distribution_plot(title: str, colours: Colours, values: Mapping[str, Sequence[float]], name: str) -> Markup:
    """A row per policy: a dot per episode, a box over the middle half, a bar at the median."""
    with matplotlib.rc_context(STYLE):
        figure, [[axes]] = new_figure(5, 0.5 + 0.4 * len(values))
        tidy(axes, "x")
        axes.spines[["left", "bottom"]].set_visible(False)
        for k, (policy, numbers) in enumerate(values.items()):
            if not len(numbers):
                continue
            low, median, high = np.quantile(numbers, [0.25, 0.5, 0.75])
            axes.barh(k, high - low, 0.56, low, color=colours[policy], alpha=0.2, zorder=2)
            dots = thinned(np.asarray(numbers, dtype=np.float64), MOST_DOTS)
            axes.plot(dots, k + jitter(len(dots), 0.4), "o", color=colours[policy], alpha=0.75, markersize=3.4, mew=0)
            axes.plot([median] * 2, [k - 0.32, k + 0.32], color=colours[policy], linewidth=2.5, zorder=4)
        shown = [policy if len(policy) <= 14 else policy[:13] + "…" for policy in values]
        axes.set_yticks(range(len(values)), shown, weight="bold", color=INK)
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.tick_params(colors=QUIET, length=0)
        for label in axes.get_yticklabels():
            label.set_color(INK)
        return inline_svg(figure, name, f"{title} of every episode by policy")
