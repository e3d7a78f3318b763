"""``sidestep predict toy``: what NLL, ADE and IRS think of four forecasts of one scene."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.predict import app
from sidestep.cli.verb import CHECK_FAILED, AsJson, print_json, say, verb

KEYS = {
    "truth": "truth",
    "wrong on the sidewalk": "wrong_on_sidewalk",
    "wrong crossing": "wrong_on_road",
    "one mode": "unimodal",
}
"""Name of a model (``prediction.toy.MODELS``) → its key in the JSON document."""


@app.command("toy")
@verb
def toy(
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the table and the picture.")] = None,
    draws: Annotated[int, typer.Option(min=10, help="Number of positions drawn from the truth.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws and of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Score four forecasts of a pedestrian near a zebra crossing by NLL, ADE and IRS. The findings are about
    expectations over all draws; exit code 1 if one of the paper's does not hold."""
    from dataclasses import asdict

    from rich.console import Console

    from sidestep.prediction.bootstrap import HEADLINES
    from sidestep.prediction.tables import score_table, ungrouped
    from sidestep.prediction.toy import run_toy
    from sidestep.report.table_writer import print_table, write_tables

    result = run_toy(draws, seed=seed)
    table = score_table(result.bootstrap, HEADLINES, "Toy example: four models of one crossing scene", "toy")
    if out is not None:
        from sidestep._util.writing import write_whole
        from sidestep.prediction.plots import toy_picture
        from sidestep.report.plots import image_bytes

        write_tables([table], out / "toy", (".md", ".csv", ".tex"))
        write_whole(out / "toy.png", image_bytes(toy_picture(result), "png"))
    findings = result.findings
    if as_json:
        metrics = result.bootstrap.metrics
        values = {
            KEYS[model]: {name: float(metric.value[row, 0]) for name, metric in metrics.items()}
            for row, model in enumerate(result.bootstrap.models)
        }
        expected = {KEYS[model]: asdict(each) for model, each in result.expected.items()}
        print_json({"models": values, "expected": expected, "findings": findings})
    else:
        print_table(ungrouped(table), Console(), table.head)
        for finding, holds in findings.items():
            typer.echo(f"{'yes' if holds else 'NO '}  {finding}")
    if not all(findings.values()):
        say("not all findings of the paper hold of these models")
        raise typer.Exit(CHECK_FAILED)
