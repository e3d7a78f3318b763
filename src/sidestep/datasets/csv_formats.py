"""Two published formats of comma-separated values.

SocNavBench's replay files have 4 rows × N columns, one column per person and video frame: frame, person, y, x
(m); the file does not say how many frames there are per second. VCI-DUT's ``*_traj_ped_filtered.csv`` has the
columns ``id,frame,label,x_est,y_est,vx_est,vy_est`` (m, m/s) at 23.98 frames per second: people beside vehicles
in shared space, filtered tracks (Yang et al. 2019). Its files of vehicles are not people and are refused. VCI-CITR of
the same authors has the same columns at 29.97 frames per second; the velocities in a file tell which it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep.datasets.annotations import (
    data_lines,
    explain_line,
    head_lines,
    number_table,
    numbers,
    read_head,
    read_text,
    tracks_from_frames,
)
from sidestep.datasets.sources import read_bytes
from sidestep.errors import BadInput
from sidestep.interfaces import Loader
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

SOCNAVBENCH_ROWS = ("frame", "person", "y", "x")


@dataclass(frozen=True)
class SocNavBenchLoader(Loader):
    """Reads the CSV files of SocNavBench's pedestrians."""

    name: str = "socnavbench"
    summary: str = "SocNavBench CSV: rows frame, person, y, x; one column per annotation"

    def matches(self, path: Path) -> bool:
        """Whether it is four lines of comma-separated numbers, of which the first two hold whole numbers."""
        head = read_head(path, 4096)
        if b"," not in head or b"\0" in head or not head_lines_are_numbers(head):
            return False
        lines = [line for line in read_bytes(path).split(b"\n", 8) if line.strip()]
        if len(lines) != len(SOCNAVBENCH_ROWS) or not all(b"," in line for line in lines):
            return False
        return all(_whole(line[:200]) for line in lines[:2])

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file, in metres as recorded: x from the fourth row, y from the third."""
        table = _socnavbench_table(path)
        columns = np.arange(1, table.shape[1] + 1)
        return tracks_from_frames(path, table[0], table[1], table[[3, 2]].T, rate_hz, numbers=columns, where="column")


def head_lines_are_numbers(head: bytes) -> bool:
    """Whether the beginning of the first line is comma-separated numbers."""
    first = head.decode("utf-8-sig", errors="replace").lstrip().split("\n", 1)[0]
    return bool(numbers(" ".join(first.split(",")[:4])))


def _whole(line: bytes) -> bool:
    """Whether the numbers at the beginning of a row are whole."""
    row = numbers(" ".join(line.decode("utf-8", errors="replace").split(",")[:-1])) or [0.5]
    return all(value == int(value) for value in row if np.isfinite(value))


def _socnavbench_table(path: Path) -> FloatArray:
    """(4, N) the file's numbers."""
    lines = [line.strip().rstrip(",") for line in read_text(path).splitlines() if line.strip()]
    if len(lines) != len(SOCNAVBENCH_ROWS):
        raise BadInput(f"{path}: expected four rows ({', '.join(SOCNAVBENCH_ROWS)}), got {len(lines)}")
    counts = [line.count(",") + 1 for line in lines]
    if len(set(counts)) > 1:
        each = ", ".join(f"{name} {count}" for name, count in zip(SOCNAVBENCH_ROWS, counts, strict=True))
        raise BadInput(f"{path}: all four rows need as many columns; got {each}")
    try:
        return np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except ValueError:
        for name, line in zip(SOCNAVBENCH_ROWS, lines, strict=True):
            for column, word in enumerate(line.split(","), 1):
                if len(numbers(word)) != 1:
                    why = explain_line(word)
                    raise BadInput(
                        f"{path}: row {name}, column {column}: {word[:40]!r} is not a number"
                        + (f": {why}" if why else "")
                    ) from None
        raise BadInput(f"{path}: rows of comma-separated numbers expected ({', '.join(SOCNAVBENCH_ROWS)})") from None


SOCNAVBENCH = SocNavBenchLoader()


