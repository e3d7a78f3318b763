"""A film strip in the shape of Figure 12 of the SocNavBench paper: a row per policy, moments from left to right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sidestep.drawing.shapes import Picture
from sidestep.drawing.viewport import Bounds
from sidestep.errors import UnknownName
from sidestep.report.choice import Labelled, load_episodes
from sidestep.report.socnav_episodes import SUITE, Key, SocnavRun
from sidestep.report.topview import GAP_PX, draw_strip, view_of
from sidestep.types.record import EpisodeRecord

MOMENTS = 5
LONGEST_SIDE_PX = 380
LEAST_SIDE_PX = 200


@dataclass(frozen=True, eq=False)
class Strip:
    """The picture, and what it shows."""

    picture: Picture
    scenario: str
    seed: int
    caption: str


def film_strip(episodes: Sequence[Labelled], run: SocnavRun, scenario: str | None = None) -> Strip:
    """The strip of ``scenario``, by default of the one with most collisions with people over all policies.

    Every row runs from its own start to its own end, in equal parts of the time that this policy took.
    """
    name, seed = choose_episode(run, scenario)
    order = list(run.by_label)
    chosen = [
        item
        for item in episodes
        if item.scores.suite == SUITE and (item.scores.scenario, item.scores.seed) == (name, seed)
    ]
    chosen.sort(key=lambda item: order.index(item.label) if item.label in order else len(order))
    rows = list(load_episodes(chosen))
    caption = (
        f"{name}, seed {seed}, people: {run.people}. Rows: {', '.join(label for label, _ in rows)}. Each row is one "
        "episode from its start to its end, in equal parts of the time it took. Ringed red: people whom the robot "
        "touches at any time of the episode; red dots: where it has touched them so far."
    )
    return Strip(stack_strips(rows), name, seed, caption)


def choose_episode(run: SocnavRun, scenario: str | None = None) -> Key:
    """The episode with most collisions with people, over all policies that are not privileged; ties: the first."""
    found: Counter[Key] = Counter()
    for episode in run.episodes:
        if scenario is None or episode.scenario == scenario:
            found[episode.key] += 0 if episode.privileged else round(episode.value("pedestrian_collisions") or 0)
    if not found:
        raise UnknownName("scenario", str(scenario), {episode.scenario for episode in run.episodes})
    return max(found, key=lambda key: found[key])


def stack_strips(rows: Sequence[tuple[str, EpisodeRecord]], moments: int = MOMENTS) -> Picture:
    """One strip per (policy label, record), below each other, all with the same view."""
    bounds = _view_of_all([record for _, record in rows])
    size = _size(bounds)
    strips = [
        draw_strip(record, _moments(record, moments), size=size, bounds=bounds, ring_touched=True, label=label)
        for label, record in rows
    ]
    gap = np.full((GAP_PX, strips[0].shape[1], 3), 255, dtype=np.uint8)
    stacked: Picture = np.concatenate(list(chain.from_iterable((gap, strip) for strip in strips))[1:], axis=0)
    return stacked


def _moments(record: EpisodeRecord, count: int) -> list[float]:
    return [float(time) for time in np.linspace(0.0, record.duration, count)]


def _view_of_all(records: Sequence[EpisodeRecord]) -> Bounds:
    views = np.array([view_of(record) for record in records])
    x0, y0 = views[:, :2].min(axis=0)
    x1, y1 = views[:, 2:].max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _size(bounds: Bounds) -> tuple[int, int]:
    """Pixels in the shape of the view, so that a long corridor does not leave empty space."""
    width, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
    scale = LONGEST_SIDE_PX / max(width, height)
    return max(LEAST_SIDE_PX, round(width * scale)), max(LEAST_SIDE_PX, round(height * scale))
