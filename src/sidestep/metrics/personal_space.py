"""Personal space: how long and how often the robot was in people's intimate, personal and social zones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from sidestep.interfaces import Direction, Metric
from sidestep.metrics.footprint_distance import distance_to_segments
from sidestep.metrics.series import (
    NOBODY,
    THRESHOLD_TOLERANCE_M,
    average,
    closest_pedestrian_distance,
    once_per_record,
    pedestrian_distance,
    present,
    smallest_per_state,
)
from sidestep.metrics.sources import FRANCIS, HALL, HUNAVSIM, SEAN, SIDESTEP
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

ZONES_M: dict[str, tuple[float, float]] = {
    "intimate": (-np.inf, 0.45),
    "personal": (0.45, 1.2),
    "social": (1.2, 3.6),
}
"""Zones by distance, lower limit inside, upper limit outside (Hall 1966)."""
COMPLIANT_FROM_M = 0.5

_NO_GROUP = "no two members of a group were present together"
_SOMEBODY = "Episodes with at least one person in at least one state."


def closer_than(distance: FloatArray, limit: float) -> BoolArray:
    """Whether distances are below ``limit``; exactly at it is not, nor is NaN."""
    return distance < limit - THRESHOLD_TOLERANCE_M


def in_zone(distance: FloatArray, zone: str) -> BoolArray:
    """Whether distances fall into a zone of ``ZONES_M``."""
    low, high = ZONES_M[zone]
    return closer_than(distance, high) & ~closer_than(distance, low)


def make_intrusion(zone: str) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that gives the share of states with the closest person in ``zone``."""

    def intrusion(record: EpisodeRecord) -> MetricResult:
        return _share(closest_pedestrian_distance(record), zone, NOBODY)

    intrusion.__doc__ = f"Share of states with the closest person in the {zone} zone."
    return intrusion


def make_group_intrusion(zone: str) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that gives the share of states with the closest group's space in ``zone``."""

    def group_intrusion(record: EpisodeRecord) -> MetricResult:
        return _share(closest_group_distance(record), zone, _NO_GROUP)

    group_intrusion.__doc__ = f"Share of states with the closest group in the {zone} zone."
    return group_intrusion


def _share(distance: FloatArray, zone: str, reason: str) -> MetricResult:
    if np.isnan(distance).all():
        return MetricResult.invalid("ratio", reason)
    return average(in_zone(distance, zone).astype(np.float64), "ratio", reason)


def make_violation_count(zone: str) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that counts how often anybody comes closer than the outer limit of ``zone``."""

    def violation_count(record: EpisodeRecord) -> MetricResult:
        if not present(record).any():
            return MetricResult.invalid("count", NOBODY)
        inside = closer_than(pedestrian_distance(record), ZONES_M[zone][1])
        entries = np.count_nonzero(inside[0]) + np.count_nonzero(inside[1:] & ~inside[:-1])
        return MetricResult(float(entries), "count")

    violation_count.__doc__ = f"Entries into the {zone} distance of any person."
    return violation_count


def time_within(record: EpisodeRecord) -> MetricResult:
    """Share of states with anybody closer than the outer limit of the personal zone."""
    distance = closest_pedestrian_distance(record)
    if np.isnan(distance).all():
        return MetricResult.invalid("ratio", NOBODY)
    return average(closer_than(distance, ZONES_M["personal"][1]).astype(np.float64), "ratio", NOBODY)


def make_blame_share(zone: str) -> Callable[[EpisodeRecord], MetricResult]:
    """The function that gives the share of entries into the distance of ``zone`` that the robot's approach caused."""

    def blame_share(record: EpisodeRecord) -> MetricResult:
        inside = closer_than(pedestrian_distance(record), ZONES_M[zone][1])
        entered = inside[1:] & ~inside[:-1] & present(record)[:-1]
        state, person = np.nonzero(entered)
        if not len(state):
            return MetricResult.invalid(
                "ratio", f"nobody and the robot came within {ZONES_M[zone][1]:g} m of each other"
            )
        offset = record.person_position[state, person].astype(np.float64) - record.robot_pose[state, :2]
        robot = np.einsum("ki,ki->k", record.robot_velocity[state + 1, :2], offset)
        other = -np.einsum("ki,ki->k", record.person_velocity[state + 1, person].astype(np.float64), offset)
        return MetricResult(float(np.mean(robot >= other)), "ratio")

    blame_share.__doc__ = f"Share of entries into the {zone} distance in which the robot approached at least as fast."
    return blame_share


