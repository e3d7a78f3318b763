"""Recordings on the command line: which source they are from, and what their files do not say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from sidestep.types.interactions import Interactions

RECORDINGS = ("vci_dut", "vci_citr", "vci", "ind")
"""Sources of recordings; ``vci``: any with the columns of VCI-DUT."""

Fps = Annotated[
    float | None, typer.Option("--fps", help="Frames per second of recordings with the columns of VCI-DUT.")
]
VehicleLength = Annotated[float | None, typer.Option("--vehicle-length", help="Length of their vehicles, m.")]
VehicleWidth = Annotated[float | None, typer.Option("--vehicle-width", help="Width of their vehicles, m.")]
Front = Annotated[
    float | None, typer.Option("--front-m", help="Distance from the tracked point ahead to the front bumper, m.")
]


@dataclass(frozen=True)
class Geometry:
    """The options about frame rate and vehicle; None: not given."""

    fps: float | None = None
    length_m: float | None = None
    width_m: float | None = None
    front_m: float | None = None

    @property
    def given(self) -> str:
        """The first option that was given; empty: none."""
        named = zip(("--fps", "--vehicle-length", "--vehicle-width", "--front-m"), vars(self).values(), strict=True)
        return next((name for name, value in named if value is not None), "")


def read_recordings(name: str, folder: Path | None, place: str, geometry: Geometry) -> tuple[Interactions, str]:
    """The recordings of the source ``name``, and in words how they were read. Without a folder: from SIDESTEP_DATA."""
    from sidestep.prediction.data.recorded import load_ind
    from sidestep.prediction.data.vci import GENERIC, load_vci, vci_source
    from sidestep.types.interactions import PLACES

    if name not in RECORDINGS:
        raise UnknownName("source of recordings", name, RECORDINGS)
    if place not in PLACES:
        raise UnknownName("place", place, PLACES)
    if name in ("ind", GENERIC) and folder is None:
        raise BadInput(f"--from {name}: give the folder of the recordings with --folder")
    if name == "ind" and folder is not None:
        if geometry.given:
            raise BadInput(f"{geometry.given}: files in the format of inD say this themselves; leave the option out")
        return load_ind(folder, place), "ind: frame rates and sizes of vehicles from its files"
    source = vci_source(name, geometry.fps, geometry.length_m, geometry.width_m, geometry.front_m)
    return load_vci(source, folder), source.described()


def read_run(folder: Path) -> Interactions | None:
    """The interactions in the records of a run; None where the folder has none."""
    from sidestep.prediction.data.from_records import interactions_of
    from sidestep.records import load_record
    from sidestep.runs.folder import EPISODES

    files = sorted((folder / EPISODES).rglob("*.parquet"))
    return interactions_of(load_record(file) for file in files) if files else None


def read_any(path: Path, source: str | None, geometry: Geometry) -> tuple[Interactions, str]:
    """A file of interactions, or a folder: recordings of ``source`` (by default what its files look like) or a run. The
    text says how a folder was read; it is empty for a file."""
    from sidestep.prediction.data.store import read_interactions

    if not path.is_dir():
        return read_interactions(path), ""
    if source is not None:
        return read_recordings(source, path, "none", geometry)
    run = read_run(path)
    if run is not None:
        if geometry.given:
            raise BadInput(f"{path}: a run, whose records state rate and vehicle; leave {geometry.given} out")
        return run, "records of a run"
    return read_recordings(_source_of(path, geometry), path, "none", geometry)


def _source_of(folder: Path, geometry: Geometry) -> str:
    """The source that the files in a folder look like."""
    from sidestep.prediction.data.vci import GENERIC, PRESETS, recognise, vehicle_files

    if any(folder.glob("*tracks.csv")):
        return "ind"
    if not vehicle_files(folder):
        raise BadInput(
            f"{folder}: a folder without recordings (*_traj_veh_filtered.csv with *_traj_ped_filtered.csv, or "
            "*_tracks.csv as of inD) and without records of a run; give one of these, or a file of `sidestep predict "
            "dataset`"
        )
    if geometry.length_m is not None and geometry.fps is not None:
        return GENERIC
    if geometry.fps is not None:
        same = [name for name, each in PRESETS.items() if abs(each.fps / geometry.fps - 1.0) < 0.01]
        return same[0] if same else GENERIC
    return recognise(folder).name
