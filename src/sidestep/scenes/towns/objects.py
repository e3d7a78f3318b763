"""Things that stand about, collected as rows and turned into footprints all at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep.scenes.towns.pieces import PieceList
from sidestep.types.base import FloatArray

ROUND = frozenset({"tree", "lamp post", "signal post", "sign post", "hydrant", "bollard", "litter bin", "plant pot"})
ROUND |= {"cafe table", "basin"}
OBSTACLES = frozenset({"tree", "lamp post", "signal post", "sign post", "bollard", "hydrant", "parked car", "basin"})


@dataclass(frozen=True, eq=False)
class TownObject:
    """A thing that people use: where one stands for it (m) and where one looks (rad)."""

    kind: str
    xy: tuple[float, float]
    heading: float
    block: int


@dataclass
class ObjectRows:
    """Name, place, direction, size and height of things."""

    names: list[str] = field(default_factory=list)
    rows: list[tuple[float, float, float, float, float, float, int]] = field(default_factory=list)
    used: list[TownObject] = field(default_factory=list)

    def add(
        self, name: str, xy: FloatArray, along: FloatArray, size: tuple[float, float], height: float, block: int
    ) -> None:
        """``size``: length along ``along`` and width, m; round things take the length as diameter."""
        self.names.append(name)
        heading = float(np.arctan2(along[1], along[0]))
        self.rows.append((float(xy[0]), float(xy[1]), heading, size[0], size[1], height, block))

    def use(self, kind: str, xy: FloatArray, facing: FloatArray, block: int) -> None:
        """Someone may stand at ``xy`` and look along ``facing``."""
        x, y = np.round(xy, 3).tolist()
        self.used.append(TownObject(kind, (x, y), round(float(np.arctan2(facing[1], facing[0])), 4), block))

    def put_down(self, pieces: PieceList) -> None:
        """Rectangles and octagons of all things, into ``pieces``."""
        if not self.rows:
            return
        table = np.array([row[:6] for row in self.rows])
        c, s = np.cos(table[:, 2]), np.sin(table[:, 2])
        turn = np.pi / 8 + np.arange(8) * np.pi / 4
        eight = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        four = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
        for index, name in enumerate(self.names):
            unit = eight * table[index, 3] / 2 if name in ROUND else four * table[index, 3:5] / 2
            x, y = unit.T
            ring = np.stack([x * c[index] - y * s[index], x * s[index] + y * c[index]], axis=1) + table[index, :2]
            kind = "obstacle" if name in OBSTACLES else "furniture"
            pieces.add(kind, np.round(ring, 3), self.rows[index][6], name, float(np.round(table[index, 5], 2)))
