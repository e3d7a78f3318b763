"""Pictures of forecasts on the semantic map: drawn paths at 1, 2, 3 and 4 s, what happened, and the vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep._util.writing import atomic
from sidestep.errors import BadInput
from sidestep.prediction.data.samples import Samples
from sidestep.prediction.forecasts import choose_forecast
from sidestep.prediction.ground import crop_ground
from sidestep.types.base import FloatArray
from sidestep.types.forecast import Forecast
from sidestep.types.interactions import GROUND

HORIZON_COLOURS = ("#40d0c8", "#2f6fe0", "#7a3fd0", "#e03fc0")
"""Turquoise, blue, purple, magenta: 1, 2, 3, 4 s."""
GROUND_COLOURS = {
    "unknown": "#f4f4f4", "road": "#cfcfcf", "sidewalk": "#9a9a9a", "zebra": "#cdb8ee", "island": "#b9b39a",
    "building": "#6d5f58", "bicycle": "#d9a59a", "grass": "#bcd3ae",
}  # fmt: skip
SPAN_M = 25.6
CELLS = 256
PATHS = 60
"""Paths drawn of each forecast."""


def draw_forecasts(
    samples: Samples, rows: list[int], forecasts: Mapping[str, Forecast], path: Path, seed: int = 0
) -> None:
    """One row of panels for each sample of ``rows``, one column for each forecast, as a picture file."""
    from matplotlib.figure import Figure

    if not rows or not forecasts:
        raise BadInput("a picture needs at least one sample and one forecast")
    figure = Figure(figsize=(3.6 * len(forecasts), 3.7 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(forecasts), squeeze=False)
    for line, row in zip(panels, rows, strict=True):
        for axes, forecast in zip(line, forecasts.values(), strict=True):
            _draw_panel(axes, samples, row, forecast, np.random.default_rng(seed))
        frame, track = int(samples.frame[row]), int(samples.track[row])
        name = samples.data.clips[int(samples.clip[row])].name
        line[0].set_ylabel(
            f"{shorten(name, 46)}\ntrack {track}, frame {frame - int(samples.data.start[track])}", fontsize=7
        )
    for axes, label in zip(panels[0], forecasts, strict=True):
        axes.set_title(label, fontsize=9)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    with atomic(path) as whole:
        figure.savefig(whole, format=path.suffix.lstrip(".") or "png", dpi=120)


def shorten(text: str, most: int) -> str:
    """The text with its middle left out if it is longer than ``most``."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def choose_examples(samples: Samples) -> dict[str, int]:
    """The samples that the paper pictures, where there are such: ``zebra``, somebody who walks along the sidewalk and
    will turn onto a zebra crossing; ``start``, somebody who stands and will walk onto the road without one, the vehicle
    as near as possible."""
    past, future = samples.past, samples.future[:, -1]
    motion, coming = past[:, -1] - past[:, 0], future - past[:, -1]
    walked, goes = exact.norm(motion), exact.norm(coming)
    now, then = _ground_at(samples, past[:, -1]), _ground_at(samples, future)
    cosine = (motion * coming).sum(axis=1) / np.maximum(walked * goes, 1e-9)
    road, zebra, sidewalk = (GROUND.index(name) for name in ("road", "zebra", "sidewalk"))
    found = {}
    turns = (now == sidewalk) & (then == zebra) & (walked > 0.7) & (goes > 2.0) & (cosine > 0.0)
    if turns.any():
        found["zebra"] = int(np.flatnonzero(turns)[np.argmin(np.abs(cosine[turns] - 0.5))])
    away = exact.norm(samples.ego[:, :2] - past[:, -1])
    starts = (now != road) & (then == road) & (walked < 0.3) & (goes > 2.0) & (samples.ego_speed > 0.5)
    if starts.any():
        found["start"] = int(np.flatnonzero(starts)[np.argmin(away[starts])])
    return found


def _ground_at(samples: Samples, points: FloatArray) -> Any:
    found = np.zeros(len(points), np.uint8)
    numbers = np.array([clip.ground for clip in samples.data.clips])[samples.clip]
    for number in np.unique(numbers[numbers >= 0]).tolist():
        there = numbers == number
        found[there] = samples.data.grounds[number].at(np.nan_to_num(points[there], nan=1e9))
    return found


def _draw_panel(axes: Any, samples: Samples, row: int, forecast: Forecast, rng: np.random.Generator) -> None:
    from matplotlib.colors import ListedColormap

    data = samples.data
    clip = data.clips[int(samples.clip[row])]
    centre = samples.past[row, -1]
    half = SPAN_M / 2
    if clip.ground >= 0:
        cells = crop_ground(data.grounds[clip.ground], centre[None], np.zeros(1), CELLS, SPAN_M)[0]
        box = (centre[0] - half, centre[0] + half, centre[1] - half, centre[1] + half)
        colours = ListedColormap([GROUND_COLOURS[name] for name in GROUND])
        axes.imshow(cells, origin="lower", extent=box, cmap=colours, vmin=-0.5, vmax=len(GROUND) - 0.5)
    _draw_vehicle(axes, samples.ego[row], clip.length, clip.width)
    one = choose_forecast(forecast, [row]).sample(PATHS, rng)[0]
    for h, horizon in enumerate(forecast.horizons_s.tolist()):
        colour = HORIZON_COLOURS[min(h, len(HORIZON_COLOURS) - 1)]
        axes.plot(*one[:, h].T, "o", ms=4, mfc="none", mec=colour, mew=0.8, label=f"{horizon:g} s")
    axes.plot(*samples.past[row].T, "-", color="black", lw=2.0, label="past")
    truth = np.concatenate([centre[None], samples.future[row]])
    axes.plot(*truth.T, "--x", color="black", lw=1.0, ms=6, label="what happened")
    axes.set_xlim(centre[0] - half, centre[0] + half)
    axes.set_ylim(centre[1] - half, centre[1] + half)
    axes.set_aspect("equal")
    axes.tick_params(labelsize=7)


def _draw_vehicle(axes: Any, pose: FloatArray, length: float, width: float) -> None:
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]]) * (length / 2, width / 2)
    placed = exact.rotate(corners, float(pose[2])) + pose[:2]
    axes.fill(*placed.T, facecolor="#e03fc0", edgecolor="#7a1f68", alpha=0.6)
