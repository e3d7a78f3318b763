"""``sidestep data``: recorded people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb

if TYPE_CHECKING:
    from sidestep.types.tracks import Tracks

app = typer.Typer(help="Recorded people.", no_args_is_help=True)


@app.callback()
def data() -> None:
    """Recorded people."""


@app.command("info")
@verb
def info(
    path: Annotated[Path, typer.Argument(help="File with tracks.")],
    format_name: Annotated[str | None, typer.Option("--format", help="Its format; detected if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is in a file of recorded people."""
    from sidestep.datasets import load_tracks

    with quiet_stdout(as_json):
        tracks = load_tracks(path, format_name)
        about = describe(tracks) | {"format": format_name or detected_format(path)}
    if as_json:
        print_json({"info": about})
        return
    for key, value in about.items():
        typer.echo(f"{key:>14}  {value}")


def detected_format(path: Path) -> str | None:
    """Name of the first format that the file looks like."""
    from sidestep import registry

    return next((name for name in registry.names("datasets") if registry.load("datasets", name).matches(path)), None)


def describe(tracks: Tracks) -> dict[str, Any]:
    """Figures about recorded people.

    ``mean_speed_mps``: length walked ÷ time walked over all people. ``mean_density``: time-averaged number of
    people present ÷ area of the box around all annotations, people/m².
    """
    import numpy as np

    same = np.diff(tracks.person) == 0
    lengths = np.hypot(*np.diff(tracks.position, axis=0).T)[same]
    spans = np.diff(tracks.time)[same]
    walked = float(spans.sum())
    duration = float(np.ptp(tracks.time))
    area = float(np.prod(np.ptp(tracks.position, axis=0)))
    return {
        "people": len(tracks.people),
        "duration_s": duration,
        "rate_hz": tracks.rate_hz,
        "mean_speed_mps": float(lengths.sum()) / walked if walked else None,
        "mean_density": walked / duration / area if duration and area else None,
        "groups": len(set(tracks.group.values()) - {-1}),
        "source": tracks.source,
        "licence": tracks.licence,
        "warnings": _warnings(tracks, lengths, spans),
    }


def _warnings(tracks: Tracks, lengths: Any, spans: Any) -> list[str]:
    """What a person should know before using the recording."""
    import numpy as np

    warnings = []
    gaps = int(np.sum(spans > 1.5 / tracks.rate_hz))
    if gaps:
        warnings.append(f"{gaps} gaps inside tracks are interpolated")
    fast = int(np.sum(lengths > 5.0 * spans))
    if fast:
        warnings.append(f"{fast} pieces are faster than 5 m/s: wrong unit, or annotation errors?")
    alone = int(np.sum(np.unique(tracks.person, return_counts=True)[1] == 1))
    if alone:
        warnings.append(f"{alone} people have a single annotation")
    if not tracks.licence:
        warnings.append("the licence is not stated")
    return warnings
