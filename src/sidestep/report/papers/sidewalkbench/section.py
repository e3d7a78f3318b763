"""What a report says about the sidewalk suites in the shape of the SidewalkBench paper, on a page and as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidestep.drawing import palette
from sidestep.report.papers.sidewalkbench.episodes import SidewalkRun, published, read_sidewalk
from sidestep.report.papers.sidewalkbench.tables import sidewalk_tables
from sidestep.report.papers.socnavbench.section import Illustration
from sidestep.report.selection import LabelledEpisode
from sidestep.report.table_model import Table
from sidestep.report.table_writer import write_table
from sidestep.writing import atomic


@dataclass(frozen=True, eq=False)
class SidewalkOutputs:
    """Tables and plots, ready for the page's template and for ``write``."""

    run: SidewalkRun
    tables: tuple[Table, ...]
    plots: tuple[Illustration, ...]

    def write(self, folder: Path) -> list[Path]:
        """Every table in three forms, every plot as PNG and SVG; returns the paths."""
        paths = [path for table in self.tables for path in write_table(table, folder)]
        for plot in self.plots:
            for ending, content in ((".png", plot.png), (".svg", plot.svg)):
                paths.append(folder / f"{plot.name}{ending}")
                with atomic(paths[-1]) as temporary:
                    temporary.write_bytes(content)
        return paths

    @property
    def citation(self) -> str:
        """Where the published values come from."""
        return published().citation

    @property
    def published_notes(self) -> tuple[str, ...]:
        """What does not agree inside the publication."""
        return published().notes


def sidewalk_outputs(episodes: Sequence[LabelledEpisode], colours: Mapping[str, str]) -> SidewalkOutputs | None:
    """The outputs of the suites' episodes among ``episodes``; None if there are none. ``colours``: the report's label →
    colour."""
    run = read_sidewalk(episodes)
    if run is None:
        return None
    from sidestep.report.papers.sidewalkbench.plots import PLOTS, draw_plot  # matplotlib takes a second to import
    from sidestep.report.papers.socnavbench.plots import image_bytes

    own = _own_colours(run, colours)
    plots = []
    for plot in PLOTS:
        if run.has(plot.suite):
            figure = draw_plot(plot, run, own)
            plots.append(
                Illustration(plot.name, plot.title, image_bytes(figure, "png"), image_bytes(figure, "svg"), True)
            )
    return SidewalkOutputs(run, tuple(sidewalk_tables(run)), tuple(plots))


def _own_colours(run: SidewalkRun, colours: Mapping[str, str]) -> dict[str, str]:
    """The report's colours; where it tells runs of one policy apart and the sidewalk tables do not, one per policy."""
    reported = {each.label: each.item.label for each in reversed(run.episodes)}
    if all(label == reported[label] for label in run.labels):
        return {label: colours[label] for label in run.labels}
    return {
        label: palette.hexadecimal(palette.POLICIES[k % len(palette.POLICIES)]) for k, label in enumerate(run.labels)
    }
