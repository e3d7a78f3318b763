"""Recording and twins side by side: people over time, speeds and nearest neighbours at the five sites."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.suites.socnav_twins.closeness import FAR_M, Look, recorded_look, twin_look
from sidestep.suites.socnav_twins.windows import STEP_S, WINDOWS, Window

RECORDED, TWIN = "#1f2937", "#d9622b"


def draw_figure(path: Path, seeds: Iterable[int]) -> None:
    """One column per site, its first window that lasts; statistics only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    chosen = _one_window_per_site()
    seeds = list(seeds)
    figure, axes = plt.subplots(3, len(chosen), figsize=(13, 6.4), constrained_layout=True)
    for column, window in zip(axes.T, chosen, strict=True):
        recorded, twins = recorded_look(window), [twin_look(window, seed) for seed in seeds]
        column[0].set_title(f"{window.site}\n{window.name}", fontsize=9)
        _people(column[0], recorded, twins)
        _shares(column[1], recorded.speed, [twin.speed for twin in twins], 2.5)
        _shares(column[2], recorded.nearest, [twin.nearest for twin in twins], FAR_M)
        column[0].set_xlabel("time (s)", fontsize=8)
        column[1].set_xlabel("speed (m/s)", fontsize=8)
        column[2].set_xlabel("nearest neighbour (m)", fontsize=8)
        for axis in column:
            axis.tick_params(labelsize=7)
    axes[0, 0].set_ylabel("people", fontsize=8)
    axes[1, 0].set_ylabel("share of looks below", fontsize=8)
    axes[2, 0].set_ylabel("share of looks below", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _one_window_per_site() -> list[Window]:
    sites: dict[str, Window] = {}
    for window in WINDOWS:
        sites.setdefault(window.site, window)
    return list(sites.values())


def _people(axis: Any, recorded: Look, twins: list[Look]) -> None:
    time = STEP_S * np.arange(len(recorded.count))
    counts = np.array([twin.count for twin in twins])
    axis.fill_between(time, counts.min(axis=0), counts.max(axis=0), color=TWIN, alpha=0.25, lw=0)
    axis.plot(time, counts.mean(axis=0), color=TWIN, label=f"{len(twins)} twins: mean, range")
    axis.plot(time, recorded.count, color=RECORDED, label="recording")
    axis.set_ylim(bottom=0)


def _shares(axis: Any, recorded: np.ndarray[Any, Any], twins: list[Any], limit: float) -> None:
    grid = np.linspace(0.0, limit, 120)
    for values, colour, width in (*((twin, TWIN, 0.7) for twin in twins), (recorded, RECORDED, 1.6)):
        share = np.searchsorted(np.sort(values), grid, side="right") / max(len(values), 1)
        axis.plot(grid, share, color=colour, lw=width)
    axis.set_ylim(0, 1)
