"""The section of a report about the sidewalk suites in the shape of the SidewalkBench paper, and its films: for every
behaviour and policy a success and the most typical failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sidestep.errors import UnknownName
from sidestep.report.papers import ReportSection, SectionContent
from sidestep.report.papers.sidewalkbench.episodes import (
    LONG,
    SUITES,
    TAGS,
    SidewalkEpisode,
    SidewalkRun,
    published,
    read_sidewalk,
)
from sidestep.report.papers.sidewalkbench.tables import sidewalk_tables
from sidestep.report.selection import SEVERITY, Film, LabelledEpisode, film_rank, policy_colours
from sidestep.types.outcome import Outcome


class SidewalkSection(ReportSection):
    """Tables 2, 5, 6 and 7, Figures 4 and 6; films without long routes, which would take minutes each."""

    def make(
        self, episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], options: Mapping[str, str]
    ) -> SectionContent | None:
        """None if no episode can be used."""
        run = read_sidewalk(episodes)
        if run is None:
            return None
        from sidestep.report.papers.sidewalkbench.plots import sidewalk_figures  # matplotlib takes a second to import

        # where the report tells runs of one policy apart and these tables do not, they have colours of their own
        same = set(run.labels) <= {each.item.label for each in run.episodes}
        return SectionContent(
            name="sidewalk",
            menu="SidewalkBench",
            heading="As in the SidewalkBench paper",
            intro="The tables and figures of the paper for these runs. Rows marked † were published elsewhere "
            f"({published().citation}): measured in another simulator on other scenes, so they do not compare number "
            f"by number. {' '.join(published().notes)}",
            tables=tuple(sidewalk_tables(run)),
            figures=tuple(sidewalk_figures(run, colours if same else policy_colours(run.labels))),
        )

    def choose_films(self, episodes: Sequence[LabelledEpisode], policies: Sequence[str]) -> list[Film]:
        """A success and the most typical failure."""
        run = read_sidewalk(episodes)
        return choose_sidewalk_films(run, policies) if run is not None else []


SECTION = SidewalkSection(suites=SUITES, film_suites=tuple(suite for suite in SUITES if suite != LONG))


def choose_sidewalk_films(run: SidewalkRun, policies: Sequence[str] = ()) -> list[Film]:
    """Behaviour by behaviour, policy by policy: a success, then the most typical failure, where there are any.

    ``policies``: all if empty. A failure is typical that ended in the way in which most did; of several that did, the
    middle one in the order of ``film_rank``. The success is the middle one too.
    """
    for name in policies:
        if name not in run.labels:
            raise UnknownName("policy", name, run.labels)
    films = []
    for suite, kinds in TAGS.items():
        for kind in kinds if suite != LONG else ():
            for label in policies or run.labels:
                own = run.choose(suite, label, kind)
                successes = [each for each in own if not each.item.failed]
                chosen = [found for found in (successes, _typical_failure(own)) if found]
                films += [Film(kind, label, median_episode(group).item, len(group), len(own)) for group in chosen]
    return films


def _typical_failure(episodes: Sequence[SidewalkEpisode]) -> list[SidewalkEpisode]:
    """All that failed in the commonest way; of equally common ways the gravest."""
    counts = Counter(each.item.scores.outcome for each in episodes if each.item.failed)
    if not counts:
        return []
    commonest = max(counts, key=lambda outcome: (counts[outcome], -SEVERITY.index(Outcome(outcome))))
    return [each for each in episodes if each.item.scores.outcome == commonest]


def median_episode(episodes: Sequence[SidewalkEpisode]) -> SidewalkEpisode:
    """The one in the middle, from worst to best; of two the worse."""
    ranked = sorted(episodes, key=lambda each: film_rank(each.item.scores))
    return ranked[(len(ranked) - 1) // 2]
