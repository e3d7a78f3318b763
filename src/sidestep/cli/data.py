"""``sidestep data``: recordings of people."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

if TYPE_CHECKING:
    from sidestep.datasets.install import Added
    from sidestep.types.tracks import Tracks

app = typer.Typer(help="List, download, check, install and convert recordings of people.", no_args_is_help=True)

Format = Annotated[str | None, typer.Option("--format", help="Format of the file. Default: detected.")]
RateHz = Annotated[float | None, typer.Option(help="Frame numbers per second, for formats that count frames.")]
Homography = Annotated[
    Path | None, typer.Option(help="File with the 3 × 3 homography of a .vsp file. Default: H.txt beside it.")
]
Link = Annotated[bool, typer.Option("--link", help="Join tracks that continue each other, as in TrajNet's text files.")]
Pixels = Annotated[str | None, typer.Option(help="Pixel coordinates that the homography expects: matrix or centred.")]


class Target(StrEnum):
    """Formats that can be written."""

    PLAIN = "plain"
    SIDESTEP = "sidestep"
    TRAJNET = "trajnet"


SUFFIXES = {".txt": Target.PLAIN, ".csv": Target.PLAIN, ".parquet": Target.SIDESTEP, ".ndjson": Target.TRAJNET}
"""Format of an output file by its suffix."""


@app.callback()
def data() -> None:
    """List, download, check, install and convert recordings of people."""


@app.command("list")
@verb
def list_(as_json: AsJson = False) -> None:
    """List the known recordings and whether they are installed."""
    from sidestep.datasets.sources import dataset_rows

    with quiet_stdout(as_json):
        rows = dataset_rows()
    if as_json:
        print_json({"datasets": rows})
        return
    from sidestep.report.terminal import print_rows

    keys = ("name", "people", "format", "installed", "summary", "licence")
    print_rows("recordings", [{key: row[key] for key in keys} for row in rows])


@app.command("get")
@verb
def get(
    name: Annotated[str, typer.Argument(help="Name of a recording; see `sidestep data list`.")],
    url: Annotated[str | None, typer.Option(help="Address to download from instead of the known one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Download a recording, check it and install it."""
    from sidestep._util.progress import progress_bar
    from sidestep.datasets.install import get_dataset

    with quiet_stdout(as_json), progress_bar(name, is_download=True) as progress:
        added = get_dataset(name, url, progress)
    _report_added(added, as_json)


@app.command("add")
@verb
def add(
    path: Annotated[Path, typer.Argument(help="Trajectory file.")],
    name: Annotated[str | None, typer.Option(help="Name of the installed recording. Default: the file's name.")] = None,
    format_name: Format = None,
    rate_hz: RateHz = None,
    homography: Homography = None,
    pixels: Pixels = None,
    link: Link = False,
    force: Annotated[
        bool, typer.Option("--force", help="Install the file even if its speeds are impossible for people.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a trajectory file, describe it, and install a copy."""
    from sidestep.datasets.install import add_dataset

    with quiet_stdout(as_json):
        added = add_dataset(path, name, format_name, force, **_given(rate_hz, homography, pixels, link))
    _report_added(added, as_json)


@app.command("info")
@verb
def info(
    path: Annotated[str, typer.Argument(metavar="PATH|NAME", help="Trajectory file, or the name of a recording.")],
    format_name: Format = None,
    rate_hz: RateHz = None,
    homography: Homography = None,
    pixels: Pixels = None,
    link: Link = False,
    as_json: AsJson = False,
) -> None:
    """Describe a recording and report anything suspicious in it."""
    from sidestep.datasets.sanity import describe_tracks
    from sidestep.datasets.sources import known_file

    with quiet_stdout(as_json):
        file, tracks, found = _load(path, format_name, _given(rate_hz, homography, pixels, link))
        about = describe_tracks(tracks, known_file(file), rate_hz) | {"format": found}
    if as_json:
        print_json({"info": about})
        return
    _print_report(about)


@app.command("convert")
@verb
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Trajectory file, or the name of a recording.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[Target | None, typer.Option(help="Format to write. Default: by the suffix of OUT.")] = None,
    format_name: Format = None,
    rate_hz: RateHz = None,
    homography: Homography = None,
    pixels: Pixels = None,
    link: Link = False,
    as_json: AsJson = False,
) -> None:
    """Convert a recording to another format."""
    from sidestep import registry
    from sidestep.errors import BadInput

    to = to or SUFFIXES.get(target.suffix)
    if to is None:
        raise BadInput(f"{target}: its ending names no format; say --to {', --to '.join(Target)}")
    if target.is_dir():
        raise BadInput(f"{target}: is a folder; name the file to write")
    with quiet_stdout(as_json):
        _, tracks, found = _load(source, format_name, _given(rate_hz, homography, pixels, link))
        lost = registry.load("datasets", to.value).save(tracks, target)
    if as_json:
        print_json({"converted": {"file": str(target), "from": found, "to": to.value, "lost": lost}})
        return
    typer.echo(f"{target}: {len(tracks.people)} people, {found} to {to.value}")
    if lost:
        say(f"not kept, the format has no place for it: {', '.join(lost)}")


def _given(rate_hz: float | None, homography: Path | None, pixels: str | None, link: bool) -> dict[str, Any]:
    """Loader options that were given on the command line."""
    options = {"rate_hz": rate_hz, "homography": homography, "pixels": pixels, "link": link or None}
    return {key: value for key, value in options.items() if value is not None}


def _load(reference: str, format_name: str | None, options: dict[str, Any]) -> tuple[Path, Tracks, str]:
    """File, tracks and format of a path or of a recording's name."""
    from sidestep.datasets import detect_format, load_tracks
    from sidestep.datasets.sources import DATASETS, installed, locate
    from sidestep.errors import BadInput

    path = Path(reference)
    if not path.exists() and (reference in DATASETS or installed(reference) is not None):
        path, found, kept = locate(reference)
        return path, load_tracks(path, found, **(kept | options)), found
    if not path.exists():
        raise BadInput(f"{reference}: neither a file nor the name of a recording, see `sidestep data list`")
    found = format_name or detect_format(path)
    return path, load_tracks(path, found, **options), found


def _print_report(about: dict[str, Any]) -> None:
    """Print the figures of a recording, then notes, warnings and impossible values."""
    remarks = {"note": about["notes"], "warning": about["warnings"], "absurd": about["absurd"]}
    for key, value in about.items():
        if key not in ("notes", "warnings", "absurd"):
            typer.echo(f"{key:>26}  {f'{value:.4g}' if isinstance(value, float) else value}")
    for kind, lines in remarks.items():
        for line in lines:
            typer.echo(f"{kind:>26}  {line}")


def _report_added(added: Added, as_json: bool) -> None:
    """Print what was installed and where, and describe it."""
    from sidestep.datasets.sanity import describe_tracks

    about = describe_tracks(added.tracks, added.known)
    entry = {
        "name": added.name,
        "path": str(added.path),
        "format": added.format,
        "people": len(added.tracks.people),
        "sha256": added.sha256,
        "known": added.known is not None,
        "already": added.already,
        "licence": added.tracks.licence,
    }
    if as_json:
        print_json({"dataset": entry | {"report": about}})
        return
    state = "was installed already" if added.already else "installed"
    typer.echo(f"{added.name}: {state}, {entry['people']} people, format {added.format}, in {added.path.parent}")
    typer.echo("its SHA-256 is that of the known file" if added.known else "not a file that the project knows")
    typer.echo(f"licence: {added.tracks.licence or 'not stated'}")
    _print_report(about)
