"""Pedestrians: distances to people and time to collision with them, from the recorded states."""

from __future__ import annotations

import numpy as np

from sidestep.interfaces import Metric
from sidestep.metrics import socnavbench_code
from sidestep.metrics.series import (
    MAX_DISTANCE_M,
    MAX_TIME_TO_COLLISION_S,
    NOBODY,
    average,
    closest_pedestrian_distance,
    closest_vehicle_distance,
    largest,
    pedestrian_distance,
    present,
    smallest,
    time_to_collision,
)
from sidestep.metrics.sources import FRANCIS, HUNAVSIM, KATYAL, SEAN, SIDESTEP, SOCNAVBENCH
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

_SOMEBODY = "Episodes with at least one person in at least one state."


def _capped_distance(record: EpisodeRecord) -> FloatArray:
    return np.minimum(closest_pedestrian_distance(record), MAX_DISTANCE_M)


def lowest_closest_distance(record: EpisodeRecord) -> MetricResult:
    """Minimum over states of the capped distance to the closest person."""
    return smallest(_capped_distance(record), "m", NOBODY)


def time_to_collision_min(record: EpisodeRecord) -> MetricResult:
    """Minimum over states of the capped time to collision."""
    return smallest(time_to_collision(record), "s", NOBODY)


def time_to_collision_avg(record: EpisodeRecord) -> MetricResult:
    """Mean over states of the capped time to collision."""
    return average(time_to_collision(record), "s", NOBODY)


def average_pedestrian_speed(record: EpisodeRecord) -> MetricResult:
    """Mean speed over states and people."""
    speeds = np.hypot(record.person_velocity[..., 0], record.person_velocity[..., 1]).astype(np.float64)
    return average(np.where(present(record), speeds, np.nan), "m/s", NOBODY)


_CLOSEST = (
    "distance from the robot's surface to the closest person's, negative when they overlap, "
    f"capped at {MAX_DISTANCE_M:g} m"
)
_TTC = (
    "time until the robot's body touches anybody's if all keep their instantaneous velocity and the robot "
    "its heading (exact "
    f"for circles and convex polygons, 0 while touching), capped at {MAX_TIME_TO_COLLISION_S:g} s, also when "
    "no courses meet"
)

CLOSEST_PEDESTRIAN_DISTANCE = Metric(
    name="closest_pedestrian_distance",
    unit="m",
    direction="higher",
    definition=f"Minimum over the states of the {_CLOSEST}.",
    source=f"{SOCNAVBENCH}, closest pedestrian distance, worst moment",
    distance="surface",
    validity=_SOMEBODY,
    function=lowest_closest_distance,
    dialects={socnavbench_code.NAME: socnavbench_code.lowest_closest_distance},
)
AVERAGE_CLOSEST_PEDESTRIAN_DISTANCE = Metric(
    name="average_closest_pedestrian_distance",
    unit="m",
    direction="higher",
    definition=f"Mean over the states with people of the {_CLOSEST}.",
    source=f"{SOCNAVBENCH}, closest pedestrian distance; {HUNAVSIM}, average distance to closest person",
    distance="surface",
    validity=_SOMEBODY,
    function=lambda record: average(_capped_distance(record), "m", NOBODY),
    dialects={socnavbench_code.NAME: socnavbench_code.average_closest_distance},
)
AVERAGE_PEDESTRIAN_DISTANCE = Metric(
    name="average_pedestrian_distance",
    unit="m",
    direction="higher",
    definition="Mean over all states and all people present in them of the surface distance, not capped.",
    source=f"{SIDESTEP}, after {HUNAVSIM}",
    distance="surface",
    validity=_SOMEBODY,
    function=lambda record: average(pedestrian_distance(record), "m", NOBODY),
)
MINIMUM_PEDESTRIAN_DISTANCE = Metric(
    name="minimum_pedestrian_distance",
    unit="m",
    direction="higher",
    definition="Minimum over all states and people of the surface distance, not capped.",
    source=f"{HUNAVSIM}, minimum distance to people; {FRANCIS}, DH min; {SEAN}",
    distance="surface",
    validity=_SOMEBODY,
    function=lambda record: smallest(pedestrian_distance(record), "m", NOBODY),
)
MAXIMUM_PEDESTRIAN_DISTANCE = Metric(
    name="maximum_pedestrian_distance",
    unit="m",
    direction="none",
    definition="Maximum over all states and people of the surface distance, not capped.",
    source=f"{HUNAVSIM}, maximum distance to people",
    distance="surface",
    validity=_SOMEBODY,
    function=lambda record: largest(pedestrian_distance(record), "m", NOBODY),
)
TIME_TO_COLLISION_MIN = Metric(
    name="time_to_collision_min",
    unit="s",
    direction="higher",
    definition=f"Minimum over the states of the {_TTC}.",
    source=f"{SOCNAVBENCH}, time-to-collision, worst moment; {FRANCIS}, TTC",
    distance="surface",
    validity=_SOMEBODY,
    function=time_to_collision_min,
    dialects={socnavbench_code.NAME: socnavbench_code.time_to_collision_min},
)
TIME_TO_COLLISION_AVG = Metric(
    name="time_to_collision_avg",
    unit="s",
    direction="higher",
    definition=f"Mean over the states with people of the {_TTC}.",
    source=f"{SOCNAVBENCH}, time-to-collision",
    distance="surface",
    validity=_SOMEBODY,
    function=time_to_collision_avg,
    dialects={socnavbench_code.NAME: socnavbench_code.time_to_collision_avg},
)
AVERAGE_PEDESTRIAN_SPEED = Metric(
    name="average_pedestrian_speed",
    unit="m/s",
    direction="higher",
    definition="Mean over all states and people present of their speed: how much the crowd is slowed down.",
    source=f"{KATYAL}; {HUNAVSIM}",
    validity=_SOMEBODY,
    function=average_pedestrian_speed,
)
MINIMUM_VEHICLE_DISTANCE = Metric(
    name="minimum_vehicle_distance",
    unit="m",
    direction="higher",
    definition="Minimum over all states of the distance from the robot's surface to the outline of the nearest vehicle "
    "or the enclosing circle of the nearest other robot.",
    source=SIDESTEP,
    distance="surface",
    validity="Episodes with vehicles or other robots.",
    function=lambda record: smallest(closest_vehicle_distance(record), "m", "there are no vehicles or other robots"),
)
