"""``sidestep predict train``: train a CVAE on interaction data and write it as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep._util.extras import check_extras
from sidestep.cli.predict import app
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.prediction.training.cvae_training import Candidate
    from sidestep.types.interactions import Interactions


@app.command("train")
@verb
def train(
    data: Annotated[Path, typer.Argument(metavar="DATA.h5", help="Interaction data with its splits.")],
    out: Annotated[Path, typer.Option(help="File to write the network to.")] = Path("cvae.onnx"),
    features: Annotated[
        str, typer.Option(help="Feature set: motion, with any of map, egodist and head&body, joined by +.")
    ] = "motion+map",
    size: Annotated[str, typer.Option(help="Size of the network and its training: small or paper.")] = "small",
    epochs: Annotated[int, typer.Option(min=0, help="Number of epochs; 0: the default of the size.")] = 0,
    samples: Annotated[int, typer.Option(min=0, help="Samples per epoch; 0: the default of the size.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed. The same seed and data give the same weights.")] = 1,
    grid: Annotated[bool, typer.Option(help="Search the paper's grid of sizes; the best validation IRS wins.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds to try, starting with --seed.")] = 1,
    threads: Annotated[int, typer.Option(min=0, help="Number of threads of torch; 0: torch chooses.")] = 0,
    restart: Annotated[bool, typer.Option(help="Begin again even if there is a checkpoint.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a CVAE and write it as ONNX. A training that was interrupted goes on where it was. Needs the extra
    ``learn``."""
    from sidestep._util.progress import progress_bar
    from sidestep.prediction.data.store import read_interactions

    check_extras("training", "learn")
    changes = {name: value for name, value in (("epochs", epochs), ("samples", samples)) if value}
    with quiet_stdout(as_json), progress_bar("training") as move:
        found = train_networks(
            read_interactions(data), features, size, out, move, changes, grid, list(range(seed, seed + seeds)),
            threads, restart,
        )  # fmt: skip
    best = found[0]
    if as_json:
        candidates = [
            {"file": str(each.file), "irs": each.irs, "nll": each.trained.nll, "epoch": each.trained.epoch}
            for each in found
        ]
        print_json({"network": str(out), "samples": best.trained.samples, "candidates": candidates})
        return
    nll = ", ".join(f"{value:.2f}" for value in best.trained.nll)
    irs = ", ".join(f"{100 * value:.1f} %" for value in best.irs)
    say(f"wrote {out}: epoch {best.trained.epoch}, validation NLL {nll}, validation IRS {irs} (1, 2, 3, 4 s)")


def train_networks(
    data: Interactions,
    features: str,
    size: str,
    out: Path,
    progress: Callable[[int, int, str], None],
    changes: dict[str, Any],
    grid: bool,
    seeds: list[int],
    threads: int,
    restart: bool,
) -> list[Candidate]:
    """Train the networks of a grid and seeds beside ``out``, which gets the best; best first."""
    import torch

    from sidestep.prediction.training.cvae import grid_of
    from sidestep.prediction.training.cvae_training import search_cvae, training_of

    if not out.parent.is_dir():
        raise BadInput(f"{out.parent}: no such folder; make it first or choose another --out")
    if threads:
        torch.set_num_threads(threads)
    settings = training_of(features, size, **changes)
    sizes = grid_of(settings.features, settings.sizes, size == "small") if grid else [settings.sizes]
    found = search_cvae(data, settings, sizes, seeds, out.with_suffix(".training"), progress, restart)
    copyfile(found[0].file, out)
    return found
