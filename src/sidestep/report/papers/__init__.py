"""Sections of a report in the shape of a publication: each has the paper's tables and figures for our runs beside the
published numbers.

A section is a :class:`ReportSection`, registered in the table ``report_sections`` of ``sidestep.registry`` or, from
another package, by an entry point of the group ``sidestep.report_sections``. ``sidestep.report.html`` and ``sidestep
report`` ask every registered section for what it has to say about a report's episodes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from sidestep import registry
from sidestep._util.writing import whole_file
from sidestep.errors import BadInput
from sidestep.render.top_view.canvas import Picture
from sidestep.report.selection import Film, LabelledEpisode, film_list
from sidestep.report.table_model import Table
from sidestep.report.table_writer import write_tables

if TYPE_CHECKING:  # matplotlib takes a second to import
    from sidestep.report.plots import Illustration


@dataclass(frozen=True, eq=False)
class Photograph:
    """A picture with its file's name, title and caption."""

    file: str
    title: str
    caption: str
    picture: Picture

    @property
    def address(self) -> str:
        """A data URL for an ``img`` of a page that needs no other file."""
        buffer = io.BytesIO()
        Image.fromarray(self.picture).save(buffer, format="JPEG", quality=88, optimize=True)
        return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"


@dataclass(frozen=True, eq=False)
class SectionContent:
    """The contents of a section: text, tables, figures and pictures."""

    name: str
    """The section's anchor on the page."""
    menu: str
    """The section's entry in the page's menu."""
    heading: str
    intro: str
    tables: tuple[Table, ...]
    figures: tuple[Illustration, ...] = ()
    about_figures: str = ""
    pictures: tuple[Photograph, ...] = ()
    table_prefix: str = ""

    def write(self, folder: Path) -> list[Path]:
        """Every table in three forms, every figure as PNG and SVG, pictures as PNG; returns the paths."""
        paths = []
        for table in self.tables:
            paths += write_tables([table], folder / table.name, (".md", ".tex", ".csv"))
        for figure in self.figures:
            for ending, content in ((".png", figure.png), (".svg", figure.svg)):
                paths.append(folder / f"{figure.name}{ending}")
                with whole_file(paths[-1]) as temporary:
                    temporary.write_bytes(content)
        for picture in self.pictures:
            paths.append(folder / picture.file)
            with whole_file(paths[-1]) as temporary:
                Image.fromarray(picture.picture).save(temporary, format="PNG", optimize=True)
        return paths


@dataclass(frozen=True)
class ReportSection:
    """Base class of a section; ``make`` has to be written, ``choose_films`` can be."""

    suites: tuple[str, ...]
    """Suites that the section is about."""
    options: frozenset[str] = frozenset()
    """Options of ``write_report`` that it understands."""
    film_suites: tuple[str, ...] = ()
    """Suites of which it can make films."""

    def make(
        self, episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], options: Mapping[str, str]
    ) -> SectionContent | None:
        """The section about ``episodes`` (all of ``suites``); None if there is nothing to say. ``colours``: label →
        ``#rrggbb``."""
        raise NotImplementedError

    def choose_films(self, episodes: Sequence[LabelledEpisode], policies: Sequence[str]) -> list[Film]:
        """Films of ``episodes`` (all of ``film_suites``); ``policies``: of these only, of all if empty."""
        return []


def sections() -> list[ReportSection]:
    """Every registered section, in the order of the page."""
    return [registry.load("report_sections", name) for name in registry.names("report_sections")]


def make_sections(
    episodes: Sequence[LabelledEpisode], colours: Mapping[str, str], options: Mapping[str, str]
) -> list[SectionContent]:
    """The sections that have something to say. An option that none of them takes is an error."""
    made, taken = [], set[str]()
    for section in sections():
        own = [item for item in episodes if item.scores.suite in section.suites]
        if own and (content := section.make(own, colours, options)) is not None:
            made.append(content)
            taken |= section.options
    for name, value in options.items():
        if name not in taken:
            suites = [suite for section in sections() if name in section.options for suite in section.suites]
            known = (
                f"it needs a run of {', '.join(suites)}, and there is none here" if suites else "no section takes it"
            )
            raise BadInput(f"--{name} {value}: {known}")
    return made


def choose_section_films(episodes: Sequence[LabelledEpisode], policies: Sequence[str] = ()) -> list[Film]:
    """The films of all sections; an error if no episode is of a suite that any section films."""
    films, found = [], False
    for section in sections():
        own = [item for item in episodes if item.scores.suite in section.film_suites]
        found = found or bool(own)
        films += section.choose_films(own, policies) if own else []
    if not found:
        suites = ", ".join(suite for section in sections() for suite in section.film_suites)
        raise BadInput(f"--films makes films of {suites}, and no run here is of them")
    return films


FILM_CAMERAS = ("chase", "top")
FILM_SIZE = (480, 360)
FILM_LIST = "films.md"


def make_section_films(
    films: Sequence[Film],
    folder: Path,
    cameras: Sequence[str] = FILM_CAMERAS,
    size: tuple[int, int] = FILM_SIZE,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Path]:
    """Make the films and a list of them; returns the paths, the list last. A film that is there already, of the same
    record by the same cameras, is kept. ``progress`` is called with (frames done, frames in all, film)."""
    from sidestep.render.films.cameras import FilmJob, make_films  # the renderer takes seconds to import

    def job(film: Film) -> FilmJob:
        digest = film.episode.scores.digest
        about = f"sidestep record={digest} cameras={','.join(cameras)} size={size[0]}x{size[1]}"
        return FilmJob(
            folder / film.file, f"{film.kind} · {film.label}", about,
            lambda: film.episode.record,
        )  # fmt: skip

    present = make_films([job(film) for film in films], cameras, ("rgb",), size, progress)
    made = [film for film, found in zip(films, present, strict=True) if found]
    with whole_file(folder / FILM_LIST) as temporary:
        temporary.write_text(film_list(made), encoding="utf-8")
    return [*(folder / film.file for film in made), folder / FILM_LIST]
