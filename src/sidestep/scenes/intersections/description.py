"""What a file says about an intersection: its arms with their lanes, routes for the car under test, areas.

An arm is a road that meets the others at the junction. Its lanes are given as lines, or as numbers of lanes along a
straight line. Seen by a driver who enters on this arm, ``lanes_in`` are listed from left to right; ``lanes_out`` are
listed from left to right as a driver sees them who leaves. Traffic keeps to the right.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from sidestep._util.reading import parse_mapping
from sidestep.errors import UnknownName
from sidestep.types.base import Coordinate, Finite, Model, NonNegative, Point, Pose, Positive, PositiveSpeed

Line = Annotated[tuple[Point, ...], Field(min_length=2)]
Box = tuple[Coordinate, Coordinate, Coordinate, Coordinate]
MOST_LANES = 6
LaneNumber = Annotated[int, Field(ge=1, le=MOST_LANES)]
LaneLines = Annotated[tuple[Line, ...], Field(min_length=1, max_length=MOST_LANES)]
Lanes = Annotated[
    Annotated[LaneNumber, Tag("number")] | Annotated[LaneLines, Tag("lines")],
    Discriminator(lambda value: "lines" if isinstance(value, list | tuple) else "number"),
]
CLOSEST_M = 0.01
"""Least distance between two points of a lane."""


class Arm(Model):
    """One road that meets the junction."""

    name: str
    heading_deg: Finite | None = None
    """Direction from the junction outwards; with it lanes are numbers, along a straight road of ``length_m``."""
    length_m: Positive = 60.0
    stop_m: Positive = 13.0
    """Distance from the centre at which lanes end before the junction and begin after it."""
    lanes_in: Lanes = 1
    """Lines lead to the junction."""
    lanes_out: Lanes = 1
    """Lines lead away from the junction."""
    crossing: tuple[NonNegative, Positive] | None = None
    """A pedestrian crossing between these two distances from the centre, along the arm; None: there is none."""
    priority: int = 0

    @model_validator(mode="after")
    def _check(self) -> Arm:
        numbers = isinstance(self.lanes_in, int), isinstance(self.lanes_out, int)
        if self.heading_deg is None and any(numbers):
            raise ValueError("lanes given as numbers need heading_deg; or give each lane as a list of points")
        if self.heading_deg is not None and not all(numbers):
            raise ValueError("with heading_deg the lanes are numbers; leave heading_deg out to give them as points")
        if self.crossing is not None and self.crossing[0] >= self.crossing[1]:
            raise ValueError("crossing is (near, far), and near is less than far")
        if self.stop_m >= self.length_m:
            raise ValueError("stop_m must be less than length_m: lanes lie between the two")
        if " > " in self.name:
            raise ValueError("the name of an arm has no ' > ', which stands in names of lanes")
        for lanes in (self.lanes_in, self.lanes_out):
            for line in () if isinstance(lanes, int) else lanes:
                if any(max(abs(x1 - x0), abs(y1 - y0)) < CLOSEST_M for (x0, y0), (x1, y1) in pairwise(line)):
                    raise ValueError("two points of a lane are the same; remove one of them")
        return self


class IntersectionRoute(Model):
    """One way for the car under test: from a lane of one arm to a lane of another."""

    pose: Annotated[int, Field(ge=0)]
    """Number of the starting position."""
    branch: Literal[-1, 0, 1]
    """-1 left, 0 straight on, 1 right."""
    start: Pose
    destination: Pose
    """Where an expert was when leaving the area: deviations are measured against it."""
    end: Pose | None = None
    """The waypoint at which the route ends, beyond the area: measurements point to it. None: the end of the lane."""
    lane_in: str
    lane_out: str


class Intersection(Model):
    """A whole intersection. Coordinates in m, x to the right and y up; headings in rad, counter-clockwise."""

    name: str
    centre: Point
    arms: Annotated[tuple[Arm, ...], Field(min_length=2, max_length=8)]
    lane_width: Positive = 3.5
    speed_limit: PositiveSpeed = 8.33
    """m/s; 8.33 m/s are 30 km/h."""
    sidewalk_m: Positive = 6.0
    signals: bool = False
    """Whether the arms have traffic lights, opposite arms together."""
    buildings: bool = True
    exit_area: Box | None = None
    """Leaving this box ends an episode: at the route's own side with success."""
    routes: tuple[IntersectionRoute, ...] = ()
    people: tuple[tuple[Box, Box], ...] = ()
    """Pairs of boxes between which people cross."""
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Intersection:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError("two arms have the same name")
        keys = [(route.pose, route.branch) for route in self.routes]
        if len(set(keys)) < len(keys):
            raise ValueError("two routes have the same pose and branch")
        return self


def parse_intersection(data: Any, where: str) -> Intersection:
    """An intersection from plain data; ``BadInput`` naming ``where`` if anything is wrong with it."""
    return Intersection.parse(data, where)


@cache
def load_intersection(name: str) -> Intersection:
    """One that comes with Sidestep."""
    if name not in intersection_names():
        raise UnknownName("intersection", name, intersection_names())
    text = (_DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return parse_intersection(parse_mapping(text, f"intersection {name}"), f"intersection {name}")


_DATA = resources.files("sidestep.scenes.intersections")


@cache
def intersection_names() -> tuple[str, ...]:
    """Names of the intersections that come with Sidestep."""
    return tuple(sorted(Path(item.name).stem for item in _DATA.iterdir() if item.name.endswith(".yaml")))
