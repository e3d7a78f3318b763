"""Recordings with the columns of VCI-DUT and VCI-CITR (Yang et al. 2019, arXiv 1902.00487), and others of that layout.

The files name neither their frame rate nor the size of a vehicle nor which point of it was tracked. A ``VciSource``
holds these; the velocities of the pedestrians in a file must agree with its frame rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep.datasets.csv_formats import CLOCK_TOLERANCE, VCI_CITR_FPS, VCI_DUT_FPS, check_clock, clock_ratio
from sidestep.datasets.sources import data_folders
from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import ClipTracks, assemble
from sidestep.prediction.data.recorded import Mover, clips_of, points_of, rows_by, walker_of
from sidestep.prediction.data.recorded_csv import Columns, Kind, read_columns
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.interactions import Interactions

VEHICLES, PEDESTRIANS = "_traj_veh_filtered.csv", "_traj_ped_filtered.csv"
"""Ends of the names of the two files of a recording."""
_PLACE: dict[str, Kind] = {"id": "whole", "frame": "whole", "x_est": "number", "y_est": "number"}
_WALKING = _PLACE | {"vx_est": "number", "vy_est": "number"}
_DRIVING = _PLACE | {"psi_est": "number", "vel_est": "number"}


@dataclass(frozen=True)
class VciSource:
    """What the files do not say."""

    name: str
    fps: float
    """Frames per second."""
    length_m: float
    width_m: float
    front_m: float
    """Distance from the tracked point ahead to the front bumper."""

    def __post_init__(self) -> None:
        for what in ("fps", "length_m", "width_m"):
            value = getattr(self, what)
            if not 0.0 < value < np.inf:
                raise BadInput(f"recordings of {self.name}: {what} is {value:g}; it must be above 0")
        if not 0.0 <= self.front_m <= self.length_m:
            raise BadInput(
                f"recordings of {self.name}: the front bumper is {self.front_m:g} m ahead of the tracked point; it "
                f"must be between 0 and the length of the vehicle, {self.length_m:g} m"
            )

    def described(self) -> str:
        """The preset in words."""
        return (
            f"{self.name}: {self.fps:g} frames per second, vehicles of {self.length_m:g} m × {self.width_m:g} m whose "
            f"bumper is {self.front_m:g} m ahead of the tracked point"
        )


VCI_DUT = VciSource("vci_dut", VCI_DUT_FPS, 4.5, 1.8, 2.25)
"""The authors track the middle, calculated from four corners; the size is assumed, because they give none."""
VCI_CITR = VciSource("vci_citr", VCI_CITR_FPS, 2.2, 1.2, 1.0)
"""A golf cart: the authors' rough measures from the tracked point are 1.0 m to the front, 1.2 m to the rear and 0.6 m
to either side."""
PRESETS = {each.name: each for each in (VCI_DUT, VCI_CITR)}
GENERIC = "vci"
"""Any other recording of this layout: frame rate and length of the vehicle have to be given."""


def vci_source(
    name: str,
    fps: float | None = None,
    length_m: float | None = None,
    width_m: float | None = None,
    front_m: float | None = None,
) -> VciSource:
    """The preset ``name`` with what is given in place of its own values, or for ``vci`` a source of given values; width
    1.8 m and the middle as the tracked point where it is not said. Where the middle is tracked, another length moves
    the bumper."""
    preset = PRESETS.get(name)
    if preset is None:
        for option, value in (("--fps", fps), ("--vehicle-length", length_m)):
            if value is None:
                raise BadInput(f"recordings of the source {name!r}: their files do not say it; give {option}")
        assert fps is not None
        assert length_m is not None
        preset = VciSource(name, fps, length_m, 1.8, length_m / 2.0)
    if length_m is not None and front_m is None and preset.front_m == preset.length_m / 2.0:
        front_m = length_m / 2.0
    return VciSource(
        preset.name,
        preset.fps if fps is None else fps,
        preset.length_m if length_m is None else length_m,
        preset.width_m if width_m is None else width_m,
        preset.front_m if front_m is None else front_m,
    )


def vehicle_files(folder: Path) -> list[Path]:
    """The files of vehicles below ``folder``."""
    return sorted(folder.rglob(f"*{VEHICLES}"))


def load_vci(source: VciSource, folder: Path | None = None) -> Interactions:
    """All vehicles in the ``*_traj_veh_filtered.csv`` below ``folder`` and the pedestrians of the files beside them.
    Without a folder: a folder of the source's name below a folder of ``SIDESTEP_DATA``."""
    if folder is None:
        folder = next((each / source.name for each in data_folders() if (each / source.name).is_dir()), None)
        if folder is None:
            raise BadInput(
                f"{source.name} is not installed; set SIDESTEP_DATA to a folder that holds {source.name}, or name the "
                "folder of the recordings with --folder"
            )
    files = vehicle_files(folder)
    if not files:
        raise BadInput(f"{folder}: no *{VEHICLES} in it")
    return assemble(clip for file in files for clip in _clips(file, source))


