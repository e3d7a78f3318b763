"""What a report says about suite ``socnav`` in the shape of the SocNavBench paper, on a page and as files."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from sidestep.errors import BadInput
from sidestep.records import atomic
from sidestep.report.choice import Labelled
from sidestep.report.socnav_episodes import SUITE, SocnavRun, read_socnav
from sidestep.report.socnav_oracle import oracle_table
from sidestep.report.socnav_published import published
from sidestep.report.socnav_strip import Strip, film_strip
from sidestep.report.socnav_tables import Row, Table, compared_episodes, socnav_tables
from sidestep.report.socnav_write import line_before, named, shown, write_table

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
    episodes: Sequence[Labelled], colours: Mapping[str, str], strip: str | None = None
) -> SocnavOutputs | None:
    """The outputs of the suite's episodes among ``episodes``; None if there are none. ``colours``: label → colour."""
    run = read_socnav(episodes)
    if run is None:
        if strip is not None:
            raise BadInput(f"--strip {strip}: a film strip is made of runs of suite {SUITE}, and there is none here")
        return None
    from sidestep.report.socnav_plots import PLOTS, draw_plot, image_bytes  # matplotlib takes a second to import

    plots = []
    for plot in PLOTS:
        figure = draw_plot(plot, run, colours)
        images = image_bytes(figure, "png"), image_bytes(figure, "svg")
        plots.append(Illustration(plot.name, plot.title, *images, wide=len(plot.panels) > 1))
    oracle = oracle_table(run)
    tables = (*socnav_tables(run), *([oracle] if oracle else []))
    return SocnavOutputs(run, tables, tuple(plots), film_strip(episodes, run, strip))
