"""The lanes of OpenDRIVE roads that cars drive along, what follows on each, and the traffic lights at their ends.

A lane is named after its road, with the number of the lane section if the road has several: ``road 5 lane -1``,
``road 7.1 lane 2``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import NamedTuple

import networkx as nx
import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.intersections.intersection import STRAIGHT_RAD
from sidestep.scenes.intersections.opendrive.network import Connection, LightUse, Road, RoadLink, RoadNetwork
from sidestep.scenes.intersections.opendrive.sections import CUT_M, DRIVING, LaneStrip
from sidestep.scenes.walkways import turn_between
from sidestep.types.base import FloatArray
from sidestep.types.road import Lane, Signal, Turn

NARROWEST_M = 1.0
"""A driving lane that is narrower in the mean is asphalt only."""
JOINT_M = 1.5
"""Largest gap between a lane and the next."""
SPEED_LIMIT = 13.9
"""m/s, of roads that do not state one."""
SHARE_S, GREEN_S, YELLOW_S = 20.0, 14.0, 3.0
"""Lights that have green together: their share of the cycle, green and yellow, s."""
Strips = dict[tuple[str, int], LaneStrip]
"""Strips by road and number of the section."""


class LaneId(NamedTuple):
    """A lane of one section of a road."""

    road: str
    section: int
    number: int


class LaneNetwork:
    """The lanes of a file and how they are linked."""

    def __init__(self, network: RoadNetwork, strips: Strips) -> None:
        self._network, self._strips = network, strips
        self._names = dict(self._named())
        self._following = {
            lane: [other for other in dict.fromkeys(self._links(lane)) if other in self._names] for lane in self._names
        }

    def _named(self) -> Iterator[tuple[LaneId, str]]:
        for (road, section), strip in self._strips.items():
            part = f"{road}.{section}" if len(strip.road.sections) > 1 else road
            for number, lane in sorted(strip.section.lanes.items(), reverse=True):
                if number != 0 and lane.type in DRIVING and strip.mean_width(number) >= NARROWEST_M:
                    yield LaneId(road, section, number), f"road {part} lane {number}"

    def lanes(self) -> list[Lane]:
        """All lanes; an error if one does not begin where the lane before it ends."""
        lines = {lane: self._strips[lane.road, lane.section].centre(lane.number) for lane in self._names}
        turns = {road.id: road.line.turn() for road in self._network.roads.values() if road.junction is not None}
        ranks, speeds = _ranks(self._network), self._speed_limits()
        lanes = []
        for lane, name in self._names.items():
            strip = self._strips[lane.road, lane.section]
            for other in self._following[lane]:
                gap = exact.hypot(*(np.array(lines[other][0]) - lines[lane][-1]))
                if gap > JOINT_M:
                    raise BadInput(
                        f"{strip.road.where}: lane {lane.number}: {self._names[other]!r} follows on it and begins "
                        f"{gap:.1f} m from its end; check contactPoint and the lane links"
                    )
            forward = strip.section.lanes[lane.number].is_forward
            turn = _turn(turns[lane.road] * (1.0 if forward else -1.0)) if lane.road in turns else None
            lanes.append(
                Lane(
                    name=name,
                    points=lines[lane],
                    width=strip.mean_width(lane.number),
                    speed_limit=speeds[lane],
                    next=tuple(self._names[other] for other in self._following[lane]),
                    turn=turn,
                    priority=2 * ranks.get(lane.road, 0) - (turn == "left"),
                )
            )
        return lanes

    def _speed_limits(self) -> dict[LaneId, float]:
        """m/s; of a lane without one it is the lowest of the lanes that lead to it."""
        stated = {lane: _speed_limit(self._strips[lane.road, lane.section], lane.number) for lane in self._names}
        before: dict[LaneId, list[float]] = {}
        for lane, following in self._following.items():
            for other in following:
                before.setdefault(other, []).append(stated[lane] or SPEED_LIMIT)
        return {lane: limit or min(before.get(lane, [SPEED_LIMIT])) for lane, limit in stated.items()}

    def _links(self, lane: LaneId) -> list[LaneId]:
        """The lanes that follow on one, in the direction of travel."""
        road = self._network.roads[lane.road]
        described = road.sections[lane.section].lanes[lane.number]
        forward = described.is_forward
        numbers = described.after if forward else described.before
        section = lane.section + (1 if forward else -1)
        if 0 <= section < len(road.sections):
            return [self._checked(lane, LaneId(road.id, section, number), forward=forward) for number in numbers]
        link = road.after if forward else road.before
        return [] if link is None else self._beyond(lane, numbers, link)

    def _beyond(self, lane: LaneId, numbers: tuple[int, ...], link: RoadLink) -> list[LaneId]:
        """The lanes that follow behind the end of a road."""
        network, where = self._network, self._network.roads[lane.road].where
        if link.kind == "road":
            joints = [(link.id, link.contact, number) for number in numbers]
        elif link.id not in network.junctions:
            raise UnknownName("junction", link.id, network.junctions, f"{where}: link")
        else:
            joints = [
                (connection.connecting, connection.contact, to)
                for connection in network.junctions[link.id].connections
                if connection.incoming == lane.road
                for start, to in connection.pairs or self._same_numbers(connection)
                if start == lane.number
            ]
        found = []
        for other, contact, number in joints:
            if other not in network.roads:
                raise UnknownName("road", other, network.roads, f"{where}: link to {link.kind} {link.id!r:.40}")
            section = 0 if contact == "start" else len(network.roads[other].sections) - 1
            found.append(self._checked(lane, LaneId(other, section, number), forward=contact == "start"))
        return found

    def _same_numbers(self, connection: Connection) -> list[tuple[int, int]]:
        """Pairs of lanes of a connection without lane links."""
        road = self._network.roads.get(connection.connecting)
        lanes = {} if road is None else road.sections[0 if connection.contact == "start" else -1].lanes
        forward = connection.contact == "start"
        return [(number, number) for number in lanes if number != 0 and lanes[number].is_forward == forward]

    def _checked(self, lane: LaneId, other: LaneId, *, forward: bool) -> LaneId:
        """``other``, if it is there and leads away from where ``lane`` ends."""
        lanes = self._network.roads[other.road].sections[other.section].lanes
        if other.number in lanes and other.number != 0 and lanes[other.number].is_forward == forward:
            return other
        what = "leads the other way" if other.number in lanes and other.number != 0 else "is not there"
        raise BadInput(
            f"{self._network.roads[lane.road].where}: lane {lane.number}: goes on to lane {other.number} of road "
            f"{other.road!r:.40}, which {what}; correct contactPoint or the lane links"
        )

    def signals(self) -> list[Signal]:
        """A signal for every traffic light that is for lanes. Lights of one controller have green together; of lights
        without a controller those of opposite directions do. Phases are fixed: the file has none."""
        places: dict[str, dict[str, list[LaneId]]] = {}
        seen: set[LaneId] = set()
        for road, use in self._lights():
            for place, lane in self._lanes_of_light(road, use):
                if lane not in seen:  # a lane has one light: the first
                    seen.add(lane)
                    places.setdefault(place, {}).setdefault(use.id, []).append(lane)
        return [signal for place, lights in places.items() for signal in self._phases(place, lights)]

    def _lights(self) -> list[tuple[Road, LightUse]]:
        uses = [(road, use) for road in self._network.roads.values() for use in road.lights]
        known = {use.id for _, use in uses if not use.is_reference}
        return [(road, use) for road, use in uses if use.id in known]

    def _phases(self, place: str, lights: dict[str, list[LaneId]]) -> Iterator[Signal]:
        """The signals of one junction: one group of lights has green after the other."""
        groups = self._groups(lights)
        for number, group in enumerate(groups):
            for light in group:
                yield Signal(
                    name=f"{place} signal {light}",
                    lanes=tuple(self._names[lane] for lane in lights[light]),
                    cycle_s=SHARE_S * max(len(groups), 2),
                    green_at_s=SHARE_S * number,
                    green_s=GREEN_S,
                    yellow_s=YELLOW_S,
                )

    def _lanes_of_light(self, road: Road, use: LightUse) -> Iterator[tuple[str, LaneId]]:
        """The lanes that end at a light, and the junction they lead to: lanes of its own road, or, if that leads
        through a junction, the lanes before it."""
        last = len(road.sections) - 1
        for forward in (True, False):
            if road.junction is not None:
                first = 0 if forward else last
                for lane, following in self._following.items():
                    inside = [other for other in following if other.road == road.id and other.section == first]
                    if lane.road != road.id and any(self._is_for(use, other, forward) for other in inside):
                        yield f"junction {road.junction}", lane
            elif use.orientation != "none" or forward == (use.s > road.line.length / 2):
                link = road.after if forward else road.before
                place = f"junction {link.id}" if link is not None and link.kind == "junction" else f"road {road.id}"
                section = last if forward else 0
                for lane in (LaneId(road.id, section, number) for number in road.sections[section].lanes):
                    if lane in self._names and self._is_for(use, lane, forward):
                        yield place, lane

    def _is_for(self, use: LightUse, lane: LaneId, forward: bool) -> bool:
        described = self._strips[lane.road, lane.section].section.lanes[lane.number]
        return described.is_forward == forward and use.is_for(described)

    def _groups(self, lights: dict[str, list[LaneId]]) -> list[list[str]]:
        """Lights that have green together."""
        groups: list[tuple[str | None, FloatArray, list[str]]] = []
        for light, lanes in lights.items():
            controller = self._network.controllers.get(light)
            line = self._strips[lanes[0].road, lanes[0].section].centre(lanes[0].number)
            ahead = np.array(line[-1]) - line[-2]
            for other, direction, members in groups:
                angle = abs(turn_between(ahead, direction))
                if controller == other and (controller is not None or min(angle, pi - angle) < STRAIGHT_RAD):
                    members.append(light)
                    break
            else:
                groups.append((controller, ahead, [light]))
        return [members for _, _, members in groups]


def _turn(angle: float) -> Turn:
    return "straight" if abs(angle) < STRAIGHT_RAD else "left" if angle > 0 else "right"


def _speed_limit(strip: LaneStrip, number: int) -> float | None:
    stated = [speed for s, speed in strip.road.speeds if s <= strip.section.begin + CUT_M]
    return strip.section.lanes[number].speed or (stated[-1] if stated else None)


def _ranks(network: RoadNetwork) -> dict[str, int]:
    """Ranks of connecting roads by the priorities of their junctions: the road that has to wait has the lower
    number."""
    ranks: dict[str, int] = {}
    for junction in network.junctions.values():
        order: nx.DiGraph[str] = nx.DiGraph([(low, high) for high, low in junction.priorities])
        try:
            for rank, roads in enumerate(nx.topological_generations(order)):
                ranks.update(dict.fromkeys(roads, rank))
        except nx.NetworkXUnfeasible:
            raise BadInput(f"{junction.where}: roads have priority over each other in a circle; remove one") from None
    return ranks