def recognise(folder: Path) -> VciSource:
    """The preset whose frame rate agrees with the velocities in the first recording below ``folder`` that is long
    enough."""
    for file in vehicle_files(folder):
        walking = _walking(file)
        ratio = clock_ratio(*_motion(walking), fps=1.0)
        if ratio is None:
            continue
        for source in PRESETS.values():
            if abs(ratio * source.fps - 1.0) <= CLOCK_TOLERANCE:
                return source
        raise BadInput(
            f"{walking.path}: the velocities in it fit {1.0 / ratio:.2f} frames per second, which is neither VCI-DUT "
            "nor VCI-CITR; give --fps and --vehicle-length, and --front-m where the middle was not tracked"
        )
    raise BadInput(
        f"{folder}: nobody walks long enough to determine the frame rate; name the recordings with --source "
        f"{' or '.join(PRESETS)}, or give --fps and --vehicle-length"
    )


def _walking(vehicles: Path) -> Columns:
    """The file of pedestrians beside one of vehicles."""
    return read_columns(vehicles.with_name(vehicles.name.removesuffix(VEHICLES) + PEDESTRIANS), _WALKING)


def _motion(rows: Columns) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    return rows["id"], rows["frame"], points_of(rows, "x_est", "y_est"), points_of(rows, "vx_est", "vy_est")


def _clips(vehicles: Path, source: VciSource) -> Iterator[ClipTracks]:
    driving, walking = read_columns(vehicles, _DRIVING), _walking(vehicles)
    cars = [_car(number, rows, source) for number, rows in rows_by(driving, "id")]
    people = [
        walker_of(number, rows["frame"] / source.fps, points_of(rows, "x_est", "y_est"))
        for number, rows in rows_by(walking, "id")
    ]
    _check_rate(walking, source)
    return clips_of(f"{source.name}/{vehicles.name.removesuffix(VEHICLES)}", cars, people, "shared")


def _check_rate(walking: Columns, source: VciSource) -> None:
    ratio = clock_ratio(*_motion(walking), fps=source.fps)
    fitting = 0.0 if ratio is None else source.fps / ratio
    fits = [name for name, each in PRESETS.items() if abs(fitting / each.fps - 1.0) <= CLOCK_TOLERANCE]
    own = (
        "read it with --fps {fps}" if source.name == GENERIC else "read it as vci with --fps {fps} and --vehicle-length"
    )
    remedy = f"read it as {fits[0]}, whose vehicle is another one too" if fits else own
    check_clock(walking.path, *_motion(walking), fps=source.fps, remedy=remedy)


def _car(number: int, rows: Columns, source: VciSource) -> Mover:
    """A vehicle; the tracked point is moved along the heading to the middle of its body."""
    position, heading = points_of(rows, "x_est", "y_est"), np.unwrap(rows["psi_est"])
    ahead = source.front_m - source.length_m / 2.0
    if ahead != 0.0:
        sine, cosine = exact.sincos(heading)
        position = position + ahead * np.stack([cosine, sine], axis=1)
    return Mover(
        number, rows["frame"] / source.fps, position, heading, rows["vel_est"], source.length_m, source.width_m
    )
