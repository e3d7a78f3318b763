"""The section of a report about suite ``socnav`` in the shape of the SocNavBench paper: tables, plots, and a film
strip as in Figure 12 (a row per policy, moments from left to right).
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.drawing.canvas import Bounds, Picture
from sidestep.errors import BadInput, UnknownName
from sidestep.report.papers.socnavbench.episodes import SUITE, Key, SocnavRun, published, read_socnav
from sidestep.report.papers.socnavbench.tables import (
    Row,
    Table,
    compared_episodes,
    line_before,
    named,
    oracle_table,
    shown,
    socnav_tables,
    write_table,
)
from sidestep.report.selection import LabelledEpisode, load_episodes
from sidestep.report.topview import GAP_PX, draw_strip, view_of
from sidestep.types.record import EpisodeRecord
from sidestep.writing import atomic

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


def film_strip(episodes: Sequence[LabelledEpisode], run: SocnavRun, scenario: str | None = None) -> Strip:
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


STRIP_FILE = "fig12.png"


@dataclass(frozen=True, eq=False)
class Illustration:
    """A plot, drawn."""

    name: str
    title: str
    png: bytes
    svg: bytes
    wide: bool = False
    """Has several panels."""

    @property
    def address(self) -> str:
        """For an ``img`` of a page that needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


@dataclass(frozen=True, eq=False)
class SocnavOutputs:
    """Tables, plots and film strip, ready for the page's template and for ``write``."""

    run: SocnavRun
    tables: tuple[Table, ...]
    plots: tuple[Illustration, ...]
    strip: Strip

    def write(self, folder: Path) -> list[Path]:
        """Every table in three forms, every plot as PNG and SVG, the strip as PNG; returns the paths."""
        paths = [path for table in self.tables for path in write_table(table, folder)]
        for plot in self.plots:
            for ending, content in ((".png", plot.png), (".svg", plot.svg)):
                paths.append(folder / f"{plot.name}{ending}")
                with atomic(paths[-1]) as temporary:
                    temporary.write_bytes(content)
        paths.append(folder / STRIP_FILE)
        with atomic(paths[-1]) as temporary:
            Image.fromarray(self.strip.picture).save(temporary, format="PNG", optimize=True)
        return paths

    @property
    def strip_address(self) -> str:
        """The strip for an ``img`` of a page that needs no other file."""
        buffer = io.BytesIO()
        Image.fromarray(self.strip.picture).save(buffer, format="JPEG", quality=88, optimize=True)
        return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"

    @property
    def citation(self) -> str:
        """Where the published values come from."""
        return published().citation

    @property
    def published_notes(self) -> tuple[str, ...]:
        """What does not agree inside the publication."""
        return published().notes

    @property
    def plotted(self) -> str:
        """Which episodes the plots are over."""
        if not self.run.common:
            return "No episode was completed by all, so the plots are over all episodes."
        return f"The plots are over the same episodes as ⁺: {compared_episodes(self.run).removeprefix('⁺ ')}"

    def row_class(self, table: Table, place: int) -> str:
        """Style of a row: the first of a policy, the first privileged one."""
        if place == line_before(table):
            return "parted"
        return "first" if place and table.rows[place - 1].policy != table.rows[place].policy else ""

    def height(self, table: Table, place: int) -> int:
        """Rows of the policy that begins at ``place``; 0 where none begins."""
        policy = table.rows[place].policy
        if place and table.rows[place - 1].policy == policy:
            return 0
        return sum(row.policy == policy for row in table.rows)

    def named(self, row: Row) -> str:
        """The policy, marked if privileged."""
        return named(row)

    shown = staticmethod(shown)


def socnav_outputs(
    episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], strip: str | None = None
) -> SocnavOutputs | None:
    """The outputs of the suite's episodes among ``episodes``; None if there are none. ``colours``: label → colour."""
    run = read_socnav(episodes)
    if run is None:
        if strip is not None:
            raise BadInput(f"--strip {strip}: a film strip is made of runs of suite {SUITE}, and there is none here")
        return None
    from sidestep.report.papers.socnavbench.plots import (  # matplotlib takes a second to import
        PLOTS,
        draw_plot,
        image_bytes,
    )

    plots = []
    for plot in PLOTS:
        figure = draw_plot(plot, run, colours)
        images = image_bytes(figure, "png"), image_bytes(figure, "svg")
        plots.append(Illustration(plot.name, plot.title, *images, wide=len(plot.panels) > 1))
    oracle = oracle_table(run)
    tables = (*socnav_tables(run), *([oracle] if oracle else []))
    return SocnavOutputs(run, tables, tuple(plots), film_strip(episodes, run, strip))
