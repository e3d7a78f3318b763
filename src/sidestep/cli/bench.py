"""``sidestep bench``: how fast it is here."""

from __future__ import annotations

from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb


@verb
def bench(
    suite: Annotated[str, typer.Option(help="Which figures to measure.")] = "core",
    repeats: Annotated[int, typer.Option(min=1, help="Measurements of each figure.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="A few figures, shortly: too noisy to quote.")] = False,
    only: Annotated[str | None, typer.Option(help="Only figures whose id matches this pattern.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the speed on this machine, next to other simulators where they are installed."""
    from sidestep.bench import bench_table, run_bench
    from sidestep.progress import progress_bar

    with quiet_stdout(as_json), progress_bar("figures") as move:
        document = run_bench(suite=suite, repeats=repeats, quick=quick, only=only, progress=move)
    if as_json:
        print_json(document)
    else:
        typer.echo(bench_table(document))
