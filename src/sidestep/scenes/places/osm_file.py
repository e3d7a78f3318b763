"""OpenStreetMap XML (``.osm``, API 0.6) to nodes, ways and relations in local metres, and what their tags say: classes
of ways, widths and heights in metres, and defaults for a width that nobody mapped. Positions are projected to the
plane that touches the WGS 84 ellipsoid at the middle of the extract (``bounds`` if the file states them): lengths
are short by at most (r / R)² / 2, 3 in a million at r = 15 km from the middle.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep._util.reading import parse_xml, read_text
from sidestep.errors import BadInput
from sidestep.scenes.geojson import tangent_plane
from sidestep.types.base import FloatArray, Model, NonNegative, Positive

LARGEST_FILE = 64_000_000  # bytes
LARGEST_EXTENT = 20_000.0  # m
Tags = dict[str, str]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class OsmNode:
    """A point: a corner of a way, or a thing."""

    id: str
    xy: tuple[float, float]  # m
    tags: Tags


@dataclass(frozen=True, eq=False)
class OsmWay:
    """A line or, if it is closed, an outline."""

    id: str
    refs: tuple[str, ...]
    points: FloatArray  # (K, 2) m
    tags: Tags

    @property
    def closed(self) -> bool:
        return len(self.refs) > 3 and self.refs[0] == self.refs[-1]


@dataclass(frozen=True)
class OsmRelation:
    """Ways that belong together; ``members`` are (way, role)."""

    id: str
    members: tuple[tuple[str, str], ...]
    tags: Tags


@dataclass(frozen=True, eq=False)
class OsmData:
    """All of a file."""

    where: str
    nodes: dict[str, OsmNode]
    ways: tuple[OsmWay, ...]
    relations: tuple[OsmRelation, ...]
    origin: tuple[float, float]  # longitude and latitude, degrees
    bounds: Box | None  # m, as the file states them


def read_osm_file(path: Path) -> OsmData:
    """Read and check a file."""
    root = _parse(path)
    where = str(path)
    positions = _positions(root, where)
    lonlat = np.array(list(positions.values()))
    stated = _bounds(root)
    origin = (np.array(stated[:2]) + stated[2:]) / 2 if stated else (lonlat.min(axis=0) + lonlat.max(axis=0)) / 2
    points = np.round(tangent_plane(lonlat, origin), 3)
    extent = float(np.ptp(points, axis=0).max())
    if extent > LARGEST_EXTENT or (np.ptp(lonlat, axis=0) > 1.0).any():
        raise BadInput(
            f"{where}: the extract is {extent / 1000:.0f} km across, at most {LARGEST_EXTENT / 1000:g} km are read; "
            "cut out the part that you need"
        )
    nodes = {}
    tagged = {element.get("id"): _tags(element) for element in root.iter("node") if len(element)}
    for name, (x, y) in zip(positions, points.tolist(), strict=True):
        nodes[name] = OsmNode(name, (x, y), tagged.get(name, {}))
    corners = None
    if stated:
        x0, y0, x1, y1 = tangent_plane(np.array(stated).reshape(2, 2), origin).round(3).ravel().tolist()
        corners = (x0, y0, x1, y1)
    ways = _ways(root, nodes, where)
    return OsmData(where, nodes, ways, _relations(root), (float(origin[0]), float(origin[1])), corners)


def _parse(path: Path) -> ElementTree.Element:
    """The tree of an XML file without document types: no entity is ever expanded."""
    root = parse_xml(read_text(path, ".osm extract", LARGEST_FILE), str(path))
    if root.tag != "osm":
        raise BadInput(f"{path}: the outermost element is <{root.tag!s:.60}>, not <osm>; export OpenStreetMap XML")
    return root


def _shown(element: ElementTree.Element) -> bool:
    """Neither deleted on the server nor in an editor."""
    return element.get("visible") != "false" and element.get("action") != "delete"


def _tags(element: ElementTree.Element) -> Tags:
    return {tag.get("k", ""): tag.get("v", "") for tag in element.iter("tag")}


def _positions(root: ElementTree.Element, where: str) -> dict[str, tuple[float, float]]:
    positions = {}
    for element in root.iter("node"):
        if not _shown(element):
            continue
        name = element.get("id", "")
        try:
            lon, lat = float(element.get("lon", "")), float(element.get("lat", ""))
        except ValueError:
            raise BadInput(f"{where}: node {name:.30}: lon and lat must be numbers; export the file again") from None
        if not (abs(lon) <= 180.0 and abs(lat) <= 90.0):
            raise BadInput(f"{where}: node {name:.30}: lon {lon}, lat {lat} is not on Earth; correct or remove it")
        positions[name] = (lon, lat)
    if not positions:
        raise BadInput(f"{where}: has no nodes; export the extract with its nodes and ways")
    return positions


def _bounds(root: ElementTree.Element) -> Box | None:
    element = root.find("bounds")
    if element is None:
        return None
    try:
        west, south, east, north = (float(element.get(key, "")) for key in ("minlon", "minlat", "maxlon", "maxlat"))
    except ValueError:
        return None
    sound = all(math.isfinite(value) for value in (west, south, east, north)) and west < east and south < north
    return (west, south, east, north) if sound else None


def _ways(root: ElementTree.Element, nodes: dict[str, OsmNode], where: str) -> tuple[OsmWay, ...]:
    ways, missing, asked, first = [], 0, 0, ""
    for element in root.iter("way"):
        if not _shown(element):
            continue
        refs = [ref.get("ref", "") for ref in element.iter("nd")]
        asked += len(refs)
        lost = [ref for ref in refs if ref not in nodes]
        if lost:
            first = first or f"way {element.get('id')!s:.30} → node {lost[0]:.30}"
            missing += len(lost)
            continue
        kept = [ref for k, ref in enumerate(refs) if k == 0 or nodes[ref].xy != nodes[refs[k - 1]].xy]
        if len(kept) > 1:
            points = np.array([nodes[ref].xy for ref in kept])
            ways.append(OsmWay(element.get("id", ""), tuple(kept), points, _tags(element)))
    if missing:
        raise BadInput(
            f"{where}: {missing} of the {asked} nodes that ways refer to are missing (first: {first}); "
            "export the extract with complete ways"
        )
    return tuple(ways)


def _relations(root: ElementTree.Element) -> tuple[OsmRelation, ...]:
    found = []
    for element in root.iter("relation"):
        if _shown(element):
            members = tuple(
                (member.get("ref", ""), member.get("role", ""))
                for member in element.iter("member")
                if member.get("type") == "way"
            )
            found.append(OsmRelation(element.get("id", ""), members, _tags(element)))
    return tuple(found)


LANE = 3.0  # m, per lane of a road
ROAD_WIDTHS: dict[str, float] = {
    "motorway": 14.0, "trunk": 12.0, "primary": 10.0, "secondary": 9.0, "tertiary": 7.5, "unclassified": 6.0,
    "residential": 6.0, "living_street": 5.0, "service": 4.0, "road": 6.0, "busway": 6.0, "track": 3.0,
}  # fmt: skip
"""Width by class, m; links are as wide as a lane and a half."""
PATH_WIDTHS: dict[str, float] = {"footway": 2.0, "path": 1.5, "pedestrian": 4.0, "corridor": 2.0}
"""Width by class, m, of ways for walking. Steps are none: wheels cannot take them."""
FEET_M = 0.3048


class OsmOptions(Model):
    """Values for what the map does not say. Lengths in m."""

    sidewalk_width: Positive = 2.0
    crossing_width: Positive = 3.0
    kerb_width: Positive = 0.15
    """Cut from the road where a sidewalk begins."""
    ramp_length: Positive = 1.0
    """Length from the road's edge into the sidewalk, at both ends of a crossing."""
    corner_radius: NonNegative = 4.0
    """Radius of the kerb where roads meet."""
    storey_height: Positive = 3.0
    building_height: Positive = 7.5
    """Height of a building with neither height nor storeys."""


