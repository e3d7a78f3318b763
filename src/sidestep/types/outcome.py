"""How an episode can end, and which end outranks which."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sidestep.types.base import Coordinate, Model, NonNegative, Pose, Positive
from sidestep.types.scene import RegionKind


class Outcome(StrEnum):
    """The result of one episode. Exactly one holds."""

    SUCCESS = "success"
    PEDESTRIAN_COLLISION = "pedestrian_collision"
    ENVIRONMENT_COLLISION = "environment_collision"
    VEHICLE_COLLISION = "vehicle_collision"
    TIMEOUT = "timeout"
    GROUP_INTRUSION = "group_intrusion"
    DISOBEYED = "disobeyed"
    OFF_ROUTE = "off_route"
    LANE_INVASION = "lane_invasion"
    FROZEN = "frozen"
    POLICY_ERROR = "policy_error"
    WRONG_EXIT = "wrong_exit"


PRECEDENCE: tuple[Outcome, ...] = (
    Outcome.POLICY_ERROR,
    Outcome.ENVIRONMENT_COLLISION,
    Outcome.VEHICLE_COLLISION,
    Outcome.PEDESTRIAN_COLLISION,
    Outcome.GROUP_INTRUSION,
    Outcome.DISOBEYED,
    Outcome.OFF_ROUTE,
    Outcome.LANE_INVASION,
    Outcome.WRONG_EXIT,
    Outcome.FROZEN,
    Outcome.TIMEOUT,
    Outcome.SUCCESS,
)
"""The outcome of an episode is the first in this order of all that happened: a failure outranks reaching the
goal, a collision outranks a timeout, and a policy that failed is never credited with anything."""


MOST_STEPS = 1_000_000
"""Steps of an episode: 14 hours of 0.05 s."""


MOST_HEAD_START_S = 600.0


Side = Literal["east", "north", "west", "south"]


class ExitRule(Model):
    """The task is to leave an area on one side, in the right lane and direction."""

    area: tuple[Coordinate, Coordinate, Coordinate, Coordinate]
    """x_min, y_min, x_max, y_max, m; the episode is over when the middle of the robot's body leaves it."""
    side: Side
    pose: Pose
    """Where and in which direction an expert left it."""
    lateral_m: Positive = 1.0
    """How far beside that pose, seen along its direction, the robot may leave."""
    angle_rad: Positive = 0.2617993877991494
    """How far off its direction; 15 degrees."""


class LaneRule(Model):
    """Lanes have to be kept. An invasion is a step in which a wheel crosses a solid line or a kerb, or a whole second
    in which the middle of the body is in no lane that leads the way it heads."""

    most_invasions: Annotated[int, Field(ge=0)] = 5
    """More are ``lane_invasion``."""
    counts: Literal["illegal", "any"] = "illegal"
    """``illegal``: broken lines may be crossed; ``any``: a step in which a wheel crosses a broken line counts too."""


class Rules(Model):
    """What ends an episode and how time runs."""

    step_s: Positive = 0.05
    """Length of a simulation step, s."""
    control_every: int = 1
    """Number of simulation steps between two decisions of the policy."""
    time_limit_s: Positive = 60.0
    head_start_s: NonNegative = 0.0
    """Time before time 0 in which people walk and vehicles drive while the robots stand; it is neither recorded nor
    judged."""
    goal_radius_m: Positive = 0.3
    """The goal is reached when the robot's centre is nearer than this."""
    ends_on: tuple[Outcome, ...] = (
        Outcome.SUCCESS,
        Outcome.ENVIRONMENT_COLLISION,
        Outcome.TIMEOUT,
        Outcome.POLICY_ERROR,
    )
    """What stops the episode at once. Reaching the goal, the time limit and a broken policy always do."""
    precedence: tuple[Outcome, ...] = PRECEDENCE
    collision_cooldown_s: NonNegative = 1.0
    """Touching the same person, robot or any wall again within this time of the last contact is the same collision: it
    is counted once, and does not put the robot back again."""
    frozen_after_s: Positive | None = None
    """Standing (below 0.05 m/s, off the goal) for this time, s, is ``frozen``; None: never."""
    stay_on: tuple[RegionKind, ...] = ()
    """Ground that the robot's reference point must not leave (``off_route``); empty: it may go anywhere."""
    avoid_groups: bool = False
    """Passing between two people of one group who are at most 3.6 m apart is ``group_intrusion``."""
    success: Literal["goal", "stop", "exit"] = "goal"
    """``stop``: the task is to stop for whoever makes the stop gesture; reaching the goal instead is ``disobeyed``.
    ``exit``: the task is to leave an area as ``exit`` says; leaving it in another way is ``wrong_exit``."""
    exit: ExitRule | None = None
    lanes: LaneRule | None = None
    """None: lanes may be left. Otherwise the scene has to have ``roads``."""
    stop_within_m: Positive = 3.0
    """How near to that person, and in front of them, the robot has to stand (below 0.05 m/s) for ``stop_for_s``. In
    front is judged against the direction of approach when the hand rose; a robot that passed the person has missed
    it."""
    stop_for_s: Positive = 1.0
    """The stop must also be twice as long as any stand on the way before the hand rose: a robot that stops now and then
    anyway shows nothing by it."""
    on_failure: Literal["end", "reset"] = "end"
    """``reset``: a failure of ``ends_on`` does not end the episode; the robot is put on the nearest waypoint of its
    route, on a later one if it was put there before, never within the goal's circle, and drives on. Its way there is
    not driven: the event ``reset`` says how many metres of route that was."""

    @model_validator(mode="after")
    def _check(self) -> Rules:
        if self.control_every < 1:
            raise ValueError("control_every must be at least 1")
        if self.step_s > self.time_limit_s:
            raise ValueError("step_s is longer than time_limit_s")
        if self.time_limit_s > MOST_STEPS * self.step_s:
            raise ValueError(
                f"time_limit_s is more than {MOST_STEPS:,} steps of step_s; shorten it or take longer steps"
            )
        if set(self.precedence) != set(Outcome):
            missing = ", ".join(sorted(outcome.value for outcome in set(Outcome) - set(self.precedence)))
            raise ValueError(f"precedence must list every outcome once; add {missing}")
        if len(self.precedence) != len(Outcome):
            raise ValueError("precedence lists an outcome twice")
        if self.head_start_s > MOST_HEAD_START_S:
            raise ValueError(f"head_start_s is more than {MOST_HEAD_START_S:g} s; shorten it")
        if (self.success == "exit") != (self.exit is not None):
            raise ValueError("success: exit and exit: {area, side, pose} go together")
        if self.on_failure == "reset" and (self.exit is not None or self.lanes is not None):
            raise ValueError(
                "on_failure: reset cannot be combined with exit or lanes: a robot that is put back crosses no line"
            )
        return self

    @field_validator("precedence", mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        """Files from before ``wrong_exit`` existed leave it out: it ranks behind ``lane_invasion``."""
        if not isinstance(given, list | tuple) or Outcome.WRONG_EXIT in given or Outcome.LANE_INVASION not in given:
            return given
        place = list(given).index(Outcome.LANE_INVASION) + 1
        return (*given[:place], Outcome.WRONG_EXIT, *given[place:])

    @property
    def max_steps(self) -> int:
        """Steps until the time limit, rounded to the nearest whole step."""
        return max(1, round(self.time_limit_s / self.step_s))

    @property
    def head_start_steps(self) -> int:
        """Steps before time 0."""
        return round(self.head_start_s / self.step_s)
