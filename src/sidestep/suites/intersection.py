"""The intersection suite after IntersectNav: six intersections, 41 routes left, straight on and right, among crossing
people and, if asked for, other vehicles.

The car starts before the junction and has to leave the area on the right side, in its lane. Touching anything, more
than five lane invasions, leaving on another side or beside the lane, and 1,000 steps end the episode. People cross once
and vehicles leave for good, as published, so that waiting is safe; with ``flow=continuous`` they come again.

Scenes 0 to 3 are the development split, scenes 4 and 5 the test split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName, did_you_mean
from sidestep.interfaces import Suite
from sidestep.scenes.intersections import IntersectionRoute
from sidestep.suites.driving_place import OWN_NUMBER, DrivingPlace, own_places, published_place, side_of
from sidestep.suites.files import OptionSuite
from sidestep.types.base import Model, NonNegative, Positive
from sidestep.types.outcome import ExitRule, LaneRule, Outcome, Rules
from sidestep.types.scenario import Box, CrossingPlacement, CrowdPart, LaneTraffic, RobotPlacement, Scenario
from sidestep.types.sensors import Sensors

SCENES = 6
TEST_SCENES = (4, 5)
STEPS = 1000
STEP_S, STEP_VEHICLES_S = 0.05, 1.0 / 30.0
"""Ped-Only runs at 20 Hz, Ped-Veh at 30 Hz."""
HEAD_START_STEPS = 50
"""Number of steps that people and vehicles move before the car may."""
HOP_M = 2.0
"""Between two points of a route."""
MIDDLE_M = 1.293
"""From the rear axle, which is the car's reference point, to the middle of its body, of which published poses are."""
BRANCH_NAMES = {-1: "left", 0: "straight", 1: "right"}
DENSITY: dict[str, tuple[int, int]] = {
    "none": (0, 0), "few": (0, 10), "moderate": (10, 20), "standard": (20, 30), "many": (35, 50),
}  # fmt: skip
"""Presets of the number of people."""
TRAIN_WEATHERS = ("ClearNoon", "CloudyNoon", "WetNoon", "HardRainNoon")
TEST_WEATHERS = ("ClearSunset", "CloudySunset", "WetSunset", "HardRainSunset")
LATER_TRAIN_WEATHERS = ("ClearNoon", "CloudyNoon", "MidRainyNoon", "ClearSunset", "CloudySunset", "MidRainSunset")
LATER_TEST_WEATHERS = ("ClearNight", "CloudyNight", "MidRainyNight", "WetNoon", "WetSunset", "WetNight")
PED_ONLY_WEATHERS = TRAIN_WEATHERS + TEST_WEATHERS
"""The program's list of weathers for people only, in its order: what ``weather`` of a demonstration counts in."""
PED_VEH_WEATHERS = (
    "ClearNight", "ClearNoon", "ClearSunset", "CloudyNight", "CloudyNoon", "CloudySunset", "Default", "HardRainNight",
    "HardRainNoon", "HardRainSunset", "MidRainSunset", "MidRainyNight", "MidRainyNoon", "SoftRainNight", "SoftRainNoon",
    "SoftRainSunset", "WetCloudyNight", "WetCloudyNoon", "WetCloudySunset", "WetNight", "WetNoon", "WetSunset",
)  # fmt: skip
"""The same with vehicles."""
_WEATHER = {
    "Clear": "clear",
    "Cloudy": "cloudy",
    "Wet": "wet",
    "HardRain": "rain",
    "MidRainy": "rain",
    "MidRain": "rain",
}
WEATHERS: dict[str, tuple[str, str]] = {
    weather + hour: (kind, hour.lower()) for weather, kind in _WEATHER.items() for hour in ("Noon", "Sunset", "Night")
}
"""Published names → weather and time of day of the renderer, which knows one strength of rain."""
ENDS = (
    Outcome.SUCCESS, Outcome.TIMEOUT, Outcome.POLICY_ERROR, Outcome.WRONG_EXIT, Outcome.LANE_INVASION,
    Outcome.OFF_ROUTE, Outcome.ENVIRONMENT_COLLISION, Outcome.PEDESTRIAN_COLLISION, Outcome.VEHICLE_COLLISION,
)  # fmt: skip


