"""The intersection suite after IntersectNav: six intersections, 41 routes left, straight on and right, among crossing
people and, if asked for, other vehicles.

The car starts before the junction and has to leave the area on the right side, in its lane. Touching anything, more
than five lane invasions, leaving on another side or beside the lane, and 1,000 steps end the episode. People cross once
and vehicles leave for good, as published, so that waiting is safe; with ``flow=continuous`` they come again.

Scenes 0 to 3 are the development split, scenes 4 and 5 the test split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from sidestep import exact
from sidestep.errors import BadInput, UnknownName, did_you_mean
from sidestep.scenes.intersections import Intersection, IntersectionRoute, intersection_scene, load_intersection
from sidestep.scenes.load import INTERSECTION
from sidestep.suites.files import OptionSuite
from sidestep.traffic import LaneGraph
from sidestep.types.base import Model, NonNegative, Positive
from sidestep.types.outcome import ExitRule, LaneRule, Outcome, Rules, Side
from sidestep.types.road import Roads
from sidestep.types.scenario import Box, CrossingPlacement, CrowdPart, LaneTraffic, RobotPlacement, Scenario
from sidestep.types.sensors import Sensors

SCENES = 6
TEST_SCENES = (4, 5)
STEPS = 1000
STEP_S, STEP_VEHICLES_S = 0.05, 1.0 / 30.0
"""Ped-Only runs at 20 Hz, Ped-Veh at 30 Hz."""
HEAD_START_STEPS = 50
"""People and vehicles move for so many steps before the car may."""
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


@cache
def _graph(name: str) -> LaneGraph:
    scene = intersection_scene(load_intersection(name))
    return LaneGraph(scene.roads or Roads(), f"intersection {name}")


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
        for number in range(SCENES):
            split = "test" if number in TEST_SCENES else "dev"
            if self.options.split in (split, "all"):
                place = load_intersection(f"intersectnav_{number}")
                for route in place.routes:
                    yield self._scenario(place, number, route, split)

    def _scenario(self, place: Intersection, number: int, route: IntersectionRoute, split: str) -> Scenario:
        options, branch = self.options, BRANCH_NAMES[route.branch]
        return Scenario(
            name=f"scene{number}-pose{route.pose}-{branch}",
            suite=self.name,
            summary=f"{branch} at intersection {number}",
            scene=INTERSECTION + place.name,
            robots=(drive_along(place, route, options.robot),),
            crowd=(crossing_people(place, options),) if options.people != "none" else (),
            lane_traffic=other_vehicles(options) if options.vehicles else None,
            rules=make_rules(place, route, options),
            sensors=Sensors.parse({"lidar": LIDAR, "camera": self._camera()}, self.name),
            tags=(branch, f"scene{number}", split, "ped-veh" if options.vehicles else "ped-only", *flow_tags(options)),
            notes={
                "scene": number,
                "pose": route.pose,
                "branch": route.branch,
                "options": options.model_dump(exclude={"split"}),
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
class EvaluationSuite:
    """Routes of some scenes and branches, each driven several times, as IntersectNav's ``evaluate.py`` does: every
    iteration is a scenario of its own, with a weather of its own."""

    scenes: tuple[int, ...]
    branches: tuple[int, ...]
    iters: int = 1
    steps: int = STEPS
    random_weather: bool = False
    new_weather: bool = False
    vehicles: bool = False
    name: str = "intersection"
    summary: str = "IntersectNav's evaluation"

    def __post_init__(self) -> None:
        for scene in self.scenes:
            if not 0 <= scene < SCENES:
                raise UnknownName("scene", str(scene), [str(each) for each in range(SCENES)])
        for branch in self.branches:
            if branch not in BRANCH_NAMES:
                raise UnknownName("branch", str(branch), [str(each) for each in BRANCH_NAMES])

    def scenarios(self) -> tuple[Scenario, ...]:
        """Scene by scene, route by route, iteration by iteration."""
        found = []
        for scene in self.scenes:
            place = load_intersection(f"intersectnav_{scene}")
            for route in place.routes:
                if route.branch in self.branches:
                    found += [self._scenario(place, scene, route, k) for k in range(self.iters)]
        if not found:
            raise BadInput(f"no route of scenes {self.scenes} has a branch of {self.branches}")
        return tuple(found)

    def _scenario(self, place: Intersection, scene: int, route: IntersectionRoute, iteration: int) -> Scenario:
        weathers = TEST_WEATHERS if self.new_weather else TRAIN_WEATHERS
        drawn = np.random.SeedSequence([scene, route.pose, route.branch + 1, iteration]).generate_state(1)[0]
        weather = weathers[int(drawn) % len(weathers)] if self.random_weather else weathers[0]
        options = IntersectionOptions(
            split="all",
            weather=weather,
            vehicles=self.vehicles,
            invasions="program",
            time_limit_s=round(self.steps * (STEP_VEHICLES_S if self.vehicles else STEP_S), 6),
        )
        split = "test" if scene in TEST_SCENES else "dev"
        base = IntersectionSuite(options)._scenario(place, scene, route, split)
        notes = {**base.notes, "iteration": iteration, "weather": weather}
        return base.model_copy(update={"name": f"{base.name}-{iteration}", "notes": notes})


def drive_along(place: Intersection, route: IntersectionRoute, robot: str) -> RobotPlacement:
    """The car at the start of a route, with points every two metres along the lanes that A* finds."""
    graph = _graph(place.name)
    sine, cosine = exact.sincos(route.start[2])
    start = (route.start[0] - MIDDLE_M * cosine, route.start[1] - MIDDLE_M * sine, route.start[2])
    lanes = graph.find_route(route.lane_in, route.lane_out)
    begin = graph.nearest_on(route.lane_in, start[0], start[1])
    points = [(float(x), float(y)) for x, y in graph.line(lanes, begin.along, HOP_M)]
    return RobotPlacement(spec=robot, start=start, goal=points[-1], route=tuple(points[1:-1]), share=0.0)


def flow_tags(options: IntersectionOptions) -> tuple[str, ...]:
    """The tag of a flow that is not the published one."""
    return () if options.flow == "published" else (CONTINUOUS,)


def crossing_people(place: Intersection, options: IntersectionOptions) -> CrowdPart:
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


def boxes_around(place: Intersection) -> tuple[tuple[Box, Box], ...]:
    """The published pairs of boxes, either side of two arms, and the same boxes paired across the other two."""
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


def make_rules(place: Intersection, route: IntersectionRoute, options: IntersectionOptions) -> Rules:
    """What ends an episode."""
    assert place.exit_area is not None
    is_continuous, step_s = options.flow == CONTINUOUS, options.step_s
    lanes = LaneRule()
    if options.invasions == "program":
        lanes = LaneRule(counts="any", most_invasions=4 if route.branch == 0 else 9)
    return Rules(
        step_s=step_s,
        time_limit_s=options.time_limit_s or (CONTINUOUS_LIMIT_S if is_continuous else round(STEPS * step_s, 6)),
        head_start_s=CONTINUOUS_START_S if is_continuous else round(HEAD_START_STEPS * step_s, 6),
        success="exit",
        exit=ExitRule(area=place.exit_area, side=_side(route), pose=route.destination),
        lanes=lanes,
        stay_on=("road", "crosswalk"),
        ends_on=ENDS,
    )


def _side(route: IntersectionRoute) -> Side:
    arm = route.lane_out.split(" out ")[0]
    sides: dict[str, Side] = {"east": "east", "north": "north", "west": "west", "south": "south"}
    return sides[arm]


INTERSECTION_SUITE = IntersectionSuite()
