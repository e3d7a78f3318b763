"""The dialect ``intersectnav-code``: what IntersectNav's public program counts in an episode.

The program's ego jerk counts steps with a large steer or throttle; its other jerk counts people. To decide whether a
person is beside the car, the program compares a direction in quarter degrees with limits in degrees, so that 88 % of
all directions pass. The program treats people who stand as walking straight towards the car, so it counts people who
stand anywhere beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.metrics.definition import NO_STEPS
from sidestep.types.base import FloatArray
from sidestep.types.command import COMMAND_KINDS, Drive
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

NAME = "intersectnav-code"
DRIVE = COMMAND_KINDS.index(Drive)
MUCH_STEER, MUCH_THROTTLE = 0.4, 0.9
NEAR_M, VERY_NEAR_M = 5.0, 2.5
TOWARDS = -0.6
SHORTEST = 0.1
"""Smallest velocity, m/s, and offset, m, that have a direction; the cosine of smaller ones counts as -1."""
BRAKES_MPS2, STANDS_MPS = 1.5, 0.1
SMALLEST_M = 1e-3
"""Smallest first coordinate of an offset; smaller ones are raised to it, but 0 stays 0."""
TOO_FAR_M, TOO_MUCH_DEG = 1.0, 15.0
DEGREES = 57.29577951308232
COLLISIONS = (Outcome.PEDESTRIAN_COLLISION, Outcome.VEHICLE_COLLISION, Outcome.ENVIRONMENT_COLLISION)
RESULTS = (
    "success", "time_out", "lane_invasion", "collision", "TooFar", "TooMuchAngle", "invasion_time", "total_ego_jerk",
    "total_other_jerk", "total_min_dis", "dis_to_destination", "vertical_dist", "delta_angle", "wrong_direction",
    "tot_step",
)  # fmt: skip
"""Keys of the program's tables, in its order."""


def ego_jerk(record: EpisodeRecord) -> MetricResult:
    """Steps with a steer beyond ±0.4, plus steps with a throttle above 0.9."""
    driven = record.command[record.command[:, 0] == DRIVE]
    if not len(driven):
        return MetricResult.invalid("steps", "no step was driven by steer, throttle and brake")
    much = (np.abs(driven[:, 1]) > MUCH_STEER).sum() + (driven[:, 2] > MUCH_THROTTLE).sum()
    return MetricResult(float(much), "steps")


def other_jerk(record: EpisodeRecord) -> MetricResult:
    """Σ over steps of the people within 5 m who are beside the car and nearer than 2.5 m, or walk towards it and brake,
    or stand."""
    if record.steps < 1:
        return MetricResult.invalid("people", NO_STEPS)
    offset = record.person_position - body_middle(record)[:, None]
    distance = np.sqrt((offset * offset).sum(axis=2))
    velocity = np.asarray(record.person_velocity, np.float64)
    acceleration = np.zeros_like(velocity)
    acceleration[1:] = np.diff(velocity, axis=0) / record.step_s
    speed = np.sqrt((velocity * velocity).sum(axis=2))
    sector = quarter_degrees(offset[..., 0], -offset[..., 1])
    beside = (sector <= 45) | (sector >= 315) | (np.abs(sector - 180) <= 45)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = (velocity * offset).sum(axis=2) / (speed * distance)
        cosine = np.where((speed < SHORTEST) | (distance < SHORTEST), -1.0, cosine)
        brakes = (np.abs(acceleration) > BRAKES_MPS2).any(axis=2) | (speed < STANDS_MPS)
        disturbed = beside & ((distance < VERY_NEAR_M) | ((cosine < TOWARDS) & brakes))
    counted = record.person_present & (distance < NEAR_M) & disturbed
    return MetricResult(float(counted[1:].sum()), "people")


def quarter_degrees(x: Any, y: Any) -> FloatArray:
    """The direction of offsets in the program's frame (y to the right): whole quarter degrees from 0 to 1439, 720
    straight along x."""
    x = np.where((x > 0.0) & (x < SMALLEST_M), SMALLEST_M, np.where((x < 0.0) & (x > -SMALLEST_M), -SMALLEST_M, x))
    found: FloatArray = np.floor((4.0 * np.degrees(np.arctan2(y, x)) + 720.0) % 1440.0)
    return found


