"""Reduce a window of a recording to the statistics of its synthetic crowd: ``python -m tools.fit_synthetic``.

The method knows nothing of the places: gates are clusters of the points where people of the whole recording appear
and vanish; people who walk together are found from their tracks; everything else is counted in the window.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.cluster.hierarchy import fcluster, linkage

from sidestep.simulation.crowd.synthetic import QUANTILES, SUFFIX, CrowdStatistics
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.tracks import Tracks
from tools.synthetic_windows import (
    MOVING_MPS,
    STEP_S,
    WINDOWS,
    Seen,
    Window,
    find_breaks,
    observed,
    placed_recording,
    see_tracks,
    window_tracks,
)

TOGETHER_S = 2.0
NEAR_M = 1.5
ALIKE_MPS = 0.3


def find_parties(position: FloatArray, velocity: FloatArray, step_s: float) -> IntArray:
    """Party number of each of N people, from positions and velocities (T, N, 2), NaN when absent.

    Two people belong together when they share at least 2 s and two thirds of the shorter presence, during which they
    are less than 1.5 m apart nine tenths of the time and their mean velocities differ by less than 0.3 m/s; parties are
    chains of such pairs.
    """
    count = position.shape[1]
    party = np.arange(count)
    here = np.isfinite(velocity[:, :, 0])
    for i in range(count):
        for j in range(i + 1, count):
            both = here[:, i] & here[:, j]
            shared = both.sum()
            if shared * step_s < TOGETHER_S or 1.5 * shared < min(here[:, i].sum(), here[:, j].sum()):
                continue
            apart = np.quantile(np.linalg.norm(position[both, i] - position[both, j], axis=1), 0.9)
            unlike = np.linalg.norm((velocity[both, i] - velocity[both, j]).mean(axis=0))
            if apart < NEAR_M and unlike < ALIKE_MPS:
                party[party == party[j]] = party[i]
    numbers: IntArray = np.unique(party, return_inverse=True)[1]
    return numbers


BIN_S = 5.0
GATE_M = 5.0
"""Points of one gate are nowhere farther apart than this."""
GATE_SHARE = 0.02
"""Clusters with a smaller share of the points join the nearest gate."""
STANDS_SHARE = 0.8
"""Who stands for more than this share of the time is a standing person, not a walking one."""
PAUSE_S = 1.2
"""Standing for a shorter time is no pause."""
SMOOTH_S = 1.0
"""Deviations of the speed that last shorter are noise of the annotation; the synthetic crowd has slower ones of the
same size."""
POOL = 5
"""A flow's speeds count as so many more people of the window's mean and spread."""


def fit_window(window: Window) -> CrowdStatistics:
    """The statistics of ``window``."""
    tracks, start = window_tracks(window)
    seen = see_tracks(tracks, start, window.duration_s)
    there = np.isfinite(seen.speed).any(axis=0)
    seen = Seen(seen.position[:, there], seen.velocity[:, there])
    first, last = _ends(tracks)
    begins, entry, leaving = first[0][there] - start, first[1][there], last[1][there]
    party = find_parties(seen.position, seen.velocity, STEP_S)
    stands = _stopped_share(seen) > STANDS_SHARE
    gates = _find_gates(window)
    centres = np.array([points.mean(axis=0) for points in gates])
    cut_start, cut_end = (values[there] for values in _cut_by_recording(window, first[0], last[0]))
    way = leaving - entry
    origin = np.where(cut_start, _gate_along(entry, -way, centres), _nearest_gate(entry, centres))
    destination = np.where(cut_end, _gate_along(leaving, way, centres), _nearest_gate(leaving, centres))
    walking = ~stands
    come = begins > 0.5 * STEP_S
    early = walking & ~come
    place = seen.position[0]
    done = np.linalg.norm(place - centres[origin], axis=1)
    progress = done / np.maximum(done + np.linalg.norm(place - centres[destination], axis=1), 0.1)
    data: dict[str, Any] = {
        "name": window.name,
        "site": window.site,
        "recording": window.recording,
        "start_s": _short(start),
        "duration_s": window.duration_s,
        "bin_s": BIN_S,
        "at_start": int(early.sum()),
        "progress_at_start": _short(progress[early].mean() if early.any() else 0.0),
        "arrivals": _arrivals(window, start, begins[come & ~cut_start]),
        "gates": [_box(points) for points in gates],
        "flows": _flows(origin, destination, _walking_speed(seen), walking),
        "party_sizes": _party_sizes(party[walking]),
        "spacing": _spacing(seen, party),
        **_pauses(seen, party, walking),
        **_wobble(seen, walking),
        "standing": _standing(seen, stands, come),
    }
    return CrowdStatistics.parse(data, f"fit of {window.name}")


def _ends(tracks: Tracks) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Time (N,) and place (N, 2) of everybody's first and of everybody's last annotation."""
    people = tracks.people
    first = np.searchsorted(tracks.person, people, side="left")
    last = np.searchsorted(tracks.person, people, side="right") - 1
    return (tracks.time[first], tracks.position[first]), (tracks.time[last], tracks.position[last])


