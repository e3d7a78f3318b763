"""``sidestep bench``: measure the speed on this computer."""

from __future__ import annotations

from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb


@verb
def bench(
    suite: Annotated[str, typer.Option(help="Group of figures to measure.")] = "core",
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements per figure.")] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Quick mode: fewer cases, shorter runs. Too noisy to quote.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Measure only figures whose id matches this pattern, such as 'orca/*'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the speed of the simulator, and of other simulators where they are installed."""
    from sidestep._util.progress import progress_bar
    from sidestep.bench import bench_table, run_bench

    with quiet_stdout(as_json), progress_bar("figures") as move:
        document = run_bench(suite=suite, repeats=repeats, quick=quick, only=only, progress=move)
    if as_json:
        print_json(document)
    else:
        typer.echo(bench_table(document))
