"""Trees, benches, lamps and whatever else stands in a street, as footprints with the names that the towns use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import shapely

from sidestep import exact
from sidestep.scenes.places import grid
from sidestep.scenes.places.osm_file import OsmData, OsmNode, Tags
from sidestep.scenes.places.osm_tags import metres
from sidestep.scenes.places.partition import as_region
from sidestep.scenes.towns.curves import unit
from sidestep.scenes.towns.objects import OBSTACLES, ROUND
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region

THINGS: tuple[tuple[str, str, str, float, float, float], ...] = (
    # key, value, name, length, width, height (m)
    ("natural", "tree", "tree", 0.4, 0.4, 6.5),
    ("amenity", "bench", "bench", 1.8, 0.5, 0.45),
    ("highway", "street_lamp", "lamp post", 0.2, 0.2, 4.5),
    ("barrier", "bollard", "bollard", 0.2, 0.2, 0.9),
    ("amenity", "waste_basket", "litter bin", 0.5, 0.5, 1.0),
    ("highway", "bus_stop", "sign post", 0.12, 0.12, 2.7),
    ("emergency", "fire_hydrant", "hydrant", 0.3, 0.3, 0.8),
    ("highway", "traffic_signals", "signal post", 0.2, 0.2, 3.2),
    ("amenity", "fountain", "basin", 2.4, 2.4, 0.5),
    ("man_made", "street_cabinet", "cabinet", 1.0, 0.45, 1.3),
    ("man_made", "planter", "planter", 1.4, 0.6, 0.6),
    ("barrier", "planter", "planter", 1.4, 0.6, 0.6),
    ("leisure", "picnic_table", "cafe table", 0.8, 0.8, 0.75),
    ("tourism", "information", "sign post", 0.14, 0.14, 2.4),
)
BARRIERS: dict[str, tuple[float, float]] = {
    "wall": (0.3, 1.6), "fence": (0.1, 1.2), "hedge": (0.6, 1.2), "retaining_wall": (0.4, 1.0),
    "guard_rail": (0.2, 0.8),
}  # fmt: skip
"""Lines that one cannot pass: thickness and height, m."""
SHELTER = (3.0, 1.2, 2.5)  # m
FARTHEST_WALK = 15.0  # m: a thing so near a walking line stands along it


def lay_things(data: OsmData, walks: list[Any], taken: Any, clip: Any | None) -> list[Region]:
    """What stands about, but nothing in the middle of ``taken`` ground: roads, crossings and buildings."""
    shapely.prepare(taken)
    regions = []
    for node in data.nodes.values():
        point = shapely.Point(node.xy)
        if not node.tags or (clip is not None and not clip.contains(point)) or taken.contains(point):
            continue
        for key, value, name, length, width, height in THINGS:
            if node.tags.get(key) == value:
                high = metres(node.tags.get("height")) or height
                regions.append(_footprint(name, node, _heading(node, walks), (length, width), min(high, 30.0)))
        if node.tags.get("highway") == "bus_stop" and node.tags.get("shelter") == "yes":
            regions.append(_footprint("bus shelter", node, _heading(node, walks), SHELTER[:2], SHELTER[2]))
    return regions + _lines(data, taken, clip)


def _heading(node: OsmNode, walks: list[Any]) -> float:
    """Along the nearest walking line; across ``direction`` (clockwise from north, where one looks) if it is stated."""
    try:
        return -math.radians(float(node.tags["direction"]))
    except (KeyError, ValueError):
        pass
    lines = [grid.corners(walk) for walk in walks]
    found = [grid.locate(line, np.array(node.xy)) for line in lines]
    nearest = min(range(len(found)), key=lambda k: found[k][1], default=-1)
    if nearest < 0 or found[nearest][1] > FARTHEST_WALK:
        return 0.0
    place = found[nearest][0]
    a, b = grid.places_along(lines[nearest], (place - 0.5, place + 0.5))
    along = unit(b - a)
    return float(exact.arctan2(along[1], along[0]))


def _footprint(name: str, node: OsmNode, heading: float, size: tuple[float, float], height: float) -> Region:
    c, s = exact.cos(heading), exact.sin(heading)
    local: FloatArray
    if name in ROUND:
        turn = np.pi / 8 + np.arange(8) * np.pi / 4
        local = np.stack([exact.cos(turn), exact.sin(turn)], axis=1) * size[0] / 2
    else:
        local = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float) * np.array(size) / 2
    x, y = local.T
    ring = np.stack([x * c - y * s, x * s + y * c], axis=1) + node.xy
    kind = "obstacle" if name in OBSTACLES else "furniture"
    return as_region(kind, shapely.Polygon(ring), name, round(height, 2))  # type: ignore[arg-type]


def _lines(data: OsmData, taken: Any, clip: Any | None) -> list[Region]:
    regions = []
    for way in data.ways:
        kind = way.tags.get("barrier", "")
        if kind not in BARRIERS:
            continue
        thick, high = BARRIERS[kind]
        height = metres(way.tags.get("height")) or high
        line = shapely.LinearRing(way.points[:-1]) if way.closed else shapely.LineString(way.points)
        area = grid.difference(grid.grown(line, _thickness(way.tags, thick) / 2, cap_style="flat"), taken)
        for part in shapely.get_parts(area if clip is None else grid.intersection(area, clip)):
            if part.geom_type == "Polygon" and part.area > 0.02:
                name = "hedge" if kind == "hedge" else "fence" if kind in ("fence", "guard_rail") else "wall"
                regions.append(as_region("obstacle", grid.snapped(part), name, round(min(height, 10.0), 2)))
    return regions


def _thickness(tags: Tags, usual: float) -> float:
    return min(metres(tags.get("width")) or usual, 5.0)
