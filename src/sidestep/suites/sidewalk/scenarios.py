"""The three sidewalk suites after SidewalkBench (Sec. 3.3), and what they share: robot, rules, camera.

``sidewalk-unit``: 10 to 20 m along a straight sidewalk, round a curve or over a crosswalk with nobody there; leaving
the sidewalk or touching anything fails, 60 s are given. ``sidewalk-reactive`` (Table 2): eight things that people do
because of the robot, on the same 100 straight routes as the static reference (crossing: on the crosswalks), so that
only the people differ; conversing and queuing succeed when the robot goes round the whole group, gesturing when it
stops within 3 m in front of the person. ``sidewalk-long``: hundreds of metres over several blocks, the other routes
closed by barriers; a failure is counted and the robot is put on the nearest waypoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from sidestep._util import exact
from sidestep.scenes.towns.town import ROADS
from sidestep.suites.files import OptionSuite
from sidestep.suites.sidewalk.routes import (
    UNIT_KINDS,
    LongRoute,
    SidewalkRoute,
    Split,
    TownRoutes,
    hand_made_long_routes,
    hand_made_unit_routes,
    split_of_place,
    split_of_town,
    town_routes,
)
from sidestep.types.base import Model
from sidestep.types.behaviour import Behaviour, BehaviourGraph, BehaviourNode, BehaviourPlacement, Choice
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.scenario import CrowdPart, LaneTraffic, RobotPlacement, Scenario
from sidestep.types.scene import RegionKind
from sidestep.types.sensors import Sensors

GROUND: tuple[RegionKind, ...] = ("sidewalk", "crosswalk", "ramp", "walkable")
"""Where a sidewalk robot may be."""
STEP_S = 0.05
TIME_LIMIT_S = 60.0
NEAREST_GOAL_M = 1.0

ENDS = (
    Outcome.SUCCESS,
    Outcome.TIMEOUT,
    Outcome.POLICY_ERROR,
    Outcome.OFF_ROUTE,
    Outcome.ENVIRONMENT_COLLISION,
    Outcome.PEDESTRIAN_COLLISION,
    Outcome.VEHICLE_COLLISION,
    Outcome.GROUP_INTRUSION,
    Outcome.FROZEN,
)


class SidewalkOptions(Model):
    """What can be chosen with ``--set``."""

    robot: str = "delivery_robot"
    """Name of a robot spec: delivery_robot, robot_dog, humanoid, …"""
    weather: Literal["clear", "cloudy", "wet", "rain"] = "clear"
    time_of_day: Literal["noon", "sunset", "night"] = "noon"
    traffic: Literal["none", "light", "dense"] = "none"
    """Whether cars, vans and cyclists drive on the streets of towns, and cars are parked at wide ones."""
    split: Literal["dev", "test", "all"] = "test"
    """Which scenarios: ``dev`` to develop and tune on, ``test`` for tables, ``all``."""

    def takes(self, split: Split) -> bool:
        """Whether scenarios of a split are wanted."""
        return self.split in (split, "all")

    @property
    def notes(self) -> dict[str, Any]:
        """What a scenario notes of the options: a scenario is the same whatever else was asked for."""
        return self.model_dump(exclude={"split"} if self.traffic != "none" else {"split", "traffic"})


KINDS = {"car": 6.0, "van": 1.0, "bicycle": 3.0}
DRIVERS = {"margin_m": 0.08, "keeps_clear": 1.0}
"""Room at either side: streets with parked cars leave no more where two vans meet."""
TRAFFIC = {
    "light": LaneTraffic(per_km=10.0, returns_s=8.0, parked_share=0.3, kinds=KINDS, parameters=DRIVERS),
    "dense": LaneTraffic(per_km=30.0, returns_s=3.0, parked_share=0.6, kinds=KINDS, parameters=DRIVERS),
}
TOWN = "town:"


def placement(route: SidewalkRoute, options: SidewalkOptions) -> RobotPlacement:
    """The robot at the start of the route, looking along it."""
    start, following, goal = route.points[0], route.points[1], route.points[-1]
    heading = exact.arctan2(following[1] - start[1], following[0] - start[0])
    return RobotPlacement(
        spec=options.robot,
        dynamics="unicycle",
        start=(start[0], start[1], heading),
        goal=goal,
        route=tuple(route.points[1:-1]),
    )


def make_rules(route: SidewalkRoute, **changes: Any) -> Rules:
    """Leaving the sidewalk or touching anything ends the episode. Success is reaching the goal (``Rules.success``'s
    default), which spans the sidewalk: a robot that gets past it on the sidewalk has reached it."""
    values: dict[str, Any] = {
        "step_s": STEP_S,
        "time_limit_s": TIME_LIMIT_S,
        "goal_radius_m": max(NEAREST_GOAL_M, round(route.width / 2, 2)),
        "stay_on": GROUND,
        "ends_on": ENDS,
    }
    return Rules(**(values | changes))


@dataclass(frozen=True)
class SidewalkSuite(OptionSuite):
    """A suite under one choice of options. Scenarios of one town follow each other."""

    options: SidewalkOptions = field()  # no default, unlike a suite's

    def scenarios(self) -> tuple[Scenario, ...]:
        """All scenarios, town by town, then those of the hand-made places."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        raise NotImplementedError

    def _scenario(
        self,
        route: SidewalkRoute,
        name: str,
        summary: str,
        tags: tuple[str, ...],
        rules: dict[str, Any] | None = None,
        notes: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Scenario:
        camera = {"weather": self.options.weather, "time_of_day": self.options.time_of_day}
        traffic = TRAFFIC.get(self.options.traffic) if route.scene.startswith(TOWN) else None
        return Scenario(
            name=name,
            suite=self.name,
            summary=summary,
            scene=route.scene if traffic is None else route.scene + ROADS,
            robots=(placement(route, self.options),),
            lane_traffic=traffic,
            rules=make_rules(route, **(rules or {})),
            sensors=Sensors.parse({"camera": camera}, self.name),
            tags=tags,
            notes={"options": self.options.notes} | (notes or {}),
            **fields,
        )


@dataclass(frozen=True)
class SidewalkUnit(SidewalkSuite):
    """Keep to the sidewalk, with nobody there."""

    options: SidewalkOptions = field(default_factory=SidewalkOptions)
    name: str = "sidewalk-unit"
    summary: str = "keep to the sidewalk: 10-20 m straight, round a curve, over a crosswalk; nobody there"

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(town_routes().towns):
            for kind in UNIT_KINDS if self.options.takes(split_of_town(number)) else ():
                yield self._on(kind, town.town, getattr(town, kind), "town", split_of_town(number))
        for kind, routes in hand_made_unit_routes().items():
            for place, route in routes:
                if self.options.takes(split_of_place(place)):
                    yield self._on(kind, place, route, "real", split_of_place(place))

    def _on(self, kind: str, place: str, route: SidewalkRoute, where: str, split: Split) -> Scenario:
        return self._scenario(route, f"{kind}-{place.lower()}", f"{kind} in {place}", (kind, where, split))


SIDEWALK_UNIT = SidewalkUnit()


STATIC = "static"
BEHAVIOURS = (
    "obstructing", "conversing", "queuing", "frontal", "lateral", "overtaking", "crossing", "gesturing",
)  # fmt: skip
GROUPS = frozenset({"conversing", "queuing"})


@dataclass(frozen=True)
class SidewalkReactive(SidewalkSuite):
    """People who do something because of the robot, and nobody as reference."""

    options: SidewalkOptions = field(default_factory=SidewalkOptions)
    name: str = "sidewalk-reactive"
    summary: str = "eight behaviours of pedestrians towards the robot, and nobody as reference, once in every town"

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(town_routes().towns):
            for behaviour in (STATIC, *BEHAVIOURS) if self.options.takes(split_of_town(number)) else ():
                yield self._with(behaviour, town, split_of_town(number))

    def _with(self, behaviour: str, town: TownRoutes, split: Split) -> Scenario:
        stops = behaviour == "gesturing"
        return self._scenario(
            town.crosswalk if behaviour == "crossing" else town.straight,
            f"{behaviour}-{town.town.lower()}",
            f"{behaviour} in {town.town}",
            (behaviour, "town", split),
            events=() if behaviour == STATIC else (town.events[behaviour],),
            rules={
                "avoid_groups": behaviour in GROUPS,
                "success": "stop" if stops else "goal",
                "ends_on": (*ENDS, Outcome.DISOBEYED) if stops else ENDS,
            },
        )


SIDEWALK_REACTIVE = SidewalkReactive()


FROZEN_AFTER_S = 10.0
PERSON_RADIUS_M = 0.3
NODE_EVERY, CLEAR_POINTS = 2, 5
"""Points of the route between two nodes of the walkers' graph; nobody starts on the first ones."""
SLOWEST_MPS, SPARE_S = 0.4, 60.0
"""The time limit: the whole route at that speed, and a reserve."""


class LongOptions(SidewalkOptions):
    """What can be chosen with ``--set``."""

    people: bool = True
    """Whether anybody on the route does something because of the robot."""
    walkers: Annotated[int, Field(ge=0, le=200)] = 6
    """People who walk up and down the same sidewalks and give way."""


def walkers_on(route: SidewalkRoute, count: int) -> CrowdPart:
    """People who walk along the route in both directions and keep to their right."""
    points = route.points[CLEAR_POINTS::NODE_EVERY]
    nodes = tuple(BehaviourNode(at=point) for point in points)
    graph = BehaviourGraph(nodes=nodes, edges=tuple((k, k + 1) for k in range(len(nodes) - 1)))
    placement = BehaviourPlacement(
        count=min(count, len(nodes) - 2), graph=graph, behaviour=Behaviour(after_walk=Choice(walk=1.0), meet=0.0)
    )
    return CrowdPart(model="orca", placement=placement, radius=PERSON_RADIUS_M)


@dataclass(frozen=True)
class SidewalkLong(SidewalkSuite):
    """Long routes: failures are counted, and the robot is put back."""

    options: LongOptions = field(default_factory=LongOptions)
    name: str = "sidewalk-long"
    summary: str = "hundreds of metres over several blocks past people; failures are counted, and the robot is put back"

    def _all(self) -> Iterator[Scenario]:
        for number, town in enumerate(town_routes().towns):
            if self.options.takes(split_of_town(number)):
                yield self._through(town.town, town.long, "town", split_of_town(number))
        for place, route in hand_made_long_routes():
            if self.options.takes(split_of_place(place)):
                yield self._through(place, route, "real", split_of_place(place))

    def _through(self, place: str, route: LongRoute, where: str, split: Split) -> Scenario:
        return self._scenario(
            route,
            f"long-{place.lower()}",
            f"{route.length:.0f} m through {place}",
            ("long", where, split),
            events=route.events if self.options.people else (),
            crowd=(walkers_on(route, self.options.walkers),) if self.options.walkers else (),
            rules={
                "on_failure": "reset",
                "frozen_after_s": FROZEN_AFTER_S,
                "time_limit_s": round(route.length / SLOWEST_MPS + SPARE_S),
            },
            notes={"length_m": route.length},
        )


SIDEWALK_LONG = SidewalkLong()