class IntersectionOptions(Model):
    """What can be chosen with ``--set``."""

    flow: Literal["published", "continuous"] = "published"
    """``published``: people cross once, on two arms, and vehicles leave for good; ``continuous``: people turn to new
    goals, on all four arms, vehicles come back, and there is more time."""

    split: Literal["dev", "test", "all"] = "test"
    """``dev``: scenes 0 to 3, to develop and tune on; ``test``: scenes 4 and 5, for tables; ``all``."""
    people: Literal["none", "few", "moderate", "standard", "many"] = "standard"
    """How many cross: 0, 0-10, 10-20, 20-30, 35-50."""
    reacts: bool = False
    """Whether people wait for a gap before they cross and walk round the car."""
    accepts_gap_s: NonNegative = 1.0
    """Time that people who react want to have left when a vehicle comes, s."""
    vehicles: bool = False
    """Whether 6 to 15 other vehicles drive (Ped-Veh) or none (Ped-Only)."""
    weather: str = "ClearNoon"
    """Published name of a weather: ClearNoon, CloudyNoon, WetNoon, HardRainNoon, ClearSunset, …"""
    full_camera: bool = False
    """Whether pictures are drawn at 1500 × 650 pixels before they are reduced to 200 × 88, as published, or at
    400 × 176."""
    robot: str = "car"
    """Name of a robot spec."""
    place: str | None = None
    """File of an intersection of one's own, .yaml or .xodr, in place of the six."""
    invasions: Literal["readme", "program"] = "readme"
    """What ``lane_invasion`` is: more than five illegal ones, as IntersectNav's readme says, or as its program ends an
    episode, with five straight on and ten in turns, of any marking."""
    time_limit_s: Positive | None = None
    """None: 1,000 steps; 90 s in a continuous flow."""

    @property
    def step_s(self) -> float:
        """Length of a step, s."""
        return STEP_VEHICLES_S if self.vehicles else STEP_S

    @model_validator(mode="after")
    def _check(self) -> IntersectionOptions:
        if self.weather not in WEATHERS:
            raise ValueError(f"weather is one of {', '.join(WEATHERS)}{did_you_mean(self.weather, WEATHERS)}")
        return self


def numbered_weathers(weathers: Iterable[str], vehicles: bool) -> tuple[str, ...]:
    """The published list that numbers of weathers count in: that of Ped-Only if there are no vehicles and it has all
    of ``weathers``, else that of Ped-Veh, at whose end stand those that it does not have."""
    wanted = list(dict.fromkeys(weathers))
    if not vehicles and set(wanted) <= set(PED_ONLY_WEATHERS):
        return PED_ONLY_WEATHERS
    return (*PED_VEH_WEATHERS, *(name for name in wanted if name not in PED_VEH_WEATHERS))


