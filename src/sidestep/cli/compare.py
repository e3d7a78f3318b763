"""``sidestep compare``: paired differences between policies and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb


@verb
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="One run with several policies, or several runs.")
    ],
    as_json: AsJson = False,
) -> None:
    """Compare policies and runs, episode by episode: differences with intervals, tests, failures."""
    from sidestep.benchmark.compare import compare_runs
    from sidestep.cli.tables import print_comparison

    with quiet_stdout(as_json):
        document = compare_runs(runs)
    if as_json:
        print_json(document)
    else:
        print_comparison(document)
