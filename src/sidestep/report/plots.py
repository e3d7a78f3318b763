"""Plots as small inline SVG: no script, themed by the page's style sheet, sharp at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sidestep.report.summary import Cell, MetricColumn


@dataclass(frozen=True)
class Mark:
    """A policy in a plot."""

    name: str
    colour: str


def tag(name: str, content: str | Markup = "", **attributes: str | float) -> Markup:
    """An SVG element, everything escaped. ``stroke_width`` becomes ``stroke-width``, ``class_`` becomes ``class``."""
    parts = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), f"{value:.2f}" if isinstance(value, float) else value)
        for key, value in attributes.items()
    )
    return Markup("<{}{}>{}</{}>").format(Markup(name), parts, content, Markup(name))


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers (1, 2, 2.5 or 5 times a power of ten apart) that cover low … high."""
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((m for m in (1, 2, 2.5, 5, 10) if m * power >= rough - 1e-12), default=10)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]


def tradeoff_plot(marks: Sequence[Mark], across: MetricColumn, up: MetricColumn, front: Sequence[str]) -> Markup:
    """Means of two metrics against each other with 95 % intervals; policies in ``front`` are joined by a dashed line."""
    width, height, left, bottom, top, right = 860, 400, 64, 56, 16, 24
    shown = [mark for mark in marks if across.cells[mark.name].n and up.cells[mark.name].n]
    x_ticks = nice_ticks(*_reach([across.cells[mark.name] for mark in shown]))
    y_ticks = nice_ticks(*_reach([up.cells[mark.name] for mark in shown]))

    def x(value: float) -> float:
        return left + (value - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]) * (width - left - right)

    def y(value: float) -> float:
        return height - bottom - (value - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (height - top - bottom)

    parts = [_axes(x_ticks, y_ticks, x, y, width - right, height - bottom, left, top)]
    parts.append(tag("text", f"{across.title} ({across.unit_and_direction})", x=(left + width - right) / 2, y=height - 12.0, text_anchor="middle"))  # fmt: skip
    middle = (top + height - bottom) / 2
    parts.append(tag("text", f"{up.title} ({up.unit_and_direction})", x=16.0, y=middle, text_anchor="middle", transform=f"rotate(-90 16 {middle})"))  # fmt: skip
    ordered = sorted((mark for mark in shown if mark.name in front), key=lambda mark: across.cells[mark.name].mean_value)
    if len(ordered) > 1:
        points = " ".join(f"{x(across.cells[m.name].mean_value):.1f},{y(up.cells[m.name].mean_value):.1f}" for m in ordered)
        parts.append(tag("polyline", points=points, class_="front"))
    for mark in shown:
        parts.append(_cross(mark, across.cells[mark.name], up.cells[mark.name], x, y, width))
    title = f"{up.title} against {across.title}"
    return tag("svg", Markup("").join(parts), viewBox=f"0 0 {width} {height}", role="img", aria_label=title)


def _reach(cells: Sequence[Cell]) -> tuple[float, float]:
    return min(cell.reach[0] for cell in cells), max(cell.reach[1] for cell in cells)


def _axes(x_ticks, y_ticks, x, y, right, base, left, top) -> Markup:  # type: ignore[no-untyped-def]
    parts = []
    for value in x_ticks:
        parts.append(tag("line", x1=x(value), x2=x(value), y1=float(top), y2=float(base), class_="gridline"))
        parts.append(tag("text", f"{value:g}", x=x(value), y=base + 18.0, text_anchor="middle"))
    for value in y_ticks:
        parts.append(tag("line", x1=float(left), x2=float(right), y1=y(value), y2=y(value), class_="gridline"))
        parts.append(tag("text", f"{value:g}", x=left - 8.0, y=y(value) + 4, text_anchor="end"))
    parts.append(tag("line", x1=float(left), x2=float(right), y1=float(base), y2=float(base), class_="axis"))
    return Markup("").join(parts)


def _cross(mark: Mark, across: Cell, up: Cell, x, y, width: int) -> Markup:  # type: ignore[no-untyped-def]
    cx, cy = x(across.mean_value), y(up.mean_value)
    line = {"stroke": mark.colour, "stroke_width": 3.0, "stroke_opacity": 0.4, "stroke_linecap": "round"}
    near_edge = cx > width - 140
    return Markup("").join(
        [
            tag("line", x1=x(across.reach[0]), x2=x(across.reach[1]), y1=cy, y2=cy, **line),
            tag("line", x1=cx, x2=cx, y1=y(up.reach[0]), y2=y(up.reach[1]), **line),
            tag("circle", tag("title", f"{mark.name}: {across.mean}, {up.mean}"), cx=cx, cy=cy, r=7.0, fill=mark.colour, class_="halo"),  # fmt: skip
            tag("text", mark.name, x=cx + (-12.0 if near_edge else 12.0), y=cy - 10, class_="name", text_anchor="end" if near_edge else "start"),  # fmt: skip
        ]
    )


def distribution_plot(title: str, marks: Sequence[Mark], values: Sequence[Sequence[float]]) -> Markup:
    """A row per policy: a dot per episode, a box over the middle half, a bar at the median."""
    width, left, right, row, top = 480, 110, 16, 40, 8
    base = top + row * len(marks)
    everything = np.concatenate([np.asarray(v, dtype=np.float64) for v in values])
    ticks = nice_ticks(float(everything.min()), float(everything.max()), 4)

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (width - left - right)

    parts = []
    for value in ticks:
        parts.append(tag("line", x1=x(value), x2=x(value), y1=float(top), y2=float(base), class_="gridline"))
        parts.append(tag("text", f"{value:g}", x=x(value), y=base + 16.0, text_anchor="middle"))
    for index, (mark, numbers) in enumerate(zip(marks, values, strict=True)):
        middle = top + row * (index + 0.5)
        name = mark.name if len(mark.name) <= 14 else mark.name[:13] + "…"
        parts.append(tag("text", tag("title", mark.name) + Markup.escape(name), x=left - 10.0, y=middle + 4, text_anchor="end", class_="name"))  # fmt: skip
        parts.append(_row(mark, np.sort(np.asarray(numbers, dtype=np.float64)), middle, x))
    svg = Markup("").join(parts)
    return tag("svg", svg, viewBox=f"0 0 {width} {base + 24}", role="img", aria_label=f"{title} of every episode by policy")


def _row(mark: Mark, numbers, middle: float, x) -> Markup:  # type: ignore[no-untyped-def]
    if len(numbers) == 0:
        return Markup("")
    low, median, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    box = {"fill": mark.colour, "fill_opacity": 0.2}
    parts = [tag("rect", x=x(low), y=middle - 11, width=max(1.0, x(high) - x(low)), height=22.0, rx=4.0, **box)]
    shown = numbers if len(numbers) <= 300 else numbers[np.linspace(0, len(numbers) - 1, 300).astype(int)]
    for k, value in enumerate(shown):
        offset = ((k * 0.618034) % 1 - 0.5) * 16
        parts.append(tag("circle", cx=x(value), cy=middle + offset, r=2.2, fill=mark.colour, fill_opacity=0.75))
    parts.append(tag("line", x1=x(median), x2=x(median), y1=middle - 12, y2=middle + 12, stroke=mark.colour, stroke_width=3.0))
    return Markup("").join(parts)