@dataclass(frozen=True)
class IntersectionSuite(OptionSuite):
    """The suite under one choice of options."""

    options: IntersectionOptions = field(default_factory=IntersectionOptions)
    name: str = "intersection"
    summary: str = "a car turns left, goes straight on and turns right at six intersections among crossing people"

    def scenarios(self) -> tuple[Scenario, ...]:
        """One for every route, scene by scene."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        if self.options.place is not None:
            for place in own_places(self.options.place):
                for route in place.routes:
                    yield self._scenario(place, route, "own")
            return
        for number in range(SCENES):
            split = "test" if number in TEST_SCENES else "dev"
            if self.options.split in (split, "all"):
                place = published_place(number)
                for route in place.routes:
                    yield self._scenario(place, route, split)

    def _scenario(self, place: DrivingPlace, route: IntersectionRoute, split: str) -> Scenario:
        options, branch, number = self.options, BRANCH_NAMES[route.branch], place.number
        name = f"scene{number}" if number < OWN_NUMBER else place.name
        has_people = options.people != "none" and bool(place.people)
        return Scenario(
            name=f"{name}-pose{route.pose}-{branch}",
            suite=self.name,
            summary=f"{branch} at intersection {number if number < OWN_NUMBER else place.name}",
            scene=place.scene,
            robots=(drive_along(place, route, options.robot),),
            crowd=(crossing_people(place, options),) if has_people else (),
            lane_traffic=other_vehicles(options) if options.vehicles else None,
            rules=make_rules(place, route, options),
            sensors=Sensors.parse({"lidar": LIDAR, "camera": self._camera(), "extra": told_goal(route)}, self.name),
            tags=(branch, f"scene{number}", split, "ped-veh" if options.vehicles else "ped-only", *flow_tags(options)),
            notes={
                "scene": number,
                "pose": route.pose,
                "branch": route.branch,
                "options": options.model_dump(exclude={"split", *(("place",) if options.place is None else ())}),
            },
        )

    def _camera(self) -> dict[str, Any]:
        weather, time_of_day = WEATHERS[self.options.weather]
        preset = "car_front" if self.options.full_camera else "car_front_fast"
        return {"preset": preset, "mount": CAMERA_MOUNT, "weather": weather, "time_of_day": time_of_day}


CONTINUOUS = "continuous"
CONTINUOUS_LIMIT_S, CONTINUOUS_START_S = 90.0, 20.0
REST_S = (1.0, 8.0)
"""How long people stay before they cross again in a continuous flow."""
RETURNS_S = 2.0
"""After this a vehicle that has left comes back in a continuous flow."""
PUBLISHED_SPEED = 0.5
"""Share of the speed limit that vehicles drive."""
APART_M = 6.5
"""Between two vehicles at the start."""
CAMERA_MOUNT = (MIDDLE_M + 1.0, 0.0, 1.6)
LIDAR_RAYS, LIDAR_RANGE_M = 720, 40.0
LIDAR = {
    "rays": LIDAR_RAYS,
    "angle_min": -1.5707963267948966,
    "field_of_view": 3.141592653589793,
    "max_range": LIDAR_RANGE_M,
    "mount": (MIDDLE_M + 1.7, 0.0),
}
"""One plane, the front half in steps of a quarter of a degree, 1.7 m ahead of the middle of the body."""


@dataclass
class EvaluationSuite(Suite):
    """Routes of some scenes and branches, each driven several times, as IntersectNav's ``evaluate.py`` does: every
    iteration is a scenario of its own, with a weather of its own."""

    scenes: tuple[int | str, ...]
    """Numbers of the six, and files of intersections of one's own."""
    branches: tuple[int, ...]
    iters: int = 1
    steps: int = STEPS
    random_weather: bool = False
    new_weather: bool = False
    vehicles: bool = False
    begin: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Place in ``scenes``, pose, place among the pose's branches and iteration of the first episode."""
    name: str = "intersection"
    summary: str = "IntersectNav's evaluation"

    def __post_init__(self) -> None:
        for scene in self.scenes:
            if isinstance(scene, int) and not 0 <= scene < SCENES:
                raise UnknownName("scene", str(scene), [str(each) for each in range(SCENES)])
        for branch in self.branches:
            if branch not in BRANCH_NAMES:
                raise UnknownName("branch", str(branch), [str(each) for each in BRANCH_NAMES])

    def scenarios(self) -> tuple[Scenario, ...]:
        """Scene by scene, route by route, iteration by iteration."""
        found = [scenario for _, scenario in self.episodes()]
        if not found:
            raise BadInput(f"no route of scenes {self.scenes} has a branch of {self.branches}")
        return tuple(found)

    @property
    def weathers(self) -> tuple[str, ...]:
        """What episodes are drawn from, as the program has it: without ``random_weather`` it is always clear noon."""
        if not self.random_weather:
            return TRAIN_WEATHERS[:1]
        if self.vehicles:
            return LATER_TEST_WEATHERS if self.new_weather else LATER_TRAIN_WEATHERS
        return TEST_WEATHERS if self.new_weather else TRAIN_WEATHERS

    def episodes(self) -> Iterator[tuple[tuple[int, int, int, int], Scenario]]:
        """Scenarios from ``begin`` on, each with its place, as the program's file of a breakpoint counts it."""
        own = OWN_NUMBER
        for at, scene in enumerate(self.scenes):
            places = (published_place(scene),) if isinstance(scene, int) else own_places(scene, own)
            own += len(places) if isinstance(scene, str) else 0
            for place in places:
                for route in place.routes:
                    branches = [each.branch for each in place.routes if each.pose == route.pose]
                    for k in range(self.iters if route.branch in self.branches else 0):
                        key = at, route.pose, branches.index(route.branch), k
                        if key >= self.begin:
                            yield key, self._scenario(place, route, k)

    def _scenario(self, place: DrivingPlace, route: IntersectionRoute, iteration: int) -> Scenario:
        scene = place.number
        drawn = np.random.SeedSequence([scene, route.pose, route.branch + 1, iteration]).generate_state(1)[0]
        weather = self.weathers[int(drawn) % len(self.weathers)]
        options = IntersectionOptions(
            split="all",
            weather=weather,
            vehicles=self.vehicles,
            invasions="program",
            time_limit_s=round(self.steps * (STEP_VEHICLES_S if self.vehicles else STEP_S), 6),
        )
        split = "test" if scene in TEST_SCENES else "dev" if scene < OWN_NUMBER else "own"
        base = IntersectionSuite(options)._scenario(place, route, split)
        notes = {**base.notes, "iteration": iteration, "weather": weather}
        return base.model_copy(update={"name": f"{base.name}-{iteration}", "notes": notes})


