"""Plots as small inline SVG: no script, themed by the page's style sheet, sharp at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from sidestep.report.summary import MetricColumn, SummaryCell
from sidestep.types.base import FloatArray

MOST_DOTS = 300  # per row of a distribution; more are thinned out evenly


@dataclass(frozen=True)
class Mark:
    """A policy in a plot."""

    name: str
    colour: str


@dataclass(frozen=True)
class Axis:
    """Values to pixels: the first tick lies at ``start``, the last at ``end``."""

    ticks: Sequence[float]
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return float(self.start + share * (self.end - self.start))


def tag(name: str, content: str | Markup = "", /, **attributes: Any) -> Markup:
    """An SVG element, everything escaped: ``stroke_width`` means ``stroke-width``, ``class_`` ``class``."""
    parts = [
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), value if isinstance(value, str) else f"{value:.6g}"
        )
        for key, value in attributes.items()
    ]
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup("").join(parts), content)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers (1, 2, 2.5 or 5 times a power of ten apart) that cover low … high."""
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min(m for m in (1, 2, 2.5, 5, 10) if m * power >= rough - 1e-12)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]


def tradeoff_plot(marks: Sequence[Mark], across: MetricColumn, up: MetricColumn, front: Sequence[str]) -> Markup:
    """Means of two metrics with their 95 % intervals; a dashed line joins the policies in ``front``."""
    width, height, left, right, top, base = 860, 400, 64, 836, 16, 344
    shown = [mark for mark in marks if across.cells[mark.name].n and up.cells[mark.name].n]
    x = Axis(nice_ticks(*_reach(across, shown)), left, right)
    y = Axis(nice_ticks(*_reach(up, shown)), base, top)
    middle = (top + base) / 2
    parts = [
        *(_vertical(x(tick), top, base, f"{tick:g}") for tick in x.ticks),
        *(_horizontal(y(tick), left, right, f"{tick:g}") for tick in y.ticks),
        tag("text", _caption(across), x=(left + right) / 2, y=height - 12, text_anchor="middle"),
        tag("text", _caption(up), x=16, y=middle, text_anchor="middle", transform=f"rotate(-90 16 {middle})"),
    ]
    ordered = sorted(front, key=lambda name: across.cells[name].mean_value)
    if len(ordered) > 1:
        corners = [(x(across.cells[name].mean_value), y(up.cells[name].mean_value)) for name in ordered]
        parts.append(tag("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_="front"))
    parts += [_cross(mark, across.cells[mark.name], up.cells[mark.name], x, y) for mark in shown]
    title = f"{up.title} against {across.title}"
    return tag("svg", Markup("").join(parts), viewBox=f"0 0 {width} {height}", role="img", aria_label=title)


def _caption(column: MetricColumn) -> str:
    return f"{column.title} ({column.unit_and_direction})"


def _reach(column: MetricColumn, marks: Sequence[Mark]) -> tuple[float, float]:
    """From the lowest to the highest end of an interval; shares are shown from 0 to 1."""
    if column.unit in ("0/1", "ratio"):
        return 0.0, 1.0
    cells = [column.cells[mark.name] for mark in marks]
    return min(cell.reach[0] for cell in cells), max(cell.reach[1] for cell in cells)


def _vertical(x: float, top: float, base: float, text: str) -> Markup:
    line = tag("line", x1=x, x2=x, y1=top, y2=base, class_="gridline")
    return line + tag("text", text, x=x, y=base + 17, text_anchor="middle")


def _horizontal(y: float, left: float, right: float, text: str) -> Markup:
    line = tag("line", x1=left, x2=right, y1=y, y2=y, class_="gridline")
    return line + tag("text", text, x=left - 8, y=y + 4, text_anchor="end")


def _cross(mark: Mark, across: SummaryCell, up: SummaryCell, x: Axis, y: Axis) -> Markup:
    """A dot at the means, its two intervals, and the policy's name on the side where there is room."""
    cx, cy = x(across.mean_value), y(up.mean_value)
    line: dict[str, Any] = {"stroke": mark.colour, "stroke_width": 3, "stroke_opacity": 0.4}
    side, anchor = (-12, "end") if cx > x.end - 120 else (12, "start")
    title = tag("title", f"{mark.name}: {across.mean}, {up.mean}")
    lift = -10 if cy > y.end + 12 else 20
    return (
        tag("line", x1=x(across.reach[0]), x2=x(across.reach[1]), y1=cy, y2=cy, **line)
        + tag("line", x1=cx, x2=cx, y1=y(up.reach[0]), y2=y(up.reach[1]), **line)
        + tag("circle", title, cx=cx, cy=cy, r=7, fill=mark.colour, class_="halo")
        + tag("text", mark.name, x=cx + side, y=cy + lift, class_="name", text_anchor=anchor)
    )


def distribution_plot(title: str, marks: Sequence[Mark], values: Sequence[Sequence[float]]) -> Markup:
    """A row per policy: a dot per episode, a box over the middle half, a bar at the median."""
    width, left, right, row, top = 480, 110, 464, 40, 8
    base = top + row * len(marks)
    everything = np.concatenate([np.asarray(numbers, dtype=np.float64) for numbers in values])
    x = Axis(nice_ticks(float(everything.min()), float(everything.max()), 4), left, right)
    parts = [_vertical(x(tick), top, base, f"{tick:g}") for tick in x.ticks]
    for index, (mark, numbers) in enumerate(zip(marks, values, strict=True)):
        middle = top + row * (index + 0.5)
        name = mark.name if len(mark.name) <= 14 else mark.name[:13] + "…"
        text = tag("title", mark.name) + name
        parts.append(tag("text", text, x=left - 10, y=middle + 4, text_anchor="end", class_="name"))
        if len(numbers):
            parts.append(_row(mark, np.sort(np.asarray(numbers, dtype=np.float64)), middle, x))
    label = f"{title} of every episode by policy"
    return tag("svg", Markup("").join(parts), viewBox=f"0 0 {width} {base + 24}", role="img", aria_label=label)


def _row(mark: Mark, numbers: FloatArray, middle: float, x: Axis) -> Markup:
    low, median, high = (x(float(quantile)) for quantile in np.quantile(numbers, [0.25, 0.5, 0.75]))
    box: dict[str, Any] = {"width": max(1.0, high - low), "height": 22, "rx": 4, "fill_opacity": 0.2}
    parts = [tag("rect", x=low, y=middle - 11, fill=mark.colour, **box)]
    if len(numbers) > MOST_DOTS:
        numbers = numbers[np.linspace(0, len(numbers) - 1, MOST_DOTS).astype(int)]
    for k, value in enumerate(numbers):
        height = middle + ((k * 0.618034) % 1 - 0.5) * 16  # golden ratio: neighbours lie apart
        parts.append(tag("circle", cx=x(float(value)), cy=height, r=2.2, fill=mark.colour, fill_opacity=0.75))
    bar: dict[str, Any] = {"stroke": mark.colour, "stroke_width": 3}
    parts.append(tag("line", x1=median, x2=median, y1=middle - 12, y2=middle + 12, **bar))
    return Markup("").join(parts)
