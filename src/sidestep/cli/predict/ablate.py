"""``sidestep predict ablate``: train a CVAE for every feature set, and find out which features matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep._util.extras import check_extras
from sidestep.cli.predict import app
from sidestep.cli.predict.evaluate import evaluate
from sidestep.cli.verb import AsJson, quiet_stdout, say, verb


@app.command("ablate")
@verb
def ablate(
    data: Annotated[Path, typer.Argument(metavar="DATA.h5", help="Interaction data with its splits.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for networks, tables and pictures.")],
    features: Annotated[list[str] | None, typer.Option(help="Feature set; repeatable. All eight by default.")] = None,
    size: Annotated[str, typer.Option(help="Size of the networks and their training: small or paper.")] = "small",
    epochs: Annotated[int, typer.Option(min=0, help="Number of epochs; 0: the default of the size.")] = 0,
    samples: Annotated[int, typer.Option(min=0, help="Samples per epoch; 0: the default of the size.")] = 0,
    grid: Annotated[bool, typer.Option(help="Search the paper's grid of sizes for each feature set.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of training seeds of each feature set; tables show their means.")
    ] = 1,
    every: Annotated[int, typer.Option(min=1, metavar="K", help="Take every K-th moment of a test track.")] = 1,
    resamples: Annotated[int, typer.Option(min=10, help="Number of bootstrap resamples.")] = 10_000,
    threads: Annotated[int, typer.Option(min=0, help="Number of threads of torch; 0: torch chooses.")] = 0,
    restart: Annotated[bool, typer.Option(help="Begin again even if there are checkpoints.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a CVAE for every feature set and write the tables of metrics and of optimal feature sets, ROC curves and
    pictures of examples. A feature set is judged by the networks of all its seeds, at the size of the best one. What is
    trained already is not trained again. Needs the extra ``learn``."""
    from sidestep._util.progress import progress_bar
    from sidestep.cli.predict.train import train_networks
    from sidestep.prediction.data.store import read_interactions
    from sidestep.prediction.predictors.network_input import FEATURE_SETS, parse_features

    check_extras("training", "learn")
    chosen = list(dict.fromkeys(parse_features(each) for each in features or FEATURE_SETS))
    files = {name: out / "networks" / f"{name}.onnx" for name in chosen}
    (out / "networks").mkdir(parents=True, exist_ok=True)
    labelled: list[str] = []
    changes = {name: value for name, value in (("epochs", epochs), ("samples", samples)) if value}
    with quiet_stdout(as_json):
        interactions = read_interactions(data)
        for number, (name, file) in enumerate(files.items()):
            with progress_bar(f"{name} ({number + 1} of {len(files)})") as move:
                found = train_networks(
                    interactions, name, size, file, move, changes, grid, list(range(1, seeds + 1)), threads, restart
                )
            nll = ", ".join(f"{value:.2f}" for value in found[0].trained.nll)
            say(f"{name}: validation NLL {nll} (1, 2, 3, 4 s)")
            best = found[0].settings.sizes
            labelled += [f"{name}={each.file}" for each in found if each.settings.sizes == best]
        _draw_examples(data, files, out / "examples.png")
    evaluate(labelled, data, every=every, resamples=resamples, out=out, as_json=as_json)


def _draw_examples(data: Path, files: dict[str, Path], path: Path) -> None:
    """Pictures of the paper's two situations by the network with the least and the one with the most features."""
    import numpy as np

    from sidestep import registry
    from sidestep.prediction.data.samples import make_samples
    from sidestep.prediction.data.store import read_interactions
    from sidestep.prediction.forecasts import forecast_samples
    from sidestep.prediction.pictures import choose_examples, draw_forecasts

    samples = make_samples(read_interactions(data).of_split("test"))
    rows = list(choose_examples(samples).values())
    if not rows:
        say("no pictures of examples: nobody in the test split turns onto a zebra crossing or starts to cross")
        return
    some = samples.choose(np.array(rows))
    wanted = [name for name in ("motion", "motion+map", "motion+map+egodist", list(files)[-1]) if name in files]
    networks = {name: registry.make_predictor("cvae", {"file": str(files[name])}) for name in dict.fromkeys(wanted)}
    forecasts = {name: forecast_samples(network, some) for name, network in networks.items()}
    draw_forecasts(some, list(range(len(rows))), forecasts, path)
