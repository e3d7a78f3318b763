"""``sidestep twin``: simulate the episodes of a run without the robot and score what the robot costs people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

if TYPE_CHECKING:
    from sidestep.runs.twins import TwinResult


@verb
def twin(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Simulate every episode of RUN without the robot and score the delay, detour and stops that it cost people."""
    with quiet_stdout(as_json):
        found = add_twins(run, workers)
    if as_json:
        print_json({"run": str(run), **found.as_json()})
    else:
        typer.echo(f"{found.made} twins simulated, {found.kept} were there; `sidestep score {run}` shows the metrics")


def add_twins(folder: Path, workers: int) -> TwinResult:
    """Make the twins of a run and say which could not be made."""
    from sidestep._util.progress import progress_bar
    from sidestep.runs.twins import make_twins
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    with progress_bar("twins") as move:
        found = make_twins(folder, workers, move)
    for reason in found.skipped:
        say(f"no twin: {reason}")
    return found
