"""``sidestep report``: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb


@verb
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write; default report.html in the first run's folder.")
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write tables (md, tex, csv) and plots (png, svg) here.")
    ] = None,
    strip: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Scenario of the film strip of a run of suite socnav.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained HTML file about one or more runs."""
    from sidestep.benchmark.folder import load_run
    from sidestep.report import write_report

    with quiet_stdout(as_json):
        for folder in runs:
            load_run(folder)
        path = out if out is not None else runs[0] / "report.html"
        files = write_report(runs, path, tables, strip)
    if as_json:
        written = {"files": [str(file) for file in files]} if tables is not None else {}
        print_json({"report": str(path), "runs": [str(folder) for folder in runs], **written})
    else:
        typer.echo(f"wrote {path}")
        if files:
            typer.echo(f"wrote {len(files)} files to {tables}: {', '.join(file.name for file in files)}")