def _stopped_share(seen: Seen) -> FloatArray:
    known = np.isfinite(seen.speed)
    share: FloatArray = ((seen.speed < MOVING_MPS) & known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return share


def _walking_speed(seen: Seen) -> FloatArray:
    """(N,) mean speed while moving, m/s; NaN for who never moves."""
    moving = np.where(seen.speed >= MOVING_MPS, seen.speed, np.nan)
    count = np.isfinite(moving).sum(axis=0)
    mean: FloatArray = np.where(count > 0, np.nansum(moving, axis=0) / np.maximum(count, 1), np.nan)
    return mean


def _find_gates(window: Window) -> list[FloatArray]:
    """Clusters of the ends of all walking people's tracks in the whole recording; ends cut off by it do not count."""
    first, last = _ends(placed_recording(window.site, window.placement))
    cut_start, cut_end = _cut_by_recording(window, first[0], last[0])
    walks = np.linalg.norm(last[1] - first[1], axis=1) > GATE_M
    points = np.concatenate([first[1][walks & ~cut_start], last[1][walks & ~cut_end]])
    label = fcluster(linkage(points, "complete"), GATE_M, "distance")
    sizes = Counter(label.tolist())
    large = sorted(number for number, count in sizes.items() if count >= GATE_SHARE * len(points))
    return [points[label == number] for number in large]


def _cut_by_recording(window: Window, begins: FloatArray, ends: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Whose track begins only because the recording does, or goes on after a break, and whose ends with it."""
    breaks = find_breaks(window.recording)
    starts, stops = np.array([end for _, end in breaks]), np.array([begin for begin, _ in breaks])
    return _near_any(begins, starts), _near_any(ends, stops)


def _near_any(times: FloatArray, marks: FloatArray) -> BoolArray:
    return np.asarray((np.abs(times[:, None] - marks[None]) <= STEP_S).any(axis=1), bool)


def _nearest_gate(places: FloatArray, centres: FloatArray) -> IntArray:
    nearest: IntArray = np.linalg.norm(places[:, None] - centres[None], axis=2).argmin(axis=1)
    return nearest


def _gate_along(places: FloatArray, direction: FloatArray, centres: FloatArray) -> IntArray:
    """The gate that lies most nearly in ``direction`` from each place."""
    to_gate = centres[None] - places[:, None]
    cosine = (to_gate * direction[:, None]).sum(axis=2) / np.maximum(np.linalg.norm(to_gate, axis=2), 0.1)
    best: IntArray = cosine.argmax(axis=1)
    return best


def _arrivals(window: Window, start: float, times: FloatArray) -> list[float]:
    """People per bin; a bin of which less than half was observed has the mean rate of the observed time."""
    edges = np.arange(0.0, window.duration_s + BIN_S / 2, BIN_S)
    count = np.histogram(times, bins=edges)[0]
    fine = np.arange(0.0, window.duration_s, 0.1) + 0.05
    known = observed(window.recording, start + fine).reshape(len(count), -1).mean(axis=1)
    mean = count.sum() / known.sum()
    return [_short(n / k if k >= 0.5 else mean) for n, k in zip(count, known, strict=True)]


def _flows(origin: IntArray, destination: IntArray, speed: FloatArray, walking: BoolArray) -> list[dict[str, Any]]:
    """Shares and speeds of the pairs of gates. A flow of few people leans on the window's mean and spread."""
    known = walking & np.isfinite(speed)
    mean, spread = float(speed[known].mean()), float(speed[known].std())
    flows = []
    for pair, count in sorted(Counter(zip(origin[known].tolist(), destination[known].tolist(), strict=True)).items()):
        own = speed[known & (origin == pair[0]) & (destination == pair[1])]
        pooled = (own.sum() + POOL * mean) / (count + POOL)
        variance = (((own - pooled) ** 2).sum() + POOL * spread**2) / (count + POOL)
        flows.append(
            {
                "origin": pair[0],
                "destination": pair[1],
                "share": _short(count / known.sum()),
                "speed_mean": _short(pooled),
                "speed_sd": _short(np.sqrt(variance)),
            }
        )
    return flows


def _party_sizes(party: IntArray) -> list[float]:
    sizes = np.unique(party, return_counts=True)[1]
    return [_short((sizes == size).mean()) for size in range(1, sizes.max() + 1)]


def _spacing(seen: Seen, party: IntArray) -> dict[str, float]:
    """The nearest companion of every moving party member: how far, and how much of it across the walking direction."""
    distance, across = [], []
    for t in range(len(seen.position)):
        for i in np.flatnonzero(seen.speed[t] >= MOVING_MPS):
            company = np.flatnonzero((party == party[i]) & seen.present[t])
            company = company[company != i]
            if not len(company):
                continue
            gap = seen.position[t, company] - seen.position[t, i]
            near = gap[np.linalg.norm(gap, axis=1).argmin()]
            forward = seen.velocity[t, i] / seen.speed[t, i]
            distance.append(max(float(np.linalg.norm(near)), 0.01))
            across.append(abs(near[1] * forward[0] - near[0] * forward[1]) / distance[-1])
    if not distance:
        return {}
    return {
        "distance_mean": _short(np.mean(distance)),
        "distance_sd": _short(np.std(distance)),
        "abreast": _short(np.mean(across)),
    }


def _pauses(seen: Seen, party: IntArray, walking: BoolArray) -> dict[str, Any]:
    """How many walking parties stop, and for how long altogether."""
    stopped = ((seen.speed < MOVING_MPS).sum(axis=0) * STEP_S)[walking]
    numbers = np.unique(party[walking])
    length = np.array([stopped[party[walking] == number].mean() for number in numbers])
    pausing = length >= PAUSE_S
    return {"pause_share": _short(pausing.mean()), "pause_s": _quantiles(length[pausing])}


def _wobble(seen: Seen, walking: BoolArray) -> dict[str, float]:
    """Spread of the speed of moving people about their own mean, and how long a deviation lasts."""
    speed = np.where((seen.speed >= MOVING_MPS) & walking, seen.speed, np.nan)
    count = np.isfinite(speed).sum(axis=0)
    mean = np.nansum(speed, axis=0) / np.maximum(count, 1)
    off = np.where(count > 2, speed / np.maximum(mean, MOVING_MPS) - 1.0, np.nan)
    sd = float(np.nanstd(off))
    again = float(np.nanmean(off[1:] * off[:-1]) / max(sd**2, 1e-9))
    lasting = max(-STEP_S / np.log(min(max(again, 0.1), 0.95)), SMOOTH_S)
    return {"speed_wobble": _short(min(sd, 1.0)), "wobble_s": _short(lasting)}


def _standing(seen: Seen, stands: BoolArray, come: BoolArray) -> dict[str, Any]:
    if not stands.any():
        return {}
    places = np.nanmean(seen.position[:, stands], axis=0)
    label = fcluster(linkage(places, "complete"), GATE_M, "distance") if len(places) > 1 else np.ones(1, int)
    stay = seen.present[:, stands].sum(axis=0) * STEP_S
    return {
        "at_start": int((stands & ~come).sum()),
        "share": _short((stands & come).sum() / max(come.sum(), 1)),
        "stay_s": _quantiles(stay),
        "places": [
            {"box": _box(places[label == number]), "share": _short((label == number).mean())}
            for number in np.unique(label)
        ],
    }


def _quantiles(values: FloatArray) -> list[float]:
    return [_short(value) for value in np.quantile(values, QUANTILES)] if len(values) else [0.0] * len(QUANTILES)


def _box(points: FloatArray) -> list[float]:
    """The box of the middle nine tenths of the points, out to the next half metre, so that it is nobody's own place."""
    low = np.floor(2 * np.quantile(points, 0.05, axis=0)) / 2
    high = np.maximum(np.ceil(2 * np.quantile(points, 0.95, axis=0)) / 2, low + 0.5)
    return [float(value) for value in (*low, *high)]


def _short(value: Any) -> float:
    return round(float(value), 3)


def write_statistics(folder: Path) -> list[Path]:
    """Fit every window and write one file each."""
    written = []
    for window in WINDOWS:
        statistics = fit_window(window).model_dump(mode="json")
        head = f"# Fitted by `python -m tools.fit_synthetic` to {window.recording}; counts and means only.\n"
        path = folder / (window.name + SUFFIX)
        text = yaml.safe_dump(statistics, sort_keys=False, default_flow_style=None, width=118)
        path.write_text(head + text, encoding="utf-8")
        written.append(path)
    return written


def main() -> None:
    """Write the files of statistics into the package."""
    for path in write_statistics(Path(str(files("sidestep.simulation.crowd.synthetic")))):
        print(path.name)


if __name__ == "__main__":
    main()
