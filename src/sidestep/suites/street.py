"""The street suite: a car drives along a straight street among people who walk on, cross, hesitate or turn back.

The car starts 50 m before the crossing place, rolling, and has to drive on in its lane to the end of the street.
Touching anything, leaving the carriageway, more than five lane invasions and the time limit end the episode.

Streets 6.5 m wide, and the one of 8 m with zebra and island, are the test split; the others are for development.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pydantic import model_validator

from sidestep.errors import did_you_mean
from sidestep.scenes.streets import PLACES, STREET, named_street, street_scene
from sidestep.simulation.traffic import LaneGraph
from sidestep.suites.files import OptionSuite
from sidestep.suites.intersection import CAMERA_MOUNT, ENDS, LIDAR, MIDDLE_M, WEATHERS
from sidestep.types.base import Model, Positive, PositiveSpeed
from sidestep.types.outcome import ExitRule, LaneRule, Rules, Side
from sidestep.types.road import Roads
from sidestep.types.scenario import CrowdPart, RobotPlacement, Scenario, StreetPlacement
from sidestep.types.sensors import Sensors

WIDTHS = (60, 65, 70, 80)
"""Widths of the carriageway, decimetres."""
TEST_WIDTH, TEST_STREET = 65, "zebra+island-80"
START_M, END_M = 50.0, 60.0
"""Where the middle of the car starts before the crossing place and has arrived behind it."""
HOP_M = 2.0
"""Between two points of a route."""
STEP_S, CONTROL_EVERY = 0.05, 2
"""The car decides ten times a second."""
DENSITY: dict[str, tuple[int, int]] = {"none": (0, 0), "few": (4, 8), "standard": (10, 16), "many": (20, 30)}
"""Presets of the number of people."""
AVOIDANCE = {"horizon_people": 1.5, "horizon_walls": 1.0}
"""People look this far ahead for each other, s: with more they push each other off the sidewalk."""
DIRECTIONS: tuple[Side, ...] = ("east", "west")


class StreetOptions(Model):
    """What can be chosen with ``--set``."""

    split: Literal["dev", "test", "all"] = "test"
    """``dev``: streets to develop and tune on; ``test``: those 6.5 m wide and zebra+island-80, for tables; ``all``."""
    people: Literal["none", "few", "standard", "many"] = "standard"
    """How many people there are: 0, 4-8, 10-16, 20-30."""
    start_kmh: PositiveSpeed = 30.0
    """Speed of the car at time 0, km/h."""
    weather: str = "ClearNoon"
    """Name of a weather, as in the suite ``intersection``."""
    robot: str = "car"
    """Name of a robot spec."""
    time_limit_s: Positive = 45.0

    @model_validator(mode="after")
    def _check(self) -> StreetOptions:
        if self.weather not in WEATHERS:
            raise ValueError(f"weather is one of {', '.join(WEATHERS)}{did_you_mean(self.weather, WEATHERS)}")
        return self


@cache
def _graph(name: str) -> LaneGraph:
    return LaneGraph(street_scene(named_street(name)).roads or Roads(), f"street {name}")


@dataclass(frozen=True)
class StreetSuite(OptionSuite):
    """The suite under one choice of options."""

    options: StreetOptions = field(default_factory=StreetOptions)
    name: str = "street"
    summary: str = "a car drives along streets with and without zebra and island, among people who may cross"

    def scenarios(self) -> tuple[Scenario, ...]:
        """One for every street and direction."""
        return tuple(self._all())

    def _all(self) -> Iterator[Scenario]:
        for place in PLACES:
            for width in WIDTHS:
                name = f"{place}-{width}"
                split = "test" if width == TEST_WIDTH or name == TEST_STREET else "dev"
                if self.options.split in (split, "all"):
                    for side in DIRECTIONS:
                        yield self._scenario(name, place, width, side, split)

    def _scenario(self, name: str, place: str, width: int, side: Side, split: str) -> Scenario:
        options = self.options
        return Scenario(
            name=f"{name}-{side}",
            suite=self.name,
            summary=f"{side} along a street {width / 10:g} m wide, crossing place: {place}",
            scene=STREET + name,
            robots=(drive_along(name, side, options),),
            crowd=(street_people(side, options),) if options.people != "none" else (),
            rules=make_rules(name, side, options.time_limit_s),
            sensors=Sensors.parse({"lidar": LIDAR, "camera": self._camera()}, self.name),
            tags=(place, f"width{width}", side, split),
            notes={"place": place, "width_dm": width, "options": options.model_dump(exclude={"split"})},
        )

    def _camera(self) -> dict[str, Any]:
        weather, time_of_day = WEATHERS[self.options.weather]
        return {"preset": "car_front_fast", "mount": CAMERA_MOUNT, "weather": weather, "time_of_day": time_of_day}


def _forth(side: Side) -> float:
    return 1.0 if side == "east" else -1.0


def _pose(name: str, side: Side, ahead: float) -> tuple[float, float, float]:
    """x, y, heading of a car in its lane, ``ahead`` metres behind the crossing place; there the lane is straight."""
    forth = _forth(side)
    return forth * ahead, -forth * named_street(name).width_m / 4, 0.0 if forth > 0.0 else 3.141592653589793


def drive_along(name: str, side: Side, options: StreetOptions) -> RobotPlacement:
    """The car at its start, with points every two metres along its lane."""
    graph = _graph(name)
    start = _pose(name, side, -START_M - MIDDLE_M)
    begin = graph.nearest_on(side, start[0], start[1])
    points = [(float(x), float(y)) for x, y in graph.line([side], begin.along, HOP_M)]
    return RobotPlacement(
        spec=options.robot,
        start=start,
        goal=points[-1],
        route=tuple(points[1:-1]),
        share=0.0,
        speed=options.start_kmh / 3.6,
    )


def street_people(side: Side, options: StreetOptions) -> CrowdPart:
    """People on the sidewalks; those who cross get to the kerb about when the car comes."""
    forth = _forth(side)
    placement = StreetPlacement(
        count=DENSITY[options.people], vehicle_x=-forth * START_M, vehicle_mps=forth * options.start_kmh / 3.6
    )
    return CrowdPart(model="orca", placement=placement, radius=0.25, at_end="leave", parameters=AVOIDANCE)


def make_rules(name: str, side: Side, time_limit_s: float) -> Rules:
    """What ends an episode."""
    street = named_street(name)
    half, aside = street.length_m / 2, 30.0
    area = (-half, -aside, END_M, aside) if side == "east" else (-END_M, -aside, half, aside)
    return Rules(
        step_s=STEP_S,
        control_every=CONTROL_EVERY,
        time_limit_s=time_limit_s,
        success="exit",
        exit=ExitRule(area=area, side=side, pose=_pose(name, side, END_M)),
        lanes=LaneRule(),
        stay_on=("road", "crosswalk"),
        ends_on=ENDS,
    )


STREET_SUITE = StreetSuite()
