"""``sidestep bench``: how fast it is here."""

from __future__ import annotations

from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb


@verb
def bench(
    suite: Annotated[str, typer.Option(help="What to measure: core, render or run.")] = "core",
    repeats: Annotated[int, typer.Option(min=1, help="Measurements of each figure.")] = 5,
    quick: Annotated[bool, typer.Option(help="Fewer and shorter measurements.")] = False,
    only: Annotated[str | None, typer.Option(help="Only ids that match this pattern.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the speed on this machine, against peers where they are installed."""
    from sidestep.bench import run_bench

    with quiet_stdout(as_json):
        document = run_bench(suite=suite, repeats=repeats, quick=quick, only=only)
    if as_json:
        print_json(document)
        return
    from sidestep.cli.tables import print_bench

    print_bench(document)
