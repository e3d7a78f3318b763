"""How close a synthetic crowd comes to its recording, as distances between distributions.

``python -m tools.compare_synthetic`` prints the tables of ``docs/suites/socnav.md``; with ``--figure PATH`` it
also draws the figure: people over time, speeds and nearest neighbours at the five sites. Needs the recordings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance

from sidestep.simulation.crowd.synthetic import load_statistics
from sidestep.simulation.synthetic import generate_crowd
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Rules
from sidestep.types.scenario import SyntheticPlacement
from tools.synthetic_windows import (
    MOVING_MPS,
    STEP_S,
    WINDOWS,
    Seen,
    Window,
    observed,
    see_steps,
    see_tracks,
    window_tracks,
)

SECTORS = 12
"""Directions are counted in sectors of 30 degrees."""
FAR_M = 5.0
"""Nearest neighbours farther away count as this far."""
SEEDS = 10


@dataclass(frozen=True, eq=False)
class Look:
    """What is compared of a crowd."""

    speed: FloatArray  # m/s, every person at every look
    count: FloatArray  # (T,) people
    nearest: FloatArray  # m, centre to centre, every person who is not alone at every look
    direction: FloatArray  # (SECTORS,) share of the moving people
    routes: FloatArray  # (G²,) share of people by the gates nearest to where they appear and vanish


@dataclass(frozen=True)
class Closeness:
    """Distances between a recording and a synthetic crowd: W1 is Wasserstein-1, KS Kolmogorov–Smirnov, JS
    Jensen–Shannon (bits)."""

    speed_w1: float  # m/s
    speed_ks: float
    count_error: float  # people: mean |synthetic - recording| over time
    count_mean: float  # people in the recording, mean over time
    count_mean_synthetic: float
    nearest_w1: float  # m
    nearest_ks: float
    direction_js: float
    routes_js: float


def look_at(seen: Seen, gates: Sequence[Sequence[float]]) -> Look:
    """The distributions of one crowd."""
    known = np.isfinite(seen.speed)
    moving = known & (seen.speed >= MOVING_MPS)
    angle = np.arctan2(seen.velocity[..., 1][moving], seen.velocity[..., 0][moving])
    sector = np.floor((angle + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    return Look(
        speed=seen.speed[known],
        count=seen.present.sum(axis=1).astype(float),
        nearest=np.concatenate([np.zeros(0), *(_nearest(places) for places in seen.position)]),
        direction=np.bincount(sector, minlength=SECTORS) / max(len(sector), 1),
        routes=_routes(seen, gates),
    )


def _nearest(places: FloatArray) -> FloatArray:
    here = places[np.isfinite(places[:, 0])]
    if len(here) < 2:
        return np.zeros(0)
    gap = np.linalg.norm(here[:, None] - here[None], axis=2)
    np.fill_diagonal(gap, np.inf)
    nearest: FloatArray = np.minimum(gap.min(axis=1), FAR_M)
    return nearest


def _routes(seen: Seen, gates: Sequence[Sequence[float]]) -> FloatArray:
    boxes = np.array(gates)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    shares = np.zeros((len(centres), len(centres)))
    for person in range(seen.position.shape[1]):
        places = seen.position[seen.present[:, person], person]
        if len(places) > 1:
            first, last = (int(np.linalg.norm(centres - end, axis=1).argmin()) for end in (places[0], places[-1]))
            shares[first, last] += 1
    flat: FloatArray = shares.ravel() / max(shares.sum(), 1.0)
    return flat


def compare(recorded: Look, synthetic: Look) -> Closeness:
    """The distances between two looks."""
    return Closeness(
        speed_w1=float(wasserstein_distance(recorded.speed, synthetic.speed)),
        speed_ks=float(ks_2samp(recorded.speed, synthetic.speed).statistic),
        count_error=float(np.abs(recorded.count - synthetic.count).mean()),
        count_mean=float(recorded.count.mean()),
        count_mean_synthetic=float(synthetic.count.mean()),
        nearest_w1=float(wasserstein_distance(recorded.nearest, synthetic.nearest)),
        nearest_ks=float(ks_2samp(recorded.nearest, synthetic.nearest).statistic),
        direction_js=_js(recorded.direction, synthetic.direction),
        routes_js=_js(recorded.routes, synthetic.routes),
    )


def _js(one: FloatArray, other: FloatArray) -> float:
    return float(jensenshannon(one, other, base=2) ** 2)


def recorded_look(window: Window) -> Look:
    """The recording in the window."""
    tracks, start = window_tracks(window)
    return look_at(
        _observed_part(window, see_tracks(tracks, start, window.duration_s)), load_statistics(window.name).gates
    )


def _observed_part(window: Window, seen: Seen) -> Seen:
    """Only the looks at which the recording says who is there."""
    times = load_statistics(window.name).start_s + STEP_S * np.arange(len(seen.position))
    known = observed(window.recording, times)
    return Seen(seen.position[known], seen.velocity[known])


def synthetic_look(window: Window, seed: int) -> Look:
    """One synthetic crowd of the window."""
    rules = Rules(time_limit_s=window.duration_s)
    tracks, _, _ = generate_crowd(SyntheticPlacement(statistics=window.name), rules, "closeness", window.name, seed, 0)
    return look_at(_observed_part(window, see_steps(tracks, rules.step_s)), load_statistics(window.name).gates)


def window_closeness(window: Window, seeds: Iterable[int] = range(SEEDS)) -> Closeness:
    """Mean distances of the window's synthetic crowds under several seeds."""
    recorded = recorded_look(window)
    found = [compare(recorded, synthetic_look(window, seed)) for seed in seeds]
    return _mean(found)


