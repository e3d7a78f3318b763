"""An OpenDRIVE file as roads, lane sections and junctions, checked for what cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from sidestep._util import exact
from sidestep._util.reading import parse_xml, read_text
from sidestep.errors import BadInput, did_you_mean
from sidestep.scenes.intersections.opendrive.reference_line import (
    MOST_TURN_RAD,
    SPACING_M,
    Bend,
    Coefficients,
    CubicGraph,
    ParametricCubic,
    Piece,
    Profile,
    ReferenceLine,
    Shape,
)
from sidestep.scenes.walkways import left_of
from sidestep.types.base import FloatArray

LARGEST_FILE = 32_000_000  # bytes
LARGEST = 1e5  # of any number: worlds are at most 100 km from their origin
LONGEST_M = 20_000.0  # of a road
LONGEST_ID = 60
MOST_POINTS = 500_000
"""Largest number of points of all lanes of a file."""
SPEED_UNITS = {"m/s": 1.0, "km/h": 1.0 / 3.6, "mph": 0.44704}
NOWHERE = ("", "-1")
"""Ids that stand for no junction."""
OBJECTS = ("crosswalk", "building")
"""Types of objects that are read."""
NOT_FOR_CARS = frozenset({"1000002", "1000007", "1000013"})
"""Types of traffic lights for people on foot and on bicycles."""


class Item:
    """An XML element, and where it is for error messages."""

    def __init__(self, element: Element, where: str) -> None:
        self.element, self.where = element, where

    def error(self, what: str) -> BadInput:
        return BadInput(f"{self.where}: {what}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.element.get(key, default)
        if value is None:
            raise self.error(f"has no {key}; add the attribute")
        return value

    def id(self) -> str:
        value = self.text("id")
        if len(value) > LONGEST_ID:
            raise self.error(f"the id has more than {LONGEST_ID} characters; give it a shorter one")
        return value

    def choice(self, key: str, known: Sequence[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in known:
            raise self.error(f"{key} is {value!r:.40}{did_you_mean(value[:40], known)}")
        return value

    def number(self, key: str, default: str | None = None, low: float = -LARGEST, high: float = LARGEST) -> float:
        value = self.text(key, default)
        try:
            number = float(value)
        except ValueError:
            raise self.error(f"{key} is {value!r:.40}, which is not a number; correct it") from None
        if not low <= number <= high:
            raise self.error(f"{key} is {number:g}; it must be within {low:g} … {high:g}")
        return number

    def whole(self, key: str) -> int:
        number = self.number(key, low=-100, high=100)
        if number != int(number):
            raise self.error(f"{key} is {number:g}; it must be a whole number")
        return int(number)

    def cubic(self, names: str = "abcd", suffix: str = "") -> Coefficients:
        a, b, c, d = (self.number(name + suffix, "0") for name in names)
        return a, b, c, d

    def first(self, tag: str) -> Item | None:
        found = self.element.find(tag)
        return None if found is None else Item(found, f"{self.where}: {tag}")

    def need(self, tag: str) -> Item:
        found = self.first(tag)
        if found is None:
            raise self.error(f"has no <{tag}>; export it again")
        return found

    def all(self, path: str) -> Iterator[Item]:
        for element in self.element.findall(path):
            name = next((f" {element.get(key)!r:.40}" for key in ("id", "s", "sOffset") if element.get(key)), "")
            yield Item(element, f"{self.where}: {element.tag}{name}")


class RoadMark(NamedTuple):
    """A painted line on the outer border of a lane, from ``offset`` metres of its section on."""

    offset: float
    kind: str
    colour: str


@dataclass(frozen=True, eq=False)
class SectionLane:
    """A lane of one section; positive numbers lie on the left of the reference line."""

    number: int
    type: str
    width: Profile
    marks: tuple[RoadMark, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    speed: float | None  # m/s

    @property
    def is_forward(self) -> bool:
        """Whether traffic goes in the direction of s."""
        return self.number < 0


@dataclass(frozen=True, eq=False)
class Section:
    """Lanes between two stations of a road."""

    begin: float
    end: float
    lanes: dict[int, SectionLane]


class RoadLink(NamedTuple):
    """What an end of a road meets: a road, at its ``start`` or ``end``, or a junction."""

    kind: str
    id: str
    contact: str


@dataclass(frozen=True, eq=False)
class RoadObject:
    """A crosswalk or a building."""

    id: str
    where: str
    type: str
    outline: FloatArray  # (K, 2) m
    along: FloatArray  # (2,) direction of the road there
    height: float


class LightUse(NamedTuple):
    """A traffic light, and which lanes of a road it is for."""

    id: str
    is_reference: bool
    """Whether it refers to a signal of another road, which need not be a traffic light."""
    s: float
    orientation: str
    """``+`` for lanes in the direction of s, ``-`` for the others, ``none`` for those that end nearer to it."""
    lanes: tuple[tuple[int, int], ...]
    """First and last numbers; empty: all."""

    def is_for(self, lane: SectionLane) -> bool:
        if self.orientation not in ("none", "+" if lane.is_forward else "-"):
            return False
        return not self.lanes or any(min(pair) <= lane.number <= max(pair) for pair in self.lanes)


@dataclass(frozen=True, eq=False)
class Road:
    """One road of a file."""

    id: str
    where: str
    junction: str | None
    """The junction through which it leads."""
    line: ReferenceLine
    offset: Profile
    sections: tuple[Section, ...]
    before: RoadLink | None
    after: RoadLink | None
    speeds: tuple[tuple[float, float | None], ...]
    """(station from which it holds, m; allowed speed, m/s)."""
    objects: tuple[RoadObject, ...]
    lights: tuple[LightUse, ...]


class Connection(NamedTuple):
    """Lanes of an incoming road that go on as lanes of a connecting road; no pairs: lanes of the same number."""

    incoming: str
    connecting: str
    contact: str
    pairs: tuple[tuple[int, int], ...]


class Junction(NamedTuple):
    """How lanes lead through a junction; ``priorities`` are (higher, lower) road."""

    where: str
    connections: tuple[Connection, ...]
    priorities: tuple[tuple[str, str], ...]


class RoadNetwork(NamedTuple):
    """All of a file."""

    where: str
    name: str
    roads: dict[str, Road]
    junctions: dict[str, Junction]
    controllers: dict[str, str]
    """The controller of a traffic light, by the light's id."""


