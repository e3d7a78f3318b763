"""Pictures of prediction metrics: ROC curves with bands, the toy example, the distribution of minimum time gaps, and
single encounters over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sidestep.prediction import toy
from sidestep.prediction.bootstrap import RocBand
from sidestep.prediction.gaps import BIN_S, LONGEST_S, GapSummary, Scene
from sidestep.render.top_view import palette
from sidestep.report.plots import INK, QUIET, STYLE, new_figure, tidy
from sidestep.types.base import FloatArray

COLOURS = ("#1f6fb4", "#d9822b", "#3a8f5c", "#8e5bb0", "#c0392b", "#5f6b7a", "#b8a11e", "#1aa3a3")
"""Colours of predictors, in their order."""
MOST_FPR = 0.3
"""False positive rates above this one are of no use to a driver."""
_ROAD, _SIDEWALK, _ZEBRA, _CONTOUR = "#d5d8dd", "#9aa1ab", "#ffffff", "#7a3fa0"


def roc_plots(bands: Mapping[str, Sequence[RocBand]], horizons_s: FloatArray, target_fpr: FloatArray) -> Figure:
    """One panel for each horizon: true over false positive rate of all predictors with their 50 % bands (Fig. 11);
    dashed: the false positive rate of the IRS."""
    with matplotlib.rc_context(STYLE):
        count = len(horizons_s)
        figure, axes = new_figure(3.1 * count, 3.4, 1, count, sharey=True)
        for h, panel in enumerate(axes[0]):
            tidy(panel, "both")
            for number, (name, curves) in enumerate(bands.items()):
                colour, band = COLOURS[number % len(COLOURS)], curves[h]
                panel.fill_between(band.fpr, band.low, band.high, color=colour, alpha=0.18, linewidth=0)
                panel.plot(band.fpr, band.tpr, color=colour, linewidth=1.4, label=name)
            panel.axvline(float(target_fpr[h]), color=INK, linestyle="--", linewidth=0.9)
            panel.set_title(f"{horizons_s[h]:g} s", loc="left", fontsize=11)
            panel.set_xlim(0.0, MOST_FPR)
            panel.set_ylim(0.0, 1.01)
            panel.set_xlabel("false positive rate")
            if not any(np.isfinite(curves[h].tpr).any() for curves in bands.values()):
                panel.text(0.5, 0.5, "no positives", transform=panel.transAxes, ha="center", color=QUIET)
        axes[0, 0].set_ylabel("true positive rate")
        axes[0, 0].legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def toy_picture(result: toy.ToyResult) -> Figure:
    """The four models of the toy example, each with its metrics (Fig. 9)."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(10.0, 7.0, 2, 2)
        for number, (panel, model) in enumerate(zip(axes.ravel(), toy.MODELS, strict=True)):
            _draw_model(panel, model)
            values = [float(result.bootstrap.metrics[name].value[number, 0]) for name in ("nll", "ade", "irs")]
            panel.set_title(f"({'abcd'[number]}) {model}", loc="left", fontsize=11)
            caption = f"NLL ↓ {values[0]:.3f}    ADE ↓ {values[1]:.3f} m    IRS ↑ {100 * values[2]:.1f} %"
            panel.set_xlabel(caption, loc="left", color=INK)
    return figure


def _draw_model(panel: Any, model: str) -> None:
    (left, right), (low, high) = toy.EXTENT_X, toy.STREET_Y
    for bottom, height, colour in (
        (low - toy.SIDEWALK_M, toy.SIDEWALK_M, _SIDEWALK), (low, high - low, _ROAD), (high, toy.SIDEWALK_M, _SIDEWALK)
    ):  # fmt: skip
        panel.add_patch(Rectangle((left, bottom), right - left, height, color=colour, linewidth=0, zorder=0))
    begin, end = toy.ZEBRA_X
    for y in np.arange(low + 0.25, high, 1.0):
        panel.add_patch(Rectangle((begin, y), end - begin, 0.5, color=_ZEBRA, linewidth=0, zorder=0.5))
    grid_x, grid_y = np.meshgrid(np.linspace(left, right, 320), np.linspace(low - 4.0, high + 4.0, 220))
    density = np.zeros(grid_x.shape)
    for (mx, my), (sx, sy), weight in toy.MODELS[model]:
        square = ((grid_x - mx) / sx) ** 2 + ((grid_y - my) / sy) ** 2
        density += weight / (2 * np.pi * sx * sy) * np.exp(-0.5 * square)
    panel.contour(grid_x, grid_y, density, levels=[0.005, 0.015, 0.04, 0.08, 0.12], colors=_CONTOUR, linewidths=1.1)
    example = toy.zones()[len(toy.zones()) // 8]
    panel.add_patch(
        matplotlib.patches.Polygon(example, fill=False, edgecolor=palette.hexadecimal(palette.COLLISION), zorder=2)
    )
    panel.annotate(
        "", *[toy.WALKED[k] for k in (1, 0)], arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.8}
    )
    panel.set_xlim(left, right)
    panel.set_ylim(low - toy.SIDEWALK_M, high + toy.SIDEWALK_M)
    panel.set_aspect("equal")
    panel.set_xticks([])
    panel.set_yticks([])


