"""Things that stand about, collected as rows and turned into footprints all at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidestep import exact
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
    rows: list[tuple[float, float, float, float, float, float, float, int]] = field(default_factory=list)
    used: list[TownObject] = field(default_factory=list)

    def add(
        self, name: str, xy: FloatArray, along: FloatArray, size: tuple[float, float], height: float, block: int
    ) -> None:
        """``along``: unit; ``size``: length along it and width, m; round things take the length as diameter."""
        self.names.append(name)
        self.rows.append((float(xy[0]), float(xy[1]), float(along[0]), float(along[1]), *size, height, block))

    def use(self, kind: str, xy: FloatArray, facing: FloatArray, block: int) -> None:
        """Someone may stand at ``xy`` and look along ``facing``."""
        x, y = np.round(xy, 3).tolist()
        self.used.append(TownObject(kind, (x, y), round(float(exact.arctan2(facing[1], facing[0])), 4), block))

    def put_down(self, pieces: PieceList) -> None:
        """Rectangles and octagons of all things, into ``pieces``."""
        if not self.rows:
            return
        table = np.array([row[:7] for row in self.rows])
        round_ = np.array([name in ROUND for name in self.names])
        turn = np.pi / 8 + np.arange(8) * np.pi / 4
        eight = np.stack([exact.cos(turn), exact.sin(turn)], axis=1)
        four = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
        outlines: dict[int, FloatArray] = {}
        for chosen, shape, size in ((round_, eight, table[:, [4, 4]]), (~round_, four, table[:, 4:6])):
            numbers = np.flatnonzero(chosen)
            local = shape[None] * size[numbers, None] / 2
            c, s = table[numbers, 2, None], table[numbers, 3, None]
            x, y = local[..., 0] * c - local[..., 1] * s, local[..., 0] * s + local[..., 1] * c
            rings = np.round(np.stack([x, y], axis=2) + table[numbers, None, :2], 3)
            outlines.update(zip(numbers.tolist(), rings, strict=True))
        heights = np.round(table[:, 6], 2).tolist()
        for index, name in enumerate(self.names):
            kind = "obstacle" if name in OBSTACLES else "furniture"
            pieces.add(kind, outlines[index], self.rows[index][7], name, heights[index])
