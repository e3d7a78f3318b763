"""Tiny OpenStreetMap documents, drawn in metres about 0° N 0° E."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

EAST, NORTH = 111319.4908, 110574.2758  # m per degree at the equator: a π/180 and a (1 − e²) π/180, WGS 84
Tags = dict[str, str]
Places = list[tuple[float, float]]


class Extract:
    """Nodes at the same place are one."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[float, float], Tags] = {}
        self.ways: list[tuple[Places, Tags]] = []
        self.relations: list[tuple[list[tuple[int, str]], Tags]] = []
        self.bounds = ""

    def node(self, x: float, y: float, **tags: str) -> None:
        self.nodes.setdefault((x, y), {}).update(tags)

    def way(self, points: Places, tags: Tags) -> int:
        for x, y in points:
            self.node(x, y)
        self.ways.append((points, tags))
        return len(self.ways)

    def area(self, x0: float, y0: float, x1: float, y1: float, tags: Tags) -> int:
        return self.way([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], tags)

    def write(self, path: Path) -> Path:
        lines = ["<?xml version='1.0' encoding='UTF-8'?>", "<osm version='0.6'>", self.bounds]
        numbers = {place: k + 1 for k, place in enumerate(self.nodes)}
        for (x, y), tags in self.nodes.items():
            lines.append(
                f"<node id='{numbers[x, y]}' lon='{x / EAST:.10f}' lat='{y / NORTH:.10f}'>{_tags(tags)}</node>"
            )
        for k, (points, tags) in enumerate(self.ways):
            refs = "".join(f"<nd ref='{numbers[place]}'/>" for place in points)
            lines.append(f"<way id='{k + 1}'>{refs}{_tags(tags)}</way>")
        for k, (members, tags) in enumerate(self.relations):
            parts = "".join(f"<member type='way' ref='{ref}' role='{role}'/>" for ref, role in members)
            lines.append(f"<relation id='{k + 1}'>{parts}{_tags(tags)}</relation>")
        path.write_text("\n".join([*lines, "</osm>"]), encoding="utf-8")
        return path


def _tags(tags: Tags) -> str:
    return "".join(f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in tags.items())


def street(sidewalk: str = "both", **tags: str) -> Extract:
    """A residential road of 100 m along x."""
    extract = Extract()
    extract.way([(-50, 0), (0, 0), (50, 0)], {"highway": "residential", "sidewalk": sidewalk, **tags})
    return extract
