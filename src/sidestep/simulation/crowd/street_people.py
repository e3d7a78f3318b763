"""The people of a street: what each has in mind, where they walk, and when those who cross get to the kerb.

Everything about them that is random is drawn here; :mod:`sidestep.simulation.crowd.street_walking` lets them do it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.simulation.crowd.people import People, draw_speeds, make_people
from sidestep.simulation.crowd.spawn import Spawner
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.scenario import CrowdPart, StreetPlacement
from sidestep.types.scene import SceneSpec

WALK_ON, CROSS, RUN, HESITATE, TURN_BACK, STAY = range(6)
INTENTS = ("walk on", "cross", "run", "hesitate", "turn back", "stay")
KERB_SHARES = (0.56, 0.10, 0.12, 0.12, 0.10)
"""Shares of the people near the road who cross, run, hesitate, turn back and stay."""
AT_ZEBRA, AT_ISLAND = 0.85, 0.7
"""Share of those who cross that use the zebra, or the island where there is no zebra."""
IDLE_AT_PLACE = 0.2
"""The same of those who do not cross."""
GLANCES = (0.15, 0.85, 0.8, 0.9, 0.6, 0.25)
"""How many of each intent look at the traffic."""
KERB_M = 0.5
"""How far behind the kerb people stop."""
MIDDLE_M = 0.25
"""How far before the middle of the carriageway people stop where there is no island."""
ANYWHERE_M = (-18.0, 48.0)
"""Stretch, in the direction of travel, in which people cross anywhere."""
ROAD_MARGIN_M = 0.5
"""What people who walk along a sidewalk keep from its edges."""
LEAST_GAP_S, ZEBRA_GAP_S = -0.8, 0.7
CLAIM_SHARE, CLAIMS_MPS2 = 0.8, (2.5, 5.0)
"""Share of those at a zebra who step onto it if the driver can stop, and the deceleration that they expect, drawn
uniformly, m/s². People who do not look at the traffic expect it everywhere."""


class StreetPlans(NamedTuple):
    """What N people have in mind."""

    intent: IntArray  # (N,) number of INTENTS
    kerb: IntArray  # (N,) index of the waypoint at the kerb; -1: none
    middle: IntArray  # (N,) index of the waypoint in the middle of the carriageway; -1: none
    waits_in_middle: BoolArray  # (N,) whether there is an island
    looks_s: FloatArray  # (N,) how long they look at the kerb
    gap_s: FloatArray  # (N,) what is to be left of a time gap when they have left the lane
    claims_mps2: FloatArray  # (N,) deceleration that they expect of drivers; 0: none
    stays_s: FloatArray  # (N,) how long those who stay do
    pause_s: FloatArray  # (N,) how long they hesitate
    gives_up: BoolArray  # (N,) whether they go back after that
    glances: BoolArray  # (N,) whether they look at the traffic
    run_mps: FloatArray  # (N,) speed on the carriageway; the usual one of those who do not run
    back: tuple[FloatArray, ...]  # (N,) of (K, 2): the way back to the kerb and along the sidewalk


class StreetGround:
    """A street along x as people see it: its kerbs, its zebra and its island."""

    def __init__(self, scene: SceneSpec, sidewalk_m: float, where: str) -> None:
        roads = scene.roads
        kerbs = [np.array(line.points) for line in roads.markings if line.kind == "kerb"] if roads else []
        open_kerbs = [kerb for kerb in kerbs if (np.diff(kerb[:, 0]) > 0.0).all()]
        if len(open_kerbs) != 2 or not (open_kerbs[0][:, 1].max() < 0.0 < open_kerbs[1][:, 1].min()):
            raise BadInput(
                f"{where}: people of a street need a scene with a kerb below and one above y = 0, from west to east; "
                "take scene: street:zebra-65 or one like it"
            )
        self.kerbs = {-1.0: open_kerbs[0], 1.0: open_kerbs[1]}
        self.end = float(min(-open_kerbs[0][0, 0], open_kerbs[0][-1, 0]))
        self.sidewalk_m = sidewalk_m
        crossings = roads.crossings if roads else ()
        self.zebra = crossings[0] if crossings else None
        islands = [np.array(region.polygon)[:, 0] for region in scene.regions if region.kind == "island"]
        self.island = (float(islands[0].min()), float(islands[0].max())) if islands else None

    def point(self, x: float, side: float, behind: float) -> tuple[float, float]:
        """The point ``behind`` metres behind the kerb on one side (-1 below, 1 above)."""
        kerb = self.kerbs[side]
        return x, float(exact.interp(x, kerb[:, 0], kerb[:, 1])) + side * behind

    def behind(self, x: float, y: float) -> float:
        """How far behind its kerb a point of a sidewalk is, m."""
        return abs(y) - abs(self.point(x, 1.0 if y > 0.0 else -1.0, 0.0)[1])

    def along(self, x0: float, x1: float, side: float, behind: float) -> list[tuple[float, float]]:
        """Points after ``x0`` up to ``x1``, parallel to the kerb."""
        between = [x for x in self.kerbs[side][1:-1, 0].tolist() if min(x0, x1) < x < max(x0, x1)]
        return [self.point(x, side, behind) for x in [*(between if x1 > x0 else between[::-1]), x1]]

    def way_on(self, x: float, forth: float, side: float, behind: float) -> list[tuple[float, float]]:
        """Along the sidewalk to the end of the street; ``forth`` is 1 to the east, -1 to the west."""
        return self.along(x, forth * (self.end - 1.0), side, behind)


class _Draw:
    """One person after the other, from one generator."""

    def __init__(
        self, placer: Spawner, part: CrowdPart, placement: StreetPlacement, ground: StreetGround,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self._placer, self._radius, self._placement = placer, part.radius, placement
        self._ground, self._rng = ground, rng

    def between(self, low: float, high: float) -> float:
        return float(exact.uniform(self._rng, low, high))

    def sign(self) -> float:
        return 1.0 if self._rng.random() < 0.5 else -1.0

    def intent(self) -> int:
        if self._rng.random() >= self._placement.at_kerb_share:
            return WALK_ON
        return CROSS + int(np.searchsorted(np.cumsum(KERB_SHARES)[:-1], self._rng.random(), side="right"))

    def start(self, x: float, side: float, room: float) -> tuple[float, float]:
        """A free place on the sidewalk about ``x``."""
        least, most = ROAD_MARGIN_M + self._radius, self._ground.sidewalk_m - ROAD_MARGIN_M
        low, high = max(x - room, 1.0 - self._ground.end), min(x + room, self._ground.end - 1.0)
        place = self._placer.draw_apart(
            self._radius, partial(_on_sidewalk, self._ground, self._rng, (low, high), (least, most), side), "street"
        )
        return float(place[0]), float(place[1])

    def crossing_x(self, intent: int, side: float) -> tuple[float, bool]:
        """Where somebody gets to the kerb, and whether that is at the zebra or the island, where people keep to their
        right."""
        ground, crosses = self._ground, intent in (CROSS, RUN, HESITATE)
        at_place, drawn = self._rng.random(), self.between(-1.0, 1.0)
        right = -side * (0.55 + 0.45 * drawn)
        if ground.zebra is not None and at_place < (AT_ZEBRA if crosses else IDLE_AT_PLACE):
            return ground.zebra.ends[0][0] + right * (ground.zebra.width / 2 - 0.4), True
        if ground.island is not None and at_place < (AT_ISLAND if crosses else IDLE_AT_PLACE):
            low, high = ground.island
            return (low + high) / 2 + right * ((high - low) / 2 - 0.8), True
        low, high = ANYWHERE_M
        forth = 1.0 if self._placement.vehicle_mps > 0.0 else -1.0
        return forth * ((low + high) / 2 + drawn * (high - low) / 2), False


def _on_sidewalk(
    ground: StreetGround, rng: np.random.Generator, x: tuple[float, float], behind: tuple[float, float], side: float,
    count: int,
) -> FloatArray:  # fmt: skip
    along, aside = exact.uniform(rng, *x, count), exact.uniform(rng, *behind, count)
    kerb = ground.kerbs[side]
    return np.stack([along, exact.interp(along, kerb[:, 0], kerb[:, 1]) + side * aside], axis=1)


class _Person(NamedTuple):
    """One person's routes."""

    start: tuple[float, float]
    route: list[tuple[float, float]]
    back: list[tuple[float, float]]
    kerb: int = -1
    middle: int = -1
    at_place: bool = False
    on_island: bool = False


