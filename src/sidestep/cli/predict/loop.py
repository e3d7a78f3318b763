"""``sidestep predict loop``: drive with each predictor, and compare metrics with the driving."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput, UnknownName

UNSET = (0.5, 0.5, 0.5, 0.5)
"""Thresholds while the drives are checked and the right ones are not known yet."""


Predictor = Annotated[
    list[str],
    typer.Option(help="Name of a predictor, file.py:Class or a network's .onnx file; LABEL=… names it. Repeat it."),
]
Alarms = Annotated[
    float, typer.Option(min=0.001, max=1.0, help="False alarms of the driver as a share of those that IRS allows.")
]
Ends = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL", help="Predictor to drive at both ends of the intervals of its thresholds as well; repeatable."
    ),
]


@app.command("loop")
@verb
def loop(
    data: Annotated[Path, typer.Argument(help="HDF5 file of `sidestep predict dataset`.")],
    predictor: Predictor,
    out: Annotated[Path, typer.Option(help="Folder for runs and results. An interrupted loop is resumed.")] = Path(
        "loop"
    ),
    suite: Annotated[list[str] | None, typer.Option(help="street, intersection or both. Default: street.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Number of seeds per scenario.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="Drive only the first N scenarios of each suite.")] = None,
    alarms: Alarms = 0.1,
    split: Annotated[str, typer.Option(help="Scenarios to drive: dev, test or all.")] = "test",
    every: Annotated[int, typer.Option(min=1, help="Score every Nth frame of the tracks.")] = 2,
    ends: Ends = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Drive suites with the policy anticipatory and each predictor, and correlate metrics with the driving. Everything
    is checked before the first drive; rank correlations need four predictors or more."""
    from sidestep._util.progress import progress_bar
    from sidestep.cli.predict.named import all_named
    from sidestep.prediction.bootstrap import bootstrap_scores
    from sidestep.prediction.data.store import read_interactions
    from sidestep.prediction.loop import LoopPredictor, check_predictors, drive_all, plan_drives, scored_splits
    from sidestep.prediction.loop_summary import RESAMPLES, correlate, loop_document, summarise_drives
    from sidestep.prediction.working_points import working_points
    from sidestep.simulation.prepare import prepare_kernels

    chosen = [LoopPredictor(*each) for each in all_named(predictor)]
    suites, options = list(dict.fromkeys(suite or ["street"])), {"split": split}
    with quiet_stdout(as_json):
        check_predictors(chosen)
        _check_ends(ends or [], [each.label for each in chosen])
        for name in suites:
            plan_drives(name, options, {each.label: each.settings(UNSET) for each in chosen}, repeat, limit)
        interactions = read_interactions(data)
        out.mkdir(parents=True, exist_ok=True)
        say("scoring predictors on the validation and test splits")
        checked, tested = scored_splits(interactions, chosen, every)
        points = {each.name: working_points(each, alarms) for each in checked}
        metrics = bootstrap_scores(tested, resamples=RESAMPLES)
        drivers = {each.label: each.settings([w.threshold for w in points[each.label]]) for each in chosen}
        for each in (each for each in chosen if each.label in (ends or [])):
            for end in ("low", "high"):
                drivers[f"{each.label}-{end}"] = each.settings([getattr(w, end) for w in points[each.label]])
        prepare_kernels()
        drives = []
        for name in suites:
            with progress_bar("driving") as move:
                drives += drive_all(name, options, drivers, out, repeat, workers, move, limit)
        outcomes = summarise_drives(drives)
        document = loop_document(metrics, outcomes, correlate(metrics, outcomes), points)
        tables = _write_results(document, out)
    if as_json:
        print_json(document)
        return
    for table in tables:
        typer.echo(table)
    say(f"wrote {out}: loop.json, tables, loop.png, and the runs")


def _write_results(document: dict[str, Any], out: Path) -> list[str]:
    """Write the document, its tables and its picture; returns the tables as Markdown."""
    from sidestep._util.writing import whole_file
    from sidestep.prediction.loop_tables import correlation_table, draw_loop, loop_table
    from sidestep.report.table_writer import markdown, write_tables

    with whole_file(out / "loop.json") as whole:
        whole.write_text(json.dumps(document, indent=1), encoding="utf-8")
    tables = [loop_table(document), *([correlation_table(document)] if document["correlations"] else [])]
    for table in tables:
        write_tables([table], out / table.name, (".csv", ".tex", ".md"))
    with whole_file(out / "loop.png") as whole:
        draw_loop(document).savefig(whole, format="png", dpi=130)
    return [markdown(table) for table in tables]


def _check_ends(ends: list[str], labels: list[str]) -> None:
    for label in ends:
        if label not in labels:
            raise UnknownName("predictor of --ends", label, labels)
        for end in ("low", "high"):
            if f"{label}-{end}" in labels:
                raise BadInput(f"--ends {label}: there is a predictor {label}-{end} already; give it another label")