def metres(text: str | None) -> float | None:
    """``12``, ``12.5 m``, ``12,5``, ``40'``, ``6'2"`` or ``40 ft`` in m; None for anything else or not above 0."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:[.,]\d+)?)\s*(m|ft|feet)?\s*", text)
    if found:
        value = float(found[1].replace(",", ".")) * (FEET_M if found[2] in ("ft", "feet") else 1.0)
    else:
        inches = re.fullmatch(r"\s*(\d+)'\s*(?:(\d+)\")?\s*", text)
        value = (int(inches[1]) + int(inches[2] or 0) / 12) * FEET_M if inches else 0.0
    return value if value > 0 else None


def is_road(tags: Tags) -> bool:
    """A way for vehicles at street level."""
    return _road_class(tags) in ROAD_WIDTHS and not _elsewhere(tags) and tags.get("area") != "yes"


def _road_class(tags: Tags) -> str:
    return tags.get("highway", "").removesuffix("_link")


def is_path(tags: Tags) -> bool:
    """A way for walking, not over a road, at street level."""
    walks = tags.get("highway") in PATH_WIDTHS or (
        tags.get("highway") == "cycleway" and tags.get("foot") in ("yes", "designated")
    )
    return walks and not is_crossing(tags) and not _elsewhere(tags) and tags.get("foot") != "no" and not is_area(tags)


def is_crossing(tags: Tags) -> bool:
    """A way over a road."""
    return tags.get("footway") == "crossing" or (tags.get("highway") == "path" and tags.get("path") == "crossing")


def is_area(tags: Tags) -> bool:
    """A square to walk on."""
    return tags.get("highway") in ("pedestrian", "footway") and tags.get("area") == "yes"


def _elsewhere(tags: Tags) -> bool:
    """Whether it is above or below the street, indoors, or not built yet."""
    tunnel = tags.get("tunnel", "no") not in ("no", "building_passage")
    return tunnel or tags.get("layer", "0") not in ("0", "") or tags.get("indoor") == "yes" or "level" in tags


def road_width(tags: Tags) -> float:
    """``width``, else lanes of 3 m, else by class."""
    stated = metres(tags.get("width:carriageway")) or metres(tags.get("width"))
    if stated:
        return min(stated, 60.0)
    lanes = metres(tags.get("lanes"))
    if lanes and lanes < 13:
        return lanes * LANE
    usual = ROAD_WIDTHS[_road_class(tags)]
    if tags["highway"].endswith("_link"):
        return 1.5 * LANE
    return usual * 0.6 if tags.get("oneway") == "yes" and usual < 10.0 else usual


def path_width(tags: Tags, options: OsmOptions) -> float:
    """Width of a footway, path or pedestrian street."""
    usual = options.sidewalk_width if tags.get("footway") == "sidewalk" else PATH_WIDTHS.get(tags["highway"], 2.0)
    return min(metres(tags.get("width")) or usual, 30.0)


def sidewalk_width(tags: Tags, side: str, options: OsmOptions) -> float | None:
    """Width of the sidewalk on the ``left`` or ``right`` of a road's direction, from the road's tags; None: there is
    none.

    ``separate`` says that the sidewalk is drawn as a way of its own.
    """
    both = tags.get("sidewalk:both", "")
    declared = tags.get(f"sidewalk:{side}", both)
    there = declared == "yes" if declared else tags.get("sidewalk") in ("both", "yes", side)
    if not there:
        return None
    return (
        _first_metres(tags, (f"sidewalk:{side}:width", "sidewalk:both:width", "sidewalk:width"))
        or options.sidewalk_width
    )


def _first_metres(tags: Tags, keys: Iterable[str]) -> float | None:
    return next((value for key in keys if (value := metres(tags.get(key)))), None)


def building_height(tags: Tags, options: OsmOptions) -> float:
    """``height``, else storeys, else the default."""
    stated = metres(tags.get("height"))
    storeys = metres(tags.get("building:levels"))
    if stated is None and storeys is not None:
        stated = storeys * options.storey_height
    return round(min(stated or options.building_height, 400.0), 2)
