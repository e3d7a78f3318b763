"""VCI-DUT ``*_traj_ped_filtered.csv``: ``id,frame,label,x_est,y_est,vx_est,vy_est`` (m, m/s), 23.98 frames per second.

People beside vehicles in shared space, filtered tracks (Yang et al. 2019). The files of vehicles are not people and are
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sidestep.datasets.annotations import check_rate, tracks_from_frames
from sidestep.datasets.text import data_lines, head_lines, number_table, read_text
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks

HEADER = "id,frame,label,x_est,y_est,vx_est,vy_est"
FPS = 23.98
SOURCE = "VCI-DUT, Yang, Li, Redmill, Özgüner 2019, arXiv 1902.00487"
LICENCE = "no licence stated; cite arXiv 1902.00487"


@dataclass(frozen=True)
class VciDutLoader:
    """Reads the pedestrians of VCI-DUT."""

    name: str = "vci_dut"
    summary: str = "VCI-DUT pedestrians: CSV with id, frame, label, x_est, y_est, vx_est, vy_est"

    def matches(self, path: Path) -> bool:
        """By the first line."""
        lines = head_lines(path, 1)
        return bool(lines) and lines[0].strip() == HEADER

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file."""
        lines, places = data_lines(read_text(path))
        if not lines or lines[0].strip() != HEADER:
            if not lines:
                raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
            raise BadInput(f"{path}:{places[0]}: expected the columns {HEADER}, got {lines[0].strip()[:80]!r}")
        lines, places = [line.replace(",ped,", ",0,").replace(",", " ") for line in lines[1:]], places[1:]
        table = number_table(path, lines, places, 7, HEADER.replace(",", " "))
        return tracks_from_frames(
            path,
            table[:, 1],
            table[:, 0],
            table[:, 3:5],
            check_rate(path, FPS if rate_hz is None else rate_hz),
            places=places,
            source=f"{path.name}: {SOURCE}",
            licence=LICENCE,
        )


VCI_DUT = VciDutLoader()
