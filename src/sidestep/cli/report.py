"""``sidestep report``: a self-contained HTML report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput

Out = Annotated[
    Path | None,
    typer.Option(help="File to write. Default: report.html in the first run folder; for a pack, FILE.html beside it."),
]
Tables = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Also write the tables (md, tex, csv) and plots (png, svg) to this folder."),
]
Strip = Annotated[
    str | None, typer.Option(metavar="SCENARIO", help="Scenario of the film strip, for suites that have one.")
]
Films = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Also film one success and one typical failure per behaviour, for suites that have behaviours.",
    ),
]
FilmPolicy = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="With --films: film only this policy; repeatable.")
]
Camera = Annotated[
    list[str] | None, typer.Option(help="With --films: first, chase, above or top; repeatable or with commas.")
]
Size = Annotated[str | None, typer.Option(metavar="WIDTHxHEIGHT", help="With --films: size of each picture in pixels.")]

if TYPE_CHECKING:
    from sidestep.runs.finished import FinishedRun


@verb
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders or packs.")],
    out: Out = None,
    tables: Tables = None,
    strip: Strip = None,
    films: Films = None,
    film_policy: FilmPolicy = None,
    camera: Camera = None,
    size: Size = None,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML report about one or more runs."""
    from sidestep.leaderboard.unpack import is_pack, opened_runs
    from sidestep.report import write_report

    if films is None and (film_policy or camera or size):
        raise BadInput("--film-policy, --camera and --size say what --films films; give --films DIR too")
    with quiet_stdout(as_json), opened_runs(runs) as opened:
        for run in opened:
            _ = run.plan  # an error if it is not a run folder
        beside = runs[0].with_suffix(".html") if is_pack(runs[0]) else runs[0] / "report.html"
        path = out if out is not None else beside
        film = _filming(opened, films, film_policy, camera, size) if films is not None else list
        files = write_report(opened, path, tables, {"strip": strip} if strip is not None else {})
        made = film()
    if as_json:
        written = {"files": [str(file) for file in files]} if tables is not None else {}
        if films is not None:
            written["films"] = [str(file) for file in made]
        print_json({"report": str(path), "runs": [str(folder) for folder in runs], **written})
    else:
        typer.echo(f"wrote {path}")
        if files:
            typer.echo(f"wrote {len(files)} files to {tables}: {', '.join(file.name for file in files)}")
        if made:
            typer.echo(f"wrote {len(made) - 1} films to {films}, listed in {made[-1].name}")


def _filming(
    runs: list[FinishedRun], folder: Path, policies: list[str] | None, camera: list[str] | None, size: str | None
) -> Callable[[], list[Path]]:
    """The function that makes the films; raises an error now if they cannot be made."""
    from sidestep._util.progress import progress_bar
    from sidestep.cli.cameras import check_filming, sized, split_names
    from sidestep.report.papers import FILM_CAMERAS, FILM_SIZE, choose_section_films, make_section_films
    from sidestep.report.selection import label_episodes
    from sidestep.types.sensors import CameraSettings

    settings = sized(CameraSettings(), size or "x".join(map(str, FILM_SIZE)))
    cameras = split_names(camera, FILM_CAMERAS)
    check_filming(cameras, ("rgb",))
    chosen = choose_section_films(label_episodes(runs), policies or ())

    def make() -> list[Path]:
        with progress_bar("filming") as move:
            return make_section_films(chosen, folder, cameras, (settings.width, settings.height), move)

    return make