def space_compliance(record: EpisodeRecord) -> MetricResult:
    """Share of states in which nobody is closer than 0.5 m."""
    distance = closest_pedestrian_distance(record)
    if np.isnan(distance).all():
        return MetricResult.invalid("ratio", NOBODY)
    return average((~closer_than(distance, COMPLIANT_FROM_M)).astype(np.float64), "ratio", NOBODY)


@once_per_record
def closest_group_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) distance from the robot's surface to the nearest group's space, m, 0 inside; NaN without a
    group.

    A group's space is the convex hull of its present members' centres (at least two), grown by the largest of
    their radii.
    """
    there = present(record)
    distances = []
    for group in np.unique(record.person_group[record.person_group >= 0]):
        belongs = there & (record.person_group == group)  # people join and leave
        members = np.flatnonzero(belongs.any(axis=0))
        belongs = belongs[:, members]
        positions = np.where(belongs[..., None], record.person_position[:, members].astype(np.float64), np.nan)
        enough = belongs.sum(axis=1) >= 2
        if enough.any():
            radius = np.where(belongs, record.person_radius[members], 0.0).max(axis=1)
            distance = np.full(len(record.time), np.nan)
            distance[enough] = _hull_distance(record, positions[enough], enough) - radius[enough]
            distances.append(np.maximum(distance, 0.0))
    if not distances:
        return np.full(len(record.time), np.nan)
    return smallest_per_state(np.stack(distances, axis=1))


def _hull_distance(record: EpisodeRecord, points: FloatArray, states: BoolArray) -> FloatArray:
    """(S,) distance from the robot to the convex hull of ``points`` (S, K, 2), NaN where absent.

    0 if the robot's reference point is in it, else the distance to the nearest segment between two points.
    """
    pose = record.robot_pose[states]
    pairs = np.array(list(combinations(range(points.shape[1]), 2)))
    segments = np.concatenate([points[:, pairs[:, 0]], points[:, pairs[:, 1]]], axis=2)
    distance = distance_to_segments(record.robot.footprint, pose, segments)
    return np.where(_surrounded(points - pose[:, None, :2]), 0.0, distance)


def _surrounded(offsets: FloatArray) -> BoolArray:
    """(S,) whether the origin is in the convex hull of ``offsets`` (S, K, 2): every half plane has some."""
    angle = np.sort(np.arctan2(offsets[..., 1], offsets[..., 0]), axis=1)  # NaN sorts to the end
    known = np.count_nonzero(~np.isnan(angle), axis=1)
    last = np.take_along_axis(angle, known[:, None] - 1, axis=1)[:, 0]
    around = angle[:, 0] + 2 * np.pi - last
    between = np.nan_to_num(np.diff(angle, axis=1)).max(axis=1, initial=0.0)
    surrounded: BoolArray = (known >= 3) & (np.maximum(between, around) < np.pi)
    return surrounded


def _limits(zone: str) -> str:
    low, high = ZONES_M[zone]
    return f"below {high:g} m" if np.isinf(low) else f"from {low:g} m to below {high:g} m"


def _band_direction(zone: str) -> Direction:
    """Only of the innermost band is less always better: an outer one also empties when the robot comes closer."""
    return "lower" if zone == "intimate" else "none"


def _band_note(zone: str) -> str:
    return "" if zone == "intimate" else " Also falls when the robot comes closer than the band, so less is not better."


def _intrusion(zone: str) -> Metric:
    return Metric(
        name=f"{zone}_space_intrusion",
        unit="ratio",
        direction=_band_direction(zone),
        definition=f"Share of the T+1 states in which the surface distance to the closest person is {_limits(zone)}."
        + _band_note(zone),
        source=f"{HUNAVSIM}, {zone} space intrusions, from surface to surface; zones of {HALL}",
        distance="surface",
        validity=_SOMEBODY,
        function=make_intrusion(zone),
    )


def _group_intrusion(zone: str) -> Metric:
    return Metric(
        name=f"group_{zone}_space_intrusion",
        unit="ratio",
        direction=_band_direction(zone),
        definition="Share of the T+1 states in which the distance from the robot's surface to the space of "
        "the closest group is "
        f"{_limits(zone)}. A group's space is the convex hull of the centres of its members present (at "
        "least two), grown by "
        "the largest of their radii; the distance is 0 inside, so that passing between two who walk together "
        "is an intrusion." + _band_note(zone),
        source=f"{HUNAVSIM}, interaction space intrusions (there the centre of an F-formation stands for the "
        f"group); zones of {HALL}",
        distance="surface",
        validity="Episodes in which two members of a group were present together.",
        function=make_group_intrusion(zone),
    )


def _violations(zone: str) -> Metric:
    return Metric(
        name=f"{zone}_space_violations",
        unit="count",
        direction="none",
        definition=f"How often the surface distance to any one person falls below {ZONES_M[zone][1]:g} m, "
        "beginning there included. Each person counts separately. Grows with the length of the episode, so fewer is "
        "not better where episodes fail early.",
        source=f"{SEAN}, {zone} distance violations, whoever approaches",
        distance="surface",
        validity=_SOMEBODY,
        function=make_violation_count(zone),
    )


def _blame(zone: str) -> Metric:
    return Metric(
        name=f"{zone}_violations_by_robot",
        unit="ratio",
        direction="lower",
        definition=f"Of the times that the surface distance to any one person falls below {ZONES_M[zone][1]:g} m, the "
        "share in which the robot approached at least as fast as the person: with u the vector from the robot's centre "
        "to the person's before the step of the entry and v the velocities of that step, v_robot·u ≥ -v_person·u. "
        "Whoever is that near when they first appear was approached by nobody and is left out.",
        source=f"{SEAN}, Robot on Person and Person on Robot {zone} distance violations, as a share",
        distance="surface",
        validity="Episodes in which a person and the robot came that near to each other.",
        function=make_blame_share(zone),
    )


INTIMATE_SPACE_INTRUSION = _intrusion("intimate")
PERSONAL_SPACE_INTRUSION = _intrusion("personal")
SOCIAL_SPACE_INTRUSION = _intrusion("social")
GROUP_INTIMATE_SPACE_INTRUSION = _group_intrusion("intimate")
GROUP_PERSONAL_SPACE_INTRUSION = _group_intrusion("personal")
GROUP_SOCIAL_SPACE_INTRUSION = _group_intrusion("social")
TIME_WITHIN_1_2M = Metric(
    name="time_within_1_2m",
    unit="ratio",
    direction="lower",
    definition="Share of the T+1 states in which the surface distance to the closest person is below "
    f"{ZONES_M['personal'][1]:g} m: the intimate and the personal zone together, so that coming closer never "
    "improves it.",
    source=f"{SIDESTEP}; the distance is the outer limit of {HALL}'s personal zone",
    distance="surface",
    validity=_SOMEBODY,
    function=time_within,
)
INTIMATE_SPACE_VIOLATIONS = _violations("intimate")
PERSONAL_SPACE_VIOLATIONS = _violations("personal")
INTIMATE_VIOLATIONS_BY_ROBOT = _blame("intimate")
PERSONAL_VIOLATIONS_BY_ROBOT = _blame("personal")
SPACE_COMPLIANCE = Metric(
    name="space_compliance",
    unit="ratio",
    direction="higher",
    definition=f"Share of the T+1 states in which nobody's surface is closer than {COMPLIANT_FROM_M:g} m to "
    "the robot's; states "
    "without people comply. Some programs give the share below the threshold instead.",
    source=f"{FRANCIS}, SC (personal space compliance, 0.5 m)",
    distance="surface",
    validity=_SOMEBODY,
    function=space_compliance,
)
