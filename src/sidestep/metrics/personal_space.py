"""Personal space: how long and how often the robot was in people's intimate, personal and social zones."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from sidestep.interfaces import Direction, Metric
from sidestep.metrics import series
from sidestep.metrics.definition import NOBODY, Value, metric
from sidestep.metrics.footprint_distance import distance_to_segments
from sidestep.metrics.sources import FRANCIS, HALL, HUNAVSIM, SEAN, SIDESTEP
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.record import EpisodeRecord

ZONES_M: dict[str, tuple[float, float]] = {
    "intimate": (-np.inf, 0.45),
    "personal": (0.45, 1.2),
    "social": (1.2, 3.6),
}
"""Zones by distance, lower limit inside, upper limit outside (Hall 1966)."""
COMPLIANT_FROM_M = 0.5

_NO_GROUP = "no two members of a group were present together"
_SOMEBODY = "Episodes with at least one person in at least one state."
_people_metric = partial(metric, validity=_SOMEBODY, distance="surface")


def closer_than(distance: FloatArray, limit: float) -> BoolArray:
    """Whether distances are below ``limit``; a distance equal to it is not, nor is NaN."""
    return distance < limit - series.THRESHOLD_TOLERANCE_M


def in_zone(distance: FloatArray, zone: str) -> BoolArray:
    """Whether distances fall into a zone of ``ZONES_M``."""
    low, high = ZONES_M[zone]
    return closer_than(distance, high) & ~closer_than(distance, low)


def _share(holds: BoolArray, distance: FloatArray, reason: str = NOBODY) -> Value:
    """Share of all states in which something holds; ``reason`` if no state has a distance."""
    return reason if np.isnan(distance).all() else float(holds.mean())


@series.once_per_record
def closest_group_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) distance from the robot's surface to the nearest group's space, m, 0 inside; NaN without a
    group.

    A group's space is the convex hull of its present members' centres (at least two), grown by the largest of
    their radii.
    """
    there = series.present(record)
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
    return series.smallest_per_state(np.stack(distances, axis=1))


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
    """(S,) whether the origin is in the convex hull of ``offsets`` (S, K, 2): every half plane contains one."""
    angle = np.sort(np.arctan2(offsets[..., 1], offsets[..., 0]), axis=1)  # NaN sorts to the end
    known = np.count_nonzero(~np.isnan(angle), axis=1)
    last = np.take_along_axis(angle, known[:, None] - 1, axis=1)[:, 0]
    around = angle[:, 0] + 2 * np.pi - last
    between = np.nan_to_num(np.diff(angle, axis=1)).max(axis=1, initial=0.0)
    surrounded: BoolArray = (known >= 3) & (np.maximum(between, around) < np.pi)
    return surrounded


def _band(zone: str) -> tuple[str, Direction, str]:
    """A zone's limits in words, its better direction and a note. Less is always better only for the innermost zone: the
    share of an outer one also falls when the robot comes closer."""
    low, high = ZONES_M[zone]
    if np.isinf(low):
        return f"below {high:g} m", "lower", ""
    note = " The share also falls when the robot comes closer than that, so a lower value is not better."
    return f"from {low:g} m to below {high:g} m", "none", note


def _intrusion(zone: str) -> Metric:
    limits, direction, note = _band(zone)

    @_people_metric(
        "ratio",
        direction,
        source=f"{HUNAVSIM}, {zone} space intrusions, from surface to surface; zones of {HALL}",
        name=f"{zone}_space_intrusion",
        definition=f"Share of the T+1 states in which the surface distance to the closest person is {limits}.{note}",
    )
    def intrusion(record: EpisodeRecord) -> Value:
        distance = series.closest_pedestrian_distance(record)
        return _share(in_zone(distance, zone), distance)

    return intrusion


