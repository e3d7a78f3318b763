"""A driver who drives as people do: keeps a time gap to those who cross, and yields at zebras.

For somebody who is in the corridor of 3 m ahead of the car, or about to enter it, the driver brakes as gently as it
takes to have the wanted time gap g left when they leave it. With distance d, speed v and t seconds until they leave,
that is the deceleration

    a = (v (g + t) - d) / (t²/2 + g t),

up to what is comfortable; more only to avoid a collision. Whoever will reach the corridor after the car has passed is
no reason to brake. Where people wait at a zebra the driver stops before it if that is comfortably possible.

How the driver drives is drawn for every episode from the distributions of :data:`DRAWN`, chosen so that the minimum
time gaps are spread like those of human drivers: quartiles 2.09, 2.84 and 3.92 s (Herman and others, "Pedestrian
Behavior Prediction for Automated Driving: Requirements, Metrics, and Relevant Features").
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.policies.driving.route import CarBody, DrivingRoute, pursue
from sidestep.types import Command, CompiledScene, Drive, Observation, Task
from sidestep.types.base import BoolArray, FloatArray, Model, NonNegative, Positive
from sidestep.types.observation import Pedestrians
from sidestep.types.road import Crossing

CORRIDOR_M = 3.0
INWARD_MPS = 0.3
"""Slower than this towards the corridor nobody is about to enter it."""
NOTICED_M = 60.0
ON_ROAD_S, FROM_KERB_S = 4.0, 1.2
"""Somebody on the road, or still beside it, will be in the corridor within this time: about to enter."""
STANDS_S = 6.0
"""Time until somebody who stands in the corridor leaves it."""
SIDEWAYS = 2.0
"""m/s²: comfortable in a curve."""
HOLD_MPS, HOLD_M = 1.5, 4.0
"""Slower and nearer than this to somebody in the corridor the car stands and waits."""
STANDOFF_M = 1.5
"""Distance from people and zebras at which the car stops."""
MARGIN_M = 0.35
"""Room at either side of the body that has to be free."""
YIELD_MPS2 = 1.2
"""Deceleration at which the driver begins to brake for a zebra."""
KERB_REACH_M = 1.6
"""People who wait for a zebra stand nearer than this to its end."""
STANDS_MPS = 0.4


class Spread(NamedTuple):
    """A normal distribution cut at both ends; log-normal if ``logs``: mean and sd are then of the logarithm."""

    mean: float
    sd: float
    low: float
    high: float
    logs: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """One value."""
        value = exact.normal(rng, self.mean, self.sd)
        return float(min(max(exact.exp(value) if self.logs else value, self.low), self.high))


DRAWN: dict[str, Spread] = {
    "target_kmh": Spread(32.0, 4.0, 22.0, 42.0),
    "time_gap_s": Spread(0.63, 0.55, 0.6, 5.0, logs=True),
    "yields": Spread(0.85, 0.15, 0.4, 1.0),
    "reaction_s": Spread(0.6, 0.2, 0.3, 1.2),
    "comfortable": Spread(2.8, 0.5, 1.8, 4.0),
    "patience_s": Spread(2.5, 0.7, 1.0, 5.0),
}


class HumanDriverSettings(Model):
    """Settings of the driver; values that are None are drawn for every episode from :data:`DRAWN`."""

    target_kmh: Positive | None = None
    time_gap_s: Positive | None = None
    """Wanted time gap to people who cross, s."""
    yields: NonNegative | None = None
    """Probability of yielding to somebody who waits at a zebra."""
    reaction_s: NonNegative | None = None
    """Time from when somebody is about to enter the corridor until the driver reacts, s."""
    comfortable: Positive | None = None
    """Deceleration up to which the driver keeps the time gap, m/s²."""
    patience_s: NonNegative | None = None
    """Longest time that the driver waits at a zebra for a person who does not go, s."""
    acceleration: Positive = 1.5


class _Style(NamedTuple):
    target_mps: float
    time_gap_s: float
    yields: float
    reaction_s: float
    comfortable: float
    patience_s: float


class _Seen(NamedTuple):
    """N people as seen along the route."""

    ahead: FloatArray  # (N,) from the front of the car, m
    aside: FloatArray  # (N,) to the left of the route, m
    rate: FloatArray  # (N,) of ``aside``, m/s
    on_road: BoolArray  # (N,)


class HumanDriver(Policy):
    """Keeps a time gap to people who cross by braking gently, and yields at zebras."""

    name = "human_driver"
    summary = "brakes gently to keep a drawn time gap to people who cross, and yields at zebras, as human drivers do"
    needs: ClassVar[frozenset[str]] = frozenset({"route", "pedestrians", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`HumanDriverSettings`."""
        self._settings = HumanDriverSettings.parse(settings, f"policy {self.name}")
        self.settings = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Draw how the driver drives in this episode."""
        self._route, self._body = DrivingRoute(task.start[:2], task.route), CarBody(task.robot)
        limits = task.robot.limits
        self._up, self._down = limits.max_acceleration or 3.0, limits.max_deceleration or 8.0
        self._rng = np.random.Generator(np.random.PCG64(task.seed))
        drawn = {name: spread.draw(self._rng) for name, spread in DRAWN.items()}
        chosen = drawn | {name: value for name, value in self.settings.items() if name in drawn and value is not None}
        self._style = _Style(chosen.pop("target_kmh") / 3.6, **chosen)
        self._road = _carriageway(task.map)
        self._zebras = [_Zebra(crossing, self._route) for crossing in _crossings(task.map)]
        self._noticed: dict[int, float] = {}
        self._willing: dict[int, bool] = {}
        self._stood_s = 0.0
        self._step_s = task.step_s

    def act(self, observation: Observation) -> Command:
        """Steer along the route; speed by the people on it and at zebras."""
        robot = observation.robot
        self._route.advance(robot.x, robot.y)
        v = max(robot.speed, 0.0)
        bend = self._route.curvature(self._route.along)
        target = min(self._style.target_mps, float(np.sqrt(SIDEWAYS / max(bend, 1e-3))))
        wanted = min(max((target - v) / 0.8, -self._style.comfortable), self._settings.acceleration)
        people = observation.pedestrians
        if people is not None and len(people):
            wanted = min(wanted, self._for_people(observation.time, people, v))
        self._stood_s = self._stood_s + self._step_s if v < STANDS_MPS else 0.0
        steer = pursue(self._route, self._body, robot, max(4.0, 0.8 * v))
        if wanted >= 0.0:
            return Drive(steer, min(wanted / self._up + (0.05 if wanted > 0.0 else 0.0), 1.0), 0.0)
        return Drive(steer, 0.0, min(-wanted / self._down, 1.0))

    def _for_people(self, now: float, people: Pedestrians, v: float) -> float:
        """Highest acceleration that people and zebras leave, m/s²."""
        seen = self._see(people)
        half = CORRIDOR_M / 2
        enters, leaves = _time_in(seen, half)
        inside = np.abs(seen.aside) < half
        minded = inside | (np.isfinite(enters) & (enters < np.where(seen.on_road, ON_ROAD_S, FROM_KERB_S)))
        minded &= (seen.ahead > 0.0) & (seen.ahead < NOTICED_M)
        length = self._body.front + self._body.rear
        minded &= ~(enters > (seen.ahead + length) / max(v, 0.1) + 0.3)
        allowed = self._down
        numbers = people.id.tolist()
        self._noticed = {numbers[k]: self._noticed.get(numbers[k], now) for k in np.flatnonzero(minded).tolist()}
        for k in np.flatnonzero(minded).tolist():
            if now - self._noticed[numbers[k]] >= self._style.reaction_s or v < STANDS_MPS:
                allowed = min(allowed, self._keep_gap(float(seen.ahead[k]), float(leaves[k]), v))
        allowed = min(allowed, self._avoid(seen, people.radius, minded, v))
        for zebra in self._zebras:
            allowed = min(allowed, self._yield_at(zebra, people, v))
        return allowed

    def _see(self, people: Pedestrians) -> _Seen:
        """Where people are along the route and how fast they move across it."""
        x, y = people.position[:, 0], people.position[:, 1]
        later_x, later_y = x + 0.5 * people.velocity[:, 0], y + 0.5 * people.velocity[:, 1]
        along, aside = self._route.project(np.concatenate([x, later_x]), np.concatenate([y, later_y]))
        count = len(x)
        return _Seen(
            along[:count] - self._route.along - self._body.front,
            aside[:count],
            (aside[count:] - aside[:count]) / 0.5,
            np.asarray(shapely.contains_xy(self._road, x, y)),
        )

    def _keep_gap(self, ahead: float, leaves: float, v: float) -> float:
        """Acceleration after which the wanted time gap is left when somebody leaves the corridor."""
        gap, t = self._style.time_gap_s, max(leaves, 0.2)
        if v < HOLD_MPS and ahead < HOLD_M:
            return -1.5
        needed = (v * (gap + t) - ahead) / (t * t / 2 + gap * t)
        return -min(needed, self._style.comfortable)

    def _avoid(self, seen: _Seen, radius: FloatArray, minded: BoolArray, v: float) -> float:
        """Acceleration with which the body misses everybody who will be on its way, as they walk now."""
        half = self._body.half + MARGIN_M + radius
        enters, leaves = _time_in(seen, half)
        reach = (seen.ahead + self._body.front + self._body.rear) / max(v, 0.1)
        ahead = seen.ahead - 0.6
        hit = minded & (enters < reach) & (leaves > ahead / max(v, 0.1)) & (v > 0.1)
        if not hit.any():
            return self._down
        room = np.maximum(ahead[hit], 0.1)
        stop = v * v / (2.0 * room)
        t = np.maximum(leaves[hit], 0.1)
        pass_behind = np.where(leaves[hit] < STANDS_S, 2.0 * (v * t - room) / (t * t), np.inf)
        return -float(np.minimum(np.minimum(stop, pass_behind).max(), self._down))

    def _yield_at(self, zebra: _Zebra, people: Pedestrians, v: float) -> float:
        """Acceleration with which the car stops before a zebra for those who wait there."""
        room = zebra.along - zebra.half - self._route.along - self._body.front - STANDOFF_M
        if room < -0.5 or room > NOTICED_M:
            return self._down
        waits = [int(number) for number in people.id[zebra.waits(people)].tolist()]
        for number in waits:
            if number not in self._willing:
                self._willing[number] = float(self._rng.random()) < self._style.yields
        if self._stood_s > self._style.patience_s:
            self._willing.update((number, False) for number in waits)
        needed = v * v / (2.0 * max(room, 0.1))
        if not any(self._willing[number] for number in waits) or (v > 1.0 and needed > 1.2 * self._style.comfortable):
            return self._down
        if v < 1.0 and room < 1.0:
            return -1.0
        return -needed if needed > YIELD_MPS2 else self._down


def _time_in(seen: _Seen, half: Any) -> tuple[FloatArray, FloatArray]:
    """(N,) seconds until people enter and leave the strip of ``half`` metres at either side of the route, at the speed
    they have; infinite entry: they do not."""
    side = np.where(seen.aside >= 0.0, 1.0, -1.0)
    inward = -side * seen.rate
    inside = np.abs(seen.aside) < half
    moves = np.abs(seen.rate) > INWARD_MPS
    rate = np.where(moves, np.abs(seen.rate), 1.0)
    away = half - np.abs(seen.aside)
    across = half + np.abs(seen.aside)
    enters = np.where(inside, 0.0, np.where(inward > INWARD_MPS, -away / rate, np.inf))
    leaves = np.where(moves, np.where(inward > 0.0, across, np.maximum(away, 0.0)) / rate, STANDS_S)
    return enters, leaves


class _Zebra:
    """A crossing on the route."""

    def __init__(self, crossing: Crossing, route: DrivingRoute) -> None:
        self._ends = np.array(crossing.ends)
        middle = self._ends.mean(axis=0)
        self.along = float(route.project(middle[:1], middle[1:])[0][0])
        self.half = crossing.width / 2
        self._across = (self._ends[1] - self._ends[0]) / exact.norm(self._ends[1] - self._ends[0])

    def waits(self, people: Pedestrians) -> BoolArray:
        """(N,) who stands or comes at one of its ends and faces the road."""
        found = np.zeros(len(people), bool)
        sine, cosine = exact.sincos(people.heading)
        ux, uy = self._across
        for end, way in ((self._ends[0], 1.0), (self._ends[1], -1.0)):
            dx, dy = people.position[:, 0] - end[0], people.position[:, 1] - end[1]
            behind = -way * (dx * ux + dy * uy)
            aside = np.abs(dx * uy - dy * ux)
            faces = way * (cosine * ux + sine * uy) > 0.5
            found |= (behind > -0.3) & (behind < KERB_REACH_M) & (aside < self.half + 0.5) & faces
        return found


def _crossings(scene: CompiledScene | None) -> tuple[Crossing, ...]:
    roads = scene.spec.roads if scene is not None else None
    return roads.crossings if roads is not None else ()


def _carriageway(scene: CompiledScene | None) -> Any:
    regions = scene.spec.regions if scene is not None else ()
    shapes = [
        shapely.Polygon(region.polygon, region.holes)
        for region in regions
        if region.kind in ("road", "crosswalk", "island")
    ]
    area = shapely.union_all(shapes)
    shapely.prepare(area)
    return area