def place_street_people(
    placer: Spawner, part: CrowdPart, placement: StreetPlacement, scene: SceneSpec, rng: np.random.Generator
) -> tuple[People, StreetPlans]:
    """The people of one seed and what they have in mind."""
    ground = StreetGround(scene, placement.sidewalk_m, placer.where)
    draw = _Draw(placer, part, placement, ground, rng)
    count = int(rng.integers(placement.count[0], placement.count[1], endpoint=True))
    speed = draw_speeds(part, count, rng)
    intents = [draw.intent() for _ in range(count)]
    persons = [
        _walk_on(draw, ground) if intent == WALK_ON else _to_kerb(draw, ground, placement, intent, float(mps))
        for intent, mps in zip(intents, speed, strict=True)
    ]
    longest = max([1, *(max(len(person.route), len(person.back)) for person in persons)])
    routes = np.zeros((count, longest, 2))
    for row, person in zip(routes, persons, strict=True):
        row[: len(person.route)] = person.route
    starts = np.array([person.start for person in persons]).reshape(-1, 2)
    lengths = np.array([len(person.route) for person in persons], np.int64)
    people = make_people(starts, routes, lengths, speed, part.radius)
    return people, _plans(draw, placement, np.array(intents, np.int64), persons, speed, rng)


def _plans(
    draw: _Draw, placement: StreetPlacement, intent: IntArray, persons: list[_Person], speed: FloatArray,
    rng: np.random.Generator,
) -> StreetPlans:  # fmt: skip
    count = len(persons)
    at_place = np.array([person.at_place for person in persons], bool)
    zebra_s = ZEBRA_GAP_S if draw._ground.zebra is not None else 0.0
    gap = exact.normal(rng, *placement.gap_s, count) - np.where(at_place, zebra_s, 0.0)
    gap = np.where(intent == RUN, 0.6 * gap, np.where(intent == HESITATE, gap - 1.5, gap))
    glances = rng.random(count) < np.array(GLANCES)[intent]
    claims = ~glances | (at_place & (zebra_s > 0.0) & (rng.random(count) < CLAIM_SHARE))
    looks = np.where(rng.random(count) < 0.45, 0.0, exact.uniform(rng, 0.4, 1.8, count))
    looks = np.where((intent == TURN_BACK) | (intent == HESITATE), looks + 0.6, looks)
    return StreetPlans(
        intent=intent,
        kerb=np.array([person.kerb for person in persons], np.int64),
        middle=np.array([person.middle for person in persons], np.int64),
        waits_in_middle=np.array([person.on_island for person in persons], bool),
        looks_s=looks,
        gap_s=np.maximum(gap, LEAST_GAP_S),
        claims_mps2=np.where(claims, exact.uniform(rng, *CLAIMS_MPS2, count), 0.0),
        stays_s=np.asarray(exact.uniform(rng, 6.0, 14.0, count)),
        pause_s=np.asarray(exact.uniform(rng, 0.7, 2.0, count)),
        gives_up=rng.random(count) < 0.6,
        glances=glances,
        run_mps=np.where(intent == RUN, exact.uniform(rng, *placement.speed_at_run, count), speed),
        back=tuple(np.array(person.back).reshape(-1, 2) for person in persons),
    )


