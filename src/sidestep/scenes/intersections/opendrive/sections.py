"""Lane sections by cross sections: where the borders of lanes lie, and the lines and areas between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import shapely

from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.intersections.opendrive.network import LARGEST, Road, Section, SectionLane
from sidestep.scenes.intersections.opendrive.reference_line import SPACING_M
from sidestep.scenes.places import grid
from sidestep.scenes.walkways import left_of
from sidestep.types.base import FloatArray
from sidestep.types.road import Marking, MarkingKind
from sidestep.types.scene import RegionKind

DRIVING = frozenset(
    {"driving", "entry", "exit", "onRamp", "offRamp", "connectingRamp", "slipLane", "mwyEntry", "mwyExit"}
)
"""Types of lanes that cars drive along."""
ASPHALT = DRIVING | {
    "bidirectional", "biking", "border", "bus", "HOV", "parking", "rail", "restricted", "roadWorks", "shared",
    "shoulder", "special1", "special2", "special3", "stop", "taxi", "tram",
}  # fmt: skip
GROUND: dict[str, RegionKind | None] = {
    **dict.fromkeys(sorted(ASPHALT), "road"), "sidewalk": "sidewalk", "walking": "sidewalk", "curb": "kerb",
    "median": "verge", "none": None,
}  # fmt: skip
MARKS: dict[str, MarkingKind | None] = {
    "broken": "broken", "broken broken": "broken", "botts dots": "broken", "solid": "solid", "solid broken": "solid",
    "broken solid": "solid", "solid solid": "double_solid", "curb": "kerb",
    "none": None, "grass": None, "custom": None, "edge": None,
}  # fmt: skip
"""A line that may be crossed from one side only counts as solid."""
CUT_M = 1e-3
"""Stations that are nearer to each other are one."""
Line = tuple[tuple[float, float], ...]


def rounded(points: FloatArray, where: str) -> Line:
    """Whole millimetres, without repeats."""
    if not (np.abs(points) <= LARGEST).all():
        raise BadInput(f"{where}: reaches farther than {LARGEST / 1000:g} km from the origin; move it near the origin")
    found = np.rint(points * 1000.0) / 1000.0 + 0.0
    keep = np.concatenate([[True], (found[1:] != found[:-1]).any(axis=1)])
    return tuple((float(x), float(y)) for x, y in found[keep])


class LaneStrip:
    """One lane section, cut across at stations ``s (K,)``."""

    def __init__(self, road: Road, section: Section) -> None:
        self.road, self.section = road, section
        self.s = _stations(road, section)
        self._frame = road.line.frame(self.s)
        middle = road.offset.at(np.minimum(self.s, section.end - 1e-9))  # a new offset belongs to the next section
        self.border: dict[int, FloatArray] = {0: middle}
        """(K,) metres to the left of the reference line, of each lane's outer border."""
        for side in (1, -1):
            number = side
            while number in section.lanes:
                width = np.maximum(section.lanes[number].width.at(self.s - section.begin), 0.0)
                self.border[number] = self.border[number - side] + side * width
                number += side

    def line(self, t: FloatArray) -> FloatArray:
        """(K, 2) points ``t (K,)`` metres to the left of the reference line."""
        return np.asarray(self._frame.points + t[:, None] * left_of(self._frame.tangents))

    def inner(self, number: int) -> FloatArray:
        """(K,) the border of a lane towards the middle of the road."""
        return self.border[number - (1 if number > 0 else -1)]

    def mean_width(self, number: int) -> float:
        """m."""
        width = np.abs(self.border[number] - self.inner(number))
        area = np.cumsum((width[1:] + width[:-1]) / 2 * np.diff(self.s))[-1]
        return round(float(area / (self.s[-1] - self.s[0])), 3)

    def centre(self, number: int) -> Line:
        """The centre line of a lane in the direction of travel."""
        points = self.line((self.border[number] + self.inner(number)) / 2)
        line = rounded(points if self.section.lanes[number].is_forward else points[::-1], self.road.where)
        if len(line) < 2:
            raise BadInput(f"{self.road.where}: lane {number} is shorter than 1 mm; merge its section with another")
        return line

    def surfaces(self) -> Iterator[tuple[RegionKind, Any]]:
        """Neighbouring lanes of one kind as polygons."""
        lanes = [self.section.lanes[number] for number in sorted(self.border, reverse=True) if number != 0]
        for kind, group in groupby(lanes, self._kind_of):
            run = [lane.number for lane in group]
            if kind is None:
                continue
            left = self.border[run[0]] if run[0] > 0 else self.inner(run[0])
            right = self.border[run[-1]] if run[-1] < 0 else self.inner(run[-1])
            outline = rounded(np.concatenate([self.line(left), self.line(right)[::-1]]), self.road.where)
            if len(outline) < 3:
                continue
            area = shapely.Polygon(outline)
            if not area.is_valid:  # a bend that is tighter than the road is wide
                area = grid.snapped(shapely.make_valid(area))
            yield from ((kind, part) for part in shapely.get_parts(area) if part.area > grid.SMALLEST_FACE)

    def _kind_of(self, lane: SectionLane) -> RegionKind | None:
        if lane.type not in GROUND:
            raise UnknownName("type of lane", lane.type, GROUND, f"{self.road.where}: lane {lane.number}")
        return GROUND[lane.type]

    def markings(self) -> Iterator[Marking]:
        """Lines on the outer borders of the lanes."""
        along = self.s - self.section.begin
        for number, lane in sorted(self.section.lanes.items()):
            ends = [*(mark.offset for mark in lane.marks[1:]), self.section.end - self.section.begin]
            for mark, end in zip(lane.marks, ends, strict=False):
                if mark.kind not in MARKS:
                    raise UnknownName("type of roadMark", mark.kind, MARKS, f"{self.road.where}: lane {number}")
                kind = MARKS[mark.kind]
                inside = (along > mark.offset - CUT_M) & (along < end + CUT_M)
                if kind is None or inside.sum() < 2:
                    continue
                points = rounded(self.line(self.border[number])[inside], self.road.where)
                if len(points) > 1:
                    yield Marking(kind=kind, points=points, colour="yellow" if mark.colour == "yellow" else "white")


def _stations(road: Road, section: Section) -> FloatArray:
    """(K,) where a section is cut across: at its ends, wherever a record begins, and at least every ``SPACING_M`` where
    the road or a border is curved."""
    profiles = [lane.width for lane in section.lanes.values() if lane.number != 0]
    marks = [mark.offset for lane in section.lanes.values() for mark in lane.marks]
    records = np.concatenate([*(profile.starts for profile in profiles), marks]) + section.begin
    cuts = np.unique(np.concatenate([road.line.starts, road.offset.starts, records]))
    stations = [section.begin]
    for cut in [*cuts[(cuts > section.begin) & (cuts < section.end - CUT_M)].tolist(), section.end]:
        begin = stations[-1]
        if cut - begin < CUT_M:
            continue
        middle = (begin + cut) / 2
        is_straight = road.line.is_straight(middle) and road.offset.is_linear(middle)
        if is_straight and all(profile.is_linear(middle - section.begin) for profile in profiles):
            stations.append(cut)
        else:
            count = max(int(np.ceil((cut - begin) / SPACING_M)), 1)
            stations += [begin + k * ((cut - begin) / count) for k in range(1, count)] + [cut]
    return np.array(stations)
