"""``sidestep drive``: drive by hand in the browser and record demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

app = typer.Typer(help="Drive by hand in the browser and record demonstrations.", no_args_is_help=True)

BATCH = 16
"""Frames that are written together: writing them takes less than a step, and a kill loses no more."""


@app.callback()
def drive() -> None:
    """Drive by hand in the browser and record demonstrations."""


@app.command("intersection")
@verb
def intersection(
    scene: Annotated[
        int | None, typer.Option(help="Scene 0 to 5. Default: the development scenes 0-3 in turn.")
    ] = None,
    branch: Annotated[
        int | None, typer.Option(help="-1 turn left, 0 go straight, 1 turn right. Default: all in turn.")
    ] = None,
    pose: Annotated[int | None, typer.Option(help="Start pose of the route. Default: all in turn.")] = None,
    people: Annotated[str, typer.Option(help="Density: none, few, moderate, standard or many.")] = "standard",
    vehicles: Annotated[bool, typer.Option("--vehicles", help="Add other vehicles.")] = False,
    weather: Annotated[
        list[str] | None,
        typer.Option(
            help="Weather by its published name. Repeat it to alternate. Default: the four training weathers."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first round over the routes.")] = 0,
    out: Annotated[Path, typer.Option(help="HDF5 file to write.")] = Path("demonstrations.h5"),
    append: Annotated[bool, typer.Option("--append", help="Add to an existing file.")] = False,
    failures: Annotated[
        bool, typer.Option("--failures", help="Keep episodes that failed, too. Frames are then written while driving.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others can reach the page only if this is not the default.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drive the intersection suite with keys, touch or a gamepad until Ctrl-C, and write demonstrations."""
    from sidestep._util.web import bind, is_loopback
    from sidestep.learning.demonstrations import DemonstrationWriter
    from sidestep.learning.drive_page.episodes import HandDriving, HandPlan
    from sidestep.learning.drive_page.server import serve_page
    from sidestep.simulation.prepare import prepare_kernels
    from sidestep.suites.intersection import TEST_SCENES, TRAIN_WEATHERS, numbered_weathers

    def announce(address: str) -> None:
        say(f"drive at {address}; Ctrl-C stops")
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    with quiet_stdout(as_json):
        weathers = tuple(weather or TRAIN_WEATHERS)
        plan = HandPlan(
            scene=scene, branch=branch, pose=pose, people=people, vehicles=vehicles, weathers=weathers, seed=seed
        )
        numbered = numbered_weathers(weathers, vehicles)
        if scene in TEST_SCENES:
            say(f"scene {scene} belongs to the test split: do not train on it what tables will show")
        if not is_loopback(host):
            say("others can reach this address: whoever has the whole link can drive, and nothing is encrypted")
        listening = bind(host, port)
        with listening, DemonstrationWriter(out, append=append, batch=BATCH, weathers=numbered) as writer:
            prepare_kernels()
            driving = HandDriving(plan, writer, keep_failures=failures)
            try:
                serve_page(driving, listening, host, announce)
            except KeyboardInterrupt:
                say("stopped")
    if as_json:
        print_json({"file": str(out), "episodes": driving.kept_episodes, "frames": driving.kept_frames})
        return
    say(f"wrote {out}: {driving.kept_frames} frames of {driving.kept_episodes} episodes")