BLUE, RED, GREEN = "#2f6db3", "#c0392b", "#3a8f5c"


def gap_distribution(summary: GapSummary, title: str) -> Figure:
    """Number of encounters per 0.1 s of minimum time gap, and the cumulative curve with its quartiles (Fig. 6)."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(6.4, 3.8)
        bars = axes[0, 0]
        tidy(bars)
        bars.bar(
            BIN_S * np.arange(len(summary.counts)),
            summary.counts,
            BIN_S,
            align="edge",
            color=BLUE,
            alpha=0.65,
            linewidth=0,
        )
        bars.set_xlabel("minimum time gap (s)")
        bars.set_ylabel("encounters", color=BLUE)
        bars.set_xlim(0.0, LONGEST_S)
        curve = bars.twinx()
        curve.spines[["top", "left"]].set_visible(False)
        share = np.arange(1, len(summary.gaps) + 1) / max(summary.encounters, 1)
        curve.step(
            [0.0, *summary.gaps, np.inf], [0.0, *share, share[-1] if len(share) else 0.0], where="post", color=RED
        )
        curve.set_ylim(0.0, 1.02)
        curve.set_ylabel("share of encounters", color=RED)
        for level, gap in zip((0.25, 0.5, 0.75), summary.quartiles, strict=True):
            if gap is not None and gap <= LONGEST_S:
                curve.plot([gap, gap], [0.0, level], color=INK, linewidth=0.8, linestyle="--")
                curve.annotate(f"{gap:.2f} s", (gap, level), (5, -9), textcoords="offset points", fontsize=8.5)
        notes = [
            f"{summary.encounters} encounters",
            f"{summary.longer} above {LONGEST_S:g} s",
            f"{summary.without_gap} with a standing vehicle",
        ]
        bars.set_title(f"{title}\n", loc="left", fontsize=11)
        bars.text(0.0, 1.02, ", ".join(notes), transform=bars.transAxes, color=QUIET, fontsize=8.5)
    return figure


def scene_plots(scenes: Sequence[Scene], titles: Sequence[str]) -> Figure:
    """Speed and time to collision over time, one panel per encounter (Fig. 5); dashed: without braking."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new_figure(5.0 * len(scenes), 3.8, 1, len(scenes))
        for panel, scene, title in zip(axes[0], scenes, titles, strict=True):
            _draw_scene(panel, scene, title)
    return figure


def _draw_scene(panel: matplotlib.axes.Axes, scene: Scene, title: str) -> None:
    tidy(panel)
    panel.plot(scene.time, 3.6 * scene.speed, color=GREEN)
    panel.set_ylim(0.0, 1.15 * 3.6 * float(scene.speed.max()))
    panel.set_xlabel("time (s)")
    panel.set_ylabel("speed (km/h)", color=GREEN)
    gaps = panel.twinx()
    gaps.spines[["top", "left"]].set_visible(False)
    gaps.plot(scene.time, scene.gap, color=BLUE, label="TTC")
    gaps.plot(scene.time, scene.gap_unbraked, color=BLUE, linestyle="--", linewidth=1.0, label="TTC without braking")
    shown = np.concatenate([scene.gap, scene.gap_unbraked])
    gaps.set_ylim(0.0, 1.1 * min(float(np.nanmax(shown)), 12.0))
    gaps.set_ylabel("time to collision (s)", color=BLUE)
    for time, text in ((scene.enter, "enters"), (scene.leave, "leaves")):
        panel.axvline(time, color=QUIET, linestyle="--", linewidth=0.9)
        panel.annotate(
            text, (time, 0.95), (3, 0), xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8
        )
    gaps.legend(loc="lower left", bbox_to_anchor=(0.0, 0.06), framealpha=0.9, edgecolor="none", fontsize=8)
    panel.set_title(title, loc="left", fontsize=11)
