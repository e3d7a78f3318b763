"""The section of a report about suite ``socnav`` in the shape of the SocNavBench paper: tables, plots, and a film
strip as in Figure 12 (a row per policy, moments from left to right).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sidestep.errors import UnknownName
from sidestep.render.films.top_view import GAP_PX, draw_strip, view_of
from sidestep.render.top_view.canvas import Picture
from sidestep.report.papers import Photograph, ReportSection, SectionContent
from sidestep.report.papers.socnavbench.episodes import SUITE, Key, SocnavRun, published, read_socnav
from sidestep.report.papers.socnavbench.tables import compared_episodes, oracle_table, socnav_tables
from sidestep.report.selection import LabelledEpisode, load_episodes
from sidestep.types.record import EpisodeRecord

MOMENTS = 5
LONGEST_SIDE_PX = 380
LEAST_SIDE_PX = 200


class SocnavSection(ReportSection):
    """Tables 2 to 4, Figures 6 to 12."""

    def make(
        self, episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], options: Mapping[str, str]
    ) -> SectionContent | None:
        """None if no record can be read. Option ``strip``: the scenario of the film strip."""
        run = read_socnav(episodes)
        if run is None:
            return None
        from sidestep.report.papers.socnavbench.plots import socnav_figures  # matplotlib takes a second to import

        oracle = oracle_table(run)
        return SectionContent(
            name="socnav",
            menu="SocNavBench",
            heading="As in the SocNavBench paper",
            intro=f"The tables and figures of the paper for this run, people: {run.people}. Published values: "
            f"{' '.join([published().citation + '.', *published().notes])}",
            tables=(*socnav_tables(run), *([oracle] if oracle else [])),
            figures=tuple(socnav_figures(run, colours)),
            about_figures=_about_figures(run),
            pictures=(film_strip(episodes, run, options.get("strip")),),
            table_prefix="socnav-",
        )


SECTION = SocnavSection(suites=(SUITE,), options=frozenset({"strip"}))


def _about_figures(run: SocnavRun) -> str:
    if run.common:
        over = f"The plots are over the same episodes as ⁺: {compared_episodes(run).removeprefix('⁺ ')}"
    else:
        over = "No episode was completed by all, so the plots are over all episodes."
    return f"{over} Distance and time to collision are capped at 10 m and 10 s."


def film_strip(episodes: Sequence[LabelledEpisode], run: SocnavRun, scenario: str | None = None) -> Photograph:
    """The strip of ``scenario``, by default of the one with most collisions with people over all policies.

    Every row runs from its own start to its own end, in equal parts of the time that this policy took.
    """
    name, seed = choose_episode(run, scenario)
    order = list(run.by_label)
    chosen = [item for item in episodes if (item.scores.scenario, item.scores.seed) == (name, seed)]
    chosen.sort(key=lambda item: order.index(item.label) if item.label in order else len(order))
    rows = list(load_episodes(chosen))
    caption = (
        f"{name}, seed {seed}, people: {run.people}. Rows: {', '.join(label for label, _ in rows)}. Each row is one "
        "episode from its start to its end, in equal parts of the time it took. Ringed red: people whom the robot "
        "touches at any time of the episode; red dots: where it has touched them so far."
    )
    return Photograph("fig12.png", "Film strip (Fig. 12)", caption, stack_strips(rows))


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
    """One strip per (policy label, record), below each other; all have the same view, and pictures of its shape."""
    views = np.array([view_of(record) for _, record in rows])
    (x0, y0), (x1, y1) = views[:, :2].min(axis=0).tolist(), views[:, 2:].max(axis=0).tolist()
    scale = LONGEST_SIDE_PX / max(x1 - x0, y1 - y0)
    size = max(LEAST_SIDE_PX, round((x1 - x0) * scale)), max(LEAST_SIDE_PX, round((y1 - y0) * scale))
    look: dict[str, Any] = {"size": size, "bounds": (x0, y0, x1, y1), "ring_touched": True}
    strips = [
        draw_strip(record, np.linspace(0.0, record.duration, moments).tolist(), label=label, **look)
        for label, record in rows
    ]
    gap = np.full((GAP_PX, strips[0].shape[1], 3), 255, dtype=np.uint8)
    stacked: Picture = np.concatenate(list(chain.from_iterable((gap, strip) for strip in strips))[1:], axis=0)
    return stacked
