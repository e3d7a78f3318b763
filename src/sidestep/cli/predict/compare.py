"""``sidestep predict compare``: differences between predictors on the same moments, with intervals."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.predict.evaluate import Every, Resamples, Seed, Split, score_predictors
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.prediction.bootstrap import Bootstrap


@app.command("compare")
@verb
def compare(
    predictors: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL=]PREDICTOR…",
            help="Two or more: names of predictors, exported networks (.onnx) or files of forecasts (.h5).",
        ),
    ],
    data: Annotated[Path, typer.Option(metavar="DATA.h5", help="Interaction data.")],
    split: Split = "test",
    every: Every = 1,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare predictors in pairs by IRS, NLL and ADE at every horizon, with 90 % intervals of the paired differences.
    A difference is the first predictor's value minus the second's."""
    from sidestep.prediction.bootstrap import bootstrap_scores

    if len(predictors) < 2:
        raise BadInput("a comparison needs two predictors or more; name another one")
    with quiet_stdout(as_json):
        _, scores = score_predictors(data, predictors, split, every)
        bootstrap = bootstrap_scores(scores, resamples=resamples, seed=seed)
    rows = difference_rows(bootstrap)
    if as_json:
        document = {"pairs": rows, "data": str(data), "split": split, "tracks": bootstrap.tracks, "n": len(scores[0])}
        document |= {"resampled": bootstrap.described(), "seeds": list(bootstrap.seeds)}
        document["cautions"] = bootstrap.cautions()
        print_json(document)
        return
    from sidestep.report.terminal import print_rows

    print_rows("pairs", [{name: _shown(value) for name, value in row.items()} for row in rows])
    over = f"intervals of 90 %, bootstrap over {bootstrap.described()}"
    say(f"{bootstrap.tracks} tracks, {len(scores[0])} moments; {over}")
    for caution in bootstrap.cautions():
        say(caution)


def difference_rows(bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """One row per pair of predictors, metric and horizon. ``better`` is ``a`` or ``b`` where the interval leaves out
    zero."""
    rows = []
    for i, j in combinations(range(len(bootstrap.models)), 2):
        for name, metric in bootstrap.metrics.items():
            better = bootstrap.better(name)
            values, lows, highs = (each.tolist() for each in metric.difference(i, j))
            for h, horizon in enumerate(bootstrap.horizons_s.tolist()):
                winner = "a" if better[h, i, j] else "b" if better[h, j, i] else None
                rows.append(
                    {
                        "a": bootstrap.models[i], "b": bootstrap.models[j], "metric": name, "horizon": horizon,
                        "difference": values[h], "low": lows[h], "high": highs[h], "better": winner,
                    }
                )  # fmt: skip
    return rows


def _shown(value: Any) -> Any:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else value
