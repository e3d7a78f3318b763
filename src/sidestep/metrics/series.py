"""Time series derived from a record, computed once per record.

Every series has one value per state, aligned with ``record.time`` (T+1 values), and NaN where there is none.
The velocity of state k is the one at which the step from k-1 to k was executed, so quantities of motion exist
for k = 1 … T.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from sidestep.metrics.footprint_distance import (
    distance_to_points,
    distance_to_segments,
    outline_segments,
    time_to_contact,
)
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.record import EpisodeRecord, others

INDICATOR_UNIT = "0/1"
"""Unit of metrics that are 0 or 1 in each episode: their mean is a proportion."""
MAX_DISTANCE_M = 10.0
"""Pedestrian distances saturate here (SocNavBench)."""
MAX_TIME_TO_COLLISION_S = 10.0
"""Times to collision saturate here (SocNavBench)."""
STANDING_MPS = 0.05
"""A robot slower than this stands."""
THRESHOLD_TOLERANCE_M = 1e-5
"""People are stored in single precision: a distance this little below a threshold counts as being at it."""

Series = Callable[[EpisodeRecord], FloatArray]


def once_per_record(function: Series) -> Series:
    """Remember the (read-only) result as long as the record lives: records do not change."""
    known: WeakKeyDictionary[EpisodeRecord, FloatArray] = WeakKeyDictionary()

    def remembered(record: EpisodeRecord) -> FloatArray:
        if record not in known:
            values = np.asarray(function(record))
            values.flags.writeable = False
            known[record] = values
        return known[record]

    remembered.__name__, remembered.__doc__ = function.__name__, function.__doc__
    return remembered


@once_per_record
def speed(record: EpisodeRecord) -> FloatArray:
    """(T+1,) recorded speed over ground, m/s."""
    return np.hypot(record.robot_velocity[:, 0], record.robot_velocity[:, 1])


@once_per_record
def forward_speed(record: EpisodeRecord) -> FloatArray:
    """(T+1,) velocity along the body's heading, m/s; negative when driving backwards."""
    heading = record.robot_pose[:, 2]
    return record.robot_velocity[:, 0] * np.cos(heading) + record.robot_velocity[:, 1] * np.sin(heading)


@once_per_record
def acceleration(record: EpisodeRecord) -> FloatArray:
    """(T+1,) |v_k - v_(k-1)| / (t_k - t_(k-1)), m/s²; NaN for k = 0."""
    return _magnitude(_acceleration_vector(record), len(record.time))


@once_per_record
def jerk(record: EpisodeRecord) -> FloatArray:
    """(T+1,) |a_k - a_(k-1)| over the time between the middles of their steps, m/s³; NaN for k = 0, 1."""
    between = (record.time[2:] - record.time[:-2]) / 2
    return _magnitude(np.diff(_acceleration_vector(record), axis=0) / between[:, None], len(record.time))


def _acceleration_vector(record: EpisodeRecord) -> FloatArray:
    return np.diff(record.robot_velocity[:, :2], axis=0) / np.diff(record.time)[:, None]


def _magnitude(vectors: FloatArray, states: int) -> FloatArray:
    values = np.full(states, np.nan)
    values[states - len(vectors) :] = np.hypot(vectors[:, 0], vectors[:, 1])
    return values


@once_per_record
def goal_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) straight-line distance from the robot's reference point to the goal, m."""
    x, y = record.scenario.ego.goal
    distance: FloatArray = np.hypot(record.robot_pose[:, 0] - x, record.robot_pose[:, 1] - y)
    return distance


@once_per_record
def travel_direction(record: EpisodeRecord) -> FloatArray:
    """(T+1,) direction in which the robot drives, rad: its heading or, for a holonomic robot, the direction of its
    velocity.

    A holonomic body's heading says nothing about where it goes. While it stands (below ``STANDING_MPS``) it keeps its
    last direction; before it first moves, it has the direction of that first motion. NaN if it never moves.
    """
    if record.robot.dynamics != "holonomic":
        return np.array(record.robot_pose[:, 2])
    velocity = record.robot_velocity
    moving = np.array(speed(record) >= STANDING_MPS)
    moving[0] = False  # the velocity of state 0 was not driven in this episode
    if not moving.any():
        return np.full(len(record.time), np.nan)
    last = np.maximum.accumulate(np.where(moving, np.arange(len(moving)), -1))
    last = np.where(last >= 0, last, int(np.argmax(moving)))
    direction: FloatArray = np.arctan2(velocity[:, 1], velocity[:, 0])[last]
    return direction


@once_per_record
def turn_rate(record: EpisodeRecord) -> FloatArray:
    """(T+1,) turn rate of the robot, rad/s, positive to the left: the recorded one or, for a holonomic robot, that of
    ``travel_direction``; NaN for k = 0."""
    rate = np.full(len(record.time), np.nan)
    if record.robot.dynamics != "holonomic":
        rate[1:] = record.robot_velocity[1:, 2]
    else:
        turns = wrap_angle(np.diff(travel_direction(record)))
        rate[1:] = np.where(np.isnan(turns), 0.0, turns) / np.diff(record.time)
    return rate


