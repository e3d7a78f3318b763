"""The section of a report about the suite ``intersection`` in the shape of IntersectNav's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidestep.report.papers import ReportSection, SectionContent
from sidestep.report.papers.intersectnav.episodes import SUITE, read_intersection
from sidestep.report.papers.intersectnav.tables import intersection_tables
from sidestep.report.selection import LabelledEpisode


class IntersectionSection(ReportSection):
    """Ratios of outcomes by task and by scene, and the six metrics in both dialects."""

    def make(
        self, episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], options: Mapping[str, str]
    ) -> SectionContent | None:
        """None if no episode can be used."""
        run = read_intersection(episodes)
        if run is None:
            return None
        return SectionContent(
            name="intersection",
            menu="IntersectNav",
            heading="As IntersectNav reports",
            intro="Ratios of outcomes and metrics of control quality as IntersectNav defines them (Zhu and Zhao, arXiv "
            "2202.10124), by task and by scene, among people only and among people and vehicles. Its numbers are from "
            "another simulator and are not repeated here.",
            tables=tuple(intersection_tables(run)),
        )


SECTION = IntersectionSection(suites=(SUITE,))
