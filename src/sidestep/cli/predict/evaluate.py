"""``sidestep predict evaluate``: metrics of predictors on interaction data, with intervals and ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.prediction.bootstrap import Bootstrap
    from sidestep.prediction.data.samples import Samples
    from sidestep.prediction.scores import Scores
    from sidestep.types.forecast import Forecast

OTHERS = ("fde", "min_ade", "miss", "collision")
RATES = (0.025, 0.05, 0.1, 0.15)
"""False positive rates at which the JSON document has sensitivities."""

Split = Annotated[str, typer.Option(help="train, validation, test or all.")]
Every = Annotated[int, typer.Option(min=1, help="Take every K-th moment of a track.", metavar="K")]
Resamples = Annotated[int, typer.Option(min=10, help="Number of bootstrap resamples.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]


@app.command("evaluate")
@verb
def evaluate(
    predictor: Annotated[
        list[str],
        typer.Option(
            metavar="[LABEL=]NAME|FILE.onnx|FILE.h5",
            help="Name of a predictor, an exported network, or a file of forecasts; repeatable. LABEL names its row; "
            "networks of one label are training seeds of one kind.",
        ),
    ],
    file: Annotated[Path | None, typer.Argument(metavar="[DATA.h5]", help="Interaction data.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DATA.h5", help="Interaction data, as an option.")] = None,
    split: Split = "test",
    every: Every = 1,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for tables and ROC curves.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score predictors: In-ROI Sensitivity, NLL, ADE and more at 1 to 4 s, with bootstrap intervals over clips."""
    from rich.console import Console

    from sidestep.prediction.bootstrap import HEADLINES, bootstrap_scores
    from sidestep.prediction.tables import score_table, ungrouped
    from sidestep.report.table_writer import print_table

    chosen = file or data
    if chosen is None or (file is not None and data is not None):
        raise BadInput("give one file of interaction data: DATA.h5, or --data DATA.h5")
    with quiet_stdout(as_json):
        samples, scores = score_predictors(chosen, predictor, split, every)
        bootstrap = bootstrap_scores(scores, (*HEADLINES, *OTHERS), resamples, seed)
        title = f"Prediction metrics, {split} split, {bootstrap.tracks} tracks, {len(samples)} moments"
        table = score_table(bootstrap, HEADLINES, title, people=_origin(samples))
        if out is not None:
            _write(out, bootstrap, scores, table, seed)
    if as_json:
        print_json(_document(bootstrap, scores, split, chosen))
    else:
        print_table(ungrouped(table), Console(), table.head)
        for note in table.notes:
            say(note)


def score_predictors(data: Path, predictors: Sequence[str], split: str, every: int) -> tuple[Samples, list[Scores]]:
    """The moments of a split, and the scores of every predictor on them."""
    from dataclasses import replace

    from sidestep._util.progress import progress_bar
    from sidestep.cli.predict.named import all_named
    from sidestep.prediction.data.samples import make_samples
    from sidestep.prediction.data.store import read_interactions
    from sidestep.prediction.forecasts import frame_doubt
    from sidestep.prediction.scores import score_forecast

    chosen = all_named(predictors)
    tracks = read_interactions(data)
    samples = make_samples(tracks if split == "all" else tracks.of_split(split), every)
    if not len(samples):
        raise BadInput(f"{data}: the split {split!r} has no tracks; choose another one with --split")
    scores = []
    with progress_bar("predictors") as move:
        for number, each in enumerate(chosen):
            move(number, len(chosen), each.label)
            forecast = _forecast(each.what, samples)
            if doubt := frame_doubt(forecast, samples):
                say(f"warning: {each.label}: {doubt}")
            found = score_forecast(samples, forecast, name=each.label)
            scores.append(replace(found, is_network=each.is_network))
        move(len(chosen), len(chosen), "")
    return samples, scores


def _forecast(what: str, samples: Samples) -> Forecast:
    from sidestep import registry
    from sidestep.prediction.forecasts import forecast_samples, read_forecast

    if what.endswith(".h5"):
        return read_forecast(Path(what), samples)
    if what.endswith(".onnx"):
        return forecast_samples(registry.make_predictor("cvae", {"file": what}), samples)
    return forecast_samples(registry.make_predictor(what), samples)


def _origin(samples: Samples) -> str:
    origins = {samples.data.clips[clip].origin for clip in set(samples.clip.tolist())}
    return origins.pop() if len(origins) == 1 else "mixed"


