"""``sidestep predict``: interaction data, human driving, predictors and what they do to the driving."""

from __future__ import annotations

import typer

app = typer.Typer(help="Score pedestrian predictors by their effect on driving.", no_args_is_help=True)


@app.callback()
def predict() -> None:
    """Score pedestrian predictors by their effect on driving."""


from sidestep.cli.predict import ablate as ablate  # noqa: E402
from sidestep.cli.predict import compare as compare  # noqa: E402
from sidestep.cli.predict import dataset as dataset  # noqa: E402
from sidestep.cli.predict import evaluate as evaluate  # noqa: E402
from sidestep.cli.predict import gaps as gaps  # noqa: E402
from sidestep.cli.predict import loop as loop  # noqa: E402
from sidestep.cli.predict import toy as toy  # noqa: E402
from sidestep.cli.predict import train as train  # noqa: E402
