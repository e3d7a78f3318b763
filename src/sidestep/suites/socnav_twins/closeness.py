"""How close a twin comes to its recording, as distances between distributions.

``python -m sidestep.suites.socnav_twins.closeness`` prints the tables of ``docs/suites/socnav_twins.md``; with
``--figure PATH`` it also draws the figure. Needs the recordings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance

from sidestep.crowd.twins import load_twin
from sidestep.simulation.twins import generate_twin
from sidestep.suites.socnav_twins.observe import MOVING_MPS, Seen, see_steps, see_tracks
from sidestep.suites.socnav_twins.windows import STEP_S, WINDOWS, Window, observed, window_tracks
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Rules
from sidestep.types.scenario import TwinPlacement

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
    ways: FloatArray  # (G²,) share of people by the gates nearest to where they appear and vanish


@dataclass(frozen=True)
class Closeness:
    """Distances between recording and twin. W1 is Wasserstein-1, KS Kolmogorov–Smirnov, JS Jensen–Shannon (bits)."""

    speed_w1: float  # m/s
    speed_ks: float
    count_error: float  # people: mean |twin - recording| over time
    count_mean: float  # people in the recording, mean over time
    count_mean_twin: float
    nearest_w1: float  # m
    nearest_ks: float
    direction_js: float
    ways_js: float


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
        ways=_ways(seen, gates),
    )


def _nearest(places: FloatArray) -> FloatArray:
    here = places[np.isfinite(places[:, 0])]
    if len(here) < 2:
        return np.zeros(0)
    gap = np.linalg.norm(here[:, None] - here[None], axis=2)
    np.fill_diagonal(gap, np.inf)
    nearest: FloatArray = np.minimum(gap.min(axis=1), FAR_M)
    return nearest


def _ways(seen: Seen, gates: Sequence[Sequence[float]]) -> FloatArray:
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


def compare(recorded: Look, twin: Look) -> Closeness:
    """The distances between two looks."""
    return Closeness(
        speed_w1=float(wasserstein_distance(recorded.speed, twin.speed)),
        speed_ks=float(ks_2samp(recorded.speed, twin.speed).statistic),
        count_error=float(np.abs(recorded.count - twin.count).mean()),
        count_mean=float(recorded.count.mean()),
        count_mean_twin=float(twin.count.mean()),
        nearest_w1=float(wasserstein_distance(recorded.nearest, twin.nearest)),
        nearest_ks=float(ks_2samp(recorded.nearest, twin.nearest).statistic),
        direction_js=_js(recorded.direction, twin.direction),
        ways_js=_js(recorded.ways, twin.ways),
    )


def _js(one: FloatArray, other: FloatArray) -> float:
    return float(jensenshannon(one, other, base=2) ** 2)


def recorded_look(window: Window) -> Look:
    """The recording in the window."""
    tracks, start = window_tracks(window)
    return look_at(_observed_part(window, see_tracks(tracks, start, window.duration_s)), load_twin(window.name).gates)


def _observed_part(window: Window, seen: Seen) -> Seen:
    """Only the looks at which the recording says who is there."""
    times = load_twin(window.name).start_s + STEP_S * np.arange(len(seen.position))
    known = observed(window.recording, times)
    return Seen(seen.position[known], seen.velocity[known])


def twin_look(window: Window, seed: int) -> Look:
    """One twin of the window."""
    rules = Rules(time_limit_s=window.duration_s)
    tracks, _, _ = generate_twin(TwinPlacement(twin=window.name), rules, "closeness", window.name, seed, 0)
    return look_at(_observed_part(window, see_steps(tracks, rules.step_s)), load_twin(window.name).gates)


def window_closeness(window: Window, seeds: Iterable[int] = range(SEEDS)) -> Closeness:
    """Mean distances of the window's twins under several seeds."""
    recorded = recorded_look(window)
    found = [compare(recorded, twin_look(window, seed)) for seed in seeds]
    return _mean(found)


def _mean(found: Sequence[Closeness]) -> Closeness:
    names = Closeness.__dataclass_fields__
    return Closeness(**{name: float(np.mean([getattr(one, name) for one in found])) for name in names})


def between_recordings() -> Closeness:
    """A yardstick: the same distances between windows of the same recording that do not overlap."""
    found = []
    for one in WINDOWS:
        for other in WINDOWS:
            apart = abs(load_twin(one.name).start_s - load_twin(other.name).start_s)
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
    "| {what} | people, recording | people, twin | people, mean error | speed W1 (m/s) | speed KS | nearest W1 (m) "
    "| nearest KS | direction JS (bit) | ways JS (bit) |\n|---|---|---|---|---|---|---|---|---|---|"
)


def table(what: str, rows: dict[str, Closeness]) -> str:
    """Markdown."""
    lines = [HEAD.format(what=what)]
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row.count_mean:.1f} | {row.count_mean_twin:.1f} | {row.count_error:.1f} "
            f"| {row.speed_w1:.2f} | {row.speed_ks:.2f} | {row.nearest_w1:.2f} | {row.nearest_ks:.2f} "
            f"| {row.direction_js:.2f} | {row.ways_js:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print both tables; draw the figure if asked to."""
    parser = argparse.ArgumentParser(description="How close the twins come to their recordings.")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    rows = {f"`{window.name}`": window_closeness(window, range(options.seeds)) for window in WINDOWS}
    sites = dict.fromkeys(window.site for window in WINDOWS)
    by_site = {
        f"`{site}`": _mean([rows[f"`{window.name}`"] for window in WINDOWS if window.site == site]) for site in sites
    }
    whole = {"all windows": _mean(list(rows.values())), "another recorded window instead": between_recordings()}
    print(table("site", by_site | whole), "\n")
    print(table("window", rows))
    if options.figure:
        from sidestep.suites.socnav_twins.figure import draw_figure

        draw_figure(options.figure, range(options.seeds))


if __name__ == "__main__":
    main()
