"""``sidestep verify``: run episodes again and compare them with their records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import CHECK_FAILED, AsJson, print_json, quiet_stdout, verb


@verb
def verify(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    sample: Annotated[
        int | None, typer.Option(min=1, help="Number of episodes to check, spread evenly over the run. Default: all.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Run episodes of RUN again and compare them with their records, bit for bit. Exit code 1 if one differs."""
    from sidestep.progress import progress_bar
    from sidestep.runs.verify import verify_run
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    with quiet_stdout(as_json), progress_bar("verifying") as move:
        found = verify_run(run, sample, workers, lambda done, total, task: move(done, total, task.label))
    if as_json:
        print_json(found.as_json())
    else:
        typer.echo(f"{found.equal} of {found.checked} episodes are identical to their records")
        if found.first_difference is not None:
            d = found.first_difference
            typer.echo(
                f"first difference: {d.policy} · {d.scenario}, step {d.step}: {d.quantity} was {d.was}, is {d.is_}"
            )
    if found.equal < found.checked:
        raise typer.Exit(CHECK_FAILED)
