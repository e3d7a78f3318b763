"""The command-line application with all of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from sidestep.cli import (
    bench,
    board,
    compare,
    counterfactual,
    data,
    demos,
    doctor,
    drive,
    evaluate,
    import_logs,
    listing,
    pack,
    predict,
    render,
    replay,
    report,
    run,
    score,
    serve,
    study,
    train,
    validate,
    verify,
)
from sidestep.version import __version__

app = typer.Typer(
    name="sidestep",
    help="An open benchmark for robots and vehicles that move among people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """An open benchmark for robots and vehicles that move among people."""


app.command("list")(listing.list_)
app.command("run")(run.run)
app.command("import")(import_logs.import_)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("replay")(replay.replay)
app.command("render")(render.render)
app.command("counterfactual")(counterfactual.counterfactual)
app.command("verify")(verify.verify)
app.add_typer(pack.app, name="pack")
app.add_typer(board.app, name="board")
app.command("validate")(validate.validate)
app.add_typer(data.app, name="data")
app.command("serve")(serve.serve)
app.add_typer(study.app, name="study")
app.add_typer(train.app, name="train")
app.add_typer(demos.app, name="demos")
app.add_typer(drive.app, name="drive")
app.add_typer(predict.app, name="predict")
app.command(
    "evaluate", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)(evaluate.evaluate)
app.command("bench")(bench.bench)
app.command("doctor")(doctor.doctor)
