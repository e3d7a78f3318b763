"""``sidestep demos``: drive demonstrations, look at them, convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb

app = typer.Typer(help="Record and convert driving demonstrations.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="HDF5 file of demonstrations.")]


@app.callback()
def demos() -> None:
    """Record and convert driving demonstrations."""


@app.command("intersection")
@verb
def intersection(
    out: Annotated[Path, typer.Option(help="HDF5 file to write.")] = Path("demonstrations.h5"),
    driver: Annotated[
        list[str] | None, typer.Option(help="Policy that drives. Repeat it to alternate. Default: pid and pid_noise.")
    ] = None,
    split: Annotated[str, typer.Option(help="Scenes to drive: dev (0-3), test (4-5) or all.")] = "dev",
    scene: Annotated[
        list[int] | None, typer.Option(help="Scene 0 to 5, of any split. Repeat it. Default: all of the split.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds per route.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    weather: Annotated[
        list[str] | None,
        typer.Option(
            help="Weather by its published name. Repeat it to alternate. Default: the four training weathers."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Drive at most N episodes.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Keep every Nth frame.")] = 1,
    people: Annotated[str, typer.Option(help="Density: none, few, moderate, standard or many.")] = "standard",
    vehicles: Annotated[bool, typer.Option("--vehicles", help="Add other vehicles.")] = False,
    failures: Annotated[
        bool, typer.Option("--failures", help="Keep episodes that failed, too. Frames are then written while driving.")
    ] = False,
    append: Annotated[bool, typer.Option("--append", help="Add to an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drive the intersection suite and write the published HDF5 layout."""
    from sidestep._util.progress import progress_bar
    from sidestep.learning.demonstrations import DemonstrationWriter
    from sidestep.learning.drive_demos import DemonstrationPlan, check_plan, drive_demonstrations
    from sidestep.simulation.prepare import prepare_kernels
    from sidestep.suites.intersection import TEST_SCENES, TRAIN_WEATHERS, numbered_weathers

    plan = DemonstrationPlan(
        split=split,
        drivers=tuple(driver or ("pid", "pid_noise")),
        seeds=tuple(range(first_seed, first_seed + seeds)),
        weathers=tuple(weather or TRAIN_WEATHERS),
        every=every,
        success_only=not failures,
        vehicles=vehicles,
        people=people,
        scenes=tuple(scene or ()),
        limit=limit,
    )
    if scene and set(scene) & set(TEST_SCENES):
        say("scenes 4 and 5 belong to the test split: do not train on them what tables will show")
    with quiet_stdout(as_json):
        check_plan(plan)
        numbered = numbered_weathers(plan.weathers, vehicles)
        with DemonstrationWriter(out, append=append, weathers=numbered) as writer, progress_bar("episodes") as move:
            prepare_kernels()
            count = drive_demonstrations(plan, writer, move)
    if as_json:
        print_json({"file": str(out), **count._asdict()})
        return
    say(f"wrote {out}: {count.frames} frames; {count.successes} of {count.episodes} episodes succeeded")


@app.command("info")
@verb
def info(
    file: File,
    sheet: Annotated[Path | None, typer.Option(help="Also write a sheet of pictures, a .png file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count frames, episodes and actions of a file."""
    from sidestep.learning.demonstrations import picture_sheet, read_demonstrations, statistics

    with read_demonstrations(file) as reader:
        found: dict[str, Any] = statistics(reader).to_dict()
        if sheet is not None:
            picture_sheet(reader, sheet)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        typer.echo(f"{name}: {_told(value)}")


def _told(value: Any) -> str:
    """A value of a summary in one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_told(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)


@app.command("convert")
@verb
def convert(
    source: Annotated[Path, typer.Argument(help="HDF5 file, or folder of a LeRobot v3 dataset.")],
    target: Annotated[Path, typer.Argument(help="Folder to write a LeRobot v3 dataset to, or .h5 file.")],
) -> None:
    """Convert between the HDF5 layout and LeRobot v3 datasets."""
    from sidestep._util.extras import check_extras
    from sidestep.learning.demonstrations import read_demonstrations
    from sidestep.learning.lerobot import from_lerobot, to_lerobot

    check_extras("converting to and from LeRobot", "video")
    if source.is_dir():
        from_lerobot(source, target)
    else:
        with read_demonstrations(source) as reader:
            to_lerobot(reader, target)
    say(f"wrote {target}")
