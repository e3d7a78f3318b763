"""A sheet in metres on which places are drawn, written as OpenStreetMap XML. The coordinates are made up: they lie in
the open Atlantic, so that nobody takes the file for map data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import shapely

from sidestep import exact
from sidestep.scenes.geojson import ECCENTRICITY2, SEMI_MAJOR
from sidestep.scenes.towns.curves import left_of, points_at, stations_of, steps, unit
from sidestep.types.base import FloatArray

ORIGIN = (-30.0, 45.0)  # longitude, latitude, degrees
Points = Sequence[tuple[float, float]]
NOTE = "Drawn by the Sidestep project. An invented place: this is not OpenStreetMap data."


def arc(centre: tuple[float, float], radius: float, start: float, end: float, pieces: int = 10) -> Points:
    """Points on a circle between two angles, degrees."""
    angle = np.radians(np.linspace(start, end, pieces + 1))
    return [(centre[0] + radius * float(exact.cos(a)), centre[1] + radius * float(exact.sin(a))) for a in angle]


@dataclass
class Paper:
    """Nodes, ways and relations. Nodes at the same place are one."""

    name: str
    half: float  # m: the sheet reaches so far each way
    nodes: dict[tuple[float, float], dict[str, str]] = field(default_factory=dict)
    ways: list[tuple[list[tuple[float, float]], dict[str, str]]] = field(default_factory=list)
    relations: list[tuple[list[tuple[int, str]], dict[str, str]]] = field(default_factory=list)

    def node(self, x: float, y: float, **tags: str) -> tuple[float, float]:
        place = (round(float(x), 3), round(float(y), 3))
        self.nodes.setdefault(place, {}).update(_keys(tags))
        return place

    def way(self, points: Points, /, *, closed: bool = False, **tags: str) -> int:
        """Returns the number of the way; ``a__b`` in a keyword is the key ``a:b``."""
        refs = [self.node(x, y) for x, y in points]
        self.ways.append(([*refs, refs[0]] if closed else refs, _keys(tags)))
        return len(self.ways) - 1

    def ring_building(self, outer: Points, inner: Points, **tags: str) -> None:
        """A building round a courtyard, as a multipolygon."""
        members = [(self.way(outer, closed=True), "outer"), (self.way(inner, closed=True), "inner")]
        self.relations.append((members, {"type": "multipolygon", **_keys(tags)}))

    def terrace(
        self,
        line: Points,
        offset: float,
        kept: list[Any],
        rng: np.random.Generator,
        depth: tuple[float, float] = (8.0, 12.0),
    ) -> None:
        """Houses along a line, ``offset`` m to its left (negative: right), where nothing of ``kept`` is in the way."""
        points = np.array(line)
        at, place = stations_of(points), 2.0
        while place + 8.0 < at[-1]:
            wide, deep = float(exact.uniform(rng, 8.0, 14.0)), float(exact.uniform(rng, *depth))
            ends = [_beside(points, at, s, offset) for s in (place, min(place + wide, at[-1]))]
            out = left_of(unit(ends[1] - ends[0])) * np.sign(offset) * deep
            ring = np.round([ends[0], ends[1], ends[1] + out, ends[0] + out], 2)
            house = shapely.Polygon(ring)
            if house.is_valid and np.abs(ring).max() < self.half - 0.5 and not any(house.intersects(a) for a in kept):
                kept.append(house.buffer(0.02))
                storeys = int(rng.integers(2, 5))
                use = {"shop": "yes"} if rng.random() < 0.35 else {}
                corners = [(x, y) for x, y in ring.tolist()]
                self.way(corners, closed=True, building="house", building__levels=str(storeys), **use)
                place += wide + 0.05
            else:
                place += 2.0

    def along(self, line: Points, offset: float, every: float, start: float, avoid: list[Any], **tags: str) -> None:
        """The same thing again and again beside a line, but nowhere in ``avoid``."""
        points = np.array(line)
        at = stations_of(points)
        for station in steps(start, at[-1] - 2.0, every).tolist():
            x, y = _beside(points, at, station, offset)
            if not any(area.contains(shapely.Point(x, y)) for area in avoid) and max(abs(x), abs(y)) < self.half - 1:
                self.node(x, y, **tags)

    def to_xml(self) -> str:
        numbers = {place: k + 1 for k, place in enumerate(self.nodes)}
        box = [_lonlat(sx * self.half, sx * self.half) for sx in (-1, 1)]
        lines = ["<?xml version='1.0' encoding='UTF-8'?>", f"<!-- {self.name}. {NOTE} -->"]
        lines.append('<osm version="0.6" generator="sidestep">')
        (west, south), (east, north) = box
        lines.append(f'  <bounds minlat="{south:.8f}" minlon="{west:.8f}" maxlat="{north:.8f}" maxlon="{east:.8f}"/>')
        for place, tags in self.nodes.items():
            lon, lat = _lonlat(*place)
            head = f'  <node id="{numbers[place]}" lat="{lat:.8f}" lon="{lon:.8f}"'
            lines += [f"{head}>", *_tag_lines(tags), "  </node>"] if tags else [f"{head}/>"]
        for k, (refs, tags) in enumerate(self.ways):
            lines.append(f'  <way id="{1001 + k}">')
            lines += [f'    <nd ref="{numbers[ref]}"/>' for ref in refs]
            lines += [*_tag_lines(tags), "  </way>"]
        for k, (members, tags) in enumerate(self.relations):
            lines.append(f'  <relation id="{5001 + k}">')
            lines += [f'    <member type="way" ref="{1001 + way}" role="{role}"/>' for way, role in members]
            lines += [*_tag_lines(tags), "  </relation>"]
        return "\n".join([*lines, "</osm>", ""])


def _keys(tags: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ":"): value for key, value in tags.items()}


def _tag_lines(tags: dict[str, str]) -> list[str]:
    return [f"    <tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in sorted(tags.items())]


def _beside(points: FloatArray, at: FloatArray, station: float, offset: float) -> FloatArray:
    low, high = max(station - 0.5, 0.0), min(station + 0.5, at[-1])
    behind, middle, ahead = points_at(np.array([low, station, high]), at, points)
    return np.asarray(middle + left_of(unit(ahead - behind)) * offset)


def _lonlat(x: float, y: float) -> tuple[float, float]:
    """The inverse of the tangent plane near its origin: within 100 m right to a millimetre."""
    sine = exact.sin(np.radians(ORIGIN[1]))
    flat = 1 - ECCENTRICITY2 * sine * sine
    normal = SEMI_MAJOR / np.sqrt(flat)
    meridian = SEMI_MAJOR * (1 - ECCENTRICITY2) / (flat * np.sqrt(flat))
    lat = ORIGIN[1] + np.degrees(y / meridian)
    return ORIGIN[0] + float(np.degrees(x / (normal * exact.cos(np.radians(lat))))), float(lat)
