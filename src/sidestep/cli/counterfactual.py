"""``sidestep counterfactual``: simulate the episodes of a run without the robot and score what the robot costs
people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

if TYPE_CHECKING:
    from sidestep.runs.counterfactuals import CounterfactualResult


@verb
def counterfactual(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Simulate every episode of RUN without the robot and score the delay, detour and stops that it cost people."""
    with quiet_stdout(as_json):
        found = add_counterfactuals(run, workers)
    if as_json:
        print_json({"run": str(run), **found.as_json()})
    else:
        typer.echo(
            f"{found.made} counterfactuals simulated, {found.kept} were there; `sidestep score {run}` shows the metrics"
        )


def add_counterfactuals(folder: Path, workers: int) -> CounterfactualResult:
    """Make the counterfactuals of a run and say which could not be made."""
    from sidestep._util.progress import progress_bar
    from sidestep.runs.counterfactuals import make_counterfactuals
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    with progress_bar("counterfactuals") as move:
        found = make_counterfactuals(folder, workers, move)
    for reason in found.skipped:
        say(f"no counterfactual: {reason}")
    return found
