"""``sidestep predict dataset`` and ``predict info``: interaction data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.predict.recordings import (
    RECORDINGS,
    Fps,
    Front,
    Geometry,
    VehicleLength,
    VehicleWidth,
    read_recordings,
    read_run,
)
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.interactions import Interactions


From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="vci_dut, vci_citr, vci, ind, or a run folder with records of a car. Default: generate.",
    ),
]
Folder = Annotated[
    Path | None, typer.Option(help="With --from vci_dut, vci_citr, vci or ind: folder of the recordings.")
]
Place = Annotated[
    str,
    typer.Option(help="With --from ind: facility that people cross on: none, zebra, island, zebra+island or shared."),
]
Attributes = Annotated[Path | None, typer.Option(metavar="CSV", help="Annotated orientations of head and body to add.")]


@app.command("dataset")
@verb
def dataset(
    out: Annotated[Path, typer.Option(metavar="FILE", help="HDF5 file to write.")],
    from_: From = None,
    folder: Folder = None,
    fps: Fps = None,
    vehicle_length: VehicleLength = None,
    vehicle_width: VehicleWidth = None,
    front_m: Front = None,
    place: Place = "none",
    attributes: Attributes = None,
    attributes_hz: Annotated[float, typer.Option(help="Frames per second of the annotations.")] = 10.0,
    tracks: Annotated[int, typer.Option(min=1, help="Number of tracks to generate.")] = 20_000,
    test_tracks: Annotated[int, typer.Option(min=0, help="Number of tracks of the test split.")] = 1500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drives and of the split.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Write interactions of pedestrians and a vehicle: generated, recorded, or from the records of a run."""
    from dataclasses import replace

    import numpy as np

    from sidestep.prediction.data.attributes import add_attributes
    from sidestep.prediction.data.splits import describe_data
    from sidestep.prediction.data.store import write_interactions
    from sidestep.types.interactions import SPLITS

    geometry = Geometry(fps, vehicle_length, vehicle_width, front_m)
    with quiet_stdout(as_json):
        if from_ not in RECORDINGS and (folder is not None or geometry.given):
            option = "--folder" if folder is not None else geometry.given
            raise BadInput(f"{option} is for --from {', '.join(RECORDINGS)}")
        if from_ is None:
            data = _generate(tracks, test_tracks, seed, workers)
        elif from_ in RECORDINGS:
            data, described = read_recordings(from_, folder, place, geometry)
            data = replace(data, split=np.full(len(data), SPLITS.index("test"), np.uint8))
            say(f"read as {described}")
        else:
            data = _from_run(Path(from_), test_tracks, seed)
        if attributes is not None:
            data = add_attributes(data, attributes, attributes_hz)
        write_interactions(data, out)
        document = describe_data(data)
    say(f"{len(data)} tracks written to {out}")
    _print_result(document, as_json)


def _generate(tracks: int, test_tracks: int, seed: int, workers: int) -> Interactions:
    from sidestep._util.progress import progress_bar
    from sidestep.prediction.data.generate import default_plan, generate
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    with progress_bar("tracks") as move:
        return generate(default_plan(tracks=tracks, test_tracks=test_tracks, seed=seed), workers, move)


def _from_run(folder: Path, test_tracks: int, seed: int) -> Interactions:
    from sidestep.prediction.data.assemble import compact
    from sidestep.prediction.data.splits import keep_labels, split_clips

    data = read_run(folder)
    if data is None:
        raise BadInput(f"--from {folder}: none of {', '.join(RECORDINGS)}, nor a run folder with records")
    return compact(keep_labels(split_clips(data, seed, test_tracks), seed))


@app.command("info")
@verb
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of interactions.")], as_json: AsJson = False
) -> None:
    """Count tracks, labels, places and lengths of a file of interactions, split by split."""
    from sidestep.prediction.data.splits import describe_data
    from sidestep.prediction.data.store import read_interactions

    with quiet_stdout(as_json):
        document = describe_data(read_interactions(file))
    _print_result(document, as_json)


def _print_result(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({"info": document})
        return
    from sidestep.report.terminal import print_rows

    rows = []
    for name, counts in document["splits"].items():
        length = counts["length_s"]
        rows.append(
            {
                "split": name,
                "tracks": counts["tracks"],
                "clips": counts["clips"],
                "labelled": counts["labelled"],
                "crossing": counts["crossing"],
                "in front": counts["passes"]["front"],
                "behind": counts["passes"]["behind"],
                "median_s": "" if length is None else f"{length['median']:.1f}",
            }
        )
    origins, drivers = ", ".join(document["origins"]) or "no", ", ".join(document["drivers"]) or "unknown"
    say(f"{origins} data, {document['clips']} clips, {document['maps']} maps, drivers: {drivers}")
    say(f"digest of the data set, for files of forecasts: {document['digest']}")
    print_rows("splits", rows)
    found = {place for counts in document["splits"].values() for place in counts["places"]}
    places = [
        {"place": place, **{name: counts["places"].get(place, 0) for name, counts in document["splits"].items()}}
        for place in sorted(found)
    ]
    if places:
        print_rows("places", places)