def drive_along(place: DrivingPlace, route: IntersectionRoute, robot: str) -> RobotPlacement:
    """The car at the start of a route, with points every two metres along the lanes that A* finds."""
    graph = place.graph
    sine, cosine = exact.sincos(route.start[2])
    start = (route.start[0] - MIDDLE_M * cosine, route.start[1] - MIDDLE_M * sine, route.start[2])
    lanes = graph.find_route(route.lane_in, route.lane_out)
    begin = graph.nearest_on(route.lane_in, start[0], start[1])
    points = [(float(x), float(y)) for x, y in graph.line(lanes, begin.along, HOP_M)]
    return RobotPlacement(spec=robot, start=start, goal=points[-1], route=tuple(points[1:-1]), share=0.0)


def told_goal(route: IntersectionRoute) -> dict[str, dict[str, Any]]:
    """Settings of the sensor ``measurements``: the waypoint that it points to."""
    return {} if route.end is None else {"measurements": {"goal": list(route.end[:2])}}


def flow_tags(options: IntersectionOptions) -> tuple[str, ...]:
    """The tag of a flow that is not the published one."""
    return () if options.flow == "published" else (CONTINUOUS,)


def crossing_people(place: DrivingPlace, options: IntersectionOptions) -> CrowdPart:
    """People who cross: two arms once, as published, or all arms again and again."""
    is_continuous = options.flow == CONTINUOUS
    return CrowdPart(
        model="orca",
        placement=CrossingPlacement(
            boxes=boxes_around(place) if is_continuous else place.people,
            count=DENSITY[options.people],
            accepts_gap_s=options.accepts_gap_s if options.reacts else None,
            rest_s=REST_S if is_continuous else None,
        ),
        radius=0.25,
    )


def boxes_around(place: DrivingPlace) -> tuple[tuple[Box, Box], ...]:
    """The pairs of boxes; where there are two, as published, the same boxes paired across the other arms as well."""
    if len(place.people) != 2:
        return place.people
    (one, one_other), (two, two_other) = place.people
    return (*place.people, (one, two), (one_other, two_other))


def other_vehicles(options: IntersectionOptions) -> LaneTraffic:
    """6 to 15 cars that start from rest and drive at half the speed limit."""
    return LaneTraffic(
        kinds={"car": 1.0},
        speed_share=(PUBLISHED_SPEED, PUBLISHED_SPEED),
        starts="standing",
        anywhere=True,
        apart_m=APART_M,
        returns_s=RETURNS_S if options.flow == CONTINUOUS else None,
        parameters={"keeps_clear": 1.0},
    )


def make_rules(place: DrivingPlace, route: IntersectionRoute, options: IntersectionOptions) -> Rules:
    """What ends an episode."""
    side = side_of(place.exit_area, *route.destination[:2])
    is_continuous, step_s = options.flow == CONTINUOUS, options.step_s
    lanes = LaneRule()
    if options.invasions == "program":
        lanes = LaneRule(counts="any", most_invasions=4 if route.branch == 0 else 9)
    return Rules(
        step_s=step_s,
        time_limit_s=options.time_limit_s or (CONTINUOUS_LIMIT_S if is_continuous else round(STEPS * step_s, 6)),
        head_start_s=CONTINUOUS_START_S if is_continuous else round(HEAD_START_STEPS * step_s, 6),
        success="exit",
        exit=ExitRule(area=place.exit_area, side=side, pose=route.destination),
        lanes=lanes,
        stay_on=("road", "crosswalk"),
        ends_on=ENDS,
    )


def suite_of_place(path: Path) -> IntersectionSuite:
    """The suite at an intersection of one's own."""
    own_places(path)
    return IntersectionSuite(IntersectionOptions(place=str(path)), summary=f"the intersections of {path.name}")


INTERSECTION_SUITE = IntersectionSuite()
