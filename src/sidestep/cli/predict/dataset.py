"""``sidestep predict dataset`` and ``predict info``: interaction data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.interactions import Interactions


@app.command("dataset")
@verb
def dataset(
    out: Annotated[Path, typer.Option(metavar="FILE", help="HDF5 file to write.")],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="SOURCE", help="vci_dut, ind, or a run folder with records of a car. Default: generate."
        ),
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="With --from vci_dut or ind: folder of the recordings.")] = None,
    place: Annotated[
        str, typer.Option(help="With --from ind: what people cross on: none, zebra, island, zebra+island or shared.")
    ] = "none",
    attributes: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Annotated orientations of head and body to add.")
    ] = None,
    attributes_hz: Annotated[float, typer.Option(help="Frames per second of the annotations.")] = 10.0,
    tracks: Annotated[int, typer.Option(min=1, help="Number of tracks to generate.")] = 20_000,
    test_tracks: Annotated[int, typer.Option(min=0, help="Number of tracks of the test split.")] = 1500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drives and of the split.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Write interactions of pedestrians and a vehicle: generated, recorded, or from the records of a run."""
    from sidestep.interactions.attributes import add_attributes
    from sidestep.interactions.splits import describe
    from sidestep.interactions.store import write_interactions

    with quiet_stdout(as_json):
        if folder is not None and from_ not in ("vci_dut", "ind"):
            raise BadInput("--folder is for --from vci_dut and --from ind")
        if from_ is None:
            data = _generate(tracks, test_tracks, seed, workers)
        elif from_ in ("vci_dut", "ind"):
            data = _recorded(from_, folder, place)
        else:
            data = _from_run(Path(from_), test_tracks, seed)
        if attributes is not None:
            data = add_attributes(data, attributes, attributes_hz)
        write_interactions(data, out)
        document = describe(data)
    say(f"{len(data)} tracks written to {out}")
    _tell(document, as_json)


def _generate(tracks: int, test_tracks: int, seed: int, workers: int) -> Interactions:
    from sidestep.interactions.generate import default_plan, generate
    from sidestep.progress import progress_bar
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    with progress_bar("tracks") as move:
        return generate(default_plan(tracks=tracks, test_tracks=test_tracks, seed=seed), workers, move)


def _recorded(name: str, folder: Path | None, place: str) -> Interactions:
    from dataclasses import replace

    import numpy as np

    from sidestep.errors import UnknownName
    from sidestep.interactions.recorded import load_ind, load_vci_dut
    from sidestep.types.interactions import PLACES, SPLITS

    if place not in PLACES:
        raise UnknownName("place", place, PLACES)
    if name == "ind" and folder is None:
        raise BadInput("--from ind: give the folder of the recordings with --folder")
    data = load_vci_dut(folder) if name == "vci_dut" or folder is None else load_ind(folder, place)
    return replace(data, split=np.full(len(data), SPLITS.index("test"), np.uint8))


def _from_run(folder: Path, test_tracks: int, seed: int) -> Interactions:
    from sidestep.interactions.assemble import compact
    from sidestep.interactions.from_records import interactions_of
    from sidestep.interactions.splits import keep_labels, split_clips
    from sidestep.records import load_record
    from sidestep.runs.folder import EPISODES

    files = sorted((folder / EPISODES).rglob("*.parquet"))
    if not files:
        raise BadInput(f"--from {folder}: neither vci_dut nor ind, nor a run folder with records in {EPISODES}/")
    data = interactions_of(load_record(file) for file in files)
    return compact(keep_labels(split_clips(data, seed, test_tracks), seed))


@app.command("info")
@verb
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of interactions.")], as_json: AsJson = False
) -> None:
    """Count tracks, labels, places and lengths of a file of interactions, split by split."""
    from sidestep.interactions.splits import describe
    from sidestep.interactions.store import read_interactions

    with quiet_stdout(as_json):
        document = describe(read_interactions(file))
    _tell(document, as_json)


def _tell(document: dict[str, Any], as_json: bool) -> None:
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
    print_rows("splits", rows)
    found = {place for counts in document["splits"].values() for place in counts["places"]}
    places = [
        {"place": place, **{name: counts["places"].get(place, 0) for name, counts in document["splits"].items()}}
        for place in sorted(found)
    ]
    if places:
        print_rows("places", places)