def _mean(found: Sequence[Closeness]) -> Closeness:
    names = Closeness.__dataclass_fields__
    return Closeness(**{name: float(np.mean([getattr(one, name) for one in found])) for name in names})


def between_recordings() -> Closeness:
    """A yardstick: the same distances between windows of the same recording that do not overlap."""
    found = []
    for one in WINDOWS:
        for other in WINDOWS:
            apart = abs(load_statistics(one.name).start_s - load_statistics(other.name).start_s)
            if one.placement == other.placement and apart >= max(one.duration_s, other.duration_s):
                found.append(_compare_unequal(one, other))
    return _mean(found)


def _compare_unequal(one: Window, other: Window) -> Closeness:
    """Two recorded windows, of which different parts may have been observed."""
    first, second = recorded_look(one), recorded_look(other)
    common = min(len(first.count), len(second.count))
    cut = [replace(look, count=look.count[:common]) for look in (first, second)]
    return compare(cut[0], cut[1])


HEAD = (
    "| {what} | people, recording | people, synthetic | people, mean error | speed W1 (m/s) | speed KS "
    "| nearest W1 (m) | nearest KS | direction JS (bit) | routes JS (bit) |\n|---|---|---|---|---|---|---|---|---|---|"
)


def table(what: str, rows: dict[str, Closeness]) -> str:
    """Markdown."""
    lines = [HEAD.format(what=what)]
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row.count_mean:.1f} | {row.count_mean_synthetic:.1f} | {row.count_error:.1f} "
            f"| {row.speed_w1:.2f} | {row.speed_ks:.2f} | {row.nearest_w1:.2f} | {row.nearest_ks:.2f} "
            f"| {row.direction_js:.2f} | {row.routes_js:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print both tables; draw the figure if asked to."""
    parser = argparse.ArgumentParser(description="How close synthetic crowds come to their recordings.")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    rows = {f"`{window.name}`": window_closeness(window, range(options.seeds)) for window in WINDOWS}
    sites = dict.fromkeys(window.site for window in WINDOWS)
    by_site = {
        f"`{site}`": _mean([rows[f"`{window.name}`"] for window in WINDOWS if window.site == site]) for site in sites
    }
    whole = {"all windows": _mean(list(rows.values())), "another recorded window": between_recordings()}
    print(table("site", by_site | whole), "\n")
    print(table("window", rows))
    if options.figure:
        draw_figure(options.figure, range(options.seeds))


RECORDED, SYNTHETIC = "#1f2937", "#d9622b"


def draw_figure(path: Path, seeds: Iterable[int]) -> None:
    """One column per site, its first window that lasts; statistics only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    chosen = _one_window_per_site()
    seeds = list(seeds)
    figure, axes = plt.subplots(3, len(chosen), figsize=(13, 6.4), constrained_layout=True)
    for column, window in zip(axes.T, chosen, strict=True):
        recorded, synthetic = recorded_look(window), [synthetic_look(window, seed) for seed in seeds]
        column[0].set_title(f"{window.site}\n{window.name}", fontsize=9)
        _people(column[0], recorded, synthetic)
        _shares(column[1], recorded.speed, [each.speed for each in synthetic], 2.5)
        _shares(column[2], recorded.nearest, [each.nearest for each in synthetic], FAR_M)
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


def _people(axis: Any, recorded: Look, synthetic: list[Look]) -> None:
    time = STEP_S * np.arange(len(recorded.count))
    counts = np.array([each.count for each in synthetic])
    axis.fill_between(time, counts.min(axis=0), counts.max(axis=0), color=SYNTHETIC, alpha=0.25, lw=0)
    axis.plot(time, counts.mean(axis=0), color=SYNTHETIC, label=f"{len(synthetic)} synthetic crowds: mean, range")
    axis.plot(time, recorded.count, color=RECORDED, label="recording")
    axis.set_ylim(bottom=0)


def _shares(axis: Any, recorded: np.ndarray[Any, Any], synthetic: list[Any], limit: float) -> None:
    grid = np.linspace(0.0, limit, 120)
    for values, colour, width in (*((each, SYNTHETIC, 0.7) for each in synthetic), (recorded, RECORDED, 1.6)):
        share = np.searchsorted(np.sort(values), grid, side="right") / max(len(values), 1)
        axis.plot(grid, share, color=colour, lw=width)
    axis.set_ylim(0, 1)


if __name__ == "__main__":
    main()
