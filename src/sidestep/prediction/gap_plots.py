"""Pictures of human driving: the distribution of minimum time gaps, and single encounters over time."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from sidestep.prediction.gaps import BIN_S, LONGEST_S, GapSummary, Scene
from sidestep.report.plots import INK, QUIET, STYLE, new_figure, tidy

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
