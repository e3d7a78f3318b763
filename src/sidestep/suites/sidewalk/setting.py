"""What all sidewalk scenarios share: the robot, the rules, the camera."""

from __future__ import annotations

from typing import Any, Literal

from sidestep import exact
from sidestep.suites.sidewalk.places import Way
from sidestep.types.base import Model
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.scenario import RobotPlacement
from sidestep.types.scene import RegionKind

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


def placement(way: Way, options: SidewalkOptions) -> RobotPlacement:
    """The robot at the start of the way, looking along it."""
    start, following, goal = way.points[0], way.points[1], way.points[-1]
    heading = exact.arctan2(following[1] - start[1], following[0] - start[0])
    return RobotPlacement(
        spec=options.robot,
        dynamics="unicycle",
        start=(start[0], start[1], heading),
        goal=goal,
        route=tuple(way.points[1:-1]),
    )


def rules(way: Way, **changes: Any) -> Rules:
    """Leaving the sidewalk or touching anything ends it. The goal spans the sidewalk: whoever gets past it on the
    sidewalk has reached it."""
    values: dict[str, Any] = {
        "step_s": STEP_S,
        "time_limit_s": TIME_LIMIT_S,
        "goal_radius_m": max(NEAREST_GOAL_M, round(way.width / 2, 2)),
        "stay_on": GROUND,
        "ends_on": ENDS,
    }
    return Rules(**(values | changes))


def sensors(options: SidewalkOptions) -> dict[str, Any]:
    """Camera weather, for policies that look."""
    return {"camera": {"weather": options.weather, "time_of_day": options.time_of_day}}