def read_network(path: Path) -> RoadNetwork:
    """Read and check a file."""
    where = str(path)
    root = parse_xml(read_text(path, ".xodr file", LARGEST_FILE), where)
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]  # namespaces
    if root.tag != "OpenDRIVE":
        raise BadInput(f"{where}: the outermost element is <{root.tag:.60}>, not <OpenDRIVE>; export OpenDRIVE 1.x")
    top = Item(root, where)
    header = top.need("header")
    if header.text("revMajor") != "1":
        raise header.error(f"OpenDRIVE {header.text('revMajor'):.20} is not read; export version 1.4 to 1.8")
    roads = {road.id(): _road(road) for road in _unique(top.all("road"), "road")}
    if not roads:
        raise BadInput(f"{where}: has no <road>; export the roads as well")
    points = sum(_count_points(road, section) for road in roads.values() for section in road.sections)
    if points > MOST_POINTS:
        raise BadInput(
            f"{where}: about {points:,.0f} points of lanes, at most {MOST_POINTS:,} are read; cut out a part"
        )
    junctions = {item.id(): _junction(item) for item in _unique(top.all("junction"), "junction")}
    controllers = {use.text("signalId"): item.id() for item in top.all("controller") for use in item.all("control")}
    return RoadNetwork(where, header.text("name", "") or path.stem, roads, junctions, controllers)


def _count_points(road: Road, section: Section) -> float:
    """About how many points the borders of a section's lanes will have."""
    records = sum(len(lane.width.starts) + len(lane.marks) for lane in section.lanes.values())
    cuts = records + len(road.line.starts) + len(road.offset.starts)
    return (cuts + (section.end - section.begin) / SPACING_M) * (len(section.lanes) + 1)


def _unique(items: Iterator[Item], what: str) -> Iterator[Item]:
    seen = set()
    for item in items:
        if item.id() in seen:
            raise item.error(f"two {what}s have this id; give each its own")
        seen.add(item.id())
        yield item