VCI_DUT_HEADER = "id,frame,label,x_est,y_est,vx_est,vy_est"
VCI_DUT_FPS, VCI_CITR_FPS = 23.98, 29.97
VCI_AUTHORS = "Yang, Li, Redmill, Özgüner 2019, arXiv 1902.00487"
VCI_DUT_LICENCE = "no licence stated; cite arXiv 1902.00487"
CLOCK_TOLERANCE = 0.06
"""Largest difference of displacements and velocities in their median; in files of VCI-DUT it is up to 1.4 %."""
CLOCK_STEPS = 50
"""Steps of walking people that such a median needs."""
WALKS_MPS = 0.5


def check_clock(
    path: Path, person: IntArray, frame: IntArray, position: FloatArray, velocity: FloatArray, fps: float, remedy: str
) -> None:
    """``BadInput`` if displacements at ``fps`` contradict the velocities of the same file; it names the ratio, the rate
    that would fit and ``remedy`` (``{fps}`` in it is that rate). Files with few steps of people who walk pass.

    ``person``, ``frame (K,)``, ``position``, ``velocity (K, 2)``: rows in any order."""
    ratio = clock_ratio(person, frame, position, velocity, fps)
    if ratio is not None and abs(ratio - 1.0) > CLOCK_TOLERANCE:
        fitting = fps / ratio
        known = [each for each in (VCI_DUT_FPS, VCI_CITR_FPS) if abs(each / fitting - 1.0) <= CLOCK_TOLERANCE]
        shown = f"{known[0]:g}" if known else f"{fitting:.2f}"
        raise BadInput(
            f"{path}: at {fps:g} frames per second people move {ratio:.2f} times as far as their velocities in the "
            f"file say; {fitting:.2f} frames per second would fit; {remedy.format(fps=shown)}"
        )


def clock_ratio(
    person: IntArray, frame: IntArray, position: FloatArray, velocity: FloatArray, fps: float
) -> float | None:
    """Median of displacement · ``fps`` over velocity among steps of people who walk; None: too few of them."""
    order = np.lexsort((frame, person))
    step = np.diff(frame[order])
    same = (np.diff(person[order]) == 0) & (step > 0)
    moved = np.diff(position[order], axis=0)[same]
    speed = exact.norm((velocity[order][1:] + velocity[order][:-1])[same]) / 2.0
    walks = speed > WALKS_MPS
    if int(walks.sum()) < CLOCK_STEPS:
        return None
    return float(np.median(exact.norm(moved[walks]) * fps / step[same][walks] / speed[walks]))


@dataclass(frozen=True)
class VciDutLoader(Loader):
    """Reads the pedestrians of VCI-DUT."""

    name: str = "vci_dut"
    summary: str = "VCI-DUT pedestrians: CSV with id, frame, label, x_est, y_est, vx_est, vy_est"

    def matches(self, path: Path) -> bool:
        """Whether the first line is the header of VCI-DUT."""
        lines = head_lines(path, 1)
        return bool(lines) and lines[0].strip() == VCI_DUT_HEADER

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file."""
        lines, line_numbers = data_lines(read_text(path))
        if not lines:
            raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
        if lines[0].strip() != VCI_DUT_HEADER:
            raise BadInput(
                f"{path}:{line_numbers[0]}: expected the columns {VCI_DUT_HEADER}, got {lines[0].strip()[:80]!r}"
            )
        lines = [line.replace(",ped,", ",0,").replace(",", " ") for line in lines[1:]]
        table = number_table(path, lines, line_numbers[1:], 7, VCI_DUT_HEADER.replace(",", " "))
        if rate_hz is None and np.isfinite(table).all():
            who, frame = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
            remedy = "give the rate of the recording with --rate-hz {fps}"
            check_clock(path, who, frame, table[:, 3:5], table[:, 5:7], VCI_DUT_FPS, remedy)
        rate_hz = VCI_DUT_FPS if rate_hz is None else rate_hz
        name = "VCI-CITR" if abs(rate_hz / VCI_CITR_FPS - 1.0) < 0.01 else "VCI-DUT"
        return tracks_from_frames(
            path,
            table[:, 1],
            table[:, 0],
            table[:, 3:5],
            rate_hz,
            numbers=line_numbers[1:],
            source=f"{path.name}: {name}, {VCI_AUTHORS}",
            licence=VCI_DUT_LICENCE,
        )


VCI_DUT = VciDutLoader()
