"""Pedestrians: distances to people and time to collision with them, from the recorded states."""

from __future__ import annotations

from functools import partial

import numpy as np

from sidestep.metrics import series
from sidestep.metrics import socnavbench_code as code
from sidestep.metrics.definition import NOBODY, Value, average, largest, metric, smallest
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, KATYAL, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord

_SOMEBODY = "Episodes with at least one person in at least one state."
_CLOSEST = (
    "distance from the robot's surface to the closest person's, negative when they overlap, "
    f"capped at {series.MAX_DISTANCE_M:g} m"
)
_TTC = (
    "time until the robot's body touches a person if everybody keeps their instantaneous velocity and the robot "
    "its heading (exact "
    f"for circles and convex polygons, 0 during contact), capped at {series.MAX_TIME_TO_COLLISION_S:g} s, also if "
    "no courses meet"
)
_people_metric = partial(metric, validity=_SOMEBODY, distance="surface")


def _capped_distance(record: EpisodeRecord) -> FloatArray:
    return np.minimum(series.closest_pedestrian_distance(record), series.MAX_DISTANCE_M)


@_people_metric(
    "m",
    "higher",
    source=f"{SOCNAVBENCH}, closest pedestrian distance, worst moment",
    dialects={code.NAME: code.lowest_closest_distance},
)
def closest_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Minimum over the states of the {_CLOSEST}."""
    return smallest(_capped_distance(record), NOBODY)


@_people_metric(
    "m",
    "higher",
    source=f"{SOCNAVBENCH}, closest pedestrian distance; {HUNAVSIM}, average distance to closest person",
    dialects={code.NAME: code.average_closest_distance},
)
def average_closest_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Mean over the states with people of the {_CLOSEST}."""
    return average(_capped_distance(record), NOBODY)


@_people_metric("m", "higher", source=f"{SIDESTEP}, after {HUNAVSIM}")
def average_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Mean over all states and all people present in them of the surface distance, not capped."""
    return average(series.pedestrian_distance(record), NOBODY)


@_people_metric("m", "higher", source=f"{HUNAVSIM}, minimum distance to people; {FRANCIS}, DH min; {SEAN}")
def minimum_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Minimum over all states and people of the surface distance, not capped."""
    return smallest(series.pedestrian_distance(record), NOBODY)


@_people_metric("m", source=f"{HUNAVSIM}, maximum distance to people")
def maximum_pedestrian_distance(record: EpisodeRecord) -> Value:
    """Maximum over all states and people of the surface distance, not capped."""
    return largest(series.pedestrian_distance(record), NOBODY)


@_people_metric(
    "s",
    "higher",
    source=f"{SOCNAVBENCH}, time-to-collision, worst moment; {FRANCIS}, TTC",
    dialects={code.NAME: code.time_to_collision_min},
)
def time_to_collision_min(record: EpisodeRecord) -> Value:
    """Minimum over the states of the {_TTC}."""
    return smallest(series.time_to_collision(record), NOBODY)


@_people_metric(
    "s", "higher", source=f"{SOCNAVBENCH}, time-to-collision", dialects={code.NAME: code.time_to_collision_avg}
)
def time_to_collision_avg(record: EpisodeRecord) -> Value:
    """Mean over the states with people of the {_TTC}."""
    return average(series.time_to_collision(record), NOBODY)


@metric("m/s", "higher", source=f"{KATYAL}; {HUNAVSIM}", validity=_SOMEBODY)
def average_pedestrian_speed(record: EpisodeRecord) -> Value:
    """Mean speed over all states and the people present in them. It falls if the crowd is slowed down."""
    speeds = np.hypot(record.person_velocity[..., 0], record.person_velocity[..., 1]).astype(np.float64)
    return average(np.where(series.present(record), speeds, np.nan), NOBODY)


@metric("m", "higher", validity="Episodes with vehicles or other robots.", distance="surface")
def minimum_vehicle_distance(record: EpisodeRecord) -> Value:
    """Minimum over all states of the distance from the robot's surface to the outline of the nearest vehicle or the
    enclosing circle of the nearest other robot."""
    return smallest(series.closest_vehicle_distance(record), "there are no vehicles or other robots")