def _group_intrusion(zone: str) -> Metric:
    limits, direction, note = _band(zone)

    @metric(
        "ratio",
        direction,
        source=f"{HUNAVSIM}, interaction space intrusions (there the centre of an F-formation stands for the group); "
        f"zones of {HALL}",
        validity="Episodes in which two members of a group were present together.",
        distance="surface",
        name=f"group_{zone}_space_intrusion",
        definition="Share of the T+1 states in which the distance from the robot's surface to the space of the closest "
        f"group is {limits}. A group's space is the convex hull of the centres of its members present (at least two), "
        "grown by the largest of their radii; the distance is 0 inside, so passing between two people who walk "
        f"together is an intrusion.{note}",
    )
    def intrusion(record: EpisodeRecord) -> Value:
        distance = closest_group_distance(record)
        return _share(in_zone(distance, zone), distance, _NO_GROUP)

    return intrusion


def _violations(zone: str) -> Metric:
    @_people_metric(
        "count",
        source=f"{SEAN}, {zone} distance violations, whoever approaches",
        name=f"{zone}_space_violations",
        definition=f"Number of times that the surface distance to a person falls below {ZONES_M[zone][1]:g} m, "
        "including people who are that near at the beginning. Each person counts separately. The value grows with the "
        "length of the episode, so a lower value is not better when episodes fail early.",
    )
    def violations(record: EpisodeRecord) -> Value:
        inside = closer_than(series.pedestrian_distance(record), ZONES_M[zone][1])
        entries = np.count_nonzero(inside[0]) + np.count_nonzero(inside[1:] & ~inside[:-1])
        return float(entries) if series.present(record).any() else NOBODY

    return violations


def _violations_by_robot(zone: str) -> Metric:
    @metric(
        "ratio",
        "lower",
        source=f"{SEAN}, Robot on Person and Person on Robot {zone} distance violations, as a share",
        validity="Episodes in which a person and the robot came that near to each other.",
        distance="surface",
        name=f"{zone}_violations_by_robot",
        definition="Share of violations in which the robot approached at least as fast as the person: with u the "
        "vector from the robot's centre to the person's before the step of the entry and v the velocities of that "
        "step, v_robot·u ≥ -v_person·u. A violation is a time at which the surface distance to a person falls below "
        f"{ZONES_M[zone][1]:g} m. People who are that near when they first appear are left out.",
    )
    def violations_by_robot(record: EpisodeRecord) -> Value:
        inside = closer_than(series.pedestrian_distance(record), ZONES_M[zone][1])
        state, person = np.nonzero(inside[1:] & ~inside[:-1] & series.present(record)[:-1])
        if not len(state):
            return f"nobody and the robot came within {ZONES_M[zone][1]:g} m of each other"
        offset = record.person_position[state, person].astype(np.float64) - record.robot_pose[state, :2]
        robot = np.einsum("ki,ki->k", record.robot_velocity[state + 1, :2], offset)
        other = -np.einsum("ki,ki->k", record.person_velocity[state + 1, person].astype(np.float64), offset)
        return float(np.mean(robot >= other))

    return violations_by_robot


intimate_space_intrusion = _intrusion("intimate")
personal_space_intrusion = _intrusion("personal")
social_space_intrusion = _intrusion("social")
group_intimate_space_intrusion = _group_intrusion("intimate")
group_personal_space_intrusion = _group_intrusion("personal")
group_social_space_intrusion = _group_intrusion("social")
intimate_space_violations = _violations("intimate")
personal_space_violations = _violations("personal")
intimate_violations_by_robot = _violations_by_robot("intimate")
personal_violations_by_robot = _violations_by_robot("personal")


@_people_metric("ratio", "lower", source=f"{SIDESTEP}; the distance is the outer limit of {HALL}'s personal zone")
def time_within_1_2m(record: EpisodeRecord) -> Value:
    """Share of the T+1 states in which the surface distance to the closest person is below {ZONES_M[personal][1]:g} m:
    the intimate and the personal zone together, so that coming closer never improves it."""
    distance = series.closest_pedestrian_distance(record)
    return _share(closer_than(distance, ZONES_M["personal"][1]), distance)


@_people_metric("ratio", "higher", source=f"{FRANCIS}, SC (personal space compliance, 0.5 m)")
def space_compliance(record: EpisodeRecord) -> Value:
    """Share of the T+1 states in which nobody's surface is closer than {COMPLIANT_FROM_M:g} m to the robot's; states
    without people comply. Some programs give the share below the threshold instead."""
    distance = series.closest_pedestrian_distance(record)
    return _share(~closer_than(distance, COMPLIANT_FROM_M), distance)
