"""``sidestep compare``: paired differences between policies and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput


@verb
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="One run with several policies, or several runs; folders or packs."),
    ],
    metric: Annotated[
        list[str] | None, typer.Option(help="Metric to compare; repeatable. Default: ten headline metrics.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare every metric that both sides have.")] = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="POLICY", help="Compare the other policies with this one only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare policies and runs episode by episode: paired differences with intervals and corrected p-values."""
    from sidestep.leaderboard.unpack import opened_runs
    from sidestep.metrics.score import HEADLINES, load_metrics
    from sidestep.report.terminal import print_comparison
    from sidestep.runs.compare import compare_runs

    if metric and every:
        raise BadInput("--all shows every metric; leave out either --all or --metric")
    load_metrics(metric or ())  # an unknown name is an error
    with quiet_stdout(as_json), opened_runs(runs) as opened:
        document = compare_runs(opened, None if every else metric or HEADLINES, baseline)
    if as_json:
        print_json(document)
    else:
        print_comparison(document)
