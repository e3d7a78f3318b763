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
    as_json: AsJson = False,
) -> None:
    """Write one self-contained HTML file about one or more runs."""
    from sidestep.benchmark.folder import load_run
    from sidestep.report import write_report

    with quiet_stdout(as_json):
        for folder in runs:
            load_run(folder)
        path = out if out is not None else runs[0] / "report.html"
        write_report(runs, path)
    if as_json:
        print_json({"report": str(path), "runs": [str(folder) for folder in runs]})
    else:
        typer.echo(f"wrote {path}")