def waypoint_offsets(record: EpisodeRecord) -> FloatArray | None:
    """(T+1,) distance of the middle of the body from the straight line through the nearest waypoint and the next one,
    m; None without a route."""
    place = record.scenario.ego
    if not place.route:
        return None
    line = np.array([place.start[:2], *place.route, place.goal])
    middle = body_middle(record)
    gap = middle[:, None] - line
    nearest = np.minimum((gap * gap).sum(axis=2).argmin(axis=1), len(line) - 2)
    step = line[nearest + 1] - line[nearest]
    away = middle - line[nearest]
    side = step[:, 0] * away[:, 1] - step[:, 1] * away[:, 0]
    found: FloatArray = np.abs(side) / np.sqrt((step * step).sum(axis=1))
    return found


def end_deviations(record: EpisodeRecord) -> tuple[float, float, float] | None:
    """Distance and sideways distance of the last pose from the expert's, m, and signed angle from the expert's heading,
    degrees, positive to the right; None if the scenario has no expert's pose."""
    rule = record.scenario.rules.exit
    if rule is None:
        return None
    dx, dy = (np.array(rule.pose[:2]) - body_middle(record)[-1]).tolist()
    sine, cosine = np.sin(rule.pose[2]), np.cos(rule.pose[2])
    angle = -(float(record.robot_pose[-1, 2]) - rule.pose[2]) * DEGREES
    return float(np.hypot(dx, dy)), float(abs(-sine * dx + cosine * dy)), float((angle + 180.0) % 360.0 - 180.0)


def invasion_steps(record: EpisodeRecord) -> int:
    """Number of steps with a lane invasion, as the scenario's rule counts them."""
    rule = record.scenario.rules.lanes
    counts_any = getattr(rule, "counts", "") == "any"
    crossings = [event for event in record.events if event.kind == "lane_crossing"]
    return len({event.time for event in crossings if counts_any or event.subject != "broken"})


def program_results(record: EpisodeRecord, *, judged: bool = True) -> dict[str, Any]:
    """The program's results of an episode under its own keys. If ``judged``, they are those of its tables, in which
    leaving beside the lane or at an angle is no success; else those of its environment, which has no expert's pose."""
    rule, outcome = record.scenario.rules.exit, record.outcome
    sides = [event.subject for event in record.events if event.kind in ("exited", "wrong_exit")]
    is_right = bool(sides) and rule is not None and sides[-1] == rule.side
    found: dict[str, Any] = dict.fromkeys(RESULTS, 0)
    for key in ("TooFar", "TooMuchAngle"):
        found[key] = False
    found["collision"] = outcome in COLLISIONS
    found["lane_invasion"] = outcome is Outcome.LANE_INVASION
    found["time_out"] = outcome is Outcome.TIMEOUT and record.steps >= record.scenario.rules.max_steps
    found["wrong_direction"] = bool(sides) and not is_right
    found["success"] = is_right
    found["invasion_time"] = invasion_steps(record)
    for key, counted in (("total_ego_jerk", ego_jerk(record)), ("total_other_jerk", other_jerk(record))):
        found[key] = int(counted.value) if counted.valid else 0
    offsets = waypoint_offsets(record)
    found["total_min_dis"] = 0.0 if offsets is None else float(offsets.sum())
    found["tot_step"] = record.steps
    deviations = end_deviations(record)
    if judged and deviations is not None:
        found["dis_to_destination"], found["vertical_dist"], found["delta_angle"] = deviations
        if is_right:
            found["TooFar"] = deviations[1] > TOO_FAR_M
            found["TooMuchAngle"] = abs(deviations[2]) > TOO_MUCH_DEG
        found["success"] = outcome is Outcome.SUCCESS
    return found


def body_middle(record: EpisodeRecord) -> FloatArray:
    """(T+1, 2) the middle of the robot's body, m."""
    polygon = record.robot.footprint.polygon
    ahead = 0.0 if polygon is None else (min(x for x, _ in polygon) + max(x for x, _ in polygon)) / 2
    heading = record.robot_pose[:, 2]
    return record.robot_pose[:, :2] + ahead * np.stack([np.cos(heading), np.sin(heading)], axis=1)