def _write(out: Path, bootstrap: Bootstrap, scores: Sequence[Scores], table: Any, seed: int) -> None:
    import numpy as np

    from sidestep._util.writing import write_whole
    from sidestep.prediction.bootstrap import HEADLINES, roc_band
    from sidestep.prediction.plots import MOST_FPR, roc_plots
    from sidestep.prediction.roc import irs_fpr
    from sidestep.prediction.tables import difference_table, optimal_table, score_table
    from sidestep.report.plots import image_bytes
    from sidestep.report.table_writer import write_tables

    more = score_table(bootstrap, OTHERS, "Further prediction metrics", "further", table.people)
    for each in (table, more, optimal_table(bootstrap, HEADLINES), difference_table(bootstrap, HEADLINES)):
        write_tables([each], out / each.name, (".md", ".csv", ".tex"))
    fpr = np.linspace(0.0, MOST_FPR, 61)
    horizons = range(len(bootstrap.horizons_s))
    bands = {name: [roc_band(each, h, fpr, seed=seed) for h in horizons] for name, each in _by_kind(scores).items()}
    figure = roc_plots(bands, bootstrap.horizons_s, irs_fpr(bootstrap.horizons_s))
    for form in ("png", "svg"):
        write_whole(out / f"roc.{form}", image_bytes(figure, form))


def _by_kind(scores: Sequence[Scores]) -> dict[str, list[Scores]]:
    kinds: dict[str, list[Scores]] = {}
    for each in scores:
        kinds.setdefault(each.name, []).append(each)
    return kinds


def _document(bootstrap: Bootstrap, scores: Sequence[Scores], split: str, data: Path) -> dict[str, Any]:
    """What is known of the first predictor by horizon, ``results`` with the same of all, and arrays over all."""
    from sidestep.prediction.bootstrap import HEADLINES
    from sidestep.prediction.roc import in_roi_sensitivity

    metrics = {}
    for name, metric in bootstrap.metrics.items():
        low, high = metric.interval()
        metrics[name] = {
            "value": metric.value.tolist(), "low": low.tolist(), "high": high.tolist(),
            "undefined_resamples": metric.undefined.tolist(),
        }  # fmt: skip
    kinds = _by_kind(scores)
    results = [_result(bootstrap, number, models, data) for number, models in enumerate(kinds.values())]
    return {
        **results[0],
        "results": results,
        "split": split,
        "tracks": bootstrap.tracks,
        "moments": len(scores[0]),
        "predictors": list(bootstrap.models),
        "horizons_s": bootstrap.horizons_s.tolist(),
        "metrics": metrics,
        "irs": [[vars(each) for each in in_roi_sensitivity(models[0])] for models in kinds.values()],
        "resampled": bootstrap.described(),
        "seeds": list(bootstrap.seeds),
        "cautions": bootstrap.cautions(),
        "better": {name: bootstrap.better(name).tolist() for name in HEADLINES},
        "optimal": {name: bootstrap.optimal(name) for name in HEADLINES},
    }


def _result(bootstrap: Bootstrap, number: int, networks: Sequence[Scores], data: Path) -> dict[str, Any]:
    """One kind of predictor by horizon. ``low`` and ``high`` belong to the sensitivity at the rate ``irs_rate``."""
    from sidestep.prediction.bootstrap import HEADLINES
    from sidestep.prediction.roc import irs_fpr, rank

    rates = irs_fpr(bootstrap.horizons_s).tolist()
    limits = {name: bootstrap.metrics[name].interval() for name in HEADLINES}
    horizons = {}
    for h, seconds in enumerate(bootstrap.horizons_s.tolist()):
        rankings = [rank(each, h) for each in networks]
        irs = {f"{rate:g}": sum(each.at(rate).value for each in rankings) / len(rankings) for rate in RATES}
        found: dict[str, Any] = {"irs": irs, "irs_rate": rates[h]}
        for name in HEADLINES:
            low, high = (float(limit[number, h]) for limit in limits[name])
            prefix = "" if name == "irs" else f"{name}_"
            found |= {f"{prefix}low": low, f"{prefix}high": high}
            if name != "irs":
                found[name] = float(bootstrap.metrics[name].value[number, h])
        horizons[f"{seconds:g}"] = found
    return {"predictor": networks[0].name, "data": str(data), "n": len(networks[0]), "horizons": horizons}
