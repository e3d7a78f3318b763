"""The ground of streets, corners and junctions, cut into strips that share their corners."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep import exact
from sidestep.scenes.towns.network import Network
from sidestep.scenes.towns.pieces import KERB_HEIGHT, PieceList
from sidestep.scenes.towns.rings import Corner, Half
from sidestep.scenes.towns.streets import Street
from sidestep.types.base import FloatArray

ISLAND_KERB = 0.25  # m
LANE = 6.8  # m, road round the island of a roundabout

ZONES = (("kerb", 0, 1), ("verge", 1, 2), ("sidewalk", 2, 4), ("frontage", 4, 5))


def circle(centre: FloatArray, radius: float, corners: int = 48) -> FloatArray:
    """A round outline, mm precise."""
    angle = np.arange(corners) * 2 * np.pi / corners
    return np.round(centre + radius * np.stack([exact.cos(angle), exact.sin(angle)], axis=1), 3)


def add_street_ground(pieces: PieceList, street: Street, block: int) -> None:
    """Road, crosswalks, ramps, kerbs, verges and sidewalks. Frontages come with the lots behind them."""
    left, right = street.lines
    cuts = [0]
    for crossing in street.crossings:
        i0, i1 = (street.index(crossing.station + sign * crossing.width / 2) for sign in (-1, 1))
        cuts += [i0, i1]
        pieces.strip("crosswalk", left[0, i0 : i1 + 1], right[0, i0 : i1 + 1], block, "crosswalk")
        for lines in street.lines:
            pieces.strip("ramp", lines[0, i0 : i1 + 1], lines[2, i0 : i1 + 1], block, "ramp")
    cuts.append(len(street.stations) - 1)
    for a, b in zip(cuts[::2], cuts[1::2], strict=True):
        pieces.strip("road", left[0, a : b + 1], right[0, a : b + 1], block, "street")
        for lines in street.lines:
            for kind, inner, outer in ZONES[:2]:
                pieces.strip(kind, lines[inner, a : b + 1], lines[outer, a : b + 1], block)
    for lines in street.lines:
        pieces.strip("sidewalk", lines[2], lines[4], block)


def add_corner_ground(pieces: PieceList, corner: Corner, block: int) -> None:
    """The zones round a corner, without its frontage."""
    for kind, inner, outer in ZONES[:3]:
        pieces.strip(kind, corner.lines[inner], corner.lines[outer], block)


def add_junction_ground(
    pieces: PieceList,
    network: Network,
    junction: int,
    by_after: dict[Half, Corner],
    ring: float,
    block: int,
) -> None:
    """The road where arms meet; in a roundabout an island of grass with a kerb."""
    outline = []
    for street, end in network.arms[junction]:
        outline.append(by_after[(street, 0 if end == 0 else 1)].lines[0][::-1])
    shell = np.concatenate(outline)
    if not ring:
        pieces.add("road", shell, block, "junction")
        return
    centre = network.junctions[junction]
    island, lawn = circle(centre, ring - LANE), circle(centre, ring - LANE - ISLAND_KERB)
    pieces.add("road", shapely.Polygon(shell, [island]), block, "junction")
    pieces.add("kerb", shapely.Polygon(island, [lawn]), block, "", KERB_HEIGHT)
    pieces.add("grass", lawn, block, "island")