def _road(item: Item) -> Road:
    if item.text("rule", "RHT") != "RHT":
        raise item.error(f"rule is {item.text('rule')!r:.20}: only right-hand traffic (RHT) is read; mirror the file")
    length = item.number("length", low=1e-3, high=LONGEST_M)
    pieces = [_piece(part) for part in item.need("planView").all("geometry")]
    if not pieces:
        raise item.error("planView has no <geometry>; export it again")
    line = ReferenceLine(pieces, length, item.where)
    lanes = item.need("lanes")
    before, after = (_link(item.first(f"link/{end}")) for end in ("predecessor", "successor"))
    junction = item.text("junction", "-1")
    return Road(
        id=item.id(),
        where=item.where,
        junction=None if junction in NOWHERE else junction,
        line=line,
        offset=_profile(lanes, "laneOffset", "s"),
        sections=_sections(lanes, line.length),
        before=before,
        after=after,
        speeds=tuple((part.number("s", low=0.0), _speed(part.first("speed"))) for part in item.all("type")),
        objects=tuple(
            _object(part, line) for part in item.all("objects/object") if part.text("type", "none") in OBJECTS
        ),
        lights=tuple(_lights(item)),
    )


def _piece(item: Item) -> Piece:
    length = item.number("length", low=1e-9, high=LONGEST_M)
    shape: Shape
    if item.first("line") is not None:
        shape = Bend(0.0, 0.0)
    elif (arc := item.first("arc")) is not None:
        shape = Bend(*[arc.number("curvature", low=-1e6, high=1e6)] * 2)
    elif (spiral := item.first("spiral")) is not None:
        shape = Bend(spiral.number("curvStart", low=-1e6, high=1e6), spiral.number("curvEnd", low=-1e6, high=1e6))
    elif (poly := item.first("paramPoly3")) is not None:
        last = 1.0 if poly.choice("pRange", ("arcLength", "normalized"), "normalized") == "normalized" else None
        shape = ParametricCubic(poly.cubic(suffix="U"), poly.cubic(suffix="V"), last)
    elif (poly := item.first("poly3")) is not None:
        shape = CubicGraph(poly.cubic())
    else:
        raise item.error("has none of line, arc, spiral, paramPoly3 and poly3; export it again")
    if isinstance(shape, Bend) and max(abs(shape.first), abs(shape.last)) * length > MOST_TURN_RAD:
        raise item.error(f"turns by more than {MOST_TURN_RAD:.1f} rad; curvatures are 1 / radius in 1/m")
    return Piece(item.number("s", low=0.0), item.number("x"), item.number("y"), item.number("hdg"), length, shape)


def _profile(item: Item, tag: str, start: str) -> Profile:
    return Profile([(part.number(start, low=0.0), part.cubic()) for part in item.all(tag)], f"{item.where}: {tag}")


def _sections(lanes: Item, length: float) -> tuple[Section, ...]:
    items = list(lanes.all("laneSection"))
    begins = [part.number("s", low=0.0) for part in items]
    if not items or begins[0] > 1e-6:
        raise lanes.error("has no laneSection at s = 0; add one")
    begins[0] = 0.0
    ends = [*begins[1:], length]
    for item, begin, end in zip(items, begins, ends, strict=True):
        if end - begin < 1e-3:
            raise item.error(f"ends at s = {end:g}, less than 1 mm after its beginning; merge it with its neighbour")
    return tuple(Section(b, e, _section_lanes(item)) for item, b, e in zip(items, begins, ends, strict=True))


def _section_lanes(section: Item) -> dict[int, SectionLane]:
    found: dict[int, SectionLane] = {}
    for side in ("left", "center", "right"):
        for item in section.all(f"{side}/lane"):
            lane = _lane(item)
            if (lane.number > 0, lane.number == 0) != (side == "left", side == "center") or lane.number in found:
                raise item.error(
                    f"stands under <{side}> or is there twice; left lanes are 1, 2, …, right ones -1, -2, …"
                )
            found[lane.number] = lane
    numbers = range(min(found, default=0), max(found, default=0) + 1)
    missing = [number for number in numbers if number not in found and number != 0]
    if missing:
        raise section.error(f"has no lane {missing[0]}, but lanes beyond it; number lanes without gaps")
    return found


