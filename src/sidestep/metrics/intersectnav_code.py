"""The dialect ``intersectnav-code``: what IntersectNav's public program counts in an episode.

Its ego jerk counts steps with much steer or throttle, its other jerk counts people; the direction in which a person
counts as beside the car is taken in quarter degrees and compared with degrees, so that 88 % of all directions pass.
"""

from __future__ import annotations

import numpy as np

from sidestep.metrics.definition import NO_STEPS
from sidestep.types.base import FloatArray
from sidestep.types.command import COMMAND_KINDS, Drive
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

NAME = "intersectnav-code"
DRIVE = COMMAND_KINDS.index(Drive)
MUCH_STEER, MUCH_THROTTLE = 0.4, 0.9
NEAR_M, VERY_NEAR_M = 5.0, 2.5
TOWARDS = -0.6
BRAKES_MPS2, STANDS_MPS = 1.5, 0.1


def ego_jerk(record: EpisodeRecord) -> MetricResult:
    """Steps with a steer beyond ±0.4, plus steps with a throttle above 0.9."""
    driven = record.command[record.command[:, 0] == DRIVE]
    if not len(driven):
        return MetricResult.invalid("steps", "no step was driven by steer, throttle and brake")
    much = (np.abs(driven[:, 1]) > MUCH_STEER).sum() + (driven[:, 2] > MUCH_THROTTLE).sum()
    return MetricResult(float(much), "steps")


def other_jerk(record: EpisodeRecord) -> MetricResult:
    """Σ over steps of the people within 5 m who are beside the car and nearer than 2.5 m, or walk towards it and brake
    or stand."""
    if record.steps < 1:
        return MetricResult.invalid("people", NO_STEPS)
    offset = record.person_position - body_middle(record)[:, None]
    distance = np.sqrt((offset * offset).sum(axis=2))
    velocity = np.asarray(record.person_velocity, np.float64)
    acceleration = np.zeros_like(velocity)
    acceleration[1:] = np.diff(velocity, axis=0) / record.step_s
    speed = np.sqrt((velocity * velocity).sum(axis=2))
    angle = np.degrees(np.arctan2(-offset[..., 1], offset[..., 0]))
    quarter_degrees = np.floor((4.0 * angle + 720.0) % 1440.0)
    beside = (quarter_degrees < 45) | (quarter_degrees > 315) | (np.abs(quarter_degrees - 180) < 45)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = (velocity * offset).sum(axis=2) / (speed * distance)
        brakes = (np.abs(acceleration) > BRAKES_MPS2).any(axis=2) | (speed < STANDS_MPS)
        disturbed = beside & ((distance < VERY_NEAR_M) | ((cosine < TOWARDS) & brakes))
    counted = record.person_present & (distance < NEAR_M) & disturbed
    return MetricResult(float(counted[1:].sum()), "people")


def body_middle(record: EpisodeRecord) -> FloatArray:
    """(T+1, 2) the middle of the robot's body, m."""
    polygon = record.robot.footprint.polygon
    ahead = 0.0 if polygon is None else (min(x for x, _ in polygon) + max(x for x, _ in polygon)) / 2
    heading = record.robot_pose[:, 2]
    return record.robot_pose[:, :2] + ahead * np.stack([np.cos(heading), np.sin(heading)], axis=1)