def _walk_on(draw: _Draw, ground: StreetGround) -> _Person:
    side, forth = draw.sign(), draw.sign()
    start = draw.start(draw.between(-1.0, 1.0) * 0.9 * ground.end, side, 3.0)
    behind = ground.behind(*start)
    return _Person(start, ground.way_on(start[0], forth, side, behind), [])


def _to_kerb(draw: _Draw, ground: StreetGround, placement: StreetPlacement, intent: int, speed_mps: float) -> _Person:
    """Along the sidewalk, to the kerb, and, unless the person does not cross, to the other side and on."""
    side, forth = draw.sign(), draw.sign()
    x, at_place = draw.crossing_x(intent, side)
    passes_s = (x - placement.vehicle_x) / placement.vehicle_mps
    walked = speed_mps * max(passes_s + draw.between(*placement.arrive_s), 0.5)
    turn = x - forth * draw.between(0.8, 3.5)
    start = draw.start(turn - forth * max(walked - 3.0, 0.5), side, 1.0)
    behind = ground.behind(*start)
    begin = start[0]
    before = ground.along(begin, turn, side, behind) if (turn - begin) * forth > 0.3 else []
    route = [*before, ground.point(x, side, KERB_M)]
    kerb = len(route) - 1
    back = [route[kerb], *ground.way_on(x, draw.sign(), side, behind)]
    slant = draw.between(-0.5, 0.5) if at_place else draw.between(-2.5, 2.5)
    away, farther = draw.sign(), draw.between(0.6, 2.0)
    if intent in (TURN_BACK, STAY):
        return _Person(start, route, back, kerb, -1, at_place)
    far_x = x + slant
    far = ground.point(far_x, -side, farther)
    on_island = ground.island is not None and ground.island[0] < x < ground.island[1]
    middle = (x + slant / 2, 0.0 if on_island else side * MIDDLE_M)
    route += [middle, far, *ground.way_on(far_x, away, -side, farther)]
    return _Person(start, route, back, kerb, kerb + 1, at_place, on_island)
