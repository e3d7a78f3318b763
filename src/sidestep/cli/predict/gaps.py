"""``sidestep predict gaps``: the time gaps that drivers keep to people who cross."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidestep.cli.predict import app
from sidestep.cli.predict.recordings import RECORDINGS, Fps, Front, Geometry, VehicleLength, VehicleWidth, read_any
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.prediction.gaps import Encounter, GapSummary
    from sidestep.types.interactions import Clip, Interactions


@app.command("gaps")
@verb
def gaps(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|FOLDER…", help="Files of interactions, folders of recordings, or run folders."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for pictures, all encounters and the summary.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help=f"What folders hold: {', '.join(RECORDINGS)}. Default: recognised by the files.")
    ] = None,
    fps: Fps = None,
    vehicle_length: VehicleLength = None,
    vehicle_width: VehicleWidth = None,
    front_m: Front = None,
    as_json: AsJson = False,
) -> None:
    """Minimum time gaps while people cross the driving corridor, 3 m wide, ahead of the vehicle."""
    from sidestep.prediction.gaps import find_encounters, summarise_gaps

    geometry = Geometry(fps, vehicle_length, vehicle_width, front_m)
    files = [file.resolve() if file.is_dir() else file for file in files]
    if not any(file.is_dir() for file in files) and (source is not None or geometry.given):
        raise BadInput(f"{geometry.given or '--source'} is for folders of recordings, and there is none")
    if len({file.stem for file in files}) < len(files):
        raise BadInput("two files have the same name; rename one, because results are stored under it")
    documents: dict[str, Any] = {}
    found: list[Encounter] = []
    clips: list[Clip] = []
    with quiet_stdout(as_json):
        for file in files:
            data, described = read_any(file, source, geometry)
            if described:
                say(f"{file}: read as {described}")
            encounters = find_encounters(data)
            summary = summarise_gaps(encounters)
            found += encounters
            clips += data.clips
            shares = {"source": _source(data.clips), **_quantiles(summary)}
            documents[file.stem] = {"file": str(file), "tracks": len(data), **shares, **summary.document()}
            if described:
                documents[file.stem]["read_as"] = described
            if out is not None:
                _write(out, file.stem, data, encounters, summary, documents[file.stem])
    if as_json:
        names = ", ".join(map(str, files))
        print_json(
            {"gaps": _quantiles(summarise_gaps(found)), "data": names, "source": _source(clips), "files": documents}
        )
    else:
        _print(documents)
    if out is not None:
        say(f"written to {out}")


def _quantiles(summary: GapSummary) -> dict[str, Any]:
    """Number of encounters, the gaps in seconds that 5, 25, 50 and 75 % of them do not exceed, and the share below 3 s.
    None: the vehicle stood in too many encounters for a finite gap."""
    from math import ceil

    rank = ceil(0.05 * summary.encounters - 1e-9) - 1
    p5 = float(summary.gaps[rank]) if 0 <= rank < len(summary.gaps) else None
    quartiles = dict(zip(("p25", "p50", "p75"), summary.quartiles, strict=True))
    return {"n": summary.encounters, "p5": p5, **quartiles, "below_3s": summary.share_below(3.0)}


def _source(clips: Sequence[Clip]) -> str | None:
    """``recorded``, ``generated`` or ``mixed``; None without clips."""
    origins = {clip.origin for clip in clips}
    return "mixed" if len(origins) > 1 else next(iter(origins), None)


def _write(
    folder: Path, name: str, data: Interactions, encounters: list[Encounter], summary: GapSummary, document: Any
) -> None:
    from sidestep._util.writing import write_whole
    from sidestep.prediction.gaps import choose_scenes, encounter_rows
    from sidestep.prediction.plots import gap_distribution, scene_plots
    from sidestep.report.plots import image_bytes

    rows = encounter_rows(encounters)
    table = io.StringIO()
    if rows:
        writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_whole(folder / f"{name}-encounters.csv", table.getvalue().encode())
    text = json.dumps({**document, "all": rows}, indent=1, allow_nan=False)
    write_whole(folder / f"{name}-gaps.json", text.encode())
    origins = sorted({clip.origin for clip in data.clips})
    figures = {"gaps": gap_distribution(summary, f"{name} ({', '.join(origins) or 'empty'} data)")}
    titles = ("the driver brakes", "the driver keeps the speed")
    scenes = [(scene, text) for scene, text in zip(choose_scenes(data, encounters), titles, strict=True) if scene]
    if scenes:
        figures["scenes"] = scene_plots([scene for scene, _ in scenes], [f"{name}: {text}" for _, text in scenes])
    for what, figure in figures.items():
        for form in ("png", "svg"):
            write_whole(folder / f"{name}-{what}.{form}", image_bytes(figure, form))


def _print(documents: dict[str, Any]) -> None:
    from sidestep.report.terminal import print_rows

    def shown(value: float | None) -> str:
        return "none" if value is None else f"{value:.2f}"

    rows = [
        {
            "name": name,
            "encounters": each["encounters"],
            "stood": each["without_finite_gap"],
            "min_s": shown(each["smallest_s"]),
            "25 %_s": shown(each["quartiles_s"][0]),
            "median_s": shown(each["quartiles_s"][1]),
            "75 %_s": shown(each["quartiles_s"][2]),
            "< 2 s": shown(each["share_below_2_s"]),
        }
        for name, each in documents.items()
    ]
    print_rows("gaps", rows)