@once_per_record
def goal_bearing_error(record: EpisodeRecord) -> FloatArray:
    """(T+1,) angle between ``travel_direction`` and goal direction, 0 … π rad; NaN at the goal itself."""
    x, y = record.scenario.ego.goal
    bearing = np.arctan2(y - record.robot_pose[:, 1], x - record.robot_pose[:, 0])
    error = np.abs(wrap_angle(bearing - travel_direction(record)))
    return np.where(goal_distance(record) > 0, error, np.nan)


def wrap_angle(angle: FloatArray) -> FloatArray:
    """The same angle within -π … π."""
    return np.arctan2(np.sin(angle), np.cos(angle))


def step_lengths(record: EpisodeRecord) -> FloatArray:
    """(T,) distance travelled by the reference point in each step, m. A step at whose beginning the robot was put back
    counts as driven at the recorded velocity."""
    move = np.diff(record.robot_pose[:, :2], axis=0)
    length = np.hypot(move[:, 0], move[:, 1])
    carried = carried_steps(record)
    length[carried] = speed(record)[carried + 1] * np.diff(record.time)[carried]
    return length


def driven_m(record: EpisodeRecord) -> float:
    """Length of the path that the robot drove itself, m."""
    return float(step_lengths(record).sum())


def carried_steps(record: EpisodeRecord) -> IntArray:
    """(R,) steps at whose beginning the robot was put back on its route (event ``reset``); step k leads from state k,
    where it failed, to state k + 1."""
    times = np.array([event.time for event in record.events if event.kind == "reset"])
    steps = np.unique(np.searchsorted(record.time, times - 1e-9))
    return steps[steps < record.steps]


def present(record: EpisodeRecord) -> BoolArray:
    """(T+1, N) whether each person is in the world and has a known position."""
    return record.person_present & np.isfinite(record.person_position).all(axis=-1)


@once_per_record
def pedestrian_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1, N) distance from the robot's surface to each person's, m; negative in overlap, NaN if absent."""
    people = record.person_position.astype(np.float64)
    gap = distance_to_points(record.robot.footprint, record.robot_pose, people) - record.person_radius
    return np.where(present(record), gap, np.nan)


@once_per_record
def pedestrian_centre_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1, N) distance from the robot's reference point to each person's centre, m; NaN when absent."""
    offset = record.person_position.astype(np.float64) - record.robot_pose[:, None, :2]
    return np.where(present(record), np.hypot(offset[..., 0], offset[..., 1]), np.nan)


@once_per_record
def closest_pedestrian_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) surface distance to the nearest person, m, not capped; NaN when nobody is present."""
    return smallest_per_state(pedestrian_distance(record))


@once_per_record
def time_to_collision(record: EpisodeRecord) -> FloatArray:
    """(T+1,) time until the first contact with anybody if all keep their velocity (and the robot its
    heading), s.

    0 while touching; at most ``MAX_TIME_TO_COLLISION_S``; NaN when nobody is present.
    """
    people = record.person_position.astype(np.float64)
    relative = record.person_velocity.astype(np.float64) - record.robot_velocity[:, None, :2]
    radius = record.person_radius.astype(np.float64)
    times = time_to_contact(record.robot.footprint, record.robot_pose, people, radius, relative)
    times = np.minimum(np.where(present(record), times, np.nan), MAX_TIME_TO_COLLISION_S)
    return smallest_per_state(times)


@once_per_record
def closest_vehicle_distance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) surface distance to the nearest vehicle's outline or other robot's enclosing circle, m; NaN if there is
    none."""
    own, poses = record.robot.footprint, record.other_pose
    distance = distance_to_points(own, record.robot_pose, poses[..., :2]) - record.other_radius
    for k, user in enumerate(others(record)):
        if user.is_vehicle and user.footprint.polygon is not None:
            edges = outline_segments(user.footprint, poses[:, k])
            centre = distance_to_points(user.footprint, poses[:, k], record.robot_pose[:, None, :2])[:, 0]
            gap = distance_to_segments(own, record.robot_pose, edges)
            distance[:, k] = np.where(centre < 0, np.minimum(centre, gap), gap)  # edges alone are far from within
    return smallest_per_state(distance)


@once_per_record
def obstacle_clearance(record: EpisodeRecord) -> FloatArray:
    """(T+1,) distance from the robot's surface to the nearest wall edge, m; negative if the edge cuts the robot, NaN
    without walls."""
    if not len(record.walls):
        return np.full(len(record.time), np.nan)
    return distance_to_segments(record.robot.footprint, record.robot_pose, record.walls.astype(np.float64))


def smallest_per_state(values: FloatArray) -> FloatArray:
    """(T+1,) minimum over the columns of (T+1, N), ignoring NaN; NaN for rows without a number."""
    lowest = np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf)
    return np.where(np.isinf(lowest), np.nan, lowest)
