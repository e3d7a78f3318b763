"""``sidestep predict loop``: drive with each predictor, and see which metric tells who drives well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.predict import app
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb


@app.command("loop")
@verb
def loop(
    data: Annotated[Path, typer.Argument(help="HDF5 file of `sidestep predict dataset`.")],
    predictor: Annotated[
        list[str],
        typer.Option(help="Name of a predictor, file.py:Class or a network's .onnx file; LABEL=… names it. Repeat it."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for runs and results. An interrupted loop goes on there.")] = Path(
        "loop"
    ),
    suite: Annotated[list[str] | None, typer.Option(help="street, intersection or both. Default: street.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Seeds per scenario.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="Scenarios per suite, the first ones.")] = None,
    alarms: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="False alarms of the driver as a share of those that IRS allows.")
    ] = 0.1,
    split: Annotated[str, typer.Option(help="Scenarios to drive: dev, test or all.")] = "test",
    every: Annotated[int, typer.Option(min=1, help="Score every Nth frame of the tracks.")] = 2,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Drive suites with the policy anticipatory and each predictor, and correlate metrics with the driving."""
    from sidestep.interactions.bootstrap import bootstrap_scores
    from sidestep.interactions.loop import LoopPredictor, drive_all, score_predictors, thresholds_of
    from sidestep.interactions.loop_summary import RESAMPLES, correlate, loop_document, summarise_drives
    from sidestep.interactions.store import read_interactions
    from sidestep.progress import progress_bar
    from sidestep.report.loop_results import correlation_table, draw_loop, loop_table
    from sidestep.report.table_writer import markdown, write_tables
    from sidestep.runs.plan import split_label
    from sidestep.simulation.prepare import prepare_kernels
    from sidestep.writing import whole_file

    chosen = [LoopPredictor(*_labelled(split_label(each))) for each in predictor]
    with quiet_stdout(as_json):
        interactions = read_interactions(data)
        say("scoring predictors on the validation and test splits")
        checked = score_predictors(interactions, chosen, "validation", every)
        thresholds = {each.name: thresholds_of(each, alarms) for each in checked}
        metrics = bootstrap_scores(
            score_predictors(interactions, chosen, "test", every), resamples=RESAMPLES
        )  # fmt: skip
        prepare_kernels()
        drivers = {each.label: each.settings(thresholds[each.label]) for each in chosen}
        drives = []
        for name in suite or ["street"]:
            with progress_bar("driving") as move:
                drives += drive_all(name, {"split": split}, drivers, out, repeat, workers, move, limit)
        outcomes = summarise_drives(drives)
        told = {label: values.tolist() for label, values in thresholds.items()}
        document = loop_document(metrics, outcomes, correlate(metrics, outcomes), told)
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(out / "loop.json") as whole:
            whole.write_text(json.dumps(document, indent=1), encoding="utf-8")
        tables = [loop_table(document), correlation_table(document)]
        for table in tables:
            write_tables([table], out / table.name, (".csv", ".tex", ".md"))
        with whole_file(out / "loop.png") as whole:
            draw_loop(document).savefig(whole, format="png", dpi=130)
    if as_json:
        print_json(document)
        return
    for table in tables:
        typer.echo(markdown(table))
    say(f"wrote {out}: loop.json, tables, loop.png, and the runs")


def _labelled(given: tuple[str, str]) -> tuple[str, str]:
    label, reference = given
    return (Path(reference).stem if label == reference and reference.endswith(".onnx") else label), reference