def _lane(item: Item) -> SectionLane:
    number = item.whole("id")
    if number != 0 and item.first("width") is None:
        remedy = "lanes given by <border> are not read; export widths" if item.first("border") else "add one"
        raise item.error(f"has no <width>; {remedy}")
    if item.text("direction", "standard") != "standard":
        raise item.error(f"direction is {item.text('direction')!r:.20}: only standard is read; swap the lane's side")
    marks = [
        RoadMark(mark.number("sOffset", "0", low=0.0), mark.text("type", "none"), mark.text("color", "standard"))
        for mark in item.all("roadMark")
    ]
    return SectionLane(
        number=number,
        type=item.text("type", "none"),
        width=_profile(item, "width", "sOffset"),
        marks=tuple(sorted(marks, key=lambda mark: mark.offset)),
        before=tuple(link.whole("id") for link in item.all("link/predecessor")),
        after=tuple(link.whole("id") for link in item.all("link/successor")),
        speed=_speed(item.first("speed")),
    )


def _speed(item: Item | None) -> float | None:
    if item is None or item.text("max") in ("no limit", "undefined"):
        return None
    value = item.number("max", low=0.0, high=500.0) * SPEED_UNITS[item.choice("unit", tuple(SPEED_UNITS), "m/s")]
    return round(value, 3) if 0.0 < value <= 100.0 else None


def _link(item: Item | None) -> RoadLink | None:
    if item is None:
        return None
    kind = item.choice("elementType", ("road", "junction"))
    contact = item.choice("contactPoint", ("start", "end")) if kind == "road" else ""
    return RoadLink(kind, item.text("elementId"), contact)


def _object(item: Item, line: ReferenceLine) -> RoadObject:
    s, t = item.number("s", low=0.0), item.number("t", "0")
    frame = line.frame(np.array([s]))
    along = frame.tangents[0]
    at = frame.points[0] + t * left_of(along)
    heading = exact.arctan2(along[1], along[0]) + item.number("hdg", "0")
    outline = next(iter([*item.all("outline"), *item.all("outlines/outline")]), None)
    if outline is not None and (corners := list(outline.all("cornerRoad"))):
        places = np.array([[corner.number("s", low=0.0), corner.number("t")] for corner in corners])
        there = line.frame(places[:, 0])
        points = there.points + places[:, 1:] * left_of(there.tangents)
    else:
        local = [] if outline is None else [[c.number("u"), c.number("v")] for c in outline.all("cornerLocal")]
        if not local:
            u, v = item.number("length", "0", low=0.0) / 2, item.number("width", "0", low=0.0) / 2
            local = [[-u, -v], [u, -v], [u, v], [-u, v]]
        points = at + exact.rotate(np.array(local), heading)
    if len(points) > 1 and exact.hypot(*(points[-1] - points[0])) < 1e-3:
        points = points[:-1]
    return RoadObject(item.id(), item.where, item.text("type", "none"), points, along, item.number("height", "0"))


def _lights(road: Item) -> Iterator[LightUse]:
    """Dynamic signals, and references."""
    for item in [*road.all("signals/signal"), *road.all("signals/signalReference")]:
        is_light = item.text("dynamic", "no") == "yes" and item.text("type", "") not in NOT_FOR_CARS
        is_reference = item.element.tag == "signalReference"
        if is_light or is_reference:
            pairs = tuple((part.whole("fromLane"), part.whole("toLane")) for part in item.all("validity"))
            orientation = item.choice("orientation", ("+", "-", "none"), "none")
            yield LightUse(item.id(), is_reference, item.number("s", low=0.0), orientation, pairs)


def _junction(item: Item) -> Junction:
    kind = item.text("type", "default")
    if kind != "default":
        raise item.error(f"type is {kind!r:.20}: only default junctions, with connecting roads, are read")
    connections = tuple(
        Connection(
            incoming=part.text("incomingRoad"),
            connecting=part.text("connectingRoad"),
            contact=part.choice("contactPoint", ("start", "end")),
            pairs=tuple((link.whole("from"), link.whole("to")) for link in part.all("laneLink")),
        )
        for part in item.all("connection")
    )
    priorities = tuple((part.text("high"), part.text("low")) for part in item.all("priority"))
    return Junction(item.where, connections, priorities)
