"""Plain text tracks: one annotation per line, ``frame person x y``, separated by white space or commas.

A first comment line ``# rate_hz: 25`` gives the frames per second; otherwise ``rate_hz`` must be passed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks

_RATE = re.compile(r"#\s*rate_hz\s*[:=]\s*([0-9.eE+-]+)")


@dataclass(frozen=True)
class PlainLoader:
    """Reads ``frame person x y``."""

    name: str = "plain"
    summary: str = "text, one annotation per line: frame person x y"

    def matches(self, path: Path) -> bool:
        """Whether the first data line is four numbers."""
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    return len(_numbers(line)) == 4
        return False

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file; time is frame ÷ rate."""
        rows = []
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if line.startswith("#"):
                    found = _RATE.match(line)
                    rate_hz = rate_hz if rate_hz is not None or found is None else float(found[1])
                elif line.strip():
                    row = _numbers(line)
                    if len(row) != 4:
                        raise BadInput(
                            f"{path}:{number}: expected four numbers `frame person x y`, got {line.strip()[:60]!r}"
                        )
                    rows.append(row)
        if not rows:
            raise BadInput(f"{path}: no annotations in it")
        if rate_hz is None or rate_hz <= 0:
            raise BadInput(f"{path}: frames per second unknown; put `# rate_hz: 25` in the first line")
        table = np.array(rows)
        return Tracks(table[:, 1].astype(np.int64), table[:, 0] / rate_hz, table[:, 2:], rate_hz, source=path.name)


def _numbers(line: str) -> list[float]:
    try:
        return [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return []


PLAIN = PlainLoader()
