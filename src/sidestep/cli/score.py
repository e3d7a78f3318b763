"""``sidestep score``: score saved records again, without simulating."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb


@verb
def score(
    run: Annotated[Path, typer.Argument(help="Run folder, folder of records or one record.")],
    dialect: Annotated[str, typer.Option(help="Whose definitions of the metrics to use.")] = "paper",
    metric: Annotated[list[str] | None, typer.Option(help="Score only this metric; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score the records of RUN again, without simulating."""
    from sidestep.report.terminal import print_summary
    from sidestep.runs.score import score_run, summarise

    with quiet_stdout(as_json):
        scored = score_run(run, dialect, metric or None)
        summary = summarise(scored)
    for message in scored.unreadable:
        say(f"not scored: {message}")
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
