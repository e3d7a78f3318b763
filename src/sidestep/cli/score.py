"""``sidestep score``: compute the metrics of saved records without simulating."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb


@verb
def score(
    run: Annotated[Path, typer.Argument(help="Run folder, pack, folder of records, or one record.")],
    dialect: Annotated[
        str, typer.Option(help="Set of metric definitions: paper, or the name of a published benchmark.")
    ] = "paper",
    metric: Annotated[list[str] | None, typer.Option(help="Metric to compute; repeatable. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the metrics of the records of RUN, without simulating."""
    from sidestep.leaderboard.unpack import opened_runs
    from sidestep.report.terminal import print_summary
    from sidestep.runs.score import score_run, summary_document

    with quiet_stdout(as_json), opened_runs([run]) as [opened]:
        scored = score_run(opened, dialect, metric or None)
        summary = summary_document(scored) | {"run": str(run)}
    for message in scored.unreadable:
        say(f"not scored: {message}")
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
