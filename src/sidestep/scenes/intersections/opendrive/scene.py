"""The scene of an OpenDRIVE file: road surface, sidewalks, kerbs, crosswalks, buildings, and its roads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.intersections.opendrive.lanes import LaneNetwork, Strips
from sidestep.scenes.intersections.opendrive.network import RoadObject, read_network
from sidestep.scenes.intersections.opendrive.sections import LaneStrip, rounded
from sidestep.scenes.places import grid
from sidestep.scenes.walkways import left_of, turn_between, unit
from sidestep.types.road import Crossing, Marking, Roads
from sidestep.types.scene import Region, RegionKind, SceneSpec

ISLAND_M2 = 60.0
"""Holes of a junction up to this area lie between its connecting roads and are paved; larger ones are islands."""
SHORTEST_KERB_M = 0.5
LONGISH = 1.5
"""People walk along the longer sides of a crosswalk if they are longer by this factor, else across the road."""
KINDS: tuple[RegionKind, ...] = ("road", "kerb", "sidewalk", "verge")
"""Kinds of regions in order of precedence."""


def read_opendrive(path: Path) -> SceneSpec:
    """The scene of an OpenDRIVE file; ``BadInput`` naming the file and the road if anything is wrong with it."""
    network = read_network(path)
    roads = network.roads.values()
    strips = {(road.id, k): LaneStrip(road, section) for road in roads for k, section in enumerate(road.sections)}
    lanes = LaneNetwork(network, strips)
    layers = _layers(strips)
    crosswalks = [item for road in roads for item in road.objects if item.type == "crosswalk"]
    buildings = [item for road in roads for item in road.objects if item.type == "building"]
    regions = [
        *grid.partition(layers),
        *(_outlined("crosswalk", item) for item in crosswalks),
        *(_outlined("building", item) for item in buildings),
    ]
    described = {
        "lanes": lanes.lanes(),
        "markings": [*_kerbs(layers), *(mark for strip in strips.values() for mark in strip.markings())],
        "crossings": [_crossing(item) for item in crosswalks],
        "signals": lanes.signals(),
    }
    return SceneSpec(
        name=network.name,
        regions=tuple(regions),
        roads=Roads.parse(described, network.where),
        source=f"OpenDRIVE {path.name}",
    )


def _layers(strips: Strips) -> list[grid.Layer]:
    """The surface of roads and junctions, then what lies beside them."""
    found: dict[tuple[RegionKind, str], list[Any]] = {}
    for strip in strips.values():
        road = strip.road
        name = f"road {road.id}" if road.junction is None else f"junction {road.junction}"
        for kind, area in strip.surfaces():
            found.setdefault((kind, name if kind == "road" else kind), []).append(area)
    layers = []
    for (kind, name), areas in found.items():
        area = grid.union(areas)
        if name.startswith("junction "):
            holes = [shapely.Polygon(hole) for part in shapely.get_parts(area) for hole in part.interiors]
            area = grid.union([area, *(hole for hole in holes if hole.area <= ISLAND_M2)])
        layers.append((KINDS.index(kind), name.startswith("junction "), grid.Layer(kind, area, name)))
    return [layer for _, _, layer in sorted(layers, key=lambda item: item[:2])]


def _kerbs(layers: list[grid.Layer]) -> list[Marking]:
    """Where the surface of a road meets what is raised."""
    asphalt = [layer.area for layer in layers if layer.kind == "road"]
    raised = [layer.area for layer in layers if layer.kind != "road"]
    if not asphalt or not raised:
        return []
    paved = grid.union(asphalt)
    beside = grid.difference(grid.union(raised), paved)
    shared = grid.intersection(shapely.boundary(paved), shapely.boundary(beside))
    lines = shapely.get_parts(shapely.normalize(shapely.line_merge(shared)))
    return [
        Marking(kind="kerb", points=rounded(grid.corners(line), "kerb"))
        for line in lines
        if line.geom_type == "LineString" and grid.length_of(line) > SHORTEST_KERB_M
    ]


def _outlined(kind: RegionKind, item: RoadObject) -> Region:
    polygon = rounded(item.outline, item.where)
    if len(polygon) < 3 or shapely.Polygon(polygon).area < grid.SMALLEST_FACE:
        raise BadInput(f"{item.where}: the {kind} has no area; give it an outline, or a length and a width")
    height = item.height if kind == "building" and item.height > 0.0 else None
    return Region(kind=kind, name=f"{kind} {item.id}", polygon=polygon, height=height)


def _crossing(item: RoadObject) -> Crossing:
    """The middle of a crosswalk's two ends. With other than four corners it is a rectangle across the road."""
    corners = np.array(_outlined("crosswalk", item).polygon)
    if len(corners) != 4:
        axes = np.stack([item.along, left_of(item.along)])
        places = corners[:, :1] * axes[:, 0] + corners[:, 1:] * axes[:, 1]
        (u0, v0), (u1, v1) = places.min(axis=0), places.max(axis=0)
        corners = np.array([u * axes[0] + v * axes[1] for u, v in ((u0, v0), (u1, v0), (u1, v1), (u0, v1))])
    sides = np.roll(corners, -1, axis=0) - corners
    lengths = exact.norm(sides)
    pairs = lengths[:2] + lengths[2:]
    if max(pairs) > LONGISH * min(pairs):
        ends = 0 if pairs[0] < pairs[1] else 1
    else:
        slant = [abs(exact.sin(turn_between(item.along, side))) for side in sides[:2] - sides[2:]]
        ends = 0 if slant[0] < slant[1] else 1
    middles = ((np.roll(corners, -1, axis=0) + corners) / 2)[ends::2]
    axis = unit(middles[1] - middles[0])
    width = float(np.abs(axis[0] * sides[ends::2, 1] - axis[1] * sides[ends::2, 0]).sum() / 2)
    found = rounded(middles, item.where)
    if len(found) < 2 or round(width, 3) <= 0.0:
        raise BadInput(f"{item.where}: the crosswalk's outline crosses itself; list its corners in order")
    return Crossing(name=f"crossing {item.id}", ends=(found[0], found[1]), width=round(width, 3))
