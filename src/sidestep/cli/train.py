"""``sidestep train``: train the bundled learned policies."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from sidestep._util.extras import check_extras
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

app = typer.Typer(help="Train a learned policy from scratch.", no_args_is_help=True)


@app.callback()
def train() -> None:
    """Train a learned policy from scratch."""


def _check_place(out: Path) -> None:
    """``BadInput`` before hours of training if the file could not be written after them."""
    if not out.parent.is_dir():
        raise BadInput(f"{out.parent}: no such folder; make it first or choose another --out")


@app.command("cadrl")
@verb
def cadrl(
    out: Annotated[Path, typer.Option(help="File to write the weights to.")] = Path("cadrl.npz"),
    steps: Annotated[int, typer.Option(min=1, help="Number of reinforcement learning rounds.")] = 240,
    seed: Annotated[int, typer.Option(min=0, help="Seed. The same seed and steps give the same weights.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train the value network of SA-CADRL in the batched simulator. Needs the extra ``learn``."""
    from sidestep._util.progress import progress_bar
    from sidestep.simulation.prepare import prepare_kernels

    check_extras("training", "learn")
    from sidestep._util.writing import atomic
    from sidestep.learning.cadrl import CadrlTraining, Trained, measure_cadrl, train_cadrl
    from sidestep.policies.cadrl.network import save_weights

    def write(so_far: Trained) -> None:
        with atomic(out) as whole:
            save_weights(whole, so_far.network.arrays(), so_far.about)

    _check_place(out)
    settings = CadrlTraining(steps=steps, seed=seed)
    with quiet_stdout(as_json):
        prepare_kernels()
        with progress_bar("training") as move:
            trained = train_cadrl(settings, move, write)
        measured = measure_cadrl(trained.network, settings, seed=seed + 1, worlds=256)
    digest = sha256(out.read_bytes()).hexdigest()
    if as_json:
        print_json(
            {"weights": str(out), "sha256": digest, "steps": steps, "seed": seed, "curve": trained.curve}
            | {"measured": measured}
        )
        return
    say(f"wrote {out} (sha256 {digest})")
    typer.echo(f"goal {measured['success']:.1%}, contact {measured['contact']:.1%}, late {measured['late']:.1%} of "
               f"{measured['learners']:.0f} learners in fresh encounters")  # fmt: skip


@app.command("intersection")
@verb
def intersection(
    demonstrations: Annotated[list[Path], typer.Argument(help="HDF5 files of `sidestep demos intersection`.")],
    out: Annotated[Path, typer.Option(help="File to write the network to.")] = Path("intersection.onnx"),
    epochs: Annotated[int, typer.Option(min=1, help="Number of passes over the frames.")] = 12,
    batch: Annotated[int, typer.Option(min=1, help="Frames per gradient step.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Seed. The same seed and files give the same weights.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train the policy ``imitation`` on demonstrations and write it as ONNX. Needs the extra ``learn``."""
    from sidestep._util.progress import progress_bar

    check_extras("training", "learn")
    from sidestep.learning.driving import DrivingTrained, DrivingTraining, export_driving, train_driving

    _check_place(out)
    settings = DrivingTraining(epochs=epochs, batch=batch, seed=seed)

    def write(so_far: DrivingTrained) -> None:
        export_driving(so_far, out, settings)

    with quiet_stdout(as_json), progress_bar("training") as move:
        trained = train_driving(demonstrations, settings, move, write)
    if as_json:
        print_json({"network": str(out), "frames": trained.frames, "curve": trained.curve})
        return
    last = trained.curve[-1]
    say(f"wrote {out}: {trained.frames} frames, loss {last['train']:.4f}, held out {last['validate']:.4f}")


@app.command("protocol")
@verb
def protocol(
    out: Annotated[Path, typer.Option(help="File to write the network to.")] = Path("waypoints.onnx"),
    runs: Annotated[int, typer.Option(min=1, help="Number of expert runs to learn from.")] = 300,
    epochs: Annotated[int, typer.Option(min=1, help="Number of passes over the frames.")] = 15,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the runs and of the training.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train the network of the policy ``ilqr_bc`` on expert runs of frontal approaches. Needs the extra ``learn``."""
    from sidestep._util.progress import progress_bar
    from sidestep.learning.frontal import collect_frames

    check_extras("training", "learn")
    from sidestep.learning.waypoints import WaypointTraining, export_waypoints, train_waypoints

    _check_place(out)
    settings = WaypointTraining(epochs=epochs, seed=seed)
    with quiet_stdout(as_json):
        with progress_bar("expert runs") as move:
            frames = collect_frames(runs, seed, move)
        with progress_bar("training") as move:
            trained = train_waypoints(frames, settings, move)
        export_waypoints(trained, out, settings, runs)
    if as_json:
        print_json({"network": str(out), "runs": runs, "frames": trained.frames, "curve": trained.curve})
        return
    last = trained.curve[-1]
    say(f"wrote {out}: {trained.frames} frames, error {last['train']:.4f}, held out {last['validate']:.4f}")
